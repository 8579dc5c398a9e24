"""Rounds of the attribute-efficient learners: what is read, the gradient estimate, the two steps.

See `attribute_efficient.py` for the formulas and for what an iterate and a plan hold.
"""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.draw.keyed import Seed, complement, uniform
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.fit.truncation import top_k
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.literature.attribute_efficient import (
    GRADIENT,
    GRADIENTS,
    LABELS,
    SQUARE,
    UNREAD,
    WHOLE,
    Iterate,
    Plan,
    Rule,
)
from keyhole.blocks.literature.squares import is_square
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

_is_square = kernel(is_square)
REACH, PRODUCT, FILL = 0, 1, 2  # purposes of the draws of a round
_CONFIDENCE = math.log(2.0 / 0.05)  # the paper's ln(2/delta), at delta = 0.05


@kernel
def draw_into(
    seed: Seed, round: int, purpose: int, draws: int, weights: Floats, value: Floats, out: Floats
) -> None:
    """Add value_i / (draws P_i) to out_i for each of the draws i ~ P, P proportional to weights.

    With replacement, so that the sum is unbiased for `value` where the weights are positive; all
    weights 0 draw nothing. O(d + draws log d).
    """
    reached, total = np.empty(len(weights)), 0.0
    for i in range(len(weights)):
        total += weights[i]
        reached[i] = total
    if not total > 0.0:
        return
    for r in range(draws):
        target = uniform(seed, round, purpose, r) * total
        i = int(np.searchsorted(reached, target, side="right"))
        if i == len(weights):  # the product rounded up to the total: the last with a weight
            i = min(int(np.searchsorted(reached, total, side="left")), i - 1)
        out[i] += value[i] * total / (draws * weights[i])


@kernel
def measure(it: Iterate) -> None:
    """A new phase: second moments as they are now, plus 13/6 of their uncertainty."""
    d, unit = len(it.w), it.tally[SQUARE]
    for i in range(d):
        it.moments[i] = 1.0
        if unit > 0.0:
            n = max(it.counts[i], 1.0)
            error = min((_CONFIDENCE + math.log(float(d))) / n, 1.0)
            it.moments[i] = it.squares[i] / n / unit + 13.0 / 6.0 * error


@kernel
def plan(seed: Seed, t: int, rule: Rule, it: Iterate, space: Indices) -> Plan:
    """What round t reads and what each value will count; a new phase at powers of two."""
    d, k, budget = len(it.w), rule.k, rule.budget
    if rule.data_dependent and t & (t - 1) == 0:
        measure(it)
    S = top_k(it.average, k)
    played = np.zeros(d)
    for i in S:
        played[i] = it.average[i]
    if budget == k < d and _is_square(t):
        S = S[:0]  # nothing is left to explore with: a look at other features instead
    mark = np.zeros(d, dtype=np.bool_)
    reach, product = np.zeros(d), np.zeros(d)
    left = budget - len(S)
    if left < d - len(S):
        m = left // 2
        q, p = np.empty(d), np.empty(d)
        for i in range(d):
            q[i] = it.moments[i] if rule.lasso else math.sqrt(it.moments[i])
            if rule.data_dependent:
                p[i] = abs(it.w[i]) * math.sqrt(it.moments[i])
            else:
                p[i] = abs(it.w[i]) if rule.lasso else it.w[i] * it.w[i]
        for i in S:
            q[i] = p[i] = 0.0
        draw_into(seed, t, REACH, left - m, q, np.ones(d), reach)
        draw_into(seed, t, PRODUCT, m, p, it.w, product)
        n = len(S)
        for i in range(d):
            mark[i] = reach[i] != 0.0 or product[i] != 0.0
            n += mark[i]
        for i in S:
            mark[i] = True
            reach[i], product[i] = 1.0, it.w[i]
        # What draws of the same feature have saved: for the means and second moments.
        rest = np.empty(budget - n, dtype=np.int64)
        complement(seed, t, FILL, d, np.flatnonzero(mark), rest, space)
        for i in rest:
            mark[i] = True
    else:
        mark[:] = True
        reach[:] = 1.0
        product[:] = it.w
    offsets, mu = np.zeros(2), np.empty(d)
    for i in range(d):
        mu[i] = it.sums[i] / max(it.counts[i], 1.0)
        offsets[WHOLE] += it.w[i] * mu[i]
        if not mark[i]:
            offsets[UNREAD] += played[i] * mu[i]
    features = np.flatnonzero(mark)
    return Plan(
        features, reach[features], product[features], played[features], mu[features], offsets
    )


