"""Steps of the recipe in `benchmarks/grammix.py`: select, gains, aggregate, fill."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices

UPPER = 1.5  # standard errors of the upper confidence bounds
FLAT = 0.05  # share of its square below which a feature is a copy of those chosen


@kernel
def select(
    G: Floats, c: Floats, n: Floats, yy: float, rounds: float, most: int, beta: float,
    chosen: Indices, r: Floats, D: Floats, L: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Forward selection; r, D are left given all that was chosen. Returns how many, and s2."""
    d, size = len(c), 0
    s2 = yy / rounds if rounds > 0.0 else 1.0
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
def batch_gains(
    G: Floats, c: Floats, rows: int, played: Indices, gains: Floats
) -> None:  # fmt: skip
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
def fill(
    place: Indices, S: Indices, held: int, upto: int, r: Floats, D: Floats, G: Floats, n: Floats,
    s2: float, reads: Floats,
) -> int:  # fmt: skip
    """Add features to S by upper confidence bounds, never-read ones first; how many S has then."""
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
