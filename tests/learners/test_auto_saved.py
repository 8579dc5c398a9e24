"""Files from when AutoLearner bought by other rules, with a net at other budgets: they go on."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode

ALIKE: dict[str, Any] = {"prices": [2.5] * 14}
DIFFER: dict[str, Any] = {
    "prices": [1 + j % 4 for j in range(14)],
    "panels": {"draw": (2, [0, 3])},
}


def data() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 14))
    return X, X[:, 3] - X[:, 7] + 0.3 * rng.standard_normal(90)


def before(learner: kh.AutoLearner) -> bytes:
    """The file as it was then: a rate, no evidence, and nothing about the net in the parts."""
    state = copy.deepcopy(learner.state())
    settings = {**state.settings, "parts": {**state.settings["parts"], "slots": None}}
    parts = {name: part for name, part in state.parts.items() if name != "evidence"}
    parts["rate"] = np.array([0.25])
    return encode(replace(state, parts=parts, settings=settings), "test")


@pytest.mark.parametrize(
    ("budget", "prices", "slots"),
    [(6, {}, 1), (11, {}, 1), (14, {}, 1), (5, {}, 0), (30, ALIKE, 0), (12.5, ALIKE, 0)],
)
def test_the_net_of_a_file_stays(budget: float, prices: dict[str, Any], slots: int) -> None:
    """Then from a budget of 6 on, and never with prices."""
    (X, y), problem = data(), kh.Problem(14, 2, budget, **prices)
    learner = kh.AutoLearner(problem, seed=1, parts=kh.AutoParts(slots=slots))
    learner.advance(X[:42], y[:42])  # in the middle of a batch
    learner._state.evidence[:] = 0.0
    again = from_bytes(before(learner), kh.AutoLearner)
    assert again._settings.slots == slots
    assert (again._state.net.L == learner._state.net.L).all()
    usual = kh.AutoLearner(problem)._settings.slots
    assert again.parts == kh.AutoParts(slots=None if usual == slots else slots)
    assert (again._state.evidence == 0.0).all()
    copied = from_bytes(to_bytes(again), kh.AutoLearner)
    assert "rate" not in copied.state().parts
    expected = learner.advance(X[42:], y[42:]).tolist()
    assert again.advance(X[42:], y[42:]).tolist() == expected
    assert copied.advance(X[42:], y[42:]).tolist() == expected


@pytest.mark.parametrize("how", [{}, {"worth": 30}, {"purse": 900, "horizon": 100}])
@pytest.mark.parametrize("prices", [ALIKE, DIFFER], ids=["alike", "differ"])
def test_a_batch_in_the_middle_of_a_priced_game(
    prices: dict[str, Any], how: dict[str, Any]
) -> None:
    (X, y), problem = data(), kh.Problem(14, 2, 10, **prices)
    learner = kh.AutoLearner(problem, seed=1, **how)
    learner.advance(X[:41], y[:41])
    learner.ask()
    learner._state.evidence[:] = 0.0
    again = from_bytes(before(learner), kh.AutoLearner)
    assert len(again._desk.open) == 1
    assert again.purse_left == learner.purse_left
    assert again.advance(X[41:], y[41:]).tolist() == learner.advance(X[41:], y[41:]).tolist()


def test_a_net_that_cannot_be_is_refused() -> None:
    learner = kh.AutoLearner(kh.Problem(14, 2, 4), parts=kh.AutoParts(slots=1))
    state = copy.deepcopy(learner.state())
    [net] = [pair[1] for pair in state.parts["learnt"]["of"] if pair[0] == "net"]
    net["L"] = np.zeros((9, 14))
    state.settings["parts"]["slots"] = None
    with pytest.raises(kh.StateError, match=r"net.L must be"):
        from_bytes(encode(state, "test"))
