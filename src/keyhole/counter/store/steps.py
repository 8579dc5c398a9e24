"""Steps: what to buy next for a ticket, or that enough is known, as events of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from keyhole.counter.client import step_said, written_values
from keyhole.counter.store.records import read_id
from keyhole.counter.store.requests import (
    DEFAULT_COVERAGE,
    Action,
    LearnerTransaction,
    Request,
    Values,
    arrival,
    filling,
    item_prices,
    keep_values,
    observation_of,
    open_by_round,
    refuse_without_steps,
)
from keyhole.counter.store.tables import SERVED, TicketRecord
from keyhole.errors import ConflictError, positive_number
from keyhole.problem import Learner
from keyhole.problem.step import Step
from keyhole.problem.ticket import Observation, Ticket


def next_step(
    ticket: str,
    stop_at: float | None = None,
    who: str = "",
    key: str | None = None,
    values: Values | None = None,
    confirm: bool = False,
) -> Request:
    """Say what to buy next for a ticket; with what came back, if that was not said before."""
    id, stop = read_id(ticket), _stop(stop_at)
    fill_first: Action | None = None
    if values is not None:
        fill_first = filling([(id, values)], DEFAULT_COVERAGE, confirm)

    def action(tx: LearnerTransaction) -> list[str]:
        if fill_first is not None:
            fill_first(tx)
        found = tx.ticket(id)
        if found.row.state == "asked" and not len(found.order.features):  # nothing to fill in
            keep_values(tx, arrival(found, found.order.fill([])), DEFAULT_COVERAGE)
        state = found.row.state
        if state in ("told", "dropped"):
            raise ConflictError(f"ticket {id} was {state}: nothing more is bought for it")
        if state == "asked":
            raise ConflictError(
                f"ticket {id} was not filled: fill it first, even if no value came back"
            )
        _go_on(tx, found, stop)
        return [id]

    return Request(None, action, ("next", id, stop, values), who, key, ticket_id=id)


def step_after(
    name: str, seen: Observation, stop_at: float | None, found: list[TicketRecord], confirm: bool
) -> Request:
    """The same of an observation, as `Learner.next` has it: fills its ticket if need be.

    The ticket, as it is then, is put into `found`.
    """
    stop = _stop(stop_at)

    def action(tx: LearnerTransaction) -> list[str]:
        ticket = open_by_round(tx, seen.ticket)
        keep_values(tx, arrival(ticket, seen), confirm=confirm)
        _go_on(tx, ticket, stop)
        found[:] = [ticket]
        return [ticket.row.id]

    return Request(name, action, ("next", seen.round, stop))


def _stop(stop_at: float | None) -> float | None:
    return None if stop_at is None else float(positive_number("stop_at", stop_at))


def _go_on(tx: LearnerTransaction, ticket: TicketRecord, stop_at: float | None) -> None:
    """What to buy next, kept; the same again as long as nothing of it came back."""
    learner, seen = tx.loaded.learner, cast(Mapping[str, Any], ticket.seen)
    refuse_without_steps(tx.row.name, learner)
    said = seen.get("step") or {}
    if said.get("features"):
        return
    step = step_of(learner, ticket.order, seen, stop_at)
    if not step and (said.get("reason"), said.get("stop_at")) == (step.reason, stop_at):
        return
    prices = item_prices(learner.problem, step.ticket)
    again = {name: seen[name] for name in SERVED if name in seen}
    values = Observation(step.ticket, step.seen.at(step.ticket.features))
    more = {"item_prices": prices, **again, "values": written_values(values)}
    now: dict[str, Any] = {"features": step.features.tolist(), "items": step.items}
    more["step"] = {**now, "cost": step.cost, "reason": step.reason, "stop_at": stop_at}
    # Beside what a ticket says of itself, as the event that asked for it has it.
    text = f"{step.ticket.to_json()[:-1]}, {json.dumps(more, allow_nan=False)[1:]}"
    body = json.loads(text)
    tx.append("step", ticket.row.id, text, body, ticket.row)
    ticket.grow(step.ticket, body)


def step_of(
    learner: Learner, order: Ticket, seen: Mapping[str, Any], stop_at: float | None
) -> Step:
    """What a learner says to buy next; it changes nothing."""
    able: Any = learner
    step: Step = able.next(observation_of(order, seen), stop_at=stop_at)
    return step


def as_step(seen: Observation, ticket: TicketRecord) -> Step:
    """What was said of a ticket, as `Learner.next` says it."""
    said = (ticket.seen or {})["step"]
    many, cost, reason = len(said["features"]), float(said["cost"]), str(said["reason"])
    return step_said(seen, ticket.order, many, cost, reason)
