"""What a learner's errors so far say about its next one: intervals, beside it and never inside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from keyhole.blocks.conformal import rounds as kernels
from keyhole.blocks.conformal.trackers import (
    EDGES,
    FARTHEST,
    NOTE,
    Trackers,
    joined,
    new_trackers,
)
from keyhole.errors import LARGEST
from keyhole.fields import MANY, Holds
from keyhole.prediction_interval import PredictionInterval, a_coverage
from keyhole.problem import Floats, Indices, Observation, ProblemError, StateError
from keyhole.saving.serialize import entries, fit, pack
from keyhole.saving.soundness import prove

RECENT = 512  # errors that are kept, for coverages that are asked for later on
MOST_COVERAGES = 16
NO_EDGES: Floats = np.empty((0, 0, 2))


class Issued(NamedTuple):
    """What was issued for a ticket that is still open."""

    prediction: float
    told: int  # how many labels were, by then
    notes: Floats  # a row for each coverage that was tracked then


class IssuedTickets(NamedTuple):
    """The same for all of them, as it is saved; notes of coverages tracked later are 0."""

    rounds: Annotated[Indices, Holds(least=1, ascending=True)]
    predictions: Annotated[Floats, Holds(least=-LARGEST, most=LARGEST, shape=("rounds",))]
    told: Annotated[Indices, Holds(most="all_told", shape=("rounds",))]
    tracked: Annotated[Indices, Holds(most="coverages", shape=("rounds",))]
    said: Annotated[Floats, Holds(least=-1e180, most=1e180)]
    edges: Annotated[Floats, Holds(least=-FARTHEST, infinite=True)]


class Residuals:
    """Follows the errors of predictions, and issues intervals around the next ones.

    A coverage is tracked from the first time it is asked for. It then starts from the last 512
    errors, which are always kept, so that it is calibrated at once. Whoever asks for no interval
    pays for these 512 numbers only.

    An interval is judged as it was issued: what was said about an open ticket, its prediction
    included, is kept until its label comes. Where none was issued, the one that would be issued
    now is judged in its place.

    Sums: `told`; the trackers (see `blocks/conformal/trackers.py`, with the guarantee). Maximum:
    `longest`, the delay in labels. Lists: the recent errors, what was issued for open tickets.

    Examples
    --------
    >>> residuals = Residuals()
    >>> residuals.hear_block(np.zeros(99), np.tile([1.0, -1.0, 0.5], 33))
    >>> print(residuals.issue(100, 5.0, 0.9))
    5 (90 % between 3.94... and 6.10...)
    >>> residuals.hear(100, 5.0, 5.5)
    >>> residuals.coverages, residuals.told
    ((0.9,), 100)
    """

    def __init__(self) -> None:
        self.told = 0
        self.longest = 0
        self._coverages: Floats = np.empty(0)
        self._trackers = new_trackers([])
        self._recent: Floats = np.zeros(RECENT)  # error number n at n % RECENT
        self._issued: dict[int, Issued] = {}

    @property
    def coverages(self) -> tuple[float, ...]:
        """Those that are tracked, lowest first."""
        return tuple(sorted(self._coverages.tolist()))

    def track(self, coverage: float) -> int:
        """Track a coverage from now on; its place among all of them."""
        share = a_coverage(coverage)
        for place in np.flatnonzero(self._coverages == share).tolist():
            return int(place)
        if len(self._coverages) == MOST_COVERAGES:
            known = ", ".join(f"{one:g}" for one in self.coverages)
            raise ProblemError(
                f"coverage: a learner tracks {MOST_COVERAGES} of them at most, these are {known}; "
                f"use one of those, got {share:g}"
            )
        new, gain = new_trackers([share]), kernels.gain_of(self.longest)
        kernels.play(new, np.zeros(1, dtype=np.int64), self._in_order(), gain, NO_EDGES)
        self._coverages = np.append(self._coverages, share)
        self._trackers = joined(self._trackers, new)
        return len(self._coverages) - 1

    def look(self, prediction: float, coverage: float) -> PredictionInterval:
        """The interval around a prediction that is made now; it is not kept."""
        place = self.track(coverage)
        low, high = (prediction + self._now()[1][place]).tolist()
        return PredictionInterval(low, high, float(self._coverages[place]), prediction)

    def issue(self, round: int, prediction: float, coverage: float) -> PredictionInterval:
        """The interval for a ticket that is open; it is kept until its label comes."""
        interval = self.look(prediction, coverage)
        self._issued[round] = Issued(prediction, self.told, self._now()[0])
        return interval

    def error_range(self, coverage: float) -> tuple[float, float]:
        """How far labels lie below and above predictions, by the last 512 errors, all alike."""
        return range_of(self._in_order(), coverage)

    def prediction(self, round: int) -> float | None:
        """What was predicted for an open ticket as its interval was issued, if one was."""
        issued = self._issued.get(round)
        return None if issued is None else issued.prediction

    def hear(self, round: int, prediction: float, y: float) -> None:
        """Learn the label of a ticket, of which this was the prediction."""
        error, issued = y - prediction, self._issued.pop(round, None)
        if issued is None:
            return self._hear(np.array([error]))
        self.longest = max(self.longest, self.told - issued.told)
        self._keep(np.array([error]))
        self._judge(issued.notes, error)
        return None

    def _judge(self, issued: Floats, error: float) -> None:
        """Coverages whose interval was issued as issued, the others by what is said now."""
        notes, _ = self._now()
        notes[: len(issued)][issued[:, 0] > 0.0] = issued[issued[:, 0] > 0.0]
        as_issued = np.zeros(len(notes), dtype=np.bool_)
        as_issued[: len(issued)] = issued[:, 0] > 0.0
        order, gain = self._order(), kernels.gain_of(self.longest)
        for some in (order[as_issued[order]], order[~as_issued[order]]):
            if len(some):
                kernels.learn(self._trackers, some, notes, error, gain)

    def hear_block(self, predictions: Floats, y: Floats) -> None:
        """Learn labels that came at once, one after the other."""
        self._hear(y - predictions)

    def play_block(self, predictions: Floats, y: Floats, coverage: float) -> Floats:
        """As `hear_block`; returns the low and the high end of each round's interval."""
        place = self.track(coverage)
        edges = np.empty((len(y), len(self._coverages), 2))
        self._hear(y - predictions, edges)
        ends: Floats = predictions[:, np.newaxis] + edges[:, place]
        return ends

    def forget(self, round: int) -> None:
        """Forget what was issued for a ticket whose label never comes."""
        self._issued.pop(round, None)

    def _hear(self, errors: Floats, edges: Floats = NO_EDGES) -> None:
        self._keep(errors)
        if len(self._coverages):
            gain = kernels.gain_of(self.longest)
            kernels.play(self._trackers, self._order(), errors, gain, edges)

    def _keep(self, errors: Floats) -> None:
        self.told += len(errors)
        last = errors[-RECENT:]
        self._recent[np.arange(self.told - len(last), self.told) % RECENT] = last

    def _in_order(self) -> Floats:
        """The recent errors, oldest first."""
        errors: Floats = self._recent[np.arange(max(0, self.told - RECENT), self.told) % RECENT]
        return errors

    def _order(self) -> Indices:
        return np.argsort(self._coverages)

    def _now(self) -> tuple[Floats, Floats]:
        """The notes and the edges of a prediction that is made now."""
        notes, edges = (np.empty((len(self._coverages), width)) for width in (NOTE, 2))
        kernels.issue(self._trackers, self._order(), notes, edges)
        return notes, edges

    def arrays(self) -> dict[str, Any]:
        """Everything it is, for a file."""
        return {
            "told": self.told,
            "longest": self.longest,
            "coverages": self._coverages.copy(),
            "recent": self._in_order(),
            "trackers": pack(self._trackers, "residuals.trackers"),
            "issued": pack(self._saved_tickets(), "residuals.issued"),
        }

    def _saved_tickets(self) -> IssuedTickets:
        rounds = sorted(self._issued)
        issued, tracked = [self._issued[round] for round in rounds], len(self._coverages)
        notes = np.zeros((len(rounds), tracked, NOTE))
        for row, one in zip(notes, issued, strict=True):
            row[: len(one.notes)] = one.notes
        return IssuedTickets(
            np.array(rounds, dtype=np.int64),
            np.array([one.prediction for one in issued], dtype=np.float64),
            np.array([one.told for one in issued], dtype=np.int64),
            np.array([len(one.notes) for one in issued], dtype=np.int64),
            notes[:, :, :EDGES],
            notes[:, :, EDGES:],
        )

    def with_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """A new one with these, or a StateError that names what in them cannot be."""
        where, new = "residuals", type(self)()
        trees = entries(arrays, list(new.arrays()), where)
        new.told = fit(0, trees["told"], f"{where}.told")
        new.longest = fit(0, trees["longest"], f"{where}.longest")
        if not 0 <= new.longest <= new.told <= MANY:
            raise StateError(f"{where}.longest must be at most {where}.told, both from 0 on")
        new._coverages = _coverages(trees["coverages"], f"{where}.coverages")
        errors = fit(np.empty(min(new.told, RECENT)), trees["recent"], f"{where}.recent")
        prove(errors, f"{where}.recent", {}, Holds(least=-3 * LARGEST, most=3 * LARGEST))
        new._recent[np.arange(new.told - len(errors), new.told) % RECENT] = errors
        like = new_trackers(new._coverages.tolist())
        new._trackers = fit(like, trees["trackers"], f"{where}.trackers")
        prove(new._trackers, f"{where}.trackers", {})
        _refuse_odd_counts(new._trackers, f"{where}.trackers")
        new._issued = new._put_back(trees["issued"], f"{where}.issued")
        return new

    def _put_back(self, tree: Any, where: str) -> dict[int, Issued]:
        """What was issued for open tickets, from a file."""
        saved: IssuedTickets = fit(self._saved_tickets(), tree, where, loose=True)
        prove(saved, where, {"all_told": self.told, "coverages": len(self._coverages)})
        shape = len(saved.rounds), len(self._coverages)
        if saved.said.shape != (*shape, EDGES) or saved.edges.shape != (*shape, NOTE - EDGES):
            raise StateError(f"{where}.said and {where}.edges must be of {shape} notes")
        notes = np.concatenate([saved.said, saved.edges], axis=2)
        if (notes[:, :, 0] < 0.0).any():
            raise StateError(f"{where}.said: units must be at least 0")
        columns = (saved.rounds, saved.predictions, saved.told, saved.tracked)
        rows = zip(*(column.tolist() for column in columns), notes, strict=True)
        return {row[0]: Issued(row[1], row[2], row[4][: row[3]].copy()) for row in rows}

    def refuse_unless_open(self, rounds: set[int]) -> None:
        """StateError if something was issued for a ticket that is not open."""
        for round in sorted(self._issued.keys() - rounds)[:1]:
            raise StateError(f"residuals.issued: the ticket of round {round} is not open")


