"""The record of errors as files have it: put together, taken apart, and proven sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from keyhole.errors import LARGEST
from keyhole.learners.blocks.conformal.sizes import LARGEST_FACTOR, LEAST_FACTOR
from keyhole.learners.blocks.conformal.trackers import (
    EDGES,
    FACTOR,
    FARTHEST,
    NOTE,
    PLAIN,
    SIDES,
    Trackers,
    new_trackers,
)
from keyhole.problem import Floats, Indices, ProblemError, StateError
from keyhole.problem.fields import Holds
from keyhole.problem.prediction_interval import a_coverage
from keyhole.problem.serialize import fit
from keyhole.problem.soundness import prove

MOST_COVERAGES = 16


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
    if not isinstance(values, np.ndarray) or values.ndim == 0 or values.shape[-1] % PLAIN:
        return values
    *others, last = values.shape
    stretches = values.reshape(*others, last // PLAIN, PLAIN)
    return np.concatenate([stretches, stretches], axis=-1).reshape(*others, 2 * last)


def _note_with_factor(said: Any) -> Any:
    """What notes from before there were factors said, and a factor of 1."""
    if not isinstance(said, np.ndarray) or said.ndim != 3 or said.shape[-1] <= SIDES:
        return said
    together, ones = said[:, :, -SIDES:], np.ones((*said.shape[:2], 1))
    return np.concatenate([_twice(said[:, :, :-SIDES]), together, ones], axis=2)


def saved_tickets(all_issued: Mapping[int, Issued], tracked: int) -> IssuedTickets:
    """What was issued, for a file, with so many coverages."""
    rounds = sorted(all_issued)
    issued = [all_issued[round] for round in rounds]
    notes = np.zeros((len(rounds), tracked, NOTE))
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


def issued_of(tree: Any, told: int, tracked: int, where: str) -> dict[int, Issued]:
    """What was issued for open tickets, from a file."""
    saved: IssuedTickets = fit(saved_tickets({}, tracked), tree, where, loose=True)
    prove(saved, where, {"all_told": told, "coverages": tracked})
    shape = len(saved.rounds), tracked
    if saved.said.shape != (*shape, EDGES) or saved.edges.shape != (*shape, NOTE - EDGES):
        raise StateError(f"{where}.said and {where}.edges must be of {shape} notes")
    notes = np.concatenate([saved.said, saved.edges], axis=2)
    if (notes[:, :, 0] < 0.0).any():
        raise StateError(f"{where}.said: units must be at least 0")
    factors = notes[:, :, FACTOR]
    if ((factors < LEAST_FACTOR) | (factors > LARGEST_FACTOR)).any():
        raise StateError(f"{where}.said: factors are from {LEAST_FACTOR:g} to {LARGEST_FACTOR:g}")
    columns = (saved.rounds, saved.predictions, saved.told, saved.tracked)
    rows = zip(*(column.tolist() for column in columns), notes, strict=True)
    return {row[0]: Issued(row[1], row[2], row[4][: row[3]].copy()) for row in rows}


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
