"""HTTP API of tickets: ask for them, fill them, tell their labels, drop them, look them up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from keyhole.counter.service import schemas
from keyhole.counter.service.errors import NotAllowedError
from keyhole.counter.service.routes import (
    ERROR_RESPONSES,
    LEARNER_PATH,
    TICKET_PATH,
    Calling,
    DirectRoute,
    LearnerInPath,
    json_reply,
    ticket_reply,
)
from keyhole.counter.store import Store, requests
from keyhole.counter.store.corrections import correct as correction
from keyhole.counter.store.records import read_id
from keyhole.counter.store.steps import next_step
from keyhole.errors import DataError, UnknownTicketError, shortened
from keyhole.problem.step import grown_from
from keyhole.problem.ticket import Observation, Ticket

router = APIRouter(tags=["tickets"], responses=ERROR_RESPONSES)
direct = APIRouter(tags=["tickets"], responses=ERROR_RESPONSES, route_class=DirectRoute)

TICKET_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"model": schemas.TicketReply}}
TICKETS_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"model": schemas.TicketsReply}}
FEATURE_NUMBER = re.compile(r"(?:feature )?([0-9]{1,9})")
WholeTicket = Annotated[bool, Query(description="With `ticket`, all that a kh.Ticket has.")]
Count = Annotated[int, Query(ge=1, le=1000)]


@direct.post(
    f"{LEARNER_PATH}/tickets", status_code=201, responses={201: {"model": schemas.TicketsReply}}
)
async def ask(
    name: LearnerInPath, body: schemas.Ask, caller: Calling, whole: WholeTicket = False
) -> Response:
    """Ask for tickets: what to buy for the next examples."""
    terms = None
    if body.terms is not None:
        terms = await run_in_threadpool(_terms, caller.store, name, body.terms)
    who = caller.who.signed(body.who)
    async with caller.places(body.count) as keep:
        tickets = await caller.answer(
            requests.ask(
                name, body.count, who, caller.key, body.expires_in, terms, keep, body.steps
            )
        )
        replies = caller.replies(tickets, whole=whole)
    return json_reply({"tickets": replies, "next": None}, 201)


@router.get(f"{LEARNER_PATH}/tickets", responses=TICKETS_RESPONSE)
def tickets(
    name: LearnerInPath,
    caller: Calling,
    state: schemas.StateFilter | None = None,
    older_than: Annotated[float | None, Query(ge=0, le=1e10, allow_inf_nan=False)] = None,
    limit: Count = 100,
    after: Annotated[str | None, Query(max_length=40)] = None,
    newest_first: bool = False,
) -> Response:
    """Tickets by page, oldest first. `older_than` is in seconds, `after` the id to go on from."""
    found = caller.store.tickets(
        name,
        state=state,
        older_than=older_than,
        limit=limit,
        after=after,
        newest_first=newest_first,
    )
    more = found[-1].id if len(found) == limit else None
    return json_reply({"tickets": [ticket_reply(each) for each in found], "next": more})


@router.get(f"{LEARNER_PATH}/rounds/{{round}}", responses=TICKET_RESPONSE)
def ticket_of_round(
    name: LearnerInPath, round: int, caller: Calling, whole: WholeTicket = False
) -> Response:
    """The ticket of a round."""
    found = ticket_by_round(caller.store, name, round)
    return json_reply(ticket_reply(caller.store.ticket(found), whole=whole))


@router.get(TICKET_PATH, responses=TICKET_RESPONSE)
def ticket(id: str, caller: Calling, whole: WholeTicket = False) -> Response:
    """A ticket by its id."""
    return json_reply(ticket_reply(caller.store.ticket(id), whole=whole))


@direct.post(f"{TICKET_PATH}/values", responses=TICKET_RESPONSE)
async def fill(id: str, body: schemas.Fill, caller: Calling) -> Response:
    """Send what came back for a ticket; `prediction` of the reply is what is predicted from it."""
    values = await _values(caller.store, id, body.values)
    who = caller.who.signed(body.who)
    request = requests.fill(id, values, who=who, key=caller.key, confirm=body.confirm)
    found = await caller.answer(request)
    return json_reply(caller.replies(found)[0])


@direct.post(f"{TICKET_PATH}/next", responses=TICKET_RESPONSE)
async def go_on(
    id: str, caller: Calling, body: schemas.Next | None = None, whole: WholeTicket = False
) -> Response:
    """What to buy next for a ticket that was asked with `steps`: `step` of the reply says it.

    Asked again before anything of that was sent it says the same.
    """
    given = schemas.Next(stop_at=None) if body is None else body
    values = None if given.values is None else await _values(caller.store, id, given.values)
    who = caller.who.signed(given.who)
    request = next_step(id, given.stop_at, who, caller.key, values, given.confirm)
    return json_reply(caller.replies(await caller.answer(request), whole=whole)[0])


@direct.post(f"{TICKET_PATH}/label", responses=TICKET_RESPONSE)
async def tell(id: str, body: schemas.Tell, caller: Calling) -> Response:
    """Tell the label of a ticket, however late; the learner learns and the ticket is closed."""
    values = None if body.values is None else await _values(caller.store, id, body.values)
    who = caller.who.signed(body.who)
    request = requests.tell(id, body.label, who, caller.key, values, body.confirm)
    found = await caller.answer(request)
    return json_reply(caller.replies(found)[0])


@direct.post(f"{TICKET_PATH}/correction", responses=TICKET_RESPONSE)
async def correct(id: str, body: schemas.Correct, caller: Calling) -> Response:
    """Correct values or the label: the role ask is needed for values, tell for the label."""
    if caller.who.key is not None:
        owner = await run_in_threadpool(caller.store.owner_of, id)
        for role, given in (("ask", body.values), ("tell", body.label)):
            if given is not None and not caller.who.may((role,), owner):
                raise NotAllowedError(f"the key {caller.who.id} does not have the role {role}")
    right = None if body.values is None else await _values(caller.store, id, body.values)
    who = caller.who.signed(body.who)
    request = correction(id, body.label, right, body.why, who, caller.key, body.confirm)
    return json_reply(caller.replies(await caller.answer(request))[0])


@router.get(f"{TICKET_PATH}/events", responses={200: {"model": schemas.EventsReply}})
def ticket_events(id: str, caller: Calling) -> Response:
    """What has happened to a ticket, corrections included, in order."""
    events = caller.store.ticket_history(id)
    return json_reply({"events": [event.as_dict() for event in events], "next": None})


@direct.post(f"{TICKET_PATH}/drop", responses=TICKET_RESPONSE)
async def drop(id: str, caller: Calling, body: schemas.Drop | None = None) -> Response:
    """Drop a ticket whose label will never come."""
    who = caller.who.signed("" if body is None else body.who)
    return json_reply(caller.replies(await caller.answer(requests.drop(id, who, caller.key)))[0])


@router.post(f"{LEARNER_PATH}/values", responses=TICKETS_RESPONSE)
def fill_many(name: LearnerInPath, body: schemas.FillMany, caller: Calling) -> Response:
    """Send what came back for several tickets: all of it is taken, or on an error nothing."""
    rows = {id: values_of(caller.store, id, values, name) for id, values in body.values.items()}
    who = caller.who.signed(body.who)
    found = caller.store.fill_many(name, rows, who=who, key=caller.key, confirm=body.confirm)
    return json_reply({"tickets": caller.replies(found), "next": None})


@router.post(f"{LEARNER_PATH}/labels", responses=TICKETS_RESPONSE)
def tell_many(name: LearnerInPath, body: schemas.TellMany, caller: Calling) -> Response:
    """Tell several labels: all of them are taken, or on an error none."""
    who = caller.who.signed(body.who)
    found = caller.store.tell_many(name, body.labels, who=who, key=caller.key, confirm=body.confirm)
    return json_reply({"tickets": caller.replies(found), "next": None})


@router.post(f"{LEARNER_PATH}/predictions", responses={200: {"model": schemas.PredictionReply}})
def predict(name: LearnerInPath, body: schemas.Predict, caller: Calling) -> Response:
    """Predict from values of a round's ticket; nothing is kept and nothing is learnt."""
    order = caller.store.ticket(ticket_by_round(caller.store, name, body.round)).ticket
    seen = order.fill(_by_key(order, body.values))
    return json_reply({"prediction": float(caller.store.learner(name).predict(seen))})


