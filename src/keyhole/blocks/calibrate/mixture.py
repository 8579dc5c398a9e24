"""A calibrator: four forecasters of yes or no from a score, and a mixture of them."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.blocks.calibrate import platt
from keyhole.blocks.calibrate.isotonic import BINS, NO, YES, bin_of, isotonic
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.fields import AT_LEAST_0, Holds
from keyhole.problem import Floats

EXPERTS = ("the score, cut off", "the share of yes", "Platt scaling", "isotonic regression")
SCORE, RATE, PLATT, ISOTONIC = range(4)
ROUNDS = 2  # in `told`, beside NO and YES
SUREST = 1e-9  # no forecast is nearer to 0 or 1: log losses are finite, at most 20.8


class Calibrator(NamedTuple):
    """What turns a score s into a probability, and learns from the label, 0 or 1.

    The forecasters, n labels having been told:

    - *the score* itself, cut off at 1/(n + 2) and 1 - 1/(n + 2);
    - *the share of yes* so far, (yes + 1/2)/(n + 1);
    - *Platt scaling*: logistic regression on the log-odds of the score (`platt.py`);
    - *isotonic regression* on 48 bins of the score (`isotonic.py`).

    The forecast is their mean by `share`. After a label every share is multiplied by the
    probability that its forecaster gave to that label, and then a part 1/(t + 1) of all shares is
    dealt out evenly, t the number of labels: so a forecaster that was bad at first, as those that
    learn are, is heard soon after it has become good.

    Guarantee
    ---------
    For every sequence of scores and labels, every forecaster e of E = 4 and every T

        log loss of the forecasts <= log loss of e + ln(E T),

    in nats, all T rounds together (fixed share of Herbster and Warmuth 1998, with these rates:
    keeping to e for T rounds has the prior weight 1/E * prod_{t<T} (1 - 1/(t + 1)) = 1/(E T) at
    least). Against the best sequence that changes forecasters m times it is
    ln(E T) + m ln(E T). Forecasts lie between 1e-9 and 1 - 1e-9.

    Sums: `told` (labels no and yes, history included, and ROUNDS without it), `bins` (the same by
    bin of the score), `precision` (of Platt's theta, beside the prior), `losses` (log loss of every
    forecaster, and last of the mixture). Iterates: `theta`, `share`.
    """

    told: Annotated[Floats, AT_LEAST_0]
    bins: Annotated[Floats, AT_LEAST_0]
    theta: Annotated[Floats, Holds()]
    precision: Annotated[Floats, Holds(least=(1.0, -math.inf, 1.0))]
    share: Annotated[Floats, Holds(least=0.0, most=1.0)]
    losses: Annotated[Floats, AT_LEAST_0]


def calibrator() -> Calibrator:
    """A calibrator that was told nothing yet; its first forecast is 1/2 or near it.

    >>> state = calibrator()
    >>> for score, label in ((0.9, 1.0), (0.2, 0.0), (0.7, 1.0)):
    ...     learn(state, score, label)
    >>> predict(state, 0.95) > 0.6 > 0.4 > predict(state, 0.1)
    True
    """
    E = len(EXPERTS)
    return Calibrator(
        told=np.zeros(3),
        bins=np.zeros((2, BINS)),
        theta=np.array(platt.START),
        precision=np.array(platt.PRECISION),
        share=np.full(E, 1.0 / E),
        losses=np.zeros(E + 1),
    )


def bound(state: Calibrator) -> float:
    """ln(E T): by how much the mixture can have lost more than the best of its forecasters."""
    return math.log(len(EXPERTS) * max(float(state.told[ROUNDS]), 1.0))


@inner
def _cut_off(p: float) -> float:
    return min(max(p, SUREST), 1.0 - SUREST)


@inner
def _forecast(state: Calibrator, score: float, guesses: Floats) -> float:
    # What the forecasters say goes to `guesses`, the mixture's forecast is returned.
    n = state.told[NO] + state.told[YES]
    least = 1.0 / (n + 2.0)
    guesses[SCORE] = _cut_off(min(max(score, least), 1.0 - least))
    guesses[RATE] = _cut_off((state.told[YES] + 0.5) / (n + 1.0))
    guesses[PLATT] = _cut_off(platt.scaled(state.theta, state.precision, score))
    guesses[ISOTONIC] = _cut_off(isotonic(state.bins, bin_of(score)))
    p = 0.0
    for e in range(len(guesses)):
        p += state.share[e] * guesses[e]
    return _cut_off(p)


@inner
def _learn(state: Calibrator, score: float, y: float, guesses: Floats, p: float) -> None:
    # `guesses` and p are what was forecast for this score.
    E, yes, total = len(guesses), y > 0.5, 0.0
    state.losses[E] -= math.log(p if yes else 1.0 - p)
    for e in range(E):
        likely = guesses[e] if yes else 1.0 - guesses[e]
        state.losses[e] -= math.log(likely)
        state.share[e] *= likely
        total += state.share[e]
    platt.learn(state.theta, state.precision, score, y)
    label = YES if yes else NO
    state.bins[label, bin_of(score)] += 1.0
    state.told[label] += 1.0
    state.told[ROUNDS] += 1.0
    dealt = 1.0 / (state.told[ROUNDS] + 1.0)
    for e in range(E):
        # A share is never below dealt / E: nothing underflows, however often one was wrong.
        state.share[e] = (1.0 - dealt) * (state.share[e] / total) + dealt / E


@kernel
def predict(state: Calibrator, score: float) -> float:
    """The probability of a yes at this score; changes nothing."""
    return _forecast(state, score, np.empty(len(state.share)))


@kernel
def learn(state: Calibrator, score: float, y: float) -> None:
    """Learn the label, 0 or 1, of a score."""
    guesses = np.empty(len(state.share))
    p = _forecast(state, score, guesses)
    _learn(state, score, y, guesses, p)


@kernel
def play(state: Calibrator, scores: Floats, y: Floats, out: Floats) -> None:
    """Forecast and learn one round after the other; forecasts go to `out`."""
    guesses = np.empty(len(state.share))
    for t in range(len(y)):
        out[t] = _forecast(state, scores[t], guesses)
        _learn(state, scores[t], y[t], guesses, out[t])


@kernel
def predict_all(state: Calibrator, scores: Floats, out: Floats) -> None:
    """The probabilities of a yes at these scores, by what is known now; changes nothing."""
    guesses = np.empty(len(state.share))
    for t in range(len(scores)):
        out[t] = _forecast(state, scores[t], guesses)


@kernel
def study(state: Calibrator, y: Floats, keep: float) -> None:
    """Count labels of history; after each, those before it count `keep` times as much."""
    for t in range(len(y)):
        state.told[NO] *= keep
        state.told[YES] *= keep
        state.told[YES if y[t] > 0.5 else NO] += 1.0
