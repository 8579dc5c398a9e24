"""How AutoLearner fills a batch where features have prices: what is kept, what is explored."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.auto.choose import LOOK_OUT, fill, leader, note_leader
from keyhole.blocks.auto.explore import (
    draw_candidates,
    judge_all,
    judge_candidates,
    unread_at,
)
from keyhole.blocks.auto.layer import Layer, begin
from keyhole.blocks.auto.mistrust import set_aside_if_misled, trusts_history
from keyhole.blocks.auto.selecting import clear_all, name_chosen, room_of, seat
from keyhole.blocks.auto.state import (
    EXPLORED,
    KEPT,
    LONGEST_MEMORY,
    ONLY,
    UNREAD,
    Batch,
    Settings,
    State,
    room_for,
)
from keyhole.blocks.auto.till import Till, limit_of
from keyhole.blocks.draw.keyed import uniform
from keyhole.blocks.draw.sorting import largest
from keyhole.blocks.fit.market import Basket, Market, basket, empty, take
from keyhole.blocks.fit.optimism import NEVER, PURPOSE
from keyhole.blocks.fit.priced_forward import select_priced_into
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.running import spread
from keyhole.problem import Floats, Indices

ASIDE = 8  # one part in so many of the money explores, or what the cheapest feature costs,
COSTS = 80  # unless that takes more than one part in so many of the gain
SELDOM, BEGINNING, LATER = 4, 64, 64  # then whole batches explore: see `_explores`
HALF = 2  # one part in so many of their money
MORE = 1.01  # times the gain: so much makes choosing by gain alone better than by gain and price
DISPLACE = 0.5  # over the root of the batch's number: the chance that a dear feature comes first
BOLD = 1.0  # standard errors by which its gain may be off
FIRST_RATE, LEAST_RATE = 1e-3, 1e-5  # of the noise, for the whole limit
UNSPENT = 0.8  # share of the money below which the rate falls
OPTIMISM = 0.7  # standard errors, where money has a fixed worth
_DEAR = PURPOSE + 1


@kernel
def buy(
    s: Settings, state: State, last: Layer, till: Till, number: int, round: int, size: int
) -> Batch:
    """A batch of `size` rounds that begins after `round` rounds, filled within the money."""
    set_aside_if_misled(s, state, last)
    lead = note_leader(s, state)
    limit = limit_of(till, state, round, size)
    many = _shop(s, state, till, number, limit, lead, True)
    batch = room_for(many, len(s.experts.features), s.slots, s.longest)
    _list(state, batch.S)
    if s.seats < s.d:
        _walk_on(s, state)
    seat(state, batch.S)
    fill(s, state, batch, lead, state.space.square)
    begin(last, spread(state.label, ONLY))
    return batch


@kernel
def buy_once(s: Settings, state: State, till: Till, number: int) -> Indices:
    """What to buy for one example on terms of its own; nothing is learnt from the terms."""
    lead = leader(s.experts.judges, state.mixture.recent)
    S = np.empty(_shop(s, state, till, number, till.shop.limit, lead, False), dtype=np.int64)
    _list(state, S)
    return S


@kernel
def affordable(s: Settings, state: State, till: Till) -> Indices:
    """What the leading memory would choose with all the money of one example, ascending."""
    lead, shop = leader(s.experts.judges, state.mixture.recent), till.shop
    rate = till.rate if till.rate > 0.0 else state.rate[ONLY]
    held = basket(shop)
    if till.rate == 0.0:
        whole = _gain(s, state, lead, shop, held, shop.limit, rate)
        if _gain(s, state, lead, shop, held, shop.limit, 0.0) > MORE * whole:
            rate = 0.0
    _select(s, state, lead, shop, held, shop.limit, rate)
    return np.sort(state.space.chosen[lead, : state.space.picked[lead]])


@kernel
def reopen_bought(s: Settings, state: State, S: Indices) -> Batch:
    """A batch for a ticket that has none: all it read is learnt, the best of it predicts."""
    batch, space = room_for(len(S), len(s.experts.features), s.slots, s.longest), state.space
    batch.S[:] = S
    barred = np.ones(s.d, dtype=np.bool_)
    for j in S:
        barred[j] = False
    none = np.zeros(s.d + 1, dtype=np.int64)
    only = Market(none[:0], none, none[:0], none[:1], none[:0], barred, 0)  # all of S, for nothing
    held = basket(only)
    clear_all(space)
    for j in S:
        space.why[j] = EXPLORED
    for m in range(len(state.kept.tau)):
        _select(s, state, m, only, held, 0, 0.0)
        for rank in range(space.picked[m]):
            space.why[space.chosen[m, rank]] = KEPT
    room = np.empty((len(S) + 1, len(S) + 1))
    fill(s, state, batch, leader(s.experts.judges, state.mixture.recent), room)
    return batch


@inner
def _shop(
    s: Settings, state: State, till: Till, number: int, limit: int, lead: int, learn: bool
) -> int:
    # Marks what is read and why; how many features that is.
    held = basket(till.shop)
    quiet = trusts_history(state) and number % LOOK_OUT != 0
    left = _keep(s, state, till, number, limit, quiet, held, learn)
    if till.rate > 0.0:
        _explore_if_worth(s, state, till, number, left, held)
    else:
        source = LONGEST_MEMORY if number % 2 == 0 else lead
        _explore(s, state, till.shop, number, source, left, held)
    return _close(state, till.shop, held)


@inner
def _select(
    s: Settings, state: State, m: int, shop: Market, held: Basket, money: int, rate: float
) -> tuple[int, bool]:
    # What memory m would keep; the money that is left, and whether there was too little of it.
    space = state.space
    threshold, room = s.thresholds[m], room_of(space, m)
    empty(shop, held)
    found = select_priced_into(state.kept, m, threshold, room, shop, held, money, rate)
    space.picked[m], space.noise[m], left, short = found
    name_chosen(state, m)
    return left, short


@inner
def _gain(
    s: Settings, state: State, m: int, shop: Market, held: Basket, money: int, rate: float
) -> float:
    # What the features that memory m would keep promise together.
    _select(s, state, m, shop, held, money, rate)
    gain = 0.0
    for rank in range(state.space.picked[m]):
        gain += state.space.gains[m, rank]
    return gain


@inner
def _explores(number: int, lead: int) -> bool:
    # Whether a batch explores where exploring has batches for itself: often at the beginning, and
    # while a memory that forgets leads; else when the number is a square, and once in LATER.
    if number < BEGINNING or lead != LONGEST_MEMORY:
        return number % SELDOM == 0
    root = int(math.sqrt(number))
    return number % LATER == 0 or root * root == number or (root + 1) * (root + 1) == number


@inner
def _usual_share(till: Till, limit: int) -> int:
    # The money that explores, unless that is too dear: enough for a feature, if half the limit is.
    share = limit // ASIDE
    return int(till.cheapest if share < till.cheapest <= limit // HALF else share)


@inner
def _plan(
    s: Settings,
    state: State,
    shop: Market,
    held: Basket,
    number: int,
    limit: int,
    lead: int,
    aside: int,
) -> tuple[int, float]:
    # Where money is dear: how much of it explores, and the rate at which the leader keeps more.
    rate = state.rate[ONLY]
    whole = _gain(s, state, lead, shop, held, limit, rate)
    other = _gain(s, state, lead, shop, held, limit, 0.0) if rate > 0.0 else whole
    if other > MORE * whole:
        rate, whole = 0.0, other
    lost = whole - _gain(s, state, lead, shop, held, limit - aside, rate)
    if lost * COSTS > whole:
        aside = limit // HALF if _explores(number, lead) else 0
    return aside, rate


@inner
def _keep(
    s: Settings,
    state: State,
    till: Till,
    number: int,
    limit: int,
    quiet: bool,
    held: Basket,
    learn: bool,
) -> int:
    # Marks what is kept; the money that is left for exploring. By rank, at the same rank the
    # memory that did best of late first.
    space, shop, memories = state.space, till.shop, len(state.kept.tau)
    order = np.empty(memories, dtype=np.int64)
    largest(-state.mixture.recent[s.experts.judges], order)
    fixed, lead = till.rate > 0.0, order[0]
    rate = till.rate if fixed else state.rate[ONLY]
    usual = _usual_share(till, limit)
    aside = 0 if fixed or quiet else usual
    unspent, short = _select(s, state, lead, shop, held, limit - aside, rate)
    dear = rate > FIRST_RATE * space.noise[lead] / max(limit, 1)
    if (short or dear) and not fixed:
        aside, rate = _plan(s, state, shop, held, number, limit, lead, usual)
        aside = 0 if quiet else aside
        unspent, short = _select(s, state, lead, shop, held, limit - aside, rate)
    money = limit - aside
    if learn and not fixed and aside <= usual:
        _adapt(state, space.noise[lead], limit, money, unspent, short)
    for q in range(1, memories):
        _select(s, state, order[q], shop, held, money, rate)
    clear_all(space)
    empty(shop, held)
    spent = 0
    if not fixed and not quiet:
        spent = _displace(s, state, shop, held, number, limit, aside)
    for rank in range(space.chosen.shape[1]):
        for q in range(memories):
            m = order[q]
            if rank < space.picked[m]:
                j = space.chosen[m, rank]
                if space.why[j] != KEPT and spent + held.more[j] <= money:
                    space.why[j] = KEPT
                    spent += take(shop, held, j)
    return limit - spent


@inner
def _adapt(state: State, noise: float, limit: int, money: int, unspent: int, short: bool) -> None:
    # The rate rises while something is left for want of money, and falls when much is unspent.
    unit = noise / max(limit, 1)
    if state.rate[ONLY] <= 0.0:
        state.rate[ONLY] = FIRST_RATE * unit
    elif short:
        state.rate[ONLY] = min(1.1 * state.rate[ONLY], 1e300)
    elif money - unspent < UNSPENT * money:
        state.rate[ONLY] = max(0.9 * state.rate[ONLY], LEAST_RATE * unit)


@inner
def _displace(
    s: Settings, state: State, shop: Market, held: Basket, number: int, limit: int, aside: int
) -> int:
    # Now and then a feature that exploring cannot pay for comes first, the most promising one.
    if not uniform(s.seed, number, _DEAR, 0) < DISPLACE / math.sqrt(number):
        return 0
    score, first = _sample(s, state, number, LONGEST_MEMORY, BOLD), -1
    for j in range(s.d):
        dear = aside < held.more[j] <= limit and not shop.barred[j]
        if dear and (first < 0 or score[j] > score[first]):
            first = j
    if first < 0:
        return 0
    state.space.why[first] = EXPLORED
    return take(shop, held, first)


@inner
def _sample(s: Settings, state: State, number: int, m: int, optimism: float) -> Floats:
    # What each feature promises; -1 for those that are not looked at, where they are too many.
    score = np.full(s.d, -1.0)
    if s.seats == s.d:
        judge_all(s, state, 2 * number, m, optimism, score)
        return score
    some = state.space.score[: draw_candidates(s, state, number)]
    judge_candidates(s, state, 2 * number, m, optimism, some)
    for i in range(len(some)):
        score[state.space.candidates[i]] = some[i]
    for i in range(s.width):
        j = unread_at(s, state, i)
        if j >= 0:
            score[j] = NEVER * (2.0 - i / s.width)
    return score


@inner
def _walk_on(s: Settings, state: State) -> None:
    # Past what came up to be read for the first time: the last that was bought, or known before.
    far = 1
    for i in range(s.width):
        j = unread_at(s, state, i)
        if j < 0 or state.space.why[j] != UNREAD:
            far = i + 1
    state.walk[ONLY] = (state.walk[ONLY] + far) % s.d


@inner
def _explore(
    s: Settings, state: State, shop: Market, number: int, m: int, left: int, held: Basket
) -> None:
    # All that is left goes to what promises most beyond its price, what was never read first.
    space, rate = state.space, state.rate[ONLY]
    scores = _sample(s, state, number, m, s.optimism)
    for j in range(s.d):
        if space.why[j] != UNREAD or shop.barred[j]:
            scores[j] = -np.inf
    while True:
        best, v = -np.inf, -1
        for j in range(s.d):
            if scores[j] > best:  # a price only takes from it, and few get past here
                more = held.more[j]
                score = scores[j] - rate * more
                if score > best and 0 < more <= left and space.why[j] == UNREAD:
                    v, best = j, score
        if v < 0:
            return
        space.why[v] = EXPLORED
        left -= take(shop, held, v)


@inner
def _explore_if_worth(
    s: Settings, state: State, till: Till, number: int, left: int, held: Basket
) -> None:
    # What might gain more than it costs; of an item that several need, what all of them might.
    space, shop, rate, m = state.space, till.shop, till.rate, LONGEST_MEMORY
    score, noise = _sample(s, state, number, m, OPTIMISM), space.noise[m]
    for j in range(s.d):
        if score[j] < NEVER:
            score[j] = min(score[j], noise)
        if space.why[j] != UNREAD or shop.barred[j]:
            score[j] = 0.0
    for j in range(s.d):
        if score[j] > rate * held.more[j] and 0 < held.more[j] <= left:
            space.why[j] = EXPLORED
            left -= take(shop, held, j)
    for i in range(len(shop.units)):
        holders = shop.holder[shop.start[i] : shop.start[i + 1]]
        if not held.paid[i] and len(holders) > 1:
            left -= _explore_panel(state, score, shop, held, rate, i, left)


@inner
def _explore_panel(
    state: State, score: Floats, shop: Market, held: Basket, rate: float, i: int, left: int
) -> int:
    # What is spent on an unpaid item and those of its members that might be worth their own price.
    fee, spent = shop.units[i], 0
    surplus = -rate * fee
    for h in range(shop.start[i], shop.start[i + 1]):
        j = shop.holder[h]
        surplus += max(0.0, score[j] - rate * (held.more[j] - fee))
    if not surplus > 0.0:
        return 0
    for h in range(shop.start[i], shop.start[i + 1]):
        j = shop.holder[h]
        own = held.more[j] if held.paid[i] else held.more[j] - fee
        if score[j] > rate * own and spent + held.more[j] <= left:
            state.space.why[j] = EXPLORED
            spent += take(shop, held, j)
    return spent


@inner
def _close(state: State, shop: Market, held: Basket) -> int:
    # Whatever is paid for is read; how many features that makes.
    why, many = state.space.why, 0
    for j in range(len(why)):
        if why[j] == UNREAD and held.more[j] == 0 and not shop.barred[j]:
            why[j] = EXPLORED
        many += why[j] != UNREAD
    return many


@inner
def _list(state: State, S: Indices) -> None:
    a = 0
    for j in range(len(state.space.why)):
        if state.space.why[j] != UNREAD:
            S[a] = j
            a += 1
