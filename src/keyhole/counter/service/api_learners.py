"""HTTP API of learners: create, list, import, export, delete; their models and reports."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import numpy as np
from fastapi import APIRouter, Body, Query, Request, Response
from fastapi.responses import HTMLResponse

from keyhole.counter.service import schemas
from keyhole.counter.service.access_control import ANY_ROLE
from keyhole.counter.service.routes import (
    API_PATH,
    ERROR_RESPONSES,
    LEARNER_PATH,
    Calling,
    LearnerInPath,
    json_reply,
)
from keyhole.counter.store import LearnerInfo, Store
from keyhole.counter.store.learner import make_new
from keyhole.errors import (
    ConflictError,
    DataError,
    KeyholeError,
    ProblemError,
    UnknownLearnerError,
    shortened,
)
from keyhole.problem import Learner, Problem
from keyhole.problem.problem import problem_to_dict
from keyhole.problem.sparse_model import sparse_model
from keyhole.saving.api import to_bytes
from keyhole.streams.arrays import ArrayStream

T = TypeVar("T")
router = APIRouter(tags=["learners"], responses=ERROR_RESPONSES)

BINARY = "application/octet-stream"
FILE_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"content": {BINARY: {}}}}
LEARNER_RESPONSE = {"model": schemas.LearnerReply}


@router.get(f"{API_PATH}/learners", responses={200: {"model": schemas.LearnersReply}})
def learners(caller: Calling) -> Response:
    """The learners that the caller may see."""
    seen = [info for info in caller.store.learners() if caller.who.may(ANY_ROLE, info.name)]
    damaged = caller.store.damaged().items()
    may = {name: words for name, words in damaged if caller.who.may(ANY_ROLE, name)}
    return json_reply({"learners": [info.as_dict() for info in seen], "damaged": may})


@router.post(f"{API_PATH}/learners", status_code=201, responses={201: LEARNER_RESPONSE})
def create(body: schemas.NewLearner, request: Request, caller: Calling) -> Response:
    """Make a learner.

    Repeated with an Idempotency-Key, for a learner that was made just so, this gives the learner.
    """
    problem, history = _problem(body, request.app.state.settings.features), _history(body)
    half_life = None if body.history is None else body.history.half_life
    settings = {str(name): value for name, value in body.settings.items()}
    reserved = {"name", "problem", "learner", "seed", "history", "half_life", "units", "who"}
    reserved.add("yes_no")
    for name in reserved & settings.keys():
        raise ProblemError(f"settings: {name!r} is no setting of a learner")

    made_from: dict[str, Any] = {"seed": body.seed, "history": history, "half_life": half_life}
    about: dict[str, Any] = {"units": body.units, "yes_no": body.yes_no}
    about |= {"who": caller.who.signed(body.who), **settings}
    make = partial(caller.store.create, body.name, problem, body.learner, **made_from, **about)
    try:
        info = _refuse_on_error(make)
    except ConflictError:
        if caller.key is None or not _same_request(caller.store, body, problem, settings):
            raise
        info = caller.store.info(body.name)
    return json_reply(info.as_dict(), 201)


@router.post(f"{API_PATH}/import", status_code=201, responses={201: LEARNER_RESPONSE})
def import_learner(
    body: Annotated[bytes, Body(media_type=BINARY)],
    caller: Calling,
    name: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Take in a learner that `export` wrote, under its own name or another one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "learner.khl")
        path.write_bytes(body)
        try:
            info = caller.store.import_(path, name)
        except ConflictError:
            found = None if caller.key is None else _imported_before(caller.store, path, name)
            if found is None:
                raise
            info = found
        except DataError as error:
            raise DataError(str(error).replace(str(path), "the body")) from None
    return json_reply(info.as_dict(), 201)


@router.get(LEARNER_PATH, responses={200: LEARNER_RESPONSE})
def learner(name: LearnerInPath, caller: Calling) -> Response:
    """What there is to say about a learner."""
    return json_reply(caller.store.info(name).as_dict())


@router.delete(LEARNER_PATH, responses={200: LEARNER_RESPONSE})
def delete(
    name: LearnerInPath,
    caller: Calling,
    force: Annotated[bool, Query(description="Give up its open tickets.")] = False,
) -> Response:
    """Delete a learner with its log and its tickets; the reply says what it was.

    This cannot be undone: `export` it first.
    """
    return json_reply(caller.store.delete(name, force=force).as_dict())


@router.get(f"{LEARNER_PATH}/problem", responses={200: {"model": schemas.ProblemReply}})
def problem(name: LearnerInPath, caller: Calling) -> Response:
    """Its problem, with prices to the last cent."""
    return json_reply(problem_to_dict(caller.store.learner(name).problem))


@router.get(f"{LEARNER_PATH}/model", responses={200: {"model": schemas.ModelReply}})
def model(
    name: LearnerInPath,
    caller: Calling,
    whole: Annotated[bool, Query(description="With the weight of every feature.")] = False,
) -> Response:
    """The current model, in the units of the features."""
    found: Learner = caller.store.learner(name)
    if whole or not hasattr(found, "model"):
        found = _copy_in_memory(caller.store, name)
    sparse = sparse_model(found)
    rows = zip(sparse.names, sparse.features.tolist(), sparse.weights.tolist(), strict=True)
    reply: dict[str, Any] = {
        "round": found.round,
        "intercept": float(sparse.intercept),
        "weights": [{"feature": a, "number": b, "weight": c} for a, b, c in rows],
        "past": {key: float(value) for key, value in sparse.past.items()},
    }
    if whole:
        reply["all_weights"] = found.weights.tolist()
        reply["all_intercept"] = float(found.intercept)
    return json_reply(reply)


@router.get(f"{LEARNER_PATH}/explanation", responses={200: {"model": schemas.ExplanationReply}})
def explanation(name: LearnerInPath, caller: Calling) -> Response:
    """What is bought now and why, and what the learner advises, where it can say."""
    found = caller.store.learner(name)
    said = {
        key: str(getattr(found, verb)()) if hasattr(found, verb) else None
        for key, verb in (("text", "explain"), ("advice", "advice"))
    }
    return json_reply(said)


@router.get(f"{LEARNER_PATH}/report", response_class=HTMLResponse)
def report(name: LearnerInPath, request: Request) -> Response:
    """The report of what it has done so far, one page to read or to keep.

    From the log, so without what needs values that were not bought: no hindsight, no regret. A long
    log takes seconds.
    """
    from keyhole.counter.service.report import REPORT_HEADERS, reports_of

    text = reports_of(request.app).page(name)
    return HTMLResponse(text.encode("utf-8", "replace"), headers=REPORT_HEADERS)


@router.get(f"{LEARNER_PATH}/state", response_class=Response, responses=FILE_RESPONSE)
def state(name: LearnerInPath, caller: Calling) -> Response:
    """The learner as `kh.save` writes it; `kh.load` makes one in memory that goes its own way."""
    return _file(to_bytes(_copy_in_memory(caller.store, name)), f"{name}.npz")


@router.get(f"{LEARNER_PATH}/export", response_class=Response, responses=FILE_RESPONSE)
def export(name: LearnerInPath, caller: Calling) -> Response:
    """The learner with its log and its tickets, for `import` or `keyhole import`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "learner.khl")
        caller.store.export(name, path)
        return _file(path.read_bytes(), f"{name}.khl")


