"""Examples of every call of the HTTP API, for its schema and the page that tries calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyhole.counter.service.routes import API_PATH, LEARNER_PATH, TICKET_PATH

TICKET = "0123-4567-89AM"
VALUES = {"age": 61, "crp": 4.2, "tsh": None}
PARAMETERS: Mapping[str, Any] = {
    "name": "clinic",
    "id": TICKET,
    "round": 1,
    "idempotency-key": "4711",
    "whole": True,
    "state": "open",
    "older_than": 86_400,
    "limit": 100,
    "after": TICKET,
    "newest_first": True,
    "force": True,
}
# Where a parameter of the same name is something else.
OWN_PARAMETERS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("GET", f"{LEARNER_PATH}/events"): {"after": 0}
}
BODIES: Mapping[tuple[str, str], Any] = {
    ("POST", f"{API_PATH}/learners"): {
        "name": "clinic",
        "features": ["age", "crp", "tsh"],
        "k": 1,
        "budget": 30,
        "prices": {"age": 0, "crp": 12.5, "tsh": 8},
        "units": {"age": "years", "crp": "mg/l"},
        "limits": {"age": [0, 120], "crp": [0, None]},
    },
    ("POST", f"{API_PATH}/import"): "the bytes that export wrote",
    ("POST", f"{LEARNER_PATH}/tickets"): {"count": 1, "who": "ward 3"},
    ("POST", f"{LEARNER_PATH}/values"): {"values": {TICKET: VALUES}},
    ("POST", f"{LEARNER_PATH}/labels"): {"labels": {TICKET: 7.5}},
    ("POST", f"{LEARNER_PATH}/predictions"): {"round": 1, "values": VALUES},
    ("POST", f"{LEARNER_PATH}/intervals"): {"round": 1, "values": VALUES, "coverage": 0.9},
    ("POST", f"{TICKET_PATH}/values"): {"values": VALUES, "who": "ward 3"},
    ("POST", f"{TICKET_PATH}/next"): {"values": VALUES, "who": "ward 3"},
    ("POST", f"{TICKET_PATH}/label"): {"label": 7.5, "who": "ward 3"},
    ("POST", f"{TICKET_PATH}/correction"): {"values": {"crp": 42}, "why": "the point was misread"},
    ("POST", f"{TICKET_PATH}/drop"): {"who": "ward 3"},
}


def with_examples(schema: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI schema whose calls have examples of their parameters and bodies."""
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            which = method.upper(), path
            examples = {**PARAMETERS, **OWN_PARAMETERS.get(which, {})}
            for parameter in call.get("parameters", ()):
                if parameter["name"] in examples:
                    parameter["example"] = examples[parameter["name"]]
            for media in call.get("requestBody", {}).get("content", {}).values():
                if which in BODIES:
                    media["example"] = BODIES[which]
    return schema