@router.post(f"{LEARNER_PATH}/intervals", responses={200: {"model": schemas.IntervalReply}})
def interval(name: LearnerInPath, body: schemas.Issue, caller: Calling) -> Response:
    """Serve an interval for a round's ticket, which is filled with these values if it is not yet.

    Sent again it gives the same: an interval of a coverage is served once, unless labels came
    since for one that did not come with the prediction.
    """
    order = caller.store.ticket(ticket_by_round(caller.store, name, body.round)).ticket
    learner = caller.store.learner(name, confirm=body.confirm)
    requests.refuse_without_intervals(name, learner)
    seen = _as_it_was(order.fill(_by_key(order, body.values)), body.values)
    return json_reply(requests.interval_body(learner, seen, body.coverage))


def _as_it_was(seen: Observation, values: schemas.JsonValues) -> Observation:
    """What came back for a ticket before its last step, if nothing is said of that."""
    now = seen.ticket
    if not isinstance(values, dict):
        return seen
    said = {_feature(key, now.names) for key in values}
    labels = enumerate(zip(now.features.tolist(), now.names or now.features, strict=True))
    there = [place for place, (j, name) in labels if j in said or name in said]
    names = None if now.names is None else tuple(now.names[place] for place in there)
    before = Ticket(now.round, now.features[there], names, now.memo)
    return Observation(before, seen.values[there]) if grown_from(before, now) else seen


