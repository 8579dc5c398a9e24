"""Inner loops of `priced_reads.py`: who is affordable, the bins, what a read loss counts.

`paid` are the items paid so far, `left` the money; amounts are whole units.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed, categorical, uniform
from keyhole.blocks.fit.market import Market
from keyhole.blocks.fit.purchase import (
    Paid,
    any_order,
    buy,
    missing,
    nothing_paid,
    paid_for,
    pay,
)
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.problem import Floats, Indices

Bins = NDArray[np.bool_]  # bins x items: what each bin pays beside what is paid already


@kernel
def chances(p: Floats, shop: Market, paid: Paid, left: int, out: Floats) -> None:
    """p over the features that the money left buys; all of them alike if it has no weight there."""
    total, able = 0.0, 0
    for j in range(len(p)):
        out[j] = -1.0
        if missing(j, shop, paid) <= left:
            out[j] = p[j]
            total += p[j]
            able += 1
    for j in range(len(p)):
        if out[j] < 0.0:
            out[j] = 0.0
        else:
            out[j] = out[j] / total if total > 0.0 else 1.0 / able


@inner
def _extra(j: int, shop: Market, paid: Paid, more: Paid) -> int:
    price = 0
    for a in range(shop.first[j], shop.first[j + 1]):
        if not (paid[shop.need[a]] or more[shop.need[a]]):
            price += shop.units[shop.need[a]]
    return price


@kernel
def pack(shop: Market, paid: Paid, left: int) -> tuple[Indices, Bins]:
    """The bin of each feature that the money left buys, -1 for the others, and what bins pay.

    Dearest first, each into the bin where it adds least, the first of those; into a new one if it
    fits into none.
    """
    d = len(shop.first) - 1
    price = np.empty(d)
    for j in range(d):
        price[j] = -float(missing(j, shop, paid))
    bin_of, many = np.full(d, -1), 0
    filled = np.zeros((d, len(shop.units)), dtype=np.bool_)
    room = np.empty(d, dtype=np.int64)
    for j in np.argsort(price, kind="mergesort"):
        if -price[j] > left:
            continue
        best, least = -1, 0
        for b in range(many):
            extra = _extra(j, shop, paid, filled[b])
            if extra <= room[b] and (best < 0 or extra < least):
                best, least = b, extra
        if best < 0:
            best, least, room[many] = many, _extra(j, shop, paid, paid), left
            many += 1
        bin_of[j] = best
        room[best] -= least
        pay(j, shop, filled[best])
    return bin_of, filled[:many]


@inner
def _paid_by(e: int, f: int, shop: Market, paid: Paid) -> bool:
    """Whether paying for f pays for e too."""
    for a in range(shop.first[e], shop.first[e + 1]):
        found = paid[shop.need[a]]
        for b in range(shop.first[f], shop.first[f + 1]):
            found = found or shop.need[a] == shop.need[b]
        if not found:
            return False
    return True


@kernel
def seen(
    e: int, p: Floats, shop: Market, paid: Paid, bin_of: Indices, filled: Bins, explores: float
) -> float:
    """With which probability a run gets to see e: see `PricedReads`."""
    if missing(e, shop, paid) == 0:
        return 1.0
    by_bin, by_itself = 0.0, 0.0
    for b in range(len(filled)):
        if _extra(e, shop, paid, filled[b]) == 0:
            for f in range(len(p)):
                if bin_of[f] == b:
                    by_bin += p[f]
    for f in range(len(p)):
        if p[f] > 0.0 and _paid_by(e, f, shop, paid):
            by_itself += p[f]
    return explores * by_bin + (1.0 - explores) * by_itself


@kernel
def weigh_turn(
    p: Floats,
    shop: Market,
    before: Paid,
    after: Paid,
    packed: tuple[Indices, Bins],
    explores: float,
    out: Floats,
) -> None:
    """What the losses of what a run has paid for count; 0 for what it did not see or could not
    have played.
    """
    bin_of, filled = packed
    for e in range(len(p)):
        out[e] = 0.0
        if bin_of[e] >= 0 and missing(e, shop, after) == 0:
            q = seen(e, p, shop, before, bin_of, filled, explores)
            out[e] = 1.0 / q if q > 0.0 else 0.0


@kernel
def take_turn(
    j: int, explores: bool, shop: Market, paid: Paid, packed: tuple[Indices, Bins]
) -> Paid:
    """What is paid once a run has played j, and explored or not."""
    after = paid.copy()
    pay(j, shop, after)
    if explores:
        bin_of, filled = packed
        for i in range(len(after)):
            after[i] = after[i] or filled[bin_of[j], i]
    return after


@inner
def _cost(shop: Market, paid: Paid) -> int:
    total = 0
    for i in range(len(paid)):
        if paid[i]:
            total += shop.units[i]
    return total


@kernel
def draw_in_turn(
    seed: Seed, round: int, p: Floats, shop: Market, share: float, width: int
) -> tuple[Indices, Floats, Floats, Indices]:
    """Who is played, with what chances, what losses count, and all that is read, ascending.

    Run i draws from the purposes 2 i (its expert) and 2 i + 1 (whether it explores); what is left
    is spent by the purpose 2 n. In a round a run explores with probability `share`, each alike.
    """
    n, d = p.shape
    j, paid, done = np.empty(n, dtype=np.int64), nothing_paid(shop), False
    chance, weight = np.zeros((n, d)), np.zeros((n, d))
    for i in range(n):
        left = shop.limit - _cost(shop, paid)
        chances(p[i], shop, paid, left, chance[i])
        j[i] = categorical(uniform(seed, round, 2 * i, 0), chance[i])
        if done:
            pay(j[i], shop, paid)
            continue
        hazard = share / (n - share * i)
        packed = pack(shop, paid, left)
        done = uniform(seed, round, 2 * i + 1, 0) < hazard
        after = take_turn(j[i], done, shop, paid, packed)
        weigh_turn(chance[i], shop, paid, after, packed, hazard, weight[i])
        paid = after
    buy(any_order(seed, round, 2 * n, d), shop, paid, shop.limit - _cost(shop, paid))
    S = np.empty(width, dtype=np.int64)
    many = paid_for(shop, paid, S)
    return j, chance, weight, S[:many].copy()
