"""What AutoLearner buys for a batch, or for one example: "What is spent" to "Exploration".

Features are bought one by one into a set of items that are paid for. `bug` is a mistake to make.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from keyhole.learners.blocks.auto.engine import (
    ASIDE,
    AT_FIRST,
    BEGINNING,
    BY_EVIDENCE,
    COSTS,
    LATER,
    LOOK_OUT,
    OFTEN,
    OPTIMISM,
)
from keyhole.learners.blocks.draw.sampling import complement_subset, uniforms
from keyhole.problem import Floats
from tests.helpers.auto_pieces import normals
from tests.helpers.auto_shop import Basket, Bought, Shop, select

if TYPE_CHECKING:
    from tests.helpers.auto_transcription import Transcription, Word

NET_BUGS = (
    "the net's losses are not weighted",
    "the net comes out of what is kept last",
    "exploration ignores the leading memory",
)
BENT_BUGS = (
    "what bends is explored",
    "what bends comes first",
    "nothing is set aside where features bend",
)
MANY_BUG = "many features: the rate is not rounded"


@dataclass
class Choice:
    """What a batch is: who leads, what is chosen, kept, played by the net, read.

    `p` and what a loss counts, `weight`, are slots x d.
    """

    lead: int
    found: list[Bought]
    kept: list[int]
    slots: list[int]
    read: list[int]
    p: Floats
    weight: Floats


class Purchase:
    """One purchase with `limit` units, for batch `number`; memories in the order of their R."""

    def __init__(
        self,
        rules: Transcription,
        shop: Shop,
        number: int,
        limit: int,
        order: list[int],
        word: Word,
    ) -> None:
        self.rules, self.shop, self.number, self.limit = rules, shop, number, limit
        self.order, self.lead, self.word, self.bug = order, order[0], word, rules.bug
        self.basket, self.read = Basket(shop), set[int]()
        self.z = 0.0 if rules.worth is None else 1.0 / rules.worth
        looks_out = number % LOOK_OUT == 0 or self.bug == "after history, all batches explore"
        self.quiet = rules.studied > rules.aside and not looks_out

    def fill(self, *, alone: bool = False) -> Choice:
        """What is kept, then the net, unless the example stands alone, then what is explored."""
        rules, d = self.rules, self.rules.d
        cast = rules.slots > 0 and not self.quiet and not alone
        L = self.limit - (rules.net if cast and rules.net < d else 0)
        L = self.limit if self.bug == NET_BUGS[1] else L
        A, known = self._set_aside(L)
        found = [self._select(m, L - A) for m in range(len(rules.memories))]
        kept = self._keep(found, L - A)
        slots, p, weight = list[int](), np.zeros((rules.slots, d)), np.zeros((rules.slots, d))
        if cast:
            slots, net, p, weight = cast_net(rules, self.number, kept)
            for j in net:
                self._buy(j, self.limit)
        if rules.worth is None:
            self._read_first()
            self._explore(found[self.lead], known)
            if rules.counted and not alone:
                for j in range(d):
                    self._buy(j, self.limit)
        else:
            self._explore_if_worth(found[0], rules.worth)
        if self.bug != "what is paid for is not read":
            more = self.basket.more
            self.read |= {j for j in range(d) if more(j) == 0 and j not in self.shop.barred}
        read = sorted(self.read)
        return Choice(self.lead, found, kept, slots or read[:1] * rules.slots, read, p, weight)

    def _more(self, j: int) -> float:
        """What a feature costs on top; infinitely much if it cannot be had."""
        return math.inf if j in self.shop.barred else self.basket.more(j)

    def _buy(self, j: int, most: int) -> bool:
        if j in self.read or self._more(j) > most - self.basket.spent:
            return False
        self.basket.buy(j)
        self.read.add(j)
        return True

    def _select(self, m: int, money: int) -> Bought:
        memory, z = self.rules.memories[m], self.z
        z = 0.0 if self.bug == "a gain is worth any price" else z
        threshold = self.rules.threshold_of(memory.tau)
        return select(self.shop, memory, money, z, threshold, self.word.chosen[m])

    def _set_aside(self, L: int) -> tuple[int, list[int]]:
        """A, and what is known."""
        if self.quiet or self.rules.worth is not None or sum(self.shop.units) <= L:
            return 0, []
        prices = [price for price in self.shop.alone() if price > 0]
        U = max(L // ASIDE, min(prices, default=0))
        if self.bug == "the cheapest feature is not paid for":
            U = L // ASIDE
        if 2 * U > L and self.bug != "more than half is set aside as ever":
            if self.number % OFTEN != 0:
                return 0, []
            return min(U, L), self._select(self.lead, L).chosen
        if self._explores():
            dear = self.number % LOOK_OUT == 0 and self.bug != "the dearest feature is not paid for"
            return max([U, *(price for price in prices if dear and price <= L)]), []
        whole, rest = self._select(self.lead, L), self._select(self.lead, L - U)
        cheap = whole.cost <= L - U or COSTS * (whole.gain - rest.gain) <= whole.gain
        return (U if cheap or self.bug == "the share is taken where it costs too much" else 0), []

    def _explores(self) -> bool:
        often = AT_FIRST if self.number < BEGINNING else LATER
        if self.bug == "batches explore as seldom at first":
            often = LATER
        if self.lead != 0 and self.bug != "who leads does not matter":
            often = OFTEN
        return self.number % often == 0 and self.bug != "no batch explores for itself"

    def _keep(self, found: list[Bought], most: int) -> list[int]:
        rules, kept = self.rules, list[int]()
        first = found[self.lead].chosen[: rules.k] if rules.proper else []
        first = [] if self.bug == "the leader's ranks do not come first" else first
        ranks = [
            found[m].chosen[rank]
            for rank in range(rules.d)
            for m in self.order
            if rank < len(found[m].chosen)
        ]
        if self.bug == "memory by memory is kept":
            ranks = [j for m in self.order for j in found[m].chosen]
        bent = [] if self.z > 0.0 or self.bug == BENT_BUGS[0] else list(self.word.bent)
        bent = [j for j in bent if j not in self.shop.barred]
        first = bent + first if self.bug == BENT_BUGS[1] else first
        ranks += bent
        most = self.limit if bent and self.bug == BENT_BUGS[2] else most
        for j in [*first, *ranks]:
            if len(kept) < rules.pool and self._buy(j, most):
                kept.append(j)
        return kept

    def _read_first(self) -> None:
        """Features of which no value ever arrived come up, while money is left."""
        active = self.rules.active
        places, come_up = active.unread(self.rules.values), 0
        for j in places:
            if self.basket.spent == self.limit or self.bug == "first reads do not come first":
                break
            come_up += 1
            if j >= 0 and self._more(j) > 0:
                self._buy(j, self.limit)
        active.walked += come_up

    def _explore(self, found: Bought, known: list[int]) -> None:
        """What has the largest score, again and again, what is known last."""
        rules, number = self.rules, self.number
        off = 0 if self.bug == "evidence decides by number alone" else number // LOOK_OUT
        if (number + off) % BY_EVIDENCE == 0 and self.bug != "evidence never decides":
            score = rules.active.likelier(rules.values)
        else:
            m = 0 if self.bug == NET_BUGS[2] else self.lead
            found = self._select(m, self.limit) if m != self.lead else found
            score = self._gains(m, found, rules.parts.optimism)
        looked = rules.active.looked_at(number)
        while True:
            left = self.limit - self.basket.spent
            able = [j for j in looked if j not in self.read and 0 < self._more(j) <= left]
            if not able:
                return
            first = self.bug == "what is known is explored first"
            new = [j for j in able if (j in known) == first]
            self._buy(max(new, key=lambda j: score[j]) if new else able[0], self.limit)

    def _gains(self, m: int, found: Bought, optimism: float) -> Floats:
        """What each would gain were its correlation off by a random standard error."""
        rules, memory = self.rules, self.rules.memories[m]
        N, score = normals(rules.seed, self.number, rules.d), np.zeros(rules.d)
        n_j, noise = memory.n_j, found.noise
        for j in range(rules.d):
            g, r, D = optimism * N[j], found.r[j], found.D[j]
            if not rules.values[j] or n_j[j] == 0.0:
                continue
            if memory.G[j, j] == 0.0:
                score[j] = noise * (N[j] ** 2 + g * g) / n_j[j]
            elif D > 0.05:
                score[j] = (r + math.sqrt(noise * D / n_j[j]) * g) ** 2 / D
        return score

    def _explore_if_worth(self, found: Bought, v: float) -> None:
        """What may be worth its price, features first, then panels."""
        rules, active, shop = self.rules, self.rules.active, self.shop
        if self.basket.spent == self.limit:
            return
        score = np.zeros(rules.d)
        looked = active.looked_at(self.number)
        score[looked] = self._gains(0, found, OPTIMISM)[looked]
        if self.bug != "what exceeds the noise is believed":
            score = np.minimum(score, found.noise)
        for j in active.unread(rules.values):
            score[j if j >= 0 else []] = 1e300
        active.walked += rules.width
        if self.bug == "with worth, first reads come first":
            self._read_first()
        score[[*self.read, *shop.barred]] = 0.0
        for j in range(rules.d):
            if score[j] > self.basket.more(j) / v and self.basket.more(j) > 0:
                self._buy(j, self.limit)
        for i in self.basket.unpaid_panels():
            u, members = shop.units[i], shop.members(i)
            own = {j: (self.basket.more(j) - u) / v for j in members}
            if (
                i in self.basket.paid
                or not sum(max(0.0, score[j] - own[j]) for j in members) > u / v
            ):
                continue
            for j in members:
                fee = 0 if i in self.basket.paid else u
                if score[j] > (self.basket.more(j) - fee) / v:
                    self._buy(j, self.limit)


def cast_net(
    rules: Transcription, number: int, kept: list[int]
) -> tuple[list[int], list[int], Floats, Floats]:
    """What the slots play, what the net reads, p, and what a loss counts (slots x d)."""
    d, n, net = rules.d, rules.slots, rules.net
    p, weight = np.zeros((n, d)), np.zeros((n, d))

    def f(v: int) -> float:
        return 1.0 if net == d else (net - v) / (d - v)

    f0, j = f(n), list[int]()
    for i in range(n):
        seen = rules.largest[i] ** 2 / (f0 + (1.0 - f0) / d) + rules.s[i]
        eta = math.sqrt(math.log(d) / seen) if seen > 0.0 else 1.0
        if d > 1024 and rules.bug != MANY_BUG:
            eta = 2.0 ** (math.floor(4.0 * math.log2(eta) + 0.5) / 4.0)
        p[i] = np.exp(-eta * (rules.L[i] - rules.L[i].min()))
        p[i] /= p[i].sum()
        u = uniforms(rules.seed, number, 1, purpose=2 * i)[0]
        j.append(int(np.searchsorted(np.cumsum(p[i]), u * p[i].sum(), side="right")))
    V = sorted(set(j))
    rest = complement_subset(rules.seed, number, d, net - len(V), V, purpose=2 * n).tolist()
    for i in range(n):
        Q = 1.0 - np.prod(1.0 - p[i:], axis=0)
        Q[j[:i]] = 1.0
        weight[i, V] = 1.0 / (Q + (1.0 - Q) * f0)[V]
        if f0 > 0.0:
            weight[i, rest] = (f0 / f(len(V)) / (Q + (1.0 - Q) * f0))[rest]
        if rules.bug == NET_BUGS[0]:
            weight[i, [*V, *rest]] = 1.0
        weight[i, kept] = 1.0
    return j, sorted([*V, *rest]), p, weight
