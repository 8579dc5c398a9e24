"""How objects are shown: one line each, a table in notebooks, names of users as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.display import MAX_HTML_ROWS, html_table
from keyhole.report import Run

HOSTILE = ("<b>age</b>", "two\nlines", "\x1b[2J", *(f"f{i}" for i in range(9)))


@pytest.fixture(scope="module")
def stream() -> kh.streams.ArrayStream:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, len(HOSTILE)))
    return kh.streams.ArrayStream(X, 2.0 * X[:, 0] + X[:, 1] + rng.normal(size=200), HOSTILE)


@pytest.fixture(scope="module")
def learner(stream: kh.streams.ArrayStream) -> kh.AutoLearner:
    learner = kh.AutoLearner(kh.Problem(d=len(HOSTILE), k=2, budget=6, names=HOSTILE), seed=0)
    kh.play(learner, stream)
    return learner


def ticket(learner: kh.AutoLearner) -> kh.Ticket:
    return kh.AutoLearner(learner.problem, seed=0).ask()


def around(learner: kh.AutoLearner) -> kh.YesNoLearner:
    return kh.YesNoLearner(kh.AutoLearner(learner.problem, seed=0))


Make = Callable[[kh.AutoLearner, kh.streams.ArrayStream], object]
OBJECTS: dict[str, Make] = {
    "learner": lambda learner, stream: learner,
    "yes-no learner": lambda learner, stream: around(learner),
    "problem": lambda learner, stream: learner.problem,
    "stream": lambda learner, stream: stream,
    "generated stream": lambda learner, stream: kh.streams.take(stream, 5),
    "ticket": lambda learner, stream: ticket(learner),
    "observation": lambda learner, stream: ticket(learner).fill(np.arange(6.0)),
    "ledger": lambda learner, stream: kh.play(kh.RandomSubset(learner.problem), stream),
    "empty ledger": lambda learner, stream: kh.Ledger(learner.problem),
    "model": lambda learner, stream: learner.model(),
    "explanation": lambda learner, stream: learner.explain(),
    "diagnosis": lambda learner, stream: kh.diagnose(stream, 2, 6),
    "hindsight": lambda learner, stream: kh.hindsight(stream, 2),
    "LEARNERS": lambda learner, stream: kh.LEARNERS,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_one_line_and_a_table(
    name: str, learner: kh.AutoLearner, stream: kh.streams.ArrayStream
) -> None:
    shown: Any = OBJECTS[name](learner, stream)
    line, table = repr(shown), shown._repr_html_()
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 400
    assert " at 0x" not in line
    assert table.startswith("<table>")
    assert table.endswith("</table>")
    assert "<b>" not in table
    assert "\x1b" not in table


def test_the_record_of_a_run(run: Run) -> None:
    assert "\n" not in repr(run)
    assert "<img" not in run._repr_html_()
    assert "days &amp; nights" in run._repr_html_()


def test_a_learner_says_how_far_it_is(learner: kh.AutoLearner) -> None:
    assert repr(learner) == (
        "<AutoLearner d=12 k=2 budget=6 seed=0: 200 rounds asked, 0 labels awaited>"
    )
    later = kh.AutoLearner(learner.problem, seed=5)
    later.ask()
    assert repr(later).endswith("seed=5: 1 round asked, 1 label awaited>")


def test_short_problems_can_be_typed_in_again() -> None:
    problem = kh.Problem(d=3, k=1, budget=2, names=("a", "b", "c"))
    assert eval(repr(problem), {"Problem": kh.Problem}) == problem


def test_long_tables_are_cut_off_and_say_so() -> None:
    table = html_table("t", [(str(i), i) for i in range(MAX_HTML_ROWS + 5)])
    assert table.count("<tr>") == MAX_HTML_ROWS + 1
    assert "and 5 more" in table


def test_stored_and_remote_learners_are_shown_by_name(tmp_path: Any) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("ward", kh.Problem(d=4, k=1, budget=2), learner="random")
        learner = store.learner("ward")
        assert repr(learner) == "<StoredLearner 'ward': d=4, k=1, budget=2>"
        assert not hasattr(learner, "_repr_html_")
