"""The rounds of intervals: issue, learn the error, and many of both in one call."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.conformal.trackers import (
    CAP,
    COUNT,
    DOWN,
    EDGES,
    EXPERTS,
    FACTOR,
    FARTHEST,
    FAVOUR,
    FLOOR,
    FREE,
    HALF_LIVES,
    KEEP,
    LARGEST_THETA,
    MOST_UNITS,
    NOTE,
    OUTER,
    PAIRS,
    PENDING,
    PLAIN,
    SAID,
    SCALES,
    SHARE,
    SIDES,
    STEPS,
    SUM,
    TOGETHER,
    TRACKERS,
    UP,
    WIDER_UNTIL,
    Trackers,
)
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.problem import Floats, Indices

FADES = tuple(0.5 ** (1.0 / half_life) for half_life in 2 * HALF_LIVES)
EAGER = math.log(EXPERTS)


@inner
def _note(t: Trackers, i: int, factor: float, note: Floats) -> None:
    """Write down what trackers of coverage i say now; units of 0 if they can say nothing yet."""
    a, n = t.a[i], t.told[i]
    if n == 0 or t.units[i, SUM, 0] == 0.0:
        # As many errors of 0 as this, and one more is likely enough.
        note[:] = 0.0
        note[FACTOR] = factor
        note[EDGES:] = 0.0 if n * 2.0 * a > 1.0 else np.inf
        return
    mean, note[FACTOR] = 0.0, factor
    for h in range(SCALES):
        slowest = h - h % PLAIN  # the unit that never fades
        never_fades = t.units[i, SUM, slowest] / t.units[i, COUNT, slowest]
        note[h] = max(t.units[i, SUM, h] / t.units[i, COUNT, h], FLOOR * never_fades)
        note[h] *= factor if h >= PLAIN else 1.0
        mean += note[h] / SCALES
    for k in range(TRACKERS):
        note[SAID + k] = t.q[i, k] * note[k % SCALES]
    wider = 1.0
    if n < WIDER_UNTIL:
        wider = math.exp(min((2.0 / math.pi * t.start[i] ** 2 + 1.0) / (4.0 * n), 2.0))
    for side in range(SIDES):
        together = 0.0
        for k in range(EXPERTS):
            together += t.weight[i, side, k] * note[_said_by(side, k)]
        note[TOGETHER + side] = together
        edge = (together + math.sinh(t.theta[i, side]) * mean) * wider
        note[EDGES + side] = min(max(edge, -FARTHEST), FARTHEST)


@inner
def _said_by(side: int, k: int) -> int:
    """Where a note has what expert k of a side says: its own trackers first, then those of both."""
    return SAID + (side * PAIRS + k if k < PAIRS else PAIRS + k)


@inner
def _misses(order: Indices, notes: Floats, error: float, missed: NDArray[np.bool_]) -> None:
    """Whether each side of each coverage counts a miss, as issued.

    Where the issued intervals miss, so do these. The reverse fails in one case: the lowest interval
    is the midpoint of an empty one, and the error is exactly that. It counts as a miss on both
    sides, or empty intervals would go on getting emptier.
    """
    above = below = True
    for place in range(len(order)):
        i = order[place]
        up, down = notes[i, EDGES + UP], notes[i, EDGES + DOWN]
        if place == 0 and up + down < 0.0:
            middle = 0.5 * (up - down)
            above, below = error >= middle, error <= middle
        else:
            above, below = above and error > up, below and -error > down
        missed[i, UP], missed[i, DOWN] = above, below


@inner
def _nested(order: Indices, notes: Floats, edges: Floats) -> None:
    """The intervals of a note, none of them empty, each within those of higher coverage."""
    for place in range(len(order)):
        i = order[place]
        low, high = -notes[i, EDGES + DOWN], notes[i, EDGES + UP]
        if place == 0:
            if low > high:
                low = high = 0.5 * (low + high)
        else:
            before = order[place - 1]
            low, high = min(low, edges[before, 0]), max(high, edges[before, 1])
        edges[i, 0], edges[i, 1] = low, high


@inner
def _pinball(edge: float, v: float, a: float) -> float:
    return (v - edge) * (1.0 - a) if v > edge else (edge - v) * a


@inner
def _reweigh(t: Trackers, i: int, side: int, note: Floats, v: float) -> None:
    """What experts would have lost less than all together, and their weights after that."""
    a, most, top = t.a[i], 0.0, -np.inf
    regret, weight = t.regret[i, side], t.weight[i, side]
    lost = _pinball(note[TOGETHER + side], v, a)
    for k in range(EXPERTS):
        less = lost - _pinball(note[_said_by(side, k)], v, a)
        regret[k] = KEEP * regret[k] + less
        most, top = max(most, less * less), max(top, regret[k])
    t.spread[i, side] = KEEP * KEEP * t.spread[i, side] + most
    rate, total = 0.0, 0.0
    if t.spread[i, side] > 0.0:
        rate = math.sqrt(EAGER / t.spread[i, side])
    for k in range(EXPERTS):
        weight[k] = math.exp((regret[k] - top) * rate) * (FAVOUR if k % SCALES >= PLAIN else 1.0)
        total += weight[k]
    for k in range(EXPERTS):
        weight[k] = (1.0 - SHARE) * weight[k] / total + SHARE / EXPERTS


@inner
def _learn(t: Trackers, i: int, note: Floats, error: float) -> None:
    """Everything but theta."""
    a, n, size = t.a[i], t.told[i], abs(error)
    if note[0] > 0.0:
        first = min(0.5, 1.0 / (n + 1.0))
        for k in range(TRACKERS):
            v, share = size, 2.0 * a
            if k < 2 * PAIRS:
                v, share = error if k < PAIRS else -error, a
            step = max(STEPS[k % PAIRS // SCALES], first)
            q = t.q[i, k] + step * ((1.0 if v > t.q[i, k] * note[k % SCALES] else 0.0) - share)
            t.q[i, k] = min(max(q, -MOST_UNITS), MOST_UNITS)
        _reweigh(t, i, UP, note, error)
        _reweigh(t, i, DOWN, note, -error)
    never_fades = 0.0
    for h in range(SCALES):
        counted = size / note[FACTOR] if h >= PLAIN else size
        total, count = t.units[i, SUM, h], t.units[i, COUNT, h]
        if h % PLAIN == 0:
            never_fades = total / max(count, 1.0)
        if n >= FREE and never_fades > 0.0:
            counted = min(counted, CAP * max(total / count, FLOOR * never_fades))
        t.units[i, SUM, h] = FADES[h] * total + counted
        t.units[i, COUNT, h] = FADES[h] * count + 1.0
    t.told[i] = n + 1


@kernel
def issue(t: Trackers, order: Indices, factor: float, notes: Floats, edges: Floats) -> None:
    """The intervals of the next prediction, as offsets from it, and what to note until its label.

    Parameters
    ----------
    t
        As they are now; nothing of them changes.
    order
        The coverages, lowest first.
    factor
        How much larger than others the error is likely to be; above 0.
    notes, edges
        To be written: a note and (low, high) for each coverage.
    """
    for i in range(len(order)):
        _note(t, i, factor, notes[i])
    _nested(order, notes, edges)


@kernel
def learn(t: Trackers, order: Indices, notes: Floats, error: float, gain: float) -> None:
    """Learn the error of a prediction whose intervals were issued with these notes.

    `order` may be of some coverages only; `notes` have a row for each.
    """
    missed = np.empty((len(t.a), SIDES), dtype=np.bool_)
    _tell(t, order, notes, error, gain, missed)


@inner
def _tell(
    t: Trackers,
    order: Indices,
    notes: Floats,
    error: float,
    gain: float,
    missed: NDArray[np.bool_],
) -> None:
    _misses(order, notes, error, missed)
    for i in order:
        if notes[i, 0] > 0.0:
            for side in range(SIDES):
                theta = t.theta[i, side] + gain * ((1.0 if missed[i, side] else 0.0) - t.a[i])
                t.theta[i, side] = min(max(theta, -LARGEST_THETA), LARGEST_THETA)
        _learn(t, i, notes[i], error)


@kernel
def play(
    t: Trackers, order: Indices, errors: Floats, factors: Floats, gain: float, edges: Floats
) -> None:
    """`issue` and `learn` for each of these errors in turn, to the bit.

    `edges` gets (low, high) of each round and coverage; it may be empty if nobody wants them.
    """
    notes, missed = np.empty((len(order), NOTE)), np.empty((len(order), SIDES), dtype=np.bool_)
    for row in range(len(errors)):
        for i in range(len(order)):
            _note(t, i, factors[row], notes[i])
        if len(edges):
            _nested(order, notes, edges[row])
        _tell(t, order, notes, errors[row], gain, missed)


def gain_of(longest: int) -> float:
    """The step of theta once some label has come so many labels late."""
    return OUTER / (1.0 + longest / PENDING)
