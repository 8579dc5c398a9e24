"""Counter pages: the next example, its values, its prediction and, later, its label."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.access_control import ANY_ROLE
from keyhole.counter.service.pages.formatting import TypedNumber, plain, read_number
from keyhole.counter.service.pages.forms import (
    Form,
    confirmation,
    key_of,
    new_key,
    once_confirmed,
    text,
)
from keyhole.counter.service.pages.log_summary import page_cache
from keyhole.counter.service.pages.page_route import (
    PageRoute,
    authorize,
    go,
    may,
    places,
    render,
    store_of,
    update_open_tickets,
)
from keyhole.counter.service.pages.ticket_view import (
    buys_in_steps,
    doubted,
    doubted_values,
    history_lines,
    may_correct,
    order,
    prediction_breakdown,
    read_values,
)
from keyhole.counter.store.records import StoredTicket, read_id
from keyhole.counter.store.requests import ask as ask_for
from keyhole.errors import (
    ConflictError,
    DataError,
    DoubtError,
    KeyholeError,
    ProblemError,
    UnknownTicketError,
)
from keyhole.problem.limits import ANYTHING, written_ends

TICKETS_PER_PAGE = 50  # open ones
OLD_FORM_SECONDS = 60.0  # after which a form that is sent again is no double click

router = APIRouter(route_class=PageRoute, include_in_schema=False)


def address_of(learner: str, ticket: str) -> str:
    """The page of an example."""
    return f"/counter/{quote(learner, safe='')}/{quote(ticket, safe='')}"


def ticket_of(request: Request, learner: str, id: str) -> StoredTicket:
    """A ticket of this learner: those who may see one learner see no other's."""
    store = store_of(request)
    if store.owner_of(id) != learner:
        raise UnknownTicketError(f"there is no ticket {read_id(id)} in the store")
    return store.ticket(id)


@router.get("/counter")
def choose(request: Request, ticket: str = "") -> Response:
    """Choose a learner, or find a ticket by its id."""
    authorize(request, ANY_ROLE)
    store, error = store_of(request), ""
    if ticket.strip():
        try:
            owner, id = store.owner_of(ticket), read_id(ticket)
            if not may(request, ANY_ROLE, owner):  # as unknown as one that never was
                raise UnknownTicketError(f"there is no ticket {id} in the store")
            return go(request, address_of(owner, id))
        except UnknownTicketError as unknown:
            error = str(unknown)
    learners = [info for info in store.learners() if may(request, ANY_ROLE, info.name)]
    values = {"learners": learners, "ticket": ticket, "error": error}
    return render(request, "counter_choose.html", status=404 if error else 200, **values)


@router.get("/counter/{learner}")
def desk(request: Request, learner: str, after: str = "", saved: int = 0) -> Response:
    """The next example of a learner, and those that are open."""
    authorize(request, ANY_ROLE, learner)
    return _desk(request, learner, after, saved=saved)


def _desk(
    request: Request,
    learner: str,
    after: str,
    typed: dict[str, TypedNumber] | None = None,
    saved: int = 0,
    sure: dict[str, str] | None = None,
) -> Response:
    store = store_of(request)
    info = store.info(learner)
    page = store.tickets(learner, state="open", limit=TICKETS_PER_PAGE + 1, after=after or None)
    values: dict[str, Any] = {
        "info": info,
        "tickets": page[:TICKETS_PER_PAGE],
        "following": page[TICKETS_PER_PAGE - 1].id if len(page) > TICKETS_PER_PAGE else "",
        "after": after,
        "typed": typed or {},
        "sure": sure or {},
        "saved": max(saved, 0),
        "form": new_key(),
        "in_steps": buys_in_steps(info),
    }
    wrong = any(each.error for each in (typed or {}).values())
    return render(request, "counter.html", status=422 if wrong else 200, **values)


@router.post("/counter/{learner}")
def ask(request: Request, learner: str, form: Form) -> Response:
    """The next example; the same form sent twice gets the same one."""
    who = authorize(request, "ask", learner)
    key = who.scoped(key_of(form))
    with places(request, who) as keep:
        steps = text(form, "steps") == "yes"
        asking = ask_for(learner, who=who.name, key=key, keep=keep, steps=steps)
        [ticket] = store_of(request).answer(asking)
        update_open_tickets(request, ticket)
    age = (datetime.now(UTC) - ticket.asked_at).total_seconds()
    again = "?again=1" if ticket.state != "asked" or age > OLD_FORM_SECONDS else ""
    return go(request, address_of(learner, ticket.id) + again)


