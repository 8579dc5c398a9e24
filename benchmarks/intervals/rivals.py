"""What others do with the same errors: ACI, DtACI, conformal P, a Gaussian that forgets.

Each is handed errors, alpha and a delay, and writes (low, high) per round around 0. All but the
Gaussian are symmetric. Quantiles are those of the last 500 sizes of errors that were told.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from statistics import NormalDist

import numpy as np

from keyhole.core.records import hold
from keyhole.learners.blocks.conformal import (
    NOTE_SIZE,
    factor_of,
    factors_of,
    issue,
    learn,
    new_sizes,
    new_trackers,
)
from keyhole.problem import Floats
from keyhole.problem.rows import BoughtValues

WINDOW = 500
GAMMA = 0.005  # the step of ACI
GAMMAS = np.array([0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128])  # those of DtACI
STEP, LOOK = 0.1, 100  # conformal P: the share of the largest of so many sizes
HALF_LIFE = 100.0  # of the Gaussian


def _hear(sizes: list[float], errors: Floats, s: int) -> None:
    """Put the size of error s among those of the last ones, which are in order."""
    insort(sizes, abs(float(errors[s])))
    if len(sizes) > WINDOW:
        sizes.pop(bisect_left(sizes, abs(float(errors[s - WINDOW]))))


def _quantile(sizes: list[float], level: float) -> float:
    place = math.ceil(level * (len(sizes) + 1)) - 1
    return 0.0 if not sizes or place < 0 else sizes[min(place, len(sizes) - 1)]


def aci(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """Adaptive conformal inference (Gibbs and Candes 2021)."""
    sizes, now = list[float](), alpha
    for t in range(len(errors)):
        edges[t, 1] = _quantile(sizes, 1.0 - now)
        edges[t, 0] = -edges[t, 1]
        s = t - delay
        if s >= 0:
            now += GAMMA * (alpha - (1.0 if abs(errors[s]) > edges[s, 1] else 0.0))
            _hear(sizes, errors, s)


def dtaci(errors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """Dynamically tuned ACI (Gibbs and Candes 2024), by the mean of its experts."""
    n, sizes = len(GAMMAS), list[float]()
    now, weight = np.full(n, alpha), np.full(n, 1.0 / n)
    share = 1.0 / (2.0 * WINDOW)
    both = (1.0 - alpha) ** 2 * alpha**3 + alpha**2 * (1.0 - alpha) ** 3
    rate = math.sqrt(3.0 / WINDOW) * math.sqrt((math.log(n * WINDOW) + 2.0) / both)
    said = np.empty((delay + 1, n))
    for t in range(len(errors)):
        said[t % (delay + 1)] = now
        edges[t, 1] = _quantile(sizes, 1.0 - (weight * now).sum())
        edges[t, 0] = -edges[t, 1]
        s = t - delay
        if s >= 0:
            beta = 1.0 - bisect_left(sizes, abs(float(errors[s]))) / max(len(sizes), 1)
            then = said[s % (delay + 1)]
            weight *= np.exp(-rate * (alpha * (beta - then) - np.minimum(0.0, beta - then)))
            now += GAMMAS * (alpha - (then > beta))
            weight = (1.0 - share) * weight / weight.sum() + share / n
            _hear(sizes, errors, s)


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


def factors(d: int, bought: BoughtValues, y_hat: Floats, errors: Floats, delay: int) -> Floats:
    """By what was bought, from errors that come so many rounds late."""
    s, factors, heard = hold(new_sizes(d)), np.empty(len(errors)), np.empty(1)
    for t in range(len(errors)):
        factors[t] = factor_of(s, bought.features[t], bought.values[t], float(y_hat[t]))
        if t >= delay:
            one = slice(t - delay, t - delay + 1)
            factors_of(s, bought.features[one], bought.values[one], y_hat[one], errors[one], heard)
    return factors


def ours(errors: Floats, factors: Floats, alpha: float, delay: int, edges: Floats) -> None:
    """This package's, by `keyhole.learners.blocks.conformal`."""
    gain, trackers = 0.02 / (1.0 + delay / 50.0), hold(new_trackers([1.0 - alpha]))
    order, notes = np.zeros(1, dtype=np.int64), np.empty((delay + 1, 1, NOTE_SIZE))
    for t in range(len(errors)):
        issue(trackers, order, float(factors[t]), notes[t % (delay + 1)], edges[t : t + 1])
        if t >= delay:
            its = notes[(t - delay) % (delay + 1)]
            learn(trackers, order, its, float(errors[t - delay]), gain)


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
