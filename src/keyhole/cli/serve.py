"""keyhole serve: learners over HTTP."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from keyhole.cli import options
from keyhole.cli.store_options import StoreAddress

if TYPE_CHECKING:
    from keyhole.counter.service.settings import ServiceSettings

LogFormat = Literal["text", "json"]


def serve(
    store: StoreAddress = "keyhole.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8321,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name that clients may use, besides --host; repeat for more."),
    ] = None,
    rate: Annotated[
        float, typer.Option(help="Most requests per second and key.", min=0.1, max=1e6)
    ] = 200.0,
    open_tickets: Annotated[int, typer.Option(help="Most open tickets per key.", min=1)] = 10_000,
    access_log: Annotated[bool, typer.Option(help="Log every request.")] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines of the log: text, or one JSON object per line.")
    ] = "text",
    workers: Annotated[int, typer.Option(help="Processes; there can be one only.", min=1)] = 1,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve the simulated clinic, in a temporary store unless --store is given.",
        ),
    ] = False,
) -> None:
    """Serve the learners of a store over HTTP, with web pages.

    Without keys, only this machine can use the service. Before others can reach it, create a key:
    `keyhole keys create`. SIGTERM or Ctrl-C stops it; every answer given is on disk by then.

    \b
    Examples:
      keyhole serve --demo                               the simulated clinic
      keyhole serve --store clinic.db
      keyhole serve --store clinic.db --host 0.0.0.0 --allow-host keyhole.example.org
    """
    from keyhole.errors import KeyholeError, ProblemError, printable
    from keyhole.problem.optional_imports import extra

    if workers != 1:
        raise ProblemError(
            f"--workers {workers}: the service is one process, because a learner has one writer. "
            "Two on one store served about as many requests per second as one, for more processor "
            "time (docs/decisions/0022-the-service.md)"
        )
    for module in ("fastapi", "uvicorn"):
        extra(module, "serve")
    import logging

    from keyhole.counter.service.logs import log_to_stderr
    from keyhole.counter.service.settings import ServiceSettings

    def say(line: str) -> None:
        if log_format == "json":
            logging.getLogger("keyhole").info(line)
        else:
            print(f"keyhole: {printable(line)}", file=sys.stderr, flush=True)  # noqa: T201

    log_to_stderr(log_format)
    try:
        settings = ServiceSettings(
            host=host,
            port=port,
            allowed_hosts=tuple(allow_host or ()),
            rate=rate,
            open_tickets=open_tickets,
            access_log=access_log,
        )
        ended_by = _run(store, settings, demo, say)
    except KeyholeError as error:
        if log_format == "text":
            raise
        logging.getLogger("keyhole").error(str(error))
        raise typer.Exit(options.REFUSED) from None
    if ended_by == signal.SIGINT:
        raise typer.Exit(options.INTERRUPTED)


def _run(store: str, settings: ServiceSettings, demo: bool, say: Callable[[str], None]) -> int:
    """Serve until a signal comes; which one it was."""
    import contextlib
    import tempfile
    from pathlib import Path

    from keyhole.counter.service.access_control import ApiKeys
    from keyhole.counter.service.demo import Demo
    from keyhole.counter.service.server import bound, refuse_public_without_key, serve
    from keyhole.counter.store import Store

    with contextlib.ExitStack() as last:
        if demo and store == "keyhole.db":
            store = str(Path(last.enter_context(tempfile.TemporaryDirectory()), "demo.db"))
        counter = last.enter_context(Store(store))
        keys = last.enter_context(contextlib.closing(ApiKeys(store)))
        refuse_public_without_key(settings, keys)
        listening = last.enter_context(bound(settings))
        clinic = None
        if demo:
            say("starting the demo: the first patients are being treated")
            clinic = Demo(counter)
            clinic.begin()
            last.callback(clinic.stop)
        ended_by = serve(counter, keys, settings, say=say, demo=clinic, sockets=[listening])
        say("stopping: writing snapshots")
    say("stopped")
    return ended_by
