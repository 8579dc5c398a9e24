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

from benchmarks.auto.grammix_state import (
    TAUS,
    Bought,
    Experts,
    Found,
    Memories,
    Net,
    State,
    Sums,
    new_state,
)
from benchmarks.common.compiled import kernel
from keyhole.problem import Floats, Indices

RIDGE, LOWER = 0.3, 0.85
UPPER = 1.5  # standard errors of the upper confidence bounds
FLAT = 0.05  # share of its square below which a feature is a copy of those chosen
OTHERS = 1  # uniform reads of each budgeted expert: M - 1
WINDOW = 200.0  # of the control variates


@kernel
def select(sums: Sums, most: int, beta: float, found: Found) -> tuple[int, float]:
    """Forward selection; r, D are left given all that was chosen. Returns how many, and s2."""
    G, c, n = sums.G, sums.c, sums.n
    chosen, r, D, L = found
    d, size = len(c), 0
    s2 = sums.yy / sums.rounds if sums.rounds > 0.0 else 1.0
    free = np.ones(d, dtype=np.bool_)
    for j in range(d):
        r[j] = c[j] / n[j] if n[j] > 0.0 else 0.0
        D[j] = G[j, j] / n[j] if n[j] > 0.0 else 0.0
    while size < most:
        best, gain = -1, 0.0
        for j in range(d):
            if free[j] and n[j] >= 3.999 and D[j] > FLAT * G[j, j] / n[j]:
                sure = abs(r[j]) - beta * math.sqrt(s2 * D[j] / n[j])
                if sure > 0.0 and sure * sure / D[j] > gain:
                    best, gain = j, sure * sure / D[j]
        if best < 0:
            break
        root = math.sqrt(D[best])
        step = r[best] / root
        row = L[size]
        for j in range(d):
            row[j] = 0.0
            if n[j] > 0.0:
                row[j] = G[best, j] / math.sqrt(n[best] * n[j])
        for q in range(size):
            part = L[q, best]
            for j in range(d):
                row[j] -= part * L[q, j]
        for j in range(d):
            if n[j] > 0.0:
                row[j] /= root
                D[j] -= row[j] * row[j]
                r[j] -= row[j] * step * math.sqrt(n[best] / n[j])
        s2 = max(s2 - step * step, 1e-12)
        free[best] = False
        D[best] = 0.0
        chosen[size] = best
        size += 1
    return size, s2


@kernel
def fill(bought: Bought, held: int, upto: int, found: Found, sums: Sums, s2: float) -> int:
    """Add features to S by upper confidence bounds, never-read ones first; how many S has then."""
    S, place, reads = bought
    G, n, r, D = sums.G, sums.n, found.r, found.D
    d = len(place)
    score = np.full(d, -1.0)
    for j in range(d):
        if place[j] >= 0:
            continue
        if reads[j] == 0.0:
            score[j] = 1e200 * (1.0 + np.random.random())
        elif n[j] <= 1e-12 or G[j, j] <= 0.0:
            score[j] = 1e100 * (1.0 + np.random.random())  # forgotten by this memory
        elif D[j] > FLAT * G[j, j] / n[j]:
            top = abs(r[j]) + UPPER * math.sqrt(s2 * D[j] / n[j])
            score[j] = top * top / D[j]
        else:
            score[j] = 0.0
    order = np.argsort(-score)
    q = 0
    while held < upto:
        S[held], place[order[q]] = order[q], held
        held += 1
        q += 1
    return held


@kernel
def batch_gains(G: Floats, c: Floats, rows: int, played: Indices, gains: Floats) -> None:
    """gains[i]: r^2 / D of every place of the batch given the places played by those before i."""
    b = len(c)
    D, r, F, rank = np.empty(b), np.empty(b), np.zeros((len(played), b)), 0
    for a in range(b):
        D[a], r[a] = G[a, a] / rows, c[a] / rows
    for i in range(len(played)):
        for a in range(b):
            gains[i, a] = r[a] * r[a] / D[a] if D[a] > 1e-9 * (1e-300 + G[a, a] / rows) else 0.0
        v = played[i]
        if D[v] > 1e-9 * (1e-300 + G[v, v] / rows):
            root = math.sqrt(D[v])
            step = r[v] / root
            for a in range(b):
                F[rank, a] = G[v, a] / rows
                for q in range(rank):
                    F[rank, a] -= F[q, v] * F[q, a]
                F[rank, a] /= root
            for a in range(b):
                D[a] -= F[rank, a] * F[rank, a]
                r[a] -= F[rank, a] * step
            D[v] = 0.0
            rank += 1


@kernel
def aggregate(weights: Floats, guesses: Floats) -> float:
    """The substitution function for square loss on [-1, 1] with eta = 1/2."""
    below, above = 0.0, 0.0
    for e in range(len(guesses)):
        g = guesses[e]
        below += weights[e] * math.exp(-0.5 * (1.0 + g) * (1.0 + g))
        above += weights[e] * math.exp(-0.5 * (1.0 - g) * (1.0 - g))
    return 0.5 * (math.log(above) - math.log(below))


