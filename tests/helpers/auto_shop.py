"""What features cost, and a forward selection that pays for them: pieces of "The rules".

`bug` is a mistake to make, one of `BUGS` or `NET_BUGS`, for tests that must notice it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.helpers.auto_pieces import Memory, Selection, first_noise, look, next_noise

BUGS = (
    "a panel is paid twice",
    "panels are judged by single members",
    "what is paid for is not read",
    "the share is taken where it costs too much",
    "no batch explores for itself",
    "who leads does not matter",
    "batches explore as seldom at first",
    "the dearest feature is not paid for",
    "the cheapest feature is not paid for",
    "more than half is set aside as ever",
    "what is known is explored first",
    "after history, all batches explore",
    "a gain is worth any price",
    "what exceeds the noise is believed",
    "with worth, first reads come first",
    "no complete rows",
    "the purse is not looked at",
    "evidence decides by number alone",
    "evidence never decides",
    "memory by memory is kept",
    "the leader's ranks do not come first",
    "what is looked at begins at 0",
)


@dataclass
class Shop:
    """What items cost, which of them each feature needs, and what cannot be had."""

    units: tuple[int, ...]
    needs: list[set[int]]
    bug: str = ""
    barred: frozenset[int] = frozenset()

    def members(self, i: int) -> list[int]:
        return [j for j, items in enumerate(self.needs) if i in items]

    def shared(self) -> list[int]:
        return [i for i in range(len(self.units)) if len(self.members(i)) >= 2]

    def price(self, items: set[int]) -> int:
        return sum(self.units[i] for i in items)

    def alone(self) -> list[int]:
        """What each feature that can be had costs by itself."""
        return [self.price(need) for j, need in enumerate(self.needs) if j not in self.barred]


@dataclass
class Basket:
    """P, the items paid for, and what was spent on them."""

    shop: Shop
    paid: set[int] = field(default_factory=set)
    spent: int = 0

    def more(self, j: int) -> int:
        paid = self.paid
        if self.shop.bug == "a panel is paid twice":
            paid = paid - set(self.shop.shared())
        return self.shop.price(self.shop.needs[j] - paid)

    def buy(self, j: int) -> None:
        self.spent += self.more(j)
        self.paid = self.paid | self.shop.needs[j]

    def unpaid_panels(self) -> list[int]:
        return [i for i in self.shop.shared() if i not in self.paid]


@dataclass
class Bought(Selection):
    """A selection with money: what it cost, and what it gained."""

    cost: int
    gain: float


def scores(
    basket: Basket, e: dict[int, float], money: int, z: float, theirs: int
) -> dict[int, float]:
    """The scores of the features that can be paid; panels lift the strongest of their members.

    Where rounding decides who is the strongest, it is `theirs`.
    """
    more = {j: basket.more(j) for j in e if basket.more(j) <= money}
    score = {j: e[j] ** 2 - z * more[j] for j in more}
    alone = basket.shop.bug == "panels are judged by single members"
    for i in [] if alone else basket.unpaid_panels():
        u = basket.shop.units[i]
        own = {j: more[j] - u for j in more if i in basket.shop.needs[j]}
        ratio = {j: e[j] ** 2 / own[j] if own[j] > 0 else math.inf for j in own}
        first = list[int]()
        for j in sorted(own, key=lambda j: -ratio[j]):
            first.append(j)
            if u + sum(own[h] for h in first) > money:
                break
            total = sum(e[h] ** 2 - z * own[h] for h in first) - z * u
            strongest = max(first, key=lambda h: e[h])
            if theirs in first and e[theirs] >= (1.0 - 1e-9) * e[strongest]:
                strongest = theirs
            score[strongest] = max(score[strongest], total)
    return score


def select(
    shop: Shop, memory: Memory, money: int, z: float, threshold: float, theirs: Sequence[int]
) -> Bought:
    """Forward selection with money; everything is projected anew after each step.

    `theirs` breaks ties.
    """
    d, chosen, basket, gain = memory.d, list[int](), Basket(shop), 0.0
    if memory.n == 0.0:
        return Bought(chosen, np.zeros(d), np.zeros(d), 0.0, 0, gain)
    noise = first_noise(memory)
    while True:
        r, D, excess = look(memory, chosen, noise, threshold)
        e = {j: float(excess[j]) for j in range(d) if excess[j] > 0.0 and j not in shop.barred}
        next_one = theirs[len(chosen)] if len(chosen) < len(theirs) else -1
        score = scores(basket, e, money - basket.spent, z, next_one)
        best = max(score.values(), default=0.0)
        if best <= 0.0:
            return Bought(chosen, r, D, noise, basket.spent, gain)
        alike = [j for j in sorted(score) if score[j] >= (1.0 - 1e-9) * best]
        v = next_one if next_one in alike else next(j for j in alike if score[j] == best)
        noise = next_noise(memory, noise, r[v] ** 2 / D[v])
        gain += float(r[v] ** 2 / D[v])
        chosen.append(v)
        basket.buy(v)
