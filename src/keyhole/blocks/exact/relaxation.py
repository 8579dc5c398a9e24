"""Kernels of the best k-subset: the perspective relaxation of a node, and what it settles.

Units are scaled as in `subset.py`. The feature states of a node are OPEN (may enter), IN (must),
OUT (must not).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices

States = NDArray[np.int8]

OPEN, IN, OUT = 0, 1, 2


class Split(NamedTuple):
    """G = R + diag(e) with e >= 0 and R positive semidefinite, and the products c with y."""

    R: Floats
    e: Floats
    c: Floats


class NodeArrays(NamedTuple):
    """What is settled of each feature, the relaxation's point q, and v, what a feature may bring.

    All are changed in place.
    """

    state: States
    q: Floats
    v: Floats


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
    split: Split, node: NodeArrays, r: int, lam: float, goal: float, rounds: int
) -> tuple[float, float, float]:
    """Push the dual bound up by its primal, the perspective relaxation; (base, bound, lam).

    lam is the price of a feature. The relaxed number of features, sum z, falls as lam grows; it
    has to meet r. Whatever q comes out, the bound is valid; q and v are left at the best one.
    """
    (R, e, c), (state, q, v) = split, node
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

    For such S, slack - sum of v over S's open part < goal. Forcing j in replaces the r-th largest
    v by v_j, forcing j out replaces v_j by the next one: if that reaches goal, no S is lost.
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
def choose(state: States, k: int, score: Floats, S: Indices) -> tuple[int, int, int]:
    """Write what is IN, then the best scored OPEN to S, k at most; (written, IN, OPEN)."""
    n_in = n_open = 0
    for j in range(len(state)):
        if state[j] == IN:
            S[n_in] = j
            n_in += 1
        elif state[j] == OPEN:
            n_open += 1
    n = min(k, n_in + n_open)
    taken = np.zeros(len(state), np.bool_)
    for p in range(n_in, n):
        i = -1
        for j in range(len(state)):
            if state[j] == OPEN and not taken[j] and (i < 0 or score[j] > score[i]):
                i = j
        S[p] = i
        taken[i] = True
    return n, n_in, n_open


@kernel
def settle(
    split: Split, k: int, node: NodeArrays, lam: float, goal: float, rounds: int, S: Indices
) -> tuple[float, float, float, int, int]:
    """Bound a node and settle features as far as that goes: (bound, slack, lam, branch, size).

    The bound is infinite when nothing below `goal` is left in the node but, perhaps, S[:size],
    which is the relaxation's solution rounded. Else every subset in the node has
    rss >= slack - sum of v over its OPEN part. state, q and v are changed in place. An e with
    zeros means that there is no relaxation: then v = 0 and slack = 0.
    """
    e, c, (state, q, v) = split.e, split.c, node
    m = len(c)
    z = np.zeros(m)
    bound = slack = 0.0
    usable = e.min() > 0.0
    again = True
    while again:
        size, n_in, n_open = choose(state, k, z, S)
        if size == n_in or size == n_in + n_open:
            return np.inf, slack, lam, -1, size
        if not usable:
            break
        slack, low, lam = relax(split, node, k - n_in, lam, goal, rounds)
        bound = max(bound, low)
        for j in range(m):
            z[j] = min(1.0, abs(q[j]) * np.sqrt(e[j] / lam))
            if state[j] == IN:
                slack -= v[j]
        size, n_in, n_open = choose(state, k, z, S)
        if bound >= goal:
            return np.inf, slack, lam, -1, size
        again = fix(v, state, k - n_in, slack, goal, q)
    branch, widest = -1, -1.0
    for j in range(m):
        if state[j] == OPEN:
            width = z[j] * (1.0 - z[j]) + 1e-9 * c[j] * c[j]
            if width > widest:
                branch, widest = j, width
    return bound, slack, lam, branch, size
