"""Kernels of the best subset for money: bound a node, settle what follows, branch.

A branch is a feature, or an item i as m + i where m is the number of features.
"""

from __future__ import annotations

import numpy as np

from keyhole.blocks.exact.priced_market import Market, follow
from keyhole.blocks.exact.priced_relaxation import PricedNode, base_of, descend, least, shares
from keyhole.blocks.exact.relaxation import IN, OPEN, OUT, Split
from keyhole.blocks.exact.subset_kernels import rss
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats


@kernel
def keep_best(node: PricedNode, trial: PricedNode) -> None:
    """Copy what a trial found to the node."""
    for j in range(len(node.q)):
        node.q[j] = trial.q[j]
        node.v[j] = trial.v[j]
        node.rest[j] = trial.rest[j]
        node.price[j] = trial.price[j]
    for i in range(len(node.paid)):
        node.slack[i] = trial.slack[i]


@kernel
def stepped(extra: float, now: float, goal: float, found: float) -> float:
    """A multiplier after one step: up if more than there is was taken, down if less."""
    if goal <= 0.0:
        return extra
    if extra <= 0.0:
        return found
    return extra * min(4.0, max(0.25, now / goal))


@kernel
def relax_priced(
    split: Split, market: Market, node: PricedNode, left: int, room: int,
    hints: tuple[float, float], goal: float, rounds: int,
) -> tuple[float, float, float]:  # fmt: skip
    """Push the bound of a node up; (bound, lam, mu). The node is left at the best point.

    Prices that are shared follow what the members bring; lam and mu rise while the relaxation takes
    more than there is.
    """
    R, _, c = split
    m, rate = len(node.q), market.rate
    trial = PricedNode(
        node.state, node.paid, node.q.copy(), np.zeros(m), np.zeros(m), np.zeros(m),
        np.zeros(len(node.paid)),
    )  # fmt: skip
    q, g = trial.q, c.copy()
    for j in range(m):
        if node.state[j] == OUT:
            q[j] = 0.0
        elif q[j] != 0.0:
            for a in range(m):
                g[a] -= q[j] * R[j, a]
    spent = rate * (market.limit - left)
    base = base_of(split, trial, q, g)
    value, lam, mu = least(market, trial, float(left), room, hints)
    bound = base + spent - value
    keep_best(node, trial)
    best_lam, best_mu = lam, mu
    if hints[0] > 0.0:
        lam, mu = max(hints[0], rate), hints[1]
    price, z = trial.price.copy(), np.zeros(m)
    for step in range(rounds):
        moved = descend(split, trial, price, q, g, True)
        for _ in range(20):
            if moved * moved < 1e-8 * price.max():
                break
            moved = descend(split, trial, price, q, g, False)
        base = base_of(split, trial, q, g)
        value, found_lam, found_mu = least(market, trial, float(left), room, (lam, mu))
        gained = base + spent - value - bound
        if gained > 0.0:
            bound, best_lam, best_mu = base + spent - value, found_lam, found_mu
            keep_best(node, trial)
            if bound >= goal:
                break
        now, many = shares(market, split, trial, q, price, z)
        fits = abs(now - left) < 0.01 * left or (lam <= rate and now <= left)
        if step > 2 and fits and gained < 0.005 * (goal - bound):
            break
        before = lam
        lam = rate + stepped(lam - rate, now, float(left), found_lam - rate)
        mu = stepped(mu, many, float(room), found_mu)
        mu = 0.0 if mu < 1e-15 else mu
        # `trial.price` is at the prices found; half of it, so that shares do not swing.
        scale = lam / found_lam if found_lam > 0.0 else 1.0
        old = lam / before if before > 0.0 else 1.0
        for j in range(m):
            fresh = (trial.price[j] - found_mu) * scale
            price[j] = mu + 0.5 * (max(price[j] - mu, 0.0) * old + fresh)
    return bound, best_lam, best_mu


@kernel
def fix_priced(market: Market, node: PricedNode, mu: float, bound: float, goal: float) -> bool:
    """Settle what every subset below `goal` must or must not have; whether that matters.

    A subset with item i is above the bound by the item's slack, one without it by the rest of its
    members; one with feature j by the slack of all its items, one without it by its rest.
    """
    state, paid, q, v, rest, _, slack = node
    touched = False
    for i in range(len(paid)):
        if paid[i] != OPEN:
            continue
        lost = 0.0
        for p in range(market.firsts[i], market.firsts[i + 1]):
            lost += rest[market.members[p]]
        if bound + slack[i] >= goal:
            paid[i] = OUT
        elif bound + lost >= goal:
            paid[i] = IN
            touched = True
    for j in range(len(state)):
        if state[j] != OPEN:
            continue
        dear = max(mu - v[j], 0.0)
        for p in range(market.starts[j], market.starts[j + 1]):
            dear += slack[market.needs[p]]
        if bound + dear >= goal:
            state[j] = OUT
            touched |= q[j] != 0.0
        elif bound + rest[j] >= goal:
            state[j] = IN
            touched = True
    return touched


@kernel
def without_relaxation(G: Floats, c: Floats, market: Market, node: PricedNode, left: int) -> float:
    """No subset of a node beats all its columns together, at the price of what is paid."""
    live = np.flatnonzero(node.state != OUT)
    return rss(G, c, live, len(live)) + market.rate * (market.limit - left)


@kernel
def branch_on(market: Market, node: PricedNode, c: Floats, z: Floats) -> int:
    """The item, or feature that is paid for, of which the relaxation is least decided."""
    m = len(z)
    branch, widest = -1, -1.0
    for i in range(len(node.paid)):
        if node.paid[i] == OPEN:
            most, size = 0.0, 0.0
            for p in range(market.firsts[i], market.firsts[i + 1]):
                j = market.members[p]
                if node.state[j] == OPEN:
                    most = max(most, z[j])
                    size += c[j] * c[j]
            width = most * (1.0 - most) + 1e-9 * size
            if width > widest:
                branch, widest = m + i, width
    for j in range(m):
        if node.state[j] == OPEN:
            width = z[j] * (1.0 - z[j]) + 1e-9 * c[j] * c[j]
            if width > widest:
                branch, widest = j, width
    return branch


@kernel
def settle_priced(
    G: Floats, split: Split, market: Market, node: PricedNode, hints: tuple[float, float],
    goal: float, rounds: int, z: Floats,
) -> tuple[float, float, float, int]:  # fmt: skip
    """Bound a node and settle as far as that goes: (bound, lam, mu, branch); z as of the bound.

    The bound is infinite when nothing below `goal` is left in the node but, perhaps, what is IN. An
    e with zeros means that there is no relaxation.
    """
    bound, (lam, mu) = -np.inf, hints
    usable = split.e.min() > 0.0
    again = True
    while again:
        z[:] = 0.0
        left, room = follow(market, node.state, node.paid)
        if left < 0:
            node.state[:] = OUT
            return np.inf, lam, mu, -1
        if not (node.state == OPEN).any():
            return np.inf, lam, mu, -1
        if usable:
            low, lam, mu = relax_priced(split, market, node, left, room, (lam, mu), goal, rounds)
            shares(market, split, node, node.q, node.price, z)
        else:
            low = without_relaxation(G, split.c, market, node, left)
        bound = max(bound, low)
        if bound >= goal:
            return np.inf, lam, mu, -1
        again = usable and fix_priced(market, node, mu, low, goal)
    left, _ = follow(market, node.state, node.paid)
    if left < 0:
        node.state[:] = OUT
    if not (node.state == OPEN).any():
        return np.inf, lam, mu, -1
    return bound, lam, mu, branch_on(market, node, split.c, z)
