"""Residuals of a learner: prediction intervals tracked from its past errors, and their state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from keyhole.core.records import hold
from keyhole.errors import LARGEST
from keyhole.learners.blocks import conformal
from keyhole.learners.blocks.conformal import (
    EDGES,
    FACTOR,
    MAX_EDGE,
    MAX_FACTOR,
    MIN_FACTOR,
    NOTE_SIZE,
    PLAIN_SCALES,
    SIDES,
    ErrorSizes,
    Trackers,
    factor_of,
    factors_of,
    gain_of,
    joined,
    new_sizes,
    new_trackers,
)
from keyhole.problem import Floats, Indices, Observation, ProblemError, StateError
from keyhole.problem.labels import PredictionInterval, a_coverage
from keyhole.problem.rows import BoughtValues
from keyhole.problem.state import MAX_WHOLE_NUMBER, Holds, entries, fit, pack
from keyhole.problem.state_checks import prove

MAX_COVERAGES = 16


class OpenPrediction(NamedTuple):
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
    edges: Annotated[Floats, Holds(least=-MAX_EDGE, infinite=True)]


def since_factors(arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arrays of a record; one from before there were factors as if each had been 1.

    What does not look like such a record is left as it is, to be refused.
    """
    recent, trackers, issued = (arrays.get(name) for name in ("recent", "trackers", "issued"))
    if "sizes" in arrays or not isinstance(recent, np.ndarray):
        return arrays
    if not isinstance(trackers, dict) or not isinstance(issued, dict):
        return arrays
    wider = {name: _twice(trackers.get(name)) for name in ("units", "q", "regret", "weight")}
    if isinstance(weight := wider["weight"], np.ndarray):
        wider["weight"] = weight / 2.0
    return {
        **arrays,
        "trackers": {**trackers, **wider},
        "issued": {**issued, "said": _note_with_factor(issued.get("said"))},
        "factors": np.ones(recent.shape),
        "sizes": None,
    }


