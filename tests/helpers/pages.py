"""Pages for tests: a small service on a free port, and what a person would do with a form."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

import keyhole as kh
from keyhole.counter.service.pages import add_pages


def paged(store: kh.Store, **state: Any) -> FastAPI:
    """The pages of a store, and nothing else."""
    app = FastAPI(openapi_url=None)
    app.state.store = store
    for name, value in state.items():
        setattr(app.state, name, value)
    add_pages(app)
    return app


@contextlib.contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The address of a service that runs in a thread."""
    door = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        door.close()


@contextlib.contextmanager
def browsing(app: FastAPI) -> Iterator[httpx.Client]:
    """Somebody without a screen: follows redirects, fills in forms."""
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        client.follow_redirects = True
        yield client


def form_key(page: httpx.Response) -> str:
    """The key of the first form on a page."""
    found = re.search(r'name="form" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def next_example(client: httpx.Client, learner: str) -> str:
    """Ask at the counter; the address of the example."""
    key = form_key(client.get(f"/counter/{learner}"))
    page = client.post(f"/counter/{learner}", data={"form": key})
    assert page.status_code == 200
    return page.url.path
