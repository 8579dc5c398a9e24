"""Corrections where few features have a seat: sums of each, and of pairs since both have one."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.saving.api import from_bytes, to_bytes
from tests.helpers.auto_sums import allowed, centred, learnt, weights, worked_out

D, ROUNDS = 60, 240


def play(active: int, wrong: dict[int, float], label: float | None) -> tuple[Any, ...]:
    """A game with few seats; which features ever gave one up."""
    rng = np.random.default_rng(5)
    problem = kh.Problem(D, 2, 6)
    learner = kh.AutoLearner(problem, seed=1, parts=kh.AutoParts(active=active))
    X = rng.standard_normal((ROUNDS, D)) + 2.0
    y = X[:, 3] + 0.1 * rng.standard_normal(ROUNDS)
    tickets, waiting, left = list[kh.Ticket](), list[Any](), np.zeros(D, dtype=bool)
    for t in range(ROUNDS):
        sat = learner._state.kept.seat >= 0
        ticket = learner.ask()
        tickets.append(ticket)
        x = X[t, ticket.features]
        for place, value in wrong.items() if t == 100 else ():
            x[place] = value
        waiting.append((ticket.fill(x), float(label if label is not None and t == 100 else y[t])))
        if t >= 11:
            learner.tell(*waiting.pop(rng.integers(len(waiting))))
        left |= sat & (learner._state.kept.seat < 0)
        if t == 150:
            learner = from_bytes(to_bytes(learner), kh.AutoLearner)
    for late in waiting:
        sat = learner._state.kept.seat >= 0
        learner.tell(*late)
        left |= sat & (learner._state.kept.seat < 0)
    return learner, tickets, X, y, left


@pytest.mark.parametrize(
    ("wrong", "label"), [({2: 40.0, 4: -9.0}, None), ({}, 50.0), ({0: 9.0}, 9.0)]
)
@pytest.mark.parametrize("active", [12, 30, 59])
def test_sums_of_every_feature_and_of_pairs_that_sit(
    active: int, wrong: dict[int, float], label: float | None
) -> None:
    learner, tickets, X, y, left = play(active, wrong, label)
    ticket = tickets[100]
    right = {int(ticket.features[p]): float(X[100, ticket.features[p]]) for p in wrong}
    as_told = zip(learnt(learner), worked_out(learner).memories, strict=True)
    left_behind = [ours.c - its.c for ours, its in as_told]  # by features that gave up their seat
    learner.correct(ticket, y=None if label is None else float(y[100]), values=right or None)
    expected, found = worked_out(learner), learnt(learner)
    off = float(allowed(ROUNDS, np.array([50.0]))[0, 0])
    assert left.sum() > 5 or active > 12
    for ours, its, other in zip(found, expected.memories, left_behind, strict=True):
        assert np.abs(np.diag(ours.G) - np.diag(its.G)).max() <= off
        assert np.abs(ours.G[-1] - its.G[-1]).max() <= off
        assert np.abs(ours.n - its.n).max() <= off
        stayed = np.append(~left, True)
        assert np.abs(ours.c - its.c)[stayed].max() <= off
        assert np.abs(ours.c - its.c - other).max() <= off
        assert abs(ours.yy - its.yy) <= off
    assert learner._state.peaks == pytest.approx(expected.peaks, rel=1e-9)
    compare_pairs(learner, off)


def compare_pairs(learner: kh.AutoLearner, off: float) -> None:
    """Of a pair there are the products of rows that came since both took their seats."""
    kept, ring = learner._state.kept, learner._state.ring
    Z, _, folds = centred(learner)
    for a in np.flatnonzero(kept.who >= 0).tolist():
        others = np.flatnonzero((kept.who >= 0) & (np.arange(len(kept.who)) != a))
        since = folds[:, None] > np.maximum(ring.since[a], ring.since[others])
        for m, weight in enumerate(weights(learner, folds)):
            products = (weight * Z[:, kept.who[a]])[:, None] * Z[:, kept.who[others]] * since
            found = kept.G[m, a, others] * kept.scale[m]
            assert np.abs(found - products.sum(axis=0)).max(initial=0.0) <= off
    assert np.array_equal(kept.G, np.swapaxes(kept.G, 1, 2))


def test_a_feature_of_which_nothing_arrived_after_all_has_no_sums() -> None:
    """Whether it has a seat or not: exactly 0, as if it had never been read."""
    learner, tickets, _, _, _ = play(12, {}, None)
    state = learner._state
    reads = state.values.reads
    resting = int(np.argmin(np.where((state.kept.seat < 0) & (reads > 0), reads, np.inf)))
    seated = int(np.argmin(np.where(state.kept.seat >= 0, reads, np.inf)))
    for j in (resting, seated):
        for ticket in tickets:
            if j in ticket.features and ticket.round in state.ring.rounds:
                learner.correct(ticket, values={j: None})
        seat = int(state.kept.seat[j])
        assert state.values.reads[j] == state.values.total[j] == state.peaks[j] == 0.0
        sums = state.kept.rest[:, j] if seat < 0 else state.kept.G[:, seat]
        assert not sums.any()
        assert seat < 0 or not (state.kept.c[:, seat].any() or state.kept.n[:, seat].any())
