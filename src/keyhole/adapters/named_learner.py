"""A learner with the names of its features and the ticket of the next row."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.adapters.estimator_prices import cut_to_budget, prices_for_names
from keyhole.learners import LEARNERS
from keyhole.learners.auto import AutoLearner
from keyhole.learners.residuals import HasIntervals
from keyhole.problem import (
    Floats,
    Learner,
    Observation,
    Problem,
    ProblemError,
    Ticket,
    TicketError,
    plays_blocks,
)
from keyhole.problem.prices import MAX_DECIMALS, PriceTable
from keyhole.saving.api import from_bytes, to_bytes

Names = tuple[Hashable, ...]


def canonical(names: Iterable[Hashable]) -> Names:
    """The names, each once, by what they look like as strings, then by type.

    >>> canonical([10, "b", 9, "10", "b"])
    (10, '10', 9, 'b')
    """
    return tuple(sorted(set(names), key=lambda name: (str(name), type(name).__name__)))


class Player:
    """A learner over named features; at most one ticket is open.

    Parameters
    ----------
    names
        The names of its features in any order.
    learner
        A name in `keyhole.LEARNERS`.
    sparsity, budget
        As in `Problem`, cut to the number of names where there are fewer.
    seed
        Random seed.
    prices
        By name; None: a value costs 1. Then sparsity is cut to what the budget can buy.
    worth, shapes
        As in `AutoLearner`.

    Examples
    --------
    >>> player = Player(["b", "a", "c"], "fixed", sparsity=2, budget=2, seed=0)
    >>> player.ask()
    >>> player.features
    ('a', 'b')
    """

    def __init__(
        self,
        names: Iterable[Hashable],
        learner: str,
        *,
        sparsity: int,
        budget: float,
        seed: int,
        prices: PriceTable | None = None,
        worth: float | None = None,
        shapes: bool | None = None,
    ) -> None:
        self.known = canonical(names)
        self._place = {name: place for place, name in enumerate(self.known)}
        d = len(self.known)
        words = tuple(map(str, self.known))
        plain = all(words) and len(set(words)) == d  # 1 and "1" cannot both be "1" in a Problem
        if prices is None:
            most = min(int(budget), d)
            problem = Problem(d, min(sparsity, most), most, words if plain else None)
        elif plain:
            problem = cut_to_budget(d, sparsity, budget, words, prices_for_names(prices, words))
        else:
            raise ProblemError(
                "prices go by name, and two names of the row look alike, or one is empty: rename it"
            )
        self.learner: Learner
        if worth is None and shapes is None:
            self.learner = LEARNERS[learner](problem, seed=seed)
        else:
            self.learner = AutoLearner(problem, seed=seed, worth=worth, shapes=shapes)
        self.features: Names = ()
        self._ticket: Ticket | None = None
        self._last: Observation | None = None  # what was last predicted from, of this ticket

    @property
    def waits(self) -> bool:
        """Whether a ticket is open."""
        return self._ticket is not None

    def ask(self) -> None:
        """Have the ticket of the next row open."""
        if self._ticket is None:
            self._ticket = self.learner.ask()
            self.features = tuple(self.known[j] for j in self._ticket.features.tolist())

    def predict(self, values: Floats) -> float:
        """The prediction from the values of `features`."""
        self._last = self._seen(values)
        return float(self.learner.predict(self._last))

    def interval(self, values: Floats, coverage: float) -> tuple[float, float]:
        """Where the label will be, in that share of rounds; for any row, so nothing is issued."""
        self._last = self._seen(values)
        if not isinstance(self.learner, HasIntervals):
            return -math.inf, math.inf
        found = self.learner.interval(self._last, coverage, issue=False)
        return found.low, found.high

    def tell(self, values: Floats, y: float) -> None:
        """Learn the label and close the ticket."""
        seen, last = self._seen(values), self._last
        if last is not None and last.values.tobytes() == seen.values.tobytes():
            seen = last  # predicted already
        self.learner.tell(seen, y)
        self._ticket = self._last = None

    def costs(self, names: Iterable[Hashable]) -> int:
        """What values of these features cost together, in units of 10**-MAX_DECIMALS."""
        prices = self.learner.problem.prices
        if prices is None:
            return 0
        units = prices.count(self._place[name] for name in names)
        return units * int(10 ** (MAX_DECIMALS - prices.decimals))

    def costs_of_rows(self, bought: NDArray[np.int32]) -> int:
        """The same for rows of features by number, -1 for none, together."""
        prices = self.learner.problem.prices
        if prices is None:
            return 0
        units: list[int] = prices.count_rows(bought).tolist()
        return sum(units) * int(10 ** (MAX_DECIMALS - prices.decimals))

    @property
    def plays_blocks(self) -> bool:
        """Whether `advance` can be called."""
        return plays_blocks(self.learner)

    def advance(self, X: Floats, y: Floats, bought: NDArray[np.int32]) -> None:
        """Play rounds as a block, no ticket being open; `bought` receives the features by number.

        Rows of `bought` that were not played stay as they were, if one of them is refused.
        """
        if plays_blocks(self.learner):
            self.learner.advance(X, y, bought)

    def unknown(self, names: Set[Hashable]) -> Set[Hashable]:
        """Those names that are not among the features."""
        mine = self._place.keys()
        return frozenset() if names <= mine else names - mine

    def __getstate__(self) -> dict[str, Any]:
        ticket = None if self._ticket is None else self._ticket.to_json()
        known = {**self.__dict__, "_last": None}
        return {**known, "learner": to_bytes(self.learner), "_ticket": ticket}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_last": None, **state})
        self.learner = from_bytes(state["learner"])
        if state["_ticket"] is not None:
            self._ticket = Ticket.from_json(state["_ticket"])

    def _seen(self, values: Floats) -> Observation:
        if self._ticket is None:
            raise TicketError("no ticket is open: ask first")
        return self._ticket.fill(values)
