"""Where the VAWs of a mini-batch start: from nothing, or from what earlier batches have seen."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from keyhole.core.functions import c_function
from keyhole.learners.blocks.greedy.minibatch import MiniBatch, pool
from keyhole.problem import Floats, Indices, positive_number


class Memory(Protocol):
    """What is remembered between batches, for the VAWs."""

    @property
    def experts(self) -> int:
        """How many VAWs are run side by side."""

    @property
    def all_pairs(self) -> bool:
        """Whether a batch must keep the products of features that are read and not played."""

    def start(self, V: Indices) -> tuple[Floats, Floats]:
        """A (experts x v x v) and b (experts x v) of the VAWs on the features V."""

    def keep(self, batch: MiniBatch) -> None:
        """Remember a batch that is over."""


class Restart:
    """The paper: a new VAW in every batch, with A = ridge I. Nothing is remembered."""

    SAVED = ()

    experts = 1
    all_pairs = False

    def __init__(self, d: int, ridge: float) -> None:
        self.ridge = positive_number("ridge", ridge)

    def start(self, V: Indices) -> tuple[Floats, Floats]:
        """ridge I and 0."""
        return self.ridge * np.eye(len(V))[np.newaxis], np.zeros((1, len(V)))

    def keep(self, batch: MiniBatch) -> None:
        """Nothing."""


class RestartAndCarry:
    """Two VAWs: one starts anew in every batch, one has seen all earlier rows.

    The second starts from sums over every earlier row, in which features that were not read count
    as 0: A = R + sum x_V x_V', b = sum x_V y, exactly a VAW that was fed those rows. It does not
    pay for a new start in every batch, and it follows no change; the first keeps `lem:vaw`.

    R is diagonal, `ridge` times the mean square of each feature where it was read (1 where it
    never was): multiplying a feature by a number then changes no prediction.

    Sums: `G` (upper triangle), `c`, `reads`. Nothing derived is kept.
    """

    SAVED = ("G", "c", "reads")

    experts = 2
    all_pairs = True

    def __init__(self, d: int, ridge: float) -> None:
        self.ridge = positive_number("ridge", ridge)
        self.G: Floats = np.zeros((d, d))
        self.c: Floats = np.zeros(d)
        self.reads: Indices = np.zeros(d, dtype=np.int64)

    def start(self, V: Indices) -> tuple[Floats, Floats]:
        """The ridge alone, and the ridge with all earlier rows."""
        A, b = np.empty((2, len(V), len(V))), np.empty((2, len(V)))
        _start_carried(V, self.G, self.c, self.reads, self.ridge, A, b)
        return A, b

    def keep(self, batch: MiniBatch) -> None:
        """Add the sums of the batch."""
        pool(batch.features, batch.G, batch.c, self.G, self.c)
        self.reads[batch.S] += batch.n


@c_function("kh_start_carried", "V[v] G[d,d] c[d] reads[d] A[2,v,v] b[2,v]", writes="A b")
def _start_carried(
    V: Indices, G: Floats, c: Floats, reads: Indices, ridge: float, A: Floats, b: Floats
) -> None:
    raise NotImplementedError
