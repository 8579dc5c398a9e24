"""Correlations from the sums of partially seen rows: centred, scaled, shrunk, with their errors.

A correlation r_ij rests on the N_ij rows that have both i and j, the correlation c_j with the label
on the N_j >= N_ij rows that have j. What c_j - sum_i r_ij w_i wants is the correlation over all N_j
rows; if correlations vary about 0 with variance tau2, its best guess from r_ij is f_ij r_ij with

    f_ij = (tau2 + 1/N_j) / (tau2 + 1/N_ij),        tau2 = mean of r^2 - 1/N over the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.sums.seen_sums import COUNT, FIRST, PRODUCT, SECOND, SeenSums, place
from keyhole.problem import Floats, Indices

MIN_EVIDENCE = 20.0  # a pair with N r^2 above this keeps its own correlation, a mean its own value
MAX_POOLED_ROWS = 3.0  # rows that the common scale of all features is worth, at most
PAIRS_PER_STRIPE = 2**17  # pairs of features that are looked at in one go
# a feature that varies by less than this share of its mean square is constant
CONSTANT_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """What the sums say of features and label in units of their standard deviations.

    Parameters
    ----------
    R, c
        Correlations of the features with each other (d x d, 1 on the diagonal, shrunk), and with
        the label. 0 where nothing is known.
    counts
        N_j, the (effective) number of rows in which j was seen.
    centre, inverse
        Mean of each feature, shrunk towards 0, and 1 / standard deviation; 0 if that is not known.
    centre_y, scale_y
        The same of the label, its standard deviation itself.
    tau2, own
        What the off-diagonals were shrunk with; `own` = 0 if they were not.
    """

    R: Floats
    c: Floats
    counts: Floats
    centre: Floats
    inverse: Floats
    centre_y: float
    scale_y: float
    tau2: float
    own: float


def shrunk_means(counts: Floats, mean: Floats, square: Floats) -> Floats:
    """Means shrunk towards 0, all the more the fewer rows they rest on.

    In units of the standard deviation the true means are taken to have variance tau2, which the
    means themselves tell: of mean^2 / mean square, chance alone would make 1/N. A mean that is
    more than sqrt(20) of its standard errors away from 0 keeps its value.

    Parameters
    ----------
    counts, mean, square
        Of each feature: the rows, the mean of x and of x^2 (0 where there are none).

    Examples
    --------
    >>> shrunk_means(np.full(3, 4.0), np.array([0.1, 0.2, 9.9]), np.array([1.0, 1.0, 99.0]))
    array([0.03717949, 0.07435897, 9.9       ])
    """
    usable = (counts > 1.0) & (square > 0.0)
    N = counts[usable]
    if not N.size:
        return mean * 0.0
    weight = np.minimum(N - 1.0, N.mean())
    share = mean[usable] ** 2 / square[usable]
    excess = float((weight * (N * share - 1.0) / (N - 1.0)).sum() / weight.sum())
    excess = min(max(excess, 0.0), 1.0 - 1e-12)
    tau2 = excess / (1.0 - excess)
    kept: Floats = mean * (tau2 * counts / (tau2 * counts + 1.0))
    kept[usable] = np.where(
        (N - 1.0) * share > MIN_EVIDENCE * (1.0 - share), mean[usable], kept[usable]
    )
    return kept


def pooled_scales(counts: Floats, squares: Floats, spent: Floats, floor: Floats) -> Floats:
    """1 / standard deviation of each feature, drawn together where they are much alike.

    log s_j^2 is moved to the mean over features as if that were worth a few rows: fewer, the more
    the scales differ beyond chance. Logarithms, because units may differ by any factor.

    Parameters
    ----------
    counts, squares
        Of each feature: the rows N, the mean square about its centre.
    spent
        How much of one row went into the centre, from 0 to 1.
    floor
        Mean squares up to this are rounding.

    Returns
    -------
    0 for a feature that did not vary, or was seen too rarely to say.
    """
    freedom = counts - spent
    known = (freedom >= 0.5) & (squares > floor)
    if not known.any():
        return np.zeros_like(counts)
    nu = freedom[known]
    log = np.log(squares[known] * counts[known] / nu)
    weight = np.minimum(nu, nu.mean())
    middle = float((weight * log).sum() / weight.sum())
    # The logarithm of a chi-square over its degrees of freedom nu varies by about this much.
    chance = 2.0 / nu + 2.0 / nu**2
    spread = float((weight * ((log - middle) ** 2 - chance)).sum() / weight.sum())
    pool = min(MAX_POOLED_ROWS, 2.0 / spread) if spread > 0.0 else MAX_POOLED_ROWS
    result = np.zeros_like(counts)
    result[known] = np.exp(-0.5 * (nu * log + pool * middle) / (nu + pool))
    return result


def label_units(n: float, mean: float, square: float) -> tuple[float, float]:
    """Mean and standard deviation of the label; the mean shrunk by James and Stein's factor.

    Parameters
    ----------
    n, mean, square
        The rows, the mean of y and of y^2.

    Examples
    --------
    >>> label_units(100.0, 3.0, 10.0), label_units(10.0, 0.5, 10.0)
    ((3.0, 1.0), (0.0, 3.162...))
    """
    variance = max(square - mean**2, 0.0)
    kept = 1.0
    if n * mean**2 <= MIN_EVIDENCE * variance:
        kept = max(0.0, 1.0 - variance / (n * mean**2)) if mean else 0.0
    about = variance + ((1.0 - kept) * mean) ** 2
    return float(kept * mean), math.sqrt(about) if about > CONSTANT_VARIANCE * square else 0.0


def correlations(sums: SeenSums, *, shrink: bool = True, own: float = MIN_EVIDENCE) -> Correlations:
    """Centred, scaled and shrunk correlations from sums of at least one row.

    Parameters
    ----------
    sums
        Of the rows.
    shrink
        Whether to shrink the off-diagonal ones; False leaves the available-case correlations.
    own
        Pairs with N r^2 above this are not shrunk.

    Examples
    --------
    >>> sums = SeenSums(2)
    >>> for x, z, y in [(5.0, 1.0, 1.0), (7.0, -1.0, 3.0), (5.0, -1.0, 1.0), (7.0, 1.0, 3.0)] * 9:
    ...     sums.add(np.array([0, 1]), np.array([x, z]), y)
    >>> found = correlations(sums)
    >>> found.c.round(1), found.centre
    (array([1., 0.]), array([6., 0.]))
    """
    n, total_y, total_yy = sums.totals
    N = sums.counts
    seen = np.maximum(N, 1e-300)
    diagonal = sums.diagonal
    mean, square = diagonal[:, FIRST] / seen, diagonal[:, PRODUCT] / seen
    centre = shrunk_means(N, mean, square)
    spent = np.divide(centre, mean, out=np.zeros_like(mean), where=mean != 0.0)
    about = np.maximum(square - 2.0 * centre * mean + centre**2, 0.0)
    inverse = pooled_scales(N, about, spent, CONSTANT_VARIANCE * square)
    centre_y, scale_y = label_units(n, total_y / n, total_yy / n)
    Xy, Y = sums.singles
    c = (Xy - centre * Y - centre_y * diagonal[:, FIRST]) / seen + centre_y * centre
    c = c * inverse / scale_y if scale_y > 0.0 else np.zeros_like(c)
    R, tau2 = raw_correlations(sums, centre, inverse)
    if shrink:
        for i, j in stripes(sums.d):
            pairs = sums.pairs[place(i, j, sums.d), COUNT]
            R[i, j] *= kept_share(tau2, np.minimum(N[i], N[j]), pairs, R[i, j], own)
            R[j, i] = R[i, j]
    kept = own if shrink else 0.0
    return Correlations(R, c, N, centre, inverse, centre_y, scale_y, tau2, kept)


def stripes(d: int) -> Iterator[tuple[Indices, Indices]]:
    """All pairs i < j, some rows at a time: arrays of all of them would double the memory."""
    rows = max(1, PAIRS_PER_STRIPE // d)
    for first in range(0, d, rows):
        i, j = np.triu_indices(min(rows, d - first), first + 1, d)
        yield i + first, j


def raw_correlations(sums: SeenSums, centre: Floats, inverse: Floats) -> tuple[Floats, float]:
    """Available-case correlations, 1 on the diagonal, 0 where nothing is known; and tau2.

    That is the excess of their mean square over what chance alone would give, at least 0. Pairs
    count by min(N, mean N), lest those that are always read speak for all others.
    """
    d, R, everything = sums.d, np.eye(sums.d), np.arange(sums.d)
    met = np.delete(sums.pairs[:, COUNT], place(everything, everything, d))
    met = met[met > 0.0]
    usual = met.mean() if met.size else 0.0
    excess = weight = 0.0
    for i, j in stripes(d):
        r, N = available(sums, centre, inverse, i, j)
        known = (N > 0.0) & (inverse[i] * inverse[j] > 0.0)
        share = np.minimum(N, usual)[known]
        excess += float((share * (r[known] ** 2 - 1.0 / N[known])).sum())
        weight += float(share.sum())
        R[i, j] = R[j, i] = r
    return R, max(excess / weight, 0.0) if weight > 0.0 else 0.0


def available(
    sums: SeenSums, centre: Floats, inverse: Floats, i: Indices, j: Indices
) -> tuple[Floats, Floats]:
    """Available-case correlations of pairs i < j, 0 where nothing is known; the rows of each."""
    records = sums.pairs[place(i, j, sums.d)]
    N: Floats = records[:, COUNT]
    scale = inverse[i] * inverse[j]
    with np.errstate(all="ignore"):
        cross = centre[j] * records[:, FIRST] + centre[i] * records[:, SECOND]
        r = ((records[:, PRODUCT] - cross) / N + centre[i] * centre[j]) * scale
    return np.where((N > 0.0) & (scale > 0.0), r, 0.0), N


def kept_share(tau2: float, N_row: Floats, N_pair: Floats, r: Floats, own: float) -> Floats:
    """What is kept of correlations r: all of one that speaks for itself, nothing of an unseen."""
    with np.errstate(all="ignore"):
        share = (tau2 + 1.0 / N_row) / (tau2 + 1.0 / N_pair)
        share = np.where(N_pair * r**2 > own, 1.0, share)
    return np.where(N_pair > 0.0, share, 0.0)


def standard_errors(
    sums: SeenSums, found: Correlations, support: Indices, w: Floats, residual: float
) -> Floats:
    """Standard errors of c_j - sum_i R_ji w_i, for all features j.

        se_j^2 = (v + sum_i w_i^2 e_ji) / N_j,        e = 1 - 2 f + f^2 N_j / N_ij

    v is what the model leaves of the variance of the label; e_ji is 0 where i was seen whenever j
    was, and 1 where they never met: then the part of the label that is due to i is noise.

    Parameters
    ----------
    sums, found
        The sums and the correlations they gave.
    support, w
        A sparse model in units of standard deviations, ascending.
    residual
        v, in units of the variance of the label.

    Returns
    -------
    One for each feature, infinite for one that was never seen.
    """
    counts, total = found.counts, np.full(sums.d, residual)
    everything = np.arange(sums.d)
    for i, weight in zip(support.tolist(), w.tolist(), strict=True):
        others = np.delete(everything, i)
        pairs = np.minimum(others, i), np.maximum(others, i)
        r, N = available(sums, found.centre, found.inverse, *pairs)
        N_j = counts[others]
        f = kept_share(found.tau2, np.minimum(N_j, counts[i]), N, r, found.own)
        with np.errstate(all="ignore"):
            e = np.maximum(1.0 - 2.0 * f + f**2 * N_j / N, 0.0)
            total[others] += weight * weight * np.where(N > 0.0, e, 1.0)
    with np.errstate(all="ignore"):
        errors: Floats = np.sqrt(total / counts)
    return np.where(counts > 0.0, errors, np.inf)
