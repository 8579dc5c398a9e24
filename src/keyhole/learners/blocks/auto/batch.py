"""The batch that AutoLearner is playing: a few rounds that read the same features."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.records import hold_within
from keyhole.learners.blocks.auto.state import EXPLORED, Settings
from keyhole.learners.blocks.fit.vaw import Ensemble, ensemble
from keyhole.problem import Floats, Indices
from keyhole.problem.state import AT_LEAST_0, MAY_BE_NAN, AscendingFeatures, Holds


class Batch(NamedTuple):
    """A few rounds that read the same features S (ascending), place by place.

    `why`: KEPT, NET or EXPLORED. `centre`, `label`: what is subtracted, NaN before any value was
    seen. `peak`: the largest centred value so far; one beyond `far` times that is cut off there
    before it is used to predict. `values`, `labels`: the rounds told, `rows` of them. `slots`,
    `p`, `weight`: the draw of the net's experts: the place each plays, with which probability they
    play each place, and what its loss counts.
    """

    S: Annotated[AscendingFeatures, "read"]
    why: Annotated[NDArray[np.int8], Holds(most=EXPLORED), "read"]
    runs: Annotated[Ensemble, "runs=experts places=read+1"]
    centre: Annotated[Floats, MAY_BE_NAN, "read"]
    peak: Annotated[Floats, AT_LEAST_0, "read"]
    label: Annotated[Floats, MAY_BE_NAN, "1"]
    values: Annotated[Floats, MAY_BE_NAN, "longest read"]
    labels: Annotated[Floats, "longest"]
    rows: Annotated[Indices, Holds(most="closed"), "1"]
    slots: Annotated[Indices, Holds(below="S"), "slots"]
    p: Annotated[Floats, AT_LEAST_0, "slots read"]
    weight: Annotated[Floats, "slots read"]


def new_batch(s: Settings, width: int | None = None) -> Batch:
    """An empty batch, to be filled: of as many features as are read at most, or of `width`."""
    b = s.width if width is None else width
    return Batch(
        np.zeros(b, dtype=np.int64),
        np.zeros(b, dtype=np.int8),
        ensemble(len(s.experts.features), b + 1),
        np.zeros(b),
        np.zeros(b),
        np.zeros(1),
        np.zeros((s.longest, b)),
        np.zeros(s.longest),
        np.zeros(1, dtype=np.int64),
        np.zeros(s.slots, dtype=np.int64),
        np.zeros((s.slots, b)),
        np.zeros((s.slots, b)),
    )


def narrowed(room: Batch, read: int) -> Batch:
    """The batch of so many features that compiled code has laid out in this room for more.

    Its arrays begin where those of the room do, and so does its struct: while it is in use, the
    room is.
    """
    if read == len(room.S):
        return room
    runs, longest, slots = room.runs, len(room.values), len(room.p)
    wide = (len(runs.place), read + 1)
    narrow = Batch(
        room.S[:read],
        room.why[:read],
        Ensemble(
            _front(runs.place, *wide),
            runs.size,
            _front(runs.P, *wide, read + 1),
            _front(runs.theta, *wide),
            _front(runs.Px, *wide),
            runs.along,
            runs.s,
        ),
        room.centre[:read],
        room.peak[:read],
        room.label,
        _front(room.values, longest, read),
        room.labels,
        room.rows,
        room.slots,
        _front(room.p, slots, read),
        _front(room.weight, slots, read),
    )
    return hold_within(narrow, room, read=read)


def _front(array: NDArray[Any], *shape: int) -> NDArray[Any]:
    """The numbers that an array begins with, as one of this shape."""
    return array.reshape(-1)[: math.prod(shape)].reshape(shape)


def tidy(batch: Batch) -> Batch:
    """A copy without what is left in cells that are not in use: of equal batches, equal bytes."""
    runs, rows = batch.runs, int(batch.rows[0])
    values, labels = np.zeros_like(batch.values), np.zeros_like(batch.labels)
    values[:rows], labels[:rows] = batch.values[:rows], batch.labels[:rows]
    used = ensemble(*runs.place.shape)
    for e, v in enumerate(runs.size.tolist()):
        used.size[e] = v
        used.place[e, :v], used.theta[e, :v] = runs.place[e, :v], runs.theta[e, :v]
        used.P[e, :v, :v] = runs.P[e, :v, :v]
    return batch._replace(values=values, labels=labels, runs=used)
