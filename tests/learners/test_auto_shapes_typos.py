"""Shapes where typos, levels that jump, late labels and files come together."""

from __future__ import annotations

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.chain import STARTED
from keyhole.learners.blocks.auto.ring import TOLD, slots
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams import ArrayStream

D, N = 9, 360
PROBLEM = kh.Problem(D, 2, 6)
SMALL = kh.AutoParts(ring=96, trees=6, depth=2)


def untidy(seed: int, n: int = N) -> tuple[Floats, Floats]:
    """Curves, with wild labels and values at random, from the first rounds on, and two jumps."""
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((n, D))
    y = 5.0 + np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    for at in np.sort(rng.integers(0, n, 2)):
        y[at:] += rng.choice([-400.0, 400.0])
    y[rng.random(n) < 0.03] *= 1e3
    X[rng.random(X.shape) < 0.02] *= 1e4
    X[rng.random(X.shape) < 0.05] = np.nan
    if seed % 2:
        y[rng.integers(4)], X[rng.integers(4), :3] = 1e7, 1e8
    return X, y


def new(**how: bool) -> kh.AutoLearner:
    return kh.AutoLearner(PROBLEM, seed=1, parts=SMALL, **how)


@pytest.mark.parametrize("history", [0, 40])
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 7])
def test_rounds_and_blocks_of_any_size_agree_after_files(seed: int, history: int) -> None:
    (X, y), rng = untidy(seed), np.random.default_rng(seed)
    whole, parts, rounds = new(), new(), new()
    for learner in (whole, parts, rounds):
        learner.study(ArrayStream(X[:history], y[:history]))
    X, y = X[history:], y[history:]
    expected = whole.advance(X, y)
    assert whole._chain.clock[STARTED] > 0  # something was found that shapes must forget
    t = 0
    while t < len(y):
        many = int(rng.choice([1, 2, 3, 5, 16, 50, 120]))
        found = parts.advance(X[t : t + many], y[t : t + many])
        assert found.tobytes() == expected[t : t + many].tobytes()
        parts, t = from_bytes(to_bytes(parts), kh.AutoLearner), t + many
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        ticket = rounds.ask()
        seen = ticket.fill(x[ticket.features])
        assert rounds.predict(seen) == expected[t]
        rounds.tell(seen, label)
        if rng.random() < 0.05:
            rounds = from_bytes(to_bytes(rounds), kh.AutoLearner)
    assert to_bytes(whole) == to_bytes(parts) == to_bytes(rounds)
    assert len({(*mixture.span.tolist(),) for mixture in judges(whole)}) == 1


def judges(learner: kh.AutoLearner) -> tuple[kh.learners.blocks.auto.mixture.Mixture, ...]:
    chain = learner._chain
    return learner._state.mixture, learner._last.judge, chain.first, chain.second


@pytest.mark.parametrize("seed", range(4))
def test_late_labels_and_files_agree_with_those_that_were_not_saved(seed: int) -> None:
    """Labels up to 60 rounds late, in any order: a file in between changes nothing, and shapes are
    judged by the labels the mixture hears."""
    (X, y), rng = untidy(seed), np.random.default_rng(seed)
    one, other, waiting = new(), new(), list[tuple[kh.Observation, float]]()
    for x, label in zip(X, y.tolist(), strict=True):
        tickets = one.ask(), other.ask()
        seen = [ticket.fill(x[ticket.features]) for ticket in tickets]
        predictions = one.predict(seen[0]), other.predict(seen[1])
        assert predictions[0] == predictions[1]
        assert np.isfinite(predictions[0])
        waiting.append((seen[0], label))
        while waiting and (len(waiting) > 60 or rng.random() < 0.6):
            told = waiting.pop(int(rng.integers(len(waiting))))
            one.tell(*told)
            other.tell(*told)
        if rng.random() < 0.05:
            other = from_bytes(to_bytes(other), kh.AutoLearner)
    assert to_bytes(one) == to_bytes(other)
    assert len({(*mixture.span.tolist(),) for mixture in judges(one)}) == 1


def test_rows_of_history_are_as_they_were_learnt() -> None:
    """A value that is far out is absent, and so are all if one of the first was wild."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, D)), rng.standard_normal(60)
    X[1, 0], X[40, 1], y[45] = 1e6, 1e6, 1e6
    learner = new()
    learner.study(ArrayStream(X, y))
    ring = learner._state.ring
    at = slots(ring)
    assert np.nanmax(np.abs(ring.values[at])) < 10.0
    assert np.abs(ring.labels[at]).max() < 10.0
    seats = learner._chain.seated
    for seat, j in enumerate(seats.who.tolist()):  # codes are of these values
        absent = ~((ring.features[at] == j) & ~np.isnan(ring.values[at])).any(axis=1)
        assert ((seats.codes[at, seat] == 0) == absent).all()


def test_shapes_begin_after_the_row_of_history_that_shows_a_jump() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, D)), rng.standard_normal(60)
    y[40:] += 1e3
    learner = new()
    learner.study(ArrayStream(X, y))
    began, chain = int(learner._chain.clock[STARTED]), learner._chain
    assert 40 < began < 45
    assert learner._state.ring.next[TOLD] == 60
    assert np.abs(learner._state.ring.labels[began:60] - chain.p[began:60]).max() < 10.0
    assert len({(*mixture.span.tolist(),) for mixture in judges(learner)}) == 1
