"""Inner loops of `shrinkage.py`: correlations from sums, shrunk; their standard errors.

`pairs` are the records of `sums/seen_sums.py`; `inverse` is 1 / standard deviation, 0 for a
feature whose deviation is not known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.seen_sums import COUNT, FIRST, PRODUCT, SECOND, place
from keyhole.problem import Floats, Indices


class Measured(NamedTuple):
    """Of each feature the rows that have it, its centre and inverse scale; and how much is shrunk.

    tau2 is the variance of true correlations, `own` the error of a correlation of 0 in one row.
    """

    rows: Floats
    centre: Floats
    inverse: Floats
    tau2: float
    own: float


@kernel
def correlation(pairs: Floats, centre: Floats, inverse: Floats, i: int, j: int) -> float:
    """Available-case correlation of i < j, 0 if nothing is known."""
    e = place(i, j, len(centre))
    N, scale = pairs[e, COUNT], inverse[i] * inverse[j]
    if N <= 0.0 or scale <= 0.0:
        return 0.0
    cross = centre[j] * pairs[e, FIRST] + centre[i] * pairs[e, SECOND]
    return float(((pairs[e, PRODUCT] - cross) / N + centre[i] * centre[j]) * scale)


@kernel
def correlations(pairs: Floats, centre: Floats, inverse: Floats, R: Floats) -> float:
    """Fill R with available-case correlations, 1 on the diagonal, 0 where nothing is known.

    Returns the excess of their mean square over what chance alone would give, at least 0. Pairs
    count by min(N, mean N), lest those that are always read speak for all others.
    """
    d = len(centre)
    total, known = 0.0, 0
    for i in range(d):
        base = place(i, 0, d)
        for j in range(i + 1, d):
            if pairs[base + j, COUNT] > 0.0:
                total += pairs[base + j, COUNT]
                known += 1
    usual = total / max(known, 1)
    excess, weight = 0.0, 0.0
    for i in range(d):
        R[i, i] = 1.0
        base = place(i, 0, d)
        for j in range(i + 1, d):
            r = correlation(pairs, centre, inverse, i, j)
            N = pairs[base + j, COUNT]
            if N > 0.0 and inverse[i] * inverse[j] > 0.0:
                share = min(N, usual)
                excess += share * (r * r - 1.0 / N)
                weight += share
            R[i, j] = r
            R[j, i] = r
    return max(excess / weight, 0.0) if weight > 0.0 else 0.0


@kernel
def kept_share(tau2: float, N_row: float, N_pair: float, r: float, own: float) -> float:
    """What is kept of a correlation r: all of one that speaks for itself, nothing of an unseen."""
    if N_pair <= 0.0:
        return 0.0
    if N_pair * r * r > own:
        return 1.0
    return (tau2 + 1.0 / N_row) / (tau2 + 1.0 / N_pair)


@kernel
def shrink(pairs: Floats, counts: Floats, tau2: float, own: float, R: Floats) -> None:
    """Multiply every off-diagonal entry of R by what is kept of it."""
    d = len(counts)
    for i in range(d):
        base = place(i, 0, d)
        for j in range(i + 1, d):
            r = R[i, j]
            if r != 0.0:
                N = min(counts[i], counts[j])
                f = kept_share(tau2, N, pairs[base + j, COUNT], r, own)
                R[i, j] = f * r
                R[j, i] = f * r


@kernel
def squared_errors(
    pairs: Floats, known: Measured, support: Indices, w: Floats, v: float, out: Floats
) -> None:
    """se_j^2 = (v + sum_i w_i^2 e_ji) / N_j over i in the support, for all j."""
    counts, centre, inverse, tau2, own = known
    d = len(counts)
    for j in range(d):
        if counts[j] <= 0.0:
            out[j] = math.inf
            continue
        total = v
        for a in range(len(support)):
            i = support[a]
            if i != j:
                low, high = min(i, j), max(i, j)
                N, e = pairs[place(low, high, d), COUNT], 1.0
                if N > 0.0:
                    r = correlation(pairs, centre, inverse, low, high)
                    f = kept_share(tau2, min(counts[i], counts[j]), N, r, own)
                    e = max(0.0, 1.0 - 2.0 * f + f * f * counts[j] / N)
                total += w[a] * w[a] * e
        out[j] = total / counts[j]
