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
    compiled already; a wheel built for your system brings most of it along.

    \b
    Examples:
      keyhole warm-up
      keyhole warm-up --jobs 4
    """
    import time

    from keyhole.cli.output import say
    from keyhole.cli.progress import counted
    from keyhole.optional_imports import extra
    from keyhole.warming import warm, warm_parts

    joblib, parts, began = extra("joblib", "cli"), warm_parts(), time.perf_counter()
    done = joblib.Parallel(n_jobs=jobs, return_as="generator")(
        joblib.delayed(warm)(part) for part in parts
    )
    for _ in counted(zip(parts, done, strict=True), len(parts), "compiled", lambda item: item[0]):
        pass
    say(f"{len(parts)} parts are compiled, in {time.perf_counter() - began:.0f} s")
