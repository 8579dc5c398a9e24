"""AutoLearner's engine in C: choose or buy a batch's features, play its rounds, study history.

These numbers stand in `core/c/auto_shop.c`, `auto_explore.c` and `auto_mistrust.c` too.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.core.records import hold
from keyhole.learners.blocks.auto.batch import Batch, narrowed, new_batch
from keyhole.learners.blocks.auto.mixture import bold_shares
from keyhole.learners.blocks.auto.ring import seal
from keyhole.learners.blocks.auto.spending import Spending
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, Auto, Settings, State
from keyhole.problem import Floats, Indices

LOOK_OUT = 16  # of so many batches one has a net and explores, once history was studied


def leader(judges: Indices, recent: Floats) -> int:
    """The memory whose kept features predicted best of late, by the losses of its judge."""
    late = recent[judges].tolist()
    return min(range(len(late)), key=late.__getitem__)


ASIDE = 8  # one part in so many of the money explores, or what the cheapest feature costs,
COSTS = 80  # in few batches if that takes more than one part in so many of the gain:
OFTEN, AT_FIRST, BEGINNING, LATER = 4, 8, 64, 128  # one in so many: while a memory that forgets
# leads, else before and from batch BEGINNING on
BY_EVIDENCE = 4  # of so many batches one explores what reads speak for
OPTIMISM = 0.7  # standard errors, where money has a fixed worth

_OwnSpending = Annotated[
    Spending,
    "items=own_items needs=own_needs listed=d limit=own_limit horizon=own_horizon "
    "complete=own_complete",
]


def choose(auto: Auto, room: Batch, number: int, round: int, size: int) -> Batch:
    """A batch of `size` rounds that begins after `round` rounds, filled within the money.

    What memories find significant is kept, by rank; at the same rank that of the memory that did
    best of late comes first. Then the net is cast, if there is one, and what is left explores. It
    stands in `room`, which has place for as many features as are read at most.
    """
    return narrowed(room, _choose(auto, room, number, round, size))


@c_function("kh_choose", room="room+items")
def _choose(
    auto: Auto, batch: Annotated[Batch, "read=width"], number: int, round: int, size: int
) -> int:
    raise NotImplementedError


def choose_once(auto: Auto, spending: Spending, number: int) -> Indices:
    """What to buy for one example on terms of its own; nothing is learnt from the terms."""
    S = np.empty(auto.settings.d, dtype=np.int64)
    return S[: _choose_once(auto, spending, number, S)].copy()


@c_function("kh_choose_once", "S[d]", writes="S", room="room+own_items")
def _choose_once(auto: Auto, spending: _OwnSpending, number: int, S: Indices) -> int:
    raise NotImplementedError


def affordable(auto: Auto) -> Indices:
    """What the leading memory would choose with all the money of one example, in its order."""
    S = np.empty(auto.settings.width, dtype=np.int64)
    return S[: _affordable(auto, S)].copy()


@c_function("kh_affordable", "S[width]", writes="S", room="room+items")
def _affordable(auto: Auto, S: Indices) -> int:
    raise NotImplementedError


def reopen(auto: Auto, S: Indices) -> Batch:
    """A batch for a ticket that has none: all it read is learnt, the best of it predicts."""
    batch = hold(new_batch(auto.settings, len(S)))
    _reopen(auto, batch, S)
    return batch


@c_function("kh_reopen", "S[read]", room="room+2*read*read+16*read")
def _reopen(auto: Auto, batch: Batch, S: Indices) -> None:
    raise NotImplementedError


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
def learn_row(
    auto: Auto, batch: Batch, number: int, round: int, values: Floats, y: float, past: Floats
) -> None:
    """Predict and learn the row of a round, given what the past said when it was asked.

    What is learnt is the same in `play`: there the past is what it says by then.
    """
    raise NotImplementedError


@c_function("kh_finish_auto", room="room+items+3*read*read+longest*read+4*slots*read+16*read")
def finish(auto: Auto, batch: Batch, number: int) -> None:
    """Take a batch, by its number, into all sums: centres first, then moments, then the net."""
    raise NotImplementedError


@c_function("kh_empty_chain")
def forget_shapes(auto: Auto) -> None:
    """Shapes begin anew with the next row that is told."""
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


FIRST = 2**40  # batches of history are numbered from here on: their draws are no one else's


@c_function("kh_study_auto", "X[rows,d] y[rows]", room="room+items", long=True)
def study_rows(
    auto: Auto, batch: Annotated[Batch, "read=width"], X: Floats, y: Floats, keep: float
) -> None:
    """Take in complete rows, one after the other; before each, older sums count `keep` times.

    Each row is first played as a round of its own would be: so experts, their mixture and the last
    layer are judged on rows they had not seen, and know by the first round how good they are. Then
    all of its values go into the longest memory. The memories that forget stay as they are: if the
    world has changed since, they find out.

    What experts lose here is charged to no one: history may mislead, and what the mixture promises
    is about rounds. `batch` is room to work in.
    """
    raise NotImplementedError


WORSE = 1.25  # times what the mean of the labels loses: so much at least shows that it misleads
SURE = 32.0  # variances of the label: and so much more at least
FEWEST = 8.0  # rounds: fewer say too little about the mean
LAYER_ROUNDS = 64.0  # what the last layer learnt before then counts as much as so many rounds
ALIKE = 4.0  # times the variance: labels that vary or have moved more are of another kind
BEFORE = 0  # in `State.trial`
ROWS, LABELS = 0, 1  # in `State.aside`


def begin_trial(s: Settings, state: State) -> None:
    """History was studied: whether it misleads is judged by the labels from here on."""
    seal(state.ring)
    state.trial[:] = 0.0
    state.trial[BEFORE] = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]]
