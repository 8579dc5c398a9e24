"""What AutoLearner is made of: its settings and its state.

Tuples of numbers and arrays, which compiled code knows as structs of the same fields. A number that
compiled code changes is an array of length 1.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.numbers import exp
from keyhole.core.records import hold
from keyhole.learners.blocks.auto.chain import Chain, chain, chain_room
from keyhole.learners.blocks.auto.experts import ExpertTable, list_experts, table
from keyhole.learners.blocks.auto.last_layer import PAST, Layer, layer
from keyhole.learners.blocks.auto.mixture import Mixture, mix
from keyhole.learners.blocks.auto.parts import AutoParts
from keyhole.learners.blocks.auto.ring import Ring, ring
from keyhole.learners.blocks.auto.spending import Spending
from keyhole.learners.blocks.draw.odds import Odds, odds
from keyhole.learners.blocks.draw.philox import uniform
from keyhole.learners.blocks.sums.column_stats import Running, running
from keyhole.learners.blocks.sums.memories import Memories, memories
from keyhole.learners.blocks.sums.reach import SIZE
from keyhole.problem import Floats, Indices, Problem
from keyhole.problem.state import AT_LEAST_0, MAY_OVERFLOW, Holds

KEPT, NET, EXPLORED = 0, 1, 2  # why a feature is read
UNREAD = -1
LONGEST_MEMORY = 0
OWED, PLAYED, LEAST, MOST = 0, 1, 2, 3  # in `State.owed`
DRAWN = 256  # features that are looked at before a batch beside those with a seat, at least
SHORT = 4  # rounds of a batch, as a rule, while the features are few times d / budget
FIRST_READS = (1 << 20) + 3  # the purpose of the draw where the order of first reads begins


class Settings(NamedTuple):
    """Sizes and constants; none of them changes.

    `width`: features read at most, and where features cost the same always; `pool`: those kept at
    most; `slots`: those the safety net plays (0: no net); `net`: those it reads; `thresholds`:
    the standard errors that make a feature significant, by memory; `past`: whether the last layer
    looks at it; `fade`: what its sums keep per round. `seats`: features whose pairs are kept; where
    those are not all, `drawn` are looked at beside them, and the order in which features are first
    read is first, first + stride, first + 2 stride, ..., modulo d. `room`: how many numbers
    compiled code needs to work in, at most. The rest is as in `AutoParts`.
    """

    d: int
    k: int
    width: int
    pool: int
    slots: int
    net: int
    thresholds: Annotated[Floats, "memories"]
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
    room: int


def settings(
    problem: Problem, parts: AutoParts, *, counted: bool, proper: bool, past: bool, seed: int
) -> Settings:
    """The settings of an AutoLearner put together from these parts.

    `counted`: whether a budget is a number of features, and not money.

    A memory that forgets may be bolder: what it chose wrongly it forgets too. Not in proper mode,
    where its choice is all that is played, and not where there is little room, because what it
    chose wrongly would take the place of something better.
    """
    pool, slots, net, threshold = parts.sizes(problem, counted)
    d, seats, growth = problem.d, parts.seats(problem), parts.growth
    if seats < d:
        growth = max(growth, SHORT * d // problem.width)
    cautious = proper or pool < 3 * problem.k
    thresholds = [
        threshold if cautious or tau == math.inf else threshold - parts.bolder for tau in parts.taus
    ]
    experts = table(list_experts(parts.experts, parts.taus, proper=proper), len(parts.taus))
    s = Settings(
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
        experts,
        past,
        exp(-1.0 / parts.layer_memory),
        seats,
        max(DRAWN, math.isqrt(d)) if seats < d else 0,
        int(uniform(np.uint64(seed), 0, FIRST_READS, 0) * d),
        _stride(d),
        0,
    )
    return s._replace(room=_room(s, parts))


def _room(s: Settings, parts: AutoParts) -> int:
    """What choosing, buying, rounds, last layer, shapes and studying need at most, all together."""
    experts, memories = len(s.experts.features), len(parts.taus)
    inputs, width = len(parts.kinks or ()) + 2 + PAST, s.width
    looking = 9 * s.d + 4 * s.seats + 4 * memories
    net = 3 * s.net**2 + 8 * s.net + 4 * s.slots * (s.net + width + 1) + 32
    fitting = 6 * width**2 + 40 * (width + 1)
    rows = s.longest * (width + 2 * experts + 9) + 8 * experts + 16
    shapes = chain_room(s.d, width, parts.ring, parts.trees, parts.depth)
    return looking + net + fitting + rows + inputs**2 + 8 * inputs + shapes


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

    L: Annotated[Floats, "slots d"]
    squares: Annotated[Floats, MAY_OVERFLOW, "slots"]
    largest: Annotated[Floats, AT_LEAST_0, "slots"]


class Space(NamedTuple):
    """Room to work in. Nothing here outlives a call but `odds`, which follow from the net's sums.

    `picked[m]` features, `chosen[m]` in order, are what memory m finds significant; `r`, `D`,
    `noise`, `gains` are those of `Selection`, by seat. `why`: KEPT, NET, EXPLORED or UNREAD, by
    feature; the first `many` of `marked` are those that are not UNREAD. `candidates`: what may be
    explored; `score`: what each of them promises.
    """

    L: Annotated[Floats, "width+3 seats"]
    r: Annotated[Floats, "memories seats"]
    D: Annotated[Floats, "memories seats"]
    noise: Annotated[Floats, "memories"]
    chosen: Annotated[Indices, "memories width"]
    gains: Annotated[Floats, "memories width"]
    picked: Annotated[Indices, "memories"]
    ready: Annotated[NDArray[np.bool_], "seats"]
    why: Annotated[NDArray[np.int8], "d"]
    marked: Annotated[Indices, "d"]
    many: Annotated[Indices, "1"]
    candidates: Annotated[Indices, "looked"]
    score: Annotated[Floats, "looked"]
    odds: Odds  # of the net


class State(NamedTuple):
    """What AutoLearner has learnt. Sums; extremes: `peaks`, the largest centred value of each
    feature, and the range of the labels in the mixture. `studied`: how many rows of history.
    `trial`: what the memory with it had lost when it was studied, what the mean of the labels since
    has lost, their number, mean and sum of squares about it; `aside`: how many rows of it were set
    aside because they misled, and how many labels there were by then, those of history included,
    see `mistrust.py`. `owed`: what `AutoLearner.bound` adds for mixtures that began anew, what
    predictions have lost since they did, and the lowest and the highest of the labels of `trial`.
    `lead`: the memory that leads, and how many labels were told when it took the lead. `played`:
    the rounds in which each feature was in the model, and last all rounds that were counted.
    `walk`: how far features have come up to be read for the first time. `evidence`: what the reads
    of each feature say about it (`core/c/auto_evidence.c`). `purse`: the units of money that are
    left. `reach`: how far the values of each feature, and in the last row labels, reach
    (`reach.py`). `ring`: the rows told last.
    """

    kept: Memories
    values: Annotated[Running, "n=d"]
    label: Annotated[Running, "n=1"]
    peaks: Annotated[Floats, AT_LEAST_0, "d"]
    mixture: Annotated[Mixture, "E=experts"]
    net: Net
    studied: Annotated[Indices, "1"]
    trial: Annotated[Floats, Holds(least=(0.0, 0.0, 0.0, -math.inf, 0.0)), "5"]
    aside: Annotated[Indices, Holds(shape=(2,)), "2"]
    owed: Annotated[Floats, Holds(least=(0.0, 0.0, -math.inf, -math.inf)), "4"]
    lead: Annotated[Indices, Holds(shape=(2,)), "2"]
    played: Annotated[Indices, "d+1"]
    walk: Annotated[Indices, Holds(below="d"), "1"]
    evidence: Annotated[Floats, "d 2"]
    purse: Annotated[Indices, "1"]
    reach: Annotated[Floats, "d+1 6"]
    ring: Ring
    space: Space


class Auto(NamedTuple):
    """All of a learner but its batches, as compiled code takes it."""

    settings: Settings
    state: State
    last: Layer
    chain: Chain
    spending: Spending


def new_auto(s: Settings, parts: AutoParts, spending: Spending, *, shapes: bool = False) -> Auto:
    """A learner that knows nothing yet."""
    behind = chain(s.width, parts.ring if shapes else 0, parts.trees, parts.depth)
    return held_together(s, new_state(s, parts), new_layer(s, parts), behind, spending)


def held_together(
    s: Settings, state: State, last: Layer, behind: Chain, spending: Spending
) -> Auto:
    """The parts of a learner with their structs: from here on arrays are filled, not replaced."""
    return hold(Auto(s, state, hold(last), behind, spending))


def new_state(s: Settings, parts: AutoParts) -> State:
    """Nothing learnt yet."""
    m, d = len(parts.taus), s.d
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
        np.empty(d, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(s.seats + s.drawn, dtype=np.int64),
        np.empty(s.seats + s.drawn),
        odds(s.slots, d),
    )
    net = Net(np.zeros((s.slots, d)), np.zeros(s.slots), np.zeros(s.slots))
    experts = list_experts(parts.experts, parts.taus, proper=s.proper)
    mixture = mix([float(expert.heard) for expert in experts], parts.bold)
    learnt = memories(d, parts.taus, s.seats), running(d), running(1), np.zeros(d), mixture, net
    studied, aside, lead, played, walk, purse = (
        np.zeros(length, dtype=np.int64) for length in (1, 2, 2, d + 1, 1, 1)
    )
    trusted = studied, np.zeros(5), aside, np.zeros(4)
    told = ring(parts.ring, s.width, s.seats if s.seats < d else 0)
    evidence, reach = np.zeros((d, 2)), np.zeros((d + 1, SIZE))
    return State(*learnt, *trusted, lead, played, walk, evidence, purse, reach, told, space)


def new_layer(s: Settings, parts: AutoParts) -> Layer:
    """A last layer that has seen nothing.

    What proper mode plays stays a linear model: nothing bends it.
    """
    return layer(parts.kinks if not s.proper else () if s.past else None, past=s.past)


def batch_size(s: Settings, t: int) -> int:
    """Rounds of a batch that begins after t rounds."""
    return min(s.longest, max(s.shortest, t // s.growth))
