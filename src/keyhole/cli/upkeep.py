"""keyhole verify and keyhole backup: is everything as it was written, and a copy of it."""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.counter import Address, opened


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
