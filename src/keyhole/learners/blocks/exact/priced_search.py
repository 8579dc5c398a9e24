"""The search for the best subset for money: it branches on items, too."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.exact.market import (
    GAIN,
    PER_UNIT,
    ItemMarket,
    exchanged,
    grown,
    limited,
    part_of,
    widest,
)
from keyhole.learners.blocks.exact.models import TOLERANCE
from keyhole.learners.blocks.exact.nodes import IN, OUT, Point, room_of, settle_priced
from keyhole.learners.blocks.exact.search import Node, Search
from keyhole.learners.blocks.exact.slices import kept, to_the_end
from keyhole.problem import Floats, Indices

SINGLES = 12  # features that are each forced into one of the first models
EXCHANGED = 4  # of the first models, the best so many are improved by exchange


class PricedSearch(Search):
    """Branch and bound among subsets that a market allows; the objective is rss + rate * cost."""

    def __init__(self, A: Floats, b: Floats, market: ItemMarket) -> None:
        super().__init__(A, b, len(market.units))
        self.whole = self.market = market

    def first(self, start: list[int]) -> None:
        """Greedy choice by gain, gain per unit and gain less a price, then exchange."""
        limit = max(self.market.limit, 1)
        strong = np.argsort(-(self.b**2), kind="stable")[:SINGLES].tolist()
        tries = [(given, GAIN, 0.0) for given in ([], start, *([j] for j in strong))]
        tries += [(given, PER_UNIT, 0.0) for given in ([], *([j] for j in strong))]
        tries += [([], GAIN, price / limit) for price in (0.01, 0.03, 0.1, 0.3, 1.0)]
        found = [
            grown(self.A, self.b, self.market, *one) for one in tries if self._affordable(one[0])
        ]
        found.sort(key=lambda one: one[0])
        for value, S in found[:EXCHANGED]:
            value, S = exchanged(self.A, self.b, self.market, S, value)
            if value < self.best:
                self.best, self.S = value, S

    def tighten(self) -> None:
        """Where money is part of the objective, nothing better costs more than this."""
        if self.market.rate > 0.0:
            all_together = 1.0 - float(self.b @ np.linalg.lstsq(self.A, self.b, rcond=None)[0])
            most = (self.best - all_together + 1e-9) / self.market.rate
            if most < self.market.limit:
                self.whole = self.market = limited(self.market, max(math.ceil(most), 0))

    def _affordable(self, given: list[int]) -> bool:
        starts, market = self.market.starts, self.market
        items = {int(i) for j in given for i in market.needs[starts[j] : starts[j + 1]]}
        return len(given) <= market.most and market.units[[*items]].sum() <= market.limit

    def widest(self) -> int:
        """By price."""
        return widest(self.market)

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Forget the other columns, in the market too."""
        super().keep(live)
        if not live.all():
            self.market = part_of(self.whole, self.alive)

    def relax(self, node: Node, rounds: int) -> float:
        """As it says in `Search`."""
        room = kept(room_of(len(self.c), len(node.paid), 0))
        given = self.G, self.split, self.market, self.work, *node.hints
        low, lam, mu, node.branch = to_the_end(
            settle_priced, *given, self.best - TOLERANCE, rounds, room, until=self.until
        )
        node.hints = lam, mu
        return float(low)

    def improve(self, node: Node, finish: bool) -> None:
        """Completed, and exchanged if it is better."""
        if not (node.state != OUT).any():
            return
        S = np.zeros(len(self.c), dtype=np.int64)
        size = _rounded(self.market, self.work, S)
        value, S = grown(self.G, self.c, self.market, S[:size], GAIN, 0.0)
        if value < self.best:
            value, S = exchanged(self.G, self.c, self.market, S, value)
            self.best, self.S = value, self.alive[S]

    def shares(self, node: Node) -> Floats:
        """At the relaxation's solution e_j q_j / z_j = (c - Rq)_j."""
        R, e, c = self.split
        free = (node.state != OUT) & (node.state != IN) & (node.q != 0.0)
        pull = np.abs(c - R @ node.q)
        return np.where(free, np.minimum(e * np.abs(node.q) / np.maximum(pull, 1e-300), 1.0), 1.0)


@c_function("kh_rounded", "S[m]", writes="S", room="m + items")
def _rounded(market: ItemMarket, node: Point, S: Indices) -> int:
    """Write what is IN, then OPEN features by falling z as far as they can be paid; the size.

    Those of which the relaxation has nothing are left out.
    """
    raise NotImplementedError
