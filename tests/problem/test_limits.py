"""Limits: outside them everything is refused by name, wherever it enters, and nothing changes."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.problem import problem_from_dict, problem_to_dict
from keyhole.saving.api import from_bytes, to_bytes

NAMES = ("age", "crp", "tsh", "bmi")
PROBLEM = kh.Problem(
    4, 1, 3, NAMES, limits={"crp": (0, 600), "age": (None, 120)}, label_limits=(0, 365)
)
CRP = "crp is 601 in round 1: its limits are 0 to 600; correct it, or leave it out"
LABEL = "the label is 366: its limits are 0 to 365; correct it"
ALL = PROBLEM.replace(budget=4, k=4)


def unchanged(learner: Any, call: Callable[[], object], words: str) -> None:
    """A call is refused with these words, and the learner is as it was."""
    before = to_bytes(learner)
    with pytest.raises(kh.DataError, match=words):
        call()
    assert to_bytes(learner) == before


@pytest.mark.parametrize("kind", ["auto", "random", "fixed", "dual-averaging"])
def test_every_way_in_of_a_learner(kind: str) -> None:
    learner: Any = kh.LEARNERS[kind](ALL, seed=0)
    ticket = learner.ask()
    assert {1} <= set(ticket.features.tolist()), "it buys everything"
    right = dict.fromkeys(ticket.names or (), 1.0)
    unchanged(learner, lambda: ticket.fill({**right, "crp": 601.0}), CRP)
    forged = kh.Ticket(1, ticket.features, ticket.names, ticket.memo)  # that knows no limits
    seen = forged.fill({**right, "crp": 601.0})
    unchanged(learner, lambda: learner.predict(seen), CRP)
    unchanged(learner, lambda: learner.tell(seen, 1.0), CRP)
    fine = ticket.fill({**right, "crp": 600.0, "age": -1e9})  # both ends are possible
    unchanged(learner, lambda: learner.tell(fine, 366.0), LABEL)
    unchanged(learner, lambda: learner.doubts(fine, 366.0), LABEL)
    learner.tell(fine, 365.0)


def test_values_in_hand_and_corrections() -> None:
    learner = kh.AutoLearner(PROBLEM, seed=0)
    words = "crp is -1 in what is known: its limits are 0 to 600"
    unchanged(learner, lambda: learner.ask(known={"crp": -1.0}), words)
    ticket = learner.ask(known={"crp": 5.0}, budget=2)
    learner.tell(ticket.fill({}), 3.0)
    forged = kh.Ticket(1, ticket.features)  # that knows no limits
    unchanged(learner, lambda: learner.correct(forged, values={1: 601.0}), CRP)
    unchanged(learner, lambda: learner.correct(ticket, y=366.0), LABEL)
    learner.correct(ticket, y=4.0, values={"crp": 6.0})


def rows(n: int = 200) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    X = np.random.default_rng(0).uniform(1.0, 9.0, (n, 4))
    return X, X[:, 1].copy()


def play_one_by_one(learner: kh.Learner, X: Any, y: Any) -> None:
    for x, label in zip(X, y, strict=True):
        ticket = learner.ask()
        learner.tell(ticket.fill(x[ticket.features]), label)


@pytest.mark.parametrize("yes_no", [False, True])
@pytest.mark.parametrize("kind", ["auto", "random", "dual-averaging"])
def test_a_block_ends_where_rounds_one_by_one_end(kind: str, yes_no: bool) -> None:
    """At the first row whose bought value is impossible; one that was not bought is nobody's."""
    X, y = rows()
    y = (y > 5.0).astype(np.float64) if yes_no else y
    X[60:, 1] = 700.0

    def make() -> Any:
        learner = kh.LEARNERS[kind](PROBLEM, seed=3)
        return kh.YesNoLearner(learner) if yes_no else learner

    block, one = make(), make()
    with pytest.raises(kh.DataError, match="crp is 700 in round"):
        block.advance(X, y)
    with pytest.raises(kh.DataError, match="crp is 700 in round"):
        play_one_by_one(one, X, y)
    assert 60 < block.round + 1 == one.round  # what was refused is open there
    np.testing.assert_array_equal(block.weights, one.weights)


