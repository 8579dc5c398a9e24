"""What AutoLearner is made of: its settings, its state, and the batch it is playing.

All three are tuples of numbers and arrays, so that compiled code takes them as they are. A number
that compiled code changes is an array of length 1.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.auto.experts import ExpertTable, list_experts, table
from keyhole.blocks.auto.layer import Layer, layer
from keyhole.blocks.auto.mixture import Mixture, mix
from keyhole.blocks.auto.parts import AutoParts
from keyhole.blocks.draw.keyed import uniform
from keyhole.blocks.fit.ensemble import Ensemble, ensemble
from keyhole.blocks.greedy.odds import Odds, odds
from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.memories import Memories, memories
from keyhole.blocks.sums.running import Running, running
from keyhole.fields import AT_LEAST_0, MAY_BE_NAN, MAY_OVERFLOW, Features, Holds
from keyhole.problem import Floats, Indices, Problem

KEPT, NET, EXPLORED = 0, 1, 2  # why a feature is read
UNREAD = -1
ONLY = 0  # the place of the number in an array of length 1
LONGEST_MEMORY = 0
ALL = -1  # for `Space.many`: marks are not listed
DRAWN = 256  # features that are looked at before a batch beside those with a seat, at least
SHORT = 4  # rounds of a batch, as a rule, while the features are few times d / budget
FIRST_READS = (1 << 20) + 3  # the purpose of the draw where the order of first reads begins


class Settings(NamedTuple):
    """Sizes and constants; none of them changes.

    `width`: features read at most, and without prices always; `pool`: features kept at most;
    `slots`: those the safety net plays (0: no net); `net`: those it reads; `thresholds`:
    the standard errors that make a feature significant, by memory; `past`: whether the last layer
    looks at it; `fade`: what its sums keep per round. `seats`: features whose pairs are kept; where
    those are not all, `drawn` are looked at beside them, and the order in which features are first
    read is first, first + stride, first + 2 stride, ..., modulo d. The rest is as in `AutoParts`.
    """

    d: int
    k: int
    width: int
    pool: int
    slots: int
    net: int
    thresholds: Floats
    optimism: float
    far: float
    shortest: int
    longest: int
    growth: int
    proper: bool
    seed: np.uint64
    experts: ExpertTable
    past: bool
    fade: float
    seats: int
    drawn: int
    first: int
    stride: int


def settings(
    problem: Problem, parts: AutoParts, *, proper: bool, past: bool, seed: int
) -> Settings:
    """The settings of an AutoLearner put together from these parts.

    A memory that forgets may be bolder: what it chose wrongly it forgets too. Not in proper mode,
    where its choice is all that is played, and not where there is little room, because what it
    chose wrongly would take the place of something better.
    """
    pool, slots, net, threshold = parts.sizes(problem)
    d, seats, growth = problem.d, parts.seats(problem), parts.growth
    if seats < d:
        growth = max(growth, SHORT * d // problem.width)
    cautious = proper or pool < 2 * problem.k
    thresholds = [
        threshold if cautious or tau == math.inf else threshold - parts.bolder for tau in parts.taus
    ]
    return Settings(
        problem.d,
        problem.k,
        problem.width,
        pool,
        slots,
        net,
        np.array(thresholds),
        parts.optimism,
        parts.far,
        parts.shortest,
        parts.longest,
        min(growth, 1 << 62),  # no game gets there, and compiled code takes no more
        proper,
        np.uint64(seed),
        table(list_experts(parts.experts, parts.taus, proper=proper), len(parts.taus)),
        past,
        math.exp(-1.0 / parts.layer_memory),
        seats,
        max(DRAWN, math.isqrt(d)) if seats < d else 0,
        int(uniform(np.uint64(seed), 0, FIRST_READS, 0) * d),
        _stride(d),
    )


def _stride(d: int) -> int:
    """A number without a common divisor with d, near a golden section of it: neighbours in the
    order of first + i stride (modulo d) are far apart, and each feature comes once.
    """
    stride = max(1, round(0.6180339887498949 * d))
    while math.gcd(stride, d) > 1:
        stride += 1
    return stride


class Net(NamedTuple):
    """The sums of the safety net's budgeted experts (see `greedy/experts.py`), a row per slot."""

    L: Floats
    squares: Annotated[Floats, MAY_OVERFLOW]
    largest: Annotated[Floats, AT_LEAST_0]


