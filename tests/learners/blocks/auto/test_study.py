"""Rows of history by value: what they change in AutoLearner's state, and what not."""

from __future__ import annotations

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.batch import new_batch
from keyhole.learners.blocks.auto.engine import LOOK_OUT, choose, study_rows
from keyhole.learners.blocks.auto.spending import spending
from keyhole.learners.blocks.auto.state import (
    EXPLORED,
    KEPT,
    LONGEST_MEMORY,
    Auto,
    new_auto,
    settings,
)
from keyhole.problem import Floats
from tests.helpers.auto_pieces import centre_of

PARTS = kh.AutoParts(taus=(np.inf, 6.0))
PROBLEM = kh.Problem(d=9, k=2, budget=6)


def data(n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 9)) + 1.0
    y = 40.0 + X[:, 1] - 2.0 * X[:, 5] + 0.1 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def new() -> Auto:
    s = settings(PROBLEM, PARTS, counted=True, proper=False, past=True, seed=2)
    return new_auto(s, PARTS, spending(PROBLEM, None, None, None))


def studied(X: Floats, y: Floats, keep: float = 1.0) -> Auto:
    auto = new()
    study_rows(auto, new_batch(auto.settings), X, y, keep)
    return auto


@pytest.mark.parametrize("keep", [1.0, 0.9])
def test_whole_rows_go_into_the_longest_memory(keep: float) -> None:
    """Centred by what was known by then, the row itself included."""
    X, y = data(25)
    state = studied(X, y, keep).state
    G, c, n, yy = np.zeros((10, 10)), np.zeros(10), np.zeros(10), 0.0
    for t in range(25):
        columns = [X[: t + 1, j][~np.isnan(X[: t + 1, j])].tolist() for j in range(9)]
        z = np.append(np.nan_to_num(X[t] - [centre_of(column) for column in columns]), 1.0)
        label = y[t] - centre_of(y[: t + 1].tolist())
        G, c = keep * G + np.outer(z, z), keep * c + label * z
        n, yy = keep * n + np.append(~np.isnan(X[t]), 1.0), keep * yy + label**2
    kept, m = state.kept, LONGEST_MEMORY
    np.testing.assert_allclose(kept.G[m] * kept.scale[m], G, atol=1e-9)
    np.testing.assert_allclose(kept.c[m] * kept.scale[m], c, atol=1e-9)
    np.testing.assert_allclose(kept.n[m] * kept.scale[m], n, atol=1e-9)
    np.testing.assert_allclose(kept.yy[m] * kept.scale[m], yy, atol=1e-9)


def test_every_value_is_counted_and_no_loss_is_charged() -> None:
    X, y = data(25)
    _, state, last, *_ = studied(X, y)
    assert state.studied.tolist() == [25]
    assert state.values.reads.tolist() == (~np.isnan(X)).sum(axis=0).tolist()
    assert state.label.reads[0] == 25
    assert (state.peaks > 0.0).all()
    # Promises are about rounds: what was lost in history is no one's loss ...
    assert not state.mixture.losses.any()
    assert not last.judge.losses.any()
    # ... but everyone knows by now who predicts well, and how large labels are.
    assert state.mixture.recent.any()
    assert state.mixture.span.tolist() == [y.min(), y.max()]


def test_losses_from_rounds_stay_as_they_were() -> None:
    X, y = data(60)
    learner = kh.AutoLearner(PROBLEM, seed=2, parts=PARTS)
    learner.advance(X[:30], y[:30])
    before = learner._state.mixture.losses.copy(), learner._last.judge.losses.copy()
    learner.study(kh.streams.ArrayStream(X[30:], y[30:]))
    assert (learner._state.mixture.losses == before[0]).all()
    assert (learner._last.judge.losses == before[1]).all()
    assert before[0].any()


def test_memories_that_take_no_history_are_untouched() -> None:
    """Whichever those are: the longest has it all, and the others all of it or nothing."""
    X, y = data(25)
    kept = studied(X, y).state.kept
    assert kept.n[LONGEST_MEMORY, -1] == 25.0
    for m in range(1, len(kept.tau)):
        if not kept.n[m].any():
            assert not any(part[m].any() for part in (kept.G, kept.c, kept.yy))
            assert kept.scale[m] == 1.0


def test_the_net_is_not_told() -> None:
    net = studied(*data(25)).state.net
    assert not any(part.any() for part in net)


def test_the_first_prediction_is_near_the_labels() -> None:
    X, y = data(40)
    learner, fresh = (kh.AutoLearner(PROBLEM, seed=2, parts=PARTS) for _ in range(2))
    learner.study(kh.streams.ArrayStream(X[:39], y[:39]))
    row = np.nan_to_num(X[39], nan=1.0)
    tickets = learner.ask(), fresh.ask()
    guesses = [
        who.predict(ticket.fill(row[ticket.features]))
        for who, ticket in zip((learner, fresh), tickets, strict=True)
    ]
    assert guesses[0] == pytest.approx(y[39], abs=4.0)  # labels are 39 +- 2.3
    assert guesses[1] == 0.0


def test_who_has_studied_looks_out_in_some_batches_only() -> None:
    """In the others there is no exploration, if memories choose enough."""
    X, y = data(25)
    X = np.nan_to_num(X, nan=1.0)
    y = X @ np.arange(1.0, 10.0)  # all features are significant
    auto = studied(X, y)
    room = new_batch(auto.settings)
    for number in range(1, 2 * LOOK_OUT + 1):
        batch = choose(auto, room, number, 0, 4)
        why = batch.why.tolist()
        if number % LOOK_OUT:
            assert why == [KEPT] * 6
            assert not batch.weight.any()
        else:
            assert why.count(KEPT) == 5
            assert why.count(EXPLORED) == 1


def test_the_split_does_not_matter() -> None:
    X, y = data(20)
    whole, other = studied(X, y, 0.95).state, new()
    for first, last in ((0, 1), (1, 8), (8, 20)):
        batch = new_batch(other.settings)
        study_rows(other, batch, X[first:last], y[first:last], 0.95)
    parts = other.state
    for one, its in zip(whole.kept, parts.kept, strict=True):
        assert (one == its).all()
    assert (whole.mixture.belief == parts.mixture.belief).all()
    assert whole.studied == parts.studied
