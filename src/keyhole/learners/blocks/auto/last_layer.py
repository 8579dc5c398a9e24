"""The last layer: bends what the experts predict, and adds what the past says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.learners.blocks.auto.mixture import Mixture, mix, shares
from keyhole.learners.blocks.sums.past_labels import (
    LAST_LABELS,
    PAST_INPUTS,
    PAST_NAMES,
    Past,
    no_past,
)
from keyhole.problem import Floats, Indices
from keyhole.problem.state import AT_LEAST_0, Holds

UNCHANGED, BENT, WITH_PAST = 0, 1, 2  # the guesses that are judged
PAST = 2 * PAST_INPUTS  # inputs of the past: made of labels, then of errors
GUESSES = ("as it is", "bent", "with the past")
LAYER_PAST_NAMES = (*PAST_NAMES, *(name.replace("label", "error") for name in PAST_NAMES))
BOLD = 0.5  # the prior weight of the bold average among them


class Layer(NamedTuple):
    """A regression of what a prediction missed on the prediction itself and on the past.

    With p the prediction, c the centre of the label, g = p - c and u the root mean square of g so
    far, the inputs are

        x = (1, g, |g - kink_1 u|, ..., |g - kink_h u|, past)

    where the past is the last labels and faded means of labels, less c, and the same of what p
    missed (see `Past`), 0 where there is none yet. Two VAWs guess y - p from them: one without
    the past (BENT: p on a line with kinks, because predictions cut off at the range of the labels,
    or labels that are no linear function, are off in a way that p itself tells), one with it
    (WITH_PAST). They learn when a batch begins, from all rounds before. A mixture judges them
    beside p UNCHANGED, so that little is lost where they know nothing.

    Sums: `A`, `b` of x x' and x (y - p), discounted; `spread` of g; the pasts; those of `judge`.
    Derived, as of the last `begin`: `unit` is u; `root` is L^-1, where L L' = A with its ridge, and
    `along` is L^-1 b. With z = L^-1 x a VAW guesses z'L^-1 b / (1 + z'z), and as BENT has the
    leading inputs, its guess is made of the leading entries of the same two vectors.

    Without inputs there is no layer.
    """

    kinks: Annotated[Floats, Holds(constant=True), "kinks"]
    A: Annotated[Floats, "inputs inputs"]  # its lower triangle
    b: Annotated[Floats, "inputs"]
    spread: Annotated[Floats, AT_LEAST_0, "2"]
    unit: Annotated[Floats, AT_LEAST_0, "1"]
    labels: Past
    errors: Past
    root: Annotated[Floats, "inputs inputs"]  # transposed, so that sums run along rows
    along: Annotated[Floats, "inputs"]
    judge: Annotated[Mixture, "E=guesses"]

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
        np.zeros((places, places)),
        np.zeros(places),
        mix(np.ones(runs + 1), BOLD),
    )


def past_weights(last: Layer) -> dict[str, float]:
    """What a unit of each input of the past adds to the prediction now, by name."""
    if len(last.judge.recent) <= WITH_PAST:
        return {}
    share, first = float(shares(last.judge)[WITH_PAST]), 2 + len(last.kinks)
    theta: Floats = last.root @ last.along
    return dict(zip(LAYER_PAST_NAMES, (share * theta[first:]).tolist(), strict=True))


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


@c_function("kh_know", f"past[{PAST}]", writes="past")
def know(last: Layer, past: Floats) -> None:
    """Write what the past says now, in the units of the label; NaN where it says nothing yet."""
    raise NotImplementedError


def noted(last: Layer) -> tuple[Floats, Indices]:
    """What the past says now, for a ticket, which holds finite numbers: 0 where it says nothing.

    And how many labels and errors were told, as far as that decides what is known: `recalled`
    makes of both what `know` wrote.
    """
    past, told = np.empty(PAST), np.empty(2, dtype=np.int64)
    _note(last, past, told)
    past.flags.writeable = told.flags.writeable = False
    return past, told


@c_function("kh_note_past", f"past[{PAST}] told[2]", writes="past told")
def _note(last: Layer, past: Floats, told: Indices) -> None:
    raise NotImplementedError


def recalled(past: Floats, told: Indices) -> Floats:
    """What the past said, NaN where it said nothing.

    >>> recalled(np.ones(PAST), np.array([1, 0]))
    array([ 1., nan,  1.,  1.,  1., nan, nan, nan, nan, nan])
    """
    known = np.array(past)
    for first, many in zip((0, PAST_INPUTS), told.tolist(), strict=True):
        if many < LAST_LABELS:
            known[first + many : first + LAST_LABELS] = np.nan
        if not many:
            known[first + LAST_LABELS : first + PAST_INPUTS] = np.nan
    return known


@c_function("kh_begin_layer", room="inputs*inputs+2*inputs")
def begin(last: Layer, variance: float) -> None:
    """Learn what the sums know by now, when labels have this variance.

    The ridge is one round of the constant, and one label that shows an input at the size of the
    labels' standard deviation. Before labels differ there is nothing to guess.
    """
    raise NotImplementedError


@c_function("kh_foresee", "past[.]", room=f"2*inputs+guesses+{PAST}+1")
def foresee(last: Layer, prediction: float, centre: float, past: Floats) -> float:
    """What to predict instead, given what the past said when the ticket was asked."""
    raise NotImplementedError


@c_function(
    "kh_correct",
    "pasts[.,.] y[rows] predictions[rows]",
    writes="predictions",
    room=f"2*inputs+{PAST}+rows*guesses+rows",
)
def correct(
    last: Layer, fade: float, centre: float, pasts: Floats, y: Floats, predictions: Floats
) -> None:
    """Put what is foreseen in place of predictions, and learn the labels, one after the other.

    `pasts` is what the past said when each round was asked; without rows, it is what it says then.
    Sums fade by a factor a round. A centre that is unknown (NaN) becomes the first label: that
    label tells the range, is a part of the past, and is no one's fault: all guesses count as right.
    """
    raise NotImplementedError