def range_of(errors: Floats, coverage: float) -> tuple[float, float]:
    """Between which ends the next error is, in that share of cases, if any order was as likely.

    Infinite where there are too few: each end leaves out (1 - coverage) / 2, with one error more.

    >>> range_of(np.arange(1.0, 40.0), 0.9), range_of(np.arange(5.0), 0.9)
    ((2.0, 38.0), (-inf, inf))
    """
    n, share = len(errors), (1.0 - a_coverage(coverage)) / 2.0
    out = math.floor(share * (n + 1) + 1e-9)  # errors beyond each end, and the end itself
    if out < 1:
        return -math.inf, math.inf
    in_order = np.sort(errors)
    return float(in_order[out - 1]), float(in_order[n - out])


def _coverages(tree: Any, where: str) -> Floats:
    coverages: Floats = fit(np.empty(0), tree, where, loose=True)
    try:
        known = {a_coverage(one) for one in coverages.tolist()}
    except ProblemError as error:
        raise StateError(f"{where}: {error}") from None
    if len(known) < len(coverages) or len(known) > MOST_COVERAGES:
        raise StateError(f"{where} must be {MOST_COVERAGES} at most, each once")
    return coverages


def _refuse_odd_counts(trackers: Trackers, where: str) -> None:
    """StateError unless whoever was told something has counted it, and nothing can overflow."""
    counts = trackers.units[:, 1]
    if (trackers.units > 1e170).any():  # 2^53 errors of the largest labels
        raise StateError(f"{where}.units are larger than any errors make them")
    if (counts[trackers.told > 0] < 1.0).any() or trackers.units[trackers.told == 0].any():
        raise StateError(f"{where}.units do not go with {where}.told")


@runtime_checkable
class HasIntervals(Protocol):
    """A learner that issues intervals."""

    def interval(
        self, seen: Observation, coverage: float = 0.9, *, issue: bool = True
    ) -> PredictionInterval:
        """Where the label will be, in a share `coverage` of rounds."""

    def error_range(self, coverage: float = 0.9) -> tuple[float, float]:
        """How far labels lay below and above predictions of late, in that share of rounds."""

    def track_coverage(self, coverage: float) -> None:
        """Prepare for intervals of this coverage."""

    def residuals(self) -> Residuals:
        """What they are made from, as a copy."""
