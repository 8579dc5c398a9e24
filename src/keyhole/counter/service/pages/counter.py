"""The counter: the next example, its values, the prediction, later the label."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.pages.access import ANY, PageRoute, allow, may, note, store_of
from keyhole.counter.service.pages.because import because
from keyhole.counter.service.pages.forms import Form, key_of, new_key, text
from keyhole.counter.service.pages.notebook import notebook
from keyhole.counter.service.pages.order import order, read_values
from keyhole.counter.service.pages.rendering import go, render
from keyhole.counter.service.pages.typed import Typed, read_number
from keyhole.counter.service.pages.words import plain
from keyhole.counter.store.records import StoredTicket
from keyhole.errors import ConflictError, DataError, KeyholeError, UnknownTicketError

AT_ONCE = 50  # open tickets on a page
OLD_FORM = 60.0  # seconds after which a form that is sent again is no double click

router = APIRouter(route_class=PageRoute, include_in_schema=False)


def _address(learner: str, ticket: str) -> str:
    return f"/counter/{quote(learner, safe='')}/{quote(ticket, safe='')}"


def _ticket(request: Request, learner: str, id: str) -> StoredTicket:
    """A ticket of this learner: those who may see one learner see no other's."""
    found = store_of(request).ticket(id)
    if found.learner != learner:
        raise UnknownTicketError(f"there is no ticket {found.id} of {learner!r}")
    return found


@router.get("/counter")
def choose(request: Request, ticket: str = "") -> Response:
    """Choose a learner, or find a ticket by its id."""
    allow(request, ANY)
    store, error = store_of(request), ""
    if ticket.strip():
        try:
            found = store.ticket(ticket)
            if not may(request, ANY, found.learner):  # as unknown as one that never was
                raise UnknownTicketError(f"there is no ticket {found.id} in the store")
            return go(request, _address(found.learner, found.id))
        except UnknownTicketError as unknown:
            error = str(unknown)
    learners = [info for info in store.learners() if may(request, ANY, info.name)]
    values = {"learners": learners, "ticket": ticket, "error": error}
    return render(request, "counter_choose.html", status=404 if error else 200, **values)


@router.get("/counter/{learner}")
def desk(request: Request, learner: str, after: str = "", saved: int = 0) -> Response:
    """The next example of a learner, and those that are open."""
    allow(request, ANY, learner)
    return _desk(request, learner, after, saved=saved)


def _desk(
    request: Request,
    learner: str,
    after: str,
    typed: dict[str, Typed] | None = None,
    saved: int = 0,
) -> Response:
    store = store_of(request)
    info = store.info(learner)
    page = store.tickets(learner, state="open", limit=AT_ONCE + 1, after=after or None)
    values: dict[str, Any] = {
        "info": info,
        "tickets": page[:AT_ONCE],
        "following": page[AT_ONCE - 1].id if len(page) > AT_ONCE else "",
        "after": after,
        "typed": typed or {},
        "saved": max(saved, 0),
        "form": new_key(),
    }
    wrong = any(each.error for each in (typed or {}).values())
    return render(request, "counter.html", status=422 if wrong else 200, **values)


@router.post("/counter/{learner}")
def ask(request: Request, learner: str, form: Form) -> Response:
    """The next example; the same form sent twice gets the same one."""
    person = allow(request, "ask", learner)
    person.room(request)
    key = person.scoped(key_of(form))
    [ticket] = store_of(request).ask(learner, who=person.name, key=key)
    note(request, ticket)
    age = (datetime.now(UTC) - ticket.asked_at).total_seconds()
    again = "?again=1" if ticket.state != "asked" or age > OLD_FORM else ""
    return go(request, _address(learner, ticket.id) + again)


@router.post("/counter/{learner}/labels")
def labels(request: Request, learner: str, form: Form) -> Response:
    """Labels for several open tickets; each is kept or refused by itself."""
    person = allow(request, "tell", learner)
    store, wrong, saved = store_of(request), dict[str, Typed](), 0
    for field, value in form.multi_items():
        if not field.startswith("label-") or not isinstance(value, str) or not value.strip():
            continue
        id, given = field.removeprefix("label-"), read_number(value)
        if given.value is not None:
            try:
                _ticket(request, learner, id)
                note(request, store.tell(id, given.value, who=person.name))
                saved += 1
            except KeyholeError as error:
                wrong[id] = Typed(value, None, str(error))
        else:
            wrong[id] = given
    after = text(form, "after")
    if wrong:
        return _desk(request, learner, after, wrong, saved)
    rest = f"&after={quote(after)}" if after else ""
    return go(request, f"/counter/{quote(learner, safe='')}?saved={saved}{rest}")


