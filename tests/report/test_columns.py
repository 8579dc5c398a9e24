"""A page about columns, each of which is one purchase, does not speak of money."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.report import About, Recorder, Run, Scope
from keyhole.report.conclusions import to_buy
from keyhole.report.page import page
from keyhole.report.tables import money_facts


@pytest.fixture(scope="module")
def run() -> Run:
    """A column of three levels and two of numbers; two may be bought."""
    rng = np.random.default_rng(0)
    level, X = rng.integers(0, 3, 500), rng.normal(size=(500, 2))
    rows = np.column_stack([level[:, None] == np.arange(3), X]).astype(float)
    names = ("city=a", "city=b", "city=c", "age", "bmi")
    stream = kh.streams.ArrayStream(rows, 2.0 * level + X[:, 0], names)
    problem = kh.Problem(
        5, 4, 2, names, prices={"age": 1, "bmi": 1}, panels={"city": (1, names[:3])}
    )
    about = About(name="auto", target="rent", columns=True)
    return Recorder(
        kh.AutoLearner(problem, seed=0), stream, about, Scope(seconds=1.0, diagnosed=False)
    ).record()


def test_nothing_is_said_of_money(run: Run) -> None:
    text = page(run).split("</style>", 1)[1]
    for word in ("money", "price", "bill", "spent", "spend", "cheap", "dearest", "fee "):
        assert word not in text.lower(), word
    for words in (
        "<h2>Which columns were bought</h2>",
        "<h3>Columns over time</h3>",
        "<h3>Loss and columns</h3>",
        "buy 2 columns per example",
        "<th>columns per example</th>",
        "columns saved",
    ):
        assert words in text
    assert run.yardstick == "best 4 weights of 2 columns in hindsight"


def test_columns_are_what_to_buy(run: Run) -> None:
    assert to_buy(run) == ["city", "age"]
    (fact,) = money_facts(run)
    assert fact.note == "2 of 3 bought per example"
