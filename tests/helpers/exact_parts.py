"""Parts of the exact search that only C calls, for tests of each alone."""

from __future__ import annotations

import numpy as np

from keyhole.analysis.exact.branch_and_bound import (
    ItemMarket,
    Point,
    Split,
    States,
    point,
    room_of,
    settle_count,
)
from keyhole.core.functions import c_function, kept, to_the_end
from keyhole.problem import Floats, Indices


@c_function("kh_forward", "G[m,m] c[m] S[.]", writes="S", room="k*m + 2*m")
def forward(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Complete S[:size] greedily to k columns, in place; the new size and the rss."""
    raise NotImplementedError


def at(state: States, q: Floats | None = None, v: Floats | None = None) -> Point:
    """A point with nothing but features, each of which is given."""
    made = point(len(state), 0)
    made.state[:] = state
    for into, given in ((made.q, q), (made.v, v)):
        into[:] = 0.0 if given is None else given
    return made


def largest(v: Floats, state: States, r: int) -> tuple[float, float, float]:
    """Sum of the r largest v over the open features, the r-th and the (r+1)-th of them."""
    top = np.full(r + 1, np.nan)
    return _largest(v, state, r, top), float(top[r - 1]), float(top[r])


@c_function("kh_exact_largest", "v[m] state[m] top[r+1]", writes="top")
def _largest(v: Floats, state: States, r: int, top: Floats) -> float:
    raise NotImplementedError


def sweep(
    R: Floats, e: Floats, state: States, lam: float, q: Floats, g: Floats, whole: bool
) -> float:
    """Coordinate descent on q'Rq - 2c'q + sum_j min_z (e_j q_j^2 / z_j + lam z_j); largest move."""
    moved, additions = _descend(Split(R, e, g), state, np.sqrt(lam / e), q, g, whole)
    assert additions % len(q) == 0
    return moved


@c_function("kh_descend", "state[m] edge[m] q[m] g[m]", writes="q g")
def _descend(
    split: Split, state: States, edge: Floats, q: Floats, g: Floats, whole: bool
) -> tuple[float, int]:
    raise NotImplementedError


def dual(
    c: Floats, e: Floats, state: States, r: int, q: Floats, g: Floats, v: Floats
) -> tuple[float, float]:
    """Fill v; the two ends (base, bound) of: rss(S) >= base - sum_S v >= bound for all S here."""
    split = Split(np.zeros((len(c), len(c))), e, c)
    return _dual(split, state, r, q, g, v, np.empty(r + 1))


@c_function("kh_dual", "state[m] q[m] g[m] v[m] top[.]", writes="v top")
def _dual(
    split: Split, state: States, r: int, q: Floats, g: Floats, v: Floats, top: Floats
) -> tuple[float, float]:
    raise NotImplementedError


def fix(v: Floats, state: States, r: int, slack: float, goal: float, q: Floats) -> bool:
    """Settle what every subset below `goal` must or must not have; whether q or r is touched."""
    node = at(state, q, v)
    touched = _fix(node, r, slack, goal, np.empty(r + 1))
    state[:], q[:] = node.state, node.q
    return touched


@c_function("kh_fix_count", "top[.]", writes="top")
def _fix(node: Point, r: int, slack: float, goal: float, top: Floats) -> bool:
    raise NotImplementedError


def choose(state: States, k: int, score: Floats, S: Indices) -> tuple[int, int, int]:
    """Write what is IN, then the best scored OPEN to S, k at most; (written, IN, OPEN)."""
    node = at(state)
    node.z[:] = score
    return _choose(node, k, S)


@c_function("kh_exact_choose", "S[.]", writes="S", room="width")
def _choose(node: Point, k: int, S: Indices) -> tuple[int, int, int]:
    raise NotImplementedError


def settle(
    split: Split, k: int, node: Point, lam: float, goal: float, rounds: int, S: Indices
) -> tuple[float, float, float, int, int]:
    """Bound a node and settle features as far as that goes: (bound, slack, lam, branch, size)."""
    room = kept(room_of(len(split.c), 0, k))
    given = split, k, node, lam, goal, rounds, S, room
    bound, slack, lam, branch, size = to_the_end(settle_count, *given)
    return bound, slack, lam, branch, size


@c_function("kh_coherence", "W[d,d] most[d]", writes="most")
def coherence(W: Floats, first: int, most: Floats) -> None:
    """most[i] = max over i <= a < b of W_ab^2 / (W_aa W_bb), for i from the end down to `first`."""
    raise NotImplementedError


def best_beside(
    W: Floats, r: Floats, inside: Indices, most: int, best: float, found: Indices
) -> float:
    """The worst ratio over R, |R| <= most, for the S that `inside` marks."""
    sets = np.zeros(1, dtype=np.int64)
    worst = _best_beside(W, r, inside, most, best, found, sets)
    assert sets[0] > 0
    return worst


@c_function(
    "kh_best_beside",
    "W[d,d] r[d] inside[d] found[d] sets[1]",
    writes="found sets",
    room="2*d + most*most + 5*most + 2",
)
def _best_beside(
    W: Floats, r: Floats, inside: Indices, most: int, best: float, found: Indices, sets: Indices
) -> float:
    raise NotImplementedError


@c_function("kh_exact_follow", "state[m] paid[items]", writes="state paid")
def follow(market: ItemMarket, state: States, paid: States) -> tuple[int, int]:
    """Settle what follows from what is settled; units and features left, -1 if impossible."""
    raise NotImplementedError


@c_function("kh_least")
def least(
    market: ItemMarket, node: Point, left: float, places: int, hint_lam: float, hint_mu: float
) -> tuple[float, float, float]:
    """At least what v brings for what is left, as (value, lam, mu); the node is at these prices."""
    raise NotImplementedError