@router.get("/counter/{learner}/labels")
def back_to_desk(request: Request, learner: str) -> Response:
    """The address that labels with errors leave in the browser."""
    return go(request, f"/counter/{quote(learner, safe='')}")


@router.get("/counter/{learner}/{ticket}")
def example(
    request: Request, learner: str, ticket: str, demo: int = 0, again: int = 0, told: int = 0
) -> Response:
    """One example, as far as it has come."""
    allow(request, ANY, learner)
    found = _ticket(request, learner, ticket)
    typed, label = dict[int, Typed](), Typed("")
    known = _simulated(request, found) if demo else None
    if known is not None and found.state == "asked":
        typed = read_values(found, [_rounded(known[0].get(name)) for name in found.names])
    elif known is not None and found.state == "filled":
        label = read_number(_rounded(known[1]))
    return _example(request, found, typed, label, again=bool(again), told=bool(told))


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
    typed: dict[int, Typed],
    label: Typed,
    *,
    missing: bool = False,
    again: bool = False,
    told: bool = False,
    error: str = "",
) -> Response:
    info = store_of(request).info(ticket.learner)
    notes = notebook(request)
    insight = notes.insight(info)
    why = None
    if ticket.values is not None:
        with notes.trace(info) as trace:
            why = because(ticket, insight.model, trace)
    wrong = bool(error or label.error or missing or any(each.error for each in typed.values()))
    return render(
        request,
        "example.html",
        status=422 if wrong else 200,
        ticket=ticket,
        info=info,
        order=order(ticket, insight.problem, typed),
        why=why,
        label=label,
        missing=missing,
        again=again,
        told=told,
        error=error,
        form=new_key(),
        demo=_simulated(request, ticket) is not None,
    )


@router.post("/counter/{learner}/{ticket}/values")
def values(request: Request, learner: str, ticket: str, form: Form) -> Response:
    """What came back; empty fields must be confirmed, for there is no way back."""
    person = allow(request, "ask", learner)
    found = _ticket(request, learner, ticket)
    typed = read_values(found, [text(form, f"v{place}") for place in range(len(found.names))])
    wrong = any(each.error for each in typed.values())
    empty = any(each.value is None for each in typed.values())
    if wrong or (empty and text(form, "missing") != "yes"):
        return _example(request, found, typed, Typed(""), missing=empty and not wrong)
    numbers = {int(j): typed[i].value for i, j in enumerate(found.ticket.features)}
    try:
        store_of(request).fill(found.id, numbers, who=person.name)
    except (DataError, ConflictError) as error:
        now = _ticket(request, learner, ticket)  # another tab may have been first
        return _example(request, now, typed, Typed(""), error=str(error))
    return go(request, _address(learner, found.id))


@router.post("/counter/{learner}/{ticket}/label")
def label(request: Request, learner: str, ticket: str, form: Form) -> Response:
    """The label of one example."""
    person = allow(request, "tell", learner)
    found, given = _ticket(request, learner, ticket), read_number(text(form, "label"))
    if given.value is None:
        wrong = given if given.error else Typed(given.text, None, "is empty: type the label")
        return _example(request, found, {}, wrong)
    try:
        note(request, store_of(request).tell(found.id, given.value, who=person.name))
    except (DataError, ConflictError) as error:
        now = _ticket(request, learner, ticket)
        return _example(request, now, {}, Typed(given.text, None, str(error)), error=str(error))
    return go(request, _address(learner, found.id) + "?told=1")


@router.get("/counter/{learner}/{ticket}/values")
@router.get("/counter/{learner}/{ticket}/label")
def back(request: Request, learner: str, ticket: str) -> Response:
    """The address that a form with errors leaves in the browser."""
    return go(request, _address(learner, ticket))


@router.get("/counter/{learner}/{ticket}/drop")
def ask_to_drop(request: Request, learner: str, ticket: str) -> Response:
    """Is this really to be dropped?"""
    allow(request, ("ask", "tell"), learner)
    return render(request, "drop.html", ticket=_ticket(request, learner, ticket))


@router.post("/counter/{learner}/{ticket}/drop")
def drop(request: Request, learner: str, ticket: str) -> Response:
    """Close an example whose label will never come."""
    person = allow(request, ("ask", "tell"), learner)
    found = _ticket(request, learner, ticket)
    note(request, store_of(request).drop(found.id, who=person.name))
    return go(request, _address(learner, found.id))
