"""A block of rounds that explore: what is drawn, read, predicted and written to the buffer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from keyhole.blocks.dantzig.explore import Buffer, explore_block, write_arrived
from keyhole.blocks.draw.keyed import scratch, subset
from keyhole.blocks.draw.reading import Block
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

D, K0, N, SEED, FIRST = 9, 3, 6, np.uint64(5), 4
SUPPORT, W, MEANS = np.array([1, 6]), np.array([2.0, -1.0]), np.array([0.25, 0.5])


def buffer() -> Buffer:
    """One row of two entries is there already, and one before it."""
    offsets = np.full(12, -7)
    offsets[:3] = [0, 1, 3]
    return 2, offsets, np.full(40, -7), np.full(40, np.nan)


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


def play(X: Floats) -> tuple[int, Floats, NDArray[np.int32], Buffer, Indices]:
    bought, predictions = np.full((N, K0 + 3), 99, dtype=np.int32), np.full(N, np.nan)
    asked, book = np.zeros(D, dtype=np.int64), buffer()
    block = Block(SEED, FIRST, X, np.zeros(N), bought, predictions, scratch(D))
    played = explore_block(block, (SUPPORT, W, MEANS), K0, book, asked)
    return played, predictions, bought, book, asked


def test_a_block_is_its_rounds_one_by_one() -> None:
    X = rounds()
    played, predictions, bought, (_, offsets, features, values), asked = play(X)
    assert played == N
    e, counts = 3, np.zeros(D, dtype=np.int64)
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
        assert offsets[2 + t + 1] == e + len(arrived)
        assert features[e : e + len(arrived)].tolist() == arrived
        np.testing.assert_array_equal(values[e : e + len(arrived)], x[arrived])
        e += len(arrived)
    assert asked.tolist() == counts.tolist()
    assert (features[e:] == -7).all()
    assert offsets[:3].tolist() == [0, 1, 3]


@pytest.mark.parametrize("where", ["drawn", "support"])
def test_a_block_ends_before_a_value_that_cannot_be_squared(where: str) -> None:
    for value, played in ((LARGEST, N), (-np.nextafter(LARGEST, np.inf), 3), (np.inf, 3)):
        X = rounds()
        j = 6 if where == "support" else int(next(j for j in drawn(3)[::-1] if j not in (1, 6)))
        X[3, j] = value
        told, predictions, _, (_, offsets, _, _), asked = play(X)
        assert told == played
        assert asked.sum() == K0 * played
        if played == 3:
            assert np.isfinite(predictions[:3]).all()
            assert offsets[6] == -7  # nothing of that round is in the buffer
    X = rounds()
    X[
        :,
        [j for j in range(D) if j not in {*SUPPORT, *np.concatenate([drawn(t) for t in range(N)])}],
    ] = np.inf
    assert play(X)[0] == N  # what is not bought is not looked at


def test_what_arrived_of_one_round_is_written() -> None:
    rows, offsets, features, values = book = buffer()
    asked = np.zeros(D, dtype=np.int64)
    bought, x = np.array([0, 2, 3, 5, 8]), np.array([1.0, 2.0, np.nan, 3.0, 4.0])
    write_arrived(bought, x, np.array([2, 3, 8]), book, asked)
    assert offsets[: rows + 2].tolist() == [0, 1, 3, 5]
    assert features[3:6].tolist() == [2, 8, -7]
    assert values[3:5].tolist() == [2.0, 4.0]
    assert asked.tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 1]
    write_arrived(bought, x, np.array([0, 5]), (rows + 1, *book[1:]), asked)
    assert offsets[4] == 7
    assert features[5:7].tolist() == [0, 5]
    assert asked[[0, 5]].tolist() == [1, 1]
