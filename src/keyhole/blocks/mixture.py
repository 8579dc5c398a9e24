"""Predict nearly as well as the best of several experts, for labels of unknown range."""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from keyhole.problem import Floats, ProblemError


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import mixture

    return mixture


class Mixture(NamedTuple):
    """Vovk's aggregating algorithm over experts, one of which is itself a bold mixture of the rest.

    Experts e = 0, ..., E - 1 hand in guesses, cut off at the range [low, high] of the labels so
    far. Expert E is the mean of their guesses with weights prior_e exp(-R_e / (2 v)), where R_e is
    its loss over the last `WINDOW` rounds or so and v the mean loss of this very mixture: a bold
    average that follows changes within the window and has no guarantee. On top, the aggregating
    algorithm for square loss on an interval of half-length Y = (high - low)/2, with its
    substitution function, weights the E + 1 guesses by prior_e exp(-L_e / (2 Y^2)).

    Guarantee
    ---------
    For every sequence of labels and guesses, every expert e and every T

        sum_t (y_t - y_hat_t)^2 <= L_e + 2 Y_T^2 log(1/prior_e) + sum_{records} (y_t - y_hat_t)^2,

    where L_e is the loss of its guesses as cut off, and a record is a round whose label lies
    outside the range of those before. (Within the range the aggregating algorithm is mixable with
    eta = 1/(2 Y^2); eta never grows, and -(1/eta) log sum prior exp(-eta L) is non-increasing in
    eta, so the potentials telescope; records are paid in full.) A guess cut off at the range loses
    less than the guess itself in every round but a record. The first label, a record, is charged
    to no one.

    Sums: `losses`, `recent` (discounted), `noise` (of the bold mixture: loss and
    count over a window of 200 rounds or a quarter of all, and the count of all).
    Extremes: `span` = low, high; NaN before the first label.

    Examples
    --------
    >>> mixture = mix([0.5, 0.5])
    >>> for y in (1.0, -1.0, 1.0, -1.0):
    ...     _ = step(mixture, [y, 0.0], y)
    >>> mixture.losses.round(3), mixture.span
    (array([4.   , 6.   , 4.445]), array([-1.,  1.]))
    """

    prior: Floats
    losses: Floats
    recent: Floats
    noise: Floats
    span: Floats


def mix(prior: ArrayLike) -> Mixture:
    """A mixture of experts with these prior weights; half of it all goes to the bold mixture."""
    weights = np.array(prior, dtype=np.float64)
    if not (weights.ndim == 1 and len(weights) and (weights > 0.0).all()):
        raise ProblemError(f"prior must be a list of positive numbers, got {prior!r}")
    weights = np.append(0.5 * weights / weights.sum(), 0.5)
    E = len(weights) - 1
    return Mixture(weights, np.zeros(E + 1), np.zeros(E), np.zeros(3), np.full(2, np.nan))


def step(mixture: Mixture, guesses: ArrayLike, y: float) -> float:
    """Predict from the guesses, then learn the label; returns the prediction."""
    cut = np.append(np.array(guesses, dtype=np.float64), 0.0)
    kernels = _kernels()
    prediction = float(kernels.predict(mixture, cut))
    kernels.learn(mixture, cut, float(y))
    return prediction


def bold_shares(mixture: Mixture) -> Floats:
    """The weights of the experts in the bold mixture."""
    shares = np.empty(len(mixture.recent))
    _kernels().bold_shares(mixture, np.ones(len(shares), dtype=np.bool_), shares)
    return shares


def shares(mixture: Mixture) -> Floats:
    """The weights of the experts 0..E-1 in the whole, those inside the bold mixture included."""
    Y = 0.5 * float(mixture.span[1] - mixture.span[0])
    least = mixture.losses.min()
    weight = mixture.prior.copy()
    if Y > 0.0:
        weight *= np.exp((least - mixture.losses) / (2.0 * Y * Y))
    weight /= weight.sum()
    total: Floats = weight[:-1] + weight[-1] * bold_shares(mixture)
    return total


def bound(mixture: Mixture, expert: int) -> float:
    """2 Y^2 log(1/prior): what the mixture may lose beyond an expert, records aside."""
    Y = 0.5 * float(mixture.span[1] - mixture.span[0])
    return 2.0 * Y * Y * math.log(1.0 / mixture.prior[expert]) if Y > 0.0 else 0.0
