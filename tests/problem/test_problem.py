"""Problem, Interval and Round: eager checks with messages that name argument, value and remedy."""

import copy
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole import errors
from keyhole.problem import (
    Interval,
    KeyholeError,
    Problem,
    ProblemError,
    Round,
    feature_names,
)
from keyhole.streams import ArrayStream


@given(d=st.integers(-2, 6), k=st.integers(-2, 6), budget=st.integers(-2, 6))
def test_a_problem_exists_exactly_when_1_le_k_le_budget_le_d(d: int, k: int, budget: int) -> None:
    if 1 <= k <= budget <= d:
        assert Problem(d, k, budget).budget == budget
    else:
        with pytest.raises(ProblemError):
            Problem(d, k, budget)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d": 0, "k": 1, "budget": 1}, "d must be at least 1, got 0"),
        ({"d": 3, "k": 1, "budget": 4}, "budget must be at most d = 3, got 4"),
        ({"d": 9, "k": 3, "budget": 2}, "k must be at most budget = 2, got 3"),
        ({"d": 2.5, "k": 1, "budget": 1}, "d must be a whole number, got 2.5"),
        ({"d": 2, "k": 1, "budget": 1, "names": ["a"]}, "2 features, 1 names"),
        ({"d": 2, "k": 1, "budget": 1, "names": ["a", "a"]}, "'a' comes twice"),
        ({"d": 2, "k": 1, "budget": 1, "names": "ab"}, "got the string 'ab'"),
        ({"d": 2, "k": 1, "budget": 1, "names": ["a", ""]}, "non-empty strings, got ''"),
        ({"d": 1, "k": 1, "budget": 1, "names": [7]}, "non-empty strings, got 7"),
    ],
)
def test_what_is_wrong_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        Problem(**arguments)


def test_numpy_integers_and_name_lists_are_welcome() -> None:
    problem = Problem(np.int64(3), np.int32(1), np.uint8(2), names=["a", "b", "c"])
    assert problem == Problem(3, 1, 2, names=("a", "b", "c"))
    assert type(problem.d) is int
    assert problem.label(1) == "b"
    assert Problem(3, 1, 2).label(1) == "feature 1"


def test_a_problem_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Problem(3, 1, 2).d = 4  # type: ignore[misc]


def test_every_error_is_a_keyhole_error_and_bad_arguments_are_value_errors() -> None:
    assert issubclass(ProblemError, KeyholeError)
    assert issubclass(ProblemError, ValueError)


def test_interval() -> None:
    interval = Interval(1.0, 3.0, "search")
    assert interval.width == 2.0
    assert 1.0 in interval
    assert 3.1 not in interval
    assert 5.0 - interval == Interval(2.0, 4.0, "search")
    assert str(interval) == "[1, 3]"
    assert str(Interval(2.0, 2.0, "exact")) == "2"


@pytest.mark.parametrize(("low", "high"), [(2.0, 1.0), (math.nan, 1.0), (1.0, math.nan)])
def test_an_interval_is_in_order(low: float, high: float) -> None:
    with pytest.raises(ProblemError, match="low <= high"):
        Interval(low, high, "")


def test_round_loss() -> None:
    assert Round(1, np.array([0]), y=1.0, y_hat=-1.0).loss == 4.0


def test_names_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a million features take a while: no copy of a problem looks at them again."""
    names = tuple(f"gene {j}" for j in range(500))
    problem = Problem(500, 2, 8, names)
    assert problem.names == names

    def refuse(names: tuple[str, ...]) -> None:
        raise AssertionError("looked through again")

    monkeypatch.setattr(errors, "_refuse_odd_names", refuse)
    with pytest.raises(AssertionError):  # so would this, were it called
        Problem(500, 2, 8, names)
    for other in (
        problem.replace(k=3),
        problem.whole(),
        copy.deepcopy(problem),
        Problem(500, 1, 4, problem.names),
        ArrayStream(np.zeros((1, 500)), np.zeros(1), problem.names),
    ):
        assert other.names is problem.names


def test_names_can_be_copied_and_sent() -> None:
    names = feature_names(["b", "a"], 2)
    assert names is not None
    assert names.places == {"b": 0, "a": 1}
    sent = pickle.loads(pickle.dumps(names))
    assert (sent, type(sent), sent.places) == (("b", "a"), type(names), names.places)
    assert len(pickle.dumps(names)) < 100  # without what can be worked out again
    assert copy.deepcopy(names) is names
    with pytest.raises(ProblemError, match="3 features, 2 names"):
        Problem(3, 1, 1, names)


def test_the_text_of_a_problem_is_not_a_list_of_a_million_names() -> None:
    few, many = (Problem(d, 1, 1, [f"g{j}" for j in range(d)]) for d in (6, 100_000))
    assert repr(few).endswith("'g5'))")
    assert repr(many).endswith("'g5', ...))")