@router.get(f"{LEARNER_PATH}/events", responses={200: {"model": schemas.EventsReply}})
def events(
    name: LearnerInPath,
    caller: Calling,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The log by page: what happened, in order."""
    found = caller.store.history(name, after=after, limit=limit)
    more = found[-1].seq if len(found) == limit else None
    return json_reply({"events": [event.as_dict() for event in found], "next": more})


def _copy_in_memory(store: Store, name: str) -> Learner:
    """A copy in memory, so that everything that is said is of the same moment."""
    return cast(Learner, copy.deepcopy(store.learner(name)))


def _file(data: bytes, name: str) -> Response:
    plain = "".join(letter if letter.isascii() else "_" for letter in name)
    headers = {"content-disposition": f'attachment; filename="{plain}"'}
    return Response(data, media_type=BINARY, headers=headers)


def _problem(body: schemas.NewLearner, most: int) -> Problem:
    named = None if isinstance(body.features, int) else tuple(body.features)
    d = body.features if isinstance(body.features, int) else len(body.features)
    if d > most:
        raise ProblemError(
            f"features: over HTTP a learner may have {most:,}, got {d:,}; make it with "
            "kh.Store.create"
        )
    panels = None
    if body.panels is not None:
        panels = {name: (panel.price, panel.features) for name, panel in body.panels.items()}
    given: dict[str, Any] = {"prices": body.prices, "panels": panels, "derived": body.derived}
    limits: dict[Any, Any] | None = body.limits
    if limits is not None and named is None:  # JSON has no numbers for keys
        limits = {int(j) if re.fullmatch("[0-9]{1,9}", j) else j: limits[j] for j in limits}
    given |= {"limits": limits, "label_limits": body.label_limits}
    budget: Any = body.budget
    if isinstance(budget, float) and budget.is_integer():
        budget = int(budget)
    return _refuse_on_error(lambda: Problem(d, body.k, budget, named, **given))


def _history(body: schemas.NewLearner) -> ArrayStream | None:
    if body.history is None:
        return None
    rows, labels = body.history.rows, body.history.labels
    try:
        X = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    except (TypeError, ValueError):
        raise DataError("history: rows must be lists of numbers, all of one length") from None
    names = None if isinstance(body.features, int) else tuple(body.features)
    return ArrayStream(X, np.array(labels, dtype=np.float64), names)


def _refuse_on_error(make: Callable[[], T]) -> T:
    """What is made from a request; whatever its settings lead to is the request's fault."""
    try:
        return make()
    except KeyholeError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ProblemError(f"no learner can be made from this: {shortened(what)}") from None


def _same_request(
    store: Store, body: schemas.NewLearner, problem: Problem, settings: dict[str, Any]
) -> bool:
    """Whether the learner of this name was made by the same request, as far as can be seen."""
    half_life = None if body.history is None else body.history.half_life
    again = problem, body.learner, body.seed, settings, _history(body), half_life, body.yes_no
    made, _ = _refuse_on_error(lambda: make_new(*again))
    first = json.loads(store.history(body.name, limit=1)[0].body)
    same_state: bool = first["sha256"] == hashlib.sha256(to_bytes(made)).hexdigest()
    return same_state and bool(first["units"] == (body.units or {}))


def _imported_before(store: Store, path: Path, name: str | None) -> LearnerInfo | None:
    """The learner whose log begins as this file's does to its end, if there is one of its name."""
    with zipfile.ZipFile(path) as archive:
        own = json.loads(archive.read("learner.json"))["name"]
        last = json.loads(archive.read("events.jsonl").splitlines()[-1])
    try:
        found = store.history(name or own, after=last[0] - 1, limit=1)
    except UnknownLearnerError:
        return None
    return store.info(name or own) if found and found[0].digest == last[-1] else None
