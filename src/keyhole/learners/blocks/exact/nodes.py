"""Nodes of the search for the best subset: the perspective relaxation, and what it settles.

Units are scaled as in `subset.py`. Features and items are each OPEN (may enter), IN (must), OUT
(must not).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.core.structs import hold
from keyhole.learners.blocks.exact.market import ItemMarket
from keyhole.problem import Floats, Indices

States = NDArray[np.int8]

OPEN, IN, OUT = 0, 1, 2


class Split(NamedTuple):
    """G = R + diag(e) with e >= 0 and R positive semidefinite, and the products c with y."""

    R: Annotated[Floats, "m m"]
    e: Annotated[Floats, "m"]
    c: Annotated[Floats, "m"]


class Point(NamedTuple):
    """What is settled of features and items, the relaxation's point q, and what follows from it.

    v is what a feature may bring, z how much of it the relaxation has. Where there are prices, rest
    is what is left of v after them, price what a feature pays, slack what an item's members cannot
    pay of its price. All are changed in place. It may be wider than a node, which is then its first
    part.
    """

    state: Annotated[States, "width"]
    paid: Annotated[States, "items"]
    q: Annotated[Floats, "width"]
    v: Annotated[Floats, "width"]
    z: Annotated[Floats, "width"]
    rest: Annotated[Floats, "width"]
    price: Annotated[Floats, "width"]
    slack: Annotated[Floats, "items"]


def point(m: int, items: int) -> Point:
    """Nothing is settled, and nothing is known."""
    state, paid = np.zeros(m, dtype=np.int8), np.zeros(items, dtype=np.int8)
    q, v, z, rest, price = (np.zeros(m) for _ in range(5))
    return hold(Point(state, paid, q, v, z, rest, price, np.zeros(items)))


@c_function("kh_settle_count", "S[.] kept[.]", writes="S kept", room="m", long=True)
def settle_count(
    split: Split, k: int, node: Point, lam: float, goal: float, rounds: int, S: Indices,
    kept: Floats, effort: int,
) -> tuple[bool, float, float, float, int, int]:  # fmt: skip
    """Bound a node and settle features as far as that goes: (bound, slack, lam, branch, size).

    At most k features; lam is the price of one at which the relaxation has k of them. The bound is
    infinite when nothing below `goal` is left in the node but, perhaps, S[:size], which is the
    relaxation's solution rounded. Else every subset in the node has rss >= slack - sum of v over
    its OPEN part. An e with zeros means that there is no relaxation: then v = 0 and slack = 0.
    """
    raise NotImplementedError


@c_function("kh_settle_priced", "G[m,m] kept[.]", writes="kept", room="m*m + 3*m", long=True)
def settle_priced(
    G: Floats, split: Split, market: ItemMarket, node: Point, lam: float, mu: float, goal: float,
    rounds: int, kept: Floats, effort: int,
) -> tuple[bool, float, float, float, int]:  # fmt: skip
    """Bound a node and settle as far as that goes: (bound, lam, mu, branch).

    rss(S) >= base - sum of v over S for every S of the node. What v can bring for the money that is
    left is bounded from above: each unit costs lam, each feature mu, and an item's price is shared
    out among its open members in proportion to what they bring, which pays it in full or uses them
    up. Whatever lam, mu and the shares are, the bound is valid.

    It is infinite when nothing below `goal` is left in the node but, perhaps, what is IN. A branch
    is a feature, or an item i as m + i where m is the number of features. An e with zeros means
    that there is no relaxation.
    """
    raise NotImplementedError


def room_of(m: int, items: int, k: int) -> int:
    """The numbers that settling a node of so many features and items has to keep."""
    return 8 * m + items + k
