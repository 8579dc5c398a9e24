"""keyhole warm-up: compile everything now, so that nobody waits for it later."""

from __future__ import annotations

from typing import Annotated

import typer


def warm_up(
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes that compile at the same time.")
    ] = 1,
) -> None:
    """Compile all learners and the search in hindsight once; later runs start at once.

    keyhole compiles what it needs when it is first used, and keeps it on disk: a minute for most
    commands. Run this when an image is built, or before a service is started. Seconds if all is
    compiled already.

    \b
    Examples:
      keyhole warm-up
      keyhole warm-up --jobs 4
    """
    import time

    from keyhole.cli.output import say
    from keyhole.cli.progress import counted
    from keyhole.spread import as_they_come
    from keyhole.warming import warm, warm_parts

    parts, began = warm_parts(), time.perf_counter()
    done = as_they_come([(warm, (part,)) for part in parts], jobs)
    for outcome in counted(done, len(parts), "compiled", lambda outcome: parts[outcome.index]):
        outcome.result  # noqa: B018  (raises what went wrong)
    say(f"{len(parts)} parts are compiled, in {time.perf_counter() - began:.0f} s")
