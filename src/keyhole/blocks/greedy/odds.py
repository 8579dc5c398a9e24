"""Whom the runs of a bank play: outright where experts are few, by a tree of sums where many.

Up to WIDE experts, p is worked out in full before every draw. Beyond, that would cost more than
all the rest of a batch, so the sums of exp(-eta L) over blocks of experts stand in a tree: a draw
follows it down, and what was told about a few experts renews their branches only.

    p_ij = exp(-eta_i L_ij - shift_i) / total_i,

and `chance` is exactly what `draw_by` drew by: losses are weighted by it. A fresh eta in every
batch would renew all branches, so beyond WIDE it is rounded, to a power of 2^(1/4). The shift, a
multiple of SHIFT, keeps the largest exponent between 0 and SHIFT. Both are functions of the sums
L, squares and largest, and every branch is the sum of its two, so the tree is the same to the bit
whether it was renewed a thousand times or built from a file.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.blocks.draw.keyed import Seed, uniform
from keyhole.blocks.greedy.experts_kernels import draw_experts, probabilities
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices

WIDE = 1024  # experts, up to which p is worked out in full
BLOCK = 16  # experts that share a leaf: it is faster to add up so few than to keep them apart
SHIFT = 16.0
STEPS = 4.0  # from one rate to half of it
FAR = 2.0**50  # no exponent gets here, unless the sums were made up


class Odds(NamedTuple):
    """What n runs draw by; derived from their sums, row i for run i.

    `p`, n x d, up to WIDE experts, else n x 0. Beyond, `sums`: of node v, whose branches are 2 v
    and 2 v + 1; node 1 is the total, the last half are blocks of BLOCK experts. `rate`, `shift`
    and `low`, the least L, are what they were built with, NaN before that.
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
    wide = d > WIDE
    leaves = 1 << (-(-d // BLOCK) - 1).bit_length() if wide else 0
    unknown = [np.full(n, np.nan) for _ in range(3)]
    return Odds(np.empty((n, 0 if wide else d)), np.zeros((n, 2 * leaves)), *unknown)


@c_function("kh_even_rate")
@kernel
def even_rate(eta: float) -> float:
    """eta rounded to a power of 2^(1/4); 0 if it is none to go by."""
    if not 0.0 < eta < math.inf:
        return 0.0
    return float(2.0 ** (math.floor(STEPS * math.log2(eta) + 0.5) / STEPS))


@inner
def _block(L: Floats, block: int, rate: float, shift: float) -> float:
    total, none = 0.0, math.exp(-shift)
    for j in range(block * BLOCK, min((block + 1) * BLOCK, len(L))):
        # Most of very many experts were never told of.
        total += none if L[j] == 0.0 else math.exp(-rate * L[j] - shift)
    return total


@inner
def _build(known: Odds, i: int, L: Floats) -> None:
    sums, leaves = known.sums[i], known.sums.shape[1] // 2
    for block in range((len(L) + BLOCK - 1) // BLOCK):
        sums[leaves + block] = _block(L, block, known.rate[i], known.shift[i])
    for v in range(leaves - 1, 0, -1):
        sums[v] = sums[2 * v] + sums[2 * v + 1]


@inner
def _prepare(known: Odds, i: int, L: Floats, eta: float) -> None:
    # Build the tree of run i unless it stands, for this rate.
    if np.isnan(known.rate[i]):
        known.low[i] = L.min()
    rate = even_rate(eta)
    best = -rate * known.low[i]
    if not abs(best) < FAR:
        rate = best = 0.0
    shift = SHIFT * math.floor(best / SHIFT)
    if rate != known.rate[i] or shift != known.shift[i]:
        known.rate[i], known.shift[i] = rate, shift
        _build(known, i, L)


@c_function("kh_follow", "L[d]")
@kernel
def follow(known: Odds, i: int, L: Floats, u: float) -> int:
    """The expert that the uniform number u falls on; down the tree, then along a block."""
    sums, leaves = known.sums[i], known.sums.shape[1] // 2
    v, left = 1, u * known.sums[i, 1]
    while v < leaves:
        v *= 2
        if not left < sums[v] and sums[v + 1] > 0.0:  # where nothing is, rounding must not lead
            left -= sums[v]
            v += 1
    block, reached = v - leaves, 0.0
    last = block * BLOCK
    for j in range(last, min((block + 1) * BLOCK, len(L))):
        weight = math.exp(-known.rate[i] * L[j] - known.shift[i])
        if weight > 0.0:
            last = j
            reached += weight
            if left < reached:
                break
    return int(last)


@c_function("kh_draw_by", "L[slots,d] eta[slots] j[slots]", writes="j")
@kernel
def draw_by(seed: Seed, round: int, L: Floats, eta: Floats, known: Odds, j: Indices) -> None:
    """j_i ~ p_i, run i by the first uniform number of the purpose 2 i."""
    if known.sums.shape[1] == 0:
        probabilities(L, eta, known.p)
        draw_experts(seed, round, known.p, j)
        return
    for i in range(len(j)):
        _prepare(known, i, L[i], eta[i])
        j[i] = follow(known, i, L[i], uniform(seed, round, 2 * i, 0))


@c_function("kh_chance", "L[slots,d]")
@kernel
def chance(known: Odds, L: Floats, i: int, j: int) -> float:
    """p_ij, the one that the last draw went by: before anything more is told."""
    if known.sums.shape[1] == 0:
        return float(known.p[i, j])
    return float(math.exp(-known.rate[i] * L[i, j] - known.shift[i]) / known.sums[i, 1])


@c_function("kh_renew", "L[slots,d] S[m] weight[slots,m]")
@kernel
def renew(known: Odds, L: Floats, S: Indices, weight: Floats) -> None:
    """Take note that run i was told about the experts S[a] with weight[i, a] > 0: L has fallen."""
    n, leaves = known.sums.shape[0], known.sums.shape[1] // 2
    if leaves == 0:
        return
    for i in range(n):
        if np.isnan(known.rate[i]):
            continue
        for a in range(len(S)):
            if weight[i, a] > 0.0:
                known.low[i] = min(known.low[i], L[i, S[a]])
                block = S[a] // BLOCK
                v = leaves + block
                known.sums[i, v] = _block(L[i], block, known.rate[i], known.shift[i])
                while v > 1:
                    v //= 2
                    known.sums[i, v] = known.sums[i, 2 * v] + known.sums[i, 2 * v + 1]
