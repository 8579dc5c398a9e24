"""Dual averaging of sparse linear models: what is kept between rounds, and one round's draw."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed, complement
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.linear import weigh
from keyhole.blocks.fit.truncation import top_k
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.literature.squares import is_square
from keyhole.fields import AT_LEAST_0, Holds, PerFeature
from keyhole.problem import Floats, Indices

GRADIENT, LABEL, VALUE = range(3)  # of `sizes`
SINGLE, PAIR = range(2)  # of `chances`


class Dual(NamedTuple):
    """What has been learnt. All fields are sums, `sizes` the roots of sums of squares."""

    h: Floats  # of the estimated gradients
    # Of gradients, of labels, of values (the mean square of what a round read).
    sizes: Annotated[Floats, AT_LEAST_0]
    updates: Indices  # one number: how many rounds were learnt from
    total: Floats  # of the values that arrived, feature by feature
    arrived: Indices  # how many they were


class Rule(NamedTuple):
    """What does not change: numbers of the problem, and the regularisation."""

    k: int
    budget: int
    radius: float  # bound on the norm of the iterate; 0 to measure it
    schedule: float  # lambda_t is this times the root of the updates; 0 for the adaptive one
    dense: bool  # estimate the gradient at the whole iterate, not at its k largest coordinates


class Draw(NamedTuple):
    """One round: what is read, how it is played, and how likely it was.

    Features with `always` are read whatever is drawn. The others are a uniform subset of the rest:
    `chances` are the probability to be in it, and that of two of them together.
    """

    features: Indices  # ascending
    played: PerFeature  # their weights in the prediction
    point: PerFeature  # their weights where the gradient is wanted
    always: Annotated[NDArray[np.bool_], Holds(shape=("features",))]
    means: PerFeature  # what absent values count as
    chances: Annotated[Floats, Holds(least=0.0, shape=(2,))]


def nothing_learnt(d: int) -> Dual:
    """The sums before the first round."""
    updates, arrived = np.zeros(1, dtype=np.int64), np.zeros(d, dtype=np.int64)
    return Dual(np.zeros(d), np.zeros(3), updates, np.zeros(d), arrived)


def room_for(n: int) -> Draw:
    """A draw of n features, to be written into."""
    features, always = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    return Draw(features, np.zeros(n), np.zeros(n), always, np.zeros(n), np.zeros(2))


def first(draw: Draw, n: int) -> Draw:
    """The draw of its first n features alone."""
    features, played, point, always, means, chances = draw
    return Draw(features[:n], played[:n], point[:n], always[:n], means[:n], chances)


_is_square, _first = kernel(is_square), inner(first)
ROOMY = 1.25  # a little more than uncorrelated features need


@inner
def _norm(v: Floats) -> float:
    # Divided by the largest first: squares of what is allowed here may overflow.
    most = 0.0
    for value in v:
        most = max(most, abs(value))
    if most == 0.0:
        return 0.0
    total = 0.0
    for value in v:
        total += (value / most) * (value / most)
    return most * math.sqrt(total)


@kernel
def radius_of(rule: Rule, dual: Dual) -> float:
    """The given radius, or ROOMY times the root mean square label over that of the values."""
    if rule.radius > 0.0:
        return rule.radius
    labels, values = dual.sizes[LABEL], dual.sizes[VALUE]
    return ROOMY * labels / values if values > 0.0 else 0.0


@kernel
def iterate(rule: Rule, dual: Dual, w: Floats) -> None:
    """Write w = -h / max(lambda_t, |h| / radius), the minimiser of <h, w> + lambda_t |w|^2 / 2."""
    w[:] = 0.0
    radius = radius_of(rule, dual)
    strength = rule.schedule * math.sqrt(dual.updates[0] + 1.0)
    if radius > 0.0:
        strength = max(strength, _norm(dual.h) / radius)
        if rule.schedule == 0.0:
            strength = max(strength, dual.sizes[GRADIENT] / radius)
        for i in range(len(w)):
            w[i] = -dual.h[i] / strength if strength > 0.0 else 0.0


@kernel
def choose(seed: Seed, t: int, rule: Rule, dual: Dual, draw: Draw, space: Indices) -> int:
    """Write what round t reads and plays; how many features it reads."""
    d = len(dual.h)
    w = np.empty(d)
    iterate(rule, dual, w)
    S = top_k(w, rule.k)
    kept = S
    if rule.budget == len(S) < d and _is_square(t):
        kept = S[:0]  # nothing would be left to explore with: at squares, explore with everything
    drawn = np.empty(min(rule.budget, d) - len(kept), dtype=np.int64)
    complement(seed, t, 0, d, kept, drawn, space)
    n, outside = merge(drawn, kept, draw.features), d - len(kept)
    m = len(drawn)
    draw.chances[SINGLE] = m / outside if outside else 0.0
    draw.chances[PAIR] = m * (m - 1) / (outside * (outside - 1)) if outside > 1 else 0.0
    a = b = 0  # places in S and in what is kept of it
    for i in range(n):
        j = draw.features[i]
        while a < len(S) and S[a] < j:
            a += 1
        while b < len(kept) and kept[b] < j:
            b += 1
        draw.played[i] = w[j] if a < len(S) and S[a] == j else 0.0
        draw.point[i] = w[j] if rule.dense else draw.played[i]
        draw.always[i] = b < len(kept) and kept[b] == j
        draw.means[i] = dual.total[j] / dual.arrived[j] if dual.arrived[j] else 0.0
    return n


@kernel
def gradient(draw: Draw, x: Floats, y: float, g: Floats) -> None:
    """Write the estimated gradient of (<x, point> - y)^2 at the features that were read.

    g_i = (2 x_i / p_i) (sum_j point_j x_j p_i / p_ij - y) over the j read, p_ii = p_i; pairs that
    are never read together (p_ij = 0) are left out, as if their features were uncorrelated.
    """
    p, q = draw.chances
    sure, drawn = -y, 0.0
    for i in range(len(x)):
        if draw.always[i]:
            sure += draw.point[i] * x[i]
        else:
            drawn += draw.point[i] * x[i]
    for i in range(len(x)):
        if draw.always[i]:
            g[i] = 2.0 * x[i] * (sure + (drawn / p if p > 0.0 else 0.0))
        else:
            own = draw.point[i] * x[i]
            others = (drawn - own) * p / q if q > 0.0 else 0.0
            g[i] = 2.0 * x[i] / p * (sure + own + others) if p > 0.0 else 0.0


@kernel
def learn(dual: Dual, draw: Draw, values: Floats, y: float) -> None:
    """Add the gradient of a round, and the values that arrived."""
    n = len(values)
    x, g = np.empty(n), np.empty(n)
    for i in range(n):
        x[i] = draw.means[i] if np.isnan(values[i]) else values[i]
    gradient(draw, x, y, g)
    # np.hypot, not math.hypot: in Python the latter rounds in its own way.
    size = np.hypot(dual.sizes[GRADIENT], _norm(g))
    if math.isfinite(size):  # values near the largest allowed may overflow: nothing to learn there
        for i in range(n):
            dual.h[draw.features[i]] += g[i]
        dual.sizes[GRADIENT] = size
    for i in range(n):
        if not np.isnan(values[i]):
            dual.total[draw.features[i]] += values[i]
            dual.arrived[draw.features[i]] += 1
    dual.sizes[LABEL] = np.hypot(dual.sizes[LABEL], y)
    dual.sizes[VALUE] = np.hypot(dual.sizes[VALUE], _norm(x) / math.sqrt(max(n, 1)))
    dual.updates[0] += 1


@kernel
def play(block: Block, rule: Rule, dual: Dual, room: Draw) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    values = np.empty(rule.budget)
    for t in range(len(block.y)):
        n = choose(block.seed, block.first_round + t, rule, dual, room, block.space)
        draw, x = _first(room, n), values[:n]
        if not read(block.X[t], draw.features, x, block.bought[t]):
            return t
        block.predictions[t] = weigh(draw.played, draw.means, x)
        learn(dual, draw, x, block.y[t])
    return len(block.y)
