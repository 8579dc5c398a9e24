"""Memories: zero-imputed second moments of what was read, each forgetting at its own pace.

Products of pairs are kept for an **active set** of features, those that have a seat; of all others,
which rest, four sums each. Who has a seat is decided in `blocks/sums/memories.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices, ProblemError, StateError
from keyhole.problem.state import AT_LEAST_0, Holds

SQUARE, LEVEL, PRODUCT, COUNT = range(4)  # sums of a feature that rests


class Memories(NamedTuple):
    """Sums over rounds of what was read, one set per memory; what was not read counts as 0.

    With z_t the centred values, 0 where feature j was not read in round t, and 1 in the last place
    (the constant): G = sum a_t z_t z_t', c = sum a_t y_t z_t, n_j = sum a_t [j was read],
    yy = sum a_t y_t^2, where a_t = exp(-age / tau). The arrays hold the sums divided by `scale`,
    one number per memory, so that forgetting costs O(1) a round.

    G, c and n are by seat, with the constant in the last place, and empty seats are 0. `who` is the
    feature on each seat, -1 if it is empty; `seat` the seat of each feature, -1 if it rests. Of a
    feature that rests `rest` has G_jj, its product with the constant, c_j and n_j; it is 0 for the
    others. Where all features have a seat it is that of their number, for good, and `rest` has room
    for none.

    All fields but `tau`, `who` and `seat` are sums (times a common factor).
    """

    G: Annotated[Floats, "memories seats+1 seats+1"]  # symmetric
    c: Annotated[Floats, "memories seats+1"]
    n: Annotated[Floats, AT_LEAST_0, "memories seats+1"]
    yy: Annotated[Floats, AT_LEAST_0, "memories"]
    scale: Annotated[Floats, AT_LEAST_0, "memories"]
    tau: Annotated[Floats, Holds(infinite=True, constant=True), "memories"]  # rounds, inf for ever
    who: Annotated[Indices, Holds(least=-1, below="seat"), "seats"]
    seat: Annotated[Indices, Holds(least=-1, below="who"), "d"]
    rest: Annotated[Floats, Holds(least=(0.0, -math.inf, -math.inf, 0.0)), "memories resting 4"]


def memories(d: int, taus: Sequence[float], seats: int | None = None) -> Memories:
    """Empty memories over d features and the constant; pairs of `seats` features, None: of all.

    >>> memories(3, [np.inf, 64.0]).G.shape
    (2, 4, 4)
    >>> few = memories(1000, [np.inf, 64.0], seats=10)
    >>> few.G.shape, few.rest.shape
    ((2, 11, 11), (2, 1000, 4))
    """
    tau = np.array(taus, dtype=np.float64)
    if not (tau > 0.0).all():
        raise ProblemError(f"taus must be positive numbers of rounds, got {list(taus)}")
    m, many = len(tau), d if seats is None else min(seats, d)
    G, c, n = np.zeros((m, many + 1, many + 1)), np.zeros((m, many + 1)), np.zeros((m, many + 1))
    sums = G, c, n, np.zeros(m), np.ones(m), tau
    if many == d:
        return Memories(*sums, np.arange(d), np.arange(d), np.zeros((m, 0, 4)))
    empty, resting = np.full(many, -1, dtype=np.int64), np.full(d, -1, dtype=np.int64)
    return Memories(*sums, empty, resting, np.zeros((m, d, 4)))


def remember(kept: Memories, features: Indices, values: Floats, labels: Floats) -> None:
    """Add rounds that all read the same features: centred values (rounds x features), labels.

    NaN is absent: not read in that round. The features must have seats.

    >>> kept = memories(3, [np.inf, 2.0])
    >>> rows = np.array([[1.0, 2.0], [np.nan, 1.0]])
    >>> remember(kept, np.array([0, 2]), rows, np.array([1.0, 1.0]))
    >>> kept.G[0] * kept.scale[0]
    array([[1., 0., 2., 1.],
           [0., 0., 0., 0.],
           [2., 0., 5., 3.],
           [1., 0., 3., 2.]])
    >>> kept.n[0] * kept.scale[0]
    array([1., 0., 2., 2.])
    """
    values, labels = np.ascontiguousarray(values), np.ascontiguousarray(labels)
    G, c, count, yy = products(values, labels, len(labels))
    fold(kept, features, G, c, count, yy, len(labels))


def products(values: Floats, labels: Floats, rows: int) -> tuple[Floats, Floats, Floats, float]:
    """G, c, counts and y'y of the first `rows` rows, with the constant in the last place.

    Of G the upper triangle. Features that are absent (NaN) count as 0.
    """
    wide = values.shape[1] + 1
    G, c, count = np.empty((wide, wide)), np.empty(wide), np.empty(wide)
    return G, c, count, _products_into(values, labels, rows, G, c, count)


@c_function(
    "kh_products",
    "values[n,m] labels[n] G[m+1,m+1] c[m+1] count[m+1]",
    writes="G c count",
    room="m+1",
)
def _products_into(
    values: Floats, labels: Floats, rows: int, G: Floats, c: Floats, count: Floats
) -> float:
    raise NotImplementedError


@c_function("kh_fold_row", "z[d+1] seen[d+1]", room="seats+1")
def fold_row(kept: Memories, i: int, share: float, z: Floats, seen: Floats, y: float) -> None:
    """Let memory i keep a share of all it has, and add one round that read everything.

    z: centred values, 0 where absent, and 1 in the last place; seen: 1 where there is one.
    """
    raise NotImplementedError


@c_function("kh_fold", "features[m] G[m+1,m+1] c[m+1] count[m+1]")
def fold(
    kept: Memories, features: Indices, G: Floats, c: Floats, count: Floats, yy: float, rows: int
) -> None:
    """Let every memory forget `rows` rounds and add the products of a batch.

    The features must have seats.
    """
    raise NotImplementedError


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
