"""AutoLearner's rounds: predict, learn, and close a batch; and many of them in one call."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.mixture import bold_shares
from keyhole.learners.blocks.auto.state import Auto, Settings, State
from keyhole.problem import Floats, Indices


def played_shares(s: Settings, state: State, batch: Batch) -> Floats:
    """Proper mode: what each expert's weights count in the model that is played.

    Those of v weights from n rounds are taken n / (n + v) times, about what VAW makes of them in
    the mean; VAW itself looks at x first.
    """
    shares, size, memory = bold_shares(state.mixture), batch.runs.size, s.experts.memory
    n = (state.kept.n[:, -1] * state.kept.scale)[memory]
    fixed = (memory >= 0) & (size > 0)
    return shares * np.where(fixed, n / np.where(fixed, n + size, 1.0), 1.0)


@c_function("kh_predict_auto", "values[read] past[.]", room="room+4*read")
def predict_row(auto: Auto, batch: Batch, values: Floats, past: Floats) -> float:
    """The prediction for the values of S, given what the past said then; nothing is learnt."""
    raise NotImplementedError


@c_function("kh_learn_auto", "values[read] past[.]", room="room+4*read")
def learn_row(auto: Auto, batch: Batch, values: Floats, y: float, past: Floats) -> None:
    """Predict and learn a row, given what the past said when it was asked.

    What is learnt is the same in `play`: there the past is what it says by then.
    """
    raise NotImplementedError


@c_function("kh_finish_auto", room="room+3*read*read+longest*read+4*slots*read+16*read")
def finish(auto: Auto, batch: Batch) -> None:
    """Take a batch into all sums: centres first, then moments around them, then the net."""
    raise NotImplementedError


_BLOCK = "clock[6] X[rows,d] y[rows] bought[rows,width] predictions[rows]"
_WRITTEN = "clock bought predictions"


@c_function("kh_play_auto", _BLOCK, writes=_WRITTEN, room="room+items", long=True)
def play(
    auto: Auto,
    batch: Annotated[Batch, "read=width"],
    clock: Indices,
    X: Floats,
    y: Floats,
    bought: NDArray[np.int32],
    predictions: Floats,
) -> int:
    """Rounds of a block, batch by batch, as in `Block`: how many before one with too large a value.

    The clock, which goes on, is the number of rounds asked so far, and of the batch its number, how
    many rounds it has, how many of them were asked and are closed, how many features it reads: with
    prices it may need less than its room, see `narrowed`.
    """
    raise NotImplementedError


@c_function("kh_play_auto", _BLOCK, writes=_WRITTEN, room="room+items", long=True)
def play_on(
    auto: Auto,
    batch: Batch,
    clock: Indices,
    X: Floats,
    y: Floats,
    bought: NDArray[np.int32],
    predictions: Floats,
) -> int:
    """As `play`, of a batch that has begun, and no rounds beyond its end."""
    raise NotImplementedError
