"""Calibration of scores for labels 0 and 1: four forecasters, their mixture, and its log losses."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.problem import Floats
from keyhole.problem.state import AT_LEAST_0, Holds

FORECASTER_NAMES = (
    "the score, cut off",
    "the share of yes",
    "Platt scaling",
    "isotonic regression",
)
SCORE, RATE, PLATT, ISOTONIC = range(4)
NO, YES, ROUNDS = range(3)  # in `told`; the first two in `bins` too
MIN_PROBABILITY = 1e-9  # no forecast is nearer to 0 or 1: log losses are finite, at most 20.8

MIN_SCORE = 0.01  # a score is cut off this far from 0 and 1 before its log-odds are taken
PLATT_START = (0.0, 1.0)  # constant and slope of Platt scaling: the score as it is
PLATT_START_PRECISION = (1.0, 0.0, 1.0)  # of the start: 11, 12, 22 of a matrix

LOW, HIGH, BINS = -0.25, 1.25, 48  # the grid; scores for labels 0 and 1 hardly ever leave it
# imagined labels in every bin, at the score of its middle, cut off like a score
PRIOR_LABELS_PER_BIN = 0.5
# what a label counts: so every sum in `Isotonic` is a whole number, and exact
LABEL_WEIGHT = 12_800


class Calibrator(NamedTuple):
    """What turns a score s into a probability, and learns from the label, 0 or 1, as it is saved.

    The forecasters, n labels having been told:

    - *the score* itself, cut off at 1/(n + 2) and 1 - 1/(n + 2);
    - *the share of yes* so far, (yes + 1/2)/(n + 1);
    - *Platt scaling*: logistic regression on the log-odds of the score, by Newton steps;
    - *isotonic regression* on 48 bins of the score.

    The forecast is their mean by `share`. After a label every share is multiplied by the
    probability that its forecaster gave to that label, and then a part 1/(t + 1) of all shares is
    dealt out evenly, t the number of labels: so a forecaster that was bad at first, as those that
    learn are, is heard soon after it has become good.

    Guarantee
    ---------
    For every sequence of scores and labels, each label told before the next forecast, every
    forecaster e of E = 4 and every T

        log loss of the forecasts <= log loss of e + ln(E T),

    in nats, all T rounds together (fixed share of Herbster and Warmuth 1998, with these rates:
    keeping to e for T rounds has the prior weight 1/E * prod_{t<T} (1 - 1/(t + 1)) = 1/(E T) at
    least). Against the best sequence that changes forecasters m times it is
    ln(E T) + m ln(E T). Of late labels it holds for the forecasts made anew as they are told, not
    for those served before. Forecasts lie between 1e-9 and 1 - 1e-9.

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
    """A calibrator that was told nothing yet."""
    E = len(FORECASTER_NAMES)
    return Calibrator(
        told=np.zeros(3),
        bins=np.zeros((2, BINS)),
        theta=np.array(PLATT_START),
        precision=np.array(PLATT_START_PRECISION),
        share=np.full(E, 1.0 / E),
        losses=np.zeros(E + 1),
    )


