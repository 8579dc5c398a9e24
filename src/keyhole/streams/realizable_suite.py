"""Eleven realizable streams, from easy to awkward, that learners are compared on.

In each the label is intercept + <x, w*> + noise with one fixed k-sparse w*, so that the truth of a
round is known: the score of a learner is the sum of (y_hat - intercept - <x, w*>)^2. Measured in
standard deviations of the features, w* is that of `realizable`: |w*|_1 = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyhole.errors import one_of
from keyhole.problem import Floats, Problem, real_number
from keyhole.streams.arrays import Block
from keyhole.streams.designs import (
    Design,
    Noise,
    Rows,
    binary,
    factor,
    gaussian,
    rademacher,
    student,
    toeplitz,
    uniform,
)
from keyhole.streams.simulate import (
    CHUNK,
    DESIGN,
    TRUTH,
    Simulated,
    Truth,
    generate,
    keyed,
    linear,
    sparse_weights,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One stream of the suite and what may be read of it.

    Parameters
    ----------
    about
        What makes it what it is, in words.
    d, k, exploration
        Features, non-zero weights, and the paper's k0: budget = k0 + k, at most d.
    noise_sd
        Standard deviation of the noise.
    design, noise
        What draws the rows and the noise.
    intercept
        What is added to every label.
    scales
        Features are multiplied by numbers log-uniform between these two, weights divided by them.
    redrawn
        Instead of `design`: a one-factor design that is drawn anew every 1,024 rows.
    """

    about: str
    d: int
    k: int
    exploration: int
    noise_sd: float
    design: Design = rademacher
    noise: Noise = gaussian
    intercept: float = 0.0
    scales: tuple[float, float] = (1.0, 1.0)
    redrawn: bool = False

    @property
    def problem(self) -> Problem:
        """The problem a learner is given: everything it may read of a row is k0 + k features."""
        return Problem(self.d, self.k, min(self.d, self.exploration + self.k))

    def simulate(self, n: int, seed: int = 0) -> Simulated:
        """n rows and the truth behind them."""
        w = sparse_weights(self.d, self.k, keyed(seed, TRUTH))
        if self.redrawn:
            return _redrawn_factor(w, n, self.noise_sd, seed)
        low, high = (math.log(scale) for scale in self.scales)
        sizes: Floats = np.exp(keyed(seed, TRUTH, 1).uniform(low, high, self.d))
        return linear(
            w / sizes,
            n,
            intercept=self.intercept,
            design=_scaled(self.design, sizes),
            noise=self.noise,
            noise_sd=self.noise_sd,
            seed=seed,
        )


def unbounded_student(dof: float = 4.0) -> Design:
    """Independent Student t values of variance 1, not cut off anywhere.

    Parameters
    ----------
    dof
        Degrees of freedom, above 2.
    """
    dof = real_number("dof", dof, 2.1)
    size = math.sqrt((dof - 2.0) / dof)
    return lambda d, rng: lambda n, rng: size * rng.standard_t(dof, (n, d))


def _scaled(design: Design, sizes: Floats) -> Design:
    if (sizes == 1.0).all():
        return design

    def scaled(d: int, rng: np.random.Generator) -> Rows:
        rows = design(d, rng)
        return lambda n, rng: sizes * rows(n, rng)

    return scaled


def _redrawn_factor(w: Floats, n: int, noise_sd: float, seed: int) -> Simulated:
    """w* stays; strength (uniform in [0, 0.6]) and signs of the factor are new in every chunk."""
    used = np.flatnonzero(w)

    def chunk(start: int, rng: np.random.Generator) -> Block:
        anew = keyed(seed, DESIGN, start // CHUNK)
        X = factor(anew.uniform(0.0, 0.6))(len(w), anew)(CHUNK, rng)
        # Not X @ w: see `follow`.
        return X, (X[:, used] * w[used]).sum(axis=1) + noise_sd * gaussian(CHUNK, rng)

    return Simulated(generate(len(w), n, seed, chunk), Truth(w, used, 0.0, noise_sd))


REALIZABLE_SUITE: dict[str, Setting] = {
    "S1": Setting("few signs", 20, 2, 2, 0.1),
    "S2": Setting("signs, small budget", 100, 5, 10, 0.1),
    "S3": Setting("signs, more noise", 100, 5, 25, 0.3),
    "S4": Setting("uniform", 300, 5, 75, 0.1, uniform),
    "S5": Setting("many signs", 1000, 10, 100, 0.1),
    "S6": Setting("neighbours alike", 100, 5, 25, 0.1, toeplitz(0.5)),
    "S7": Setting("one factor", 100, 5, 10, 0.1, factor(0.4)),
    "S8": Setting(
        "heavy tails, many scales",
        100,
        5,
        25,
        0.3,
        unbounded_student(4.0),
        student(3.0),
        scales=(0.3, 3.0),
    ),
    "S9": Setting("0/1, intercept", 50, 5, 10, 0.1, binary(), intercept=0.5),
    "S10": Setting("signs, all read", 100, 5, 100, 0.1),
    "S12": Setting("a factor that changes", 100, 5, 10, 0.1, redrawn=True),
}


def realizable_suite(name: str, n: int, *, seed: int = 0) -> Simulated:
    """n rows of a stream of the suite, by its name, with the truth beside it.

    Parameters
    ----------
    name
        A key of `REALIZABLE_SUITE`, whose value says what the stream is and has the `problem` to
        play it with.
    n, seed
        Rows; seed of everything random.

    Examples
    --------
    >>> stream, truth = realizable_suite("S9", 100)
    >>> stream.d, len(truth.support), truth.intercept, REALIZABLE_SUITE["S9"].problem.budget
    (50, 5, 0.5, 15)
    """
    return REALIZABLE_SUITE[one_of("name", name, REALIZABLE_SUITE)].simulate(n, seed)