@kernel
def predict(x: Floats, plan: Plan) -> float:
    """The truncated average on the values read; an absent one counts as its mean."""
    total = float(plan.offsets[UNREAD])
    for a in range(len(x)):
        total += plan.played[a] * (plan.means[a] if np.isnan(x[a]) else x[a])
    return total


@kernel
def gradient(x: Floats, y: float, plan: Plan, g: Floats) -> None:
    """g = phi x_tilde on the values read; an absent one counts as its mean."""
    phi = plan.offsets[WHOLE]
    for a in range(len(x)):
        if not np.isnan(x[a]):
            phi += plan.product[a] * (x[a] - plan.means[a])
    phi -= y
    for a in range(len(x)):
        g[a] = phi * (plan.reach[a] * (plan.means[a] if np.isnan(x[a]) else x[a]))


@inner
def ridge_step(features: Indices, g: Floats, radius: float, rate: float, it: Iterate) -> None:
    """Projected gradient on |w|_2 <= radius, at sqrt(2) radius / sqrt(sum of |g|^2 + 8 d largest).

    Without the largest the first steps would go right to the boundary, in directions that are
    mostly noise, and the noise of later gradients grows with |w|.
    """
    square = 0.0
    for value in g:
        square += value * value
    if not 0.0 < square < LARGEST:
        return
    it.tally[GRADIENTS] += square
    it.tally[GRADIENT] = max(it.tally[GRADIENT], square)
    size = it.tally[GRADIENTS] + 8.0 * len(it.w) * it.tally[GRADIENT]
    eta = rate if rate > 0.0 else math.sqrt(2.0 / size) * radius
    for a in range(len(g)):
        it.w[features[a]] -= eta * g[a]
    norm = 0.0
    for v in it.w:
        norm += v * v
    if norm > radius * radius:
        it.w[:] *= radius / math.sqrt(norm)


@inner
def lasso_step(features: Indices, g: Floats, radius: float, rate: float, it: Iterate) -> None:
    """EG+- on |w|_1 <= radius, at the rate sqrt(ln 2d / sum of squares, as the experts feel it)."""
    d, size = len(it.w), it.tally[GRADIENTS]
    for a in range(len(g)):
        size += it.shares[features[a]] * g[a] * g[a]
    if not 0.0 < size < np.inf:
        return
    it.tally[GRADIENTS] = size
    eta = rate if rate > 0.0 else math.sqrt(math.log(2.0 * d) / size)
    for a in range(len(g)):
        it.theta[features[a]] += min(max(g[a], -1.0 / eta), 1.0 / eta)
    top, total = 0.0, 0.0
    for v in it.theta:
        top = max(top, abs(v))
    for i in range(d):
        # exp(-eta theta) and exp(eta theta), both divided by the largest of all: no overflow
        up, down = math.exp(-eta * (it.theta[i] + top)), math.exp(eta * (it.theta[i] - top))
        it.w[i], it.shares[i] = up - down, up + down
        total += up + down
    for i in range(d):
        it.w[i] *= radius / total
        it.shares[i] /= total


@kernel
def learn(x: Floats, y: float, plan: Plan, rule: Rule, it: Iterate) -> None:
    """The label of a round: the step, the average, the sums of what arrived."""
    features, g = plan.features, np.empty(len(x))
    gradient(x, y, plan, g)
    if rule.lasso:
        lasso_step(features, g, rule.radius, rule.rate, it)
    else:
        ridge_step(features, g, rule.radius, rule.rate, it)
    it.tally[LABELS] += 1.0
    share = 2.0 / (it.tally[LABELS] + 1.0)
    for i in range(len(it.w)):
        it.average[i] += share * (it.w[i] - it.average[i])
    for a in range(len(x)):
        if not np.isnan(x[a]):
            i, square = features[a], x[a] * x[a]
            it.counts[i] += 1.0
            it.sums[i] += x[a]
            it.squares[i] += square
            it.tally[SQUARE] = max(it.tally[SQUARE], square)


@kernel
def play(block: Block, rule: Rule, it: Iterate) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    for t in range(len(block.y)):
        todo = plan(block.seed, block.first_round + t, rule, it, block.space)
        x = np.empty(len(todo.features))
        if not read(block.X[t], todo.features, x, block.bought[t]):
            return t
        block.predictions[t] = predict(x, todo)
        learn(x, block.y[t], todo, rule, it)
    return len(block.y)