class Forecasters:
    """A `Calibrator` at work, in plain numbers: single ones are faster than arrays of them.

    Its first forecast is 1/2 or near it.

    >>> forecasters = Forecasters()
    >>> for score, label in ((0.9, 1.0), (0.2, 0.0), (0.7, 1.0)):
    ...     _ = forecasters.learn(score, label)
    >>> forecasters.predict(0.95) > 0.6 > 0.4 > forecasters.predict(0.1)
    True
    """

    def __init__(self, saved: Calibrator | None = None) -> None:
        state = saved or calibrator()
        self.told: list[float] = state.told.tolist()
        self.bins: list[list[float]] = state.bins.tolist()
        self.share: list[float] = state.share.tolist()
        self.losses: list[float] = state.losses.tolist()
        self._platt = Platt(*state.theta.tolist(), *state.precision.tolist())
        self._isotonic = Isotonic(self.bins)

    def state(self) -> Calibrator:
        """What is saved of it."""
        platt = self._platt
        arrays = (self.told, self.bins, platt.theta, platt.precision, self.share, self.losses)
        return Calibrator(*(np.array(values, dtype=np.float64) for values in arrays))

    @property
    def bound(self) -> float:
        """ln(E T): by how much the mixture can have lost more than the best of its forecasters."""
        return math.log(len(FORECASTER_NAMES) * max(self.told[ROUNDS], 1.0))

    def predict(self, score: float) -> float:
        """The probability of a yes at this score; changes nothing."""
        return self._forecast(score, log_odds(score), bin_of(score))[-1]

    def predict_all(self, scores: Floats) -> Floats:
        """The same at each of these scores."""
        return np.array([self.predict(score) for score in scores.tolist()])

    def learn(self, score: float, y: float) -> float:
        """Learn the label, 0 or 1, of a score; returns what was forecast."""
        z, b = log_odds(score), bin_of(score)
        forecasts = self._forecast(score, z, b)
        label, told, losses = YES if y > 0.5 else NO, self.told, self.losses
        likely = forecasts if label == YES else [1.0 - forecast for forecast in forecasts]
        for e, probability in enumerate(likely):
            losses[e] -= math.log(probability)
        self._platt.learn(z, y)
        self._isotonic.learn(b, label)
        self.bins[label][b] += 1.0
        told[label] += 1.0
        told[ROUNDS] += 1.0
        total, dealt = 0.0, 1.0 / (told[ROUNDS] + 1.0)
        for e, share in enumerate(self.share):
            self.share[e] = share * likely[e]
            total += self.share[e]
        # A share is never below dealt / E: nothing underflows, however often one was wrong.
        self.share = [
            (1.0 - dealt) * (s / total) + dealt / len(FORECASTER_NAMES) for s in self.share
        ]
        return forecasts[-1]

    def play(self, scores: Floats, y: Floats) -> Floats:
        """Forecast and learn one round after the other; returns the forecasts."""
        pairs = zip(scores.tolist(), y.tolist(), strict=True)
        return np.array([self.learn(score, label) for score, label in pairs])

    def _forecast(self, score: float, z: float, b: int) -> list[float]:
        """What each forecaster says at a score of log-odds z in bin b, and last the mixture."""
        yes = self.told[YES]
        n = self.told[NO] + yes
        forecasts = [
            _cut_off(score, max(1.0 / (n + 2.0), MIN_PROBABILITY)),
            _cut_off((yes + 0.5) / (n + 1.0), MIN_PROBABILITY),
            _cut_off(self._platt.forecast(z), MIN_PROBABILITY),
            _cut_off(self._isotonic.forecast(b), MIN_PROBABILITY),
        ]
        p = 0.0
        for share, forecast in zip(self.share, forecasts, strict=True):
            p += share * forecast
        forecasts.append(_cut_off(p, MIN_PROBABILITY))
        return forecasts


def count_history(told: list[float], y: Floats, keep: float) -> None:
    """Count labels of history; after each, those before it count `keep` times as much."""
    for label in y.tolist():
        told[NO] *= keep
        told[YES] *= keep
        told[YES if label > 0.5 else NO] += 1.0


def _cut_off(p: float, least: float) -> float:
    return least if p < least else min(p, 1.0 - least)


class Platt:
    """Logistic regression on the log-odds z of the score, with the precision of its weights."""

    def __init__(self, constant: float, slope: float, a: float, b: float, c: float) -> None:
        self.theta, self.precision = (constant, slope), (a, b, c)

    def forecast(self, z: float) -> float:
        """The probability of a yes, less sure of itself the less is known of theta at z.

        That is sigmoid(theta.x) averaged over the Gaussian of theta, by MacKay's approximation.
        """
        (constant, slope), (a, b, c) = self.theta, self.precision
        spread = (c - 2.0 * b * z + a * z * z) / (a * c - b * b)  # x' precision^-1 x, x = (1, z)
        return sigmoid((constant + slope * z) / math.sqrt(1.0 + math.pi / 8.0 * spread))

    def learn(self, z: float, y: float) -> None:
        """A Newton step for the log loss of this label: the curvature is added up, theta moves."""
        (constant, slope), (a, b, c) = self.theta, self.precision
        p = sigmoid(constant + slope * z)
        w = p * (1.0 - p)
        a, b, c = self.precision = a + w, b + w * z, c + w * z * z
        step = (y - p) / (a * c - b * b)
        self.theta = constant + step * (c - b * z), slope + step * (a * z - b)


def log_odds(score: float) -> float:
    """ln(s / (1 - s)) of the score, cut off at 0.01 and 0.99."""
    s = _cut_off(score, MIN_SCORE)
    return math.log(s / (1.0 - s))


def sigmoid(a: float) -> float:
    """1 / (1 + exp(-a)); no exponential overflows."""
    if a >= 0.0:
        return 1.0 / (1.0 + math.exp(-a))
    e = math.exp(a)
    return e / (1.0 + e)


def bin_of(score: float) -> int:
    """The bin of a score; the outermost ones take whatever lies beyond the grid."""
    place = (score - LOW) * (BINS / (HIGH - LOW))
    if not place >= 1.0:  # so that whatever is not a number has a bin too
        return 0
    return BINS - 1 if place >= BINS else int(place)


