"""AutoLearner with prices: the paragraph "Money" of "The rules", in plain Python.

Features are bought one by one into a set of items that are paid for. `bug` is a mistake to make,
for tests that must notice it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import keyhole as kh
from keyhole.blocks.auto.buy import (
    ASIDE,
    BEGINNING,
    BOLD,
    COSTS,
    DISPLACE,
    FIRST_RATE,
    HALF,
    LATER,
    LEAST_RATE,
    MORE,
    OPTIMISM,
    SELDOM,
)
from keyhole.blocks.auto.choose import LOOK_OUT
from keyhole.blocks.auto.study import FIRST
from keyhole.blocks.draw.sampling import uniforms
from keyhole.problem import Floats
from tests.helpers.auto_pieces import Memory, Selection, first_noise, look, next_noise
from tests.helpers.auto_transcription import Batch, Choice, Transcription, Word

BUGS = (
    "a panel is paid twice",
    "the rate is not learnt",
    "money that is short is ignored",
    "no batch explores for itself",
    "what is paid for is not read",
    "the feature read least is displaced for",
    "the eighth is taken where it costs too much",
    "panels are judged by single members",
    "a gain is worth any price",
    "what exceeds the noise is believed",
    "no complete rows",
    "the purse is not looked at",
    "after history, all batches explore",
)


@dataclass
class Shop:
    """What items cost, which of them each feature needs, and which are needed by several."""

    units: tuple[int, ...]
    needs: list[set[int]]
    bug: str = ""

    def members(self, i: int) -> list[int]:
        return [j for j, items in enumerate(self.needs) if i in items]

    def shared(self) -> list[int]:
        return [i for i in range(len(self.units)) if len(self.members(i)) >= 2]

    def price(self, items: set[int]) -> int:
        return sum(self.units[i] for i in items)


@dataclass
class Basket:
    """P, the items paid for, and what was spent on them."""

    shop: Shop
    paid: set[int] = field(default_factory=set)
    spent: int = 0

    def more(self, j: int) -> int:
        paid = self.paid
        if self.shop.bug == BUGS[0]:
            paid = paid - set(self.shop.shared())
        return self.shop.price(self.shop.needs[j] - paid)

    def buy(self, j: int) -> None:
        self.spent += self.more(j)
        self.paid = self.paid | self.shop.needs[j]

    def unpaid_panels(self) -> list[int]:
        return [i for i in self.shop.shared() if i not in self.paid]

    def paid_for(self) -> set[int]:
        return {j for j, items in enumerate(self.shop.needs) if items <= self.paid}


@dataclass
class Bought(Selection):
    """A selection with money: what is left of it, whether it is short, and what it gained."""

    left: int
    short: bool
    gain: float


def scores(basket: Basket, e: dict[int, float], money: int, rate: float) -> dict[int, float]:
    """The scores of the features that can be paid; panels lift the strongest of their members."""
    more = {j: basket.more(j) for j in e if basket.more(j) <= money}
    score = {j: e[j] ** 2 - rate * more[j] for j in more}
    panels = [] if basket.shop.bug == BUGS[7] else basket.unpaid_panels()
    for i in panels:
        u = basket.shop.units[i]
        own = {j: more[j] - u for j in more if i in basket.shop.needs[j]}
        ratio = {j: e[j] ** 2 / own[j] if own[j] > 0 else math.inf for j in own}
        first = list[int]()
        for j in sorted(own, key=lambda j: -ratio[j]):
            first.append(j)
            if u + sum(own[h] for h in first) > money:
                break
            total = sum(e[h] ** 2 - rate * own[h] for h in first) - rate * u
            strongest = max(first, key=lambda h: e[h])
            score[strongest] = max(score[strongest], total)
    return score


def select_bought(
    shop: Shop, memory: Memory, most: int, threshold: float, limit: int, money: int, rate: float
) -> Bought:
    """Selection with money at a rate, where one example may cost `limit`."""
    d, chosen, basket, gain = memory.d, list[int](), Basket(shop), 0.0
    if memory.n == 0.0:
        return Bought(chosen, np.zeros(d), np.zeros(d), 0.0, money, False, gain)
    noise = first_noise(memory)
    while True:
        r, D, excess = look(memory, chosen, noise, threshold)
        e = {j: float(excess[j]) for j in range(d) if excess[j] > 0.0}
        left = money - basket.spent
        score = scores(basket, e, left, rate) if len(chosen) < most else {}
        if not score or max(score.values()) <= 0.0:
            more = {j: basket.more(j) for j in e}
            short = any(e[j] ** 2 > rate * more[j] and left < more[j] <= limit for j in e)
            return Bought(chosen, r, D, noise, left, short and shop.bug != BUGS[2], gain)
        v = min(j for j in score if score[j] == max(score.values()))
        noise = next_noise(memory, noise, r[v] ** 2 / D[v])
        gain += float(r[v] ** 2 / D[v])
        chosen.append(v)
        basket.buy(v)


class PricedTranscription(Transcription):
    """AutoLearner by the rules, where features have prices."""

    def __init__(
        self,
        problem: kh.Problem,
        parts: kh.AutoParts,
        seed: int,
        proper: bool,
        past: bool,
        bug: str = "",
        *,
        worth: float | None = None,
        purse: float | None = None,
        horizon: int | None = None,
    ) -> None:
        assert problem.prices is not None
        self.width = problem.width
        super().__init__(problem, parts, seed, proper, past, bug)
        prices = problem.prices
        self.shop = Shop(prices.units, [set(items) for items in prices.needs], bug)
        self.limit = prices.limit(problem.budget)
        self.worth = None if worth is None else worth * 10**prices.decimals  # in units
        self.W = None if purse is None else prices.limit(purse)
        self.horizon, self.complete, self.z = horizon or 0, 0, 0.0
        everything = self.shop.price(set(range(len(prices.units))))
        if self.W is not None and everything <= self.limit and bug != BUGS[10]:
            self.complete = self.W // (10 * everything)
            self.complete = self.complete if self.complete >= 25 else 0

    def _share(self) -> None:
        super()._share()
        self.slots = self.net = 0
        self.pool = self.width

    def study(self, row: Floats, y: float, keep: float, word: Word) -> None:
        """History costs nothing."""
        W = self.W
        super().study(row, y, keep, word)
        self.W = W

    def play(self, batch: Batch, row: Floats, y: float) -> float:
        """A round, and its ticket is paid."""
        if self.W is not None:
            self.W -= self.shop.price(set[int]().union(*(self.shop.needs[j] for j in batch.S)))
        return super().play(batch, row, y)

    def _limit(self, number: int) -> int:
        """C of a batch."""
        if self.W is None or self.bug == BUGS[11]:
            return self.limit
        t, s = (self.complete, 1) if number >= FIRST else (self.t, self.size())
        rounds = s if t < self.complete else max(self.horizon - t, s)
        return min(self.limit, self.W // rounds)

    def _fill(self, number: int, order: list[int], word: Word) -> tuple[Choice, Floats, Floats]:
        C, lead = self._limit(number), order[0]
        if self.worth is None:
            A, rate, first = self._plan(number, lead, C)
        else:
            A, rate, first = 0, 1.0 / self.worth, self._select(lead, C, C, 1.0 / self.worth)
        if self.bug == BUGS[8]:
            rate, first = 0.0, self._select(lead, C, C - A, 0.0)
        found = [
            first if m == lead else self._select(m, C, C - A, rate)
            for m in range(len(self.memories))
        ]
        chosen: list[Selection] = [*found]
        basket, read = Basket(self.shop), set[int]()
        if self.worth is None and not self._settled(number):
            read |= self._displace(number, A, C, found[0], basket)
        kept = list[int]()
        for rank in range(self.d):
            for m in order:
                for j in found[m].chosen[rank : rank + 1]:
                    if j not in kept and basket.spent + basket.more(j) <= C - A:
                        basket.buy(j)
                        kept.append(j)
        read |= set(kept)
        if self.worth is None:
            self._explore(number, C, lead, found, basket, read)
        else:
            self._explore_if_worth(number, C, found[0], basket, read, self.worth)
        if self.bug != BUGS[4]:
            read |= basket.paid_for()
        nothing = np.zeros((0, self.d))
        return Choice(lead, chosen, kept, [], sorted(read)), nothing, nothing

    def _select(self, m: int, C: int, money: int, rate: float) -> Bought:
        memory = self.memories[m]
        threshold = self._threshold(memory.tau)
        return select_bought(self.shop, memory, self.pool, threshold, C, money, rate)

    def _settled(self, number: int) -> bool:
        """After history, most batches do without exploring."""
        return self.studied > 0 and number % LOOK_OUT != 0 and self.bug != BUGS[12]

    def _explores(self, number: int) -> bool:
        if self.bug == BUGS[3]:
            return False
        if number < BEGINNING:
            return number % SELDOM == 0
        return number % LATER == 0 or math.isqrt(number) ** 2 == number

    def _plan(self, number: int, lead: int, C: int) -> tuple[int, float, Bought]:
        """A, the rate of the batch and what the leader chooses; learns z."""
        A = 0 if self._settled(number) else C // ASIDE
        rate, first = self.z, self._select(lead, C, C - A, self.z)
        if first.short:
            if self._select(lead, C, C, 0.0).gain > MORE * self._select(lead, C, C, self.z).gain:
                rate = 0.0
            most = self._select(lead, C, C, rate).gain
            costs = most - self._select(lead, C, C - A, rate).gain
            if COSTS * costs > most and self.bug != BUGS[6]:
                A = C // HALF if self._explores(number) else 0
            first = self._select(lead, C, C - A, rate)
        if A <= C // ASIDE and C > 0 and self.bug != BUGS[1]:
            if self.z == 0.0:
                self.z = FIRST_RATE * first.noise / C
            elif first.short:
                self.z = 1.1 * self.z
            elif 5 * first.left > C - A:
                self.z = max(0.9 * self.z, LEAST_RATE * first.noise / C)
        return A, rate, first

    def _displace(self, number: int, A: int, C: int, found: Bought, basket: Basket) -> set[int]:
        """Now and then a feature that exploring cannot pay for comes first."""
        chance = DISPLACE / math.sqrt(number)
        dear = [j for j in range(self.d) if A < basket.more(j) <= C]
        if not uniforms(self.seed, number, 1, purpose=2**20 + 1)[0] < chance or not dear:
            return set()
        both = self._scores(self.memories[0], found, 2 * number, BOLD)
        j, same = (max(dear, key=lambda j: score[j]) for score in both)
        assert j == same, "rounding decides: take another stream"
        if self.bug == BUGS[5]:
            j = min(dear, key=lambda j: len(self.values[j]))
        basket.buy(j)
        return {j}

    def _explore(
        self, number: int, C: int, lead: int, found: list[Bought], basket: Basket, read: set[int]
    ) -> None:
        """What is left of the money explores."""
        m = 0 if number % 2 == 0 else lead
        score, other = self._scores(self.memories[m], found[m], 2 * number)

        def best(score: Floats) -> Callable[[int], float]:
            return lambda j: float(score[j]) - self.z * basket.more(j)

        while True:
            left = C - basket.spent
            able = [j for j in range(self.d) if j not in read and 0 < basket.more(j) <= left]
            if not able:
                return
            j = max(able, key=best(score))
            assert j == max(able, key=best(other)), "rounding decides: take another stream"
            basket.buy(j)
            read.add(j)

    def _explore_if_worth(
        self, number: int, C: int, found: Bought, basket: Basket, read: set[int], v: float
    ) -> None:
        """What may be worth its price, features first, then panels."""
        score, _ = self._scores(self.memories[0], found, 2 * number, OPTIMISM)
        for j in range(self.d):
            if self.values[j] and self.bug != BUGS[9]:
                score[j] = min(score[j], found.noise)
            score[j] = 0.0 if j in read else score[j]
        for j in range(self.d):
            if score[j] > basket.more(j) / v and 0 < basket.more(j) <= C - basket.spent:
                basket.buy(j)
                read.add(j)
        for i in basket.unpaid_panels():
            u, members = self.shop.units[i], self.shop.members(i)
            own = {j: (basket.more(j) - u) / v for j in members}
            if sum(max(0.0, score[j] - own[j]) for j in members) > u / v:
                for j in members:
                    if score[j] > own[j] and basket.more(j) <= C - basket.spent:
                        basket.buy(j)
                        read.add(j)
