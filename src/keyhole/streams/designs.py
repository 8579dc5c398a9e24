"""Designs, which draw the rows of a simulated stream, and noises, which blur its labels.

A design is used in two steps: `rows = design(d, rng)` draws once what stays fixed (the signs of a
factor, say), then `rows(n, rng)` draws n rows, again and again. Every value lies in [-1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from keyhole.problem import Floats, real_number, whole_number

RowSampler = Callable[[int, np.random.Generator], Floats]
Design = Callable[[int, np.random.Generator], RowSampler]
Noise = Callable[[int, np.random.Generator], Floats]

# Where heavy_tailed cuts a Student t variable: at 4 degrees of freedom 0.75 % lie beyond.
_TAIL = 5.0


def signs(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Independent fair signs, -1.0 or 1.0."""
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def rademacher(d: int, rng: np.random.Generator) -> RowSampler:
    """Independent fair signs: E x x' = I, the best conditioned design there is.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> np.unique(rademacher(3, rng)(100, rng))
    array([-1.,  1.])
    """
    return lambda n, rng: 2.0 * rng.integers(0, 2, (n, d), dtype=np.int8).astype(np.float64) - 1.0


def uniform(d: int, rng: np.random.Generator) -> RowSampler:
    """Independent values, uniform on [-1, 1]: E x x' = I / 3."""
    return lambda n, rng: rng.uniform(-1.0, 1.0, (n, d))


def toeplitz(rho: float) -> Design:
    """Neighbours look alike, more so the nearer they are.

    x_j = 2 Phi(z_j) - 1 with z Gaussian and corr(z_i, z_j) = rho^|i-j|. So every x_j is uniform on
    [-1, 1], and corr(x_i, x_j) = (6/pi) asin(rho^|i-j| / 2), a little less than for z.

    Parameters
    ----------
    rho
        Correlation of neighbours before the mapping, from -1 to 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = toeplitz(0.9)(3, rng)(10_000, rng)
    >>> np.corrcoef(X.T)[0].round(1)
    array([1. , 0.9, 0.8])
    """
    rho = real_number("rho", rho, -1.0, 1.0)

    def design(d: int, rng: np.random.Generator) -> RowSampler:
        rows = gaussian_chain(d, rho)
        return lambda n, rng: _to_uniform(rows(n, rng))

    return design


def gaussian_chain(d: int, rho: float) -> RowSampler:
    """Standard Gaussian rows with corr(x_i, x_j) = rho^|i-j|, in O(d) each."""
    fresh = math.sqrt(1.0 - rho * rho)

    def rows(n: int, rng: np.random.Generator) -> Floats:
        z = rng.standard_normal((d, n))
        for j in range(1, d):
            z[j] *= fresh
            z[j] += rho * z[j - 1]
        return np.ascontiguousarray(z.T)

    return rows


def factor(strength: float) -> Design:
    """Every feature follows one hidden factor, up or down.

    x_j = 2 Phi(z_j) - 1 with z_j = s_j sqrt(strength) f + sqrt(1 - strength) g_j, where f and g
    are standard Gaussian and the signs s are drawn once. So corr(z_i, z_j) = s_i s_j strength and
    corr(x_i, x_j) = s_i s_j (6/pi) asin(strength / 2).

    Parameters
    ----------
    strength
        Share of the variance of z that is the factor's, from 0 to 1.
    """
    strength = real_number("strength", strength, 0.0, 1.0)

    def design(d: int, rng: np.random.Generator) -> RowSampler:
        loadings = math.sqrt(strength) * signs(d, rng)

        def rows(n: int, rng: np.random.Generator) -> Floats:
            f = rng.standard_normal((n, 1))
            z = rng.standard_normal((n, d))
            return _to_uniform(f * loadings + math.sqrt(1.0 - strength) * z)

        return rows

    return design


def heavy_tailed(dof: float = 4.0, spread: float = 1.0) -> Design:
    """Independent Student t values, divided by 5 and clipped to [-1, 1].

    Parameters
    ----------
    dof
        Degrees of freedom, at least 1; fewer mean heavier tails.
    spread
        Features get scales log-uniform in [1/spread, 1], drawn once; 1 leaves all alike.
    """
    dof = real_number("dof", dof, 1.0)
    spread = real_number("spread", spread, 1.0)

    def design(d: int, rng: np.random.Generator) -> RowSampler:
        scales = np.exp(-math.log(spread) * rng.random(d)) / _TAIL
        return lambda n, rng: np.clip(scales * rng.standard_t(dof, (n, d)), -1.0, 1.0)

    return design


def binary(low: float = 0.1, high: float = 0.5) -> Design:
    """Independent 0/1 features, not centred: P(x_j = 1) is drawn once, uniform in [low, high]."""
    high = real_number("high", high, 0.0, 1.0)
    low = real_number("low", low, 0.0, high)

    def design(d: int, rng: np.random.Generator) -> RowSampler:
        means = rng.uniform(low, high, d)
        return lambda n, rng: (rng.random((n, d)) < means).astype(np.float64)

    return design


def duplicates(copies: int = 2, gap: float = 0.1) -> Design:
    """Groups of nearly equal neighbours: features 0..copies-1, copies..2 copies-1, and so on.

    x_j = (1 - gap) z_group(j) + gap e_j with z and e uniform on [-1, 1]. The second-moment matrix
    of a pair of one group has condition number 1 + 2 (1 - gap)^2 / gap^2.

    Parameters
    ----------
    copies
        Features in a group (fewer in the last one if d is not a multiple).
    gap
        How much of a feature is its own, from 0.001 to 1.
    """
    copies = whole_number("copies", copies, 1)
    gap = real_number("gap", gap, 0.001, 1.0)

    def design(d: int, rng: np.random.Generator) -> RowSampler:
        group = np.arange(d) // copies

        def rows(n: int, rng: np.random.Generator) -> Floats:
            z = rng.uniform(-1.0, 1.0, (n, group[-1] + 1))
            return (1.0 - gap) * z[:, group] + gap * rng.uniform(-1.0, 1.0, (n, d))

        return rows

    return design


def gaussian(n: int, rng: np.random.Generator) -> Floats:
    """Standard Gaussian noise, the paper's."""
    return rng.standard_normal(n)


def bounded(n: int, rng: np.random.Generator) -> Floats:
    """Uniform noise of variance 1, never beyond sqrt(3) in size."""
    return rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), n)


def student(dof: float = 3.0) -> Noise:
    """Student t noise of variance 1; dof above 2, or there is no variance (2.1 is the least)."""
    dof = real_number("dof", dof, 2.1)
    return lambda n, rng: rng.standard_t(dof, n) * math.sqrt((dof - 2.0) / dof)


def _to_uniform(z: Floats) -> Floats:
    from scipy.special import ndtr  # here, because `import keyhole` must stay fast

    mapped: Floats = 2.0 * ndtr(z) - 1.0
    return mapped
