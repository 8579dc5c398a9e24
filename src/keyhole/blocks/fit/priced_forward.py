"""Forward selection under a price list: what promises more than it costs, within a limit."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.fit.forward import NEW, Selecting, prepare, project
from keyhole.blocks.fit.market import Basket, Market, take
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.memories import Memories
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices


@c_function("kh_select_priced_into", room="2*d")
@kernel
def select_priced_into(
    kept: Memories,
    memory: int,
    threshold: float,
    room: Selecting,
    shop: Market,
    held: Basket,
    money: int,
    rate: float,
) -> tuple[int, float, int, bool]:
    """Fill chosen, gains, r and D, by seat; how many were chosen, what is left of label and money.

    Also whether a feature that `shop.limit` could pay for, and with a positive score, was left
    because the money did not reach.

    As `select_into`, but feature j must fit into what is left of the money, and the next is the one
    with the largest score

        excess_j^2 - rate (what j still costs),
        excess_j = |r_j| / sqrt(D_j) - threshold sqrt(noise / n_j),

    as long as that is positive. An item that several features need, and that is not paid for yet,
    is judged by all of them: members in the order of excess^2 per own price, as many as make the
    sum of excess^2 - rate (fee + own prices) largest; the strongest of them is then chosen, and
    the others are cheaper from there on.
    """
    r, D, L, ready = room.r, room.D, room.L, room.ready
    scale, most = kept.scale[memory], len(room.chosen)
    noise, second = prepare(kept, memory, most, room)
    if not second > 0.0:
        return 0, noise, money, False
    rare, gain, size, short = L[most + 2], np.zeros(len(kept.seat)), 0, False
    while True:
        v, best, short = -1, 0.0, False
        error = threshold * math.sqrt(noise / scale)
        for a in range(len(r)):
            j = kept.who[a]
            if j < 0:
                continue
            gain[j] = 0.0
            if D[a] > NEW and r[a] * r[a] > error * error * rare[a] * rare[a] * D[a] and ready[a]:
                excess = abs(r[a]) / math.sqrt(D[a]) - error * rare[a]
                score = excess * excess - rate * held.more[j]
                if shop.barred[j]:
                    continue
                if held.more[j] > money:
                    short = short or (score > 0.0 and held.more[j] <= shop.limit)
                    continue
                gain[j] = excess * excess
                if score > best:
                    v, best = j, score
        v = _better_panel(shop, held, money, rate, gain, v, best)
        if v < 0 or size == most:
            break
        money -= take(shop, held, v)
        noise = project(kept, memory, most, room, size, kept.seat[v], noise, second)
        size += 1
    return size, noise, money, short


@inner
def _better_panel(
    shop: Market, held: Basket, money: int, rate: float, gain: Floats, v: int, best: float
) -> int:
    # The strongest member of the item whose members promise more than `best`; v if there is none.
    for i in range(len(shop.units)):
        low, high = shop.start[i], shop.start[i + 1]
        if held.paid[i] or high - low < 2:
            continue
        members, fee = (
            _by_value(shop.holder[low:high], held.more, gain, shop.units[i]),
            shop.units[i],
        )
        score, spent, strongest = -rate * fee, fee, -1
        for j in members:
            own = held.more[j] - fee
            if spent + own > money:
                break
            spent += own
            score += gain[j] - rate * own
            if strongest < 0 or gain[j] > gain[strongest]:
                strongest = j
            if score > best:
                v, best = strongest, score
    return v


@inner
def _by_value(holders: Indices, more: Indices, gain: Floats, fee: int) -> Indices:
    # Those with a gain, by gain per own price, the best first.
    members, many = np.empty(len(holders), dtype=np.int64), 0
    for j in holders:
        if gain[j] > 0.0:
            place = many
            while place > 0 and _beats(j, members[place - 1], more, gain, fee):
                members[place] = members[place - 1]
                place -= 1
            members[place] = j
            many += 1
    return members[:many]


@inner
def _beats(j: int, other: int, more: Indices, gain: Floats, fee: int) -> bool:
    # Products, not quotients: an own price may be 0.
    return bool(gain[j] * (more[other] - fee) > gain[other] * (more[j] - fee))