def test_rows_that_are_possible_play_as_without_limits() -> None:
    X, y = rows()
    limited, free = (
        kh.AutoLearner(PROBLEM, seed=1),
        kh.AutoLearner(PROBLEM.replace(limits=None), seed=1),
    )
    np.testing.assert_array_equal(limited.advance(X, y), free.advance(X, y))
    np.testing.assert_array_equal(limited.weights, free.weights)


def test_labels_of_blocks_and_history() -> None:
    X, y = rows()
    wild = np.where(np.arange(len(y)) == 150, 366.0, y)
    learner = kh.AutoLearner(PROBLEM, seed=0)
    unchanged(learner, lambda: learner.advance(X, wild), LABEL)
    history = kh.streams.ArrayStream(X, wild, NAMES)
    unchanged(learner, lambda: learner.study(history), LABEL)
    unchanged(learner, lambda: learner.study(kh.sums(history)), LABEL)
    with pytest.raises(kh.DataError, match=LABEL):
        kh.play(learner, history)
    X[17, 1] = 601.0
    impossible = kh.streams.ArrayStream(X, y, NAMES)
    words = "crp is 601 in history, row 18: its limits are 0 to 600"
    unchanged(learner, lambda: learner.study(impossible), words)
    unchanged(learner, lambda: learner.study(kh.sums(impossible)), "crp is 601 in sums of history")
    assert PROBLEM.limits is not None
    absent = kh.streams.ArrayStream(PROBLEM.limits.absent(X), y, NAMES)
    assert learner.study(absent) == len(y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"limits": {"crpp": (0, 1)}}, "limits: there is no feature 'crpp' .did you mean 'crp'"),
        ({"limits": {"crp": (1, 0)}}, "limits of 'crp' must be the least first, got 1 and 0"),
        ({"limits": {"crp": 5}}, r"limits of 'crp' must be the least and the largest, .*got 5"),
        ({"limits": {"crp": (0, 1, 2)}}, "limits of 'crp' must be the least and the largest"),
        ({"limits": {"crp": "01"}}, "limits of 'crp' must be the least and the largest"),
        ({"limits": {"crp": (math.nan, 1)}}, "limits of 'crp' must be finite, got nan"),
        ({"limits": {"crp": ("0", 1)}}, "limits of 'crp' must be a number, got '0'"),
        ({"limits": {"crp": (0, 1), 1: (0, 2)}}, "limits: 1 is given twice"),
        ({"limits": [(0, 1)]}, "limits must be pairs by feature"),
        ({"limits": {4: (0, 1)}}, "limits: features run from 0 to 3, got 4"),
        ({"label_limits": 7}, "label_limits must be the least and the largest"),
    ],
)
def test_what_makes_no_limits(given: dict[str, Any], words: str) -> None:
    with pytest.raises(kh.ProblemError, match=words):
        kh.Problem(4, 1, 2, NAMES, **given)


def test_another_problem_keeps_or_changes_them() -> None:
    assert PROBLEM.limits is not None
    assert PROBLEM.replace(budget=2).limits == PROBLEM.limits
    other = PROBLEM.replace(limits={"tsh": (0, None)}).limits
    assert other == kh.Problem(4, 1, 1, NAMES, limits={2: (0, None)}, label_limits=(0, 365)).limits
    changed = PROBLEM.replace(label_limits=(1, 2)).limits
    assert changed is not None
    assert changed.label == (1.0, 2.0)
    assert PROBLEM.replace(limits=None).limits is None
    assert kh.Problem(4, 1, 1, limits={0: (None, None)}).limits is None  # nothing is limited
    with pytest.raises(kh.ProblemError, match="limits of another problem"):
        kh.Problem(1, 1, 1, limits=PROBLEM.limits)


