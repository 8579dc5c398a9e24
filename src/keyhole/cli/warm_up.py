"""keyhole warm-up: compile everything now, so that nobody waits for it later."""

from __future__ import annotations

from typing import Annotated

import typer


def warm_up(
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Number of processes to compile with.")
    ] = 1,
) -> None:
    """Compile everything now, so that later runs start at once.

    keyhole compiles code on first use, about a minute for most commands, and caches it on disk.
    Run this when you build an image, or before you start a service. If everything is compiled
    already it takes seconds; a wheel built for your system contains most of it.

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
