"""How far least squares is from supermodular: the smallest alpha of weak supermodularity."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.exact.sparse_eigenvalues import sparse_spectrum
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices, Interval

PAIRS = 10_000_000  # pairs of sets that are enumerated: about a second


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
    size = max(m for m in range(2, k + 1) if m == 2 or _pairs(len(b), m) <= PAIRS)

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


DEPENDENT = 1e-10  # a column with less than this part of its square left adds nothing
NO_GAIN = 1e-12  # gains below this part of y'y are rounding


@kernel
def worst_pair(G: Floats, c: Floats, k: int, found: Indices) -> float:
    """max of q_R' C_R^-1 q_R / |q_R|^2 over disjoint S, R with |R| >= 2, |S| + |R| <= k.

    C and q are the correlations, among each other and with y, of what S leaves of the columns. In
    `found`, members of S are marked 1 and those of R 2. G has unit diagonal and y'y = 1.
    """
    d = len(c)
    levels = max(k - 1, 1)
    W = np.empty((levels, d, d))
    r = np.empty((levels, d))
    chosen = np.zeros(levels, np.int64)
    inside = np.zeros(d, np.int64)
    W[0] = G
    r[0] = c
    best = best_beside(W[0], r[0], inside, k, 0.0, found)
    s = 0
    chosen[0] = 0
    while s >= 0:
        i = chosen[s]
        if i >= d or k - s - 1 < 2:
            s -= 1
            if s >= 0:
                inside[chosen[s] - 1] = 0
            continue
        chosen[s] += 1
        if W[s, i, i] < DEPENDENT:
            continue
        for a in range(d):
            h = W[s, i, a] / W[s, i, i]
            r[s + 1, a] = r[s, a] - h * r[s, i]
            for b in range(d):
                W[s + 1, a, b] = W[s, a, b] - h * W[s, i, b]
        inside[i] = 1
        best = best_beside(W[s + 1], r[s + 1], inside, k - s - 1, best, found)
        s += 1
        chosen[s] = i + 1
    return best


@kernel
def best_beside(
    W: Floats, r: Floats, inside: Indices, most: int, best: float, found: Indices
) -> float:
    """The same over R alone, |R| <= most, for the S that `inside` marks."""
    d = len(r)
    left = np.empty(d, np.int64)
    q = np.empty(d)
    m = 0
    for a in range(d):
        if inside[a] == 0 and W[a, a] >= DEPENDENT:
            left[m] = a
            q[m] = r[a] / np.sqrt(W[a, a])
            m += 1
    L = np.empty((most, most))
    x = np.empty(most)
    R = np.empty(most, np.int64)
    explained = np.zeros(most + 1)
    single = np.zeros(most + 1)
    place = np.zeros(most, np.int64)
    t = 0
    while t >= 0:
        if place[t] >= m:
            t -= 1
            continue
        i = place[t]
        place[t] += 1
        rest, z = 1.0, q[i]
        for u in range(t):
            j = R[u]
            v = W[left[i], left[j]] / np.sqrt(W[left[i], left[i]] * W[left[j], left[j]])
            for p in range(u):
                v -= L[t, p] * L[u, p]
            v /= L[u, u]
            L[t, u] = v
            rest -= v * v
            z -= v * x[u]
        if rest < DEPENDENT:
            continue  # the same span with more gains to compare with: the ratio is not larger
        L[t, t] = np.sqrt(rest)
        x[t] = z / L[t, t]
        R[t] = i
        explained[t + 1] = explained[t] + x[t] * x[t]
        single[t + 1] = single[t] + q[i] * q[i]
        if single[t + 1] > NO_GAIN and explained[t + 1] > best * single[t + 1]:
            best = explained[t + 1] / single[t + 1]
            for a in range(d):
                found[a] = inside[a]
            for u in range(t + 1):
                found[left[R[u]]] = 2
        if t + 1 < most:
            t += 1
            place[t] = i + 1
    return best