class Space(NamedTuple):
    """Room to work in. Nothing here outlives a call but `odds`, which follow from the net's sums.

    `picked[m]` features, `chosen[m]` in order, are what memory m finds significant; `r`, `D`,
    `noise`, `gains` are those of `Selection`, by seat. `why`: KEPT, NET, EXPLORED or UNREAD, by
    feature; `marked` lists the first `many` features that are not UNREAD, and others may be if
    `many` is ALL. `candidates`: what may be explored, where that is not everything; `score`: what
    each of them promises, or with prices each feature.
    """

    L: Floats  # width + 3 x seats
    r: Floats  # memory x seats
    D: Floats
    noise: Floats
    chosen: Indices  # memory x width
    gains: Floats
    picked: Indices
    ready: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    why: np.ndarray[tuple[int, ...], np.dtype[np.int8]]
    marked: Indices
    many: Indices
    candidates: Indices
    score: Floats
    odds: Odds  # of the net
    square: Floats  # places x places


class State(NamedTuple):
    """What AutoLearner has learnt. Sums; extremes: `peaks`, the largest centred value of each
    feature, and the range of the labels in the mixture. `studied`: how many rows of history.
    `trial`: what the memory with it had lost when it was studied, what the mean of the labels since
    has lost, their number, mean and sum of squares about it; `aside`: how many rows of it were set
    aside because they misled, and how many labels there were by then, those of history included,
    see `mistrust.py`.
    `lead`: the memory that leads, and how many labels were told when it took the lead. `played`:
    the rounds in which each feature was in the model, and last all rounds that were counted.
    `walk`: how far features have come up to be read for the first time, see `explore.py`.
    `evidence`: what the reads of each feature say about it, see `evidence.py`; room for none where
    all have a seat. With prices, `rate`: the gain in mean squared error that one unit of money must
    bring, and `purse`: the units that are left.

    The last layer stands beside it, because arrays that come along cost time in every call.
    """

    kept: Memories
    values: Running
    label: Running
    peaks: Annotated[Floats, AT_LEAST_0]
    mixture: Mixture
    net: Net
    studied: Indices
    trial: Annotated[Floats, Holds(least=(0.0, 0.0, 0.0, -math.inf, 0.0))]
    aside: Annotated[Indices, Holds(shape=(2,))]
    lead: Annotated[Indices, Holds(shape=(2,))]
    played: Indices
    walk: Annotated[Indices, Holds(below="d")]
    evidence: Floats  # d x 2
    rate: Annotated[Floats, AT_LEAST_0]
    purse: Indices
    space: Space


class Batch(NamedTuple):
    """A few rounds that read the same features S (ascending), place by place.

    `why`: KEPT, NET or EXPLORED. `centre`, `label`: what is subtracted, NaN before any value was
    seen. `peak`: the largest centred value so far; one beyond `far` times that is cut off there
    before it is used to predict. `values`, `labels`: the rounds told, `rows` of them. `slots`,
    `p`, `weight`: the draw of the net's experts: the place each plays, with which probability they
    play each place, and what its loss counts.
    """

    S: Features
    why: Annotated[NDArray[np.int8], Holds(most=EXPLORED)]
    runs: Ensemble
    centre: Annotated[Floats, MAY_BE_NAN]
    peak: Annotated[Floats, AT_LEAST_0]
    label: Annotated[Floats, MAY_BE_NAN]
    values: Annotated[Floats, MAY_BE_NAN]
    labels: Floats
    rows: Annotated[Indices, Holds(most="closed")]
    slots: Annotated[Indices, Holds(below="S")]
    p: Annotated[Floats, AT_LEAST_0]
    weight: Floats


