"""Bayes' rule, compiled: over a list of hypotheses, or over a cloud of particles that moves.

Moves are Metropolis-Hastings: they leave the posterior as it is.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common.compiled import kernel
from benchmarks.limit.state import COIN, FIXED, PHASE, SIGNS, SIMPLEX, Cloud, Rows, Slots
from keyhole.problem import Floats, Indices

BLUR = 0.03  # of the half-width: edges of the noise are that soft, so that particles can move
FLOOR = 0.1  # share of proposals that go anywhere
LEAST = -1e300
Pair = tuple[float, float]


@kernel
def box(r: float, half: float, s: float) -> float:
    """Density at r of uniform noise plus a Gaussian of deviation s."""
    r = abs(r)
    if r < half - 6.0 * s:
        return 0.5 / half
    wide = math.sqrt(2.0) * s
    return 0.25 * (math.erfc((r - half) / wide) - math.erfc((r + half) / wide)) / half


@kernel
def log_box(r: float, half: float, s: float) -> float:
    """Its logarithm, far out too."""
    p = box(r, half, s)
    z = (abs(r) - half) / s
    return math.log(p) if p > 1e-280 else -0.5 * z * z - math.log(max(z, 1.0) * 5.0 * half)


@kernel
def log_label(rows: Rows, t: int, m: float, S: float, place: Indices, c: Floats) -> float:
    """Log probability of label t for weights c in their places; m, S as `moments` has them."""
    y, half, seg, soft = rows.y[t], rows.half[t], rows.seg[t], BLUR * rows.half[t]
    if rows.law == COIN:
        return math.log(max(0.5 * (1.0 + y * m), 1e-12))
    if rows.law != SIGNS or S <= 0.0:
        return log_box(y - m, half, math.sqrt(soft * soft + S))
    sizes, u = np.empty(16), 0
    for i in range(len(place)):
        if c[i, seg] != 0.0 and rows.V[place[i], t] > 0.0:
            sizes[u] = c[i, seg]
            u += 1
    total, best = 0.0, LEAST
    for mask in range(2**u):
        r = y - m
        for i in range(u):
            r += sizes[i] if mask >> i & 1 else -sizes[i]
        total += box(r, half, soft)
        if total == 0.0:
            best = max(best, log_box(r, half, soft))
    return math.log(total / 2**u) if total > 0.0 else best - u * math.log(2.0)


@kernel
def moments(Z: Floats, V: Floats, t: int, s: int, place: Indices, c: Floats) -> Pair:
    """Mean of the label, and what unread features add to its variance."""
    m = S = 0.0
    for i in range(len(place)):
        if c[i, s] != 0.0:
            m += c[i, s] * Z[place[i], t]
            S += c[i, s] * c[i, s] * V[place[i], t]
    return m, S


@kernel
def consider(
    rows: Rows, first: int, last: int, place: Indices, c: Floats, logw: Floats
) -> tuple[Floats, Floats]:
    """Predictions and expected squares of a list of hypotheses from round first on; renews logw."""
    y_hat, expected = np.zeros(last - first), np.zeros(last - first)
    N = len(place)
    m, S = np.empty(N), np.empty(N)
    for t in range(first, last):
        top, total, square = logw.max(), 0.0, 0.0
        for h in range(N):
            if logw[h] < top - 40.0:
                logw[h] = LEAST
                continue
            m[h], S[h] = moments(rows.Z, rows.V, t, rows.seg[t], place[h], c[h])
            w = math.exp(logw[h] - top)
            total += w
            y_hat[t - first] += w * m[h]
            square += w * (m[h] * m[h] + S[h])
        y_hat[t - first] /= total
        expected[t - first] = square / total - y_hat[t - first] ** 2
        for h in range(N):
            if logw[h] > LEAST:
                logw[h] += log_label(rows, t, m[h], S[h], place[h], c[h])
    return y_hat, expected


@kernel
def fill(slots: Slots, p: int, cloud: Cloud) -> None:
    """Weights of particle p from its signs and u."""
    k, segs = slots.base.shape
    for i in range(k):
        size = 1.0
        if slots.kind == SIMPLEX:
            total = 0.0
            for j in range(k):
                total += cloud.u[p, j] if slots.block[j] == slots.block[i] else 0.0
            size = cloud.u[p, i] / total
        for s in range(segs):
            g = slots.group[i, s]
            if slots.kind == PHASE:
                size = math.cos(slots.turn[i, s] + cloud.u[p, i])
            on = g >= 0 and cloud.place[p, i] >= 0
            cloud.c[p, i, s] = cloud.sign[p, i, g] * slots.base[i, s] * size if on else 0.0


@kernel
def propose(rows: Rows, slots: Slots, cloud: Cloud, p: int, i: int, now: int, A: Floats) -> Floats:
    """Log odds of places for weight i, as if all were Gaussian; A: half those of its signs."""
    d, groups = A.shape
    c, at, q = cloud.c[p, i], cloud.place[p, i], np.zeros(d)
    A[:] = 0.0
    for t in range(now):
        s = rows.seg[t]
        if c[s] == 0.0:
            continue
        g = slots.group[i, s]
        size = c[s] * cloud.sign[p, i, g]
        e = rows.y[t] - cloud.M[p, t] + c[s] * rows.Z[at, t]
        v = rows.half[t] ** 2 / 3.0 + max(0.0, cloud.S[p, t] - c[s] * c[s] * rows.V[at, t])
        more = size * size * rows.unread
        missed = 0.5 * e * e * (1.0 / v - 1.0 / (v + more)) - 0.5 * math.log(1.0 + more / v)
        pull, worth = e * size / v, 0.5 * size * size / v
        for a in range(rows.reads.shape[1]):
            j, x = rows.reads[t, a], rows.values[t, a]
            if j >= 0:
                A[j, g] += pull * x
                q[j] -= worth * x * x + missed
    for j in range(d):
        for g in range(groups):
            q[j] += abs(A[j, g]) + math.log1p(math.exp(-2.0 * abs(A[j, g])))
            A[j, g] = min(8.0, max(-8.0, A[j, g]))  # no sign is out of the question
    if not slots.crowded:
        for other in range(len(slots.born)):
            if other != i and cloud.place[p, other] >= 0:
                q[cloud.place[p, other]] = LEAST
    top, total, free = q.max(), 0.0, 0
    for j in range(d):
        total += math.exp(q[j] - top)
        free += q[j] > LEAST
    for j in range(d):
        if q[j] > LEAST:
            q[j] = math.log((1.0 - FLOOR) * math.exp(q[j] - top) / total + FLOOR / free)
    return q


@kernel
def log_signs(sign: Floats, A: Floats) -> float:
    """Log probability of these signs."""
    return -float(np.log1p(np.exp(-2.0 * sign * A)).sum())


@kernel
def weigh(
    rows: Rows, old: Cloud, new: Cloud, p: int, now: int, power: float, cap: Floats, least: float
) -> bool:
    """Work out M, S, L of the one particle in `new` in place of p; whether it beats `least`."""
    total, sure = 0.0, 1.0 - 6.0 * BLUR if rows.law != COIN else 0.0
    k, segs = new.c.shape[1:]
    changed, count = np.empty((segs, k), dtype=np.int64), np.zeros(segs, dtype=np.int64)
    for s in range(segs):
        for i in range(k):
            a, b = old.c[p, i, s], new.c[0, i, s]
            if a != b or (a != 0.0 and old.place[p, i] != new.place[0, i]):
                changed[s, count[s]] = i
                count[s] += 1
    for t in range(now):
        s = rows.seg[t]
        which = changed[s, : count[s]]
        m, S, L = old.M[p, t], old.S[p, t], old.L[p, t]
        if len(which):
            for i in which:
                a, b, at, to = old.c[p, i, s], new.c[0, i, s], old.place[p, i], new.place[0, i]
                m += b * rows.Z[to, t] - a * rows.Z[at, t]
                S += b * b * rows.V[to, t] - a * a * rows.V[at, t]
            S = S if S > 1e-12 else 0.0
            L = cap[t + 1] - cap[t]
            if S > 0.0 or abs(rows.y[t] - m) >= sure * rows.half[t]:
                L = log_label(rows, t, m, S, new.place[0], new.c[0])
        new.M[0, t], new.S[0, t], new.L[0, t] = m, S, L
        total += L * power if t == now - 1 else L
        if total + cap[now] - cap[t + 1] < least:
            return False
    return total > least


@kernel
def put(one: Cloud, a: int, other: Cloud, b: int, now: int) -> None:
    """Particle b of `other` becomes particle a of `one`."""
    one.place[a], one.sign[a] = other.place[b], other.sign[b]
    one.u[a], one.c[a] = other.u[b], other.c[b]
    for t in range(now):
        one.M[a, t], one.S[a, t], one.L[a, t] = other.M[b, t], other.S[b, t], other.L[b, t]


@kernel
def move(
    rows: Rows, slots: Slots, cloud: Cloud, new: Cloud, p: int, i: int, what: int, now: int,
    power: float, cap: Floats, A: Floats,
) -> bool:  # fmt: skip
    """One move of weight i of particle p: to another place, another u, or a swap of two places."""
    put(new, 0, cloud, p, 0)
    gain, at, to = 0.0, 0, 0
    if what == 0:
        q = propose(rows, slots, cloud, p, i, now, A)
        at, to = cloud.place[p, i], 0
        left = np.random.random() - math.exp(q[0])
        while left > 0.0 and to < len(q) - 1:
            to += 1
            left -= math.exp(q[to])
        gain = 0.0 if slots.crowded else q[at] + log_signs(cloud.sign[p, i], A[at])
        for g in range(A.shape[1]):
            up = np.random.random() < 1.0 / (1.0 + math.exp(-2.0 * A[to, g]))
            new.sign[0, i, g] = 1.0 if up else -1.0
        gain -= q[to] + log_signs(new.sign[0, i], A[to])
        for other in range(len(slots.born)):
            if new.place[0, other] == to:
                new.place[0, other] = at
        new.place[0, i] = to
    elif what == 1:
        step = 10.0 ** (-3.0 * np.random.random()) * (2.0 * np.random.random() - 1.0)
        new.u[0, i] += step if slots.kind == SIMPLEX else math.pi * step
        if slots.kind == SIMPLEX and not 0.5 <= new.u[0, i] <= 1.5:
            return False
    else:
        other = np.random.randint(len(slots.born))
        if other == i or new.place[0, other] < 0:
            return False
        new.place[0, i], new.place[0, other] = cloud.place[p, other], cloud.place[p, i]
        if A.shape[1] == 1:
            new.sign[0, i], new.sign[0, other] = cloud.sign[p, other], cloud.sign[p, i]
        if slots.kind == PHASE:  # both weights as they are in some round
            then = rows.seg[np.random.randint(now)]
            turned = slots.turn[i, then] - slots.turn[other, then]
            new.u[0, i], new.u[0, other] = cloud.u[p, other] - turned, cloud.u[p, i] + turned
    fill(slots, 0, new)
    old = cloud.L[p, :now].sum() - (1.0 - power) * cloud.L[p, now - 1]
    bar = old - gain + math.log(np.random.random())
    if not weigh(rows, cloud, new, p, now, power, cap, bar):
        return False
    if what == 0 and slots.crowded:  # the way back begins elsewhere; it can only raise the bar
        q = propose(rows, slots, new, 0, i, now, A)
        bar -= q[at] + log_signs(cloud.sign[p, i], A[at])
        if new.L[0, :now].sum() - (1.0 - power) * new.L[0, now - 1] < bar:
            return False
    put(cloud, p, new, 0, now)
    return True


@kernel
def judge(rows: Rows, t: int, cloud: Cloud, m: Floats, v: Floats) -> None:
    """M, S, L of all particles in round t; m, v: what M and S are before the label is known."""
    s = rows.seg[t]
    for p in range(len(m)):
        place, c = cloud.place[p], cloud.c[p]
        m[p], v[p] = moments(rows.ask, rows.gap, t, s, place, c)
        cloud.M[p, t], cloud.S[p, t] = moments(rows.Z, rows.V, t, s, place, c)
        cloud.L[p, t] = log_label(rows, t, cloud.M[p, t], cloud.S[p, t], place, c)


@kernel
def rejuvenate(
    rows: Rows, slots: Slots, cloud: Cloud, new: Cloud, now: int, power: float, cap: Floats,
    sweeps: int, often: float,
) -> float:  # fmt: skip
    """Move every particle, places in `often` of the sweeps; the share of those that did move."""
    tried, worked = 1, 0
    chances = (often, 0.0 if slots.kind == FIXED else 1.0, 0.5)
    d, groups, s = len(rows.Z), cloud.sign.shape[2], rows.seg[now - 1]
    A = np.empty((d, groups))
    live = np.flatnonzero((slots.group[:, s] >= 0) & (slots.born < now))
    born = np.flatnonzero(slots.born < now)
    for p in range(len(cloud.place)):
        for _ in range(sweeps):
            pool = live if np.random.random() < 0.9 else born
            i = pool[int(len(pool) * np.random.random() ** (3.0 if slots.crowded else 1.0))]
            for what in (0, 1, 1, 2):
                if np.random.random() < chances[what]:
                    at = cloud.place[p, i]
                    move(rows, slots, cloud, new, p, i, what, now, power, cap, A)
                    if what == 0:
                        tried, worked = tried + 1, worked + (cloud.place[p, i] != at)
                i = i if slots.crowded else pool[np.random.randint(len(pool))]
    return worked / tried
