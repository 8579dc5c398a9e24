"""keyhole serve: learners over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.store_options import StoreAddress


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
    import contextlib
    import signal
    import sys
    import tempfile
    from pathlib import Path

    from keyhole.errors import printable
    from keyhole.problem.optional_imports import extra

    for module in ("fastapi", "uvicorn"):
        extra(module, "serve")
    from keyhole.counter.service.access_control import ApiKeys
    from keyhole.counter.service.demo import Demo
    from keyhole.counter.service.server import bound, log_to_stderr, refuse_public_without_key
    from keyhole.counter.service.server import serve as run
    from keyhole.counter.service.settings import ServiceSettings
    from keyhole.counter.store import Store

    def say(line: str) -> None:
        print(f"keyhole: {printable(line)}", file=sys.stderr, flush=True)  # noqa: T201

    settings = ServiceSettings(
        host=host,
        port=port,
        allowed_hosts=tuple(allow_host or ()),
        rate=rate,
        open_tickets=open_tickets,
        access_log=access_log,
    )
    log_to_stderr()
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
        ended_by = run(counter, keys, settings, say=say, demo=clinic, sockets=[listening])
        say("stopping: writing snapshots")
    say("stopped")
    if ended_by == signal.SIGINT:
        raise typer.Exit(options.INTERRUPTED)
