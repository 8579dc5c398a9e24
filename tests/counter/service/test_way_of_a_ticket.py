"""A request for a ticket, its values and its label pass through few files, there and back."""

import asyncio
import json
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import keyhole as kh
from keyhole.counter.service.app import create_app
from keyhole.counter.store.writer import AsyncStore

PACKAGE = Path(kh.__file__).parent
MAX_FILES = 28  # of keyhole, with the learner "auto"; of all three requests together


async def post(app: Any, path: str, body: dict[str, Any]) -> Any:
    """The reply of the application, without a server."""
    data, sent = json.dumps(body).encode(), []
    headers = {"host": "localhost", "content-type": "application/json"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] in (200, 201), sent
    return json.loads(sent[1]["body"])


async def one_round(app: Any) -> None:
    [ticket] = (await post(app, "/api/v1/learners/clinic/tickets", {}))["tickets"]
    values = {"values": [1.0] * len(ticket["features"])}
    filled = await post(app, f"/api/v1/tickets/{ticket['id']}/values", values)
    assert filled["prediction"] is not None
    await post(app, f"/api/v1/tickets/{ticket['id']}/label", {"label": 1.0})


def test_files_on_the_way(tmp_path: Path) -> None:
    files: set[str] = set()

    def note(frame: FrameType, event: str, given: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            files.add(str(path.relative_to(PACKAGE)))

    async def play(store: kh.Store) -> None:
        app = create_app(store)
        async with app.router.lifespan_context(app):
            while not app.state.ready():
                await asyncio.sleep(0.01)
            await one_round(app)  # whatever is imported late is there
            app.state.writing.close()
            app.state.writing = AsyncStore(store)  # its thread starts with the next request
            sys.setprofile(note)
            threading.setprofile(note)
            try:
                await one_round(app)
            finally:
                sys.setprofile(None)
                threading.setprofile(None)

    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("clinic", kh.Problem(d=9, k=2, budget=3), "auto")
        asyncio.run(play(store))
    assert {"counter/store/writer.py", "counter/service/api_tickets.py"} <= files
    assert len(files) <= MAX_FILES, sorted(files)
