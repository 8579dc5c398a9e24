"""Kernels of the best subset for money: models to begin with, by greedy choice and exchange.

Units are scaled as in `subset_kernels.py`; the objective of S is rss(S) + rate * cost(S).
"""

from __future__ import annotations

import numpy as np

from keyhole.blocks.exact.priced_market import Market, missing, pay
from keyhole.blocks.exact.relaxation import IN, OPEN, OUT, States
from keyhole.blocks.exact.subset_kernels import DEPENDENT, include, untouched
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices

GAIN, PER_UNIT = 0, 1  # what the greedy choice goes by: gain less lam per unit, or gain per unit
NO_GAIN = 1e-14  # of y'y: rounding


@kernel
def worthwhile(market: Market, gain: float, cost: int, lam: float, style: int) -> float:
    """How good it is to get this gain for so many units; at most 0 if it is not."""
    net = gain - market.rate * cost
    if gain <= NO_GAIN or net <= 0.0:
        return 0.0
    if style == PER_UNIT:
        return net / max(cost, 1e-3)
    return net - lam * cost


@kernel
def bundle(
    market: Market, paid: States, gains: Floats, i: int, left: int, lam: float
) -> tuple[float, int]:
    """What the members of a shared item bring together, as if they did not overlap, and the best.

    Members are counted that pay for their own items; (0, -1) where the item cannot be bought.
    """
    price = market.units[i]
    total, best, most = -(market.rate + lam) * price, -1, 0.0
    for p in range(market.firsts[i], market.firsts[i + 1]):
        j = market.members[p]
        cost = missing(market, paid, j)
        if cost < price or cost > left or gains[j] <= NO_GAIN:
            continue
        net = gains[j] - (market.rate + lam) * (cost - price)
        if net > 0.0:
            total += net
            if net > most:
                most, best = net, j
    return total, best


@kernel
def next_best(
    market: Market, paid: States, gains: Floats, left: int, lam: float, style: int
) -> int:
    """The feature to buy next, -1 if none is worth it. What is paid for comes first if it may."""
    best, top = -1, 0.0
    all_welcome = market.most >= len(gains)
    for j in range(len(gains)):
        if gains[j] <= NO_GAIN:
            continue
        cost = missing(market, paid, j)
        if cost < 0 or cost > left:
            continue
        score = worthwhile(market, gains[j], cost, lam, style)
        if cost == 0 and all_welcome:
            score += 1e12
        if score > top:
            best, top = j, score
    if style == GAIN:
        for i in range(len(paid)):
            if paid[i] == OPEN and market.firsts[i + 1] - market.firsts[i] > 1:
                score, j = bundle(market, paid, gains, i, left, lam)
                if score > top and j >= 0:
                    best, top = j, score
    return best


@kernel
def complete(
    G: Floats, c: Floats, market: Market, S: Indices, size: int, ban: tuple[int, int], how: int,
    lam: float,
) -> tuple[int, float]:  # fmt: skip
    """Complete S[:size] greedily within the limit, in place; the new size and the objective.

    `ban` is a feature and an item that must not be bought, -1 for none.
    """
    m = len(c)
    L = np.empty((min(market.most, m), m))
    D, r = untouched(G, c)
    paid = np.zeros(len(market.units), np.int8)
    if ban[1] >= 0:
        paid[ban[1]] = OUT
    gains = np.zeros(m)
    used = np.zeros(m, np.bool_)
    if ban[0] >= 0:
        used[ban[0]] = True
    value, left, n = 1.0, market.limit, 0
    for p in range(size):
        gain = include(G, L, n, S[p], D, r)
        if gain >= 0.0:
            cost = pay(market, paid, S[p])
            left -= cost
            value += market.rate * cost - gain
            used[S[p]] = True
            S[n] = S[p]
            n += 1
    while n < market.most:
        for j in range(m):
            gains[j] = r[j] * r[j] / D[j] if D[j] >= DEPENDENT and not used[j] else 0.0
        i = next_best(market, paid, gains, left, lam, how)
        if i < 0:
            break
        cost = pay(market, paid, i)
        left -= cost
        value += market.rate * cost - include(G, L, n, i, D, r)
        used[i] = True
        S[n] = i
        n += 1
    return n, value


@kernel
def exchange(
    G: Floats, c: Floats, market: Market, S: Indices, size: int, value: float
) -> tuple[int, float]:
    """Drop a feature or an item and complete without it, as long as that helps."""
    m = len(c)
    trial = np.empty(m, np.int64)
    better = True
    while better:
        better = False
        for turn in range(m + len(market.units)):
            feature, item = (turn, -1) if turn < m else (-1, turn - m)
            if item >= 0 and market.firsts[item + 1] - market.firsts[item] < 2:
                continue  # the same as its only member
            kept = without(market, S, size, feature, item, trial)
            if kept == size:
                continue
            for style in (GAIN, PER_UNIT):
                kept = without(market, S, size, feature, item, trial)
                n, new = complete(G, c, market, trial, kept, (feature, item), style, 0.0)
                if new < value - 1e-13:
                    S[:n] = trial[:n]
                    size, value, better = n, new, True
                    break
    return size, value


@kernel
def without(market: Market, S: Indices, size: int, feature: int, item: int, kept: Indices) -> int:
    """Write S[:size] without a feature, or without those that need an item; how many are left."""
    n = 0
    for p in range(size):
        drop = S[p] == feature
        for u in range(market.starts[S[p]], market.starts[S[p] + 1]):
            drop |= market.needs[u] == item
        if not drop:
            kept[n] = S[p]
            n += 1
    return n


@kernel
def rounded(market: Market, state: States, score: Floats, S: Indices) -> int:
    """Write what is IN, then OPEN features by falling score as far as they can be paid; the size.

    Scores that are not above 0 are left out.
    """
    paid = np.zeros(len(market.units), np.int8)
    left, n = market.limit, 0
    for j in range(len(state)):
        if state[j] == IN:
            left -= pay(market, paid, j)
            S[n] = j
            n += 1
    for j in np.argsort(-score):
        if n >= market.most or not score[j] > 0.0:
            break
        if state[j] == OPEN and missing(market, paid, j) <= left:
            left -= pay(market, paid, j)
            S[n] = j
            n += 1
    return n
