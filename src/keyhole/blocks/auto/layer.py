"""The last layer: bends what the experts predict, and adds what the past says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.blocks.auto.mixture import Mixture, mix, shares
from keyhole.blocks.auto.mixture import learn as charge
from keyhole.blocks.auto.mixture import predict as judge_of
from keyhole.blocks.fit.ensemble import Ensemble, ensemble, guess, learn, start_from
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.past import INPUTS, LABELS, NAMES, Past, inputs, no_past, remember
from keyhole.fields import AT_LEAST_0, Holds
from keyhole.problem import Floats, Indices

ONLY = 0
SQUARES, ROUNDS = 0, 1  # in `Layer.spread`
AS_IT_IS, BENT, WITH_PAST = 0, 1, 2  # the guesses that are judged
PAST = 2 * INPUTS  # inputs of the past: made of labels, then of errors
GUESSES = ("as it is", "bent", "with the past")
PAST_NAMES = (*NAMES, *(name.replace("label", "error") for name in NAMES))
BOLD = 0.5  # the prior weight of the bold average among them
CONSTANT, PREDICTION = 0, 1  # places of x; then the kinks, then the past


class Layer(NamedTuple):
    """A regression of what a prediction missed on the prediction itself and on the past.

    With p the prediction, c the centre of the label, g = p - c and u the root mean square of g so
    far, the inputs are

        x = (1, g, |g - kink_1 u|, ..., |g - kink_h u|, past)

    where the past is the last labels and faded means of labels, less c, and the same of what p
    missed (`sums/past.py`), 0 where there is none yet. Two VAWs guess y - p from them: one without
    the past (BENT: p on a line with kinks, because predictions cut off at the range of the labels,
    or labels that are no linear function, are off in a way that p itself tells), one with it
    (WITH_PAST). A mixture judges them beside p AS_IT_IS, so that little is lost where they know
    nothing.

    Sums: `A`, `b` of x x' and x (y - p), discounted; `spread` of g; the pasts; those of `judge`.
    Derived: `unit` is u, and `runs` are the VAWs, both as of the last `begin`, `runs` with the
    rows since.

    Without inputs there is no layer.
    """

    kinks: Annotated[Floats, Holds(constant=True)]
    A: Floats  # its lower triangle
    b: Floats
    spread: Annotated[Floats, AT_LEAST_0]
    unit: Annotated[Floats, AT_LEAST_0]
    labels: Past
    errors: Past
    runs: Ensemble
    judge: Mixture

    @property
    def there(self) -> bool:
        """Whether there is a layer at all."""
        return len(self.b) > 0


def layer(kinks: Sequence[float] | None, *, past: bool) -> Layer:
    """A layer that has seen nothing. Without kinks (None) and past there is none."""
    places, runs = 0, 0
    if kinks is not None or past:
        places, runs = 2 + len(kinks or ()) + (PAST if past else 0), 1 + past
    return Layer(
        np.array(kinks or (), dtype=np.float64),
        np.zeros((places, places)),
        np.zeros(places),
        np.zeros(2),
        np.zeros(1),
        no_past(),
        no_past(),
        ensemble(runs, places),
        mix(np.ones(runs + 1), BOLD),
    )


def past_weights(last: Layer) -> dict[str, float]:
    """What a unit of each input of the past adds to the prediction now, by name."""
    e = WITH_PAST - BENT
    if len(last.runs.size) <= e:
        return {}
    share, first = float(shares(last.judge)[WITH_PAST]), 2 + len(last.kinks)
    added = share * last.runs.theta[e, first:]
    added[first + np.arange(PAST) >= last.runs.size[e]] = 0.0  # nothing was started yet
    return dict(zip(PAST_NAMES, added.tolist(), strict=True))


class LayerWords(NamedTuple):
    """What a layer does, for people: see `Explanation`."""

    layer: dict[str, float]
    past: dict[str, float]
    saved: float


def layer_words(last: Layer) -> LayerWords:
    """Whom the layer listens to, what the past adds, and which share of the loss it saves."""
    if not last.there:
        return LayerWords({}, {}, 0.0)
    heard = dict(zip(GUESSES, shares(last.judge).tolist(), strict=False))
    late, saved = last.judge.recent, 0.0
    if len(late) > WITH_PAST and late[BENT] > 0.0:
        saved = 1.0 - float(late[WITH_PAST] / late[BENT])
    return LayerWords(heard, past_weights(last), saved)


@kernel
def know(labels: Past, errors: Past, out: Floats) -> None:
    """Write what the past says now, in the units of the label; NaN where it says nothing yet."""
    inputs(labels, out[:INPUTS])
    inputs(errors, out[INPUTS:])


def noted(last: Layer) -> tuple[Floats, Indices]:
    """What the past says now, for a ticket, which holds finite numbers: 0 where it says nothing.

    And how many labels and errors were told, as far as that decides what is known: `recalled`
    makes of both what `know` wrote.
    """
    past = np.empty(PAST)
    know(last.labels, last.errors, past)
    told = np.minimum([last.labels.told[ONLY], last.errors.told[ONLY]], LABELS)
    return np.nan_to_num(past), told


def recalled(past: Floats, told: Indices) -> Floats:
    """What the past said, NaN where it said nothing.

    >>> recalled(np.ones(PAST), np.array([1, 0]))
    array([ 1., nan,  1.,  1.,  1., nan, nan, nan, nan, nan])
    """
    known = np.array(past)
    for part, many in zip((known[:INPUTS], known[INPUTS:]), told.tolist(), strict=True):
        part[many:LABELS] = np.nan
        part[LABELS:] = part[LABELS:] if many else np.nan
    return known


@kernel
def begin(last: Layer, variance: float) -> None:
    """Start the VAWs anew from the sums, when labels have this variance.

    The ridge is one round of the constant, and one label that shows an input at the size of the
    labels' standard deviation. Before labels differ there is nothing to guess.
    """
    spread, runs, places = last.spread, last.runs, len(last.b)
    if places == 0:
        return
    last.unit[ONLY] = math.sqrt(spread[SQUARES] / max(spread[ROUNDS], 1.0))
    for e in range(len(runs.size)):
        v = 0 if not variance > 0.0 else 2 + len(last.kinks) if e == 0 else places
        runs.size[e] = v
        A, b, unit = np.empty((v, v)), np.empty(v), np.empty(v)
        for i in range(v):
            runs.place[e, i] = i
            unit[i] = 1.0 if i == CONSTANT else 1.0 / math.sqrt(variance)
            for j in range(i + 1):
                A[i, j] = last.A[i, j] * unit[i] * unit[j]
            A[i, i] += 1.0
            b[i] = last.b[i] * unit[i]
        start_from(runs, e, A, b, unit)


@inner
def _guess(
    kinks: Floats,
    unit: float,
    runs: Ensemble,
    prediction: float,
    centre: float,
    past: Floats,
    x: Floats,
    guesses: Floats,
) -> None:
    # It takes what it needs and no more: arrays that come along cost time.
    h, g = len(kinks), prediction - centre
    x[CONSTANT], x[PREDICTION] = 1.0, g
    for i in range(h):
        x[2 + i] = abs(g - kinks[i] * unit)
    for i in range(len(x) - 2 - h):
        value = past[i] - centre if i < INPUTS else past[i]
        x[2 + h + i] = 0.0 if np.isnan(value) else value
    guess(runs, x, guesses[BENT:])
    for e in range(len(runs.size)):
        guesses[BENT + e] += prediction
        if not np.isfinite(guesses[BENT + e]):  # labels whose squares leave no room
            guesses[BENT + e] = prediction
    guesses[AS_IT_IS] = prediction


@kernel
def foresee(last: Layer, prediction: float, centre: float, past: Floats) -> float:
    """What to predict instead, given what the past said when the ticket was asked."""
    x, guesses = np.empty(len(last.b)), np.empty(len(last.judge.losses))
    _guess(last.kinks, last.unit[ONLY], last.runs, prediction, centre, past, x, guesses)
    return float(judge_of(last.judge, guesses))


@kernel
def correct(
    last: Layer, fade: float, centre: float, pasts: Floats, y: Floats, predictions: Floats
) -> None:
    """Put what is foreseen in place of predictions, and learn the labels, one after the other.

    `pasts` is what the past said when each round was asked; without rows, it is what it says then.
    Sums fade by a factor a round. A centre that is unknown (NaN) becomes the first label: that
    label tells the range, is a part of the past, and is no one's fault: all guesses count as right.
    """
    kinks, A, b, spread, unit = last.kinks, last.A, last.b, last.spread, last.unit[ONLY]
    labels, errors, runs, judge, places = last.labels, last.errors, last.runs, last.judge, len(b)
    looks_back = places > 2 + len(kinks)
    x, guesses, past = np.empty(places), np.empty(len(judge.losses)), np.empty(PAST)
    for t in range(len(y)):
        if np.isnan(centre):
            guesses[:] = y[t]
            charge(judge, guesses, y[t])
            remember(labels, y[t])
            centre = y[t]
            continue
        if len(pasts) > 0:
            past[:] = pasts[t]
        elif looks_back:
            know(labels, errors, past)
        _guess(kinks, unit, runs, predictions[t], centre, past, x, guesses)
        missed = y[t] - predictions[t]
        predictions[t] = judge_of(judge, guesses)
        charge(judge, guesses, y[t])
        learn(runs, missed)
        spread[SQUARES] += x[PREDICTION] * x[PREDICTION]
        spread[ROUNDS] += 1.0
        for i in range(places):
            b[i] = fade * b[i] + x[i] * missed
            row, xi = A[i], x[i]
            for j in range(i + 1):
                row[j] = fade * row[j] + xi * x[j]
        if looks_back:
            remember(labels, y[t])
            remember(errors, missed)
