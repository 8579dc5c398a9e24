"""The parts of weak supermodularity, each against least squares on the columns themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from keyhole.analysis.exact import supermodular
from keyhole.analysis.exact.sparse_eigenvalues import sparse_spectrum
from keyhole.analysis.exact.supermodular import smallest_alpha
from keyhole.problem import Floats, Indices
from tests.analysis.exact.test_supermodular import by_definition, data
from tests.helpers.exact_parts import best_beside


def scaled(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Unit columns and label: correlations among each other, and with y."""
    Z = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    return np.ascontiguousarray(Z.T @ Z), Z.T @ y / np.linalg.norm(y)


def ratio(X: Floats, y: Floats, S: list[int], R: list[int]) -> float:
    """What R explains of what S leaves, over the sum of what each of R does; 0 if that is 0."""

    def g(T: list[int]) -> float:
        w = np.linalg.lstsq(X[:, T], y, rcond=1e-8)[0]
        return float(((y - X[:, T] @ w) ** 2).sum())

    gains = sum(g(S) - g([*S, i]) for i in R)
    return (g(S) - g([*S, *R])) / gains if gains > 1e-10 * float(y @ y) else 0.0


def test_pairs_of_sets_are_counted() -> None:
    for d in range(2, 7):
        for k in range(2, d + 1):
            sizes = itertools.product(range(3), repeat=d)  # 0: in neither, 1: in S, 2: in R
            count = sum(m.count(2) >= 2 and m.count(1) + m.count(2) <= k for m in sizes)
            assert supermodular._pairs(d, k) == count


@pytest.mark.parametrize("kind", ["independent", "correlated", "duplicates"])
def test_the_worst_pair_is_marked_and_none_is_worse(kind: str) -> None:
    X, y = data(kind, 5)
    A, b = scaled(X, y)
    for k in range(2, 6):
        marks = np.zeros(5, dtype=np.int64)
        worst = supermodular.worst_pair(A, b, k, marks)
        S, R = np.flatnonzero(marks == 1).tolist(), np.flatnonzero(marks == 2).tolist()
        assert len(S) + len(R) <= k
        assert len(R) >= 2 or worst == 1.0
        assert ratio(X, y, S, R) == pytest.approx(worst, rel=1e-6)
        assert max(worst, 1.0) == pytest.approx(by_definition(X, y, k), rel=1e-6)


def test_the_worst_sets_beside_a_given_one() -> None:
    """S is given; what depends on it takes no part, and a worse pair known before stays."""
    X, y = data("correlated", 6)
    X[:, 4] = X[:, 0] + X[:, 1]
    A, b = scaled(X, y)
    S, others = [0, 1], [2, 3, 5]
    inside = np.array([1, 1, 0, 0, 0, 0])
    H = np.linalg.solve(A[np.ix_(S, S)], np.column_stack([A[S], b[S]]))
    W, r = A - A[:, S] @ H[:, :-1], b - A[:, S] @ H[:, -1]
    for most in (1, 2, 3):
        sets = [list(R) for m in range(1, most + 1) for R in itertools.combinations(others, m)]
        expected = {tuple(R): ratio(X, y, S, R) for R in sets}
        marks = np.full(6, 7)
        found = best_beside(W, r, inside, most, 0.0, marks)
        assert found == pytest.approx(max(expected.values()), rel=1e-6)
        R = tuple(np.flatnonzero(marks == 2).tolist())
        assert expected[R] == pytest.approx(found, rel=1e-6)
        assert np.flatnonzero(marks == 1).tolist() == S
        marks[:] = 7
        assert best_beside(W, r, inside, most, 99.0, marks) == 99.0
        assert marks.tolist() == [7] * 6


