"""What features cost, and a forward selection that pays for them: pieces of "Money".

`bug` is a mistake to make, one of `BUGS`, for tests that must notice it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tests.helpers.auto_pieces import Memory, Selection, first_noise, look, next_noise

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
    "what a purse forbids cannot be missed",
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


class Terms(NamedTuple):
    """What one example may cost, the money of a selection, and its rate."""

    limit: int
    money: int
    rate: float


@dataclass
class Bought(Selection):
    """A selection with money: what is left of it, whether it is short, and what it gained."""

    left: int
    short: bool
    gain: float


def scores(
    basket: Basket, e: dict[int, float], money: int, rate: float, theirs: int
) -> dict[int, float]:
    """The scores of the features that can be paid; panels lift the strongest of their members.

    Where rounding decides who is the strongest, it is `theirs`.
    """
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
            if theirs in first and e[theirs] >= (1.0 - 1e-9) * e[strongest]:
                strongest = theirs
            score[strongest] = max(score[strongest], total)
    return score


def select_bought(
    shop: Shop,
    memory: Memory,
    most: int,
    threshold: float,
    terms: Terms,
    theirs: Sequence[int],
) -> Bought:
    """Selection with money at a rate; `theirs` breaks ties."""
    limit, money, rate = terms
    d, chosen, basket, gain = memory.d, list[int](), Basket(shop), 0.0
    if memory.n == 0.0:
        return Bought(chosen, np.zeros(d), np.zeros(d), 0.0, money, False, gain)
    noise = first_noise(memory)
    short = False
    while True:
        r, D, excess = look(memory, chosen, noise, threshold)
        e = {j: float(excess[j]) for j in range(d) if excess[j] > 0.0}
        left = money - basket.spent
        more = {j: basket.more(j) for j in e}
        short = any(e[j] ** 2 > rate * more[j] and left < more[j] <= limit for j in e)
        next_one = theirs[len(chosen)] if len(chosen) < len(theirs) else -1
        score = scores(basket, e, left, rate, next_one) if len(chosen) < most else {}
        best = max(score.values(), default=0.0)
        if best <= 0.0:
            return Bought(chosen, r, D, noise, left, short and shop.bug != BUGS[2], gain)
        alike = [j for j in sorted(score) if score[j] >= (1.0 - 1e-9) * best]
        v = next_one if next_one in alike else next(j for j in alike if score[j] == best)
        noise = next_noise(memory, noise, r[v] ** 2 / D[v])
        gain += float(r[v] ** 2 / D[v])
        chosen.append(v)
        basket.buy(v)
