"""Several VAWs side by side on parts of the same features, each started from a memory."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.memories import Memories
from keyhole.problem import Floats, Indices
from keyhole.problem.fields import Holds


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


@c_function("kh_invert", "A[v,v]", writes="A")
def invert(A: Floats) -> None:
    """A^-1 in place of a positive definite A with a diagonal near 1, by Gauss and Jordan.

    Sums run along rows, with one division a pivot: three fifths of the time Cholesky's way takes.
    """
    raise NotImplementedError


class Start(NamedTuple):
    """What a run starts from: the number of a memory (below 0: nothing) and a ridge.

    The ridge counts examples that show a feature at its size, by its place in x, and 1 round of the
    constant. A feature of size 0, whose units are unknown, keeps the weight 0.
    """

    memory: int
    sizes: Annotated[Floats, "sized"]
    ridge: float


@c_function("kh_start_run", "features[n]", room="places*places+5*places")
def start(runs: Ensemble, e: int, features: Indices, kept: Memories, origin: Start) -> None:
    """Start run e on the places it has. `features[a]` is the feature at place a of x, d for the 1.

    What rests has no products in pairs: they count as 0.
    """
    raise NotImplementedError


@c_function("kh_guess_runs", "x[n] guesses[m]", writes="guesses")
def guess(runs: Ensemble, x: Floats, guesses: Floats) -> None:
    """VAW's prediction of every run: theta.x / (1 + x'Px).

    Where rounding has left x'Px < 0, or it overflows, P says nothing about x: it counts as 0, and
    the label of x is not learnt. Otherwise P would grow beyond all bounds.
    """
    raise NotImplementedError


@c_function("kh_learn_runs")
def learn(runs: Ensemble, y: float) -> None:
    """The rank-1 update of every run with the label of the x it guessed last."""
    raise NotImplementedError
