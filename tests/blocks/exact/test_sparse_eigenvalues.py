"""Sparse eigenvalues against enumeration; the proof by pruned search against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.blocks.exact import sparse_eigenvalues
from keyhole.blocks.exact.definite import NO, UNDECIDED, YES, all_definite
from keyhole.blocks.exact.sparse_eigenvalues import search, sparse_spectrum, upper_bound
from keyhole.problem import Floats, ProblemError


def enumerated(A: Floats, k: int) -> tuple[float, float]:
    S = np.array(list(itertools.combinations(range(len(A)), k)))
    values = np.linalg.eigvalsh(A[S[:, :, None], S[:, None, :]])
    return float(values.min()), float(values.max())


def moments(d: int, n: int, seed: int) -> Floats:
    rng = np.random.default_rng([d, n, seed])
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return np.asarray(X.T @ X / n, dtype=np.float64)


@pytest.mark.parametrize("d", [1, 2, 7, 11])
@pytest.mark.parametrize("n", [3, 8, 40])
def test_exact_for_all_k(d: int, n: int) -> None:
    A = moments(d, n, 0)
    scale = float(np.diag(A).max())
    for k in range(1, d + 1):
        low, high = enumerated(A, k)
        spectrum = sparse_spectrum(A, k)
        assert spectrum.high.width == 0
        assert spectrum.low.width == 0
        assert spectrum.high.low == pytest.approx(high, abs=1e-11 * k * scale)
        assert spectrum.low.high == pytest.approx(low, abs=1e-10 * scale)
        for S, value in ((spectrum.high_support, high), (spectrum.low_support, low)):
            assert len(set(S.tolist())) == k
            values = np.linalg.eigvalsh(A[np.ix_(S, S)])
            assert min(abs(values - value)) <= 1e-10 * scale


def test_an_indefinite_matrix_has_a_negative_low_end() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 9))
    A = np.asarray(A + A.T, dtype=np.float64)
    for k in range(1, 10):
        low, high = enumerated(A, k)
        spectrum = sparse_spectrum(A, k, semidefinite=False)
        assert spectrum.low.low == spectrum.low.high == pytest.approx(low)
        assert spectrum.high.low == spectrum.high.high == pytest.approx(high)


@pytest.mark.parametrize("seed", range(4))
def test_without_enumeration_the_interval_still_holds_the_truth(seed: int) -> None:
    A = moments(10, 30, seed)
    widths = []
    for k in range(1, 11):
        low, high = enumerated(A, k)
        spectrum = sparse_spectrum(A, k, seconds=0.0)
        slack = 1e-9 * float(np.diag(A).max())
        assert spectrum.low.low - slack <= low <= spectrum.low.high + slack
        assert spectrum.high.low - slack <= high <= spectrum.high.high + slack
        widths.append(spectrum.high.width)
    assert max(widths) > 0  # so this did look at intervals


def correlations(d: int, n: int, seed: int) -> Floats:
    A = moments(d, n, seed)
    scale = 1 / np.sqrt(np.diag(A))
    return np.asarray(scale[:, None] * A * scale, dtype=np.float64)


def one_correlation_short(A: Floats, k: int) -> float:
    """Broken twin: Gershgorin with the k - 2 largest correlations of a row."""
    off = np.sort(np.abs(A - np.diag(np.diag(A))), axis=1)[:, ::-1]
    return float((np.diag(A) + off[:, : k - 2].sum(axis=1)).max())


def test_the_bound_is_one_and_a_correlation_less_is_a_broken_twin() -> None:
    caught = 0
    for seed in range(6):
        A = correlations(9, 400, seed)
        for k in range(2, 10):
            truth = enumerated(A, k)[1]
            assert upper_bound(A, k)[0] >= truth - 1e-9
            assert search(A, k)[0] <= truth + 1e-9
            caught += one_correlation_short(A, k) < truth - 1e-9
    assert caught > 0


@given(
    d=st.integers(2, 7),
    k=st.integers(2, 7),
    level=st.floats(0.5, 3.0),
    seed=st.integers(0, 10_000),
)
def test_the_proof_agrees_with_brute_force(d: int, k: int, level: float, seed: int) -> None:
    k = min(k, d)
    A = correlations(d, 12, seed)
    M = level * np.eye(d) - A
    truth = enumerated(M, k)[0]
    if abs(truth) < 1e-9:
        return  # too near to call in floating point
    witness = np.empty(k, dtype=np.int64)
    answer, steps = all_definite(M, k, np.inf, witness)
    assert steps >= 0
    assert answer == (YES if truth > 0 else NO)
    if answer == NO:
        S = witness[witness >= 0]
        assert len(S) == len(set(S.tolist())) <= k
        assert np.linalg.eigvalsh(M[np.ix_(S, S)])[0] <= 1e-12


def test_the_proof_gives_up_when_told() -> None:
    A = correlations(12, 20, 0)
    M = np.asarray((enumerated(A, 6)[1] + 1e-6) * np.eye(12) - A)
    witness = np.empty(6, dtype=np.int64)
    assert all_definite(M, 6, 200.0, witness)[0] == UNDECIDED
    assert all_definite(M, 6, np.inf, witness)[0] == YES


@pytest.mark.parametrize("rho", [0.0, 0.3, -0.05, 1.0])
def test_ties_everywhere(rho: float) -> None:
    """Equal correlations: every k-subset has eigenvalues 1 + (k - 1) rho and 1 - rho."""
    A = np.full((12, 12), rho)
    np.fill_diagonal(A, 1.0)
    for k in range(2, 13):
        ends = sorted([1 + (k - 1) * rho, 1 - rho])
        spectrum = sparse_spectrum(A, k)
        assert spectrum.low.low == pytest.approx(ends[0], abs=1e-10)
        assert spectrum.low.high == pytest.approx(ends[0], abs=1e-10)
        assert spectrum.high.low == pytest.approx(ends[1])
        assert spectrum.high.high == pytest.approx(ends[1])


def test_no_room_for_enumeration_leaves_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    A = correlations(10, 30, 0)
    monkeypatch.setattr(sparse_eigenvalues, "ROOM", 10)
    found = sparse_spectrum(A, 4).high
    assert found.low <= enumerated(A, 4)[1] + 1e-9
    assert found.high >= enumerated(A, 4)[1] - 1e-9
    assert found.width > 0


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ProblemError, match="k must be at most d = 2, got 3"):
        sparse_spectrum(np.eye(2), 3)
    with pytest.raises(ProblemError, match="finite square matrix"):
        sparse_spectrum([[1.0, 2.0]], 1)
    with pytest.raises(ProblemError, match="finite square matrix"):
        sparse_spectrum([[np.nan]], 1)
