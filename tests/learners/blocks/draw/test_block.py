"""A block of rounds that explore: what is drawn, read, predicted and written to the buffer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from keyhole.errors import LARGEST
from keyhole.learners.blocks.draw.block import Block, explore_block
from keyhole.learners.blocks.draw.philox import scratch, subset
from keyhole.problem import Floats, Indices

D, K0, N, SEED, FIRST = 9, 3, 6, np.uint64(5), 4
SUPPORT, W, MEANS = np.array([1, 6]), np.array([2.0, -1.0]), np.array([0.25, 0.5])


def drawn(t: int) -> Indices:
    out = np.empty(K0, dtype=np.int64)
    subset(SEED, FIRST + t, 0, D, out, scratch(D))
    return out


def rounds() -> Floats:
    X = np.random.default_rng(0).normal(size=(N, D))
    for t in range(N):
        X[t, drawn(t)[t % K0]] = np.nan  # explored, and absent
    X[2, 6] = np.nan  # the mean stands in
    X[3, 1] = 1e-200  # cannot be squared: counts as 0
    return X


class Played(NamedTuple):
    rounds: int
    predictions: Floats
    bought: NDArray[np.int32]
    explored: NDArray[np.int32]
    values: Floats
    asked: Indices


def play(X: Floats) -> Played:
    bought, predictions = np.full((N, K0 + 3), 99, dtype=np.int32), np.full(N, np.nan)
    explored, values = np.full((N, K0), -7, dtype=np.int32), np.full((N, K0), np.nan)
    asked = np.zeros(D, dtype=np.int64)
    block = Block(SEED, FIRST, X, np.zeros(N), bought, predictions, scratch(D))
    played = explore_block(block, SUPPORT, W, MEANS, explored, values, asked)
    return Played(played, predictions, bought, explored, values, asked)


def test_a_block_is_its_rounds_one_by_one() -> None:
    X = rounds()
    played, predictions, bought, explored, values, asked = play(X)
    assert played == N
    counts = np.zeros(D, dtype=np.int64)
    for t in range(N):
        S = drawn(t)
        union = sorted({*S.tolist(), *SUPPORT.tolist()})
        assert bought[t].tolist() == [*union, *[-1] * (K0 + 3 - len(union))]
        x = np.where(np.abs(X[t]) < 1e-100, 0.0, X[t])
        expected = sum(
            w * (m if np.isnan(v) else v) for w, m, v in zip(W, MEANS, x[SUPPORT], strict=True)
        )
        assert predictions[t] == pytest.approx(expected)
        counts[S] += 1
        arrived = [j for j in S.tolist() if not np.isnan(x[j])]
        assert explored[t].tolist() == [*arrived, *[-1] * (K0 - len(arrived))]
        np.testing.assert_array_equal(values[t, : len(arrived)], x[arrived])
    assert asked.tolist() == counts.tolist()


@pytest.mark.parametrize("where", ["drawn", "support"])
def test_a_block_ends_before_a_value_that_cannot_be_squared(where: str) -> None:
    for value, played in ((LARGEST, N), (-np.nextafter(LARGEST, np.inf), 3), (np.inf, 3)):
        X = rounds()
        j = 6 if where == "support" else int(next(j for j in drawn(3)[::-1] if j not in (1, 6)))
        X[3, j] = value
        told = play(X)
        assert told.rounds == played
        assert told.asked.sum() == K0 * played
        if played == 3:
            assert np.isfinite(told.predictions[:3]).all()
            assert (told.bought[3:] == 99).all()
    X = rounds()
    X[
        :,
        [j for j in range(D) if j not in {*SUPPORT, *np.concatenate([drawn(t) for t in range(N)])}],
    ] = np.inf
    assert play(X).rounds == N  # what is not bought is not looked at