@router.post("/counter/{learner}/labels")
def labels(request: Request, learner: str, form: Form) -> Response:
    """Labels for several open tickets; each is kept or refused by itself."""
    who = authorize(request, "tell", learner)
    store, wrong, saved = store_of(request), dict[str, TypedNumber](), 0
    sure = dict[str, str]()
    for field, value in form.multi_items():
        if not field.startswith("label-") or not isinstance(value, str) or not value.strip():
            continue
        id, given = field.removeprefix("label-"), read_number(value)
        if given.value is not None:
            y = given.value
            try:
                ticket_of(request, learner, id)
                told = once_confirmed(
                    *(form, f"confirm-{id}"),
                    lambda sure: store.tell(id, y, who=who.name, confirm=sure),  # noqa: B023
                )
                update_open_tickets(request, told)
                saved += 1
            except DoubtError as error:
                wrong[id], sure[id] = doubted(error.doubts[0], value), confirmation(error.doubts)
            except KeyholeError as error:
                wrong[id] = TypedNumber(value, None, str(error))
        else:
            wrong[id] = given
    after = text(form, "after")
    if wrong:
        return _desk(request, learner, after, wrong, saved, sure)
    rest = f"&after={quote(after)}" if after else ""
    return go(request, f"/counter/{quote(learner, safe='')}?saved={saved}{rest}")


@router.get("/counter/{learner}/labels")
def back_to_desk(request: Request, learner: str) -> Response:
    """The address that labels with errors leave in the browser."""
    return go(request, f"/counter/{quote(learner, safe='')}")


@router.get("/counter/{learner}/{ticket}")
def example(
    request: Request,
    learner: str,
    ticket: str,
    demo: int = 0,
    again: int = 0,
    told: int = 0,
    corrected: int = 0,
) -> Response:
    """One example, as far as it has come."""
    authorize(request, ANY_ROLE, learner)
    found = ticket_of(request, learner, ticket)
    typed, label = dict[int, TypedNumber](), TypedNumber("")
    known = _simulated(request, found) if demo else None
    if known is not None and found.awaited:
        out = {*found.awaited}
        mine = [_rounded(known[0].get(name)) if name in out else "" for name in found.names]
        typed = read_values(found, mine)
    if known is not None and found.state == "filled" and not any(v.text for v in typed.values()):
        label = read_number(_rounded(known[1]))
    saved = "corrected" if corrected else "told" if told else ""
    return _example(request, found, typed, label, again=bool(again), saved=saved)


def _simulated(request: Request, ticket: StoredTicket) -> tuple[dict[str, float], float] | None:
    """The values and the label of a simulated example; None of a real one."""
    demo = getattr(request.app.state, "demo", None)
    try:
        return None if demo is None else (demo.values(ticket.id), demo.label(ticket.id))
    except KeyholeError:
        return None


def _rounded(value: float | None) -> str:
    """As a laboratory would write it; nothing for what did not arrive."""
    return "" if value is None or value != value else plain(float(f"{value:.4g}"))


def _example(
    request: Request,
    ticket: StoredTicket,
    typed: dict[int, TypedNumber],
    label: TypedNumber,
    *,
    missing: bool = False,
    again: bool = False,
    saved: str = "",
    error: str = "",
    sure: str = "",
    values_sure: str = "",
) -> Response:
    store = store_of(request)
    info, notes = store.info(ticket.learner), page_cache(request)
    insight = notes.insight(info)
    why, usual, known = None, math.nan, _simulated(request, ticket)
    if ticket.values is not None:
        with notes.trace(info) as trace:
            why = prediction_breakdown(ticket, insight.model, trace)
            usual = trace.mean if trace.labels else math.nan
    ends = ANYTHING if insight.problem.limits is None else insight.problem.limits.label
    wrong = any(
        (
            *(error, label.error, missing, sure, values_sure),
            *(each.error for each in typed.values()),
        )
    )
    return render(
        request,
        "example.html",
        status=422 if wrong else 200,
        ticket=ticket,
        info=info,
        order=order(
            ticket,
            insight.problem,
            typed,
            ticket.awaited if ticket.state == "filled" else None,
        ),
        why=why,
        label=label,
        missing=missing,
        again=again,
        saved=saved,
        error=error,
        sure=sure,
        values_sure=values_sure,
        usual=usual,
        label_limits=ends,
        label_note="" if ends == ANYTHING else written_ends(*ends),
        correctable=may_correct(info, ticket),
        history=history_lines(ticket, store.ticket_history(ticket.id)),
        form=new_key(),
        demo=known is not None,
        demo_values=known is not None and any(_rounded(known[0].get(n)) for n in ticket.awaited),
    )


