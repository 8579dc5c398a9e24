"""Clients in a process of their own: rounds over plain sockets, so that little time is theirs.

python -m benchmarks.serve.clients HOST PORT CLIENTS SECONDS LEARNER

Prints one line of JSON: rounds, wall and processor seconds, and how long each request took.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from typing import Any


class Caller:
    """One connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.took: list[float] = []
        self.rounds = 0

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a request with an idempotency key, as `kh.connect` does; the reply."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"accept: application/json\r\nuser-agent: keyhole\r\n"
            f"idempotency-key: {uuid.uuid4().hex}\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        begun = time.perf_counter()
        self._writer.write(head.encode() + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        self.took.append(time.perf_counter() - begun)
        if not answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(content.decode())
        return json.loads(content)

    async def play(self, learner: str, until: float) -> None:
        """Rounds, one after the other."""
        while time.perf_counter() < until:
            [ticket] = (await self.post(f"/api/v1/learners/{learner}/tickets", {}))["tickets"]
            place, values = f"/api/v1/tickets/{ticket['id']}", [1.0] * len(ticket["features"])
            await self.post(f"{place}/values", {"values": values})
            await self.post(f"{place}/label", {"label": 1.0})
            self.rounds += 1


async def main(host: str, port: int, clients: int, seconds: float, learner: str) -> None:
    """Let so many clients play for a while."""
    callers = [Caller(*await asyncio.open_connection(host, port)) for _ in range(clients)]
    begun, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller.play(learner, begun + seconds) for caller in callers))
    found = {
        "rounds": sum(caller.rounds for caller in callers),
        "wall": time.perf_counter() - begun,
        "cpu": time.process_time() - used,
        "took": [took for caller in callers for took in caller.took],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
    )
