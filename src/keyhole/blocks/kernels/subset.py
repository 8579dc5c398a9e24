"""Kernels of the best k-subset: incumbents, the relaxation bound, one node, enumeration.

Everything here is in scaled units: G has unit diagonal (or is a part of such a matrix) and y'y = 1.
The feature states of a node are OPEN (may enter), IN (must), OUT (must not).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices

States = NDArray[np.int8]

OPEN, IN, OUT = 0, 1, 2
DEPENDENT = 1e-10  # a column with less than this part of its square left adds nothing
TOLERANCE = 1e-10  # a subset that is better by less than this part of y'y is not looked for


@kernel
def include(G: Floats, L: Floats, s: int, i: int, D: Floats, r: Floats) -> float:
    """Project column i out of all others, as row s of a Cholesky factor; its gain, or -1.

    D_j and r_j are what is left of the square of column j and of its product with y.
    """
    if D[i] < DEPENDENT:
        return -1.0
    root = np.sqrt(D[i])
    a = r[i] / root
    for j in range(len(D)):
        L[s, j] = G[i, j]
    for t in range(s):
        h = L[t, i]
        for j in range(len(D)):
            L[s, j] -= h * L[t, j]
    for j in range(len(D)):
        L[s, j] /= root
        D[j] -= L[s, j] * L[s, j]
        r[j] -= a * L[s, j]
    return float(a * a)


@kernel
def untouched(G: Floats, c: Floats) -> tuple[Floats, Floats]:
    """D and r before any column is projected out."""
    D = np.empty(len(c))
    for j in range(len(c)):
        D[j] = G[j, j]
    return D, c.copy()


@kernel
def members(state: States, wanted: int) -> Indices:
    """The features in one state."""
    found = np.empty(len(state), np.int64)
    n = 0
    for j in range(len(state)):
        if state[j] == wanted:
            found[n] = j
            n += 1
    return found[:n]


@kernel
def descend(items: Indices, key: Floats) -> None:
    """Sort the items by falling key, in place (a heap sort: compiles in no time)."""
    n = len(items)
    for step in range(n + n // 2 - 1, 0, -1):
        # First the upper half of the steps builds the heap, then each takes its least item away.
        if step >= n:
            top, size = step - n, n
        else:
            items[0], items[step] = items[step], items[0]
            top, size = 0, step
        while 2 * top + 1 < size:
            child = 2 * top + 1
            if child + 1 < size and key[items[child + 1]] < key[items[child]]:
                child += 1
            if key[items[top]] <= key[items[child]]:
                break
            items[top], items[child] = items[child], items[top]
            top = child


@kernel
def rss(G: Floats, c: Floats, S: Indices, size: int) -> float:
    """Residual sum of squares of S[:size], by a small Cholesky; dependent columns add nothing."""
    L = np.empty((size, size))
    a = np.empty(size)
    kept = np.empty(size, np.int64)
    n = 0
    left = 1.0
    for p in range(size):
        i = S[p]
        D = G[i, i]
        for t in range(n):
            x = G[i, kept[t]]
            for u in range(t):
                x -= L[n, u] * L[t, u]
            x /= L[t, t]
            L[n, t] = x
            D -= x * x
        if D < DEPENDENT:
            continue
        x = c[i]
        for u in range(n):
            x -= L[n, u] * a[u]
        L[n, n] = np.sqrt(D)
        a[n] = x / L[n, n]
        left -= a[n] * a[n]
        kept[n] = i
        n += 1
    return left


@kernel
def forward(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Complete S[:size] greedily to k columns, in place; the new size and the rss."""
    L = np.empty((k, len(c)))
    D, r = untouched(G, c)
    left = 1.0
    n = 0
    for p in range(size):
        gain = include(G, L, n, S[p], D, r)
        if gain >= 0.0:
            S[n] = S[p]
            n += 1
            left -= gain
    while n < k:
        best, i = 0.0, -1
        for j in range(len(c)):
            if D[j] >= DEPENDENT and r[j] * r[j] > best * D[j]:
                best, i = r[j] * r[j] / D[j], j
        if i < 0:
            break
        left -= include(G, L, n, i, D, r)
        S[n] = i
        n += 1
    return n, left


