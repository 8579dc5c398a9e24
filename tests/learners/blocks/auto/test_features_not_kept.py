"""What features that are not kept would add: by definition where every row is complete."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from keyhole.learners.blocks.auto.joint_fit import (
    Beyond,
    Joint,
    at_least,
    at_most,
    beyond,
    joint_fit,
    lost_without,
)
from keyhole.learners.blocks.sums.memories import memories, remember
from keyhole.problem import Floats

N = 400


def rows(seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 6)) + 0.6 * rng.standard_normal((N, 1))
    y = X @ [2.0, 1.0, 0.5, 0.3, 0.0, 0.0] + 2.0 * rng.standard_normal(N)
    return X - X.mean(axis=0), y - y.mean()


def found(X: Floats, y: Floats, V: list[int]) -> tuple[Beyond, Joint]:
    kept, peaks = memories(X.shape[1], [math.inf]), np.nanmax(np.abs(X), axis=0)
    remember(kept, np.arange(X.shape[1]), X, y)
    fit = joint_fit(kept, 0, np.array(V, dtype=np.int64), peaks, float(np.abs(y).max()))
    return beyond(kept, 0, np.array(V, dtype=np.int64), peaks, fit), fit


def left(X: Floats, y: Floats, V: list[int]) -> float:
    e = y - X[:, V] @ np.linalg.lstsq(X[:, V], y, rcond=None)[0]
    return float(e @ e / (y @ y))


@pytest.mark.parametrize("V", [[0, 1], [0], []])
def test_complete_rows_are_plain_least_squares(V: list[int]) -> None:
    X, y = rows()
    other, fit = found(X, y, V)
    for j in set(range(6)) - set(V):
        assert other.size[j] ** 2 == pytest.approx(left(X, y, V) - left(X, y, [*V, j]), rel=1e-5)
        assert other.error[j] == pytest.approx(math.sqrt(fit.noise / N), rel=1e-6)
        bound = (other.size[j] + 2.0 * other.error[j]) ** 2
        assert other.at_most(j) == pytest.approx(min(bound, other.left))
    explained, doubt = lost_without(fit, range(len(V)))
    assert other.left == pytest.approx(min(1.0 - explained + 2.0 * doubt, 1.0))
    assert other.told.tolist() == [j not in V for j in range(6)]


def test_what_is_hardly_read_constant_or_a_copy_is_not_told() -> None:
    X, y = rows()
    X[5:, 3], X[:, 4], X[:, 5] = np.nan, 0.0, X[:, 0] * 3.0
    other, _ = found(X, y, [0])
    assert other.told.tolist() == [False, True, True, False, False, False]
    X[1:, 2] = np.clip(X[1:, 2], -0.01, 0.01)  # one value says it all
    X[0, 2] = 50.0
    assert not found(X, y, [0])[0].told[2]


def test_reads_that_missed_what_is_kept_widen_the_error() -> None:
    """Feature 2 is read in half of the rounds, 0 in the other half, 1 in all: labels of the first
    half have feature 0 in them. The broken twin has the same noise in every round."""
    X, y = rows()
    complete = found(X, y, [0, 1])[0]
    X[: N // 2, 0], X[N // 2 :, 2] = np.nan, np.nan
    other, fit = found(X, y, [0, 1])
    assert other.error[2] > 1.3 * math.sqrt(fit.noise / (N / 2)) > 1.3 * complete.error[2]


def test_a_label_that_never_changes_tells_nothing() -> None:
    X, _ = rows()
    other, _ = found(X, np.zeros(N), [])
    assert not other.told.any()
    assert (at_least(other), at_most(other, 1)) == (0.0, 0.0)


def made(size: list[float], error: list[float], whole: float = 1.0) -> Beyond:
    return Beyond(np.array(size), np.array(error), whole, np.ones(len(size), dtype=np.bool_))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_bound_is_the_largest_over_all_sets(count: int) -> None:
    rng = np.random.default_rng(count)
    other = made((0.2 * rng.random(7)).tolist(), (0.1 * rng.random(7)).tolist())
    sets = itertools.chain(*(itertools.combinations(range(7), m) for m in range(1, count + 1)))
    most = max(
        (math.sqrt((other.size[list(A)] ** 2).sum()) + 2.0 * other.error[list(A)].max()) ** 2
        for A in sets
    )
    assert at_most(other, count) == pytest.approx(most)
    assert at_most(other._replace(left=0.9 * most), count) == pytest.approx(0.9 * most)
    assert at_most(other, 0) == 0.0


def test_only_what_is_told_counts() -> None:
    other = made([0.5, 0.1, 0.2], [0.01, 0.01, 0.01])
    other.told[0] = False
    assert at_most(other, 1) == pytest.approx(0.22**2)
    far = NormalDist().inv_cdf(1.0 - 0.0125 / 3)
    assert at_least(other) == pytest.approx((0.2 - 0.01 * far) ** 2)
    assert at_least(made([0.1], [0.1])) == 0.0
    assert at_least(made([0.9], [0.001], 0.5)) == 0.5