@kernel
def sums_of(memories: Memories, m: int) -> Sums:
    """Those of one memory, as large as they are."""
    scale = memories.scale[m]
    return Sums(
        memories.G[m] * scale,
        memories.c[m] * scale,
        memories.n[m] * scale,
        memories.yy[m] * scale,
        memories.rounds[m] * scale,
    )


@kernel
def found_in(memories: Memories, m: int) -> Found:
    """Where what is found in one memory is written."""
    return Found(memories.chosen[m], memories.r[m], memories.D[m], memories.L)


@kernel
def select_all(memories: Memories, most: int, beta: float) -> None:
    """Forward selection in every memory."""
    G, c, n, yy, rounds, scale = memories[:6]
    for m in range(len(scale)):  # sums are kept unscaled: what follows divides them by counts alike
        if scale[m] < 1e-60:
            G[m] *= scale[m]
            c[m] *= scale[m]
            n[m] *= scale[m]
            yy[m] *= scale[m]
            rounds[m] *= scale[m]
            scale[m] = 1.0
        size, s2 = select(sums_of(memories, m), most, beta, found_in(memories, m))
        memories.picked[m], memories.s2[m] = size, s2


@kernel
def buy_selected(memories: Memories, order: Indices, bought: Bought, most: int) -> int:
    """The first picks of all memories, the second, ...; how many that are."""
    S, place, _ = bought
    place[:] = -1
    held = 0
    for rank in range(most):
        for m in order:
            j = memories.chosen[m, rank]
            if rank < memories.picked[m] and held < most and place[j] < 0:
                S[held], place[j] = j, held
                held += 1
    return held


@kernel
def buy_for_net(net: Net, bought: Bought, held: int) -> int:
    """Every budgeted expert's draw, then a uniform read for each; how many are held then."""
    S, place, _ = bought
    d = len(place)
    for i in range(len(net.squares)):
        eta = math.sqrt(math.log(d) / (d / (1.0 + OTHERS) + net.squares[i]))
        p = np.exp(-eta * (net.loss[i] - net.loss[i].min()))
        p /= p.sum()
        net.p[i] = p
        u, j = np.random.random(), 0
        while j < d - 1 and u >= p[j]:
            u -= p[j]
            j += 1
        net.played[i] = j
    for j in net.played:
        if place[j] < 0:
            S[held], place[j] = j, held
            held += 1
    for i in range(len(net.played)):
        if d > 1:
            j = np.random.randint(d - 1)
            j += 1 if j >= net.played[i] else 0
            if place[j] < 0:
                S[held], place[j] = j, held
                held += 1
    return held


@kernel
def start(experts: Experts, memories: Memories, played: Indices, bought: Bought, pool: int) -> None:
    """VAWs on this batch's set, from what the memories know."""
    S, place, _ = bought
    M = len(memories.scale)
    for e in range(len(experts.weights) - 1):
        at, v, m = experts.at[e], 0, e % M if e < 2 * M else -1
        if e < M:
            for q in range(memories.picked[m]):
                a = place[memories.chosen[m, q]]
                if 0 <= a < pool:
                    at[v] = a
                    v += 1
        else:
            for j in played:
                new = True
                for q in range(v):
                    new = new and at[q] != place[j]
                if new:
                    at[v] = place[j]
                    v += 1
        experts.size[e] = v
        A, b = RIDGE * np.eye(v), np.zeros(v)
        if m >= 0:
            for i in range(v):
                b[i] = memories.c[m, S[at[i]]] * memories.scale[m]
                for q in range(v):
                    A[i, q] += memories.G[m, S[at[i]], S[at[q]]] * memories.scale[m]
        if v > 0:
            inverse = np.linalg.inv(A)
            experts.P[e, :v, :v] = inverse
            experts.theta[e, :v] = inverse @ b


@kernel
def guess(experts: Experts, x: Floats) -> float:
    """What all of them together say of a row."""
    for e in range(len(experts.weights) - 1):
        P, theta, at, Px = experts.P[e], experts.theta[e], experts.at[e], experts.Px[e]
        v, along, lift = experts.size[e], 0.0, 1.0
        for i in range(v):
            total = 0.0
            for q in range(v):
                total += P[i, q] * x[at[q]]
            Px[i] = total
            along += theta[i] * x[at[i]]
            lift += total * x[at[i]]
        experts.along[e], experts.lift[e] = along, lift
        experts.guesses[e] = min(1.0, max(-1.0, along / lift))
    return aggregate(experts.weights, experts.guesses)


