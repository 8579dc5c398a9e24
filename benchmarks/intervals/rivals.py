"""What others do with the same errors: ACI, DtACI, conformal P, a Gaussian that forgets.

Each is handed errors, alpha and a delay, and writes (low, high) per round around 0. All but the
Gaussian are symmetric. Quantiles are those of the last 500 sizes of errors that were told.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from benchmarks.common.compiled import kernel
from keyhole.blocks.conformal.rounds import issue, learn
from keyhole.blocks.conformal.sizes import ErrorSizes, factor_of, factors_of, new_sizes
from keyhole.blocks.conformal.trackers import NOTE, Trackers, new_trackers
from keyhole.bought import Bought
from keyhole.problem import Floats, Indices

WINDOW = 500
GAMMA = 0.005  # the step of ACI
GAMMAS = np.array([0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128])  # those of DtACI
STEP, LOOK = 0.1, 100  # conformal P: the share of the largest of so many sizes
HALF_LIFE = 100.0  # of the Gaussian


@kernel
def _put(sorted_: Floats, many: int, size: float) -> int:
    """Insert a size among the first `many`, which are in order."""
    at = np.searchsorted(sorted_[:many], size)
    for i in range(many, at, -1):
        sorted_[i] = sorted_[i - 1]
    sorted_[at] = size
    return many + 1


@kernel
def _take(sorted_: Floats, many: int, size: float) -> int:
    """Take a size out again."""
    for i in range(np.searchsorted(sorted_[:many], size), many - 1):
        sorted_[i] = sorted_[i + 1]
    return many - 1


@kernel
def _quantile(sorted_: Floats, many: int, level: float) -> float:
    place = math.ceil(level * (many + 1)) - 1
    if many == 0 or place < 0:
        return 0.0
    return float(sorted_[min(place, many - 1)])


@kernel
def aci(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """Adaptive conformal inference (Gibbs and Candes 2021)."""
    sorted_, many, now = np.empty(WINDOW + 1), 0, alpha
    for t in range(len(errors)):
        edges[t, 1] = _quantile(sorted_, many, 1.0 - now)
        edges[t, 0] = -edges[t, 1]
        s = t - delay
        if s >= 0:
            size = abs(errors[s])
            now += GAMMA * (alpha - (1.0 if size > edges[s, 1] else 0.0))
            many = _put(sorted_, many, size)
            if many > WINDOW:
                many = _take(sorted_, many, abs(errors[s - WINDOW]))


@kernel
def dtaci(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """Dynamically tuned ACI (Gibbs and Candes 2024), by the mean of its experts."""
    n, sorted_, many = len(GAMMAS), np.empty(WINDOW + 1), 0
    now, weight = np.full(n, alpha), np.full(n, 1.0 / n)
    share = 1.0 / (2.0 * WINDOW)
    both = (1.0 - alpha) ** 2 * alpha**3 + alpha**2 * (1.0 - alpha) ** 3
    rate = math.sqrt(3.0 / WINDOW) * math.sqrt((math.log(n * WINDOW) + 2.0) / both)
    said = np.empty((delay + 1, n))
    for t in range(len(errors)):
        said[t % (delay + 1)] = now
        edges[t, 1] = _quantile(sorted_, many, 1.0 - (weight * now).sum())
        edges[t, 0] = -edges[t, 1]
        s = t - delay
        if s >= 0:
            size = abs(errors[s])
            beta = 1.0
            if many > 0:
                beta = 1.0 - np.searchsorted(sorted_[:many], size) / many
            for i in range(n):
                then = said[s % (delay + 1), i]
                weight[i] *= math.exp(-rate * (alpha * (beta - then) - min(0.0, beta - then)))
                now[i] += GAMMAS[i] * (alpha - (1.0 if then > beta else 0.0))
            weight[:] = (1.0 - share) * weight / weight.sum() + share / n
            many = _put(sorted_, many, size)
            if many > WINDOW:
                many = _take(sorted_, many, abs(errors[s - WINDOW]))


@kernel
def conformal_p(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """The P of conformal PID control (Angelopoulos, Candes and Tibshirani 2023)."""
    now = 0.0
    for t in range(len(errors)):
        edges[t, 0], edges[t, 1] = -max(now, 0.0), max(now, 0.0)
        s = t - delay
        if s >= 0:
            largest = np.abs(errors[max(0, s - LOOK + 1) : s + 1]).max()
            missed = 1.0 if abs(errors[s]) > edges[s, 1] else 0.0
            now += STEP * largest * (missed - alpha)


@kernel
def _gaussian(errors: Floats, z: float, delay: int, edges: Floats) -> None:
    keep, weight, total, squares = 0.5 ** (1.0 / HALF_LIFE), 1e-300, 0.0, 0.0
    for t in range(len(errors)):
        mean = total / weight
        sd = math.sqrt(max(squares / weight - mean * mean, 0.0))
        edges[t, 0], edges[t, 1] = mean - z * sd, mean + z * sd
        if t - delay >= 0:
            error = errors[t - delay]
            weight = keep * weight + 1.0
            total, squares = keep * total + error, keep * squares + error * error


def gaussian(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """Mean and variance, fading."""
    _gaussian(errors, NormalDist().inv_cdf(1.0 - alpha / 2.0), delay, edges)


@kernel
def _factors(s: ErrorSizes, bought: Bought, y_hat: Floats, errors: Floats, delay: int) -> Floats:
    factors, heard = np.empty(len(errors)), np.empty(1)
    for t in range(len(errors)):
        factors[t] = factor_of(s, bought.features[t], bought.values[t], y_hat[t])
        if t >= delay:
            one = slice(t - delay, t - delay + 1)
            factors_of(s, bought.features[one], bought.values[one], y_hat[one], errors[one], heard)
    return factors


def factors(d: int, bought: Bought, y_hat: Floats, errors: Floats, delay: int) -> Floats:
    """By what was bought, from errors that come so many rounds late."""
    return _factors(new_sizes(d), bought, y_hat, errors, delay)


@kernel
def _ours(
    t: Trackers, errors: Floats, factors: Floats, gain: float, delay: int, edges: Floats
) -> None:
    order: Indices = np.zeros(1, dtype=np.int64)
    notes = np.empty((delay + 1, 1, NOTE))
    for row in range(len(errors)):
        issue(t, order, factors[row], notes[row % (delay + 1)], edges[row : row + 1])
        if row >= delay:
            learn(t, order, notes[(row - delay) % (delay + 1)], errors[row - delay], gain)


def ours(errors: Floats, factors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """This package's, by the kernels of `keyhole.blocks.conformal`."""
    gain = 0.02 / (1.0 + delay / 50.0)
    _ours(new_trackers([1.0 - alpha]), errors, factors, gain, delay, edges)


def ours_of_errors(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """The same from errors alone, as if nothing else was known."""
    ours(errors, np.ones(len(errors)), alpha, delay, edges)


WAYS = {
    "keyhole, errors alone": ours_of_errors,
    "conformal P": conformal_p,
    "DtACI": dtaci,
    "ACI": aci,
    "faded Gaussian": gaussian,
}
