"""Pages for corrections: what was entered and told for an example, to be changed, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.access_control import Principal
from keyhole.counter.service.pages.counter import address_of, ticket_of
from keyhole.counter.service.pages.formatting import TypedNumber, plain, read_number
from keyhole.counter.service.pages.forms import Form, confirmation, once_confirmed, text
from keyhole.counter.service.pages.log_summary import page_cache
from keyhole.counter.service.pages.page_route import PageRoute, authorize, go, render, store_of
from keyhole.counter.service.pages.ticket_view import (
    doubted,
    doubted_values,
    may_correct,
    order,
    read_values,
)
from keyhole.counter.store.records import StoredTicket
from keyhole.errors import ConflictError, DataError, DoubtError, ProblemError, TicketError

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/counter/{learner}/{ticket}/correct")
def ask_to_correct(request: Request, learner: str, ticket: str) -> Response:
    """What was entered and told, to be changed."""
    authorize(request, ("ask", "tell"), learner)
    return _form(request, ticket_of(request, learner, ticket))


@router.post("/counter/{learner}/{ticket}/correct")
def correct(request: Request, learner: str, ticket: str, form: Form) -> Response:
    """Correct what is different from what is there."""
    who = authorize(request, ("ask", "tell"), learner)
    found, why = ticket_of(request, learner, ticket), text(form, "why")
    typed, label = _typed(found, form)
    wrong = [each for each in (*typed.values(), label) if each.error]
    if wrong:
        return _form(request, found, typed, label, why)
    right = _changes(found, typed, label)
    if not right:
        return _form(request, found, typed, label, why, error="Nothing is different yet.")
    _authorize(request, learner, right)
    store = store_of(request)
    try:
        once_confirmed(
            *(form, "confirm"),
            lambda sure: store.correct(
                found.id, **right, why=why.strip(), who=who.name, confirm=sure
            ),
        )
    except DoubtError as error:
        typed |= doubted_values(found, error.doubts, typed)
        for doubt in error.doubts:
            label = doubted(doubt, label.text) if doubt.name is None else label
        return _form(request, found, typed, label, why, sure=confirmation(error.doubts))
    except (DataError, ConflictError, TicketError, ProblemError) as error:
        return _form(request, found, typed, label, why, error=str(error))
    return go(request, address_of(learner, found.id) + "?corrected=1")


def _authorize(request: Request, learner: str, right: Mapping[str, Any]) -> Principal:
    """Who corrects: values need the role ask, the label needs tell."""
    for name, role in (("values", "ask"), ("y", "tell")):
        if name in right:
            who = authorize(request, role, learner)
    return who


def _written(ticket: StoredTicket) -> list[str]:
    """What is there, as it stands in the form."""
    return ["" if math.isnan(value) else plain(value) for value in ticket.values or ()]


def _typed(ticket: StoredTicket, form: Form) -> tuple[dict[int, TypedNumber], TypedNumber]:
    """What is in the form; what is as it was is not looked at again."""
    there = _written(ticket)
    texts = [text(form, f"v{place}") for place in range(len(there))]
    typed = read_values(ticket, texts)
    for place, before in enumerate(there):
        if texts[place].strip() == before:
            typed[place] = TypedNumber(before, _came((ticket.values or ())[place]))
    label = TypedNumber("")
    if ticket.label is not None:
        label = read_number(text(form, "label"))
        if not label.text.strip():
            label = TypedNumber("", None, "is empty: type the right label")
    return typed, label


def _came(value: float) -> float | None:
    return None if math.isnan(value) else value


def _changes(
    ticket: StoredTicket, typed: Mapping[int, TypedNumber], label: TypedNumber
) -> dict[str, Any]:
    """What is different, as `Store.correct` takes it."""
    right: dict[str, Any] = {}
    there, features = ticket.values or (), ticket.ticket.features.tolist()
    values = {
        features[place]: given.value
        for place, given in typed.items()
        if given.value != _came(there[place])
    }
    if values:
        right["values"] = values
    if label.value is not None and label.text != plain(ticket.label or 0.0):
        right["y"] = label.value
    return right


def _form(
    request: Request,
    ticket: StoredTicket,
    typed: dict[int, TypedNumber] | None = None,
    label: TypedNumber | None = None,
    why: str = "",
    *,
    error: str = "",
    sure: str = "",
) -> Response:
    info = store_of(request).info(ticket.learner)
    if typed is None:
        typed = {place: TypedNumber(text) for place, text in enumerate(_written(ticket))}
    if label is None:
        label = TypedNumber("" if ticket.label is None else plain(ticket.label))
    problem = page_cache(request).insight(info).problem
    wrong = bool(error or sure or label.error or any(each.error for each in typed.values()))
    return render(
        request,
        "correct.html",
        status=422 if wrong else 200,
        ticket=ticket,
        info=info,
        order=order(ticket, problem, typed),
        label=label,
        why=why[:200],
        error=error,
        sure=sure,
        correctable=may_correct(info, ticket),
    )
