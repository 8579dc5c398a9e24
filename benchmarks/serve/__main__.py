"""Rounds per second of a service on this machine, against what its disk can commit.

python -m benchmarks.serve [--seconds 5] [--clients 1,4,16,64] [--learner random] [--store URL]
                           [--servers 1]

A round is three requests, each with an idempotency key: ask, values, label. Clients are in another
process (`clients.py`), whose processor time is given apart. The yardstick is one commit of SQLite
(or of the given PostgreSQL) with two small rows, measured in the same run, one after the other.
With several servers on the one store, each has a learner and its share of the clients to itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import keyhole as kh
from keyhole.counter.store.database import open_database
from keyhole.counter.transport import Client

TICKS = os.sysconf("SC_CLK_TCK")


def commit_seconds(url: str, seconds: float) -> float:
    """What one commit takes, alone."""
    connection = open_database(url, 30.0).connect()
    try:
        with connection.writing():
            connection.run("CREATE TABLE IF NOT EXISTS bench (a TEXT, b TEXT)")
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            with connection.writing():
                connection.run("INSERT INTO bench VALUES (?, ?)", ("x" * 500, "event"))
                connection.run("INSERT INTO bench VALUES (?, ?)", ("x" * 100, "ticket"))
            count += 1
        taken = (time.perf_counter() - begun) / count
        with connection.writing():
            connection.run("DROP TABLE bench")
        return taken
    finally:
        connection.close()


def processor_seconds(pid: int) -> float:
    """What a process has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def commits(client: Client) -> tuple[float, float]:
    """Transactions and requests in them, so far."""
    lines = client.fetch("/metrics").decode().splitlines()
    figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    names = ("keyhole_store_commits_total", "keyhole_store_committed_requests_total")
    return float(figures[names[0]]), float(figures[names[1]])


class Server:
    """`keyhole serve`, in a process of its own."""

    def __init__(self, store: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "keyhole", "serve", "--store", store, "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "listening on " in line:
                self.url = line.partition("listening on ")[2].partition(",")[0]
            if line.strip() == "keyhole: ready":
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.client = Client(self.url)

    def figures(self) -> np.ndarray:
        """Commits, requests in them, and processor seconds so far."""
        return np.array([*commits(self.client), processor_seconds(self.process.pid)])

    def players(self, learner: str, clients: int, seconds: float) -> subprocess.Popen[str]:
        """Clients that play with a learner for a while."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        given = (host, port, str(clients), str(seconds), learner)
        command = [sys.executable, "-m", "benchmarks.serve.clients", *given]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def stop(self) -> None:
        """End it."""
        self.client.close()
        self.process.terminate()
        self.process.wait()


def measure(servers: list[Server], clients: int, seconds: float) -> dict[str, float]:
    """Let so many clients play for a while."""
    before = sum((server.figures() for server in servers), np.zeros(3))
    shares = [
        clients * (i + 1) // len(servers) - clients * i // len(servers) for i in range(len(servers))
    ]
    players = [
        server.players(f"clinic{number}", share, seconds)
        for number, (server, share) in enumerate(zip(servers, shares, strict=True))
        if share
    ]
    found = [json.loads(player.communicate()[0]) for player in players]
    after = sum((server.figures() for server in servers), np.zeros(3))
    made, together, used = after - before
    took = np.concatenate([each["took"] for each in found])
    p50, p99 = np.percentile(took, [50, 99])
    rounds = max(sum(each["rounds"] for each in found), 1)
    return {
        "rounds_per_second": sum(each["rounds"] / each["wall"] for each in found),
        "requests_per_second": sum(len(each["took"]) / each["wall"] for each in found),
        "p50": float(p50),
        "p99": float(p99),
        "group": together / max(made, 1),
        "cpu": used / rounds,
        "client_cpu": sum(each["cpu"] for each in found) / rounds,
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--clients", default="1,4,16,64")
    parser.add_argument("--learner", default="random")
    parser.add_argument("--store", help="postgresql://..., a database that may be written to")
    parser.add_argument("--servers", type=int, default=1, help="processes on the one store")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = chosen.store or str(Path(folder, "keyhole.db"))
        with kh.Store(url) as store:
            for number in range(chosen.servers):
                problem = kh.Problem(d=42, k=4, budget=8)
                store.create(f"clinic{number}", problem, chosen.learner)
        servers = [Server(url) for _ in range(chosen.servers)]
        print(
            f"learner {chosen.learner}, d = 42, {chosen.seconds:g} s each, {len(servers)} servers"
        )
        print(
            f"{'clients':>8}{'rounds/s':>10}{'requests/s':>12}{'x commit':>10}{'group':>8}"
            f"{'p50 ms':>9}{'p99 ms':>9}{'p99/commit':>12}{'cpu ms/round':>14}{'of clients':>12}"
            f"{'commit ms':>11}"
        )
        try:
            for clients in map(int, chosen.clients.split(",")):
                alone = commit_seconds(url, 1.0)
                found = measure(servers, clients, chosen.seconds)
                print(
                    f"{clients:8}{found['rounds_per_second']:10.1f}"
                    f"{found['requests_per_second']:12.1f}"
                    f"{found['requests_per_second'] * alone:10.2f}{found['group']:8.1f}"
                    f"{1e3 * found['p50']:9.1f}{1e3 * found['p99']:9.1f}"
                    f"{found['p99'] / alone:12.1f}{1e3 * found['cpu']:14.2f}"
                    f"{1e3 * found['client_cpu']:12.2f}{1e3 * alone:11.2f}",
                    flush=True,
                )
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
