"""keyhole verify, backup and delete: is everything as it was written, a copy, and the end."""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.counter import Address, Name, opened


def verify(
    learner: Annotated[
        str | None,
        typer.Argument(
            metavar="LEARNER", help="Name of the learner in the store.", show_default="all"
        ),
    ] = None,
    store: Address = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Replay the whole log and compare the result with the store.

    \b
    Example:
      keyhole verify
    """
    from keyhole.cli.output import emit, say

    with opened(store) as counter:
        found = counter.verify(learner)
    if as_json:
        emit({"verified": found})
        return
    for name, events in found.items():
        say(f"{name}: {events:,} events replayed, everything is as it was")


def backup(
    path: Annotated[str, typer.Argument(metavar="PATH", help="File to create.")],
    store: Address = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Copy the store to a new file, while others keep using it.

    The copy is a complete store: use it with --store, or in place of a lost one.

    \b
    Example:
      keyhole backup monday.db
    """
    from pathlib import Path

    from keyhole.cli.output import emit, number, say

    with opened(store) as counter:
        counter.backup(path)
        url = counter.url
    size = Path(path).stat().st_size
    if as_json:
        emit({"store": url, "backup": path, "bytes": size})
    else:
        say(f"{path}: a copy of {url}, {number(size / 1e6)} MB")


def delete(
    learner: Name,
    force: Annotated[bool, typer.Option("--force", help="Give up its open tickets.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for the name again; for scripts.")
    ] = False,
    store: Address = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Delete a learner, with its log and its tickets. This cannot be undone.

    Keep a copy first: `kh.Store(...).export(name, path)`, the export of a service, or `keyhole
    backup`, which copies the whole store.

    \b
    Example:
      keyhole backup before.db
      keyhole delete clinic
    """
    import sys

    from keyhole.cli.output import emit, say
    from keyhole.errors import DataError

    with opened(store) as counter:
        info = counter.info(learner)
        if not yes:
            if not sys.stdin.isatty():
                raise DataError(f"deleting {learner} cannot be undone: add --yes to confirm it")
            events = f"{info.rounds:,} examples, {info.told:,} labels, {info.open:,} open tickets"
            typer.echo(f"{learner} has {events}. Deleting it cannot be undone.", err=True)
            if typer.prompt("Type its name to delete it", err=True) != learner:
                raise DataError(f"that is not its name: {learner} was not deleted")
        gone = counter.delete(learner, force=force)
    if as_json:
        emit({"deleted": gone.as_dict()})
    else:
        say(f"{learner} is deleted: {gone.rounds:,} examples, {gone.told:,} labels")
