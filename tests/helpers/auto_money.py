"""AutoLearner with prices: the paragraph "Money" of "The rules", in plain Python.

Features are bought one by one into a set of items that are paid for. `bug` is a mistake to make,
for tests that must notice it.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np

import keyhole as kh
from keyhole.learners.blocks.auto.engine import (
    ASIDE,
    BEGINNING,
    BOLD,
    COSTS,
    DISPLACE,
    FIRST,
    FIRST_RATE,
    HALF,
    LATER,
    LEAST_RATE,
    LOOK_OUT,
    MORE,
    OPTIMISM,
    SELDOM,
)
from keyhole.learners.blocks.draw.sampling import uniforms
from keyhole.problem import Floats
from tests.helpers.auto_pieces import Selection
from tests.helpers.auto_shop import BUGS, Basket, Bought, Shop, Terms, select_bought
from tests.helpers.auto_transcription import Batch, Choice, Transcription, Word


class Own(NamedTuple):
    """Terms of one example: what items cost, in units, what cannot be had, what may be spent."""

    prices: dict[int, int]
    without: list[int]
    budget: int


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
        self.word = Word(np.zeros(0), [])
        alone = [self.shop.price(set(need)) for need in self.shop.needs]
        self.cheapest = min(price for price in alone if price > 0)
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

    def once(self, own: Own, number: int, word: Word) -> list[int]:
        """What an example on terms of its own reads; nothing is learnt from buying it."""
        alone = copy.deepcopy(self)
        units, beyond = list(self.shop.units), len(self.shop.units)
        for item, price in own.prices.items():
            units[item] = price
        needs = [{i for i in need if units[i] > 0} for need in self.shop.needs]
        for j in own.without:
            needs[j].add(beyond)
        alone.shop, alone.limit = Shop((*units, own.budget + 1), needs, self.bug), own.budget
        late = self.mixture.R[self.judges]
        late = word.late if np.allclose(late, word.late, rtol=1e-9, atol=0.0) else late
        order = np.argsort(late, kind="stable").tolist()
        return alone._fill(number, order, word)[0].read

    def _limit(self, number: int) -> int:
        """C of a batch."""
        if self.W is None or self.bug == BUGS[11]:
            return self.limit
        t, s = (self.complete, 1) if number >= FIRST else (self.t, self.size())
        rounds = s if t < self.complete else max(self.horizon - t, s)
        return min(self.limit, self.W // rounds)

    def _fill(self, number: int, order: list[int], word: Word) -> tuple[Choice, Floats, Floats]:
        C, lead, self.word = self._limit(number), order[0], word
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
        if not self.active.whole:
            self.active.walk_past(self.values, read)
        nothing = np.zeros((0, self.d))
        return Choice(lead, chosen, kept, [], sorted(read)), nothing, nothing

    def _select(self, m: int, C: int, money: int, rate: float) -> Bought:
        limit = C if self.bug == BUGS[13] else self.limit
        memory, terms = self.memories[m], Terms(limit, money, rate)
        threshold = self._threshold(memory.tau)
        return select_bought(self.shop, memory, self.pool, threshold, terms, self.word.chosen[m])

    def _settled(self, number: int) -> bool:
        """After history, most batches do without exploring."""
        return self.studied > self.aside and number % LOOK_OUT != 0 and self.bug != BUGS[12]

    def _usual_share(self, C: int) -> int:
        """A0: enough for the cheapest feature, if that is at most half of C."""
        return max(C // ASIDE, self.cheapest if self.cheapest <= C // HALF else 0)

    def _explores(self, number: int, lead: int) -> bool:
        if self.bug == BUGS[3]:
            return False
        if number < BEGINNING or lead != 0:
            return number % SELDOM == 0
        return number % LATER == 0 or math.isqrt(number) ** 2 == number

    def _plan(self, number: int, lead: int, C: int) -> tuple[int, float, Bought]:
        """A, the rate of the batch and what the leader chooses; learns z."""
        A0 = self._usual_share(C)
        A = 0 if self._settled(number) else A0
        rate, first = self.z, self._select(lead, C, C - A, self.z)
        if first.short or self.z > FIRST_RATE * first.noise / max(C, 1):
            if self._select(lead, C, C, 0.0).gain > MORE * self._select(lead, C, C, self.z).gain:
                rate = 0.0
            most = self._select(lead, C, C, rate).gain
            costs = most - self._select(lead, C, C - A, rate).gain
            if COSTS * costs > most and self.bug != BUGS[6]:
                A = C // HALF if self._explores(number, lead) else 0
            first = self._select(lead, C, C - A, rate)
        if A <= A0 and self.bug != BUGS[1]:
            if self.z == 0.0:
                self.z = FIRST_RATE * first.noise / max(C, 1)
            elif first.short:
                self.z = 1.1 * self.z
            elif 5 * first.left > C - A:
                self.z = max(0.9 * self.z, LEAST_RATE * first.noise / max(C, 1))
        return A, rate, first

    def _sampled(self, m: int, found: Bought, number: int, optimism: float) -> Floats:
        """The scores of Exploration, by memory m."""
        score, other = self._scores(self.memories[m], found, 2 * number, optimism)
        vanished = self.word.vanished[m]
        score[vanished] = other[vanished]
        if not self.active.whole:
            score[np.setdiff1d(np.arange(self.d), self.active.looked_at(number))] = -1.0
            for i, j in enumerate(self.active.unread(self.values)):
                if j >= 0:
                    score[j] = 1e300 * (2.0 - i / self.width)
        return score

    def _displace(self, number: int, A: int, C: int, found: Bought, basket: Basket) -> set[int]:
        """Now and then a feature that exploring cannot pay for comes first."""
        chance = DISPLACE / math.sqrt(number)
        dear = [j for j in range(self.d) if A < basket.more(j) <= C]
        if not uniforms(self.seed, number, 1, purpose=2**20 + 1)[0] < chance or not dear:
            return set()
        score = self._sampled(0, found, number, BOLD)
        j = max(dear, key=lambda j: score[j])
        if self.bug == BUGS[5]:
            j = min(dear, key=lambda j: len(self.values[j]))
        basket.buy(j)
        return {j}

    def _explore(
        self, number: int, C: int, lead: int, found: list[Bought], basket: Basket, read: set[int]
    ) -> None:
        """What is left of the money explores."""
        m = 0 if number % 2 == 0 else lead
        score = self._sampled(m, found[m], number, self.parts.optimism)
        while True:
            able = self._within(C - basket.spent, basket, read)
            if not able:
                return
            promise = {j: score[j] - self.z * basket.more(j) for j in able}
            j = max(able, key=lambda j: promise[j])
            basket.buy(j)
            read.add(j)

    def _within(self, left: int, basket: Basket, read: set[int]) -> list[int]:
        return [j for j in range(self.d) if j not in read and 0 < basket.more(j) <= left]

    def _explore_if_worth(
        self, number: int, C: int, found: Bought, basket: Basket, read: set[int], v: float
    ) -> None:
        """What may be worth its price, features first, then panels."""
        score = self._sampled(0, found, number, OPTIMISM)
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
