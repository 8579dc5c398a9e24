"""Importance-weighted sums: unbiased by enumeration, each row with its own probabilities."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from keyhole.learners.blocks.draw.mixed_sampling import MixedScheme, mixed_scheme
from keyhole.learners.weighted_dantzig import WeightedSums
from keyhole.problem import Floats, Indices, ProblemError

X = np.array([[1.0, -2.0, 0.5, 3.0, 0.25, -1.0], [2.0, 0.5, -1.0, 1.0, 4.0, 0.125]])
Y = np.array([2.0, -3.0])
SCHEMES = (
    mixed_scheme(np.array([0.0, 1.0, -3.0, 0.0, 0.0, 9.0]), [5], 3),
    mixed_scheme(np.array([4.0, 0.0, 1.0, 1.0, 0.0, 0.0]), [0, 2], 3),
)


def outcomes(scheme: MixedScheme) -> list[tuple[float, Indices]]:
    """Every set that the scheme can read, with its probability."""
    outside = [i for i in range(scheme.d) if i not in scheme.support]
    found = []
    for first in outside:
        rests = list(combinations([i for i in outside if i != first], scheme.m - 1))
        for rest in rests:
            read = np.array(sorted([*scheme.support, first, *rest]))
            found.append((float(scheme.q[first]) / len(rests), read))
    return found


Row = Callable[[WeightedSums, Indices, Floats, MixedScheme, float], None]


def add(sums: WeightedSums, S: Indices, x: Floats, scheme: MixedScheme, y: float) -> None:
    sums.add(S, x, scheme, y)


def forgets_the_preference(
    sums: WeightedSums, S: Indices, x: Floats, scheme: MixedScheme, y: float
) -> None:
    """Broken twin: the probabilities of a uniform draw."""
    sums.add(S, x, mixed_scheme(np.zeros(scheme.d), scheme.support, scheme.m), y)


def takes_the_other_round(
    sums: WeightedSums, S: Indices, x: Floats, scheme: MixedScheme, y: float
) -> None:
    """Broken twin: the probabilities of the round when the label came, not of its own."""
    marks = np.where(SCHEMES[0].marks(S) < 0, 0.0, SCHEMES[0].marks(S))
    sums.add_marked(S, x, marks, np.ones(2), y)


def bias(row: Row) -> float:
    """Largest error of the mean of the estimates over all outcomes of two rounds, exactly.

    G and b are sums over rounds, so the mean of the sum is the sum of the means of the rounds.
    """
    G, b = np.zeros((6, 6)), np.zeros(6)
    for x, y, scheme in zip(X, Y.tolist(), SCHEMES, strict=True):
        for probability, S in outcomes(scheme):
            sums = WeightedSums(6)
            row(sums, S, x[S], scheme, y)
            estimate = sums.estimate("exact")
            G += probability * estimate.G / 2
            b += probability * estimate.b / 2
    return float(max(np.abs(G - X.T @ X / 2).max(), np.abs(b - X.T @ Y / 2).max()))


def test_the_exact_estimates_are_unbiased() -> None:
    assert bias(add) < 1e-12
    assert bias(forgets_the_preference) > 0.1
    assert bias(takes_the_other_round) > 0.1


def filled() -> tuple[WeightedSums, list[tuple[Indices, Floats, MixedScheme, float]]]:
    rng = np.random.default_rng(0)
    sums, rows = WeightedSums(6), []
    for t in range(200):
        scheme = SCHEMES[t % 2]
        S = scheme.read(1, t + 1)
        x, y = rng.normal(1.0, 1.0, len(S)), float(rng.normal())
        x[rng.random(len(S)) < 0.1] = np.nan
        sums.add(S, x, scheme, y)
        rows.append((S, x, scheme, y))
    return sums, rows


@pytest.mark.parametrize("weighting", ["exact", "ratio"])
def test_a_plain_transcription_gives_the_same(weighting: str) -> None:
    sums, rows = filled()
    XX, W, Xy, X1 = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6), np.zeros(6)
    for S, x, scheme, y in rows:
        for a, i in enumerate(S):
            for b, j in enumerate(S):
                if not np.isnan(x[a] + x[b]):
                    XX[i, j] += x[a] * x[b] / scheme.pair(i, j)
                    W[i, j] += 1 / scheme.pair(i, j)
            if not np.isnan(x[a]):
                Xy[i] += x[a] * y / scheme.single[i]
                X1[i] += x[a] / scheme.single[i]
    divisor = W if weighting == "ratio" else np.full((6, 6), 200.0)
    estimate = sums.estimate(weighting)
    np.testing.assert_allclose(estimate.G, XX / divisor, rtol=1e-12)
    np.testing.assert_allclose(estimate.b, Xy / np.diag(divisor), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sums.means, X1 / np.diag(W), rtol=1e-12)
    np.testing.assert_allclose(sums.squares, np.diag(XX) / np.diag(W), rtol=1e-12)
    assert estimate.n == sums.n == 200
    assert estimate.c == pytest.approx(np.mean([y * y for *_, y in rows]))
    spreads = np.mean([scheme.spread for _, _, scheme, _ in rows], axis=0)
    np.testing.assert_allclose(sums.spread, spreads)


def test_nothing_seen_is_zero_and_a_wrong_name_is_refused() -> None:
    estimate = WeightedSums(3).estimate()
    assert not estimate.G.any()
    assert not estimate.b.any()
    with pytest.raises(ProblemError, match="did you mean 'ratio'"):
        WeightedSums(3).estimate("ration")
