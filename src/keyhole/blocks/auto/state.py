"""What AutoLearner is made of: its settings, its state, and the batch it is playing.

All three are tuples of numbers and arrays, so that compiled code takes them as they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keyhole.blocks.auto.mixture import Mixture, mix
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.fit.ensemble import Ensemble, ensemble
from keyhole.blocks.sums.memories import Memories, memories
from keyhole.blocks.sums.running import Running, running
from keyhole.problem import Floats, Indices

TAUS = (math.inf, 1024.0, 64.0)  # rounds the memories look back
LONGEST = 16  # rounds of a batch, once it is no longer the beginning
KEPT, NET, EXPLORED = 0, 1, 2  # why a feature is read
FAR = 2.0  # times the peak: beyond it a value is taken for a fault (a code for missing, say)
BOLDER = 0.8  # standard errors by which a memory that forgets may be bolder


class Settings(NamedTuple):
    """Sizes and constants; none of them changes.

    `pool`: features kept at most; `slots`: runs of the safety net's experts (0: no net); `net`:
    the features it reads; `threshold`: standard errors that make a feature significant; `ridge`:
    of a VAW, in squares of a feature's size, and `wide`: of the one on everything that is read;
    `optimism`: standard errors by which exploration lets a correlation be off.
    """

    d: int
    k: int
    budget: int
    pool: int
    slots: int
    net: int
    threshold: float
    ridge: float
    wide: float
    optimism: float
    proper: bool
    seed: np.uint64


def settings(d: int, k: int, budget: int, *, proper: bool, seed: int) -> Settings:
    """Who gets how much of the budget: explored at least an eighth, the net a sixth, the rest kept.

    Half of the net's share plays, the other half reads uniformly. Below a budget of 6, where it
    would take more than a third, there is no net; below 8 kept and explored features share what it
    leaves. Where everything is read, everything may be kept.

    >>> settings(100, 4, 24, proper=False, seed=0)[:6]
    (100, 4, 24, 17, 2, 4)
    >>> settings(100, 1, 2, proper=False, seed=0)[:6]
    (100, 1, 2, 1, 0, 0)
    """
    slots = max(1, budget // 12) if budget >= 6 else 0
    net, explored = 2 * slots, budget // 8
    pool = budget - net - explored if slots else max(1, budget - 1)
    if budget == d:
        pool, net = budget, d if slots else 0
    threshold = math.sqrt(2.0 * math.log(max(d, 2)))
    return Settings(
        d, k, budget, pool, slots, net, threshold, 1.0, 10.0, 0.35, bool(proper), np.uint64(seed)
    )


class Net(NamedTuple):
    """The sums of the safety net's budgeted experts (see `greedy/experts.py`), a row per slot."""

    L: Floats
    squares: Floats
    largest: Floats


class Space(NamedTuple):
    """Room to work in; nothing here outlives a call."""

    L: Floats  # pool + 3 x d
    r: Floats  # memory x d
    D: Floats
    noise: Floats
    chosen: Indices  # memory x pool
    gains: Floats
    picked: Indices  # how many each memory chose
    ready: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    why: np.ndarray[tuple[int, ...], np.dtype[np.int8]]  # of each feature, -1: not read
    score: Floats
    p: Floats  # slots x d
    draw: Indices  # for `kernels.sampling.subset`
    square: Floats  # places x places


class State(NamedTuple):
    """Everything AutoLearner has learnt. Sums; extremes: `peaks`, the largest centred value of each
    feature, and the range of the labels in the mixture.
    """

    kept: Memories
    values: Running
    label: Running
    peaks: Floats
    mixture: Mixture
    net: Net
    space: Space


