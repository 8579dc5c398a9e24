"""Sparse eigenvalues against enumeration; the proof by pruned search against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.analysis.exact import sparse_eigenvalues
from keyhole.analysis.exact.sparse_eigenvalues import (
    NO,
    UNDECIDED,
    YES,
    all_definite,
    search,
    sparse_spectrum,
    upper_bound,
)
from keyhole.problem import Floats, Indices, Interval, ProblemError


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
    monkeypatch.setattr(sparse_eigenvalues, "MAX_ENUMERATION_NUMBERS", 10)
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


# --- The parts, each by definition


@pytest.mark.parametrize("k", range(1, 8))
def test_row_sums_are_those_of_the_largest_entries(k: int) -> None:
    A = moments(7, 20, 1) - 2.0 * np.eye(7)
    expected = []
    for i in range(7):
        others = sorted((abs(A[i, j]) for j in range(7) if j != i), reverse=True)
        expected.append(A[i, i] + sum(others[: k - 1]))
    np.testing.assert_allclose(sparse_eigenvalues._row_sums(A, k), expected)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_the_upper_bound_is_the_least_of_its_parts(k: int, seed: int) -> None:
    A = correlations(9, (400, 12)[seed % 2], seed) * np.outer(*2 * [1.0 + 0.1 * np.arange(9)])
    off = A - np.diag(np.diag(A))
    sizes = np.abs(off[np.triu_indices(9, 1)])
    found = {"Gershgorin with the k - 1 largest correlations": _gershgorin(A, k)}
    found["the full spectrum"] = float(np.linalg.eigvalsh(A)[-1])
    split = "a split into full spectrum and Gershgorin"
    for share in (0.5, 0.8, 0.9, 0.97, 0.99, 0.997):
        rho = float(np.quantile(sizes, share))
        rest = np.where(np.abs(off) > rho, rho * np.sign(off), off)
        value = float(np.linalg.eigvalsh(A - rest)[-1]) + _gershgorin(rest, k)
        found[split] = min(found.get(split, np.inf), value)
    rows = sorted((sum(sorted(row**2)[9 - k + 1 :]) for row in off), reverse=True)
    found["the Frobenius norm"] = max(np.diag(A)) + np.sqrt((k - 1) / k * sum(rows[:k]))
    value, how = upper_bound(A, k)
    assert value == pytest.approx(min(found.values()))
    assert found[how] == pytest.approx(value)


def _gershgorin(A: Floats, k: int) -> float:
    rows = [[abs(A[i, j]) for j in range(len(A)) if j != i] for i in range(len(A))]
    sums = [A[i, i] + sum(sorted(rows[i], reverse=True)[: k - 1]) for i in range(len(A))]
    return float(max(sums))


def test_one_by_one_has_its_own_entry_as_bound() -> None:
    assert upper_bound(np.array([[3.0]]), 1)[0] == 3.0
    assert search(np.array([[3.0]]), 1)[0] == 3.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_no_exchange_of_one_member_helps_after_the_search(k: int, seed: int) -> None:
    A = moments(12, 15, seed)
    for matrix in (A, -A):
        value, S = search(matrix, k)
        assert value == pytest.approx(np.linalg.eigvalsh(matrix[np.ix_(S, S)])[-1])
        for other in _neighbours(S.tolist(), 12):
            assert np.linalg.eigvalsh(matrix[np.ix_(other, other)])[-1] <= value + 1e-9
        # From the worst support too, not only from where the power steps end.
        all_of_them = np.array(list(itertools.combinations(range(12), k)))
        values = sparse_eigenvalues._top(matrix, all_of_them)
        for T, own in zip(all_of_them.tolist(), values, strict=True):
            assert own == pytest.approx(np.linalg.eigvalsh(matrix[np.ix_(T, T)])[-1])
            if k > 2:
                break
        worst = all_of_them[int(np.argmin(values))]
        end, T = sparse_eigenvalues._swaps(matrix, worst, float(values.min()))
        assert end == pytest.approx(np.linalg.eigvalsh(matrix[np.ix_(T, T)])[-1])
        for other in _neighbours(T.tolist(), 12):
            assert np.linalg.eigvalsh(matrix[np.ix_(other, other)])[-1] <= end + 1e-9


def _neighbours(S: list[int], d: int) -> list[list[int]]:
    others = [j for j in range(d) if j not in S]
    return [sorted([*S[:p], *S[p + 1 :], j]) for p in range(len(S)) for j in others]


def test_power_steps_reach_what_swaps_from_the_diagonal_do_not() -> None:
    """A block of four that are correlated, among columns of larger variance: found at once."""
    A = np.diag(np.linspace(1.5, 2.0, 30))
    A[:4, :4] = 0.9
    A[np.diag_indices(4)] = 1.0
    value, S = search(A, 4)
    assert S.tolist() == [0, 1, 2, 3]
    assert value == pytest.approx(1.0 + 3 * 0.9)


def test_the_proof_tells_what_it_found() -> None:
    A = correlations(8, 20, 3)
    for k in (2, 3, 5):
        low, top = enumerated(A, k)
        proven, subset, used = sparse_eigenvalues._proves(A, k, top + 1e-6, np.inf)
        assert (proven, subset) == (True, None)
        assert used >= 64
        for level in (top - 1e-6, 0.5 * (top + low), 0.9):
            proven, subset, used = sparse_eigenvalues._proves(A, k, level, np.inf)
            assert not proven
            assert subset is not None
            assert len(set(subset.tolist())) == k
            assert (np.diff(subset) > 0).all()
            assert np.linalg.eigvalsh(A[np.ix_(subset, subset)])[-1] >= level - 1e-12
        assert sparse_eigenvalues._proves(A, k, 0.9, np.inf)[2] == 0.0  # the diagonal says so


def test_the_proof_needs_room(monkeypatch: pytest.MonkeyPatch) -> None:
    A = correlations(8, 20, 3)
    for room, refused in ((2 * 64, False), (2 * 64 - 1, True)):
        monkeypatch.setattr(sparse_eigenvalues, "MAX_ENUMERATION_NUMBERS", room)
        told = sparse_eigenvalues._proves(A, 3, 10.0, 123.0)
        assert (told == (False, None, 123.0)) == refused


class Oracle:
    """A proof that knows the answer, asks a price for it, and decides from `least` on only."""

    def __init__(self, A: Floats, k: int, least: float, price: float) -> None:
        sets = np.array(list(itertools.combinations(range(len(A)), k)))
        self.values, self.sets = sparse_eigenvalues._top(A, sets), sets
        self.least, self.price = least, price
        self.asked: list[tuple[float, float]] = []

    def __call__(
        self, A: Floats, k: int, level: float, steps: float
    ) -> tuple[bool, Indices | None, float]:
        self.asked.append((level, steps))
        if level < self.values.max():
            worse = np.flatnonzero(self.values > level)
            return False, self.sets[worse[np.argmin(self.values[worse])]], self.price
        return level >= self.least, None, self.price


def test_a_search_that_fell_short_is_mended_by_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    A, k = correlations(7, 10, 4), 3
    top = enumerated(A, k)[1]
    oracle = Oracle(A, k, -np.inf, 1.0)
    sixth = int(np.argsort(-oracle.values)[5])
    poor, own = oracle.sets[sixth], float(oracle.values[sixth])
    monkeypatch.setattr(sparse_eigenvalues, "search", lambda *_: (own, poor))
    monkeypatch.setattr(sparse_eigenvalues, "_proves", oracle)
    found, S = sparse_eigenvalues._largest(A, k, np.inf, 1.0, 1e6)
    better = sorted(v for v in oracle.values if v > own)
    assert len(better) == 5
    assert found.low == found.high == pytest.approx(top)
    assert np.linalg.eigvalsh(A[np.ix_(S, S)])[-1] == pytest.approx(top)
    # One level after the other, each with half of what is left.
    levels, steps = zip(*oracle.asked, strict=True)
    assert np.array(levels) - 3e-13 == pytest.approx([own, *better], abs=1e-14)
    assert steps == pytest.approx([(1e6 - i) / 2 for i in range(len(steps))])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.5])
def test_a_level_that_cannot_be_decided_is_closed_in_by_halving(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, k = correlations(9, 30, 0), 4
    top, bound = enumerated(A, k)[1], upper_bound(A, k)[0]
    least = top + share * (bound - top)
    oracle = Oracle(A, k, least + 1e-12, 10.0)
    monkeypatch.setattr(sparse_eigenvalues, "_proves", oracle)
    found, _ = sparse_eigenvalues._largest(A, k, np.inf, 1.0, 1000.0)
    if share == 0.0:
        return
    low, high = top, bound
    for trial, (level, steps) in enumerate(oracle.asked[1:]):
        assert level == pytest.approx((low + high) / 2)
        assert steps == pytest.approx((1000.0 - 10.0 * (trial + 1)) / (5 - trial))
        low, high = (low, level) if level >= least else (level, high)
    assert len(oracle.asked) == 6
    assert found.low == pytest.approx(top)
    assert found.high == pytest.approx(high)
    assert ("enumerated at a higher level" in found.how) == (high < bound)


def test_a_better_subset_is_taken_while_closing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search found is poor, and there is work for the last five levels only."""
    A, k = correlations(7, 10, 4), 3
    top = enumerated(A, k)[1]
    oracle = Oracle(A, k, -np.inf, 0.0)
    sixth = int(np.argsort(-oracle.values)[5])
    poor, own = oracle.sets[sixth], float(oracle.values[sixth])
    monkeypatch.setattr(sparse_eigenvalues, "search", lambda *_: (own, poor))
    monkeypatch.setattr(sparse_eigenvalues, "_proves", oracle)
    found, S = sparse_eigenvalues._largest(A, k, np.inf, 1.0, 0.0)
    assert len(oracle.asked) == 5
    low, high = own, upper_bound(A, k)[0]
    for level, _ in oracle.asked:
        assert level == pytest.approx((low + high) / 2)
        above = oracle.values[oracle.values > level]
        low, high = (float(above.min()), high) if above.size else (low, level)
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(high)
    assert own < found.low <= top <= found.high
    assert np.linalg.eigvalsh(A[np.ix_(S, S)])[-1] == pytest.approx(found.low)


