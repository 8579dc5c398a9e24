"""Odds of experts with exponential weights, to draw from: all of them, or a tree of sums.

Up to MAX_OUTRIGHT_EXPERTS, p is worked out in full before every draw. Beyond, that would cost more
than all the rest of a batch, so the sums of exp(-eta L) over blocks of experts stand in a tree: a
draw follows it down, and what was told about a few experts renews their branches only.

    p_ij = exp(-eta_i L_ij - shift_i) / total_i,

and `chance` is exactly what `draw_by` drew by: losses are weighted by it. A fresh eta in every
batch would renew all branches, so in a tree it is rounded, to a power of 2^(1/4). The shift, a
multiple of SHIFT_STEP, keeps the largest exponent between 0 and SHIFT_STEP. Both are functions of
the sums L, squares and largest, and every branch is the sum of its two, so the tree is the same to
the bit whether it was renewed a thousand times or built from a file.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.philox import Seed
from keyhole.problem import Floats, Indices

MAX_OUTRIGHT_EXPERTS = 1024  # up to which p is worked out in full
# As in odds.c. Experts that share a leaf: it is faster to add up so few than to keep them apart.
EXPERTS_PER_LEAF = 16
SHIFT_STEP = 16.0


class Odds(NamedTuple):
    """What n runs draw by; derived from their sums, row i for run i.

    `p`, n x d, up to MAX_OUTRIGHT_EXPERTS experts, else n x 0. Beyond, `sums`: of node v, whose
    branches are 2 v and 2 v + 1; node 1 is the total, the last half are blocks of EXPERTS_PER_LEAF
    experts. `rate`, `shift` and `low`, the least L, are what they were built with, NaN before that.
    """

    p: Annotated[Floats, "slots outright"]
    sums: Annotated[Floats, "slots nodes"]
    rate: Annotated[Floats, "slots"]
    shift: Annotated[Floats, "slots"]
    low: Annotated[Floats, "slots"]


def odds(n: int, d: int) -> Odds:
    """Room for n runs over d experts.

    >>> [array.shape for array in odds(2, 1024)[:2]], [array.shape for array in odds(2, 1025)[:2]]
    ([(2, 1024), (2, 0)], [(2, 0), (2, 256)])
    """
    wide = d > MAX_OUTRIGHT_EXPERTS
    leaves = 1 << (-(-d // EXPERTS_PER_LEAF) - 1).bit_length() if wide else 0
    unknown = [np.full(n, np.nan) for _ in range(3)]
    return Odds(np.empty((n, 0 if wide else d)), np.zeros((n, 2 * leaves)), *unknown)


@c_function("kh_even_rate")
def even_rate(eta: float) -> float:
    """eta rounded to a power of 2^(1/4); 0 if it is none to go by."""
    raise NotImplementedError


@c_function("kh_follow", "L[d]")
def follow(known: Odds, i: int, L: Floats, u: float) -> int:
    """The expert that the uniform number u falls on; down the tree, then along a block."""
    raise NotImplementedError


@c_function("kh_draw_by", "L[slots,d] eta[slots] j[slots]", writes="j")
def draw_by(seed: Seed, round: int, L: Floats, eta: Floats, known: Odds, j: Indices) -> None:
    """j_i ~ p_i, run i by the first uniform number of the purpose 2 i."""
    raise NotImplementedError


@c_function("kh_chance", "L[slots,d]")
def chance(known: Odds, L: Floats, i: int, j: int) -> float:
    """p_ij, the one that the last draw went by: before anything more is told."""
    raise NotImplementedError


@c_function("kh_renew", "L[slots,d] S[m] weight[slots,m]")
def renew(known: Odds, L: Floats, S: Indices, weight: Floats) -> None:
    """Take note that run i was told about the experts S[a] with weight[i, a] > 0: L has fallen."""
    raise NotImplementedError
