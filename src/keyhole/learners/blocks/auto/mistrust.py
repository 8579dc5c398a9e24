"""History that misleads: how it is noticed while playing, and what is then forgotten of it.

Before a batch is chosen, history is set aside if the memory with it predicts worse than the mean of
the labels since, by far and beyond what a few labels far out can do. The learner then goes on as if
nothing had been studied. The memory that held it has what the next one has, which is rounds alone;
features that were not read in those are new again; labels count as if all had been like those
since; and nobody is known to predict well or badly. The last layer keeps a little of what it
learnt, because how labels follow one another may be true all the same.

If labels vary much more or less than before, or have moved, even rounds have been taken in with a
centre that was wrong and moving. Then the memories and the layer keep nothing.

This is `core/c/auto_mistrust.c`, which has the same numbers.
"""

from __future__ import annotations

from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, Settings, State

WORSE = 1.25  # times what the mean of the labels loses: so much at least shows that it misleads
SURE = 32.0  # variances of the label: and so much more at least
FEWEST = 8.0  # rounds: fewer say too little about the mean
LAYER_ROUNDS = 64.0  # what the last layer learnt before then counts as much as so many rounds
ALIKE = 4.0  # times the variance: labels that vary or have moved more are of another kind
BEFORE = 0  # in `State.trial`
ROWS, LABELS = 0, 1  # in `State.aside`


def begin_trial(s: Settings, state: State) -> None:
    """History was studied: whether it misleads is judged by the labels from here on."""
    state.trial[:] = 0.0
    state.trial[BEFORE] = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]]