def _twice(values: Any) -> Any:
    """Each stretch of units along the last dimension, and once more for those with a factor.

    >>> _twice(np.arange(6.0)).tolist()
    [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0]
    """
    if not isinstance(values, np.ndarray) or values.ndim == 0 or values.shape[-1] % PLAIN_SCALES:
        return values
    *others, last = values.shape
    stretches = values.reshape(*others, last // PLAIN_SCALES, PLAIN_SCALES)
    return np.concatenate([stretches, stretches], axis=-1).reshape(*others, 2 * last)


def _note_with_factor(said: Any) -> Any:
    """What notes from before there were factors said, and a factor of 1."""
    if not isinstance(said, np.ndarray) or said.ndim != 3 or said.shape[-1] <= SIDES:
        return said
    together, ones = said[:, :, -SIDES:], np.ones((*said.shape[:2], 1))
    return np.concatenate([_twice(said[:, :, :-SIDES]), together, ones], axis=2)


def saved_tickets(all_issued: Mapping[int, OpenPrediction], tracked: int) -> IssuedTickets:
    """What was issued, for a file, with so many coverages."""
    rounds = sorted(all_issued)
    issued = [all_issued[round] for round in rounds]
    notes = np.zeros((len(rounds), tracked, NOTE_SIZE))
    notes[:, :, FACTOR] = 1.0
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


def issued_of(tree: Any, told: int, tracked: int, where: str) -> dict[int, OpenPrediction]:
    """What was issued for open tickets, from a file."""
    saved: IssuedTickets = fit(saved_tickets({}, tracked), tree, where, loose=True)
    prove(saved, where, {"all_told": told, "coverages": tracked})
    shape = len(saved.rounds), tracked
    if saved.said.shape != (*shape, EDGES) or saved.edges.shape != (*shape, NOTE_SIZE - EDGES):
        raise StateError(f"{where}.said and {where}.edges must be of {shape} notes")
    notes = np.concatenate([saved.said, saved.edges], axis=2)
    if (notes[:, :, 0] < 0.0).any():
        raise StateError(f"{where}.said: units must be at least 0")
    factors = notes[:, :, FACTOR]
    if ((factors < MIN_FACTOR) | (factors > MAX_FACTOR)).any():
        raise StateError(f"{where}.said: factors are from {MIN_FACTOR:g} to {MAX_FACTOR:g}")
    columns = (saved.rounds, saved.predictions, saved.told, saved.tracked)
    rows = zip(*(column.tolist() for column in columns), notes, strict=True)
    return {row[0]: OpenPrediction(row[1], row[2], row[4][: row[3]].copy()) for row in rows}


def trackers_of(tree: Any, coverages: Floats, where: str) -> Trackers:
    """The trackers of these coverages, from a file."""
    trackers: Trackers = fit(new_trackers(coverages.tolist()), tree, where)
    prove(trackers, where, {})
    _refuse_odd_counts(trackers, where)
    return trackers


def coverages_of(tree: Any, where: str) -> Floats:
    """Which coverages are tracked, from a file."""
    coverages: Floats = fit(np.empty(0), tree, where, loose=True)
    try:
        known = {a_coverage(one) for one in coverages.tolist()}
    except ProblemError as error:
        raise StateError(f"{where}: {error}") from None
    if len(known) < len(coverages) or len(known) > MAX_COVERAGES:
        raise StateError(f"{where} must be {MAX_COVERAGES} at most, each once")
    return coverages


def _refuse_odd_counts(trackers: Trackers, where: str) -> None:
    """StateError unless whoever was told something has counted it, and nothing can overflow."""
    counts = trackers.units[:, 1]
    if (trackers.units > 1e170).any():  # 2^53 errors of the largest labels
        raise StateError(f"{where}.units are larger than any errors make them")
    if (counts[trackers.told > 0] < 1.0).any() or trackers.units[trackers.told == 0].any():
        raise StateError(f"{where}.units do not go with {where}.told")


NO_NOTES: Floats = np.empty((0, NOTE_SIZE))
MAX_RECENT_ERRORS = 512  # errors that are kept, for coverages that are asked for later on


class Residuals:
    """Follows the errors of predictions, and issues intervals around the next ones.

    A coverage is tracked from the first time it is asked for. It then starts from the last 512
    errors, which are always kept, so that it is calibrated at once. Whoever asks for no interval
    pays for these 512 numbers only.

    How wide an interval is depends on what was bought, on the prediction, and on the last errors;
    the first two are learnt while some coverage is tracked (see `blocks/conformal.py`).

    An interval is judged as it was issued: what was said about an open ticket, its prediction
    included, is kept until its label comes. Where none was issued, the one that would be issued
    now is judged in its place.

    Sums: `told`; the trackers (see `blocks/conformal.py`, with the guarantee); the sizes
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
        self._recent: Floats = np.zeros(MAX_RECENT_ERRORS)  # error number n at n % its length
        self._factors: Floats = np.ones(MAX_RECENT_ERRORS)  # of those
        self._issued: dict[int, OpenPrediction] = {}

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
        if len(self._coverages) == MAX_COVERAGES:
            these = ", ".join(f"{one:g}" for one in self.coverages)
            raise ProblemError(
                f"coverage: a learner tracks {MAX_COVERAGES} of them at most, these are {these}; "
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
        self, prediction: float, coverage: float, bought: BoughtValues | None = None
    ) -> PredictionInterval:
        """The interval around a prediction that is made now, from this; it is not kept."""
        return self._said(prediction, coverage, bought)[0]

    def issue(
        self, round: int, prediction: float, coverage: float, bought: BoughtValues | None = None
    ) -> PredictionInterval:
        """The interval for a ticket that is open; it is kept until its label comes."""
        interval, notes = self._said(prediction, coverage, bought)
        self._issued[round] = OpenPrediction(prediction, self.told, notes)
        return interval

    def _said(
        self, prediction: float, coverage: float, bought: BoughtValues | None
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

    def hear(
        self, round: int, prediction: float, y: float, bought: BoughtValues | None = None
    ) -> None:
        """Learn the label of a ticket, of which this was the prediction."""
        issued, error, factor = self._issued.pop(round, None), y - prediction, 1.0
        if self._sizes is not None:
            one = self._learn_sizes(np.array([prediction]), np.array([error]), bought)
            factor = float(one[0])
        if issued is not None:
            self.longest = max(self.longest, self.told - issued.told)
        at = self.told % MAX_RECENT_ERRORS
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

    def hear_block(
        self, predictions: Floats, y: Floats, bought: BoughtValues | None = None
    ) -> None:
        """Learn labels that came at once, one after the other."""
        self._hear(predictions, y - predictions, bought)

    def play_block(
        self, predictions: Floats, y: Floats, coverage: float, bought: BoughtValues | None = None
    ) -> Floats:
        """As `hear_block`; returns the low and the high end of each round's interval."""
        place = self.track(coverage)
        edges = self._hear(predictions, y - predictions, bought)
        ends: Floats = predictions[:, np.newaxis] + edges[:, place]
        return ends

    @property
    def awaited(self) -> tuple[int, ...]:
        """The rounds of the tickets that an interval was issued for, and is still kept."""
        return tuple(self._issued)

    def forget(self, round: int) -> None:
        """Forget what was issued for a ticket whose label never comes."""
        self._issued.pop(round, None)

    def _hear(self, predictions: Floats, errors: Floats, bought: BoughtValues | None) -> Floats:
        """Learn errors; the edges of each round and coverage, as offsets from the prediction."""
        factors = self._learn_sizes(predictions, errors, bought)
        self._keep(errors, factors)
        edges = np.empty((len(errors), len(self._coverages), 2))
        if len(self._coverages):
            gain = gain_of(self.longest)
            conformal.play(self._trackers, self._order, errors, factors, gain, edges)
        return edges

    def _learn_sizes(
        self, predictions: Floats, errors: Floats, bought: BoughtValues | None
    ) -> Floats:
        """The factor of each error as it is heard, by what was learnt from those before it."""
        factors = np.ones(len(errors))
        if self._sizes is not None:
            its = self._within(bought, len(errors))
            factors_of(self._sizes, *its, predictions, errors, factors)
        return factors

    def _factor(self, prediction: float, bought: BoughtValues | None) -> float:
        if self._sizes is None:
            return 1.0
        features, values = self._within(bought, 1)
        return factor_of(self._sizes, features[0], values[0], prediction)

    def _within(self, bought: BoughtValues | None, rounds: int) -> BoughtValues:
        """Without features that there are not: compiled code believes what it is given."""
        if bought is None:
            return BoughtValues(np.empty((rounds, 0), dtype=np.int64), np.empty((rounds, 0)))
        return bought._replace(features=np.where(bought.features < self.d, bought.features, -1))

    def _keep(self, errors: Floats, factors: Floats) -> None:
        self.told += len(errors)
        errors, factors = errors[-MAX_RECENT_ERRORS:], factors[-MAX_RECENT_ERRORS:]
        last = np.arange(self.told - len(errors), self.told) % MAX_RECENT_ERRORS
        self._recent[last], self._factors[last] = errors, factors

    def _in_order(self, recent: Floats) -> Floats:
        """Recent errors, or their factors, oldest first."""
        last = np.arange(max(0, self.told - MAX_RECENT_ERRORS), self.told) % MAX_RECENT_ERRORS
        return np.asarray(recent[last])

    def _now(self, factor: float) -> tuple[Floats, Floats]:
        """The notes and the edges of a prediction that is made now."""
        notes, edges = (np.empty((len(self._coverages), width)) for width in (NOTE_SIZE, 2))
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
        if not 0 <= new.longest <= new.told <= MAX_WHOLE_NUMBER:
            raise StateError(f"{where}.longest must be at most {where}.told, both from 0 on")
        new._coverages = coverages_of(trees["coverages"], f"{where}.coverages")
        for name, recent, holds in (
            ("recent", new._recent, Holds(least=-3 * LARGEST, most=3 * LARGEST)),
            ("factors", new._factors, Holds(least=MIN_FACTOR, most=MAX_FACTOR)),
        ):
            kept = np.empty(min(new.told, MAX_RECENT_ERRORS))
            numbers = fit(kept, trees[name], f"{where}.{name}")
            prove(numbers, f"{where}.{name}", {}, holds)
            recent[np.arange(new.told - len(numbers), new.told) % MAX_RECENT_ERRORS] = numbers
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
