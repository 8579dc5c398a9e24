"""Corrections: values and labels of the store that were wrong, as events with who and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from keyhole.counter.store import tables
from keyhole.counter.store.doubts import confirmed_doubts
from keyhole.counter.store.records import checked_why, read_id
from keyhole.counter.store.requests import (
    Action,
    LearnerTransaction,
    Request,
    seen_body,
    ticket_by_round,
)
from keyhole.counter.store.tables import SERVED, TicketRecord
from keyhole.errors import ConflictError, DataError, StateError, finite_label
from keyhole.learners.correcting import RightValues, right_values
from keyhole.problem import Learner
from keyhole.problem.step import PLAN
from keyhole.problem.ticket import Floats, Observation, Ticket


def correct(
    ticket: str,
    y: float | None = None,
    values: RightValues | None = None,
    why: str = "",
    who: str = "",
    key: str | None = None,
    confirm: bool = False,
) -> Request:
    """Have a ticket with these values and this label, whatever it was filled with or told."""
    id = read_id(ticket)
    right = _right(y, values, why)
    content = ("correct", id, right.label, right.values, right.why)
    return Request(None, _correcting(id, right, confirm), content, who, key, ticket_id=id)


def correct_ticket(
    name: str, given: Ticket, y: float | None, values: RightValues | None, why: str, confirm: bool
) -> Request:
    """The same of a ticket of a learner, as `correct` of learners does."""
    right = _right(y, values, why)

    def action(tx: LearnerTransaction) -> list[str]:
        found = ticket_by_round(tx, given)
        return _correcting(found.row.id, right, confirm)(tx)

    return Request(name, action, ("correct", given.round))


@dataclass(frozen=True, slots=True)
class _Right:
    """What is said to be right: None where nothing is said."""

    label: float | None
    values: RightValues
    why: str


def _right(y: float | None, values: RightValues | None, why: str) -> _Right:
    if y is None and not values:
        raise DataError(
            "there is nothing to correct: give y=..., the right label, or values={...}, the right "
            "values by feature, None for one that never arrived"
        )
    return _Right(None if y is None else finite_label(y), values or {}, checked_why(why))


def _correcting(id: str, right: _Right, confirm: bool) -> Action:
    def action(tx: LearnerTransaction) -> list[str]:
        ticket = tx.ticket(id)
        _refuse_to_correct(ticket, right)
        seen = cast(Mapping[str, Any], ticket.seen)
        was = np.array(seen["values"], dtype=np.float64)
        places, numbers = right_values(ticket.order, right.values)
        now = was.copy()
        now[places] = numbers
        label = ticket.label if right.label is None else right.label
        change = Change(ticket.order, was, now, ticket.label, label)
        if change:  # the same again changes nothing
            _correct(tx, ticket, change, right.why, confirm)
        return [id]

    return action


def _refuse_to_correct(ticket: TicketRecord, right: _Right) -> None:
    id, state = ticket.row.id, ticket.row.state
    if state == "asked":
        raise ConflictError(f"ticket {id} was not filled: fill it with the right values")
    if state == "dropped":
        raise ConflictError(f"ticket {id} was dropped: nothing was learnt from it")
    if state == "filled" and right.label is not None:
        raise ConflictError(f"ticket {id} has no label yet: tell it, there is none to correct")


@dataclass(frozen=True, slots=True)
class Change:
    """What a ticket says before and after a correction."""

    order: Ticket
    was: Floats
    now: Floats
    label_was: float | None
    label: float | None

    def __bool__(self) -> bool:
        """Whether anything is different."""
        return bool(self.values) or self.right_label is not None

    @property
    def values(self) -> dict[int, float | None]:
        """By feature, the values that are different, None for one that never arrived."""
        same = (self.was == self.now) | (np.isnan(self.was) & np.isnan(self.now))
        changed = zip(self.order.features[~same].tolist(), self.now[~same].tolist(), strict=True)
        return {j: None if value != value else value for j, value in changed}

    @property
    def right_label(self) -> float | None:
        """The label, if it is another one."""
        return None if self.label == self.label_was else self.label

    def seen(self) -> Observation:
        """What came back, as it is now."""
        return Observation(self.order, self.now.copy())

    def carry_out(self, learner: Learner, coverage: float | None) -> dict[str, Any]:
        """Have the learner correct it; what the event says of that.

        A ticket without a label taught nothing: another prediction is served for it.
        """
        body: dict[str, Any] = {"values": _written(self.now)}
        if self.label is None:
            body = seen_body(learner, self.seen(), coverage)
        else:
            able: Any = learner
            able.correct(self.order, y=self.right_label, values=self.values)
            body["y"] = self.label
        return {**body, "was": {"values": _written(self.was), "y": self.label_was}}


def change_of(order: Ticket, body: Mapping[str, Any]) -> Change:
    """The change that an event tells of."""
    was = body["was"]
    before, after = (np.array(row, dtype=np.float64) for row in (was["values"], body["values"]))
    return Change(order, before, after, was["y"], body.get("y"))


def _correct(
    tx: LearnerTransaction, ticket: TicketRecord, change: Change, why: str, confirm: bool
) -> None:
    learner, id, seen = tx.loaded.learner, ticket.row.id, cast(Mapping[str, Any], ticket.seen)
    confirmed: dict[str, Any] = {}
    if change.label is None or getattr(learner, "CORRECTS", False):  # else it is refused anyway
        confirmed = confirmed_doubts(
            learner, id, change.seen(), change.right_label, confirm, [*change.values]
        )
    try:
        done = tx.change(change.carry_out, learner, seen.get("coverage"))
    except StateError as error:  # it cannot, or no longer
        raise ConflictError(f"ticket {id}: {error}") from None
    # All that a ticket says by now, so that its last correction is all that need be read.
    body = {
        **{name: seen[name] for name in SERVED if name in seen},
        **done,
        **({"features": ticket.order.features.tolist()} if PLAN in ticket.order.memo else {}),
        "why": why,
        **confirmed,
    }
    tx.append("corrected", id, json.dumps(body, allow_nan=False), body, ticket.row)
    ticket.correct(body)
    if change.right_label is not None:
        tx.flush()  # so that all labels can be read
        tx.row.loss = tables.total_loss(tx.connection, tx.row.id)


def _written(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]
