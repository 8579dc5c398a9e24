"""The HTTP API as a page, from the OpenAPI description that the service itself serves."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def description() -> dict[str, Any]:
    """The OpenAPI description of a service on an empty store."""
    from keyhole.counter.service.app import create_app
    from keyhole.counter.store import Store

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "keyhole.db") as store:
        found: dict[str, Any] = create_app(store).openapi()
    return found


def markdown() -> str:
    """The refusals all calls share, a section for every call, one for every kind of object."""
    found = description()
    return "\n\n".join([*_refusals(found), *_calls(found), "## Objects", *_objects(found)])


def _refusals(found: Mapping[str, Any]) -> Iterator[str]:
    """Every status from 400 on, with what it means in any call."""
    calls = [call for methods in found["paths"].values() for call in methods.values()]
    meanings: dict[str, str] = {}
    for call in calls:
        for status, reply in call["responses"].items():
            if status >= "4" and len(reply["description"]) > len(meanings.get(status, "")):
                meanings[status] = reply["description"]
    yield "## Refusals"
    yield "Every call may be refused, with a [Refusal](#refusal) that says why."
    yield _table(("status", "what it means"), sorted(meanings.items()))


def _calls(found: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in found["paths"].items():
        for method, call in methods.items():
            lines = [f"## `{method.upper()} {path}`", _prose(call)]
            rows = [_parameter(row) for row in call.get("parameters", ())]
            if rows:
                lines.append(_table(("parameter", "in", "type", "what it is"), rows))
            lines += _bodies(call)
            yield "\n\n".join(line for line in lines if line)


def _prose(call: Mapping[str, Any]) -> str:
    return str(call.get("description") or call.get("summary") or "").strip()


def _parameter(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = f"`{row['name']}`" + (" (required)" if row.get("required") else "")
    return name, row["in"], _type(row["schema"]), row.get("description", "")


def _bodies(call: Mapping[str, Any]) -> Iterator[str]:
    body = call.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        yield f"Request body ({kind}): {_type(content['schema'])}"
    for status, reply in call["responses"].items():
        if status >= "4":
            continue  # told once for all calls
        content = reply.get("content", {})
        kinds = ", ".join(f"{_type(c.get('schema', {}))} ({k})" for k, c in content.items())
        yield f"Reply {status}: {reply['description'].rstrip('.')}" + (
            f": {kinds}" if kinds else ""
        )


def _objects(found: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in found.get("components", {}).get("schemas", {}).items():
        lines = [f"### {name}", schema.get("description", "").strip()]
        required = schema.get("required", ())
        rows = [
            (
                f"`{key}`" + (" (required)" if key in required else ""),
                _type(part),
                part.get("description", ""),
            )
            for key, part in schema.get("properties", {}).items()
        ]
        if rows:
            lines.append(_table(("key", "type", "what it is"), rows))
        yield "\n\n".join(line for line in lines if line)


def _type(schema: Mapping[str, Any]) -> str:
    """A type in a few words, with a link to an object that has a section."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(kind)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in row) + " |" for row in cells)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