@router.post("/counter/{learner}/{ticket}/values")
def values(request: Request, learner: str, ticket: str, form: Form) -> Response:
    """What came back; the rest can be added later. That nothing came at all must be confirmed."""
    who = authorize(request, "ask", learner)
    found = ticket_of(request, learner, ticket)
    typed = read_values(found, [text(form, f"v{place}") for place in range(len(found.names))])
    wrong = any(each.error for each in typed.values())
    features = found.ticket.features.tolist()
    came = {features[i]: given.value for i, given in typed.items() if given.value is not None}
    empty = not came and bool(typed)
    if wrong or (empty and text(form, "missing") != "yes"):
        words = "Type what has come." if empty and not wrong and found.state == "filled" else ""
        missing = empty and not wrong and found.state != "filled"
        return _example(request, found, typed, TypedNumber(""), missing=missing, error=words)
    store = store_of(request)
    try:
        once_confirmed(
            form, "confirm", lambda sure: store.fill(found.id, came, who=who.name, confirm=sure)
        )
    except DoubtError as error:
        typed |= doubted_values(found, error.doubts, typed)
        sure = confirmation(error.doubts)
        if found.state == "filled":
            return _example(request, found, typed, TypedNumber(""), values_sure=sure)
        return _example(request, found, typed, TypedNumber(""), sure=sure)
    except (DataError, ConflictError) as error:
        now = ticket_of(request, learner, ticket)  # another tab may have been first
        return _example(request, now, typed, TypedNumber(""), error=str(error))
    return go(request, address_of(learner, found.id))


@router.post("/counter/{learner}/{ticket}/next")
def go_on(request: Request, learner: str, ticket: str, form: Form) -> Response:
    """What to buy next; without what the last step was for, if that will not come."""
    who = authorize(request, "ask", learner)
    found, store = ticket_of(request, learner, ticket), store_of(request)
    try:
        if text(form, "without") == "yes" and found.step:
            pairs = zip(found.ticket.features.tolist(), found.names, strict=True)
            lost = [j for j, name in pairs if name in found.step.features]
            store.fill(found.id, dict.fromkeys(lost), who=who.name)
        store.next(found.id, who=who.name)
    except (DataError, ConflictError, ProblemError) as error:
        now = ticket_of(request, learner, ticket)
        return _example(request, now, {}, TypedNumber(""), error=str(error))
    return go(request, address_of(learner, found.id))


@router.post("/counter/{learner}/{ticket}/label")
def label(request: Request, learner: str, ticket: str, form: Form) -> Response:
    """The label of one example."""
    who = authorize(request, "tell", learner)
    found, given = ticket_of(request, learner, ticket), read_number(text(form, "label"))
    if given.value is None:
        wrong = given if given.error else TypedNumber(given.text, None, "is empty: type the label")
        return _example(request, found, {}, wrong)
    y, store = given.value, store_of(request)
    try:
        told = once_confirmed(
            form, "confirm", lambda sure: store.tell(found.id, y, who=who.name, confirm=sure)
        )
        update_open_tickets(request, told)
    except DoubtError as error:
        wrong, sure = doubted(error.doubts[0], given.text), confirmation(error.doubts)
        return _example(request, found, {}, wrong, sure=sure)
    except (DataError, ConflictError) as error:
        now = ticket_of(request, learner, ticket)
        return _example(
            request, now, {}, TypedNumber(given.text, None, str(error)), error=str(error)
        )
    return go(request, address_of(learner, found.id) + "?told=1")


@router.get("/counter/{learner}/{ticket}/values")
@router.get("/counter/{learner}/{ticket}/next")
@router.get("/counter/{learner}/{ticket}/label")
def back(request: Request, learner: str, ticket: str) -> Response:
    """The address that a form with errors leaves in the browser."""
    return go(request, address_of(learner, ticket))


@router.get("/counter/{learner}/{ticket}/drop")
def ask_to_drop(request: Request, learner: str, ticket: str) -> Response:
    """Is this really to be dropped?"""
    authorize(request, ("ask", "tell"), learner)
    return render(request, "drop.html", ticket=ticket_of(request, learner, ticket))


@router.post("/counter/{learner}/{ticket}/drop")
def drop(request: Request, learner: str, ticket: str) -> Response:
    """Close an example whose label will never come."""
    who = authorize(request, ("ask", "tell"), learner)
    found = ticket_of(request, learner, ticket)
    update_open_tickets(request, store_of(request).drop(found.id, who=who.name))
    return go(request, address_of(learner, found.id))