@kernel
def swaps(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Exchange one column of S at a time as long as that helps; the size and the rss."""
    size, left = forward(G, c, k, S, size)
    trial = np.empty(k, np.int64)
    p = since = 0
    while since < size:
        n = 0
        for t in range(size):
            if t != p:
                trial[n] = S[t]
                n += 1
        n, new = forward(G, c, k, trial, n)
        if new < left - 1e-13:
            for t in range(n):
                S[t] = trial[t]
            size, left, since = n, new, 0
        else:
            since += 1
        p = (p + 1) % max(size, 1)
    return size, left


@kernel
def spread(P: Floats, delta: Floats, weight: Floats, mu: float, least: float) -> None:
    """One sweep of coordinate ascent on sum(weight δ) + mu log det(G - diag(δ)), δ >= least.

    P is the inverse of G - diag(δ). Along one coordinate the determinant falls by the factor
    1 - t P_jj, so the best step is known, t = 1/P_jj - mu/weight_j, and stays inside the cone.
    """
    d = len(delta)
    for j in range(d):
        t = max(1.0 / P[j, j] - mu / weight[j], least - delta[j])
        if t == 0.0:
            continue
        delta[j] += t
        row = P[j].copy()
        scale = t / (1.0 - t * row[j])
        for a in range(d):
            h = scale * row[a]
            for b in range(d):
                P[a, b] += h * row[b]


@kernel
def largest(v: Floats, state: States, r: int) -> tuple[float, float, float]:
    """Sum of the r largest v over the open features, the r-th and the (r+1)-th of them."""
    top = np.zeros(r + 1)
    for j in range(len(v)):
        if state[j] == OPEN and v[j] > top[r]:
            p = r
            while p > 0 and top[p - 1] < v[j]:
                top[p] = top[p - 1]
                p -= 1
            top[p] = v[j]
    total = 0.0
    for p in range(r):
        total += top[p]
    return total, top[r - 1], top[r]


@kernel
def sweep(
    R: Floats, e: Floats, state: States, lam: float, q: Floats, g: Floats, whole: bool
) -> float:
    """Coordinate descent on q'Rq - 2c'q + sum_j min_z (e_j q_j^2 / z_j + lam z_j); largest move."""
    moved = 0.0
    for j in range(len(q)):
        if state[j] == OUT or (q[j] == 0.0 and not whole):
            continue
        R_jj = R[j, j]
        b = g[j] + R_jj * q[j]
        new = b / (R_jj + e[j])  # z_j = 1
        if state[j] == OPEN:
            edge = np.sqrt(lam / e[j])  # where z_j reaches 1
            if abs(new) < edge:
                new = abs(b) - e[j] * edge
                new = min(new / R_jj, edge) if new > 0.0 and R_jj > 1e-14 else 0.0
                new = new if b > 0.0 else -new
        step = new - q[j]
        if step != 0.0:
            q[j] = new
            for a in range(len(g)):
                g[a] -= step * R[j, a]
            moved = max(moved, abs(step) * np.sqrt(e[j]))
    return moved


@kernel
def dual(
    c: Floats, e: Floats, state: States, r: int, q: Floats, g: Floats, v: Floats
) -> tuple[float, float]:
    """Fill v; the two ends (base, bound) of: rss(S) >= base - sum_S v >= bound for all S here.

    Why: w'Gw >= w'Rw + sum e w^2 on k-sparse w, and w'Rw >= 2q'Rw - q'Rq for every q (R is PSD).
    Minimise over w_S alone: 1 - q'Rq - sum_S (c - Rq)_j^2 / e_j, so v_j = (c - Rq)_j^2 / e_j.
    """
    base, size = 1.0, 0.0
    for j in range(len(q)):
        base -= q[j] * (c[j] - g[j])  # Rq = c - g
        size += abs(q[j])
        v[j] = 0.0 if state[j] == OUT else g[j] * g[j] / e[j]
    base -= 1e-15 * len(q) * size * size  # more than rounding can have taken from q'Rq
    forced = 0.0
    for j in range(len(q)):
        if state[j] == IN:
            forced += v[j]
    return base, base - forced - largest(v, state, r)[0]


@kernel
def relax(
    R: Floats,
    e: Floats,
    c: Floats,
    state: States,
    r: int,
    q: Floats,
    lam: float,
    goal: float,
    rounds: int,
    v: Floats,
) -> tuple[float, float, float]:
    """Push the dual bound up by its primal, the perspective relaxation; (base, bound, lam).

    lam is the price of a feature. The relaxed number of features, sum z, falls as lam grows; it
    has to meet r. Whatever q comes out, the bound is valid; q and v are left at the best one.
    """
    m = len(q)
    g = c.copy()
    for j in range(m):
        if state[j] == OUT:
            q[j] = 0.0
        elif q[j] != 0.0:
            for a in range(m):
                g[a] -= q[j] * R[j, a]
    trial = np.empty(m)
    q_now = q.copy()
    base, bound = dual(c, e, state, r, q_now, g, v)
    if lam <= 0.0:
        lam = max(largest(v, state, r)[1], 1e-14)
    low, high = 0.0, np.inf
    best_lam = lam
    for step in range(rounds):
        moved = sweep(R, e, state, lam, q_now, g, True)
        for _ in range(20):
            if moved < 1e-4 * np.sqrt(lam):
                break
            moved = sweep(R, e, state, lam, q_now, g, False)
        new_base, new = dual(c, e, state, r, q_now, g, trial)
        if new > bound:
            gained = new - bound
            base, bound, best_lam = new_base, new, lam
            for j in range(m):
                q[j] = q_now[j]
                v[j] = trial[j]
            if bound >= goal:
                break
        else:
            gained = 0.0
        z = 0.0
        for j in range(m):
            if state[j] == OPEN:
                z += min(1.0, abs(q_now[j]) * np.sqrt(e[j] / lam))
        if step > 1 and abs(z - r) < 0.02 and gained < 0.01 * (goal - bound):
            break
        if z > r:
            low = max(low, lam)
        else:
            high = min(high, lam)
        new_lam = lam * min(4.0, max(0.25, z / r))
        if not low < new_lam < high:
            new_lam = np.sqrt(low * high) if low > 0.0 and high < np.inf else new_lam
        if new_lam < 1e-15:
            break
        # The bracket was found with q only partly converged: never let it close for good.
        low, high = low * 0.9, high * 1.1
        lam = new_lam
    return base, bound, best_lam


@kernel
def fix(v: Floats, state: States, r: int, slack: float, goal: float, q: Floats) -> bool:
    """Settle what every subset below `goal` must or must not have; whether q or r is touched.

    For such S, slack - sum of v over S's open part < goal. Forcing j in replaces the r-th
    largest v by v_j, forcing j out replaces v_j by the next one: if that reaches goal, no S is lost.
    """
    total, last, following = largest(v, state, r)
    touched = False
    for j in range(len(v)):
        if state[j] != OPEN:
            continue
        if v[j] < last:
            if slack - (total - last + v[j]) >= goal:
                state[j] = OUT
                touched |= q[j] != 0.0
                q[j] = 0.0
        elif slack - (total - v[j] + following) >= goal:
            state[j] = IN
            touched = True
    return touched


@kernel
def enumerate_all(
    G: Floats,
    c: Floats,
    I: Indices,  # noqa: E741
    C: Indices,
    bonus: Floats,
    slack: float,
    r: int,
    best: float,
    S_best: Indices,
) -> tuple[float, int]:
    """Best of I plus at most r of C by depth-first enumeration; (best, partial sets visited).

    v (the bonus of C, descending) and slack bound: rss(I + T) >= slack - sum_T v. Level t holds G and c of
    the later candidates with I and t chosen ones projected out, so that a pair costs O(1).
    """
    m, n_in = len(C), len(I)
    L = np.empty((n_in, len(c)))
    D, r_all = untouched(G, c)
    left = np.empty(r + 1)
    left[0] = 1.0
    s = 0
    for p in range(n_in):
        gain = include(G, L, s, I[p], D, r_all)
        if gain >= 0.0:
            left[0] -= gain
            s += 1
    levels = max(r - 1, 1)
    W = np.empty((levels, m, m))
    v = np.empty(m)
    diag = np.empty((levels, m))
    res = np.empty((levels, m))
    for a in range(m):
        for b in range(a, m):
            W[0, a, b] = G[C[a], C[b]]
            for t in range(s):
                W[0, a, b] -= L[t, C[a]] * L[t, C[b]]
        v[a] = bonus[C[a]]
        diag[0, a] = D[C[a]]
        res[0, a] = r_all[C[a]]
    # top[n, i]: the sum of n values of v from i on, summed directly (differences would cancel).
    top = np.zeros((r + 1, m + r + 1))
    for n in range(1, r + 1):
        for i in range(m - 1, -1, -1):
            top[n, i] = v[i] + top[n - 1, i + 1]
    chosen = np.empty(r, np.int64)
    place = np.zeros(levels, np.int64)
    stop = np.full(levels, m, np.int64)
    used = np.zeros(levels)
    visited = 0
    t = 0
    while t >= 0:
        i = place[t]
        n = r - t
        if i >= stop[t] or slack - used[t] - top[n, i] >= best - TOLERANCE:
            t -= 1
            continue
        place[t] += 1
        if diag[t, i] < DEPENDENT:
            continue
        visited += 1
        chosen[t] = i
        f = res[t, i] / diag[t, i]
        left[t + 1] = left[t] - f * res[t, i]
        if left[t + 1] < best:
            best = left[t + 1]
            record(S_best, I, C, chosen, t + 1)
        if n == 1:
            continue
        now = used[t] + v[i]
        need = slack - now - (best - TOLERANCE)  # the other n - 1 must bring more v than this
        end = i + 1
        while end < stop[t] and top[n - 2, i + 1] + v[end] > need:
            end += 1
        if n == 2:
            row = W[t, i]
            inverse = 1.0 / diag[t, i]
            wanted = left[t + 1] - best
            for j in range(i + 1, end):
                x = res[t, j] - f * row[j]
                D_j = diag[t, j] - row[j] * row[j] * inverse
                if x * x > wanted * D_j and D_j >= DEPENDENT:
                    chosen[t + 1] = j
                    best = left[t + 1] - x * x / D_j
                    wanted = left[t + 1] - best
                    record(S_best, I, C, chosen, t + 2)
            continue
        for a in range(i + 1, end):
            h = W[t, i, a] / diag[t, i]
            diag[t + 1, a] = diag[t, a] - h * W[t, i, a]
            res[t + 1, a] = res[t, a] - h * res[t, i]
            for b in range(a + 1, end):
                W[t + 1, a, b] = W[t, a, b] - h * W[t, i, b]
        t += 1
        place[t], stop[t], used[t] = i + 1, end, now
    return best, visited


@kernel
def join(I: Indices, C: Indices, r: int, S: Indices) -> int:  # noqa: E741
    """Write I and the first r of C (or all) to S; how many that are."""
    for p in range(len(I)):
        S[p] = I[p]
    n = min(r, len(C))
    for p in range(n):
        S[len(I) + p] = C[p]
    return len(I) + n


@kernel
def record(S_best: Indices, I: Indices, C: Indices, chosen: Indices, n: int) -> None:  # noqa: E741
    """Write I plus the n chosen ones of C as the incumbent; -1 marks unused places."""
    for p in range(len(S_best)):
        S_best[p] = -1
    for p in range(len(I)):
        S_best[p] = I[p]
    for p in range(n):
        S_best[len(I) + p] = C[chosen[p]]


@kernel
def settle(
    G: Floats,
    c: Floats,
    R: Floats,
    e: Floats,
    k: int,
    state: States,
    q: Floats,
    lam: float,
    bound: float,
    best: float,
    S_best: Indices,
    limit: float,
    rounds: int,
) -> tuple[float, float, float, int, int]:
    """Bound a node, shrink it, finish it if it is small: (bound, best, lam, branch, visited).

    The bound is infinite when nothing below `best` - TOLERANCE is left in the node. `state`, `q`
    and the incumbent `S_best` are changed in place. An e with zeros means: no relaxation, only the
    `bound` that was handed in.
    """
    v = np.zeros(len(c))
    size = np.empty(len(c))
    usable = True
    for j in range(len(c)):
        usable &= e[j] > 0.0
    visited = 1
    slack = bound
    while True:
        I = members(state, IN)  # noqa: E741
        C = members(state, OPEN)
        r = k - len(I)
        S = np.empty(k, np.int64)
        if not usable and 0 < r < len(C):
            break
        if r == 0 or len(C) <= r:
            best = improve(G, c, k, S, join(I, C, r, S), best, S_best)
            return np.inf, best, lam, -1, visited
        base, new, lam = relax(R, e, c, state, r, q, lam, best - TOLERANCE, rounds, v)
        bound = max(bound, new)
        for j in range(len(c)):
            size[j] = abs(q[j]) * np.sqrt(e[j])  # in the order of z
        descend(C, size)
        best = improve(G, c, k, S, join(I, C, r, S), best, S_best)
        if bound >= best - TOLERANCE:
            return np.inf, best, lam, -1, visited
        slack = base
        for j in I:
            slack -= v[j]
        if not fix(v, state, r, slack, best - TOLERANCE, q):
            C = members(state, OPEN)
            break
    sets = 1.0
    for p in range(r):
        sets *= (len(C) - p) / (p + 1.0)
    if sets <= limit:
        if not usable:  # v = 0, any order is a falling one
            for j in range(len(c)):
                size[j] = abs(c[j])
        descend(C, v if usable else size)
        best, n = enumerate_all(G, c, I, C, v, slack, r, best, S_best)
        return np.inf, best, lam, -1, visited + n
    branch, widest = C[0], -1.0
    for j in C:
        z = min(1.0, abs(q[j]) * np.sqrt(e[j] / lam)) if usable else 0.0
        width = z * (1.0 - z) + 1e-9 * c[j] * c[j]
        if width > widest:
            branch, widest = j, width
    return bound, best, lam, branch, visited


@kernel
def improve(
    G: Floats, c: Floats, k: int, S: Indices, size: int, best: float, S_best: Indices
) -> float:
    """Take S[:size], after swaps, as the incumbent if it is better."""
    if rss(G, c, S, size) < best:
        size, best = swaps(G, c, k, S, size)
        for p in range(k):
            S_best[p] = S[p] if p < size else -1
    return best
