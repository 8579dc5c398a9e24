"""The paper's conditions on the features, as intervals: RIP, restricted condition number, BBRCNP.

Nothing here says "holds" without a proof: every answer is an `Interval` with how it was obtained.
The lower end is attained by a subset that was found; the upper end is proven for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.exact.sparse_eigenvalues import (
    SparseSpectrum,
    found_condition,
    sparse_spectrum,
)
from keyhole.analysis.exact.supermodular import smallest_alpha
from keyhole.learners.blocks.sums.data_sums import DataSums, Gram
from keyhole.learners.blocks.sums.estimates import Data, RowTable, SecondMoments, second_moments
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Interval,
    ProblemError,
    real_numbers,
    refuse_unless_stream,
    sparsity,
    whole_number,
)


def rip(
    data: Data | DataSums,
    k: int,
    *,
    standardised: bool = True,
    centred: bool = False,
    seconds: float = 3.0,
) -> Interval:
    """The constant epsilon of the restricted isometry property (`definition:RIP`).

    The smallest epsilon with (1 - epsilon) |w| <= |X w| / sqrt(n) <= (1 + epsilon) |w| for all w
    of at most k non-zeros: the larger of sqrt(mu_max) - 1 and 1 - sqrt(mu_min), with mu the
    extreme k-sparse eigenvalues of X'X / n. Norms are not squared; much of the literature squares
    them and calls about 2 epsilon the constant.

    Parameters
    ----------
    data
        Rows, a stream, its sums (`kh.sums`), a `Gram`, or the `Moments` of partially seen rows.
    k
        Sparsity. `theorem:realizable` asks for epsilon <= 1/5 at three times the sparsity of the
        model, for every prefix of the stream.
    standardised
        Divide every column by its root mean square first. For a single non-zero the property
        says 1 - epsilon <= sqrt(E x_j^2), so that 1/5 asks for E x_j^2 >= 0.64 of features that
        the paper also keeps within [-1, 1]: few features have that as they come, uniform ones
        have 1/3. Scaling columns is always possible, so the scaled matrix is what matters; False
        takes them as they are.
    centred
        Subtract the column means first.
    seconds
        Nominal limit of the search; see `sparse_spectrum`.

    Returns
    -------
    Interval
        Holds epsilon. It may exceed 1, where the definition ends.

    Guarantee
    ---------
    For complete rows both ends are proven. For partially seen rows they are those of the estimated
    matrix, not of the data, and `how` says so; where some pairs were never seen, the lower end
    comes from the seen pairs and the upper end is the trivial one.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.realizable(d=30, k=2, n=2000, seed=0)
    >>> print(kh.rip(stream, 6))
    0.0791452
    >>> kh.rip([[1.0, 1.0], [-1.0, -1.0]], 2).how
    'dependent columns, found by search'
    """
    moments = _prepared(data, k, standardised, centred)
    if not moments.seen.all():
        return _from_seen_pairs(moments, k)
    spectrum = _spectrum(moments, k, seconds)
    stretch, shrink = _root(spectrum.high), _root(spectrum.low)
    low = max(stretch.low - 1.0, 1.0 - shrink.high, 0.0)
    high = max(stretch.high - 1.0, 1.0 - shrink.low, 0.0)
    how = spectrum.low.how if 1.0 - shrink.low >= stretch.high - 1.0 else spectrum.high.how
    return Interval(low, high, _how(how, moments))


def restricted_condition_number(
    data: Data | DataSums,
    k: int,
    *,
    standardised: bool = True,
    centred: bool = False,
    seconds: float = 3.0,
) -> Interval:
    """How differently k-sparse unit vectors are stretched: max |X v| / |X w|.

    `definition:restricted-condition-number`: sqrt(mu_max / mu_min), infinite when k columns are
    dependent. At most (1 + epsilon) / (1 - epsilon) under RIP (epsilon, k). Parameters and
    guarantee are those of `rip`.

    Examples
    --------
    >>> print(restricted_condition_number([[1.0, 0.0], [0.0, 2.0]], 1, standardised=False))
    2
    """
    moments = _prepared(data, k, standardised, centred)
    if not moments.seen.all():
        pairs = _from_seen_pairs(moments, k)
        return Interval(1.0, math.inf, pairs.how)
    spectrum = _spectrum(moments, k, seconds)
    low, high = _ratio(spectrum.high, spectrum.low)
    how = spectrum.low.how
    if spectrum.high.how != how:
        how = f"largest: {spectrum.high.how}; smallest: {how}"
    return Interval(low, high, _how(how, moments))


def weak_supermodularity(
    X: RowTable | DataSums,
    y: NDArray[Any] | Sequence[float] | None,
    k: int,
    *,
    seconds: float = 3.0,
) -> Interval:
    """The smallest alpha for which least squares of y on X is (k, alpha)-weakly supermodular.

        g(S) - g(T) <= alpha sum_{i in T - S} [g(S) - g(S + i)]   for all S in T, |T| <= k

    (`def: weak-sup-modu`), where g(S) is the squared error of the best model on S. Scaling columns
    does not change g, so there is nothing to standardise; y must be centred by the caller if models
    have an intercept. X may be the sums of rows and labels (`kh.sums`), and y is then None.

    Guarantee
    ---------
    Exact when all pairs of sets can be enumerated; otherwise at most 1/mu_min of the columns scaled
    to norm 1, which is at most kappa^2 (`lemma:RIP.modu`), and at least what the enumerated
    pairs need.

    Examples
    --------
    >>> X = np.eye(4)[:, :3]
    >>> print(weak_supermodularity(X, [1.0, 2.0, 3.0, 4.0], 3))
    1
    """
    if isinstance(X, DataSums):
        if y is not None:
            raise ProblemError("y must be None beside sums: these know their labels")
        gram = X.gram
    else:
        if y is None:
            raise DataError("y must be the labels of X, got None")
        rows, labels = real_numbers("X", X), real_numbers("y", y).astype(np.float64)
        if rows.ndim != 2 or labels.shape != (len(rows),) or not len(rows):
            raise DataError(f"X and y must have the same rows, got {rows.shape} and {labels.shape}")
        gram = Gram(rows.shape[1])
        gram.add(rows, labels)
    raw = gram.raw()
    return smallest_alpha(raw.G, raw.c, raw.yy, sparsity(k, gram.d), seconds=seconds)


def bbrcnp(
    stream: BlockStream, k: int, t0: int, *, standardised: bool = True, seconds: float = 3.0
) -> Interval:
    """The kappa of the block bounded restricted condition number property, for windows >= t0.

    `definition:block-BRCNP` asks that every window of at least t0 consecutive rows has a restricted
    condition number of at most kappa. There are about T^2 / 2 windows; this looks at those that are
    made of two consecutive half blocks of b = ceil(t0 / 2) rows, and at the whole stream.

    Parameters
    ----------
    t0
        The least length of a window. The definition asks for "a constant t0", which every finite
        stream has (longer than itself); here it is yours to choose.
    standardised
        Divide columns by their root mean square over the whole stream, not within a window.
    seconds
        Nominal limit of all searches together.

    Returns
    -------
    Interval
        low: the largest condition number that was found in a window. high: proven for all windows.

    Guarantee
    ---------
    A window of t0 rows or more holds p >= 1 complete half blocks and touches at most one more on
    either side. With m_i the smallest k-sparse eigenvalue sum of half block i, and M_i the largest
    of it and its two neighbours together, those of the window lie between sum m_i and sum M_i over
    its complete ones: kappa^2 <= sum M_i / sum m_i <= max M_i / m_i for all windows. On rows that
    are alike that is a factor sqrt(3), the price of looking at so few windows, and half blocks
    whose m_i is small by chance add to it. Half blocks with dependent columns give
    no bound, and `high` is infinite: that happens when b is below k or not far above.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.realizable(d=10, k=2, n=4000, seed=0)
    >>> print(bbrcnp(stream, 4, t0=1000))
    [1.17204, 2.06695]
    """
    if isinstance(stream, DataSums):
        raise ProblemError(
            "stream: windows need consecutive rows, and sums have no order; give the stream itself"
        )
    refuse_unless_stream(stream, blocks=True)
    k, b = sparsity(k, stream.d), (whole_number("t0", t0, 1) + 1) // 2
    whole = second_moments(stream)
    if whole.n < t0:
        raise ProblemError(f"t0 must be at most {whole.n}, the rows of the stream, got {t0}")
    size = np.sqrt(np.diag(whole.G))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    if not standardised:
        scale = np.ones(stream.d)
    each = seconds / (2 * (whole.n // b + 1))
    found = found_condition(scale[:, None] * whole.G * scale, k)
    worst, windows = 1.0, 0
    for before, G, after, rows in _neighbours(_half_blocks(stream, b)):
        units = np.outer(scale, scale)
        least = sparse_spectrum(G * units, k, seconds=each).low.low
        most = sparse_spectrum((before + G + after) * units, k, seconds=each).high.high
        worst = max(worst, most / least if least > 0.0 else math.inf)
        if rows == b:
            found = max(found, found_condition((G + after) * units, k))
            windows += 1
    high = math.sqrt(worst)
    how = f"{windows} windows of {2 * b} rows and the whole stream; all windows by half blocks"
    return Interval(found, max(found, high), how)


def _neighbours(
    blocks: Iterator[tuple[Floats, int]],
) -> Iterator[tuple[Floats, Floats, Floats, int]]:
    """Every complete block between the one before and the one after, and the rows of that.

    Beyond the ends there is 0. The last block may be incomplete: a window may touch it, but never
    lie within it.
    """
    here, b = next(blocks)
    before = np.zeros_like(here)
    rows = b
    for after, rows in blocks:
        yield before, here, after, rows
        before, here = here, after
    if rows == b:
        yield before, here, np.zeros_like(here), 0


def _half_blocks(stream: BlockStream, b: int) -> Iterator[tuple[Floats, int]]:
    """X'X of every b consecutive rows, the last ones perhaps fewer."""
    gram = Gram(stream.d)
    for X, y in stream.blocks():
        start = 0
        while start < len(y):
            stop = min(len(y), start + b - gram.n)
            gram.add(X[start:stop], y[start:stop])
            start = stop
            if gram.n == b:
                yield gram.raw().G, b
                gram = Gram(stream.d)
    if gram.n:
        yield gram.raw().G, gram.n