def ticket_by_round(store: Store, name: str, round: int) -> str:
    """The id of the ticket of a round."""
    if not 1 <= round < 2**62:  # no database knows a larger one
        raise UnknownTicketError(f"{name!r} has issued no ticket of round {shortened(round)}")
    return store.learner(name).id_of(Ticket(round, np.empty(0, dtype=np.int64)))


def values_of(store: Store, id: str, values: schemas.JsonValues, learner: str | None = None) -> Any:
    """Values as the store takes them: JSON has no numbers for keys, a mapping by number does."""
    if not _may_be_by_number(values):
        return values
    if learner not in (None, store.owner_of(id)):  # as unknown as one that never was
        raise UnknownTicketError(f"there is no ticket {read_id(id)} in the store")
    return _by_key(store.ticket(id).ticket, values)


async def _values(store: Store, id: str, values: schemas.JsonValues) -> Any:
    """The same, in a thread where the store must be asked."""
    if not _may_be_by_number(values):
        return values
    return await run_in_threadpool(values_of, store, id, values)


def _may_be_by_number(values: schemas.JsonValues) -> bool:
    return isinstance(values, dict) and any(map(FEATURE_NUMBER.fullmatch, values))


def _by_key(order: Ticket, values: schemas.JsonValues) -> Any:
    if isinstance(values, list):
        return values
    return _by_feature(values, order.names)


def _by_feature(given: Mapping[str, Any], names: tuple[str, ...] | None) -> dict[int | str, Any]:
    """What is said of features, by name or number; DataError if "7" and "feature 7" both are."""
    found: dict[int | str, Any] = {}
    for key, value in given.items():
        feature = _feature(key, names)
        if feature in found:
            raise DataError(f"{shortened(key)} is given twice: give one value for it")
        found[feature] = value
    return found


def _terms(store: Store, name: str, terms: schemas.TermsBody) -> dict[str, Any]:
    given = {key: value for key, value in terms.model_dump().items() if value is not None}
    names = store.info(name).names
    for part in ("prices", "known"):
        if part in given:
            given[part] = _by_feature(given[part], names)
    return given


def _feature(key: str, names: tuple[str, ...] | None) -> int | str:
    """A feature by its name, or by its number: "7", or "feature 7"."""
    found = FEATURE_NUMBER.fullmatch(key)
    return key if found is None or key in (names or ()) else int(found[1])
