"""Predict nearly as well as the best of several experts, for labels of unknown range."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.functions import c_function
from keyhole.problem import Floats, ProblemError
from keyhole.problem.state import AT_LEAST_0, MAY_BE_NAN, Holds

RATES = (0.0, 0.01, 0.1)  # chances per round that another expert becomes the best one
BOLD = 0.9  # the prior weight of the bold average, as a rule
FREEDOM = 9.0  # degrees of freedom of the scatter the bold average believes in
LOW, HIGH = 0, 1  # in `Mixture.span`
LOSS, WEIGHT, ROUNDS = 0, 1, 2  # in `Mixture.noise`


class Mixture(NamedTuple):
    """Vovk's aggregating algorithm over experts, one of which is itself a bold average of the rest.

    Experts e = 0, ..., E - 1 hand in guesses, cut off at the range [low, high] of the labels so
    far. Expert E is a bold average of them, with no guarantee: the mean of their guesses under the
    belief that labels scatter around the guess of one expert, the same until it changes, with a
    chance of change per round that is one of `RATES`, and at least 1/t; which one is learnt too.
    The scatter is Student's with `FREEDOM` degrees of freedom, so that one label far out tells
    little, and scale v, the mean loss of this very average. An expert who guesses better by a
    small part of v is found in a steady stream, and one change is followed within a few rounds.

    On top, the aggregating algorithm for square loss on an interval of half-length
    Y = (high - low)/2, with its substitution function, weights the E + 1 guesses by
    prior_e exp(-L_e / (2 Y^2)). An expert of prior 0 is charged, and never heard.

    Guarantee
    ---------
    For every sequence of labels and guesses, each label told before the next prediction, every
    expert e and every T

        sum_t (y_t - y_hat_t)^2 <= L_e + 2 Y_T^2 log(1/prior_e) + sum_{records} (y_t - y_hat_t)^2,

    where L_e is the loss of its guesses as cut off, and a record is a round whose label lies
    outside the range of those before. (Within the range the aggregating algorithm is mixable with
    eta = 1/(2 Y^2); eta never grows, and -(1/eta) log sum prior exp(-eta L) is non-increasing in
    eta, so the potentials telescope; records are paid in full.) A guess cut off at the range loses
    less than the guess itself in every round but a record. The first label, a record, is charged
    to no one. For labels that are late nothing is promised: predictions made from the same weights
    can all be wrong before the first label says so.

    Sums: `losses`, `recent` (discounted), `noise` (of the bold average: LOSS and the number of
    rounds it is the sum of, WEIGHT, over a window of 200 rounds or a quarter of all; ROUNDS are
    all). Extremes: `span`, the LOW and the HIGH end of the labels; NaN before the first. Derived,
    round by round: `belief`, in rate r and expert e; its sum is 1. `prior` has the bold average in
    the last place.

    Examples
    --------
    >>> mixture = mix([0.5, 0.5])
    >>> for y in (1.0, -1.0, 1.0, -1.0):
    ...     _ = step(mixture, [y, 0.0], y)
    >>> mixture.losses.round(3), mixture.span
    (array([4.  , 6.  , 4.46]), array([-1.,  1.]))
    """

    prior: Annotated[Floats, Holds(constant=True), "E+1"]
    losses: Annotated[Floats, AT_LEAST_0, "E+1"]
    recent: Annotated[Floats, AT_LEAST_0, "E"]
    noise: Annotated[Floats, AT_LEAST_0, "3"]
    span: Annotated[Floats, MAY_BE_NAN, "2"]
    belief: Annotated[Floats, AT_LEAST_0, "3 E"]  # a row for each rate


def mix(prior: ArrayLike, bold: float = BOLD) -> Mixture:
    """A mixture of experts with these prior weights; `bold` of it all goes to the bold average."""
    weights = np.array(prior, dtype=np.float64)
    if not (weights.ndim == 1 and (weights >= 0.0).all() and 0.0 < weights.sum() < np.inf):
        raise ProblemError(f"prior must be numbers >= 0, at least one positive, got {prior!r}")
    if not 0.0 <= bold < 1.0:
        raise ProblemError(f"bold must be a share of the prior, at least 0 and below 1, got {bold}")
    weights /= weights.sum()
    E, belief = len(weights), np.tile(weights / len(RATES), (len(RATES), 1))
    heard = np.append((1.0 - bold) * weights, bold)
    return Mixture(heard, np.zeros(E + 1), np.zeros(E), np.zeros(3), np.full(2, np.nan), belief)


def step(mixture: Mixture, guesses: ArrayLike, y: float) -> float:
    """Predict from the guesses, then learn the label; returns the prediction."""
    cut = np.append(np.array(guesses, dtype=np.float64), 0.0)
    prediction = float(predict(mixture, cut))
    learn(mixture, cut, float(y))
    return prediction


def bold_shares(mixture: Mixture) -> Floats:
    """The weights of the experts in the bold average."""
    total: Floats = mixture.belief.sum(axis=0)
    return total


def shares(mixture: Mixture) -> Floats:
    """The weights of the experts 0..E-1 in the whole, those inside the bold average included."""
    Y = 0.5 * float(mixture.span[HIGH] - mixture.span[LOW])
    least = mixture.losses[mixture.prior > 0.0].min()
    weight = mixture.prior.copy()
    if Y > 0.0:
        weight *= np.exp(np.minimum(least - mixture.losses, 0.0) / (2.0 * Y * Y))
    weight /= weight.sum()
    total: Floats = weight[:-1] + weight[-1] * bold_shares(mixture)
    return total


def bound(mixture: Mixture, expert: int) -> float:
    """2 Y^2 log(1/prior): what the mixture may lose beyond an expert, records aside."""
    Y, prior = 0.5 * float(mixture.span[HIGH] - mixture.span[LOW]), float(mixture.prior[expert])
    if prior == 0.0:
        return math.inf
    return 2.0 * Y * Y * math.log(1.0 / prior) if Y > 0.0 else 0.0


def start_anew(mixture: Mixture) -> None:
    """Nobody has lost anything yet, and beliefs are the prior ones; the range stays."""
    for sums in (mixture.losses, mixture.recent, mixture.noise):
        sums[:] = 0.0
    mixture.belief[:] = mixture.prior[:-1] / (1.0 - mixture.prior[-1]) / len(RATES)


@c_function("kh_mix", "guesses[E+1]", writes="guesses")
def predict(mixture: Mixture, guesses: Floats) -> float:
    """Cut the guesses off at the range, fill in the bold one (last), and aggregate."""
    raise NotImplementedError


@c_function("kh_charge", "guesses[E+1]")
def learn(mixture: Mixture, guesses: Floats, y: float) -> None:
    """Charge every expert for its guess (as `predict` left it), and widen the range.

    `recent` looks back 200 rounds, and so does the bold average for its own mean loss, or over a
    quarter of all rounds once that is more.
    """
    raise NotImplementedError
