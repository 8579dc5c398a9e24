"""History that misleads: how it is noticed while playing, and what is then forgotten of it."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.auto.experts import ON_NOTHING
from keyhole.blocks.auto.layer import CONSTANT, Layer
from keyhole.blocks.auto.mixture import ROUNDS as CHARGED
from keyhole.blocks.auto.mixture import start_over
from keyhole.blocks.auto.state import LONGEST_MEMORY, ONLY, Settings, State
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.memories import COUNT, Memories, copy_memory
from keyhole.blocks.sums.running import forget, spread

WORSE = 1.25  # times what the mean of the labels loses: so much at least shows that it misleads
SURE = 32.0  # variances of the label: and so much more at least
LAYER_ROUNDS = 64.0  # what the last layer learnt before then counts as much as so many rounds,
ALIKE = 4.0  # unless labels have a variance so many times less or more than before
WITH_HISTORY, MEAN, ROUNDS = 0, 1, 2  # in `State.trial`
ROWS, LABELS = 0, 1  # in `State.aside`


@inner
def trusts_history(state: State) -> bool:
    """Whether there is history that was not set aside."""
    return bool(state.studied[ONLY] > state.aside[ROWS])


@inner
def _mean_loss(s: Settings, state: State) -> float:
    # What the mean of the labels has lost in all rounds; infinite if no expert guesses it.
    for e in range(len(s.experts.features)):
        if s.experts.features[e] == ON_NOTHING:
            return float(state.mixture.losses[e])
    return np.inf


@kernel
def begin_trial(s: Settings, state: State) -> None:
    """History was studied: whether it misleads is judged by what is lost from here on."""
    trial, mean = state.trial, _mean_loss(s, state)
    trial[WITH_HISTORY] = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]]
    trial[MEAN] = mean if mean < np.inf else 0.0
    trial[ROUNDS] = state.mixture.noise[CHARGED]


@inner
def _misleads(s: Settings, state: State) -> bool:
    # Whether the memory with the history predicts worse than the mean of the labels, by far and
    # beyond what a few labels far out can do. If no expert guesses the mean, it never does.
    trial, mixed = state.trial, state.mixture
    lost = mixed.losses[s.experts.judges[LONGEST_MEMORY]] - trial[WITH_HISTORY]
    mean = _mean_loss(s, state) - trial[MEAN]
    rounds = max(mixed.noise[CHARGED] - trial[ROUNDS], 1.0)
    scatter = max(spread(state.label, ONLY), mean / rounds)
    return bool(lost > WORSE * mean and lost - mean > SURE * scatter)


@inner
def set_aside_if_misled(s: Settings, state: State, last: Layer) -> None:
    """Go on as if nothing had been studied, once history is found to mislead.

    The memory that held it has from then on what the next one has, which is rounds alone. Features
    that were not read in those are new again, and nobody is known to predict well or badly. The
    last layer keeps a little of what it learnt, because how labels follow one another may be true
    all the same; nothing, if labels vary much less or more than they did.
    """
    if not (trusts_history(state) and _misleads(s, state)):
        return
    kept = state.kept
    _keep_little(last, spread(state.label, ONLY), kept)
    copy_memory(kept, LONGEST_MEMORY, 1)
    start_over(state.mixture)
    start_over(last.judge)
    for j in range(s.d):
        a = kept.seat[j]
        if (kept.n[LONGEST_MEMORY, a] if a >= 0 else kept.rest[LONGEST_MEMORY, j, COUNT]) == 0.0:
            forget(state.values, j)
            state.peaks[j] = 0.0
    state.evidence[:] = 0.0
    state.aside[ROWS], state.aside[LABELS] = state.studied[ONLY], state.label.reads[ONLY]


@inner
def _keep_little(last: Layer, variance: float, kept: Memories) -> None:
    # Of the last layer, given the variance of all labels and the memory that has rounds alone.
    if len(last.b) == 0:
        return
    now, rounds = 0.0, last.A[CONSTANT, CONSTANT]
    if len(kept.tau) > 1 and kept.n[1, -1] > 0.0:
        mean = kept.c[1, -1] / kept.n[1, -1]
        now = kept.yy[1] / kept.n[1, -1] - mean * mean
    alike = variance < ALIKE * now and now < ALIKE * variance
    share = LAYER_ROUNDS / max(rounds, LAYER_ROUNDS) if alike else 0.0
    last.A[:] *= share
    last.b[:] *= share
    last.spread[:] *= share
