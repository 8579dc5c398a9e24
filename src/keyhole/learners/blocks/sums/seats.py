"""Who has a seat: features that are read take the seats of those that promise least.

A memory keeps products of pairs for the features that have a seat (`blocks/sums/memories.py`). One
that leaves takes its own sums along; its products with others are gone, in both directions, so that
G stays positive semidefinite.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.memories import COUNT, LEVEL, PRODUCT, SQUARE, Memories
from keyhole.problem import Floats, Indices, StateError


class Known(NamedTuple):
    """What the features are known for: r by memory and seat, and how strong each seat is."""

    r: Annotated[Floats, "memories seats"]
    strength: Annotated[Floats, "seats"]


@c_function("kh_admit", "S[m]", room="seats+m")
def admit(kept: Memories, S: Indices, known: Known) -> None:
    """Give the features S seats: empty ones first, then those of the least strength; ties: lower.

    The features S keep the seats they have. `known.strength` is used up.

    >>> from keyhole.learners.blocks.sums.memories import memories
    >>> kept = memories(5, [np.inf], seats=2)
    >>> admit(kept, np.array([0, 2]), Known(np.zeros((1, 2)), np.zeros(2)))
    >>> admit(kept, np.array([2, 4]), Known(np.zeros((1, 2)), np.array([9.0, 1.0])))
    >>> kept.who.tolist(), kept.seat.tolist()
    ([4, 2], [-1, -1, 1, -1, 0])
    """
    raise NotImplementedError


def read_counts(kept: Memories, memory: int) -> Floats:
    """n of every feature, and of the constant last; not scaled."""
    everyone: Floats = kept.n[memory]
    if not kept.rest.shape[1]:
        return everyone
    n = np.where(kept.seat >= 0, kept.n[memory, kept.seat], kept.rest[memory, :, COUNT])
    counts: Floats = np.append(n, kept.n[memory, -1])
    return counts


def gathered(kept: Memories, memory: int, V: Indices) -> tuple[Floats, Floats]:
    """G and c of the features V, and of the constant last; what rests has no products in pairs."""
    seats = np.append(kept.seat[V], len(kept.who))
    G, c = kept.G[memory][np.ix_(seats, seats)], kept.c[memory, seats]
    away = np.flatnonzero(seats < 0)
    if len(away):
        sums = kept.rest[memory, V[away]]
        G[away], G[:, away], c[away] = 0.0, 0.0, sums[:, PRODUCT]
        G[away, away], G[away, -1], G[-1, away] = sums[:, SQUARE], sums[:, LEVEL], sums[:, LEVEL]
    return G, c


def by_feature(kept: Memories, values: NDArray[Any]) -> NDArray[Any]:
    """Numbers by seat as numbers by feature; 0 for those that rest."""
    there = kept.who >= 0
    out = np.zeros(len(kept.seat), dtype=values.dtype)
    out[kept.who[there]] = values[there]
    return out


def refuse_odd_seats(kept: Memories) -> None:
    """StateError unless `who` and `seat` say the same; where all have a seat, that of their number.

    That their numbers are seats and features is proven before, by what the fields hold.
    """
    there = np.flatnonzero(kept.who >= 0)
    same = len(there) == int((kept.seat >= 0).sum()) and (kept.seat[kept.who[there]] == there).all()
    if not same or (not kept.rest.shape[1] and (kept.who != np.arange(len(kept.seat))).any()):
        raise StateError("kept.who and kept.seat must say of the same features where they sit")