def test_they_are_saved_and_forged_ones_are_refused() -> None:
    learner = kh.AutoLearner(PROBLEM, seed=0)
    again = from_bytes(to_bytes(learner))
    assert again.problem == PROBLEM
    with pytest.raises(kh.DataError, match=CRP):
        again.ask().fill(dict.fromkeys(NAMES[:3], 601.0) | {"age": 1.0})
    parts = json.loads(json.dumps(problem_to_dict(PROBLEM)))
    assert problem_from_dict(parts) == PROBLEM
    plain = problem_to_dict(PROBLEM.replace(limits=None))
    assert "limits" not in plain, "as older versions write and read it"
    for forged in (
        {"features": [1, 0]},
        {"features": [0, 7]},
        {"features": [0, 1.5]},
        {"low": [None]},
        {"low": [None, 601.0]},
        {"low": [None, "0"]},
        {"label": [1.0, 0.0]},
        {"label": [0.0]},
    ):
        with pytest.raises(kh.DataError, match="not a problem"):
            problem_from_dict({**parts, "limits": {**parts["limits"], **forged}})


def test_tickets_carry_theirs() -> None:
    ticket = kh.AutoLearner(ALL, seed=0).ask()
    again = kh.Ticket.from_json(ticket.to_json())
    assert again.limits is not None
    np.testing.assert_array_equal(
        again.limits, [[-math.inf, 0, -math.inf, -math.inf], [120, 600, math.inf, math.inf]]
    )
    parts = json.loads(ticket.to_json())
    for forged in ([[0]], [[1, 1, 1, 1], [0, 0, 0, 0]], [["a"] * 4] * 2, 7):
        with pytest.raises(kh.DataError, match="not a ticket"):
            kh.Ticket.from_json(json.dumps({**parts, "limits": forged}))
    assert kh.AutoLearner(PROBLEM.replace(limits=None), seed=0).ask().limits is None


def table(tmp_path: Path, text: str) -> kh.PriceTable:
    path = tmp_path / "p.csv"
    path.write_text(text)
    return kh.read_prices(path)


def test_a_price_list_has_them(tmp_path: Path) -> None:
    text = "feature,price,panel,low,high\nblood,4,,,\nage,0,,,120\ncrp,2,blood,0,600\ntsh,1,,,\n"
    found = kh.Problem(3, 1, 6, NAMES[:3], prices=table(tmp_path, text), label_limits=(0, None))
    assert (
        found.limits
        == kh.Problem(
            3, 1, 2, NAMES[:3], limits={"age": (None, 120), "crp": (0, 600)}, label_limits=(0, None)
        ).limits
    )
    with pytest.raises(kh.ProblemError, match="line 4: 'crp' has limits here: give no others"):
        kh.Problem(3, 1, 6, NAMES[:3], prices=table(tmp_path, text), limits={"crp": (0, 5)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feature,price,low\na,1,x\n", "line 2: low of 'a' must be a number such as 0.5, or empty"),
        ("feature,price,high\na,1,nan\n", "line 2: high of 'a' must be a number"),
        ("feature,price,low,high\na,1,3,2\n", "line 2: the limits of 'a' must be the least first"),
        (
            "feature,price,panel,low\nb,1,,0\na,1,b,\n",
            "line 2: 'b' is a panel, no feature: leave its",
        ),
    ],
)
def test_limits_in_a_price_list_that_cannot_be(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(kh.DataError, match=words):
        table(tmp_path, text)


def test_levels_have_no_limits(tmp_path: Path) -> None:
    listed = table(tmp_path, "feature,price,low,high\ncity,1,0,1\nage,0,,\n")
    with pytest.raises(kh.ProblemError, match="line 2: 'city' has levels and cannot have limits"):
        listed.fitted(["age", "city=Berlin", "city=Paris"])


def test_a_file_without_them_is_read(tmp_path: Path) -> None:
    """As every file of an earlier version is."""
    learner = kh.AutoLearner(PROBLEM.replace(limits=None), seed=0)
    kh.save(learner, tmp_path / "old.npz")
    assert b'"limits"' not in (tmp_path / "old.npz").read_bytes()
    assert kh.load(tmp_path / "old.npz").problem.limits is None
