"""A corrected label outside the moments: the past, the trial of history, the range of labels."""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.auto.engine import BEFORE
from keyhole.learners.blocks.auto.last_layer import Layer
from keyhole.learners.blocks.auto.mixture import HIGH, LOW, Mixture, start_anew
from keyhole.learners.blocks.auto.ring import slots
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, Settings, State
from keyhole.learners.blocks.sums.past_labels import HALF_LIVES, LAST_LABELS, Past

ROUNDS, LEVEL, SQUARES = 2, 3, 4  # in `State.trial`
HALF = 0.5  # of the range of the labels: a wrong label that made up more is taken out of it


def relabel_past(last: Layer, age: int, more: float) -> None:
    """The label with `age` labels told after it is larger by so much, and so is its error."""
    fades = 0.5 ** (age / np.array(HALF_LIVES))
    for past in (last.labels, last.errors):
        _relabel(past, age, more, fades * more)


def _relabel(past: Past, age: int, more: float, faded: np.ndarray) -> None:
    if age >= past.told[0]:
        return  # the first label of all has no error
    past.faded[:] += faded
    if age < LAST_LABELS:
        past.last[age] += more


def relabel_trial(state: State, before: float, now: float) -> None:
    """The mean of the labels since history, and their squares about it."""
    trial, more = state.trial, now - before
    if trial[ROUNDS] == 0.0:
        return
    old, mean = trial[LEVEL], trial[LEVEL] + more / trial[ROUNDS]
    trial[SQUARES] = max(trial[SQUARES] + more * (now + before - mean - old), 0.0)
    trial[LEVEL] = mean


def range_without(state: State, before: float) -> tuple[float, float] | None:
    """The range of the labels without the wrong one, if that made up more than half of it.

    The ring has the right label by now. Where it has all labels, the range is theirs; else only the
    side where the wrong one was is cut off, and only if that label explains most of it: older
    labels may have lain there. None: the range stays, at most widened.
    """
    ring, (low, high) = state.ring, state.mixture.span.tolist()
    there = slots(ring)
    least, most = float(ring.labels[there].min()), float(ring.labels[there].max())
    if least <= before <= most:
        return None
    if np.count_nonzero(ring.folds[there]) == state.label.reads[0]:
        ends = least, most
    elif before > most:
        ends = low, most if before - most > HALF * (high - most) else high
    else:
        ends = least if least - before > HALF * (least - low) else low, high
    return ends if ends[1] - ends[0] < HALF * (high - low) else None


def widen(mixture: Mixture, label: float) -> None:
    """Have this label within the range."""
    mixture.span[LOW] = np.fmin(mixture.span[LOW], label)
    mixture.span[HIGH] = np.fmax(mixture.span[HIGH], label)


def begin_anew(s: Settings, state: State, last: Layer, ends: tuple[float, float]) -> None:
    """Both mixtures and the last layer begin anew, with this range of labels.

    What they know was learnt from squares of a label that was far out, and never was.
    """
    for mixture in (state.mixture, last.judge) if last.there else (state.mixture,):
        start_anew(mixture)
        mixture.span[:] = ends
    for sums in (last.A, last.b, last.spread, last.root, last.along):
        sums[:] = 0.0
    state.trial[:] = 0.0
    state.trial[BEFORE] = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]]
