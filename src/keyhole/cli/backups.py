"""Commands for a whole store: backup and restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.store_options import StoreAddress, open_store


def backup(
    path: Annotated[str, typer.Argument(metavar="PATH", help="File to create.")],
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Copy the store to a new file, while others keep using it, and verify the copy.

    The copy is a complete store in a file of SQLite, also of a store in PostgreSQL. Use it with
    --store, or make a store of it with `keyhole restore`.

    \b
    Example:
      keyhole backup monday.db
    """
    from keyhole.cli.output import answer, number
    from keyhole.cli.progress import status_line
    from keyhole.counter.store.backups import verified
    from keyhole.counter.store.database import open_database
    from keyhole.errors import StoreDamagedError

    with open_store(store) as counter, status_line("copying and verifying"):
        counter.backup(path)
        url = counter.url
        try:
            found = verified(open_database(str(Path(path)), 30.0))
        except StoreDamagedError as error:
            raise StoreDamagedError(
                f"{path} was written and is no better than the store: {error}"
            ) from None
    size = Path(path).stat().st_size
    events = f"{sum(found.values()):,} events replayed"
    said = {"store": url, "backup": path, "bytes": size, "verified": found}
    answer(as_json, said, f"{path}: a copy of {url}, {number(size / 1e6)} MB, {events}")


def restore(
    path: Annotated[str, typer.Argument(metavar="PATH", help="File that `backup` wrote.")],
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Make a store from a backup: a new file, or an empty database of PostgreSQL.

    Nothing is overwritten, and a backup that is damaged is refused. Every log is replayed. API keys
    come back, too: those that were revoked since the backup must be revoked again.

    \b
    Example:
      keyhole restore monday.db --store clinic.db
    """
    from keyhole.cli.output import answer
    from keyhole.cli.progress import status_line
    from keyhole.counter.store.backups import restore as restored
    from keyhole.errors import without_password

    with status_line("verifying and copying"):
        found = restored(path, store)
    place = without_password(store) if "://" in store else store
    events = f"{sum(found.values()):,} events replayed"
    words = f"{place}: restored from {path}, learners: {len(found):,}, {events}"
    answer(as_json, {"store": place, "restored": path, "verified": found}, words)
