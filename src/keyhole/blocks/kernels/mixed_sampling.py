"""One feature drawn as q says, the rest uniformly: the draw, and its inclusion probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.blocks.kernels.sampling import Seed, categorical, complement, uniform
from keyhole.problem import Floats, Indices

Shares = tuple[float, float, float, float]


@kernel
def shares(n: int, m: int) -> Shares:
    """(a, b, c, e) with P[i] = a + b q_i and P[i, j] = c + e (q_i + q_j), for m out of n."""
    if m == n:
        return 1.0, 0.0, 1.0, 0.0
    if m == 0:
        return 0.0, 0.0, 0.0, 0.0
    a, b = (m - 1) / (n - 1), (n - m) / (n - 1)
    if n == 2:
        return a, b, 0.0, 0.0
    return a, b, a * (m - 2) / (n - 2), a * (n - m) / (n - 2)


@kernel
def with_one_more(S: NDArray[np.signedinteger], j: int, out: NDArray[np.signedinteger]) -> None:
    """S, ascending, and j, which is not in it, ascending."""
    a = len(S)
    while a > 0 and S[a - 1] > j:
        out[a] = S[a - 1]
        a -= 1
    out[a] = j
    out[:a] = S[:a]


@kernel
def mixed(
    seed: Seed,
    round: int,
    purpose: int,
    support: NDArray[np.signedinteger],
    q: Floats,
    out: NDArray[np.signedinteger],
    space: Indices,
) -> None:
    """len(out) features outside `support`, ascending: one with the probabilities q, a uniform rest.

    q has a number for each of the d features, 0 on the support (ascending). The first feature uses
    `purpose`, the rest the one after it.
    """
    m, d = len(out), len(q)
    if m == 0:
        return
    if m == d - len(support):  # everything that is left, no draw
        complement(seed, round, purpose, d, support, out, space)
        return
    first = categorical(uniform(seed, round, purpose, 0), q)
    taken = np.empty(len(support) + 1, dtype=np.int64)
    with_one_more(support, first, taken)
    rest = np.empty(m - 1, dtype=np.int64)
    complement(seed, round, purpose + 1, d, taken, rest, space)
    with_one_more(rest, first, out)
