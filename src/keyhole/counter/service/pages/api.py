"""Page of the HTTP API: every call from its schema, with an example, to try in the browser."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.access_control import ANY_ROLE
from keyhole.counter.service.pages.page_route import PageRoute, authorize, render
from keyhole.counter.service.routes import ROUTES

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True)
class Call:
    """A call as the page shows it.

    Parameters
    ----------
    id
        Of its part of the page.
    method, path, about
        What it is.
    roles
        Who may call it, in words.
    parameters
        As in the schema.
    media, body
        What kind of body it takes, and the example; empty without one.
    curl
        The example as a command.
    """

    id: str
    method: str
    path: str
    about: str
    roles: str
    parameters: list[dict[str, Any]]
    media: str
    body: str
    curl: str


@router.get("/docs")
def docs(request: Request) -> Response:
    """Every call, by group."""
    authorize(request, ANY_ROLE)
    groups: dict[str, list[Call]] = {}
    for path, calls in request.app.openapi()["paths"].items():
        for method, call in calls.items():
            found = _call(method.upper(), path, call, str(request.base_url))
            groups.setdefault(call["tags"][0], []).append(found)
    return render(request, "docs.html", groups=groups)


def _call(method: str, path: str, call: dict[str, Any], base: str) -> Call:
    rule = ROUTES.get((method, path))
    roles = "everybody" if rule is None else ", ".join(dict.fromkeys((*rule.roles, "admin")))
    parameters = [
        {"description": "", **each, "example": json.dumps(each.get("example", "")).strip('"')}
        for each in call.get("parameters", ())
    ]
    media, body = "", ""
    for media, content in call.get("requestBody", {}).get("content", {}).items():
        body = json.dumps(content.get("example", {}), indent=2) if media.endswith("json") else ""
    about = call.get("description", call.get("summary", ""))
    curl = _curl(method, path, media, body, parameters, base)
    return Call(call["operationId"], method, path, about, roles, parameters, media, body, curl)


def _curl(
    method: str, path: str, media: str, body: str, parameters: list[dict[str, Any]], base: str
) -> str:
    for each in parameters:
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", each["example"])
    words = ["curl"]
    if media.endswith("json"):
        words += ["--json", json.dumps(json.loads(body))]
    elif media:
        words += ["--data-binary", "@clinic.khl", "-H", f"Content-Type: {media}"]
    elif method != "GET":
        words += ["-X", method]
    said = " ".join(map(shlex.quote, [*words, base.rstrip("/") + path]))
    return f'{said} -H "Authorization: Bearer $KEYHOLE_KEY"'
