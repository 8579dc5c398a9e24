"""The ledger of a game: losses, reads, predictions, and checkpoints along the way."""

from __future__ import annotations

import itertools
import math
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import shortened
from keyhole.game.read_counts import ReadCounts
from keyhole.problem import DataError, Floats, Indices, Problem, Round
from keyhole.problem.display import HtmlCell, html_table
from keyhole.problem.prices import exchange_rate

CHECKPOINTS_PER_DOUBLING = 8


def next_checkpoint(round: int) -> int:
    """The first checkpoint after a round: 1, 2, 3, ... and later eight per doubling.

    >>> [next_checkpoint(t) for t in (0, 1, 8, 100, 1_000_000)]
    [1, 2, 9, 108, 1048576]
    """
    i = math.floor(CHECKPOINTS_PER_DOUBLING * math.log2(max(round, 1)))
    while (checkpoint := math.ceil(2 ** (i / CHECKPOINTS_PER_DOUBLING))) <= round:
        i += 1
    return checkpoint


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The ledger as it stood after one round; `mark` is where `counts` has the reads."""

    round: int
    loss: float
    support: tuple[int, ...]
    counts: ReadCounts = field(repr=False, compare=False)
    mark: int = field(repr=False, compare=False)

    @property
    def reads(self) -> Indices:
        """How often each feature was bought up to then."""
        return self.counts.at(self.mark)


class Ledger:
    """The books of one game, kept by the referee and never shown to the learner.

    Sums: `rounds`, `loss`, `reads` (how often each feature was bought), `spent` (money, exact),
    `seconds` (that the learner took). Maxima: `most_reads`, `most_spent`. Lists: `predictions`,
    `checkpoints`. All of them add, so ledgers of consecutive parts do. `first_loss` is the loss of
    the first round alone, in which most learners know nothing and predict 0.

    Where intervals were asked for there are three sums more: `bounded`, the rounds in which the
    interval was finite, `covered`, those of them with the label inside, and `width`, how wide the
    intervals were together; and the list `intervals`, low and high end of each round, NaN where
    none was asked for. `coverage` is what they were meant to cover, else None.

    Of rounds bought step by step there are three sums more: `stepwise`, how many there were,
    `stopped_after`, by how many items the number of those that stopped there, before the last step,
    and `not_bought`, what the steps that they did not make would have cost.

    Parameters
    ----------
    problem
        The problem that was played.
    keep_predictions
        False keeps memory independent of the number of rounds; `predictions` is then empty.

    Examples
    --------
    >>> ledger = Ledger(Problem(d=4, k=1, budget=2))
    >>> ledger.add(Round(1, np.array([0, 3]), y=1.0, y_hat=0.5))
    >>> ledger.add(Round(2, np.array([1]), y=0.0, y_hat=0.5))
    >>> ledger.loss, ledger.mean_reads, ledger.most_reads, ledger.reads
    (0.5, 1.5, 2, array([1, 1, 0, 1]))
    """

    def __init__(self, problem: Problem, *, keep_predictions: bool = True) -> None:
        if not isinstance(problem, Problem):
            raise DataError(f"a Ledger needs a Problem, got {shortened(problem)}")
        self.problem = problem
        self.keep_predictions = keep_predictions
        self.first_round = 1
        self.rounds = 0
        self.loss = 0.0
        self.first_loss = 0.0
        self.seconds = 0.0
        self.most_reads = 0
        self._counts = ReadCounts(problem.d)
        self.checkpoints: list[Checkpoint] = []
        self._spent = self._most_spent = 0  # in the smallest unit of the prices
        items = 0 if problem.prices is None else len(problem.prices.items)
        self._orders: Indices = np.zeros(items, dtype=np.int64)
        self._predictions = array("d")
        self.coverage: float | None = None
        self.bounded = self.covered = 0
        self.width = 0.0
        self._ends = array("d")  # low, high, low, high, ...
        self.stepwise = self._not_bought = 0
        self.stopped_after = Counter[int]()

    @property
    def reads(self) -> Indices:
        """How often each feature was bought."""
        return self._counts.now

    @property
    def last_round(self) -> int:
        """Number of the last round in the books."""
        return self.first_round + self.rounds - 1

    @property
    def mean_loss(self) -> float:
        """Squared loss per round."""
        return self.loss / self.rounds if self.rounds else math.nan

    @property
    def later_loss(self) -> float:
        """Squared loss of all rounds but the first."""
        return max(self.loss - self.first_loss, 0.0)

    @property
    def later_mean_loss(self) -> float:
        """Squared loss per round, of all rounds but the first; NaN where there is no other."""
        return self.later_loss / (self.rounds - 1) if self.rounds > 1 else math.nan

    @property
    def mean_reads(self) -> float:
        """Features read per example."""
        return self._counts.total / self.rounds if self.rounds else math.nan

    @property
    def spent(self) -> float:
        """What all examples cost together; without prices, how many features were read."""
        prices = self.problem.prices
        return float(self._counts.total) if prices is None else prices.money(self._spent)

    @property
    def most_spent(self) -> float:
        """What the dearest example cost; without prices, the most features read of one."""
        prices = self.problem.prices
        return float(self.most_reads) if prices is None else prices.money(self._most_spent)

    @property
    def full_cost(self) -> float:
        """What it would have cost to read every feature of every example."""
        prices = self.problem.prices
        if prices is None:
            return float(self.rounds * self.problem.d)
        return prices.money(self.rounds * prices.count(range(self.problem.d)))

    @property
    def saved(self) -> float:
        """The share of `full_cost` that was not spent."""
        return 1.0 - self.spent / self.full_cost if self.full_cost > 0 else 0.0

    @property
    def orders(self) -> dict[str, int]:
        """How often each item was ordered; without prices, how often each feature was read."""
        counts = self.reads if self.problem.prices is None else self._orders
        return {self.problem.item(i): many for i, many in enumerate(counts.tolist())}

    @property
    def stopped_share(self) -> float:
        """Of the rounds bought step by step, those that stopped before the last step."""
        return self.stopped_after.total() / self.stepwise if self.stepwise else math.nan

    @property
    def not_bought(self) -> float:
        """What the steps would have cost that were not made; without prices, how many features."""
        prices = self.problem.prices
        return float(self._not_bought) if prices is None else prices.money(self._not_bought)

    def total(self, worth: float) -> float:
        """What the game cost in money where one unit of squared error is worth that much."""
        return exchange_rate("worth", worth) * self.loss + self.spent

    @property
    def predictions(self) -> Floats:
        """Every prediction, in order."""
        return np.array(self._predictions, dtype=np.float64)

    @property
    def covered_share(self) -> float:
        """The share of labels within their intervals, of those that were finite."""
        return self.covered / self.bounded if self.bounded else math.nan

    @property
    def mean_width(self) -> float:
        """Of the intervals that were finite."""
        return self.width / self.bounded if self.bounded else math.nan

    @property
    def intervals(self) -> Floats:
        """Low and high end of every round's interval, in order, a row each."""
        return np.array(self._ends, dtype=np.float64).reshape(-1, 2)

    @property
    def support_changes(self) -> int:
        """From how many checkpoints to the next the support of the learner's weights differed."""
        supports = [c.support for c in self.checkpoints]
        return sum(a != b for a, b in itertools.pairwise(supports))

    def add(self, played: Round) -> None:
        """Enter one round."""
        self._follow(played.round)
        if not self.rounds:
            self.first_loss = played.loss
        self.rounds += 1
        self.loss += played.loss
        self._counts.add(played.features)
        self.most_reads = max(self.most_reads, len(played.features))
        if self.problem.prices is not None:
            needed = self.problem.prices.needed(played.features.tolist())
            cost = sum(self.problem.prices.units[i] for i in needed)
            self._orders[list(needed)] += 1
            self._spent += cost
            self._most_spent = max(self._most_spent, cost)
        if played.plan is not None:
            self._add_steps(played, played.plan)
        if self.keep_predictions:
            self._predictions.append(played.y_hat)

    def _add_steps(self, played: Round, plan: Indices) -> None:
        prices, bought = self.problem.prices, played.features.tolist()
        self.stepwise += 1
        if played.stopped:
            items = len(bought) if prices is None else len(prices.needed(bought))
            self.stopped_after[items] += 1
        self._not_bought += self.problem.units(plan) - self.problem.units(bought)

    def add_block(
        self, first_round: int, bought: NDArray[np.int32], y: Floats, y_hat: Floats
    ) -> None:
        """Enter a block of rounds; the books are the same, to the bit, as entering one by one.

        `bought` has a row per round: feature indices, then -1.
        """
        self._follow(first_round)
        if not self.rounds and len(y):
            self.first_loss = float((y[0] - y_hat[0]) ** 2)
        self.rounds += len(y)
        # cumsum adds one after the other, as single rounds do; np.sum would add in pairs.
        self.loss = float(np.cumsum(np.concatenate([[self.loss], (y - y_hat) ** 2]))[-1])
        real = bought >= 0
        self._counts.add(bought[real])
        self.most_reads = max(self.most_reads, int(real.sum(axis=1).max(initial=0)))
        if self.problem.prices is not None:
            ordered = self.problem.prices.ordered(bought)
            costs = self.problem.prices.worth(ordered)
            self._orders += ordered.sum(axis=0)
            self._spent += sum(costs.tolist())  # whole numbers of any size
            self._most_spent = max(self._most_spent, int(costs.max(initial=0)))
        if self.keep_predictions:
            self._predictions.frombytes(np.ascontiguousarray(y_hat, dtype=np.float64).tobytes())

    def add_intervals(self, coverage: float, ends: Floats, y: Floats) -> None:
        """Enter the intervals of the last len(y) rounds, which were entered before."""
        self.coverage = coverage
        low, high = ends.T
        bounded = np.isfinite(high - low)
        self.bounded += int(bounded.sum())
        self.covered += int((bounded & (low <= y) & (y <= high)).sum())
        self.width = float(np.cumsum(np.append(self.width, (high - low)[bounded]))[-1])
        if self.keep_predictions:
            self._pad_ends(self.rounds - len(y))
            self._ends.frombytes(np.ascontiguousarray(ends, dtype=np.float64).tobytes())

    def _pad_ends(self, rounds: int) -> None:
        self._ends.extend([math.nan] * (2 * rounds - len(self._ends)))

    def mark(self, weights: Floats) -> None:
        """Set a checkpoint after the last round, with the support of the given weights."""
        support = tuple(np.flatnonzero(weights).tolist())
        counts = self._counts
        self.checkpoints.append(
            Checkpoint(self.last_round, self.loss, support, counts, counts.mark())
        )

    def __add__(self, later: Ledger) -> Ledger:
        """The books of two consecutive parts of a game as one; an empty part changes nothing."""
        if later.problem != self.problem:
            raise DataError(f"ledgers of different problems: {self.problem}, {later.problem}")
        if self.rounds and later.rounds and later.first_round != self.last_round + 1:
            raise DataError(
                f"only ledgers of consecutive parts add: the first ends with round "
                f"{self.last_round}, the second begins with round {later.first_round}"
            )
        both = Ledger(
            self.problem, keep_predictions=self.keep_predictions and later.keep_predictions
        )
        both.first_round = self.first_round if self.rounds else later.first_round
        both.rounds = self.rounds + later.rounds
        both.loss = self.loss + later.loss
        both.first_loss = self.first_loss if self.rounds else later.first_loss
        both.seconds = self.seconds + later.seconds
        both.most_reads = max(self.most_reads, later.most_reads)
        counts, moved = self._counts.then(later._counts)
        both._counts = counts
        both._spent = self._spent + later._spent
        both._most_spent = max(self._most_spent, later._most_spent)
        both._orders = self._orders + later._orders
        both.stepwise = self.stepwise + later.stepwise
        both.stopped_after = self.stopped_after + later.stopped_after
        both._not_bought = self._not_bought + later._not_bought
        both.checkpoints = [
            *(replace(c, counts=counts) for c in self.checkpoints),
            *(
                replace(c, loss=self.loss + c.loss, counts=counts, mark=moved + c.mark)
                for c in later.checkpoints
            ),
        ]
        if both.keep_predictions:
            both._predictions = self._predictions + later._predictions
        both._add_intervals_of(self, later)
        return both

    def _add_intervals_of(self, first: Ledger, later: Ledger) -> None:
        known = {ledger.coverage for ledger in (first, later)} - {None}
        if len(known) > 1:
            raise DataError(f"ledgers of different coverage: {first.coverage}, {later.coverage}")
        for coverage in known:
            self.coverage = coverage
            self.bounded = first.bounded + later.bounded
            self.covered = first.covered + later.covered
            self.width = first.width + later.width
            if self.keep_predictions:
                self._ends.extend(first._ends)
                self._pad_ends(first.rounds)
                self._ends.extend(later._ends)
                self._pad_ends(self.rounds)

    def __repr__(self) -> str:
        return f"<Ledger: {self}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, HtmlCell]] = [("rounds", self.rounds)]
        if self.rounds:
            rows += [
                ("mean squared loss", self.mean_loss),
                ("features read per example", f"{self.mean_reads:.1f} of {self.problem.d:,}"),
                ("saved", f"{self.saved:.0%}"),
            ]
        if self.rounds and self.problem.prices is not None:
            rows.append(("money spent per example", self.spent / self.rounds))
        if self.bounded:
            rows.append(("within intervals", f"{self.covered_share:.1%} of {self.coverage:.4g}"))
        return html_table("Ledger", rows)

    def __str__(self) -> str:
        d = self.problem.d
        if not self.rounds:
            return "no rounds yet"
        said = (
            f"{self.rounds:,} rounds, mean squared loss {self.mean_loss:.6g}, "
            f"{self.mean_reads:.1f} of {d:,} features read per example"
        )
        if self.problem.prices is not None:
            said += f" for {self.spent / self.rounds:.6g} of {self.full_cost / self.rounds:.6g}"
        said += f" ({self.saved:.0%} saved)"
        if self.stepwise:
            said += f"; {self.stopped_share:.0%} of examples stopped early"
        if self.bounded:
            said += (
                f"; {self.covered_share:.1%} within intervals meant for {self.coverage:.4g}, "
                f"{self.mean_width:.4g} wide"
            )
        return said

    def _follow(self, round: int) -> None:
        if self.rounds == 0:
            self.first_round = round
        elif round != self.last_round + 1:
            raise DataError(f"round {round} cannot follow round {self.last_round} in a ledger")
