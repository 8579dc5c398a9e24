"""History that misleads: how it is noticed while playing, and what is then forgotten of it."""

from __future__ import annotations

from keyhole.blocks.auto.layer import CONSTANT, Layer
from keyhole.blocks.auto.mixture import start_over
from keyhole.blocks.auto.state import LONGEST_MEMORY, ONLY, Settings, State
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.memories import COUNT, copy_memory, forget, shift_labels
from keyhole.blocks.sums.running import centre, forget_one, restate, spread
from keyhole.problem import Floats

WORSE = 1.25  # times what the mean of the labels loses: so much at least shows that it misleads
SURE = 32.0  # variances of the label: and so much more at least
FEWEST = 8.0  # rounds: fewer say too little about the mean
LAYER_ROUNDS = 64.0  # what the last layer learnt before then counts as much as so many rounds
ALIKE = 4.0  # times the variance: labels that vary or have moved more are of another kind
BEFORE, LOST, ROUNDS, LEVEL, SQUARES = 0, 1, 2, 3, 4  # in `State.trial`
ROWS, LABELS = 0, 1  # in `State.aside`


@inner
def trusts_history(state: State) -> bool:
    """Whether there is history that was not set aside."""
    return bool(state.studied[ONLY] > state.aside[ROWS])


@kernel
def begin_trial(s: Settings, state: State) -> None:
    """History was studied: whether it misleads is judged by the labels from here on."""
    state.trial[:] = 0.0
    state.trial[BEFORE] = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]]


@inner
def note_labels(trial: Floats, y: Floats) -> None:
    """What their own mean so far, without those of history, would have lost on these labels."""
    for t in range(len(y)):
        missed = y[t] - trial[LEVEL]
        trial[LOST] += missed * missed if trial[ROUNDS] > 0.0 else 0.0
        trial[ROUNDS] += 1.0
        trial[LEVEL] += missed / trial[ROUNDS]
        trial[SQUARES] += missed * (y[t] - trial[LEVEL])


@inner
def _misleads(s: Settings, state: State) -> bool:
    # Whether the memory with the history predicts worse than the mean of the labels since, by far
    # and beyond what a few labels far out can do.
    trial, rounds = state.trial, state.trial[ROUNDS]
    lost = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]] - trial[BEFORE]
    scatter = max(spread(state.label, ONLY), trial[LOST] / max(rounds, 1.0))
    much = lost > WORSE * trial[LOST] and lost - trial[LOST] > SURE * scatter
    return bool(rounds >= FEWEST and much)


@inner
def set_aside_if_misled(s: Settings, state: State, last: Layer) -> None:
    """Go on as if nothing had been studied, once history is found to mislead.

    The memory that held it has from then on what the next one has, which is rounds alone; features
    that were not read in those are new again; labels count as if all had been like those since; and
    nobody is known to predict well or badly. The last layer keeps a little of what it learnt,
    because how labels follow one another may be true all the same.

    If labels vary much more or less than before, or have moved, even rounds have been taken in with
    a centre that was wrong and moving. Then the memories and the layer keep nothing.
    """
    if not (trusts_history(state) and _misleads(s, state)):
        return
    kept, before, old = state.kept, centre(state.label, ONLY), spread(state.label, ONLY)
    now = state.trial[SQUARES] / state.trial[ROUNDS]
    restate(state.label, ONLY, state.trial[LEVEL], now)
    moved = before - centre(state.label, ONLY)
    alike = old < ALIKE * now and now < ALIKE * old and moved * moved < ALIKE * now
    if alike:
        copy_memory(kept, LONGEST_MEMORY, 1)
    for m in range(len(kept.tau)):
        if alike:
            shift_labels(kept, m, moved)
        else:
            forget(kept, m, 0.0)
    for j in range(s.d):
        a = kept.seat[j]
        if (kept.n[LONGEST_MEMORY, a] if a >= 0 else kept.rest[LONGEST_MEMORY, j, COUNT]) == 0.0:
            forget_one(state.values, j)
            state.peaks[j] = 0.0
    state.evidence[:] = 0.0
    start_over(state.mixture)
    start_over(last.judge)
    if len(last.b) > 0:
        _keep_some(last, LAYER_ROUNDS if alike else 0.0)
    state.aside[ROWS], state.aside[LABELS] = state.studied[ONLY], state.label.reads[ONLY]


@inner
def _keep_some(last: Layer, rounds: float) -> None:
    # Let what the last layer learnt count as much as so many rounds, if it counts more.
    share = rounds / max(last.A[CONSTANT, CONSTANT], rounds) if rounds > 0.0 else 0.0
    last.A[:] *= share
    last.b[:] *= share
    last.spread[:] *= share
