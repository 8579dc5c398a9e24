"""Feature selection for the models of a budget curve: the best 0, 1, 2, ..., or by money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from keyhole.analysis.advice.curves import round_up
from keyhole.analysis.exact.best_subset import least_squares
from keyhole.analysis.exact.subset_paths import priced_path, subset_path
from keyhole.learners.blocks.sums.data_sums import LeastSquares
from keyhole.problem import DataError, Floats, Indices
from keyhole.problem.prices import Prices

MAX_LIMITS = 16  # limits of a curve, beside 0


class FeatureSelector(Protocol):
    """Chooses features from sums over rows; the first of all models is the empty one."""

    def begin(self, squares: LeastSquares, rows: int) -> None:
        """Look at the sums of all rows before anything is chosen."""

    def features(self, squares: LeastSquares, rows: int) -> Sequence[Indices]:
        """The features of every model, from the sums of some rows."""


@dataclass(frozen=True, slots=True)
class SelectBySize:
    """The best 0, 1, ..., most features."""

    most: int

    def begin(self, squares: LeastSquares, rows: int) -> None:
        """DataError if there are too few rows for models of that size."""
        if self.most > rows // 2:
            raise DataError(
                f"models of up to {self.most} features need at least {2 * self.most} rows, "
                f"there are {rows}"
            )

    def features(self, squares: LeastSquares, rows: int) -> Sequence[Indices]:
        """One model for every size."""
        return subset_path(squares.G, squares.c, squares.yy, self.most)


@dataclass(slots=True)
class SelectByMoney:
    """None, and for every limit the best that it buys, at most `most` features.

    `limits` are in units of the prices, ascending; where none are given, `begin` finds those at
    which the models of all rows change.
    """

    prices: Prices
    most: int
    limits: list[int] = field(default_factory=list)

    def begin(self, squares: LeastSquares, rows: int) -> None:
        """Find the limits."""
        if not self.limits:
            tried = round_amounts(self.prices)
            chosen = self._chosen(squares, rows, tried)
            sums = (squares.G, squares.c, squares.yy)
            left = np.array([least_squares(*sums, S)[1] for S in chosen])
            places = largest_steps([self.prices.count(S.tolist()) for S in chosen], left)
            self.limits = [tried[i] for i in places]

    def features(self, squares: LeastSquares, rows: int) -> Sequence[Indices]:
        """The empty model, then one for every limit."""
        return [np.zeros(0, dtype=np.int64), *self._chosen(squares, rows, self.limits)]

    def _chosen(self, squares: LeastSquares, rows: int, limits: Sequence[int]) -> list[Indices]:
        G, c, yy = squares.G, squares.c, squares.yy
        return priced_path(G, c, yy, self.prices, limits, self.most, rows)


def round_amounts(prices: Prices) -> list[int]:
    """0 and amounts of two digits, up to what everything costs, in units; 0 alone if all is free.

    >>> from keyhole.problem.prices import price_list
    >>> found = round_amounts(price_list(2, None, ["1.25", "100"], None))
    >>> found[:3], found[-2:], len(found)
    ([0, 130, 140], [10000, 10125], 180)
    """
    whole = prices.count(range(len(prices.needs)))
    if whole == 0:
        return [0]
    least = min(prices.count([j]) for j, need in enumerate(prices.needs) if need)
    least, found = max(least, whole // 1000), [0]
    while (amount := round_up(max(found[-1] + 1, least))) < whole:  # three powers of ten at most
        found.append(amount)
    return [*found, whole]


def largest_steps(costs: Sequence[int], left: Floats) -> list[int]:
    """The places where something else is bought, at most 17: those of the largest steps.

    >>> largest_steps([0, 0, 3, 3, 5], np.array([9.0, 9, 4, 4, 3]))
    [0, 2, 4]
    """
    steps = [i for i in range(1, len(costs)) if costs[i] != costs[i - 1]]
    while len(steps) > MAX_LIMITS:  # the last one stays: it is where the curve ends
        drops = [left[a] - left[b] for a, b in zip([0, *steps[:-1]], steps[:-1], strict=False)]
        del steps[int(np.argmin(drops))]
    return [0, *steps]
