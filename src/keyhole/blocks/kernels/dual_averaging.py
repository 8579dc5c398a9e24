"""Rounds of dual averaging with the k largest coordinates played: choose, predict, learn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dual_averaging import Draw, Dual, Rule
from keyhole.blocks.kernels.explore import merge, weigh
from keyhole.blocks.kernels.jit import inner, kernel
from keyhole.blocks.kernels.reading import read
from keyhole.blocks.kernels.sampling import Seed, complement
from keyhole.blocks.kernels.truncation import top_k
from keyhole.blocks.squares import is_square
from keyhole.problem import Floats, Indices

_is_square = kernel(is_square)
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
        total += (value / most) ** 2
    return most * math.sqrt(total)


@kernel
def radius_of(rule: Rule, dual: Dual) -> float:
    """The given radius, or ROOMY times the root mean square label over that of the values."""
    if rule.radius > 0.0:
        return rule.radius
    labels, values = dual.sizes[1], dual.sizes[2]
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
            strength = max(strength, dual.sizes[0] / radius)
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
    draw.chances[0] = m / outside if outside else 0.0
    draw.chances[1] = m * (m - 1) / (outside * (outside - 1)) if outside > 1 else 0.0
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
            g[i] = 2.0 * x[i] / p * (sure + own + others)


@kernel
def learn(dual: Dual, draw: Draw, values: Floats, y: float) -> None:
    """Add the gradient of a round, and the values that arrived."""
    n = len(values)
    x, g = np.empty(n), np.empty(n)
    for i in range(n):
        x[i] = draw.means[i] if np.isnan(values[i]) else values[i]
    gradient(draw, x, y, g)
    size = math.hypot(dual.sizes[0], _norm(g))
    if math.isfinite(size):  # values near the largest allowed may overflow: nothing to learn there
        for i in range(n):
            dual.h[draw.features[i]] += g[i]
        dual.sizes[0] = size
    for i in range(n):
        if not np.isnan(values[i]):
            dual.total[draw.features[i]] += values[i]
            dual.arrived[draw.features[i]] += 1
    dual.sizes[1] = math.hypot(dual.sizes[1], y)
    dual.sizes[2] = math.hypot(dual.sizes[2], _norm(x) / math.sqrt(max(n, 1)))
    dual.updates[0] += 1


@kernel
def rounds(
    seed: Seed,
    first_round: int,
    X: NDArray[np.floating],
    y: Floats,
    rule: Rule,
    dual: Dual,
    room: Draw,
    bought: NDArray[np.int32],
    predictions: Floats,
    space: Indices,
) -> int:
    """Play len(y) rounds; how many were played before one with a value that is too large."""
    values = np.empty(rule.budget)
    for t in range(len(y)):
        n = choose(seed, first_round + t, rule, dual, room, space)
        if not read(X[t], room.features[:n], values, bought[t]):
            return t
        draw = Draw(
            room.features[:n],
            room.played[:n],
            room.point[:n],
            room.always[:n],
            room.means[:n],
            room.chances,
        )
        predictions[t] = weigh(draw.played, draw.means, values[:n])
        learn(dual, draw, values[:n], y[t])
    return len(y)
