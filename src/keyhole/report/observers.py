"""Observers of a recorded game: rivals that play along, and the sums for the best in hindsight."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.analysis.hindsight import Hindsight, Prefix, PrefixSums
from keyhole.analysis.hindsight_screening import MAX_FEATURES_UNSCREENED
from keyhole.game import Observer, PlayedBlock, RunningGame
from keyhole.game.ledger import Ledger
from keyhole.learners.baselines import FullInformation
from keyhole.learners.blocks.sums.column_stats import ColumnSums
from keyhole.learners.blocks.sums.data_sums import gram_bytes
from keyhole.learners.registry import make_learner
from keyhole.problem import Indices, Interval, Learner, Problem
from keyhole.problem.memory import fits
from keyhole.report.traces import RecentLoss, Trace

QUICK_WORK = 2e9  # d^2 rounds up to which reading everything takes about a second


class Rival(Observer):
    """Another learner that plays the same rounds in the same pass, with books of its own.

    Parameters
    ----------
    learner
        The rival.
    bins
        Most bins of its trace.
    most_rounds
        Where it gives up: beyond that `gave_up` is true, and the books mean nothing.
    """

    def __init__(self, learner: Learner, bins: int, most_rounds: float = math.inf) -> None:
        self.trace = Trace(learner.problem.d, bins)
        self.recent = RecentLoss()
        self.gave_up = False
        self._most_rounds = most_rounds
        self._game = RunningGame(learner, [self.trace, self.recent], keep_predictions=False)

    @property
    def ledger(self) -> Ledger:
        """The books so far."""
        return self._game.ledger

    @property
    def room(self) -> int:
        """Up to the end of a bin, so that the books are never far behind."""
        return self.trace.room

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Play the same rows."""
        self.gave_up = self.gave_up or self.ledger.rounds + len(played.y) > self._most_rounds
        if not self.gave_up:
            self._game.play_block(played.rows, played.y)

    def finish(self, learner: Learner) -> None:
        """Close the books."""
        self._game.finish()


def full_rival(
    problem: Problem, rounds: int | None, bins: int, work: float, *, yes_no: bool = False
) -> Rival | None:
    """A learner that reads everything; None where that is known to take too long.

    `work` is the most d^2 times rounds that it may be. `yes_no`: its predictions are probabilities.
    """
    most_rounds = work // float(problem.d) ** 2
    too_long = rounds is not None and rounds > most_rounds
    if too_long or not fits(FullInformation.memory(problem.whole())):
        return None
    return Rival(calibrated(make_learner("full", problem, 0), yes_no), bins, most_rounds)


def calibrated(learner: Learner, yes_no: bool) -> Learner:
    """A learner whose predictions are probabilities where labels are yes or no; else as it is."""
    if not yes_no:
        return learner
    from keyhole.learners.yes_no import YesNoLearner

    return YesNoLearner(learner)


class ColumnSpread(Observer):
    """Means and standard deviations of the columns that were played."""

    def __init__(self, d: int) -> None:
        self.columns = ColumnSums(d)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Add the rows."""
        self.columns.add(played.X)


class _EndsObserver(Observer):
    """Keeps what was seen after given rounds, and after all of them."""

    def __init__(self, ends: Sequence[int]) -> None:
        self._n, self._kept, self._waiting = 0, 0, sorted(ends, reverse=True)

    @property
    def room(self) -> int | None:
        """Up to the next of the ends."""
        return self._waiting[-1] - self._n if self._waiting else None

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Add the rounds, and keep a copy of the sums where one is wanted."""
        self._add(played)
        self._n += len(played.y)
        if self.room == 0:
            self._waiting.pop()
            self.finish(learner)

    def finish(self, learner: Learner) -> None:
        """Keep the sums over everything so far."""
        if self._kept < self._n:
            self._kept = self._n
            self._keep()

    @abstractmethod
    def _add(self, played: PlayedBlock) -> None: ...

    @abstractmethod
    def _keep(self) -> None: ...


class PrefixObserver(_EndsObserver):
    """Second moments of everything that was played, and as they were after given rounds.

    Parameters
    ----------
    d
        Features.
    ends
        After which rounds, ascending. Each takes O(d^2) memory.
    intercept
        Whether models in hindsight may add a constant.
    """

    def __init__(self, d: int, ends: Sequence[int] = (), *, intercept: bool) -> None:
        super().__init__(ends)
        self.prefixes: list[Prefix] = []
        self._sums, self._intercept = PrefixSums(d, past=True), intercept

    def beside_past(self) -> Prefix:
        """All that was played, for models that may look at earlier labels."""
        return self._sums.prefix(self._intercept, past=True)

    def _add(self, played: PlayedBlock) -> None:
        self._sums.add(played.X, played.y)

    def _keep(self) -> None:
        self.prefixes.append(self._sums.prefix(self._intercept))


@dataclass(frozen=True, slots=True)
class _Unsearched:
    """A prefix of which nothing but the labels is known: all that is sure is the best constant."""

    rounds: int
    intercept: float
    empty_loss: float
    d: int

    def best(self, k: int, seconds: float, start: Indices | None = None) -> Hindsight:
        """The empty model; how much better the best one is, nobody has looked."""
        how = f"not searched: pairs of {self.d:,} features are too many"
        loss, none = Interval(0.0, self.empty_loss, how), np.zeros(self.d)
        return Hindsight(self.rounds, k, loss, none, self.intercept, self.empty_loss)


class LabelObserver(_EndsObserver):
    """In place of a `PrefixObserver` whose sums would not fit in memory: the labels alone."""

    def __init__(self, d: int, ends: Sequence[int] = (), *, intercept: bool) -> None:
        super().__init__(ends)
        self.prefixes: list[_Unsearched] = []
        self._d, self._intercept = d, intercept
        self._mean, self._about = 0.0, 0.0  # of the labels, and of squares about it

    def _add(self, played: PlayedBlock) -> None:
        m, y = len(played.y), played.y
        if not m:
            return
        mean = float(y.mean())
        total, apart = self._n + m, mean - self._mean
        self._about += float(((y - mean) ** 2).sum()) + apart * apart * self._n * m / total
        self._mean += apart * m / total

    def _keep(self) -> None:
        squares = self._about + (0.0 if self._intercept else self._n * self._mean**2)
        middle = self._mean if self._intercept else 0.0
        self.prefixes.append(_Unsearched(self._n, middle, squares, self._d))


def prefix_observer(d: int, ends: Sequence[int], *, intercept: bool) -> AnyPrefixes:
    """What hindsight is worked out from: second moments, or labels alone if those do not fit.

    Of more than 4,096 features they would take too long, too: `hindsight` screens them.
    """
    fit = d <= MAX_FEATURES_UNSCREENED and fits(gram_bytes(d, copies=len(ends) + 6))
    return (PrefixObserver if fit else LabelObserver)(d, ends, intercept=intercept)


AnyPrefixes = PrefixObserver | LabelObserver
