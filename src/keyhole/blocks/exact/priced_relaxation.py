"""Kernels of the best subset for money: the relaxation of a node, and what it settles.

As in `relaxation.py`, rss(S) >= base - sum of v over S for every S of the node. What v can bring
for the money that is left is bounded from above: each unit costs lam, each feature mu, and an
item's price is shared out among its open members in proportion to what they bring, which pays it in
full or uses them up. Whatever lam, mu and the shares are, the bound is valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.exact.priced_market import Market
from keyhole.blocks.exact.relaxation import IN, OPEN, OUT, Split, States
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats


class PricedNode(NamedTuple):
    """What is settled of features and items, the relaxation's point q, and what follows from it.

    v is what a feature may bring, rest what is left of it after prices, price what it pays, slack
    what an item's members cannot pay of its price. All are changed in place.
    """

    state: States
    paid: States
    q: Floats
    v: Floats
    rest: Floats
    price: Floats
    slack: Floats


@kernel
def share_out(market: Market, node: PricedNode, lam: float, mu: float) -> tuple[float, float, int]:
    """Fill rest, price and slack; the sum of rest, the units of items paid in full, how many stay.

    For all S of the node: sum of v over S <= lam * cost(S) + mu |S| + sum of rest (all open ones),
    where cost counts items that are not paid yet.
    """
    state, paid, _, v, rest, price, slack = node
    for j in range(len(v)):
        rest[j] = max(v[j] - mu, 0.0) if state[j] == OPEN else 0.0
        price[j] = mu
    spent = 0.0
    for i in range(len(paid)):
        slack[i] = 0.0
        if paid[i] != OPEN:
            continue
        cap, total, n = lam * market.units[i], 0.0, 0
        for p in range(market.firsts[i], market.firsts[i + 1]):
            j = market.members[p]
            if state[j] == OPEN:
                total += rest[j]
                n += 1
        left = (total - cap) / total if total > cap else 0.0
        for p in range(market.firsts[i], market.firsts[i + 1]):
            j = market.members[p]
            if state[j] == OPEN:
                price[j] += cap * rest[j] / total if total > 0.0 else cap / n
                rest[j] *= left
        slack[i] = max(cap - total, 0.0)
        if total > cap:
            spent += market.units[i]
    total, many = 0.0, 0
    for j in range(len(v)):
        total += rest[j]
        many += rest[j] > 0.0
    return total, spent, many


@kernel
def at_price(
    market: Market, node: PricedNode, left: float, mu: float, hint: float
) -> tuple[float, float, int]:
    """The least, over lam >= rate, of (lam - rate) left + sum of rest; lam, and how many stay.

    It is convex and piecewise linear where nothing is shared: tangents from both sides meet.
    """
    rate = market.rate
    value, spent, many = share_out(market, node, rate, mu)
    if spent <= left:
        return value, rate, many
    best, best_lam, best_many = value, rate, many
    low, low_value, low_slope = 0.0, value, left - spent
    high = max(hint - rate, 1e-3 * value / (left + 1.0))
    high_value, high_slope = value, 0.0
    closed = False
    for _ in range(40):
        if closed:
            x = (low_value - high_value + high_slope * high - low_slope * low) / (
                high_slope - low_slope
            )
            if not low + 1e-3 * (high - low) < x < high - 1e-3 * (high - low):
                x = 0.5 * (low + high)
        else:
            x = high
        value, spent, many = share_out(market, node, rate + x, mu)
        value += x * left
        if value < best:
            best, best_lam, best_many = value, rate + x, many
        if spent > left:
            low, low_value, low_slope = x, value, left - spent
            high = high if closed else 4.0 * high
        else:
            closed = True
            high, high_value, high_slope = x, value, left - spent
        if closed and high - low < 1e-7 * high:
            break
    return best, best_lam, best_many


@kernel
def least(
    market: Market, node: PricedNode, left: float, room: int, hints: tuple[float, float]
) -> tuple[float, float, float]:
    """At least what v brings for what is left, as (value, lam, mu); the node is at these prices."""
    best, best_lam, many = at_price(market, node, left, 0.0, hints[0])
    best_mu = 0.0
    if many > room:
        low, high = 0.0, 0.0
        for j in range(len(node.v)):
            if node.state[j] == OPEN:
                high = max(high, node.v[j])
        mu = hints[1] if 0.0 < hints[1] < high else 0.5 * high
        for _ in range(16):
            value, lam, many = at_price(market, node, left, mu, best_lam)
            value += mu * room
            if value < best:
                best, best_lam, best_mu = value, lam, mu
            if many > room:
                low = mu
            else:
                high = mu
            mu = 0.5 * (low + high)
    share_out(market, node, best_lam, best_mu)
    return best, best_lam, best_mu


@kernel
def descend(
    split: Split, node: PricedNode, price: Floats, q: Floats, g: Floats, whole: bool
) -> float:
    """As `sweep`, with a price p_j for each: q'Rq - 2c'q + sum_j min_z (e_j q_j^2 / z + p_j z)."""
    R, e, state = split.R, split.e, node.state
    moved = 0.0
    for j in range(len(q)):
        if state[j] == OUT or (q[j] == 0.0 and not whole):
            continue
        R_jj = R[j, j]
        b = g[j] + R_jj * q[j]
        new = b / (R_jj + e[j])
        if state[j] == OPEN:
            edge = np.sqrt(price[j] / e[j])
            if abs(new) < edge:
                new = abs(b) - e[j] * edge
                new = min(new / R_jj, edge) if new > 0.0 and R_jj > 1e-14 else 0.0
                new = new if b > 0.0 else -new
        step = new - q[j]
        if step != 0.0:
            q[j] = new
            for a in range(len(g)):
                g[a] -= step * R[j, a]
            moved = max(moved, abs(step) * np.sqrt(e[j]))
    return moved


@kernel
def base_of(split: Split, node: PricedNode, q: Floats, g: Floats) -> float:
    """Fill v, as in `dual`: rss(S) >= base - sum of v over the open ones of S."""
    base, size = 1.0, 0.0
    for j in range(len(q)):
        base -= q[j] * (split.c[j] - g[j])
        size += abs(q[j])
        node.v[j] = 0.0 if node.state[j] == OUT else g[j] * g[j] / split.e[j]
        if node.state[j] == IN:
            base -= node.v[j]
    return base - 1e-15 * len(q) * size * size


@kernel
def shares(
    market: Market, split: Split, node: PricedNode, q: Floats, price: Floats, z: Floats
) -> tuple[float, float]:
    """Fill z, how much of each open feature the relaxation has; the units and the features of z."""
    many = 0.0
    for j in range(len(q)):
        z[j] = 0.0
        if node.state[j] == OPEN and q[j] != 0.0:
            full = q[j] * q[j] * split.e[j] >= price[j]
            z[j] = 1.0 if full else abs(q[j]) * np.sqrt(split.e[j] / price[j])
            many += z[j]
    spent = 0.0
    for i in range(len(node.paid)):
        if node.paid[i] == OPEN:
            most = 0.0
            for p in range(market.firsts[i], market.firsts[i + 1]):
                most = max(most, z[market.members[p]])
            spent += most * market.units[i]
    return spent, many