class Isotonic:
    """Isotonic regression on a grid of scores: a higher score never means a lower probability.

    The fit is the least squares fit to the shares of yes in each bin, weighted by their labels,
    among all that rise with the score: neighbours whose shares do not rise are pooled. Imagined
    labels draw it towards the score itself where little was seen.

    A label moves one bin. Only the pool of that bin can fall apart, and then it and its neighbours
    may have to be pooled again. As all sums are whole numbers, what comes out is the same whether
    labels came one by one or were loaded from a file.
    """

    def __init__(self, bins: list[list[float]]) -> None:
        self._yes, self._all = list[int](), list[int]()
        for j in range(BINS):
            no, yes = int(bins[NO][j]), int(bins[YES][j])
            middle = _cut_off(LOW + (j + 0.5) * ((HIGH - LOW) / BINS), MIN_SCORE)
            self._yes.append(
                LABEL_WEIGHT * yes + round(LABEL_WEIGHT * PRIOR_LABELS_PER_BIN * middle)
            )
            self._all.append(LABEL_WEIGHT * (no + yes) + round(LABEL_WEIGHT * PRIOR_LABELS_PER_BIN))
        self._pools = list[tuple[int, int, int]]()  # first bin, yes, all; shares rise
        for pool in zip(range(BINS), self._yes, self._all, strict=True):
            _push(self._pools, *pool)

    def forecast(self, b: int) -> float:
        """The probability of a yes in bin b."""
        _, yes, all_ = self._pools[self._at(b)]
        return yes / all_

    def learn(self, b: int, label: int) -> None:
        """A label of bin b."""
        self._all[b] += LABEL_WEIGHT
        self._yes[b] += LABEL_WEIGHT if label == YES else 0
        at = self._at(b)
        pools, later = self._pools[:at], self._pools[at + 1 :]
        end = later[0][0] if later else BINS
        for j in range(self._pools[at][0], end):
            _push(pools, j, self._yes[j], self._all[j])
        for i, pool in enumerate(later):
            if not _push(pools, *pool):  # and then none of those after it
                pools += later[i + 1 :]
                break
        self._pools = pools

    def _at(self, b: int) -> int:
        return bisect_right(self._pools, b, key=lambda pool: pool[0]) - 1


def _push(pools: list[tuple[int, int, int]], first: int, yes: int, all_: int) -> bool:
    """Append a pool, together with those before it whose share is not lower; were there any?"""
    merged = False
    while pools and pools[-1][1] * all_ >= yes * pools[-1][2]:
        first, more_yes, more = pools.pop()
        yes, all_, merged = yes + more_yes, all_ + more, True
    pools.append((first, yes, all_))
    return merged


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well scores became probabilities: what `YesNoLearner.calibration()` returns.

    Parameters
    ----------
    rounds
        Labels learnt in rounds; those of history are not among them.
    loss
        Log loss of the probabilities, in nats, all rounds together.
    losses
        The same by forecaster.
    shares
        How much each forecaster counts in the next probability; together 1.
    bound
        ln(E T): what `regret` is at most, whatever the data.
    """

    rounds: int
    loss: float
    losses: Mapping[str, float]
    shares: Mapping[str, float]
    bound: float

    @property
    def best(self) -> str:
        """The forecaster with the least log loss so far."""
        return min(self.losses, key=lambda name: self.losses[name])

    @property
    def regret(self) -> float:
        """Log loss beyond that of the best forecaster, in nats; often below 0."""
        return self.loss - self.losses[self.best]

    @property
    def log_loss(self) -> float:
        """Mean log loss of a round; NaN before the first."""
        return self.loss / self.rounds if self.rounds else math.nan

    def __str__(self) -> str:
        if not self.rounds:
            return "no label was learnt yet"
        lines = [f"log loss {self.log_loss:.4f} per round in {self.rounds:,} rounds; by forecaster"]
        for name, loss in self.losses.items():
            share = f"{self.shares[name]:.0%} of the next probability"
            lines.append(f"  {name:<20} {loss / self.rounds:.4f}  {share}")
        lines.append(
            f"regret against {self.best}: {self.regret:+.1f} nats in all, "
            f"proven to be at most {self.bound:.1f}"
        )
        return "\n".join(lines)


def calibration_of(forecasters: Forecasters) -> Calibration:
    """The figures of a calibrator."""
    *losses, own = forecasters.losses
    return Calibration(
        rounds=int(forecasters.told[ROUNDS]),
        loss=own,
        losses=dict(zip(FORECASTER_NAMES, losses, strict=True)),
        shares=dict(zip(FORECASTER_NAMES, forecasters.share, strict=True)),
        bound=forecasters.bound,
    )
