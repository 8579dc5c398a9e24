"""Rounds of online hard thresholding: choose, learn, take a step when all is known for it."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.draw.keyed import Seed, subset, uniform
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import largest, merge
from keyhole.blocks.fit.linear import weigh
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.literature.hard_thresholding import (
    BEFORE,
    CURSOR,
    CURVATURE,
    ERROR,
    EXPLOITING,
    FRESH,
    LACKING,
    LENGTH,
    NOW,
    PHASE,
    ROUNDS,
    SIZE,
    SQUARE,
    STEPS,
    TOLD,
    TURN,
    Draw,
    Rule,
    Search,
    first,
)
from keyhole.problem import Floats, Indices

_first = inner(first)
ORDER, ASIDE = 0, 1  # purposes of what is drawn
# Standard errors by which a step must have made things worse to be taken back: when its phase is
# over, and before that, where there are many occasions to err.
AT_THE_END, AT_ONCE = 2.0, 3.0


@kernel
def choose(seed: Seed, t: int, rule: Rule, search: Search, draw: Draw, space: Indices) -> int:
    """Write what round t reads and plays; how many features it reads."""
    d, whole = len(search.theta), search.whole
    size = whole[SIZE]
    S, outside = search.support[:size], d - size
    kept, free = S, rule.budget - size
    draw.scale[0], draw.phase[0] = 1.0, whole[PHASE] + 1
    if free == 0 and outside > 0 and whole[EXPLOITING] == 0 and whole[TURN] % 2 == 1:
        # Nothing is left to explore with: every other round puts half of the support aside.
        free = (size + 1) // 2
        kept = np.empty(size - free, dtype=np.int64)
        subset(seed, t, ASIDE, size, kept, space)
        for a in range(len(kept)):
            kept[a] = S[kept[a]]
        draw.scale[0] = size / len(kept) if len(kept) else 1.0
        draw.phase[0] = -draw.phase[0]
    others = np.empty(min(free, outside), dtype=np.int64)
    for a in range(len(others)):
        others[a] = search.order[(whole[CURSOR] + a) % outside]
    if outside > 0:
        whole[CURSOR] = (whole[CURSOR] + len(others)) % outside
    whole[TURN] += 1
    others.sort()
    n, b = merge(others, kept, draw.features), 0
    for i in range(n):
        j = draw.features[i]
        while b < len(kept) and kept[b] < j:
            b += 1
        draw.inside[i] = b < len(kept) and kept[b] == j
        draw.played[i] = search.theta[j] if draw.inside[i] else 0.0
        draw.means[i] = search.total[j] / search.arrived[j] if search.arrived[j] else 0.0
    return n


@inner
def _begin(seed: Seed, search: Search, exploiting: bool) -> None:
    # A phase with the support of theta: all others in a new order, nothing seen yet.
    d, whole = len(search.theta), search.whole
    size = n = 0
    for i in range(d):
        if search.theta[i] != 0.0 and size < len(search.support):
            search.support[size] = i
            size += 1
        else:
            search.order[n] = i
            n += 1
    whole[PHASE] += 1
    for i in range(n - 1, 0, -1):
        j = int(uniform(seed, whole[PHASE], ORDER, i) * (i + 1))
        search.order[i], search.order[j] = search.order[j], search.order[i]
    whole[EXPLOITING], whole[SIZE], whole[LACKING] = exploiting and size > 0, size, d
    whole[CURSOR] = whole[TOLD] = whole[TURN] = 0
    search.gradient[:] = 0.0
    search.seen[:] = 0
    search.losses[NOW] = 0.0
    search.iterate[:] = search.theta


@kernel
def threshold(
    theta: Floats, slope: Floats, units: Floats, step: float, k: int, out: Floats
) -> None:
    """Write the k largest of theta_i - step slope_i / units_i, in size times sqrt(units_i)."""
    d = len(theta)
    score, best = np.empty(d), np.empty(k, dtype=np.int64)
    moved = np.zeros(d)
    for i in range(d):
        if units[i] > 0.0:
            moved[i] = theta[i] - step * slope[i] / units[i]
        score[i] = abs(moved[i]) * math.sqrt(units[i])
    largest(score, best)
    out[:] = 0.0
    for b in best:
        out[b] = moved[b] if math.isfinite(moved[b]) else 0.0


@kernel
def worse(losses: Floats, doubt: float) -> bool:
    """Whether the mean loss is now above that of before by `doubt` standard errors."""
    if losses[NOW, ROUNDS] < 8.0 or losses[BEFORE, ROUNDS] < 8.0:
        return False
    gap, variance = 0.0, 0.0
    for phase in (NOW, BEFORE):
        n = losses[phase, ROUNDS]
        mean = losses[phase, ERROR] / n
        gap += mean if phase == NOW else -mean
        variance += max(0.0, losses[phase, SQUARE] / n - mean * mean) / n
    return gap > doubt * math.sqrt(variance)


@inner
def _may_go_back(rule: Rule, search: Search) -> bool:
    # No correlation matrix of 2k features has an eigenvalue above 2k.
    return rule.step == 0.0 and search.pace[CURVATURE] < 2.0 * rule.k


@inner
def _step(seed: Seed, rule: Rule, search: Search) -> None:
    # All features have their fresh examples: a gradient step. Or the last one again, but shorter.
    d, whole, pace = len(search.theta), search.whole, search.pace
    if _may_go_back(rule, search) and worse(search.losses, AT_THE_END):
        pace[CURVATURE] = min(2.0 * pace[CURVATURE], 2.0 * rule.k)
    else:
        search.before[:] = search.theta
        search.losses[BEFORE] = search.losses[NOW]
        for i in range(d):
            search.slope[i] = search.gradient[i] / max(search.seen[i], 1)
        pace[FRESH] *= rule.growth
    units = np.ones(d)
    if rule.step == 0.0:
        for i in range(d):
            units[i] = search.square[i] / max(search.arrived[i], 1)
    step = 2.0 * rule.step if rule.step > 0.0 else 1.0 / pace[CURVATURE]
    threshold(search.before, search.slope, units, step, rule.k, search.theta)
    whole[STEPS] += 1
    # Exploring costs nothing if the support is read beside it; else its share falls.
    whole[LENGTH] = whole[TOLD] * (whole[STEPS] if rule.budget == rule.k else 1)
    _begin(seed, search, rule.hybrid)


@inner
def _descend(search: Search, draw: Draw, x: Floats, y: float) -> None:
    # Averaged stochastic gradient on the support, in units of the features' root mean squares.
    error, length = -y, 0.0
    for i in range(len(x)):
        if draw.inside[i]:
            j = draw.features[i]
            error += search.iterate[j] * x[i]
            if search.square[j] > 0.0:
                length += x[i] * x[i] / (search.square[j] / search.arrived[j])
    length = 2.0 * max(length, float(search.whole[SIZE]))
    for i in range(len(x)):
        j = draw.features[i]
        if draw.inside[i] and search.square[j] > 0.0:
            move = error * x[i] / (search.square[j] / search.arrived[j]) / length
            if math.isfinite(move):
                search.iterate[j] -= move
            search.theta[j] += (search.iterate[j] - search.theta[j]) / (search.whole[TOLD] + 1.0)


@kernel
def learn(seed: Seed, rule: Rule, search: Search, draw: Draw, values: Floats, y: float) -> None:
    """Take in a round; begin a new phase if it was the last one missing."""
    n, whole = len(values), search.whole
    x = np.empty(n)
    for i in range(n):
        x[i] = draw.means[i] if np.isnan(values[i]) else values[i]
        if not np.isnan(values[i]):
            j = draw.features[i]
            search.total[j] += x[i]
            search.square[j] += x[i] * x[i]
            search.arrived[j] += 1
    complete = draw.phase[0] > 0
    if abs(draw.phase[0]) != whole[PHASE] + 1:
        return  # a late label: the model has moved on
    whole[TOLD] += 1
    if whole[EXPLOITING]:
        _descend(search, draw, x, y)
        if whole[TOLD] >= whole[LENGTH]:
            _begin(seed, search, False)
        return
    residual = draw.scale[0] * weigh(draw.played, draw.means, x) - y
    for i in range(n):
        if complete or not draw.inside[i]:
            j = draw.features[i]
            search.gradient[j] += residual * x[i]
            search.seen[j] += 1
            if search.seen[j] == int(search.pace[FRESH]):
                whole[LACKING] -= 1
    if complete:
        square = residual * residual
        search.losses[NOW, ROUNDS] += 1.0
        search.losses[NOW, ERROR] += square
        search.losses[NOW, SQUARE] += square * square
    if whole[LACKING] == 0 or (
        complete and _may_go_back(rule, search) and worse(search.losses, AT_ONCE)
    ):
        _step(seed, rule, search)


@kernel
def play(block: Block, rule: Rule, search: Search, room: Draw) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    values, whole = np.empty(rule.budget), search.whole
    for t in range(len(block.y)):
        cursor, turn = whole[CURSOR], whole[TURN]
        n = choose(block.seed, block.first_round + t, rule, search, room, block.space)
        draw, x = _first(room, n), values[:n]
        if not read(block.X[t], draw.features, x, block.bought[t]):
            whole[CURSOR], whole[TURN] = cursor, turn
            return t
        block.predictions[t] = weigh(draw.played, draw.means, x)
        learn(block.seed, rule, search, draw, x, block.y[t])
    return len(block.y)
