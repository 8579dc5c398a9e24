"""The ring: the rows that AutoLearner was told last, as they entered its sums.

What was told wrong can be taken out of sums only while it is known what went in, and around which
centres. `core/c/auto_ring.c` writes the rows, one by one and in blocks.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.shapes.seats import LOOKED
from keyhole.problem import Floats, Indices, StateError
from keyhole.problem.state import MAY_BE_NAN, Holds, fit

FEWEST_VALUES = 16  # of a feature of which more is said
TOLD, FOLDED, GONE, SEALED = range(4)  # in `Ring.next`


class Ring(NamedTuple):
    """The rows told last, in the order they were told: row i is in slot i modulo their number.

    Of each row: the features read (-1 beyond), their values as they were learnt (NaN: absent), the
    label as it was learnt, the round and the batch of its ticket (0: on terms of its own), and its
    fold: how many rows were in the sums once its batch was, 0 before. Where there are shapes, rows
    of history are in it too, as of round 0, with the features that shapes look at, and no fold.

    `next`: how many rows were told (TOLD), and how many are in the sums (FOLDED), since this was
    counted; the last fold of which a row is in the ring no more (GONE); how many rows were told
    when history was studied or set aside, a first value or label was taken back, or labels moved
    (SEALED): what they did to the sums was changed.
    Where not all features have a seat, `sat` is who had which of them when this was last noted, and
    `since` after how many rows in the sums that feature had taken it.
    """

    features: Annotated[NDArray[np.int32], "told width"]
    values: Annotated[Floats, "told width"]
    labels: Annotated[Floats, "told"]
    rounds: Annotated[Indices, "told"]
    batches: Annotated[Indices, "told"]
    folds: Annotated[Indices, "told"]
    next: Annotated[Indices, "4"]
    sat: Annotated[Indices, "watched"]
    since: Annotated[Indices, "watched"]


class Told(NamedTuple):
    """What is saved of a ring: its rows, the oldest first, as wide as the widest of them."""

    features: Annotated[NDArray[np.int32], Holds(least=-1, below="d")]
    values: Annotated[Floats, MAY_BE_NAN]
    labels: Floats
    rounds: Annotated[Indices, Holds(most="round")]
    batches: Annotated[Indices, Holds(most="begun")]
    folds: Indices
    next: Annotated[Indices, Holds(shape=(4,))]
    sat: Annotated[Indices, Holds(least=-1, below="d")]
    since: Indices


def ring(length: int, width: int, watched: int) -> Ring:
    """A ring without a row, for so many; `watched` seats, 0 if no feature ever loses its own."""
    return Ring(
        np.zeros((length, width), dtype=np.int32),
        np.zeros((length, width)),
        np.zeros(length),
        np.zeros(length, dtype=np.int64),
        np.zeros(length, dtype=np.int64),
        np.zeros(length, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
        np.full(watched, -1, dtype=np.int64),
        np.zeros(watched, dtype=np.int64),
    )


def seal(ring: Ring) -> None:
    """What was told so far cannot be taken out of the sums any more."""
    ring.next[SEALED] = ring.next[TOLD]


def slots(ring: Ring) -> Indices:
    """Where the rows are, in the order they were told."""
    told, length = int(ring.next[TOLD]), len(ring.labels)
    return np.arange(max(0, told - length), told) % max(length, 1)


def told_last(ring: Ring) -> Told:
    """What is saved of a ring: of equal rings, equal bytes."""
    there = slots(ring)
    features = ring.features[there]
    wide = int((features >= 0).sum(axis=1).max(initial=0))
    return Told(
        features[:, :wide].copy(),
        ring.values[there, :wide],
        ring.labels[there],
        ring.rounds[there],
        ring.batches[there],
        ring.folds[there],
        ring.next.copy(),
        ring.sat.copy(),
        ring.since.copy(),
    )


def put_back(ring: Ring, tree: Any) -> None:
    """Fill a new ring with what `told_last` returned, from a file; a StateError if that fails."""
    told: Told = fit(told_last(ring), tree, "ring", loose=True)
    many, wide = told.features.shape
    if told.next.shape != (4,) or told.next.min() < 0:
        raise StateError("ring.next must be four numbers from 0 on")
    rows, folded, gone, sealed = told.next.tolist()
    if many != min(rows, len(ring.labels)) or wide > ring.features.shape[1]:
        raise StateError(f"ring has {many} rows of {wide} features, of {rows} that were told")
    if told.features.min(initial=0) < -1:
        raise StateError("ring.features must be features, or -1 where there is none")
    if not (gone <= folded and sealed <= rows and (told.folds <= folded).all()):
        raise StateError(f"ring.folds must be at most {folded}, the rows in the sums")
    for name, one in told._asdict().items():
        if name in ("features", "values"):
            fits = one.shape == (many, wide)
        elif name in ("sat", "since"):
            fits = one.shape == ring.sat.shape
        else:
            fits = name == "next" or one.shape == (many,)
        if not fits:
            raise StateError(f"ring.{name} must be as long as there are rows")
    if np.any((told.rounds == 0) & ((told.folds > 0) | (told.batches > 0))):
        raise StateError("ring.rounds must be at least 1, but for rows of history")
    ring.next[:], ring.sat[:], ring.since[:] = told.next, told.sat, told.since
    there = slots(ring)
    ring.features[:], ring.values[:] = -1, np.nan
    ring.features[there, :wide], ring.values[there, :wide] = told.features, told.values
    for name in ("labels", "rounds", "batches", "folds"):
        getattr(ring, name)[there] = getattr(told, name)


class Rows(NamedTuple):
    """Rows told last, the oldest first: values of some features, NaN where not bought; labels."""

    X: Floats
    y: Floats


def rows_since(ring: Ring, started: int, features: Indices) -> Rows:
    """The values of these features in the rows held, without the first `started` told."""
    told, length = int(ring.next[TOLD]), len(ring.labels)
    there = np.arange(max(started, told - length, 0), told) % max(length, 1)
    bought, values = ring.features[there], ring.values[there]
    X = np.full((len(there), len(features)), np.nan)
    for a, j in enumerate(features.tolist()):
        row, place = np.nonzero(bought == j)
        X[row, a] = values[row, place]
    return Rows(X, ring.labels[there])


def read_often(ring: Ring, started: int, share: float, least: int, most: int) -> Indices:
    """Features read in such a share of the last 1,024 rows, the first `started` told left out.

    More of them until there are `least`, and no more than the `most` that were read most often;
    none with fewer than 16 values.
    """
    told, length = int(ring.next[TOLD]), len(ring.labels)
    there = np.arange(max(started, told - min(LOOKED, length), 0), told) % max(length, 1)
    features, absent = ring.features[there], np.isnan(ring.values[there])
    found, reads = np.unique(features[features >= 0], return_counts=True)
    order = np.argsort(-reads, kind="stable")
    order = order[: min(most, max(least, int((reads >= share * len(there)).sum())))]
    often = [j for j in found[order] if (~absent & (features == j)).sum() >= FEWEST_VALUES]
    return np.array(sorted(often), dtype=np.int64)
