"""Several VAWs side by side on parts of the same features, each started from a memory."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.blocks.jit.decorators import inner, kernel, part, succeeds
from keyhole.blocks.sums.memories import LEVEL, PRODUCT, SQUARE, Memories
from keyhole.core.functions import c_function
from keyhole.fields import Holds
from keyhole.problem import Floats, Indices


class Ensemble(NamedTuple):
    """E runs of VAW over x = (the values read, 1): run e uses the places place[e, :size[e]] of x.

    Run e is exactly a VAW that was fed the zero-imputed, discounted rows of its memory and then the
    rows of this batch: A = G[V, V] + R, b = c[V], R diagonal, a multiple of each feature's mean
    square. Derived: `P` = A^-1 and `theta` = A^-1 b by rank-1 updates. `Px`, `along`, `s` are what
    the last guess leaves for learning.
    """

    place: Annotated[Indices, Holds(below="place"), "runs places"]
    size: Annotated[Indices, Holds(most="place"), "runs"]
    P: Annotated[Floats, "runs places places"]
    theta: Annotated[Floats, "runs places"]
    Px: Annotated[Floats, "runs places"]
    along: Annotated[Floats, "runs"]
    s: Annotated[Floats, "runs"]


@kernel
def _ensemble(runs: int, places: int) -> Ensemble:
    return Ensemble(
        np.zeros((runs, places), dtype=np.int64),
        np.zeros(runs, dtype=np.int64),
        np.zeros((runs, places, places)),
        np.zeros((runs, places)),
        np.zeros((runs, places)),
        np.zeros(runs),
        np.ones(runs),
    )


@succeeds(_ensemble)
def ensemble(runs: int, places: int) -> Ensemble:
    """Room for `runs` VAWs on at most `places` places each; all empty, which guesses 0."""
    return Ensemble(
        np.zeros((runs, places), dtype=np.int64),
        np.zeros(runs, dtype=np.int64),
        np.zeros((runs, places, places)),
        np.zeros((runs, places)),
        np.zeros((runs, places)),
        np.zeros(runs),
        np.ones(runs),
    )


_TINY = 1e-12  # of a diagonal of 1: what a pivot is at least, should rounding make it less


@c_function("kh_invert", "A[v,v]", writes="A")
@kernel
def invert(A: Floats) -> None:
    """A^-1 in place of a positive definite A with a diagonal near 1, by Gauss and Jordan.

    Sums run along rows, with one division a pivot: three fifths of the time Cholesky's way takes.
    """
    v = len(A)
    for k in range(v):
        lead, part = A[k], 1.0 / max(A[k, k], _TINY)
        for i in range(v):
            if i != k:
                row = A[i]
                factor = row[k] * part
                for j in range(v):
                    row[j] -= factor * lead[j]
                row[k] = -factor
        for j in range(v):
            lead[j] *= part
        lead[k] = part
    for i in range(v):
        for j in range(i):
            A[j, i] = A[i, j]


class Start(NamedTuple):
    """What a run starts from: the number of a memory (below 0: nothing) and a ridge.

    The ridge counts examples that show a feature at its size, by its place in x, and 1 round of the
    constant. A feature of size 0, whose units are unknown, keeps the weight 0.
    """

    memory: int
    sizes: Annotated[Floats, "sized"]
    ridge: float


@kernel
def _start(
    runs: Ensemble, e: int, features: Indices, kept: Memories, origin: Start, room: Floats
) -> None:
    memory, sizes, ridge = origin
    v, d = runs.size[e], len(kept.seat)
    A, unit, b, seats = room[:v, :v], np.empty(v), np.zeros(v), np.empty(v, dtype=np.int64)
    source = max(memory, 0)
    G, scale = kept.G[source], kept.scale[source]
    for i in range(v):
        a = runs.place[e, i]
        f = features[a]
        seats[i] = kept.seat[f] if f < d else len(kept.who)
        size = sizes[a] if f < d else 1.0
        unit[i] = 1.0 / size if size > 0.0 else 0.0
        for j in range(i + 1):
            A[i, j] = 0.0
            if memory >= 0 and seats[i] >= 0 and seats[j] >= 0:
                A[i, j] = G[seats[i], seats[j]] * scale * unit[i] * unit[j]
        if memory >= 0 and seats[i] >= 0:
            b[i] = kept.c[source, seats[i]] * scale * unit[i]
    if memory >= 0:
        _start_resting(kept, source, seats, features[runs.place[e, :v]], unit, A, b)
    for i in range(v):
        A[i, i] += 1.0 if seats[i] == len(kept.who) else ridge
    start_from(runs, e, A, b, unit)


@succeeds(_start)
@c_function("kh_start_run", "features[n]", room="places*places+5*places")
def start(runs: Ensemble, e: int, features: Indices, kept: Memories, origin: Start) -> None:
    """Start run e on the places it has. `features[a]` is the feature at place a of x, d for the 1.

    What rests has no products in pairs: they count as 0.
    """
    raise NotImplementedError


@inner
def _start_resting(
    kept: Memories,
    source: int,
    seats: Indices,
    features: Indices,
    unit: Floats,
    A: Floats,
    b: Floats,
) -> None:
    # The sums of features that rest: their own, and with the constant. Of A the lower triangle.
    scale = kept.scale[source]
    for i in range(len(seats)):
        if seats[i] >= 0:
            continue
        sums = kept.rest[source, features[i]]
        A[i, i] = sums[SQUARE] * scale * unit[i] * unit[i]
        b[i] = sums[PRODUCT] * scale * unit[i]
        for j in range(len(seats)):
            if seats[j] == len(kept.who):
                A[max(i, j), min(i, j)] = sums[LEVEL] * scale * unit[i] * unit[j]


@c_function("kh_start_from", "A[v,v] b[v] unit[v]", writes="A b unit", room="v")
@kernel
def start_from(runs: Ensemble, e: int, A: Floats, b: Floats, unit: Floats) -> None:
    """Start run e from sums A and b, ridge included, of its places times `unit`; A is used up.

    Of A the lower triangle is looked at.
    """
    # With a diagonal of 1 the largest memory does not drown the ridge in rounding.
    v, root = len(b), np.empty(len(b))
    for i in range(v):
        root[i] = 1.0 / math.sqrt(A[i, i])
        unit[i] *= root[i]
        b[i] *= root[i]
        for j in range(i + 1):
            A[i, j] *= root[i] * root[j]
            A[j, i] = A[i, j]
    invert(A)
    for i in range(v):
        total = 0.0
        for j in range(v):
            total += A[i, j] * b[j]
            runs.P[e, i, j] = A[i, j] * unit[i] * unit[j]
        runs.theta[e, i] = total * unit[i]


@part
def guess_part(runs: Ensemble, x: Floats, guesses: Floats) -> None:
    """`guess`, as a part of a kernel."""
    for e in range(len(runs.size)):
        v, along, s = runs.size[e], 0.0, 1.0
        place, theta, Px = runs.place[e], runs.theta[e], runs.Px[e]
        for i in range(v):
            Px[i] = 0.0
        for j in range(v):  # P is symmetric: sums of its rows run along memory
            xj, row = x[place[j]], runs.P[e, j]
            for i in range(v):
                Px[i] += xj * row[i]
        for i in range(v):
            s += x[place[i]] * Px[i]
            along += theta[i] * x[place[i]]
        if not 1.0 <= s < np.inf:
            s = 1.0
            for i in range(v):
                Px[i] = 0.0
        runs.along[e], runs.s[e] = along, s
        guesses[e] = along / s


@c_function("kh_guess_runs", "x[n] guesses[m]", writes="guesses")
@kernel
def guess(runs: Ensemble, x: Floats, guesses: Floats) -> None:
    """VAW's prediction of every run: theta.x / (1 + x'Px).

    Where rounding has left x'Px < 0, or it overflows, P says nothing about x: it counts as 0, and
    the label of x is not learnt. Otherwise P would grow beyond all bounds.
    """
    guess_part(runs, x, guesses)


@part
def learn_part(runs: Ensemble, y: float) -> None:
    """`learn`, as a part of a kernel."""
    for e in range(len(runs.size)):
        v, s = runs.size[e], runs.s[e]
        P, Px, theta = runs.P[e], runs.Px[e], runs.theta[e]
        step = (y - runs.along[e]) / s
        for i in range(v):
            theta[i] += Px[i] * step
            part = Px[i] / s
            for j in range(v):
                P[i, j] -= part * Px[j]


@c_function("kh_learn_runs")
@kernel
def learn(runs: Ensemble, y: float) -> None:
    """The rank-1 update of every run with the label of the x it guessed last."""
    learn_part(runs, y)
