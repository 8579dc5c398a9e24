"""keyhole keys: who may use a service."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli.options import Json
from keyhole.cli.store_options import StoreAddress

if TYPE_CHECKING:
    from contextlib import closing

    from keyhole.counter.service.access_control import ApiKeys

app = typer.Typer(help="Create, list and revoke the keys of a service.", rich_markup_mode=None)


@app.command("create")
def create(
    role: Annotated[
        list[str], typer.Option(help="Role: read, ask, tell or admin; repeat for more.")
    ],
    learner: Annotated[
        list[str] | None, typer.Option(help="Limit the key to this learner; repeat for more.")
    ] = None,
    label: Annotated[str, typer.Option(help="Note on what the key is for.")] = "",
    days: Annotated[
        float | None,
        typer.Option(help="Number of days until the key expires.", min=0.0, max=36_500.0),
    ] = None,
    store: StoreAddress = "keyhole.db",
    as_json: Json = False,
) -> None:
    """Create a key and print it. It is shown only once and cannot be looked up later.

    \b
    read   look at learners, tickets, models and logs
    ask    ask for tickets, send values, drop tickets
    tell   tell labels, drop tickets
    admin  everything, including creating learners

    \b
    Examples:
      keyhole keys create --role ask --learner clinic --label "ward 3"
      keyhole keys create --role read --role tell --days 90
    """
    from keyhole.cli.output import answer

    with _api_keys(store, create=True) as keys:
        expires_in = None if days is None else timedelta(days=days).total_seconds()
        secret, key = keys.create(role, learner, label=label, expires_in=expires_in)
    answer(as_json, {"key": secret, "id": key.id}, secret)


@app.command("list")
def list_keys(store: StoreAddress = "keyhole.db", as_json: Json = False) -> None:
    """List the keys: how they start, their roles, and whether they are valid."""
    from datetime import UTC, datetime

    from keyhole.cli.output import columns, emit, say

    def day(seconds: float | None) -> str:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()

    with _api_keys(store) as keys:
        found = keys.all()
    if as_json:
        fields = ("id", "state", "roles", "learners", "label")
        times = ("created_at", "expires_at", "revoked_at")
        emit({"keys": [{name: getattr(key, name) for name in fields + times} for key in found]})
        return
    head = ("key", "state", "roles", "learners", "made", "expires", "label")
    rows = [
        (
            *(key.id, key.state, " ".join(key.roles)),
            "all" if key.learners is None else " ".join(key.learners),
            *(day(key.created_at), day(key.expires_at), key.label),
        )
        for key in found
    ]
    say(*columns([head, *rows], "<" * len(head), indent=0))


@app.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(help="Start of the key: kh_ and eight letters.")],
    store: StoreAddress = "keyhole.db",
) -> None:
    """Revoke a key. A running service notices within a second."""
    from keyhole.cli.output import say

    with _api_keys(store) as keys:
        key = keys.revoke(id)
    say(f"{key.id} is revoked")


def _api_keys(store: str, create: bool = False) -> closing[ApiKeys]:
    """The keys of a store, which is made if `create` says so and there is none."""
    from contextlib import closing

    from keyhole.counter.service.access_control import ApiKeys
    from keyhole.counter.store import Store

    Store(store, create=create).close()
    return closing(ApiKeys(store))
