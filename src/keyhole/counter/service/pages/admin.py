"""Admin pages: create and delete learners, make and revoke keys, back up and verify the store."""

from __future__ import annotations

import contextlib
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from keyhole.counter.service.access_control import ROLES
from keyhole.counter.service.pages.formatting import DAY
from keyhole.counter.service.pages.forms import (
    LEARNER_CHOICES,
    Form,
    key_of,
    new_key,
    read_new_learner,
    text,
)
from keyhole.counter.service.pages.log_summary import page_cache
from keyhole.counter.service.pages.page_route import (
    PAGE_HEADERS,
    PageRoute,
    authorize,
    go,
    has_api,
    render,
    store_of,
)
from keyhole.counter.store import LearnerInfo
from keyhole.errors import ConflictError, DataError, KeyholeError, ProblemError

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/admin")
def admin(request: Request) -> Response:
    """What an administrator can do."""
    authorize(request, "admin", all_learners=True)
    return _admin(request)


def _admin(request: Request, *, status: int = 200, **said: Any) -> Response:
    """The page; `said` is what a form led to: errors and results, by form."""
    keys = _api_keys(request)
    nothing: dict[str, Any] = {"typed": {}, "wrong": "", "secret": "", "key_wrong": "", "sound": {}}
    return render(
        request,
        "admin.html",
        status=status,
        learners=store_of(request).names(),
        choices=LEARNER_CHOICES,
        roles=ROLES,
        keys=None if keys is None else keys.all(),
        moment=lambda seconds: datetime.fromtimestamp(seconds, UTC),
        form=new_key(),
        api=has_api(request),
        **{**nothing, **said},
    )


@router.get("/admin/{form}")
def back(request: Request, form: str) -> Response:
    """The address that a form with errors leaves in the browser."""
    return go(request, "/admin")


@router.post("/admin/learners")
def create(request: Request, form: Form) -> Response:
    """Make a learner."""
    who = authorize(request, "admin", all_learners=True)
    store, key = store_of(request), key_of(form)
    name = text(form, "name").strip()
    made = go(request, f"/learners/{quote(name, safe='')}")
    if page_cache(request).was_sent(key) and name in store.names():
        return made
    try:
        with tempfile.TemporaryDirectory(prefix="keyhole-") as folder:
            new = read_new_learner(form, Path(folder), _most_features(request))
            store.create(**new, who=who.name)
    except KeyholeError as error:
        typed = {field: value for field, value in form.items() if isinstance(value, str)}
        return _admin(request, status=422, wrong=str(error), typed=typed)
    page_cache(request).sent(key)
    return made


@router.get("/admin/learners/{name}/delete")
def ask_to_delete(request: Request, name: str) -> Response:
    """Is this learner really to be deleted?"""
    authorize(request, "admin", all_learners=True)
    return _delete(request, store_of(request).info(name))


@router.post("/admin/learners/{name}/delete")
def delete(request: Request, name: str, form: Form) -> Response:
    """Delete a learner, if its name was typed."""
    authorize(request, "admin", all_learners=True)
    store = store_of(request)
    info = store.info(name)
    try:
        if text(form, "typed").strip() != info.name:
            raise ProblemError("that is not its name: nothing was deleted")
        store.delete(info.name, force=text(form, "force") == "yes")
    except (ProblemError, ConflictError) as error:
        status = 409 if isinstance(error, ConflictError) else 422
        return _delete(request, info, status, str(error))
    return go(request, "/admin#learners-there")


def _delete(request: Request, info: LearnerInfo, status: int = 200, wrong: str = "") -> Response:
    api = has_api(request)
    return render(request, "delete.html", status=status, info=info, wrong=wrong, api=api)


def _most_features(request: Request) -> int | None:
    """How many features a learner made here may have."""
    settings = getattr(request.app.state, "settings", None)
    return None if settings is None else int(settings.features)


@router.post("/admin/keys")
def create_key(request: Request, form: Form) -> Response:
    """Make a key and show it, this once."""
    authorize(request, "admin", all_learners=True)
    keys, key = _keys(request), key_of(form)
    if page_cache(request).was_sent(key):
        lost = "this form was sent before, and its key was shown then: if it is lost, revoke it"
        return _admin(request, status=409, key_wrong=lost)
    days = text(form, "days").strip()
    try:
        if days and not (days.isascii() and days.isdigit()):
            raise ProblemError(f"days must be a whole number, got {days[:40]!r}")
        roles = [str(role) for role in form.getlist("role")]
        learners = [str(learner) for learner in form.getlist("learner")]
        ends = float(min(int(days[:9]), 36500)) * DAY if days else None
        secret, made = keys.create(
            roles, learners or None, label=text(form, "label"), expires_in=ends
        )
    except KeyholeError as error:
        return _admin(request, status=422, key_wrong=str(error))
    page_cache(request).sent(key)
    return _admin(request, secret=secret, made=made)


@router.get("/admin/keys/{id}/revoke")
def ask_to_revoke(request: Request, id: str) -> Response:
    """Is this key really to be revoked?"""
    authorize(request, "admin", all_learners=True)
    found = [key for key in _keys(request).all() if key.id == id]
    if not found:
        raise DataError("there is no such key: it may have been removed")
    return render(request, "revoke.html", key=found[0])


@router.post("/admin/keys/{id}/revoke")
def revoke(request: Request, id: str) -> Response:
    """Have a key stop working."""
    authorize(request, "admin", all_learners=True)
    _keys(request).revoke(id)
    return go(request, "/admin#keys")


@router.post("/admin/backup")
def backup(request: Request) -> Response:
    """The whole store as a file to keep."""
    authorize(request, "admin", all_learners=True)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="keyhole-"))
        path = Path(folder, "backup.db")
        store_of(request).backup(path)
        return FileResponse(
            path,
            filename=datetime.now(UTC).strftime("keyhole-%Y-%m-%d-%H%M.db"),
            media_type="application/vnd.sqlite3",
            headers=PAGE_HEADERS,
            background=BackgroundTask(stack.pop_all().close),  # when it is sent
        )


@router.post("/admin/verify")
def verify(request: Request) -> Response:
    """Replay every log and compare; says what is wrong, learner by learner."""
    authorize(request, "admin", all_learners=True)
    store, sound = store_of(request), dict[str, str]()
    for name in store.names():
        try:
            sound[name] = f"{store.verify(name)[name]:,} events replayed, all as they happened"
        except KeyholeError as error:
            sound[name] = str(error)
    return _admin(
        request, sound=sound or {"": "There are no learners, so there is nothing to check."}
    )


def _api_keys(request: Request) -> Any:
    """The keys, if the service has any to give."""
    return getattr(getattr(request.app.state, "access", None), "keys", None)


def _keys(request: Request) -> Any:
    keys = _api_keys(request)
    if keys is None:
        raise ProblemError("this service has no keys: everybody on this machine may do everything")
    return keys
