"""The proof by pruned search, step by step: what it visits, what it counts, what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.analysis.exact.sparse_eigenvalues import NO, UNDECIDED, YES, all_definite
from keyhole.problem import Floats
from tests.helpers.exact_parts import coherence


def correlations(d: int, seed: int) -> Floats:
    return np.asarray(np.corrcoef(np.random.default_rng(seed).normal(size=(d, d + 4))))


def test_the_largest_squared_correlation_from_each_place_on() -> None:
    W = correlations(6, 0)
    unit = np.arange(1.0, 7.0)
    scaled = np.triu(W * np.outer(unit, unit)) + np.tril(np.full((6, 6), np.nan), -1)
    for first in range(6):
        most = np.full(6, -7.0)
        coherence(scaled, first, most)
        expected = [
            max([W[a, b] ** 2 for b in range(6) for a in range(i, b)] + [0.0]) for i in range(6)
        ]
        np.testing.assert_allclose(most[first:5], expected[first:5])
        assert most[5] == 0.0
        assert (most[:first] == -7.0)[: min(first, 5)].all()


class Slow:
    """The same search with a fresh Schur complement for every set."""

    def __init__(self, M: Floats, k: int, limit: float) -> None:
        self.M, self.k, self.limit, self.steps = M, k, limit, float(len(M) ** 2)

    def left(self, chosen: list[int]) -> Floats:
        """What the chosen ones leave of M."""
        if not chosen:
            return self.M
        cross = self.M[chosen]
        return np.asarray(self.M - cross.T @ np.linalg.solve(cross[:, chosen], cross))

    def answer(self) -> tuple[int, float, list[int]]:
        for a in range(len(self.M)):
            if self.M[a, a] <= 0.0:
                return NO, 0.0, [a]
        found = self.below([], 0)
        return found[0], self.steps, found[1]

    def below(self, chosen: list[int], first: int) -> tuple[int, list[int]]:
        d, W, r = len(self.M), self.left(chosen), self.k - len(chosen)
        for i in range(first, d - r + 1):
            pairs = [(a, b) for a in range(i, d) for b in range(a + 1, d)]
            bad = [W[a, b] ** 2 / (W[a, a] * W[b, b]) for a, b in pairs]
            if (r - 1) ** 2 * max(bad) < 1.0:
                break  # certain for all that comes
            if r == 2:
                return NO, [*chosen, *next(p for p, x in zip(pairs, bad, strict=True) if x >= 1.0)]
            next_left = self.left([*chosen, i])
            for a in range(i + 1, d):
                if next_left[a, a] <= 0.0:
                    return NO, [*chosen, i, a]
            self.steps += (d - i) ** 2
            if self.steps > self.limit:
                return UNDECIDED, []
            found = self.below([*chosen, i], i + 1)
            if found[0] != YES:
                return found
        return YES, []


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(6))
def test_every_step_is_the_one_of_the_slow_search(k: int, seed: int) -> None:
    said = set()
    A = correlations(7, seed)
    for level in (0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.4, 2.8):
        M = level * np.eye(7) - A
        slow = Slow(M, k, np.inf).answer()
        for limit in (np.inf, slow[1], slow[1] - 1.0, slow[1] / 2, 0.0):
            answer, steps, witness = Slow(M, k, limit).answer()
            told = np.full(k, 99)
            assert all_definite(M, k, limit, told) == (answer, steps)
            assert told.tolist() == [*witness, *[-1] * (k - len(witness))]
            said.add(answer)
    assert {YES, NO} <= said <= {YES, NO, UNDECIDED}


def test_a_matrix_that_is_all_but_singular_is_not_definite() -> None:
    """Two equal columns, or a third that is the sum of two: exactly 0 is not more than 0."""
    for k in (2, 3):
        told = np.empty(k, dtype=np.int64)
        assert all_definite(np.ones((3, 3)), k, np.inf, told)[0] == NO
    sums = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    told = np.empty(3, dtype=np.int64)
    assert all_definite(sums, 3, np.inf, told)[0] == NO
    assert sorted(told.tolist()) == [0, 1, 2]
    assert all_definite(sums, 2, np.inf, told[:2])[0] == YES
    assert all_definite(np.diag([1.0, 0.0, 1.0]), 2, np.inf, told)[0] == NO
    assert told.tolist() == [1, -1, -1]
