"""Models from the sums of what was seen: forward selection, its weights, its prediction.

Everything is in units of standard deviations about the means: features have square 1, so has the
label.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.seen_sums import (
    COUNT,
    FIRST,
    LABEL,
    LABELLED,
    PRODUCT,
    SECOND,
    SQUARE,
    TOTAL,
    WEIGHT,
    add_row,
    arrived,
    place,
)
from keyhole.problem import Floats, Indices


class Sums(NamedTuple):
    """The arrays of `SeenSums`, and the least and largest label so far."""

    pairs: Floats
    singles: Floats
    totals: Floats
    limits: Floats


class Fit(NamedTuple):
    """What `forward` found among its candidates."""

    chosen: Indices  # places in the list of candidates, in the order they were chosen
    w: Floats  # their weights
    units: Floats  # of all candidates, see `measure`
    factor: Floats  # of the matrix on the chosen ones, see `forward`


class Steps(NamedTuple):
    """Forward selection in progress, with a column per candidate: see `forward`."""

    units: Floats
    L: Floats
    D: Floats  # what of each is new, given those chosen
    r: Floats  # its product with what is left of the label
    free: NDArray[np.bool_]  # whether it can be chosen
    step: Floats


LOW, HIGH = range(2)  # of `limits`
ROWS, MEAN, INVERSE, PRODUCTS = range(4)  # of units: N, mean, 1 / deviation, correlation with y
NEW = 0.05  # a feature of which less is new, given those chosen, is passed over
LEFT = 0.05  # the share of the label that is taken to be unexplained, at least
CONSTANT = 1e-12  # what varies by less than this share of its mean square is constant


@inner
def deviation(n: float, total: float, square: float) -> float:
    """The standard deviation of n numbers from their sum and sum of squares; 0 for rounding."""
    if not n > 0.0:
        return 0.0
    mean = total / n
    variance = square / n - mean * mean
    return math.sqrt(variance) if variance > CONSTANT * (square / n) else 0.0


@kernel
def measure(S: Indices, sums: Sums) -> Floats:
    """The units of the features S, each from the rows in which it was seen."""
    pairs, singles, totals, _ = sums
    d, units = singles.shape[1], np.zeros((4, len(S)))
    scale_y = deviation(totals[WEIGHT], totals[TOTAL], totals[SQUARE])
    for a in range(len(S)):
        j = S[a]
        record = pairs[place(j, j, d)]
        N = record[COUNT]
        scale = deviation(N, record[FIRST], record[PRODUCT])
        units[ROWS, a] = N
        units[MEAN, a] = record[FIRST] / N if N > 0.0 else 0.0
        if scale > 0.0:
            units[INVERSE, a] = 1.0 / scale
            if scale_y > 0.0:
                product = (singles[LABELLED, j] - units[MEAN, a] * singles[LABEL, j]) / N
                units[PRODUCTS, a] = product / scale / scale_y
    return units


@inner
def _correlation(S: Indices, units: Floats, a: int, b: int, pairs: Floats, d: int) -> float:
    if S[a] > S[b]:
        a, b = b, a
    record = pairs[place(S[a], S[b], d)]
    if not record[COUNT] > 0.0:
        return 0.0
    m, n = units[MEAN, a], units[MEAN, b]
    about = (record[PRODUCT] - n * record[FIRST] - m * record[SECOND]) / record[COUNT] + m * n
    return float(about * units[INVERSE, a] * units[INVERSE, b])


@inner
def begin(S: Indices, most: int, ridge: float, sums: Sums) -> Steps:
    """Forward selection of at most `most` of S, before the first."""
    m = len(S)
    units = measure(S, sums)
    L, step = np.zeros((most, m)), np.empty(most)
    D, r, free = np.empty(m), units[PRODUCTS].copy(), np.empty(m, dtype=np.bool_)
    for a in range(m):
        free[a] = units[INVERSE, a] > 0.0
        D[a] = 1.0 + ridge / units[ROWS, a] if free[a] else 1.0
    return Steps(units, L, D, r, free, step)


@inner
def choose(v: int, size: int, S: Indices, sums: Sums, steps: Steps) -> None:
    """Choose candidate v after `size` others: what is new in the others is what it leaves."""
    units, L, D, r, free, step = steps
    root, free[v] = math.sqrt(D[v]), False
    step[size] = r[v] / root
    for a in range(len(S)):
        if free[a]:
            product = _correlation(S, units, v, a, sums.pairs, sums.singles.shape[1])
            for q in range(size):
                product -= L[q, v] * L[q, a]
            L[size, a] = product / root
            D[a] -= L[size, a] * L[size, a]
            r[a] -= L[size, a] * step[size]
    L[size, v] = root


@kernel
def forward(S: Indices, most: int, gate: float, ridge: float, sums: Sums) -> Fit:
    """Choose at most `most` of S one after the other, each the one that explains most of what is
    left; the ridge solution on them.

    A feature whose share is below `gate` standard errors is not chosen. One that is to 95 % a
    combination of those before it is passed over: with correlations from different rows the matrix
    may be indefinite, and this keeps every pivot away from 0.

    With M the lower triangle M_pq = factor[q, chosen[p]], M M' = R + diag(ridge / N) on the chosen.
    """
    m = len(S)
    most = min(most, m)
    chosen, steps = np.empty(most, dtype=np.int64), begin(S, most, ridge, sums)
    units, L, D, r, free, step = steps
    size, left = 0, 1.0
    while size < most:
        v, best = -1, 0.0
        for a in range(m):
            if free[a] and D[a] > NEW:
                gain = r[a] * r[a] / D[a]
                if gain > best and gain * units[ROWS, a] > gate * gate * max(left, LEFT):
                    v, best = a, gain
        if v < 0:
            break
        choose(v, size, S, sums, steps)
        left -= best
        chosen[size] = v
        size += 1
    w = step[:size].copy()
    for p in range(size - 1, -1, -1):
        for q in range(p + 1, size):
            w[p] -= L[p, chosen[q]] * w[q]
        w[p] /= L[p, chosen[p]]
    return Fit(chosen[:size], w, units, L)


@kernel
def weigh(x: Floats, fit: Fit, sums: Sums) -> float:
    """VAW's prediction for the values x of the candidates, kept in the range of labels so far.

    With z = (x - mean) / deviation on the chosen: mean of y + deviation of y times
    w.z / (1 + z'Pz), where P = N^-1/2 (R + diag(ridge / N))^-1 N^-1/2 is (ridge I + sum z z')^-1
    if all chosen features were seen in the same rows.
    """
    chosen, w, units, L = fit
    totals, limits = sums.totals, sums.limits
    if not totals[WEIGHT] > 0.0:
        return 0.0
    along, s, u = 0.0, 1.0, np.empty(len(w))
    for p in range(len(w)):
        a = chosen[p]
        z = (x[a] - units[MEAN, a]) * units[INVERSE, a]
        along += w[p] * z
        u[p] = z / math.sqrt(units[ROWS, a])
        for q in range(p):
            u[p] -= L[q, a] * u[q]
        u[p] /= L[p, a]
        s += u[p] * u[p]
    n, total = totals[WEIGHT], totals[TOTAL]
    y = total / n + deviation(n, total, totals[SQUARE]) * (along / s)
    return float(min(max(y, limits[LOW]), limits[HIGH]))


@kernel
def natural(S: Indices, fit: Fit, sums: Sums, out: Floats) -> float:
    """The weights of a fit in the units of the features into `out`; returns the intercept."""
    chosen, w, units, _ = fit
    n, total, square = sums.totals[WEIGHT], sums.totals[TOTAL], sums.totals[SQUARE]
    if not n > 0.0:
        return 0.0
    intercept = total / n
    for p in range(len(w)):
        a = chosen[p]
        weight = w[p] * units[INVERSE, a] * deviation(n, total, square)
        out[S[a]] = weight
        intercept -= weight * units[MEAN, a]
    return float(intercept)


@kernel
def tell(features: Indices, values: Floats, y: float, sums: Sums) -> None:
    """Add a row, without what is absent, and its label."""
    pairs, singles, totals, limits = sums
    S, x = np.empty(len(features), dtype=np.int64), np.empty(len(features))
    n = arrived(features, values, S, x)
    if totals[WEIGHT] == 0.0:
        limits[LOW] = y
        limits[HIGH] = y
    limits[LOW] = min(limits[LOW], y)
    limits[HIGH] = max(limits[HIGH], y)
    add_row(S[:n], x[:n], y, pairs, singles, totals)
