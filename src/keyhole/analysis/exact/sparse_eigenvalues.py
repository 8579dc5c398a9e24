"""Sparse eigenvalues: extremes over all k x k principal submatrices, exact or as an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.functions import c_function, kept, to_the_end
from keyhole.problem import Floats, Indices, Interval, ProblemError, whole_number

YES, NO, UNDECIDED = 1, 0, -1


def all_definite(M: Floats, k: int, limit: float, witness: Indices) -> tuple[int, float]:
    """Decide whether M[S, S] is positive definite for every |S| = k >= 2; (answer, steps taken).

    Depth first over sets I, ascending: level t holds the Schur complement W of the t chosen ones in
    the later candidates. M[I + T] is definite for all T of size r iff W[T] is, which is certain
    when (r - 1) max |W_ab| / sqrt(W_aa W_bb) < 1 (Gershgorin after scaling the diagonal to 1), and
    for r = 2 only then. Columns that make trouble should come first: the rest is then pruned at
    once. On NO, `witness` begins with a set that is not definite, ended by -1.
    """
    d = len(M)
    room = kept((k - 1) * (d * d + d + 1))
    answer, steps = to_the_end(_all_definite, M, k, limit, witness, room)
    return answer, steps


@c_function("kh_all_definite", "M[d,d] witness[.] kept[.]", writes="witness kept", long=True)
def _all_definite(
    M: Floats, k: int, limit: float, witness: Indices, kept: Floats, effort: int
) -> tuple[bool, int, float]:
    raise NotImplementedError


STEPS_PER_SECOND = 3e8  # nominal: work is counted, not timed, so that an answer is always the same
ZERO_EIGENVALUE = 1e-10  # an eigenvalue below this part of the largest diagonal entry counts as 0
MAX_ENUMERATION_NUMBERS = 25_000_000  # most numbers that the enumeration may keep: 200 MB
SWAPPED_SUPPORTS = 8  # supports that are improved by swaps


@dataclass(frozen=True, slots=True, eq=False)
class SparseSpectrum:
    """The smallest and the largest eigenvalue of A[S, S] over all |S| = k, with supports.

    `low`, `high` hold min and max over S of the smallest and the largest eigenvalue. The supports
    attain low.high and high.low.
    """

    low: Interval
    high: Interval
    low_support: Indices
    high_support: Indices


def sparse_spectrum(
    A: ArrayLike, k: int, *, semidefinite: bool = True, seconds: float = 3.0
) -> SparseSpectrum:
    """How far k-sparse unit vectors can shrink and stretch under a symmetric matrix.

        low = min w'A w,  high = max w'A w   over |w|_2 = 1, |w|_0 <= k

    Both are eigenvalues of principal submatrices, and by interlacing those of size k suffice. A
    search (truncated power steps, then swaps) gives one side of each; the other is the least of
    several bounds, then of a proof by pruned enumeration that no k-subset is worse.

    Parameters
    ----------
    A
        Symmetric, d x d.
    k
        Size of the submatrices, 1 <= k <= d.
    semidefinite
        Whether A is known to be positive semidefinite, as a matrix of complete rows is. Then `low`
        is at least 0.
    seconds
        How much enumeration is allowed, at a nominal 3e8 steps a second: counted, not timed, so
        that the answer does not depend on what else the machine does.

    Guarantee
    ---------
    Both intervals hold their number up to 1e-13 k max|A_jj|; low == high when the proof succeeded
    to that precision. Eigenvalues below 1e-10 max|A_jj| count as 0 when `semidefinite`.

    Examples
    --------
    >>> A = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> spectrum = sparse_spectrum(A, 2)
    >>> print(spectrum.low, spectrum.high, spectrum.low_support)
    0.5 1.5 [0 1]

    References
    ----------
    d'Aspremont, Bach, El Ghaoui (2008), Optimal solutions for sparse principal component analysis.
    Yuan, Zhang (2013), Truncated power method for sparse eigenvalue problems.
    Berk, Bertsimas (2019), Certifiably optimal sparse principal component analysis.
    """
    given: Floats = np.array(A, dtype=np.float64)
    k = whole_number("k", k, 1)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.isfinite(given).all():
        raise ProblemError(f"A must be a finite square matrix, got shape {given.shape}")
    if k > len(given):
        raise ProblemError(f"k must be at most d = {len(given)}, got {k}")
    G = (given + given.T) / 2
    scale = float(np.abs(np.diag(G)).max())
    steps = seconds * STEPS_PER_SECOND / 2
    # k-sparse vectors can't shrink below 0 under a semidefinite matrix: no bound is needed then.
    least = 0.0 if semidefinite else -np.inf
    high, high_support = _largest(G, k, np.inf, scale, steps)
    below, low_support = _largest(-G, k, -least, scale, steps)
    low = Interval(-below.high, -below.low, below.how)
    if semidefinite and low.high <= ZERO_EIGENVALUE * scale:
        low = Interval(0.0, 0.0, "dependent columns, found by search")
    return SparseSpectrum(low, high, low_support, high_support)


def found_condition(A: Floats, k: int) -> float:
    """A condition number sqrt(max/min) that some k-subsets of a semidefinite A attain: no proof."""
    high, low = search(A, k)[0], -search(-A, k)[0]
    if low <= ZERO_EIGENVALUE * float(np.diag(A).max()):
        return math.inf
    return math.sqrt(max(high / low, 1.0))


def _largest(
    A: Floats, k: int, most: float, scale: float, steps: float
) -> tuple[Interval, Indices]:
    """The largest k-sparse eigenvalue of A, which is known to be at most `most`."""
    tolerance = 1e-13 * k * scale
    found, S = search(A, k)
    bound, how = upper_bound(A, k)
    if most < bound:
        bound, how = most, "a matrix of second moments is semidefinite"
    if bound - found <= tolerance:
        return Interval(found, found, how), S
    if k == 1:
        return Interval(found, found, "the diagonal"), S
    left, answer = steps, False
    while left > 0:
        answer, better, used = _proves(A, k, found + tolerance, left / 2)
        left -= used
        if better is None:
            break
        value = float(np.linalg.eigvalsh(A[np.ix_(better, better)])[-1])
        if value <= found:
            break  # within rounding of what was found: cannot be told apart
        found, S = value, better
    if answer:
        return Interval(found, found, f"exact: search, and all {k}-subsets enumerated"), S
    # Not decided at the value that was found: a higher one may be, and is a bound then.
    low, tries = found, 5
    for trial in range(tries):
        level = (low + bound) / 2
        answer, better, used = _proves(A, k, level, left / (tries - trial))
        left -= used
        if answer:
            bound, how = level, f"all {k}-subsets enumerated at a higher level"
        elif better is None:
            low = level
        else:
            value = float(np.linalg.eigvalsh(A[np.ix_(better, better)])[-1])
            found, S, low = (value, better, value) if value > found else (found, S, low)
    return Interval(found, max(bound, found), f"search; bound by {how}"), S


def _proves(A: Floats, k: int, level: float, steps: float) -> tuple[bool, Indices | None, float]:
    """Whether no k-subset exceeds `level`: (proven, a k-subset that does or None, steps)."""
    from keyhole.analysis.exact.sparse_eigenvalues import NO, YES, all_definite

    if (k - 1) * len(A) ** 2 > MAX_ENUMERATION_NUMBERS:
        return False, None, steps
    M = -A
    M[np.diag_indices(len(A))] += level
    # Troublesome rows first: what comes after them is pruned at once.
    order = np.argsort(-_row_sums(A, k), kind="stable")
    witness = np.empty(k, dtype=np.int64)
    M = np.ascontiguousarray(M[np.ix_(order, order)])
    answer, used = all_definite(M, k, steps, witness)
    if answer != NO:
        return answer == YES, None, used
    members = [int(order[i]) for i in witness if i >= 0]
    others = (j for j in range(len(A)) if j not in set(members))
    while len(members) < k:
        members.append(next(others))
    return False, np.sort(np.array(members, dtype=np.int64)), used


def _row_sums(A: Floats, k: int) -> Floats:
    """A_ii plus the k - 1 largest |A_ij| of its row: Gershgorin within any k-subset with i."""
    off = np.abs(A)
    np.fill_diagonal(off, 0.0)
    if k - 1 < len(A):
        off = np.sort(off, axis=1)[:, len(A) - k + 1 :]
    sums: Floats = np.diag(A) + off.sum(axis=1)
    return sums


def upper_bound(A: Floats, k: int) -> tuple[float, str]:
    """A number that w'A w never exceeds for k-sparse unit w, and what it comes from.

    Split off every off-diagonal entry what exceeds rho in size; then w'A w <= the largest
    eigenvalue of what is split off, plus a Gershgorin bound of the rest. rho = 0 is the full
    spectrum, a large rho Gershgorin alone.
    """
    off = A - np.diag(np.diag(A))
    sizes = np.abs(off[np.triu_indices(len(A), 1)])
    best, how = float(_row_sums(A, k).max()), "Gershgorin with the k - 1 largest correlations"
    levels = [0.0, *np.quantile(sizes, (0.5, 0.8, 0.9, 0.97, 0.99, 0.997))] if sizes.size else [0.0]
    for rho in levels:
        rest = np.clip(off, -rho, rho)
        value = float(np.linalg.eigvalsh(A - rest)[-1]) + float(_row_sums(rest, k).max())
        if value < best:
            best = value
            how = "a split into full spectrum and Gershgorin" if rho else "the full spectrum"
    # Eigenvalues of a zero-trace matrix E: the largest is at most sqrt((k-1)/k) |E|_F.
    squares = np.sort(off**2, axis=1)[:, max(len(A) - k + 1, 0) :].sum(axis=1)
    frobenius = float(np.sort(squares)[-k:].sum())
    value = float(np.diag(A).max()) + float(np.sqrt((k - 1) / k * frobenius))
    return (value, "the Frobenius norm") if value < best else (best, how)


def search(A: Floats, k: int) -> tuple[float, Indices]:
    """A large k-sparse eigenvalue of A and its support, by power steps from every row and swaps."""
    d = len(A)
    if k == d:
        return float(np.linalg.eigvalsh(A)[-1]), np.arange(d)
    shift = float(np.abs(A).sum(axis=1).max())  # makes A + shift I semidefinite: steps ascend
    V: Floats = A + shift * np.eye(d)
    supports: Indices = np.empty((0, k), dtype=np.int64)
    for _ in range(12):
        chosen = np.sort(np.argpartition(-np.abs(V), k - 1, axis=1)[:, :k], axis=1)
        if np.array_equal(chosen, supports):
            break
        supports = chosen
        kept: Floats = np.zeros_like(V)
        rows = np.arange(len(V))[:, None]
        kept[rows, supports] = V[rows, supports]
        kept /= np.sqrt(np.maximum((kept * kept).sum(axis=1, keepdims=True), 1e-300))
        V = kept @ A + shift * kept
    supports = np.unique(supports, axis=0)
    values = _top(A, supports)
    best, S = -np.inf, supports[0]
    for p in np.argsort(-values, kind="stable")[:SWAPPED_SUPPORTS]:
        value, T = _swaps(A, supports[p], float(values[p]))
        if value > best:
            best, S = value, T
    return best, S


def _top(A: Floats, supports: Indices) -> Floats:
    """The largest eigenvalue of A[S, S] for every row S of `supports`."""
    parts = A[supports[:, :, None], supports[:, None, :]]
    return np.asarray(np.linalg.eigvalsh(parts)[:, -1], dtype=np.float64)


def _swaps(A: Floats, S: Indices, value: float) -> tuple[float, Indices]:
    """Exchange one member at a time for the best other, as long as that helps."""
    k, since, p = len(S), 0, 0
    while since < k:
        rest = np.delete(S, p)
        others = np.setdiff1d(np.arange(len(A)), S)
        # The candidates most in line with the leading vector of what stays, and no others: an
        # eigenvalue of each would cost a thousand times as much.
        w = np.linalg.eigh(A[np.ix_(rest, rest)])[1][:, -1] if k > 1 else np.zeros(0)
        gain = np.abs(A[np.ix_(others, rest)] @ w) + np.diag(A)[others]
        likely = others[np.argsort(-gain, kind="stable")[:16]]
        trials = np.sort(np.column_stack([np.tile(rest, (len(likely), 1)), likely]), axis=1)
        values = _top(A, trials)
        best = int(np.argmax(values))
        if values[best] > value + 1e-12 * abs(value):
            value, S, since = float(values[best]), trials[best], 0
        else:
            since += 1
        p = (p + 1) % k
    return value, S
