"""What a learner's errors so far say about its next one: intervals, beside it and never inside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from keyhole.core.structs import hold
from keyhole.errors import LARGEST
from keyhole.learners.blocks.conformal import trackers as conformal
from keyhole.learners.blocks.conformal.sizes import (
    LARGEST_FACTOR,
    LEAST_FACTOR,
    ErrorSizes,
    factor_of,
    factors_of,
    new_sizes,
)
from keyhole.learners.blocks.conformal.trackers import NOTE, Trackers, gain_of, joined, new_trackers
from keyhole.learners.residuals_files import (
    MOST_COVERAGES,
    Issued,
    coverages_of,
    issued_of,
    saved_tickets,
    since_factors,
    trackers_of,
)
from keyhole.problem import Floats, Indices, Observation, ProblemError, StateError
from keyhole.problem.bought import Bought
from keyhole.problem.fields import MANY, Holds
from keyhole.problem.prediction_interval import PredictionInterval, a_coverage
from keyhole.problem.serialize import entries, fit, pack
from keyhole.problem.soundness import prove

NO_NOTES: Floats = np.empty((0, NOTE))
RECENT = 512  # errors that are kept, for coverages that are asked for later on


class Residuals:
    """Follows the errors of predictions, and issues intervals around the next ones.

    A coverage is tracked from the first time it is asked for. It then starts from the last 512
    errors, which are always kept, so that it is calibrated at once. Whoever asks for no interval
    pays for these 512 numbers only.

    How wide an interval is depends on what was bought, on the prediction, and on the last errors;
    the first two are learnt while some coverage is tracked (see `blocks/conformal/sizes.py`).

    An interval is judged as it was issued: what was said about an open ticket, its prediction
    included, is kept until its label comes. Where none was issued, the one that would be issued
    now is judged in its place.

    Sums: `told`; the trackers (see `blocks/conformal/trackers.py`, with the guarantee); the sizes
    of errors. Maximum: `longest`, the delay in labels. Lists: the recent errors and their factors,
    what was issued for open tickets.

    Parameters
    ----------
    d
        How many features there are.

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

    def __init__(self, d: int = 0) -> None:
        self.d = d
        self.told = 0
        self.longest = 0
        self._coverages: Floats = np.empty(0)
        self._order: Indices = np.empty(0, dtype=np.int64)  # of the coverages, lowest first
        self._trackers = new_trackers([])
        self._sizes: ErrorSizes | None = None  # from the first coverage on
        self._recent: Floats = np.zeros(RECENT)  # error number n at n % RECENT
        self._factors: Floats = np.ones(RECENT)  # of those
        self._issued: dict[int, Issued] = {}

    @property
    def coverages(self) -> tuple[float, ...]:
        """Those that are tracked, lowest first."""
        return tuple(sorted(self._coverages.tolist()))

    @property
    def tracking(self) -> bool:
        """Whether some coverage is tracked."""
        return len(self._coverages) > 0

    def track(self, coverage: float) -> int:
        """Track a coverage from now on; its place among all of them."""
        share = a_coverage(coverage)
        known: list[float] = self._coverages.tolist()
        if share in known:
            return known.index(share)
        if len(self._coverages) == MOST_COVERAGES:
            these = ", ".join(f"{one:g}" for one in self.coverages)
            raise ProblemError(
                f"coverage: a learner tracks {MOST_COVERAGES} of them at most, these are {these}; "
                f"use one of those, got {share:g}"
            )
        new, gain = new_trackers([share]), gain_of(self.longest)
        errors, factors = self._in_order(self._recent), self._in_order(self._factors)
        edges = np.empty((len(errors), 1, 2))
        conformal.play(new, np.zeros(1, dtype=np.int64), errors, factors, gain, edges)
        self._coverages = np.append(self._coverages, share)
        self._follow(joined(self._trackers, new), self._sizes or new_sizes(self.d))
        return len(self._coverages) - 1

    def _follow(self, trackers: Trackers, sizes: ErrorSizes | None) -> None:
        """From now on these, of the coverages there are."""
        self._order = np.argsort(self._coverages)
        self._trackers = hold(trackers)
        self._sizes = None if sizes is None else hold(sizes)

    def look(
        self, prediction: float, coverage: float, bought: Bought | None = None
    ) -> PredictionInterval:
        """The interval around a prediction that is made now, from this; it is not kept."""
        return self._said(prediction, coverage, bought)[0]

    def issue(
        self, round: int, prediction: float, coverage: float, bought: Bought | None = None
    ) -> PredictionInterval:
        """The interval for a ticket that is open; it is kept until its label comes."""
        interval, notes = self._said(prediction, coverage, bought)
        self._issued[round] = Issued(prediction, self.told, notes)
        return interval

    def _said(
        self, prediction: float, coverage: float, bought: Bought | None
    ) -> tuple[PredictionInterval, Floats]:
        """The interval, and the notes of all coverages."""
        place = self.track(coverage)
        notes, edges = self._now(self._factor(prediction, bought))
        low, high = (prediction + edges[place]).tolist()
        return PredictionInterval(low, high, float(self._coverages[place]), prediction), notes

    def error_range(self, coverage: float) -> tuple[float, float]:
        """How far labels lie below and above predictions, by the last 512 errors, all alike."""
        return range_of(self._in_order(self._recent), coverage)

    def prediction(self, round: int) -> float | None:
        """What was predicted for an open ticket as its interval was issued, if one was."""
        issued = self._issued.get(round)
        return None if issued is None else issued.prediction

    def hear(self, round: int, prediction: float, y: float, bought: Bought | None = None) -> None:
        """Learn the label of a ticket, of which this was the prediction."""
        issued, error, factor = self._issued.pop(round, None), y - prediction, 1.0
        if self._sizes is not None:
            one = self._learn_sizes(np.array([prediction]), np.array([error]), bought)
            factor = float(one[0])
        if issued is not None:
            self.longest = max(self.longest, self.told - issued.told)
        at = self.told % RECENT
        self._recent[at], self._factors[at] = error, factor
        self.told += 1
        if len(self._coverages):
            self._judge(NO_NOTES if issued is None else issued.notes, error, factor)

    def _judge(self, issued: Floats, error: float, factor: float) -> None:
        """Coverages whose interval was issued as issued, the others by what is said now."""
        order, gain = self._order, gain_of(self.longest)
        as_issued = np.zeros(len(order), dtype=np.bool_)
        as_issued[: len(issued)] = issued[:, 0] > 0.0
        notes, parts = issued, [order]
        if not as_issued.all():
            notes, _ = self._now(factor)
            if as_issued.any():
                notes[as_issued] = issued[as_issued[: len(issued)]]
                parts = [order[as_issued[order]], order[~as_issued[order]]]
        for some in parts:
            conformal.learn(self._trackers, some, notes, error, gain)

    def hear_block(self, predictions: Floats, y: Floats, bought: Bought | None = None) -> None:
        """Learn labels that came at once, one after the other."""
        self._hear(predictions, y - predictions, bought)

    def play_block(
        self, predictions: Floats, y: Floats, coverage: float, bought: Bought | None = None
    ) -> Floats:
        """As `hear_block`; returns the low and the high end of each round's interval."""
        place = self.track(coverage)
        edges = self._hear(predictions, y - predictions, bought)
        ends: Floats = predictions[:, np.newaxis] + edges[:, place]
        return ends

    def forget(self, round: int) -> None:
        """Forget what was issued for a ticket whose label never comes."""
        self._issued.pop(round, None)

    def _hear(self, predictions: Floats, errors: Floats, bought: Bought | None) -> Floats:
        """Learn errors; the edges of each round and coverage, as offsets from the prediction."""
        factors = self._learn_sizes(predictions, errors, bought)
        self._keep(errors, factors)
        edges = np.empty((len(errors), len(self._coverages), 2))
        if len(self._coverages):
            gain = gain_of(self.longest)
            conformal.play(self._trackers, self._order, errors, factors, gain, edges)
        return edges

    def _learn_sizes(self, predictions: Floats, errors: Floats, bought: Bought | None) -> Floats:
        """The factor of each error as it is heard, by what was learnt from those before it."""
        factors = np.ones(len(errors))
        if self._sizes is not None:
            its = self._within(bought, len(errors))
            factors_of(self._sizes, *its, predictions, errors, factors)
        return factors

    def _factor(self, prediction: float, bought: Bought | None) -> float:
        if self._sizes is None:
            return 1.0
        features, values = self._within(bought, 1)
        return factor_of(self._sizes, features[0], values[0], prediction)

    def _within(self, bought: Bought | None, rounds: int) -> Bought:
        """Without features that there are not: compiled code believes what it is given."""
        if bought is None:
            return Bought(np.empty((rounds, 0), dtype=np.int64), np.empty((rounds, 0)))
        return bought._replace(features=np.where(bought.features < self.d, bought.features, -1))

    def _keep(self, errors: Floats, factors: Floats) -> None:
        self.told += len(errors)
        last = np.arange(max(0, self.told - min(len(errors), RECENT)), self.told) % RECENT
        self._recent[last], self._factors[last] = errors[-RECENT:], factors[-RECENT:]

    def _in_order(self, recent: Floats) -> Floats:
        """Recent errors, or their factors, oldest first."""
        ordered: Floats = recent[np.arange(max(0, self.told - RECENT), self.told) % RECENT]
        return ordered

    def _now(self, factor: float) -> tuple[Floats, Floats]:
        """The notes and the edges of a prediction that is made now."""
        notes, edges = (np.empty((len(self._coverages), width)) for width in (NOTE, 2))
        conformal.issue(self._trackers, self._order, factor, notes, edges)
        return notes, edges

    def arrays(self) -> dict[str, Any]:
        """Everything it is, for a file."""
        return {
            "told": self.told,
            "longest": self.longest,
            "coverages": self._coverages.copy(),
            "recent": self._in_order(self._recent),
            "factors": self._in_order(self._factors),
            "sizes": None if self._sizes is None else pack(self._sizes, "residuals.sizes"),
            "trackers": pack(self._trackers, "residuals.trackers"),
            "issued": pack(saved_tickets(self._issued, len(self._coverages)), "residuals.issued"),
        }

    def with_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """A new one with these, or a StateError that names what in them cannot be."""
        where, new = "residuals", type(self)(self.d)
        trees = entries(since_factors(arrays), list(new.arrays()), where)
        new.told = fit(0, trees["told"], f"{where}.told")
        new.longest = fit(0, trees["longest"], f"{where}.longest")
        if not 0 <= new.longest <= new.told <= MANY:
            raise StateError(f"{where}.longest must be at most {where}.told, both from 0 on")
        new._coverages = coverages_of(trees["coverages"], f"{where}.coverages")
        for name, recent, holds in (
            ("recent", new._recent, Holds(least=-3 * LARGEST, most=3 * LARGEST)),
            ("factors", new._factors, Holds(least=LEAST_FACTOR, most=LARGEST_FACTOR)),
        ):
            numbers = fit(np.empty(min(new.told, RECENT)), trees[name], f"{where}.{name}")
            prove(numbers, f"{where}.{name}", {}, holds)
            recent[np.arange(new.told - len(numbers), new.told) % RECENT] = numbers
        trackers = trackers_of(trees["trackers"], new._coverages, f"{where}.trackers")
        sizes: ErrorSizes | None = None
        if trees["sizes"] is not None:
            sizes = fit(new_sizes(self.d), trees["sizes"], f"{where}.sizes")
            prove(sizes, f"{where}.sizes", {})
        elif len(new._coverages):
            sizes = new_sizes(self.d)  # files from before there were any
        new._follow(trackers, sizes)
        tracked = len(new._coverages)
        new._issued = issued_of(trees["issued"], new.told, tracked, f"{where}.issued")
        return new

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
