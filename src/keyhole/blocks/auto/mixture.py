"""Predict nearly as well as the best of several experts, for labels of unknown range."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from keyhole.blocks.jit.decorators import inner, kernel, part
from keyhole.fields import AT_LEAST_0, MAY_BE_NAN, Holds
from keyhole.problem import Floats, ProblemError

RATES = (0.0, 0.01, 0.1)  # chances per round that another expert becomes the best one
BOLD = 0.9  # the prior weight of the bold average, as a rule
POWER = 5  # the scatter the bold average believes in: (1 + error^2 / (FREEDOM v))^-POWER
FREEDOM = 2.0 * POWER - 1.0  # its degrees of freedom
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
    For every sequence of labels and guesses, every expert e and every T

        sum_t (y_t - y_hat_t)^2 <= L_e + 2 Y_T^2 log(1/prior_e) + sum_{records} (y_t - y_hat_t)^2,

    where L_e is the loss of its guesses as cut off, and a record is a round whose label lies
    outside the range of those before. (Within the range the aggregating algorithm is mixable with
    eta = 1/(2 Y^2); eta never grows, and -(1/eta) log sum prior exp(-eta L) is non-increasing in
    eta, so the potentials telescope; records are paid in full.) A guess cut off at the range loses
    less than the guess itself in every round but a record. The first label, a record, is charged
    to no one.

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

    prior: Annotated[Floats, Holds(constant=True)]
    losses: Annotated[Floats, AT_LEAST_0]
    recent: Annotated[Floats, AT_LEAST_0]
    noise: Annotated[Floats, AT_LEAST_0]
    span: Annotated[Floats, MAY_BE_NAN]
    belief: Annotated[Floats, AT_LEAST_0]  # rates x E


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


WINDOW = 200.0  # rounds that `recent` looks back, and the bold average for its own mean loss
SHARE = 0.25  # of all rounds, over which that mean is taken once they are more
NOTHING = 100.0  # a lag: exp(-50) of the best is below the last bit of any sum with it
ANEW = 1e-6  # the chance per round that the rate of change itself is drawn again


@part
def _aggregate(mixture: Mixture, guesses: Floats) -> float:
    E, low, high = len(mixture.recent), mixture.span[LOW], mixture.span[HIGH]
    if np.isnan(low):
        guesses[:] = 0.0
        return 0.0
    bold, least = 0.0, np.inf
    for e in range(E):
        guesses[e] = min(max(guesses[e], low), high)
        share = 0.0
        for r in range(len(RATES)):
            share += mixture.belief[r, e]
        bold += share * guesses[e]
    for e in range(E + 1):
        if mixture.prior[e] > 0.0:
            least = min(least, mixture.losses[e])
    guesses[E] = min(max(bold, low), high)  # rounding must not carry it beyond
    Y, middle = 0.5 * (high - low), low + 0.5 * (high - low)
    if not Y > 0.0:
        return float(middle)
    # In units of Y, so that the largest labels do not overflow. Neither sum is 0: guesses lie in
    # [-1, 1] and the best weight is its prior.
    below, above = 0.0, 0.0
    for e in range(E + 1):
        g = (guesses[e] - middle) / Y
        lag = (mixture.losses[e] - least) / Y / Y
        if lag > NOTHING or mixture.prior[e] == 0.0:
            continue
        below += mixture.prior[e] * math.exp(-0.5 * (lag + (1.0 + g) * (1.0 + g)))
        above += mixture.prior[e] * math.exp(-0.5 * (lag + (1.0 - g) * (1.0 - g)))
    return float(middle + 0.5 * Y * (math.log(above) - math.log(below)))


@inner
def start_over(mixture: Mixture) -> None:
    """Nobody is known to predict well or badly. Losses stay: the guarantee is about all rounds."""
    belief, prior, E = mixture.belief, mixture.prior, len(mixture.recent)
    mixture.recent[:] = 0.0
    mixture.noise[:] = 0.0
    for r in range(len(RATES)):
        for e in range(E):
            belief[r, e] = prior[e] / (1.0 - prior[E]) / len(RATES)


@part
def _believe(mixture: Mixture, guesses: Floats, y: float) -> None:
    # Bayes' rule, then the chance of a change: from every expert to one drawn from the prior.
    belief, prior, E = mixture.belief, mixture.prior, len(mixture.recent)
    scale = FREEDOM * mixture.noise[LOSS] / mixture.noise[WEIGHT]
    if not scale > 0.0:  # nobody has lost anything
        return
    least, total = np.inf, 0.0
    for e in range(E):
        if prior[e] > 0.0:
            least = min(least, (y - guesses[e]) * (y - guesses[e]))
    for e in range(E):
        if prior[e] > 0.0:
            loss = (y - guesses[e]) * (y - guesses[e])
            ratio, likely = (scale + least) / (scale + loss), 1.0
            for _ in range(POWER):  # faster than **
                likely *= ratio
            for r in range(len(RATES)):
                belief[r, e] *= likely
                total += belief[r, e]
    for r in range(len(RATES)):
        mass = 0.0
        for e in range(E):
            belief[r, e] /= total
            mass += belief[r, e]
        change = max(RATES[r], 1.0 / (mixture.noise[ROUNDS] + 1.0))
        stay, move = (1.0 - ANEW) * (1.0 - change), (1.0 - ANEW) * change * mass
        fresh = (move + ANEW / len(RATES)) / (1.0 - prior[E])
        for e in range(E):
            belief[r, e] = stay * belief[r, e] + fresh * prior[e]


@part
def _charge(mixture: Mixture, guesses: Floats, y: float) -> None:
    if np.isnan(mixture.span[LOW]):  # the first label tells the units, and is no one's fault
        mixture.span[:] = y
        return
    E, fade = len(mixture.recent), 1.0 - 1.0 / WINDOW
    for e in range(E):
        loss = (y - guesses[e]) * (y - guesses[e])
        mixture.losses[e] += loss
        mixture.recent[e] = fade * mixture.recent[e] + loss
    loss = (y - guesses[E]) * (y - guesses[E])
    mixture.losses[E] += loss
    mixture.span[LOW] = min(mixture.span[LOW], y)
    mixture.span[HIGH] = max(mixture.span[HIGH], y)
    # A window that grows with time: after it is full, the old rounds are weighted down a little.
    noise = mixture.noise
    noise[WEIGHT] += 1.0
    noise[LOSS] += loss
    most = max(WINDOW, SHARE * noise[ROUNDS])
    noise[ROUNDS] += 1.0
    if noise[WEIGHT] > most:
        noise[LOSS] *= most / noise[WEIGHT]
        noise[WEIGHT] = most
    _believe(mixture, guesses, y)


@kernel
def predict(mixture: Mixture, guesses: Floats) -> float:
    """Cut the guesses off at the range, fill in the bold one (last), and aggregate."""
    return _aggregate(mixture, guesses)


@kernel
def learn(mixture: Mixture, guesses: Floats, y: float) -> None:
    """Charge every expert for its guess (as `predict` left it), and widen the range."""
    _charge(mixture, guesses, y)


@kernel
def step_rows(mixture: Mixture, guesses: Floats, y: Floats, predictions: Floats) -> None:
    """Predict from each row of guesses, which has room for the bold one, then learn its label.

    A call for many rows: the arrays of a mixture take as long to hand over as a round of it.
    """
    for t in range(len(y)):
        predictions[t] = _aggregate(mixture, guesses[t])
        _charge(mixture, guesses[t], y[t])