class Clock(NamedTuple):
    """Where the game stands: rounds asked in all, and the current batch.

    Of the batch: its number, how many rounds it has, how many of them were asked and are closed.
    """

    round: int
    number: int
    size: int
    asked: int
    closed: int


def new_state(s: Settings, parts: AutoParts) -> State:
    """Nothing learnt yet."""
    m, d, room = len(parts.taus), s.d, s.width + 1
    space = Space(
        np.empty((s.width + 3, s.seats)),
        np.zeros((m, s.seats)),
        np.zeros((m, s.seats)),
        np.zeros(m),
        np.empty((m, s.width), dtype=np.int64),
        np.empty((m, s.width)),
        np.zeros(m, dtype=np.int64),
        np.empty(s.seats, dtype=np.bool_),
        np.full(d, UNREAD, dtype=np.int8),
        np.empty(2 * s.width, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(s.seats + s.drawn, dtype=np.int64),
        np.empty(s.seats + s.drawn),
        odds(s.slots, d),
        np.empty((room, room)),
    )
    net = Net(np.zeros((s.slots, d)), np.zeros(s.slots), np.zeros(s.slots))
    experts = list_experts(parts.experts, parts.taus, proper=s.proper)
    mixture = mix([float(expert.heard) for expert in experts], parts.bold)
    learnt = memories(d, parts.taus, s.seats), running(d), running(1), np.zeros(d), mixture, net
    studied, aside, lead, played, walk, purse = (
        np.zeros(length, dtype=np.int64) for length in (1, 2, 2, d + 1, 1, 1)
    )
    evidence = np.zeros((d if s.seats < d else 0, 2))
    trusted = studied, np.zeros(5), aside
    return State(*learnt, *trusted, lead, played, walk, evidence, np.zeros(1), purse, space)


def new_layer(s: Settings, parts: AutoParts) -> Layer:
    """A last layer that has seen nothing.

    What proper mode plays stays a linear model: nothing bends it.
    """
    return layer(parts.kinks if not s.proper else () if s.past else None, past=s.past)


def new_batch(s: Settings, width: int | None = None) -> Batch:
    """An empty batch, to be filled: of as many features as are read at most, or of `width`."""
    return room_for(
        s.width if width is None else width, len(s.experts.features), s.slots, s.longest
    )


@kernel
def room_for(b: int, experts: int, slots: int, longest: int) -> Batch:
    """An empty batch of b features."""
    return Batch(
        np.zeros(b, dtype=np.int64),
        np.zeros(b, dtype=np.int8),
        ensemble(experts, b + 1),
        np.zeros(b),
        np.zeros(b),
        np.zeros(1),
        np.zeros((longest, b)),
        np.zeros(longest),
        np.zeros(1, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros((slots, b)),
        np.zeros((slots, b)),
    )


def tidy(batch: Batch) -> Batch:
    """A copy without what is left in cells that are not in use: of equal batches, equal bytes."""
    runs, rows = batch.runs, int(batch.rows[ONLY])
    values, labels = np.zeros_like(batch.values), np.zeros_like(batch.labels)
    values[:rows], labels[:rows] = batch.values[:rows], batch.labels[:rows]
    used = ensemble(*runs.place.shape)
    for e, v in enumerate(runs.size.tolist()):
        used.size[e] = v
        used.place[e, :v], used.theta[e, :v] = runs.place[e, :v], runs.theta[e, :v]
        used.P[e, :v, :v] = runs.P[e, :v, :v]
    return batch._replace(values=values, labels=labels, runs=used)


def batch_size(s: Settings, t: int) -> int:
    """Rounds of a batch that begins after t rounds."""
    return min(s.longest, max(s.shortest, t // s.growth))
