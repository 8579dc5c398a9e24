"""Correcting what AutoLearner was told: which row, where it is, what else has its label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.believed import believe_label, believe_value, ends_without
from keyhole.learners.blocks.auto.chain import heard, judge_anew, mend
from keyhole.learners.blocks.auto.correction import correct_sums
from keyhole.learners.blocks.auto.engine import BEFORE, forget_shapes
from keyhole.learners.blocks.auto.last_layer import Layer
from keyhole.learners.blocks.auto.mixture import HIGH, LOW, Mixture, start_anew
from keyhole.learners.blocks.auto.ring import GONE, SEALED, TOLD, Ring, slots
from keyhole.learners.blocks.auto.state import (
    LEAST,
    LONGEST_MEMORY,
    MOST,
    OWED,
    PLAYED,
    Settings,
    State,
)
from keyhole.learners.blocks.sums.past_labels import HALF_LIVES, LAST_LABELS, Past
from keyhole.problem import Floats, Indices, StateError, Ticket, TicketError
from keyhole.problem.step import PLAN

if TYPE_CHECKING:
    from keyhole.learners.auto import AutoLearner

ROUNDS, LEVEL, SQUARES = 2, 3, 4  # in `State.trial`


def correct_row(
    learner: AutoLearner, ticket: Ticket, label: float | None, places: Indices, values: Floats
) -> None:
    """Have the row of a ticket with these values at these places, and with this label."""
    state, ring = learner._state, learner._state.ring
    slot, age = find_row(ring, ticket, learner.round)
    read = ring.features[slot]
    places = np.searchsorted(read[read >= 0], ticket.features)[places]
    was, before = ring.values[slot].copy(), float(ring.labels[slot])
    row = was.copy()
    row[places] = values
    changed = not np.array_equal(row, was, equal_nan=True)
    y = before if label is None else label
    entry = learner._batches.find(int(ring.batches[slot]))
    if ring.folds[slot] > 0:
        correct_sums(state, slot, row, y)
    elif entry is None:
        raise StateError(f"ring.folds: batch {ring.batches[slot]} does not wait for labels")
    else:
        correct_open(ring, slot, entry.content, row, y)
    for place in places.tolist():
        j = int(ring.features[slot, place])
        believe_value(state, j, float(was[place]), float(row[place]))
    if y != before:
        if learner.past:
            relabel_past(learner._last, age, y - before)
        if age < state.trial[ROUNDS]:
            relabel_trial(state, before, y)
        _relabel_range(learner, before, y)
    if changed or y != before:
        mend(learner._chain)


def _relabel_range(learner: AutoLearner, before: float, label: float) -> None:
    """The range of the labels; `bound()` goes on counting what it has come to so far."""
    state, last = learner._state, learner._last
    labels, all_there = believe_label(state, before, label)
    ends = ends_without(state.mixture.span, before, labels, all_there)
    if ends is not None:
        owed = learner.bound()
        state.owed[[OWED, PLAYED]] = owed if math.isfinite(owed) else 0.0, 0.0
        begin_anew(learner._settings, state, last, ends)
        forget_shapes(learner._auto)
        judge_anew(learner._chain, ends)
    for mixture in (state.mixture, last.judge) if last.there else (state.mixture,):
        widen(mixture, label)
    heard(learner._chain, np.array([label, label]))
    learner._desk.labels.note_one(label)


def find_row(ring: Ring, ticket: Ticket, round: int) -> tuple[int, int]:
    """The slot of the row of a ticket, and how many rows were told after it."""
    there = slots(ring)
    places = np.flatnonzero(ring.rounds[there] == ticket.round)
    if not len(places):
        _refuse_unknown(ring, ticket, round)
    place = int(places[-1])
    slot = int(there[place])
    row, batch = ring.features[slot], ticket.memo.get("batch")
    read, plan = row[row >= 0], ticket.memo.get(PLAN, ticket.features)  # it may have stopped early
    whole = np.array_equal(read, plan) and np.isin(ticket.features, plan).all()
    if not (whole or np.array_equal(read, ticket.features)) or (
        batch is not None and int(batch) != ring.batches[slot]
    ):
        raise TicketError(
            f"the ticket of round {ticket.round} is not the one that was told: it was changed, or "
            "is another learner's"
        )
    age = len(there) - 1 - place
    if ring.next[TOLD] - age <= ring.next[SEALED]:
        raise StateError(
            f"the ticket of round {ticket.round} was told before history was studied or set aside, "
            "or before the first values or the level of labels turned out to be others, which "
            "changed what had been learnt: it can be corrected no more"
        )
    if 0 < ring.folds[slot] <= ring.next[GONE]:
        raise TicketError(
            f"the ticket of round {ticket.round} is {round - ticket.round:,} rounds old, and not "
            f"all rows of its batch and of later ones are among the last {len(ring.labels):,} that "
            "AutoLearner keeps: it can be corrected no more"
        )
    return slot, age


def row_in(ring: Ring, slot: int, batch: Batch) -> int:
    """The row of a batch that is not in the sums yet."""
    there = slots(ring)
    same = there[(ring.batches[there] == ring.batches[slot]) & (ring.folds[there] == 0)]
    row = int(batch.rows[0]) - len(same) + int(np.flatnonzero(same == slot)[0])
    if row < 0:
        raise StateError(f"ring.batches has more rows than batch {ring.batches[slot]}")
    return row


def correct_open(ring: Ring, slot: int, batch: Batch, values: Floats, label: float) -> None:
    """Have a row that is not in the sums yet with these values and this label."""
    row = row_in(ring, slot, batch)
    batch.values[row], batch.labels[row] = values[: batch.values.shape[1]], label
    ring.values[slot], ring.labels[slot] = values, label


def _refuse_unknown(ring: Ring, ticket: Ticket, round: int) -> None:
    length = len(ring.labels)
    if not length:
        raise StateError(
            "this AutoLearner keeps no rows to correct (ring=0): make it anew with "
            "AutoParts(ring=2048)"
        )
    if ring.next[TOLD] <= length:
        raise TicketError(
            f"the ticket of round {ticket.round} was never told: it was dropped, or told before "
            "this learner kept its rows, in a file of an earlier version"
        )
    raise TicketError(
        f"the ticket of round {ticket.round} is {round - ticket.round:,} rounds old, and "
        f"AutoLearner keeps the last {len(ring.labels):,} rows it was told: it can be corrected "
        "no more"
    )


def relabel_past(last: Layer, age: int, more: float) -> None:
    """The label with `age` labels told after it is larger by so much, and so is its error."""
    fades = 0.5 ** (age / np.array(HALF_LIVES))
    for past in (last.labels, last.errors):
        _relabel(past, age, more, fades * more)


def _relabel(past: Past, age: int, more: float, faded: np.ndarray) -> None:
    if age >= past.told[0]:
        return  # the first label of all has no error
    past.faded[:] += faded
    if age < LAST_LABELS:
        past.last[age] += more


def relabel_trial(state: State, before: float, now: float) -> None:
    """The mean of the labels since history, their squares about it, and their range."""
    trial, more = state.trial, now - before
    old, mean = trial[LEVEL], trial[LEVEL] + more / trial[ROUNDS]
    trial[SQUARES] = max(trial[SQUARES] + more * (now + before - mean - old), 0.0)
    trial[LEVEL] = mean
    state.owed[LEAST] = min(state.owed[LEAST], now)
    state.owed[MOST] = max(state.owed[MOST], now)


def widen(mixture: Mixture, label: float) -> None:
    """Have this label within the range."""
    mixture.span[LOW] = np.fmin(mixture.span[LOW], label)
    mixture.span[HIGH] = np.fmax(mixture.span[HIGH], label)


def begin_anew(s: Settings, state: State, last: Layer, ends: tuple[float, float]) -> None:
    """Both mixtures and the last layer begin anew, with this range of labels.

    What they know was learnt from squares of a label that was far out, and never was.
    """
    for mixture in (state.mixture, last.judge) if last.there else (state.mixture,):
        start_anew(mixture)
        mixture.span[:] = ends
    for sums in (last.A, last.b, last.spread, last.root, last.along):
        sums[:] = 0.0
    state.trial[:] = 0.0
    state.trial[BEFORE] = state.mixture.losses[s.experts.judges[LONGEST_MEMORY]]
