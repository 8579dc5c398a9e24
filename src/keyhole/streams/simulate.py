"""Simulated streams, what all of them share: the truth beside the stream, random keys, lazy chunks.

Rows are made on the way, 1,024 at a time, each chunk from its own key (seed, chunk): every pass
gives the same rows, and the first rows do not depend on how many follow.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from keyhole.problem import (
    Floats,
    Indices,
    ProblemError,
    real_number,
    real_numbers,
    sparsity,
    whole_number,
)
from keyhole.streams.arrays import GeneratedStream, LabelledRows
from keyhole.streams.designs import Design, Noise, gaussian, rademacher, signs

CHUNK = 1024  # part of the definition of every stream: another size gives other rows
TRUTH, DESIGN, EXAMPLES, FIT = range(4)  # what a random key is for


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The rule behind the labels: y = intercept + <x, weights> + noise, or what is nearest to it.

    Parameters
    ----------
    weights
        Length d. Where they change with time: their mean over the rounds.
    support
        The features that matter in some round, ascending.
    intercept, noise_sd
        The constant, and the standard deviation of the noise.
    path
        (first round, weights) of every change, ascending; empty if nothing changes.
    """

    weights: Floats
    support: Indices
    intercept: float
    noise_sd: float
    path: tuple[tuple[int, Floats], ...] = ()

    def __post_init__(self) -> None:
        for array in (self.weights, self.support, *(weights for _, weights in self.path)):
            array.flags.writeable = False

    def at(self, round: int) -> Floats:
        """The weights in force in a round, which is counted from 1."""
        place = bisect_right(self.path, round, key=lambda step: step[0])
        return self.path[place - 1][1] if place else self.weights


class Simulated(NamedTuple):
    """A stream and the truth behind it."""

    stream: GeneratedStream
    truth: Truth


def keyed(seed: int, *key: int) -> np.random.Generator:
    """The random generator of one purpose. Those of different seeds or keys are independent."""
    entropy = whole_number("seed", seed, 0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


def generate(
    d: int,
    n: int,
    seed: int,
    chunk: Callable[[int, np.random.Generator], LabelledRows],
    names: tuple[str, ...] | None = None,
) -> GeneratedStream:
    """A stream of n rows, where `chunk(start, rng)` makes CHUNK rows from row `start` (0-based)."""
    n = whole_number("n", n, 1)
    keyed(seed)

    def chunks() -> Iterator[LabelledRows]:
        for start in range(0, n, CHUNK):  # always whole chunks, so that n does not change a row
            X, y = chunk(start, keyed(seed, EXAMPLES, start // CHUNK))
            yield X[: n - start], y[: n - start]

    return GeneratedStream(d, n, chunks, names)


def follow(truth: Truth, n: int, *, design: Design, noise: Noise, seed: int) -> Simulated:
    """Labels that follow a truth through all its changes: y_t = intercept + <x_t, w_t> + noise."""
    d, used = len(truth.weights), truth.support
    rows = design(d, keyed(seed, DESIGN))
    path = truth.path or ((1, truth.weights),)
    firsts = np.array([first for first, _ in path])
    weights = np.array([w[used] for _, w in path])

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        X = rows(CHUNK, rng)
        step = np.searchsorted(firsts, np.arange(start + 1, start + CHUNK + 1), side="right") - 1
        # Not X @ w: a matrix product may round a row differently when its neighbours change.
        mean = (X[:, used] * weights[step]).sum(axis=1)
        return X, truth.intercept + mean + truth.noise_sd * noise(CHUNK, rng)

    return Simulated(generate(d, n, seed, chunk), truth)


def linear(
    weights: ArrayLike,
    n: int,
    *,
    intercept: float = 0.0,
    design: Design = rademacher,
    noise: Noise = gaussian,
    noise_sd: float = 0.1,
    seed: int = 0,
) -> Simulated:
    """Labels linear in the features, with weights of your own: y = intercept + <x, w> + noise.

    Streams of different designs but the same d can be joined by `chain`; so a design changes while
    the weights stay.

    Examples
    --------
    >>> stream, truth = linear([0.5, 0.0, -0.5], 100, noise_sd=0.0)
    >>> truth.support
    array([0, 2])
    >>> all(y == x @ truth.weights for x, y in stream)
    True
    """
    w = np.array(real_numbers("weights", weights), dtype=np.float64)
    if w.ndim != 1 or not len(w) or not np.isfinite(w).all():
        raise ProblemError(f"weights must be a flat list of finite numbers, got {weights!r}")
    constant = real_number("intercept", intercept)
    truth = Truth(w, np.flatnonzero(w), constant, real_number("noise_sd", noise_sd, 0.0))
    return follow(truth, n, design=design, noise=noise, seed=seed)


def sparse_weights(d: int, k: int, rng: np.random.Generator) -> Floats:
    """d weights, of which k in random places are those of `random_weights`, the others 0."""
    d = whole_number("d", d, 1)
    k = sparsity(k, d)
    w = np.zeros(d)
    w[rng.choice(d, k, replace=False)] = random_weights(k, rng)
    return w


def random_weights(k: int, rng: np.random.Generator) -> Floats:
    """k weights, magnitudes uniform in [0.5, 1.5] scaled to sum 1, random signs."""
    sizes = rng.uniform(0.5, 1.5, k)
    w: Floats = signs(k, rng) * (sizes / sizes.sum())
    return w


def room(noise_sd: float) -> float:
    """What |w|_1 may be when uniform noise must not push a label out of [-1, 1]."""
    return 1.0 - math.sqrt(3.0) * real_number("noise_sd", noise_sd, 0.0, 0.5)
