"""Inner loops of `experts.py`: probabilities, draws, and what a read loss is weighted by.

A bank is n runs of exponential weights over the same d experts; row i belongs to run i. Everything
here trusts its arguments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.keyed import Seed
from keyhole.problem import Floats, Indices


@c_function("kh_probabilities", "L[n,d] eta[n] p[n,d]", writes="p")
def probabilities(L: Floats, eta: Floats, p: Floats) -> None:
    """p_ij proportional to exp(-eta_i L_ij); the best expert's weight is exp(0), whatever L is."""
    raise NotImplementedError


@c_function("kh_draw_experts", "p[n,d] j[n]", writes="j")
def draw_experts(seed: Seed, round: int, p: Floats, j: Indices) -> None:
    """j_i ~ p_i, run i from the purpose 2 i."""
    raise NotImplementedError


@c_function(
    "kh_draw_own_subsets",
    "p[n,d] sizes[n] j[n] member[n,d] space[3,d+4]",
    writes="j member space",
    room="d",
)
def draw_own_subsets(
    seed: Seed,
    round: int,
    p: Floats,
    sizes: Indices,
    j: Indices,
    member: NDArray[np.bool_],
    space: Indices,
) -> None:
    """j_i, and member[i, e] for run i's set: j_i and a uniform subset of the others.

    The latter is drawn from the purpose 2 i + 1.
    """
    raise NotImplementedError


@c_function("kh_own_weights", "p[n,m] sizes[n] member[n,m] weight[n,m]", writes="weight")
def own_weights(
    p: Floats, sizes: Indices, d: int, member: NDArray[np.bool_], weight: Floats
) -> None:
    """1 / q where run i read expert e itself, q = p + (1 - p)(M - 1)/(d - 1), else 0."""
    raise NotImplementedError


@c_function("kh_draw_shared", "j[n] S[budget]", writes="S", room="n + 3*budget + 3*d + 20")
def draw_shared(seed: Seed, round: int, d: int, j: Indices, budget: int, S: Indices) -> int:
    """All that is read, ascending: the distinct j_i, filled to the budget uniformly (purpose 2 n).

    Returns the number of distinct j_i.
    """
    raise NotImplementedError


@c_function("kh_shared_weights", "p[n,m] place[n] weight[n,m]", writes="weight")
def shared_weights(p: Floats, place: Indices, f0: float, f: float, weight: Floats) -> None:
    """What the losses of everything read count in every run; place[i] is where j_i stands in S.

    Given the draws of the runs before i, expert e is played by one of the runs i, i + 1, ... with
    probability Q = 1 - prod (1 - p), by an earlier one with probability 1 or 0. Played experts are
    read always, the others with probability f, which depends on how many different ones are
    played; f0 <= f does not. So 1[played] + 1[filled] f0/f has the mean Q + (1 - Q) f0.
    """
    raise NotImplementedError


@c_function(
    "kh_draw_shared_reads",
    "p[n,d] j[n] S[budget] p_S[n,budget] weight[n,budget]",
    writes="j S p_S weight",
    room="2*n + 3*budget + 3*d + 20",
)
def draw_shared_reads(
    seed: Seed, round: int, p: Floats, j: Indices, S: Indices, p_S: Floats, weight: Floats
) -> None:
    """`draw_experts`, `draw_shared`, and the `shared_weights` of what is read."""
    raise NotImplementedError


@c_function(
    "kh_feed",
    "S[m] p[n,m] weight[n,m] losses[n,m] L[n,d] squares[n] largest[n]",
    writes="L squares largest",
)
def feed(
    S: Indices,
    p: Floats,
    weight: Floats,
    losses: Floats,
    L: Floats,
    squares: Floats,
    largest: Floats,
) -> None:
    """Add the estimated losses of the experts S to L, and what rates look at to the other sums."""
    raise NotImplementedError
