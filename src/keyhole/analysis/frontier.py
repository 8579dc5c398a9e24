"""The frontier: the least loss in hindsight at every cost per example."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from keyhole.analysis.hindsight import Hindsight, Prefix, summed
from keyhole.analysis.price_limits import CostLimit, prices_of, units_of, units_of_each
from keyhole.errors import sparsity, true_or_false
from keyhole.learners.blocks.sums.data_sums import DataSums, refuse_unless_stream_or_sums
from keyhole.problem import BlockStream, Interval, Problem, ProblemError
from keyhole.problem.display import aligned
from keyhole.problem.prices import Money, Prices

MAX_FRONTIER_POINTS = 40  # of a frontier for which no costs are given
MAX_SEARCHES = 80  # at most, to find them
TIME_SHARE = 8  # a search may take one part in so many of the time that is left
LOSS_ROUNDING = 1e-9  # of the loss without features: rounding


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """What is known about one cost: what the best model found there costs, loses and reads.

    `loss` holds the least loss of any model of at most this cost; `loss.high` is attained by
    `features`, and `r2` is the share that they explain.
    """

    cost: float
    loss: Interval
    features: tuple[int, ...]
    r2: float


@dataclass(frozen=True, slots=True)
class Frontier:
    """The least loss at every cost per example, for models that have seen everything.

    Parameters
    ----------
    points
        By rising cost. None is dominated by another, unless that was asked for.
    rounds
        How many rounds the losses are sums over.
    empty_loss
        The loss without any feature.
    complete
        Whether there is a point wherever the least loss changes, and every loss is exact.
    names
        Of the features; None for numbers.
    prices
        Of the features.
    searched
        By rising cost, limits that were searched and what no model of that cost goes below; the
        limit is infinite where it buys everything.
    """

    points: tuple[FrontierPoint, ...]
    rounds: int
    empty_loss: float
    complete: bool
    names: tuple[str, ...] | None
    searched: tuple[tuple[float, float], ...] = field(repr=False)
    prices: Prices = field(repr=False)

    def at(self, cost: Money) -> FrontierPoint:
        """The best that is known for at most this cost per example.

        Its loss is an interval wherever no limit that allows this much was searched to the end.
        """
        spent = self.prices.money(units_of("cost", cost, self.prices))
        affordable = [point for point in self.points if point.cost <= spent]
        if not affordable:
            raise ProblemError(f"no point costs {spent:g} or less: make a frontier with that cost")
        best = min(affordable, key=lambda point: (point.loss.high, point.cost))
        lows = [low for limit, low in self.searched if limit >= spent]
        low = max(lows, default=0.0)
        loss = Interval(min(low, best.loss.high), best.loss.high, best.loss.how)
        return FrontierPoint(best.cost, loss, best.features, best.r2)

    def __str__(self) -> str:
        told = [["cost", "least loss", "R2", "  features"]]
        for point in self.points:
            cost, r2 = f"{point.cost:,.{self.prices.decimals}f}", f"{point.r2:.4f}"
            told.append([cost, str(point.loss), r2, f"  {self._listed(point)}"])
        rest = "" if self.complete else "; it may change between these points too"
        about = f"least loss in hindsight by cost per example, {self.rounds:,} rounds{rest}"
        return "\n".join([about, *aligned(told)])

    def _listed(self, point: FrontierPoint, width: int = 60) -> str:
        """How many features, and as many of their names as a line holds."""
        text = f"{len(point.features)}:" if point.features else "none"
        for shown, j in enumerate(point.features):
            name = str(j) if self.names is None else self.names[j]
            if len(text) + len(name) > width:
                return f"{text} and {len(point.features) - shown} more"
            text += f" {name}"
        return text


def frontier(
    stream: BlockStream | DataSums,
    *,
    prices: Problem | Prices,
    k: int | None = None,
    costs: Sequence[Money] | None = None,
    intercept: bool = True,
    past: bool = False,
    prune: bool = True,
    seconds: float = 30.0,
) -> Frontier:
    """The lowest loss in hindsight for every cost per example.

    Parameters
    ----------
    stream
        The stream, read once, or its sums.
    prices
        A `Problem` with prices, or its `.prices`.
    k
        Most non-zero weights; None for no limit but money.
    costs
        Costs to search. None finds those at which the best model changes, where the loss is
        known least first, 40 at most: all of them if there are fewer.
    intercept, past
        As in `hindsight`.
    prune
        Whether to leave out points that cost more than another and lose no less. False, with
        `costs`, keeps one point for each of them.
    seconds
        How long the searches may take together.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=4, k=2, n=500, noise_sd=0.1, seed=3)
    >>> shop = kh.Problem(d=4, k=1, budget=9, prices=[5, 2, 4, 1])
    >>> print(frontier(stream, prices=shop, costs=[0, 2, 5, 7]))
    least loss in hindsight by cost per example, 500 rounds; it may change between these points too
    cost  least loss      R2  features
       0     249.041  0.0000  none
       2     151.218  0.3928  1: 1
       5       110.8  0.5551  1: 0
       7     4.82489  0.9806  2: 0 1
    >>> every = frontier(stream, prices=shop)
    >>> every.complete, len(every.points), every.at(6.5).features
    (True, 9, (0, 3))
    """
    refuse_unless_stream_or_sums(stream)
    found = prices_of(stream, prices)
    most = None if k is None else sparsity(k, stream.d)
    limits = None if costs is None else units_of_each(costs, found)
    keep = not true_or_false("prune", prune)
    names = prices.names if isinstance(prices, Problem) and prices.names else stream.names
    whole = summed(stream, intercept, past)
    sweep = FrontierSearch(whole, found, most, seconds)
    if limits is None:
        complete = sweep.everywhere()
    else:
        wanted = sorted(set(limits))
        for done, limit in enumerate(wanted):
            sweep.search(limit, len(wanted) - done)
        complete = False
    return sweep.frontier(limits if keep else None, complete, names)


class FrontierSearch:
    """Searches of the same rounds at several limits, in units; `models` are what was found."""

    def __init__(self, whole: Prefix, prices: Prices, k: int | None, seconds: float) -> None:
        self.whole, self.prices, self.k = whole, prices, k
        self.all = sum(prices.units)
        self.models: dict[int, Hindsight] = {}
        self._ends = time.monotonic() + seconds

    def search(self, limit: int, share: int) -> None:
        """Find the best model of a limit, beginning with the best of those below.

        It may take one part in `share` of the time that is left.
        """
        below = [used for used in self.models if used <= limit]
        start = self.models[max(below)].support if below else None
        left = max(self._ends - time.monotonic(), 0.0)
        cost_limit = CostLimit(self.prices, self.k, limit, None)
        self.models[limit] = self.whole.best_for(cost_limit, left / share, start)

    def everywhere(self) -> bool:
        """Search where the least loss is known least until it is known; whether that is everywhere.

        Beside 0 and everything, limits halfway between two that are known. All limits from what a
        model costs up to the one it was found at have the same answer.
        """
        for limit in {0, self.all}:
            self.search(limit, TIME_SHARE)
        while (
            (gaps := self._gaps())
            and len(self.models) < MAX_SEARCHES
            and len(self._steps()) < MAX_FRONTIER_POINTS
        ):
            if time.monotonic() > self._ends:
                return False
            _, low, high = max(gaps)
            self.search((low + high) // 2, TIME_SHARE)
        return not gaps and all(model.loss.width == 0.0 for model in self.models.values())

    def _gaps(self) -> list[tuple[float, int, int]]:
        """Where the loss may still change: (how much that matters, limit known, the next)."""
        gaps, limits = [], sorted(self.models)
        for low, high in itertools.pairwise(limits):
            cheaper, dearer = self.models[low], self.models[high]
            top = self._units(dearer)  # from here on it is known
            drop = cheaper.loss.high - dearer.loss.high
            if top - 1 > low and drop > LOSS_ROUNDING * self.whole.squares.yy:
                gaps.append((float(top - low) * drop, low, top))
        return gaps

    def _units(self, model: Hindsight) -> int:
        return self.prices.count(model.support.tolist())

    def _steps(self) -> list[Hindsight]:
        """The models that no cheaper one equals, by rising cost."""
        steps: list[Hindsight] = []
        for model in sorted(self.models.values(), key=lambda m: (self._units(m), m.loss.high)):
            if (
                not steps
                or model.loss.high < steps[-1].loss.high - LOSS_ROUNDING * model.empty_loss
            ):
                steps.append(model)
        return steps

    def frontier(
        self, limits: list[int] | None, complete: bool, names: tuple[str, ...] | None
    ) -> Frontier:
        """What was found, at all limits given or pruned."""
        known, low = list[tuple[int, float]](), -np.inf
        for limit in sorted(self.models, reverse=True):
            low = max(low, self.models[limit].loss.low)
            known.append((limit, low))
        steps = self._steps()
        models = steps
        if limits is not None:  # of each limit the last, and best, of those that it buys
            models = [[m for m in steps if self._units(m) <= limit][-1] for limit in limits]
        points = tuple(self._point(model, known) for model in models)
        searched = tuple(
            (self.prices.money(limit) if limit < self.all else math.inf, low)
            for limit, low in reversed(known)
        )
        rounds, yy = self.whole.rounds, self.whole.squares.yy
        return Frontier(points, rounds, yy, complete, names, searched, self.prices)

    def _point(self, model: Hindsight, known: list[tuple[int, float]]) -> FrontierPoint:
        units, high = self._units(model), model.loss.high
        low = max(low for limit, low in known if limit >= units)
        loss = Interval(min(low, high), high, model.loss.how)
        features = tuple(int(j) for j in model.support)
        return FrontierPoint(self.prices.money(units), loss, features, model.r2)