@kernel
def learn(experts: Experts, label: float, t: int) -> None:
    """Weigh them anew, mix a little, and let each take its step."""
    weights, guesses, E = experts.weights, experts.guesses, len(experts.weights)
    for e in range(E):
        weights[e] *= math.exp(-0.5 * (label - guesses[e]) ** 2)
    weights /= weights.sum()
    share = 1.0 / (t + 2.0)
    weights *= 1.0 - share
    weights += share / E
    for e in range(E - 1):
        P, theta, Px, lift = experts.P[e], experts.theta[e], experts.Px[e], experts.lift[e]
        step = (label - experts.along[e]) / lift
        for i in range(experts.size[e]):
            theta[i] += Px[i] * step
            for q in range(experts.size[e]):
                P[i, q] -= Px[i] * Px[q] / lift


@kernel
def remember(memories: Memories, S: Indices, batch: Sums) -> None:
    """Add a batch to every memory."""
    for m in range(len(memories.scale)):
        memories.scale[m] *= math.exp(-batch.rounds / TAUS[m])
        scale = memories.scale[m]
        for a in range(len(S)):
            memories.c[m, S[a]] += batch.c[a] / scale
            memories.n[m, S[a]] += batch.rounds / scale
            for q in range(len(S)):
                memories.G[m, S[a], S[q]] += batch.G[a, q] / scale
        memories.yy[m] += batch.yy / scale
        memories.rounds[m] += batch.rounds / scale


@kernel
def chance(net: Net, i: int, j: int) -> float:
    """How likely feature j was read, given what the slots before i played."""
    d = net.p.shape[1]
    other = OTHERS / (d - 1.0) if d > 1 else 0.0
    miss: float = 1.0 - (net.p[i, j] + (1.0 - net.p[i, j]) * other)
    for h in range(i):
        miss *= 0.0 if net.played[h] == j else 1.0 - other
    for h in range(i + 1, len(net.played)):
        miss *= 1.0 - (net.p[h, j] + (1.0 - net.p[h, j]) * other)
    return 1.0 - miss


@kernel
def judge(net: Net, S: Indices, pool: int) -> None:
    """Charge every slot for its losses on the features S, the first `pool` of them surely read."""
    for i in range(len(net.played)):
        gains, mu, seen, change = net.gains[i], net.mu[i], net.seen[i], np.zeros(net.p.shape[1])
        losses = np.zeros(len(S))
        for a in range(len(S)):
            net.largest[i] = max(net.largest[i], gains[a])
        for a in range(len(S)):
            j, Q = S[a], chance(net, i, S[a]) if a >= pool else 1.0
            if net.largest[i] > 0.0:
                losses[a] = -min(1.0, gains[a] / net.largest[i])
            change[j] = (losses[a] - mu[j]) / Q
            net.squares[i] += net.p[i, j] * (mu[j] + change[j]) ** 2
        net.loss[i] += mu + change
        for a in range(len(S)):
            j = S[a]
            seen[j] += 1.0
            mu[j] += (losses[a] - mu[j]) / min(WINDOW, seen[j])


@kernel
def _play(X: NDArray[np.floating], y: Floats, budget: int, state: State, seed: int) -> Floats:
    memories, net, experts, bought, most = state
    (T, d), (S, place, reads) = X.shape, bought
    np.random.seed(seed)
    beta = LOWER * math.sqrt(2.0 * math.log(max(d, 2)))
    predictions, t, full = np.empty(T), 0, min(budget, d)
    while t < T:
        rows = min(T - t, 4 if t < 256 else 8 if t < 512 else 16)
        select_all(memories, most, beta)
        order = np.argsort(-experts.weights[: len(TAUS)])
        pool = buy_selected(memories, order, bought, most)
        fed = held = buy_for_net(net, bought, pool)
        half = held + (full - held) // 2
        for m, upto in ((0, half), (order[0], full)):
            if held < upto:
                known, found = sums_of(memories, m), found_in(memories, m)
                held = fill(bought, held, upto, found, known, memories.s2[m])
        start(experts, memories, net.played, bought, pool)
        G, c, yy, x = np.zeros((held, held)), np.zeros(held), 0.0, np.zeros(held)
        for t_ in range(t, t + rows):
            for a in range(held):
                x[a] = X[t_, S[a]]
            predictions[t_] = guess(experts, x)
            label = y[t_]
            learn(experts, label, t_)
            for a in range(held):
                c[a] += x[a] * label
                for q in range(held):
                    G[a, q] += x[a] * x[q]
            yy += label * label
        t += rows
        remember(memories, S[:held], Sums(G, c, c, yy, float(rows)))
        for a in range(held):
            reads[S[a]] += rows
        if len(net.played):
            batch_gains(G, c, rows, place[net.played], net.gains)
            judge(net, S[:fed], pool)
    return predictions


def grammix(
    X: NDArray[np.floating], y: Floats, budget: int, *, net: bool = True, seed: int = 0
) -> Floats:
    """Its predictions for a whole stream. Labels beyond [-1, 1] are scaled by the largest of all.

    That largest label is known to the recipe beforehand, which AutoLearner is not told.
    """
    unit = max(1.0, float(np.abs(y).max()))
    state = new_state(X.shape[1], budget, net)
    predictions: Floats = unit * _play(X, y / unit, budget, state, seed)
    return predictions
