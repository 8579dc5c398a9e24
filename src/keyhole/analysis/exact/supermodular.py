"""Weak supermodularity of least squares: the smallest alpha, by enumeration or as an interval."""

from __future__ import annotations

import math

import numpy as np

from keyhole.analysis.exact.sparse_eigenvalues import sparse_spectrum
from keyhole.core.functions import c_function, kept, to_the_end
from keyhole.problem import Floats, Indices, Interval

MAX_PAIRS = 10_000_000  # pairs of sets that are enumerated: about a second


def smallest_alpha(G: Floats, c: Floats, yy: float, k: int, *, seconds: float = 3.0) -> Interval:
    """The smallest alpha >= 1 for which g(S) = min_w yy - 2 c.w + w'G w on S fits (k, alpha).

        g(S) - g(T) <= alpha sum_{i in T - S} [g(S) - g(S + i)]   for all S in T, |T| <= k

    With R = T - S, and with C, q the correlations of what S leaves of the columns of R, among each
    other and with y, the left side is q'C^-1 q and the sum |q|^2. All pairs (S, R) are enumerated
    as long as there are few; otherwise those up to a smaller size, and the worst is grown greedily.

    Guarantee
    ---------
    Above: the ratio is at most 1 / lambda_min(C), and that is at most the inverse of the smallest
    k-sparse eigenvalue of G scaled to unit diagonal (`lem:regression_sub`: g does not change when
    columns are scaled). Columns of which less than 1e-10 is left count as dependent, gains below
    1e-12 of yy as none.
    """
    d = len(c)
    scale = np.zeros(d)
    alive = np.diag(G) > 0.0
    scale[alive] = 1.0 / np.sqrt(np.diag(G)[alive])
    if k < 2 or yy <= 0.0 or alive.sum() < 2:
        return Interval(1.0, 1.0, "nothing to compare: no y, or one feature")
    A, b = scale[:, None] * G * scale, scale * c / math.sqrt(yy)
    A, b = np.ascontiguousarray(A[np.ix_(alive, alive)]), b[alive]
    k = min(k, len(b))
    size = max(m for m in range(2, k + 1) if m == 2 or _pairs(len(b), m) <= MAX_PAIRS)

    marks = np.zeros(len(b), dtype=np.int64)
    worst = worst_pair(A, b, size, marks)
    if size == k:
        low = max(worst, 1.0)
        return Interval(low, low, f"exact: all pairs of sets up to size {k}")
    low = max(_grown(A, b, marks, k, worst), 1.0)
    smallest = sparse_spectrum(A, k, seconds=seconds).low
    high = 1.0 / smallest.low if smallest.low > 0.0 else math.inf
    how = f"all pairs of sets up to size {size}, grown to {k}; bound by 1/(k-sparse eigenvalue)"
    return Interval(low, max(low, high), how)


def _pairs(d: int, k: int) -> int:
    """How many disjoint S, R there are with |R| >= 2 and |S| + |R| <= k."""
    return sum(
        math.comb(d, s) * math.comb(d - s, m) for m in range(2, k + 1) for s in range(k - m + 1)
    )


def _grown(A: Floats, b: Floats, marks: Indices, k: int, worst: float) -> float:
    """Add features to S or to R, the worst one first, until |S| + |R| = k."""
    S, R = np.flatnonzero(marks == 1).tolist(), np.flatnonzero(marks == 2).tolist()
    best = worst
    while R and len(S) + len(R) < k:
        others = [j for j in range(len(b)) if j not in S and j not in R]
        trials = [([*S, j], R) for j in others] + [(S, [*R, j]) for j in others]
        ratios = [_ratio(A, b, *trial) for trial in trials]
        at = int(np.argmax(ratios))
        S, R = trials[at]
        best = max(best, ratios[at])
    return best


def _ratio(A: Floats, b: Floats, S: list[int], R: list[int]) -> float:
    """q'C^-1 q / |q|^2 of one pair; 0 where columns are dependent or nothing is gained."""
    C, r = A[np.ix_(R, R)], b[R]
    if S:
        if np.linalg.eigvalsh(A[np.ix_(S, S)])[0] < 1e-8:
            return 0.0
        H = np.linalg.solve(A[np.ix_(S, S)], np.column_stack([A[np.ix_(S, R)], b[S]]))
        C, r = C - A[np.ix_(R, S)] @ H[:, :-1], r - A[np.ix_(R, S)] @ H[:, -1]
    left = np.diag(C)
    if left.min() < 1e-8:
        return 0.0
    C, q = C / np.sqrt(np.outer(left, left)), r / np.sqrt(left)
    if q @ q < 1e-12 or np.linalg.eigvalsh(C)[0] < 1e-8:
        return 0.0
    return float(q @ np.linalg.solve(C, q) / (q @ q))


def worst_pair(G: Floats, c: Floats, k: int, found: Indices) -> float:
    """max of q_R' C_R^-1 q_R / |q_R|^2 over disjoint S, R with |R| >= 2, |S| + |R| <= k.

    C and q are the correlations, among each other and with y, of what S leaves of the columns. In
    `found`, members of S are marked 1 and those of R 2. G has unit diagonal and y'y = 1.
    """
    d, levels = len(c), max(k - 1, 1)
    (worst,) = to_the_end(_worst_pair, G, c, k, found, kept(levels * (d * d + d + 1) + d))
    return float(worst)


@c_function(
    "kh_worst_pair",
    "G[d,d] c[d] found[d] kept[.]",
    writes="found kept",
    room="2*d + k*k + 6*k",
    long=True,
)
def _worst_pair(
    G: Floats, c: Floats, k: int, found: Indices, kept: Floats, effort: int
) -> tuple[bool, float]:
    raise NotImplementedError