def test_labels_that_nothing_explains_have_no_worst_pair() -> None:
    for gain, expected in ((1e-7, 0.0), (1e-5, 1.0)):  # their squares: below and above 1e-12
        b, marks = np.array([gain, 0.0, 0.0]), np.zeros(3, dtype=np.int64)
        assert supermodular.worst_pair(np.eye(3), b, 2, marks) == pytest.approx(expected)
        assert supermodular._ratio(np.eye(3), b, [], [0, 1]) == pytest.approx(expected)


def test_the_ratio_of_one_pair() -> None:
    X, y = data("correlated", 5)
    A, b = scaled(X, y)
    for S, R in (([], [0, 1]), ([2], [0, 4]), ([1, 3], [0, 2, 4]), ([0, 1, 2], [3, 4])):
        assert supermodular._ratio(A, b, S, R) == pytest.approx(ratio(X, y, S, R))


def test_a_pair_with_dependent_columns_says_nothing() -> None:
    X, y = data("correlated", 5)
    X[:, 4] = X[:, 0] - X[:, 1]
    A, b = scaled(X, y)
    assert supermodular._ratio(A, b, [0, 1, 4], [2, 3]) == 0.0  # S
    assert supermodular._ratio(A, b, [0, 1], [4, 2]) == 0.0  # R depends on S
    assert supermodular._ratio(A, b, [2], [0, 1, 4]) == 0.0  # R, beside S
    assert supermodular._ratio(A, b, [0], [1, 3]) > 0.0


@pytest.mark.parametrize("start", [[0, 2, 2, 0, 0, 0], [1, 2, 2, 0, 0, 0], [2, 0, 0, 2, 0, 1]])
def test_the_worst_pair_is_grown_by_the_worst_next_one(start: list[int]) -> None:
    X, y = data("correlated", 6)
    A, b = scaled(X, y)
    marks = np.array(start)
    S, R = np.flatnonzero(marks == 1).tolist(), np.flatnonzero(marks == 2).tolist()
    best = ratio(X, y, S, R)
    for k in range(len(S) + len(R), 7):
        if k > len(S) + len(R):
            others = [j for j in range(6) if j not in S and j not in R]
            trials = [([*S, j], R) for j in others] + [(S, [*R, j]) for j in others]
            S, R = max(trials, key=lambda trial: ratio(X, y, *trial))
            best = max(best, ratio(X, y, S, R))
        grown = supermodular._grown(A, b, marks, k, ratio(X, y, *_sets(marks)))
        assert grown == pytest.approx(best, rel=1e-6)
    assert supermodular._grown(A, b, np.zeros(6, dtype=np.int64), 4, 0.5) == 0.5  # nothing to grow


def _sets(marks: Indices) -> tuple[list[int], list[int]]:
    return np.flatnonzero(marks == 1).tolist(), np.flatnonzero(marks == 2).tolist()


def test_how_far_pairs_are_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the largest size that has no more pairs than allowed, and always up to 2."""
    X, y = data("independent", 5)
    moments = X.T @ X, X.T @ y, float(y @ y)
    for size in (2, 3, 4):
        most = supermodular._pairs(5, size)
        for allowed, reached in ((most, size), (most - 1, max(size - 1, 2))):
            monkeypatch.setattr(supermodular, "MAX_PAIRS", allowed)
            told = smallest_alpha(*moments, 5)
            assert f"up to size {reached}, grown to 5" in told.how
            sparse = sparse_spectrum(scaled(X, y)[0], 5).low.low
            assert told.high == pytest.approx(1.0 / sparse)
            assert told.low <= by_definition(X, y, 5) * (1 + 1e-9)
            assert told.low >= by_definition(X, y, reached) * (1 - 1e-9) > 1.0
            assert smallest_alpha(*moments, reached).width == 0.0


def test_an_interval_is_open_where_columns_depend_on_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data("duplicates", 6)
    monkeypatch.setattr(supermodular, "MAX_PAIRS", 20)
    assert smallest_alpha(X.T @ X, X.T @ y, float(y @ y), 4).high == np.inf
