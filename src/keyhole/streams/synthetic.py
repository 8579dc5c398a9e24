"""Synthetic streams whose labels follow one fixed rule, each with the truth beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keyhole.problem import Floats, ProblemError, real_number, sparsity, whole_number
from keyhole.streams.arrays import LabelledRows
from keyhole.streams.designs import (
    Design,
    Noise,
    RowSampler,
    bounded,
    duplicates,
    gaussian,
    rademacher,
    signs,
    toeplitz,
    uniform,
)
from keyhole.streams.simulate import (
    CHUNK,
    DESIGN,
    FIT,
    TRUTH,
    Simulated,
    Truth,
    follow,
    generate,
    keyed,
    linear,
    room,
    sparse_weights,
)

_NEIGHBOURS = toeplitz(0.5)


def realizable(
    d: int,
    k: int,
    n: int,
    *,
    design: Design = rademacher,
    noise: Noise = gaussian,
    noise_sd: float = 0.1,
    seed: int = 0,
) -> Simulated:
    """The paper's realizable model: y = <x, w*> + noise with a k-sparse w*.

    w* has a random support, magnitudes uniform in [0.5, 1.5] scaled to |w*|_1 = 1, random signs.

    Parameters
    ----------
    d, k, n
        Features, non-zero weights, rows.
    design, noise
        What draws the rows and the noise. Only Gaussian noise is the paper's model.
    noise_sd
        Standard deviation of the noise. Because of it labels may leave [-1, 1].
    seed
        Random seed. One seed gives the same w* whatever the design.

    Guarantee
    ---------
    `equation:stochastic-model` with |x|_inf <= 1 and |w*|_1 <= 1, exactly. The restricted isometry
    the theorems ask for holds with high probability for rademacher only; `uniform` needs its
    features scaled by sqrt(3), the correlated designs have other conditioning.

    Examples
    --------
    >>> stream, truth = realizable(d=20, k=2, n=1000)
    >>> stream.d, stream.rounds, len(truth.support), float(abs(truth.weights).sum().round(12))
    (20, 1000, 2, 1.0)
    """
    w = sparse_weights(d, k, keyed(seed, TRUTH))
    return linear(w, n, design=design, noise=noise, noise_sd=noise_sd, seed=seed)


def dense(
    d: int,
    n: int,
    *,
    power: float = 1.2,
    design: Design = uniform,
    noise_sd: float = 0.05,
    seed: int = 0,
) -> Simulated:
    """Agnostic: every feature matters, few of them much. |y| <= 1.

    The weights are j^-power for j = 1..d in random places with random signs, scaled to
    |w|_1 = 1 - sqrt(3) noise_sd; the noise is uniform, so that labels stay in [-1, 1].
    """
    d, power = whole_number("d", d, 1), real_number("power", power, 0.0)
    rng = keyed(seed, TRUTH)
    w = rng.permutation(np.arange(1, d + 1) ** -power) * signs(d, rng)
    w *= room(noise_sd) / np.abs(w).sum()
    return linear(w, n, design=design, noise=bounded, noise_sd=noise_sd, seed=seed)


def nonlinear(
    d: int, n: int, *, design: Design = _NEIGHBOURS, noise_sd: float = 0.05, seed: int = 0
) -> Simulated:
    """Agnostic: a curved rule of five random features. |y| <= 1.

    y = c (0.4 tanh(3 x_a) + 0.3 sin(pi x_b / 2) + 0.2 x_c x_d + 0.1 (2 |x_e| - 1)) + noise; the
    noise is uniform and c = 1 - sqrt(3) noise_sd leaves room for it. The truth is the least-squares
    line in the five features, found on 20,000 other rows; its `noise_sd` is the noise alone.

    Examples
    --------
    >>> stream, truth = nonlinear(d=30, n=100)
    >>> len(truth.support), max(abs(y) for _, y in stream) <= 1
    (5, True)
    """
    d = whole_number("d", d, 5)
    scale, rng = room(noise_sd), keyed(seed, TRUTH)
    a, b, c, e, f = order = rng.choice(d, 5, replace=False)
    rows = design(d, keyed(seed, DESIGN))

    def rule(X: Floats) -> Floats:
        steep = 0.4 * np.tanh(3.0 * X[:, a]) + 0.3 * np.sin(0.5 * np.pi * X[:, b])
        curved: Floats = 0.2 * X[:, c] * X[:, e] + 0.1 * (2.0 * np.abs(X[:, f]) - 1.0)
        return scale * (steep + curved)

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        X = rows(CHUNK, rng)
        return X, rule(X) + noise_sd * bounded(CHUNK, rng)

    X = rows(20_000, keyed(seed, FIT))
    line = np.linalg.lstsq(np.column_stack([X[:, order], np.ones(len(X))]), rule(X), rcond=None)[0]
    w = np.zeros(d)
    w[order] = line[:5]
    truth = Truth(w, np.sort(order), float(line[5]), float(noise_sd))
    return Simulated(generate(d, n, seed, chunk), truth)


def needle(
    d: int,
    n: int,
    *,
    correlations: Sequence[float] = (0.22, *[0.07] * 10),
    design: Design = rademacher,
    seed: int = 0,
) -> Simulated:
    """Agnostic: labels +1 or -1 that a few features sway a little.

    P(y = 1 | x) = (1 + <x, w>)/2, so E(y | x) = <x, w>: with Rademacher features the correlation
    of feature j with the label is w_j. The w_j are the `correlations`, in random places and with
    random signs; their sizes may add up to 1.

    Examples
    --------
    >>> stream, truth = needle(d=300, n=100)
    >>> len(truth.support), sorted({y for _, y in stream})
    (11, [-1.0, 1.0])
    """
    sizes = np.array([real_number("correlations", c, 0.0, 1.0) for c in correlations])
    if sizes.sum() > 1.0 + 1e-12 or not 1 <= len(sizes) <= whole_number("d", d, 1):
        raise ProblemError(
            f"correlations must be 1 to d = {d} numbers that add up to at most 1, "
            f"got {len(sizes)} with sum {sizes.sum():.6g}"
        )
    rng, w = keyed(seed, TRUTH), np.zeros(d)
    used = np.sort(rng.choice(d, len(sizes), replace=False))
    w[used] = rng.permutation(sizes) * signs(len(sizes), rng)
    rows = design(d, keyed(seed, DESIGN))

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        X = rows(CHUNK, rng)
        mean = (X[:, used] * w[used]).sum(axis=1)
        return X, np.where(rng.random(CHUNK) < 0.5 * (1.0 + mean), 1.0, -1.0)

    noise_sd = math.sqrt(max(0.0, 1.0 - float(w @ w)))
    return Simulated(generate(d, n, seed, chunk), Truth(w, used, 0.0, noise_sd))


def ill_conditioned(
    d: int,
    pairs: int,
    n: int,
    *,
    copies: int = 2,
    gap: float = 0.1,
    noise_sd: float = 0.05,
    seed: int = 0,
) -> Simulated:
    """Nearly equal features of which the label needs the difference. |y| <= 1, but |w|_1 > 1.

    The design is duplicates(copies, gap). In `pairs` random groups the first two features get
    weights +c/(2 gap pairs) and -c/(2 gap pairs), c = 1 - sqrt(3) noise_sd, noise uniform. Each
    alone says almost nothing about the label (correlation of order gap), both together say all.

    Guarantee
    ---------
    None of the paper's applies: the restricted isometry fails by a factor of order 1/gap^2, and
    |w|_1 = c/gap is beyond the realizable model's 1.
    """
    rows, pairs = duplicates(copies, gap), whole_number("pairs", pairs, 1)
    if whole_number("copies", copies, 2) * pairs > whole_number("d", d, 1):
        raise ProblemError(f"d must be at least copies * pairs = {copies * pairs}, got {d}")
    first = copies * keyed(seed, TRUTH).choice(d // copies, pairs, replace=False)
    w = np.zeros(d)
    w[first] = room(noise_sd) / (2.0 * gap * pairs)
    w[first + 1] = -w[first]
    return linear(w, n, design=rows, noise=bounded, noise_sd=noise_sd, seed=seed)


def padded_hard(
    d: int,
    k: int,
    hard: int,
    padding: int,
    *,
    set_size: int = 3,
    noise_sd: float = 0.1,
    seed: int = 0,
) -> Simulated:
    """Hard rounds first, easy ones after: the whole is well conditioned, the beginning is not.

    The features stand for d sets, each of `set_size` elements out of k * set_size. k planted sets
    in random places cover every element once; the other sets are random. A hard round draws an
    element e and a sign s: x_j = s [e in set j], y = s/k. A padding round has Rademacher features
    and y = <x, w*> + Gaussian noise. In both, w* = 1/k on the planted sets.

    Parameters
    ----------
    d, k
        Sets, and how many of them are planted.
    hard, padding
        Rounds of the two kinds, in this order. Three padding rounds for a hard one are plenty.
    set_size
        Elements of a set; from 3 on, finding an exact cover is NP-hard in general.
    noise_sd
        Of the padding rounds only; because of it their labels may leave [-1, 1].
    seed
        Random seed.

    Guarantee
    ---------
    In the hard part w* is exact, and every set has the same correlation with the label
    (E x_j y = 1/k^2): looking at features one by one tells nothing, and any k * set_size + 1
    columns are linearly dependent. With enough padding X_T satisfies the restricted isometry while
    X_t for small t does not. This is the padding of the lower bound construction that the paper's
    conclusions describe: assuming the property of X_T alone does not make the problem tractable.

    Examples
    --------
    >>> stream, truth = padded_hard(d=40, k=4, hard=50, padding=150)
    >>> rows = list(stream)
    >>> all(y == x @ truth.weights for x, y in rows[:50])
    True
    """
    w = np.abs(np.sign(sparse_weights(d, k, keyed(seed, TRUTH)))) / k
    planted, hard = np.flatnonzero(w), whole_number("hard", hard, 1)
    n = hard + whole_number("padding", padding, 0)
    elements = k * whole_number("set_size", set_size, 1)
    noise_sd = real_number("noise_sd", noise_sd, 0.0)

    rng = keyed(seed, DESIGN)
    sets = rng.random((d, elements)).argsort(axis=1)[:, :set_size]
    sets[planted] = rng.permutation(elements).reshape(k, set_size)
    member = np.zeros((elements, d))
    member[sets, np.arange(d)[:, None]] = 1.0

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        s, e = signs(CHUNK, rng), rng.integers(0, elements, CHUNK)
        X = rademacher(d, rng)(CHUNK, rng)
        y = X[:, planted].sum(axis=1) / k + noise_sd * gaussian(CHUNK, rng)
        first = slice(0, max(0, hard - start))
        X[first] = s[first, None] * member[e[first]]
        y[first] = s[first] / k
        return X, y

    return Simulated(generate(d, n, seed, chunk), Truth(w, planted, 0.0, noise_sd))


def standard_normal(d: int, rng: np.random.Generator) -> RowSampler:
    """Independent standard Gaussian values, not cut off anywhere.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> standard_normal(3, rng)(5, rng).shape
    (5, 3)
    """
    return lambda n, rng: rng.standard_normal((n, d))


def linear_measurements(
    d: int, k: int, n: int, *, measurements: int = 100, noise_sd: float = 1.0, seed: int = 0
) -> Simulated:
    """The generator of Ito et al. 2018: w = A u with a sparse u, rows and noise Gaussian.

    A is d x measurements, standard Gaussian with every row scaled to length 1; the first k entries
    of u are standard Gaussian, the others 0; y = <x, A u> + noise. A column of A is what one
    measurement weighs the features by, so the label is a weighted sum of k measurements <a_i, x>;
    in the features themselves it is dense: every w_j is Gaussian with variance about
    k / measurements.

    Parameters
    ----------
    d, k, n
        Features, measurements that matter, rows.
    measurements
        Columns of A, at least k.
    noise_sd
        Standard deviation of the noise.
    seed
        Random seed.

    Guarantee
    ---------
    E (y | x) = <x, truth.weights>, exactly. Neither rows nor labels are bounded.

    Deviations
    ----------
    The paper says that A is normalised and not how. Rows of length 1 give the size of regret it
    reports for k = 8 (columns of length 1 would give ten times that).

    Examples
    --------
    >>> stream, truth = linear_measurements(d=10, k=4, n=5000)
    >>> stream.d, stream.rounds, len(truth.support), truth.noise_sd
    (10, 5000, 10, 1.0)

    References
    ----------
    Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi 2018, Online regression with
    partial information: generalization and linear projection, AISTATS.
    """
    d, m = whole_number("d", d, 1), whole_number("measurements", measurements, 1)
    k = sparsity(k, m)
    noise_sd = real_number("noise_sd", noise_sd, 0.0)
    w = measured_weights(d, k, m, keyed(seed, TRUTH))
    truth = Truth(w, np.arange(d), 0.0, noise_sd)
    return follow(truth, n, design=standard_normal, noise=gaussian, seed=seed)


def measured_weights(d: int, k: int, m: int, rng: np.random.Generator) -> Floats:
    """A u, with rows of A of length 1 and k standard Gaussian entries in u."""
    A = rng.standard_normal((d, m))
    A /= np.sqrt((A * A).sum(axis=1, keepdims=True))
    # Only the columns that u weighs; a plain sum, so that no BLAS decides how it is rounded.
    w: Floats = (A[:, :k] * rng.standard_normal(k)).sum(axis=1)
    return w


def dependent(d: int, k: int, n: int, *, design: Design = _NEIGHBOURS, seed: int = 0) -> Simulated:
    """Agnostic: autocorrelated, heteroscedastic noise, and labels that feed back. |y| <= 1.

    With u_t uniform on [-1, 1] and w k-sparse as in `realizable`,

        e_t = 0.7 e_{t-1} + 0.3 u_t (0.3 + |x_t0|),
        y_t = 1.25 <x_t, w> + 0.15 y_{t-1} + 0.6 e_t, cut off at -1 and 1.

    Both recursions start anew, from 0, every 1,024 rounds: rows are made in chunks that can be made
    in any order. The truth is 1.25 w; its `noise_sd` is that of 0.6 e_t in the long run for a
    design with x_0 uniform on [-1, 1], 0.124; feedback and cutting off are not counted.

    Parameters
    ----------
    d, k, n
        Features, non-zero weights, rows.
    design
        What draws the rows.
    seed
        Random seed.

    Examples
    --------
    >>> stream, truth = dependent(d=100, k=4, n=200)
    >>> len(truth.support), max(abs(y) for _, y in stream) <= 1
    (4, True)
    """
    d = whole_number("d", d, 1)
    w = 1.25 * sparse_weights(d, k, keyed(seed, TRUTH))
    used = np.flatnonzero(w)
    rows = design(d, keyed(seed, DESIGN))

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        X = rows(CHUNK, rng)
        shocks = 0.3 * rng.uniform(-1.0, 1.0, CHUNK) * (0.3 + np.abs(X[:, 0]))
        # Not X @ w: see `follow`.
        means = (X[:, used] * w[used]).sum(axis=1)
        labels, e, y = np.empty(CHUNK), 0.0, 0.0
        for t, (shock, mean) in enumerate(zip(shocks.tolist(), means.tolist(), strict=True)):
            e = 0.7 * e + shock
            y = min(1.0, max(-1.0, mean + 0.15 * y + 0.6 * e))
            labels[t] = y
        return X, labels

    # E u^2 = 1/3, E (0.3 + |x|)^2 = 0.09 + 0.3 + 1/3.
    variance = 0.09 / 3.0 * (0.39 + 1.0 / 3.0) / (1.0 - 0.49)
    truth = Truth(w, used, 0.0, 0.6 * math.sqrt(variance))
    return Simulated(generate(d, n, seed, chunk), truth)