class Batch(NamedTuple):
    """A few rounds that read the same features S (ascending), place by place.

    `why`: KEPT, NET or EXPLORED. `centre`, `label`: what is subtracted, NaN before any value was
    seen. `peak`: the largest centred value so far; one beyond `FAR` times that is cut off there
    before it is used to predict. `values`, `labels`: the rounds told, `rows[0]` of them. `slots`,
    `p`, `weight`: the draw of the net's experts: the place each plays, with which probability they
    play each place, and what its loss counts.
    """

    S: Indices
    why: np.ndarray[tuple[int, ...], np.dtype[np.int8]]
    runs: Ensemble
    centre: Floats
    peak: Floats
    label: Floats
    values: Floats
    labels: Floats
    rows: Indices
    slots: Indices
    p: Floats
    weight: Floats


class Places(NamedTuple):
    """Where the experts stand: first, for each memory, the one on its kept features; then these."""

    best: int  # the first of those on the best k, one for each memory
    net: int  # on what the safety net plays, with all that was ever read
    cold: int  # the same from nothing: Algorithm 2
    mean: int  # of the labels
    wide: int  # on everything that is read
    total: int


def places(memory_count: int) -> Places:
    """Where the experts stand when there are so many memories."""
    net = 2 * memory_count
    return Places(memory_count, net, net + 1, net + 2, net + 3, net + 4)


def prior(memory_count: int, *, proper: bool) -> Floats:
    """Of the experts: equal; in proper mode only of the best k by each memory, and of the mean.

    >>> prior(2, proper=True)
    array([0., 0., 1., 1., 0., 0., 1., 0.])
    """
    at = places(memory_count)
    weight = np.ones(at.total)
    if proper:
        weight[:] = 0.0
        weight[at.best : at.best + memory_count] = 1.0
        weight[at.mean] = 1.0
    return weight


def new_state(s: Settings) -> State:
    """Nothing learnt yet."""
    m, d, room = len(TAUS), s.d, s.budget + 1
    space = Space(
        np.empty((s.pool + 3, d)),
        np.empty((m, d)),
        np.empty((m, d)),
        np.empty(m),
        np.empty((m, s.pool), dtype=np.int64),
        np.empty((m, s.pool)),
        np.empty(m, dtype=np.int64),
        np.empty(d, dtype=np.bool_),
        np.empty(d, dtype=np.int8),
        np.empty(d),
        np.empty((s.slots, d)),
        workspace(d).copy(),
        np.empty((room, room)),
    )
    net = Net(np.zeros((s.slots, d)), np.zeros(s.slots), np.zeros(s.slots))
    mixture = mix(prior(m, proper=s.proper))
    return State(memories(d, TAUS), running(d), running(1), np.zeros(d), mixture, net, space)


def new_batch(s: Settings) -> Batch:
    """An empty batch, to be filled by `kernels.auto.choose`."""
    b = s.budget
    return Batch(
        np.zeros(b, dtype=np.int64),
        np.zeros(b, dtype=np.int8),
        ensemble(places(len(TAUS)).total, b + 1),
        np.zeros(b),
        np.zeros(b),
        np.zeros(1),
        np.zeros((LONGEST, b)),
        np.zeros(LONGEST),
        np.zeros(1, dtype=np.int64),
        np.zeros(s.slots, dtype=np.int64),
        np.zeros((s.slots, b)),
        np.zeros((s.slots, b)),
    )


def threshold_of(s: Settings, tau: float) -> float:
    """A memory that forgets may be bolder: what it chose wrongly it forgets too.

    Not in proper mode, where its choice is all that is played, and not where there is little room,
    because what it chose wrongly would take the place of something better.
    """
    cautious = tau == math.inf or s.proper or s.pool < 2 * s.k
    return s.threshold if cautious else s.threshold - BOLDER


def batch_size(t: int) -> int:
    """Rounds of a batch that begins after t rounds: a sixty-fourth of them, from 4 to 16.

    >>> [batch_size(t) for t in (0, 400, 512, 1024, 10**6)]
    [4, 6, 8, 16, 16]
    """
    return min(LONGEST, max(4, t // 64))
