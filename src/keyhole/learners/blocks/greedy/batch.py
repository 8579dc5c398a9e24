"""A batch of Algorithm 2: what was drawn for it and what it has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.greedy.memory import Memory
from keyhole.learners.blocks.greedy.minibatch import MiniBatch
from keyhole.learners.blocks.greedy.schemes import Draw
from keyhole.problem import DataError, Indices


@dataclass(slots=True, eq=False)
class Batch:
    """What a batch reads and plays."""

    draw: Draw
    slots: Indices  # where each slot's feature stands in the order of `mini`
    mini: MiniBatch

    SAVED = ("draw", "mini")


def begin(draw: Draw, memory: Memory) -> Batch:
    """The batch of a draw, before its first row. A feature drawn by several slots is once in V.

    A draw that is none, for instance from a file, is a DataError.
    """
    n, m = len(draw.j), len(draw.S)
    read = m > 0 and (draw.S.take(np.searchsorted(draw.S, draw.j), mode="clip") == draw.j).all()
    if draw.p.shape != (n, m) or draw.weight.shape != (n, m) or not read:
        raise DataError(f"not a draw of {n} slots that reads {draw.S.tolist()}")
    V = np.array(list(dict.fromkeys(draw.j.tolist())), dtype=np.int64)
    slots = (draw.j[:, np.newaxis] == V).argmax(axis=1)
    return Batch(draw, slots, MiniBatch(V, draw.S, *memory.start(V), memory.all_pairs))