def _ratio(largest: Interval, smallest: Interval) -> tuple[float, float]:
    """Ends of sqrt(largest / smallest)."""
    low = largest.low / smallest.high if smallest.high > 0.0 else math.inf
    high = largest.high / smallest.low if smallest.low > 0.0 else math.inf
    return max(math.sqrt(low), 1.0), max(math.sqrt(high), 1.0)


def _prepared(data: Data | DataSums, k: int, standardised: bool, centred: bool) -> SecondMoments:
    rows = data.gram if isinstance(data, DataSums) else data
    moments = second_moments(rows, centred=centred)
    sparsity(k, len(moments.G))
    return moments.scaled() if standardised else moments


def _spectrum(moments: SecondMoments, k: int, seconds: float) -> SparseSpectrum:
    return sparse_spectrum(moments.G, k, semidefinite=moments.complete, seconds=seconds)


def _root(interval: Interval) -> Interval:
    # An estimated matrix may have negative eigenvalues; a matrix of second moments has none.
    low, high = math.sqrt(max(interval.low, 0.0)), math.sqrt(max(interval.high, 0.0))
    return Interval(low, high, interval.how)


def _from_seen_pairs(moments: SecondMoments, k: int) -> Interval:
    """RIP when some pairs are unknown: what the known ones force, and what is always true."""
    G = moments.G
    largest = float(np.diag(G).max())
    worst = 0.0
    if k >= 2 and len(G) >= 2:
        a, c = np.minimum.outer(np.diag(G), np.diag(G)), np.maximum.outer(np.diag(G), np.diag(G))
        spread = np.sqrt(((c - a) / 2) ** 2 + G**2)
        off = moments.seen & ~np.eye(len(G), dtype=bool)
        if off.any():
            top, bottom = ((a + c) / 2 + spread)[off].max(), ((a + c) / 2 - spread)[off].min()
            worst = max(math.sqrt(max(top, 0.0)) - 1.0, 1.0 - math.sqrt(max(bottom, 0.0)))
    worst = max(worst, math.sqrt(max(largest, 0.0)) - 1.0, 0.0)
    high = max(1.0, math.sqrt(max(largest, 0.0) * k) - 1.0, worst)
    return Interval(worst, high, _how("pairs that were seen; the rest could be anything", moments))


def _how(how: str, moments: SecondMoments) -> str:
    return f"{how} ({moments.note})" if moments.note else how
