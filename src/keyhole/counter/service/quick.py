"""The quick way to the routes that are called all the time: their few parameters are read here.

FastAPI has these routes too, for its schema, and serves them where this is left out. Finding a
route and resolving its parameters took it longer than everything the service itself does for one
request.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from keyhole.counter.service.guard import BODY
from keyhole.counter.service.refusals import invalid, refused
from keyhole.counter.service.replies import Caller, caller_of, learner_name
from keyhole.counter.service.routes import authorise
from keyhole.errors import DataError, KeyholeError

Read = Callable[[Request], Awaitable[Any]]
BOOL = TypeAdapter(bool)


class Quick:
    """Serves these routes itself, all of them `POST .../{one}/word`; the rest is for others.

    Their endpoints are coroutines and take some of `name, id, body, caller, whole`.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute]) -> None:
        self._app = app
        self._windows = {_place(route.path): _window(route) for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        window = None
        if scope["type"] == "http" and scope["method"] == "POST":
            window = self._windows.get(_place(scope["path"]))
        if window is None or "//" in scope["path"]:  # a name or an id is never empty
            await self._app(scope, receive, send)
            return
        scope["route"] = window
        scope["path_params"] = {window.parameter: scope["path"].rsplit("/", 2)[1]}
        request = Request(scope, receive, send)
        try:
            await authorise(request)
            given = {name: await read(request) for name, read in window.readers.items()}
            response = await window.endpoint(**given)
        except KeyholeError as error:
            response = refused(error)
        await response(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Window:
    """A route: its path, the parameter in it, what it calls, and how the arguments are read."""

    path: str
    parameter: str
    endpoint: Callable[..., Any]
    readers: dict[str, Read]


def _place(path: str) -> tuple[str, str]:
    """A path without the part before the last, which is a name or an id."""
    before, _, last = path.rpartition("/")
    return before.rpartition("/")[0], last


def _window(route: APIRoute) -> Window:
    known: dict[str, Read] = {"name": _name, "id": _id, "caller": _caller, "whole": _whole}
    endpoint = route.endpoint
    names, hints = inspect.signature(endpoint).parameters, get_type_hints(endpoint)
    parameter = route.path.rsplit("/", 2)[1].strip("{}")
    fits = route.methods == {"POST"} and parameter in ("name", "id")
    if not fits or not inspect.iscoroutinefunction(endpoint) or not {*names} <= {*known, "body"}:
        raise TypeError(f"{route.path} cannot be served the quick way")
    readers = {name: known[name] if name in known else _body(hints[name]) for name in names}
    return Window(route.path, parameter, endpoint, readers)


def _body(kind: Any) -> Read:
    adapter = TypeAdapter(kind)
    optional = type(None) in getattr(kind, "__args__", ())

    async def read(request: Request) -> Any:
        data = request.scope[BODY]
        if optional and not data:
            return None
        content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content != "application/json" and not content.endswith("+json"):
            raise DataError("body: send JSON, and say so: `Content-Type: application/json`")
        try:
            return adapter.validate_json(data)
        except ValidationError as error:
            raise _invalid("body", error) from None

    return read


async def _name(request: Request) -> str:
    return await learner_name(request.path_params["name"])


async def _id(request: Request) -> str:
    return str(request.path_params["id"])


async def _caller(request: Request) -> Caller:
    return await caller_of(request, request.headers.get("idempotency-key"))


async def _whole(request: Request) -> bool:
    if not request.scope["query_string"]:
        return False
    try:
        return BOOL.validate_python(request.query_params.get("whole", False))
    except ValidationError as error:
        raise _invalid("query.whole", error) from None


def _invalid(where: str, error: ValidationError) -> DataError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return invalid((where, *first["loc"]), first["msg"])
