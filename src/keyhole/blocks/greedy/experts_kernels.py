"""Inner loops of `experts.py`: probabilities, draws, and what a read loss is weighted by.

A bank is n runs of exponential weights over the same d experts; row i belongs to run i. Everything
here trusts its arguments.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed, categorical, few_outside, uniform
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.jit.decorators import inner, kernel, succeeds
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices


@c_function("kh_probabilities", "L[n,d] eta[n] p[n,d]", writes="p")
@kernel
def probabilities(L: Floats, eta: Floats, p: Floats) -> None:
    """p_ij proportional to exp(-eta_i L_ij); the best expert's weight is exp(0), whatever L is."""
    n, d = L.shape
    for i in range(n):
        low = L[i, 0]
        for j in range(1, d):
            low = min(low, L[i, j])
        total = 0.0
        for j in range(d):
            weight = math.exp(-eta[i] * (L[i, j] - low))
            p[i, j] = weight
            total += weight
        for j in range(d):
            p[i, j] /= total


@c_function("kh_draw_experts", "p[n,d] j[n]", writes="j")
@kernel
def draw_experts(seed: Seed, round: int, p: Floats, j: Indices) -> None:
    """j_i ~ p_i, run i from the purpose 2 i."""
    for i in range(len(j)):
        j[i] = categorical(uniform(seed, round, 2 * i, 0), p[i])


@c_function(
    "kh_draw_own_subsets",
    "j[n] sizes[n] member[n,d] space[3,d+4]",
    writes="member space",
    room="d",
)
def draw_own_subsets(
    seed: Seed,
    round: int,
    d: int,
    j: Indices,
    sizes: Indices,
    member: NDArray[np.bool_],
    space: Indices,
) -> None:
    """member[i, e] for run i's set: j_i and a uniform subset of the others (purpose 2 i + 1)."""
    raise NotImplementedError


@inner
def _different(j: Indices) -> Indices:
    # Ascending, each once.
    V, many = np.empty(len(j), dtype=np.int64), 0
    for e in j:
        place = many
        while place > 0 and V[place - 1] >= e:
            place -= 1
        if place == many or V[place] != e:
            for q in range(many, place, -1):
                V[q] = V[q - 1]
            V[place] = e
            many += 1
    return V[:many]


@kernel
def _draw_shared_in_numba(
    seed: Seed, round: int, d: int, j: Indices, budget: int
) -> tuple[Indices, int]:
    """All that is read, ascending: the distinct j_i, filled to the budget uniformly (purpose 2 n).

    Returns it with the number of distinct j_i.
    """
    V = _different(j)
    rest, S = np.empty(budget - len(V), dtype=np.int64), np.empty(budget, dtype=np.int64)
    few_outside(seed, round, 2 * len(j), d, V, rest)
    merge(V, rest, S)
    return S, len(V)


@succeeds(_draw_shared_in_numba)
def draw_shared(seed: Seed, round: int, d: int, j: Indices, budget: int) -> tuple[Indices, int]:
    """All that is read, ascending: the distinct j_i, filled to the budget uniformly (purpose 2 n).

    Returns it with the number of distinct j_i.
    """
    S = np.empty(budget, dtype=np.int64)
    return S, _draw_shared_into(seed, round, d, j, budget, S)


@c_function("kh_draw_shared", "j[n] S[budget]", writes="S", room="n + 3*budget + 3*d + 20")
def _draw_shared_into(seed: Seed, round: int, d: int, j: Indices, budget: int, S: Indices) -> int:
    raise NotImplementedError


@c_function("kh_own_weights", "p[n,m] sizes[n] member[n,m] weight[n,m]", writes="weight")
def own_weights(
    p: Floats, sizes: Indices, d: int, member: NDArray[np.bool_], weight: Floats
) -> None:
    """1 / q where run i read expert e itself, q = p + (1 - p)(M - 1)/(d - 1), else 0."""
    raise NotImplementedError


@c_function("kh_shared_weights", "p[n,m] place[n] weight[n,m]", writes="weight")
@kernel
def shared_weights(p: Floats, place: Indices, f0: float, f: float, weight: Floats) -> None:
    """What the losses of everything read count in every run; place[i] is where j_i stands in S.

    Given the draws of the runs before i, expert e is played by one of the runs i, i + 1, ... with
    probability Q = 1 - prod (1 - p), by an earlier one with probability 1 or 0. Played experts are
    read always, the others with probability f, which depends on how many different ones are
    played; f0 <= f does not. So 1[played] + 1[filled] f0/f has the mean Q + (1 - Q) f0.
    """
    n, m = p.shape
    first = np.full(m, n)  # the first run that plays an expert; n if none does
    for i in range(n):
        first[place[i]] = min(first[place[i]], i)
    share = f0 / f if f > 0.0 else 0.0
    for e in range(m):
        spared, filled = 1.0, first[e] == n
        for i in range(n - 1, -1, -1):
            spared *= 1.0 - p[i, e]
            Q = 1.0 if first[e] < i else 1.0 - spared
            if filled:
                weight[i, e] = share / (Q + (1.0 - Q) * f0) if share > 0.0 else 0.0
            else:
                weight[i, e] = 1.0 / (Q + (1.0 - Q) * f0)


@c_function(
    "kh_feed",
    "S[m] p[n,m] weight[n,m] losses[n,m] L[n,d] squares[n] largest[n]",
    writes="L squares largest",
)
@kernel
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
    n, m = p.shape
    for i in range(n):
        for a in range(m):
            if weight[i, a] > 0.0:  # a loss that was not read is not looked at
                l_hat = losses[i, a] * weight[i, a]
                L[i, S[a]] += l_hat
                squares[i] += p[i, a] * l_hat * l_hat
                largest[i] = max(largest[i], abs(losses[i, a]))
