"""Routes that are called all the time: their few parameters are read directly.

FastAPI still reads their signatures for the schema. Resolving them anew for each request took it
longer than everything the service itself does for one.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from keyhole.errors import DataError
from keyhole.service.replies import Caller, caller_of, learner_name
from keyhole.service.routes import authorise

Read = Callable[[Request], Awaitable[Any]]
BOOL = TypeAdapter(bool)


class QuickRoute(APIRoute):
    """A route whose endpoint is a coroutine and takes some of `name, id, body, caller, whole`."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        super().__init__(path, endpoint, **given)
        self.app = _application(endpoint)


def _application(endpoint: Callable[..., Any]) -> Any:
    readers = _readers(endpoint)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        await authorise(request)
        given = {name: await read(request) for name, read in readers.items()}
        response = await endpoint(**given)
        await response(scope, receive, send)

    return application


def _readers(endpoint: Callable[..., Any]) -> dict[str, Read]:
    known: dict[str, Read] = {"name": _name, "id": _id, "caller": _caller, "whole": _whole}
    names, hints = inspect.signature(endpoint).parameters, get_type_hints(endpoint)
    if not inspect.iscoroutinefunction(endpoint) or not set(names) <= {*known, "body"}:
        raise TypeError(f"{endpoint.__name__} cannot be a quick route")
    return {name: known[name] if name in known else _body(hints[name]) for name in names}


def _body(kind: Any) -> Read:
    adapter = TypeAdapter(kind)
    optional = type(None) in getattr(kind, "__args__", ())

    async def read(request: Request) -> Any:
        data = await request.body()
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


def _invalid(where: str, error: ValidationError) -> RequestValidationError:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return RequestValidationError([{**each, "loc": (where, *each["loc"])} for each in found])
