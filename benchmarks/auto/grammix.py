"""A peer for AutoLearner: forward selection in discounted sums with a bandit net, "GramMix + BEXP".

The plain recipe AutoLearner grew out of, on arrays, compiled: no intercept, no centring, labels in
[-1, 1]. Three memories of zero-imputed raw sums select features; a quarter of the budget each goes
to the picks of budgeted experts and to their uniform reads; what is left is filled by upper
confidence bounds; VAWs started from the sums are combined by the aggregating algorithm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.auto.grammix_steps import aggregate, batch_gains, fill, select
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats

TAUS = np.array([1e300, 512.0, 64.0])  # rounds the memories look back
RIDGE, LOWER = 0.3, 0.85
OTHERS = 1  # uniform reads of each budgeted expert: M - 1
WINDOW = 200.0  # of the control variates


@kernel
def _play(X: NDArray[np.floating], y: Floats, budget: int, net: bool, seed: int) -> Floats:
    T, d = X.shape
    np.random.seed(seed)
    M, slots = len(TAUS), max(1, budget // 4) if net and budget >= 4 else 0
    most = max(1, budget - (2 * slots if slots else 1))
    beta = LOWER * math.sqrt(2.0 * math.log(max(d, 2)))
    other = OTHERS / (d - 1.0) if d > 1 else 0.0
    G, c, n = np.zeros((M, d, d)), np.zeros((M, d)), np.zeros((M, d))
    yy, rounds, reads = np.zeros(M), np.zeros(M), np.zeros(d)
    chosen, picked = np.zeros((M, most), dtype=np.int64), np.zeros(M, dtype=np.int64)
    r, D, s2, L = np.zeros((M, d)), np.zeros((M, d)), np.zeros(M), np.zeros((most, d))
    E = 2 * M + 2  # memories on their own support, on the net's; the net cold; 0
    weights, guesses = np.full(E, 1.0 / E), np.zeros(E)
    P, theta = np.zeros((E, budget, budget)), np.zeros((E, budget))
    at, size = np.zeros((E, budget), dtype=np.int64), np.zeros(E, dtype=np.int64)
    Px, along, lift = np.zeros((E, budget)), np.zeros(E), np.ones(E)
    loss, mu, seen = np.zeros((slots, d)), np.zeros((slots, d)), np.zeros((slots, d))
    squares, largest, p = np.zeros(slots), np.zeros(slots), np.zeros((slots, d))
    played, gains = np.zeros(slots, dtype=np.int64), np.zeros((slots, budget))
    S, place = np.zeros(budget, dtype=np.int64), np.zeros(d, dtype=np.int64)
    scale, predictions, t = np.ones(M), np.empty(T), 0
    while t < T:
        rows = min(T - t, 4 if t < 256 else 8 if t < 512 else 16)
        for m in range(M):  # sums are kept unscaled: what follows divides them by counts alike
            if scale[m] < 1e-60:
                G[m] *= scale[m]
                c[m] *= scale[m]
                n[m] *= scale[m]
                yy[m] *= scale[m]
                rounds[m] *= scale[m]
                scale[m] = 1.0
            picked[m], s2[m] = select(
                G[m] * scale[m], c[m] * scale[m], n[m] * scale[m], yy[m] * scale[m],
                rounds[m] * scale[m], most, beta, chosen[m], r[m], D[m], L,
            )  # fmt: skip
        order = np.argsort(-weights[:M])
        place[:] = -1
        held = 0
        for rank in range(most):
            for m in order:
                if rank < picked[m] and held < most and place[chosen[m, rank]] < 0:
                    S[held], place[chosen[m, rank]] = chosen[m, rank], held
                    held += 1
        pool = held
        for i in range(slots):
            eta = math.sqrt(math.log(d) / (d / (1.0 + OTHERS) + squares[i]))
            p[i] = np.exp(-eta * (loss[i] - loss[i].min()))
            p[i] /= p[i].sum()
            u, j = np.random.random(), 0
            while j < d - 1 and u >= p[i, j]:
                u -= p[i, j]
                j += 1
            played[i] = j
        for i in range(slots):
            if place[played[i]] < 0:
                S[held], place[played[i]] = played[i], held
                held += 1
        for i in range(slots):
            if d > 1:
                j = np.random.randint(d - 1)
                j += 1 if j >= played[i] else 0
                if place[j] < 0:
                    S[held], place[j] = j, held
                    held += 1
        fed = held
        full = min(budget, d)
        half = held + (full - held) // 2
        for m, upto in ((0, half), (order[0], full)):
            if held < upto:
                counts = n[m] * scale[m]
                held = fill(place, S, held, upto, r[m], D[m], G[m] * scale[m], counts, s2[m], reads)
        b = held
        for e in range(E - 1):
            v, m = 0, e % M if e < 2 * M else -1
            if e < M:
                for q in range(picked[m]):
                    if 0 <= place[chosen[m, q]] < pool:
                        at[e, v] = place[chosen[m, q]]
                        v += 1
            else:
                for i in range(slots):
                    new = True
                    for q in range(v):
                        new = new and at[e, q] != place[played[i]]
                    if new:
                        at[e, v] = place[played[i]]
                        v += 1
            size[e] = v
            A, start = RIDGE * np.eye(v), np.zeros(v)
            if m >= 0:
                for i in range(v):
                    start[i] = c[m, S[at[e, i]]] * scale[m]
                    for q in range(v):
                        A[i, q] += G[m, S[at[e, i]], S[at[e, q]]] * scale[m]
            if v > 0:
                inverse = np.linalg.inv(A)
                P[e, :v, :v] = inverse
                theta[e, :v] = inverse @ start
        GB, cB, yB, x = np.zeros((b, b)), np.zeros(b), 0.0, np.zeros(b)
        for t_ in range(t, t + rows):
            for a in range(b):
                x[a] = X[t_, S[a]]
            for e in range(E - 1):
                v, along[e], lift[e] = size[e], 0.0, 1.0
                for i in range(v):
                    total = 0.0
                    for q in range(v):
                        total += P[e, i, q] * x[at[e, q]]
                    Px[e, i] = total
                    along[e] += theta[e, i] * x[at[e, i]]
                    lift[e] += total * x[at[e, i]]
                guesses[e] = min(1.0, max(-1.0, along[e] / lift[e]))
            predictions[t_] = aggregate(weights, guesses)
            label = y[t_]
            for e in range(E):
                weights[e] *= math.exp(-0.5 * (label - guesses[e]) ** 2)
            weights /= weights.sum()
            share = 1.0 / (t_ + 2.0)
            weights *= 1.0 - share
            weights += share / E
            for e in range(E - 1):
                step = (label - along[e]) / lift[e]
                for i in range(size[e]):
                    theta[e, i] += Px[e, i] * step
                    for q in range(size[e]):
                        P[e, i, q] -= Px[e, i] * Px[e, q] / lift[e]
            for a in range(b):
                cB[a] += x[a] * label
                for q in range(b):
                    GB[a, q] += x[a] * x[q]
            yB += label * label
        t += rows
        for m in range(M):
            scale[m] *= math.exp(-rows / TAUS[m])
            for a in range(b):
                c[m, S[a]] += cB[a] / scale[m]
                n[m, S[a]] += rows / scale[m]
                for q in range(b):
                    G[m, S[a], S[q]] += GB[a, q] / scale[m]
            yy[m] += yB / scale[m]
            rounds[m] += rows / scale[m]
        for a in range(b):
            reads[S[a]] += rows
        if slots:
            batch_gains(GB, cB, rows, place[played], gains)
        for i in range(slots):
            for a in range(fed):
                largest[i] = max(largest[i], gains[i, a])
            change = np.zeros(d)
            for a in range(fed):
                j, Q = S[a], 1.0
                if a >= pool:
                    miss = 1.0 - (p[i, j] + (1.0 - p[i, j]) * other)
                    for h in range(i):
                        miss *= 0.0 if played[h] == j else 1.0 - other
                    for h in range(i + 1, slots):
                        miss *= 1.0 - (p[h, j] + (1.0 - p[h, j]) * other)
                    Q = 1.0 - miss
                l = -min(1.0, gains[i, a] / largest[i]) if largest[i] > 0.0 else 0.0  # noqa: E741
                change[j] = (l - mu[i, j]) / Q
                squares[i] += p[i, j] * (mu[i, j] + change[j]) ** 2
            loss[i] += mu[i] + change
            for a in range(fed):
                j = S[a]
                l = -min(1.0, gains[i, a] / largest[i]) if largest[i] > 0.0 else 0.0  # noqa: E741
                seen[i, j] += 1.0
                mu[i, j] += (l - mu[i, j]) / min(WINDOW, seen[i, j])
    return predictions


def grammix(
    X: NDArray[np.floating], y: Floats, budget: int, *, net: bool = True, seed: int = 0
) -> Floats:
    """Its predictions for a whole stream. Labels beyond [-1, 1] are scaled by the largest of all.

    That largest label is known to the recipe beforehand, which AutoLearner is not told.
    """
    unit = max(1.0, float(np.abs(y).max()))
    predictions: Floats = unit * _play(X, y / unit, budget, net, seed)
    return predictions