def test_condition_numbers_that_subsets_attain() -> None:
    A = moments(6, 40, 2)
    for k in (1, 2, 6):
        low, high = enumerated(A, k)
        found = sparse_eigenvalues.found_condition(A, k)
        assert found <= np.sqrt(high / low) * (1 + 1e-9)
        assert found == pytest.approx(np.sqrt(high / low), rel=0.2)
    assert sparse_eigenvalues.found_condition(np.ones((3, 3)), 2) == np.inf
    nearly = np.diag([1.0, 0.5e-10, 2.0])  # below 1e-10 of the largest: dependent
    assert sparse_eigenvalues.found_condition(nearly, 1) == np.inf
    nearly[1, 1] = 3e-10
    assert sparse_eigenvalues.found_condition(nearly, 1) == pytest.approx(np.sqrt(2 / 3e-10))
    assert sparse_spectrum(nearly, 1).low.low == 3e-10
    nearly[1, 1] = 2e-10  # up to 1e-10 of the largest
    assert sparse_eigenvalues.found_condition(nearly, 1) == np.inf
    assert sparse_spectrum(nearly, 1).low.high == 0.0
    assert sparse_spectrum(nearly, 1, semidefinite=False).low.high == 2e-10


def test_half_of_the_steps_are_for_each_end(monkeypatch: pytest.MonkeyPatch) -> None:
    A, given = correlations(9, 30, 0), list[tuple[float, float]]()

    def largest(
        matrix: Floats, k: int, most: float, scale: float, steps: float
    ) -> tuple[Interval, Indices]:
        given.append((most, steps))
        assert scale == pytest.approx(1.0)
        return Interval(float(matrix[0, 0]), float(matrix[0, 0]) + 0.5, "so"), np.arange(k)

    monkeypatch.setattr(sparse_eigenvalues, "_largest", largest)
    found = sparse_spectrum(A, 3, seconds=2.0)
    assert given == [(np.inf, 3e8), (0.0, 3e8)]
    assert (found.low.low, found.low.high) == pytest.approx((0.5, 1.0))
    assert (found.high.low, found.high.high) == pytest.approx((1.0, 1.5))
    sparse_spectrum(A, 3, seconds=2.0, semidefinite=False)
    assert given[3][0] == np.inf


