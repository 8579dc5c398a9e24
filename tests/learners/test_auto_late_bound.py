"""The bound of AutoLearner is for labels told before the next prediction, and for no others."""

from __future__ import annotations

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.mixture import bound, learn, mix, predict
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes

ROUNDS = 2000


def against_two_experts(delay: int, mixtures: int = 1) -> tuple[float, float, float, float]:
    """The loss, that of the better of two constants, the bound, the loss of records.

    The adversary answers with the end of [-1, 1] that is farther from the prediction. Each label is
    told after `delay` more predictions; mixtures play in turn.
    """
    players = [mix([0.5, 0.5]) for _ in range(mixtures)]
    waiting = list[tuple[int, Floats, float]]()
    loss, experts, records = 0.0, np.zeros(2), 0.0
    ends = [list[float]() for _ in players]
    for t in range(ROUNDS):
        player, guesses = t % mixtures, np.array([1.0, -1.0, 0.0])
        y_hat = float(predict(players[player], guesses))
        y = -1.0 if y_hat > 0.0 else 1.0
        loss += (y - y_hat) ** 2
        experts += (y - np.array([1.0, -1.0])) ** 2
        if y not in ends[player]:
            records += (y - y_hat) ** 2
            ends[player].append(y)
        waiting.append((player, guesses, y))
        if len(waiting) > delay:
            told, cut, label = waiting.pop(0)
            predict(players[told], cut)  # as it would predict by now
            learn(players[told], cut, label)
    for told, cut, label in waiting:
        learn(players[told], cut, label)
    return loss, float(experts.min()), sum(bound(p, 0) for p in players), records


def test_the_bound_holds_where_each_label_is_told_in_time() -> None:
    loss, best, more, records = against_two_experts(delay=0)
    assert loss <= best + more + records


@pytest.mark.parametrize("delay", [16, 30])
def test_the_bound_fails_for_late_labels(delay: int) -> None:
    """All predictions between two labels are made from the same weights, and all are wrong.

    Twice the bound, and all records paid, do not make up for it.
    """
    loss, best, more, records = against_two_experts(delay)
    assert loss > best + 2.0 * more + records


@pytest.mark.parametrize("delay", [16, 30])
def test_mixtures_in_turn_have_their_bounds_when_labels_are_late(delay: int) -> None:
    loss, best, more, records = against_two_experts(delay, mixtures=delay + 1)
    assert loss <= best + more + records


def test_no_bound_is_told_once_a_label_was_late() -> None:
    """Also not by a copy from a file; a label that is told in time, or never, changes nothing."""
    learner = kh.AutoLearner(kh.Problem(d=14, k=1, budget=12), seed=0)
    rng = np.random.default_rng(0)
    learner.advance(rng.standard_normal((64, 14)), rng.standard_normal(64))
    first = learner.ask()
    learner.tell(first.fill(np.zeros(12)), 1.0)
    never, second = learner.ask(), learner.ask()
    learner.drop(never)
    learner.tell(second.fill(np.zeros(12)), 1.0)
    assert np.isfinite(learner.bound())
    third, fourth = learner.ask(), learner.ask()
    learner.tell(third.fill(np.zeros(12)), 1.0)
    learner.tell(fourth.fill(np.zeros(12)), 1.0)
    assert learner.bound() == np.inf
    loaded = from_bytes(to_bytes(learner))
    assert isinstance(loaded, kh.AutoLearner)
    assert loaded.bound() == np.inf


def test_a_block_before_an_open_label_makes_it_late() -> None:
    learner = kh.AutoLearner(kh.Problem(d=14, k=1, budget=12), seed=0)
    ticket = learner.ask()
    rng = np.random.default_rng(0)
    learner.advance(rng.standard_normal((64, 14)), rng.standard_normal(64))
    assert np.isfinite(learner.bound())  # the label may never come
    learner.tell(ticket.fill(np.zeros(12)), 1.0)
    assert learner.bound() == np.inf