def test_a_bound_that_is_attained_needs_no_proof() -> None:
    found = sparse_spectrum(np.diag([1.0, 2.0, 3.0]), 2)
    assert found.high.how == upper_bound(np.diag([1.0, 2.0, 3.0]), 2)[1]
    assert found.low.how == upper_bound(-np.diag([1.0, 2.0, 3.0]), 2)[1]


def test_only_the_symmetric_part_counts() -> None:
    A = moments(5, 9, 0)
    skew = np.triu(np.full((5, 5), 0.3), 1)
    plain, turned = sparse_spectrum(A, 2), sparse_spectrum(A + skew - skew.T, 2)
    assert (plain.low.low, plain.high.high) == pytest.approx((turned.low.low, turned.high.high))


def test_how_much_enumeration_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the steps for each end; 3 nominal seconds unless told otherwise."""
    spent: list[float] = []

    def counted(
        A: Floats, k: int, most: float, scale: float, steps: float
    ) -> tuple[Interval, Indices]:
        spent.append(steps)
        return Interval(1.0, 1.0, "as told"), np.arange(k)

    monkeypatch.setattr(sparse_eigenvalues, "_largest", counted)
    sparse_spectrum(np.eye(3), 2)
    sparse_spectrum(np.eye(3), 2, seconds=2.0)
    assert spent == [4.5e8, 4.5e8, 3e8, 3e8]
