"""Rounds per second of a service on this machine, against what its disk can commit.

python -m benchmarks.serve [--seconds 5] [--clients 1,4,16,64] [--learner random] [--store URL]

A round is three requests, each with an idempotency key: ask, values, label. Clients are in another
process (`clients.py`), whose processor time is given apart. The yardstick is one commit of SQLite
(or of the given PostgreSQL) with two small rows, measured in the same run, one after the other.
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


def measure(url: str, pid: int, clients: int, seconds: float) -> dict[str, float]:
    """Let so many clients play for a while."""
    host, _, port = url.removeprefix("http://").partition(":")
    monitor = Client(url)
    before, processor = commits(monitor), processor_seconds(pid)
    players = subprocess.run(
        [sys.executable, "-m", "benchmarks.serve.clients", host, port, str(clients), str(seconds)],
        check=True,
        capture_output=True,
        text=True,
    )
    used, after = processor_seconds(pid) - processor, commits(monitor)
    monitor.close()
    found = json.loads(players.stdout)
    p50, p99 = np.percentile(found["took"], [50, 99])
    rounds = max(found["rounds"], 1)
    return {
        "rounds_per_second": found["rounds"] / found["wall"],
        "requests_per_second": len(found["took"]) / found["wall"],
        "p50": float(p50),
        "p99": float(p99),
        "group": (after[1] - before[1]) / max(after[0] - before[0], 1),
        "cpu": used / rounds,
        "client_cpu": found["cpu"] / rounds,
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--clients", default="1,4,16,64")
    parser.add_argument("--learner", default="random")
    parser.add_argument("--store", help="postgresql://..., a database that may be written to")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = chosen.store or str(Path(folder, "keyhole.db"))
        with kh.Store(url) as store:
            store.create("clinic", kh.Problem(d=42, k=4, budget=8), chosen.learner)
        server = subprocess.Popen(
            [sys.executable, "-m", "keyhole", "serve", "--store", url, "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        where = ""
        for line in server.stderr:
            if "listening on " in line:
                where = line.partition("listening on ")[2].partition(",")[0]
            if line.strip() == "keyhole: ready":
                break
        threading.Thread(target=server.stderr.read, daemon=True).start()
        print(f"learner {chosen.learner}, d = 42, {chosen.seconds:g} s each")
        print(
            f"{'clients':>8}{'rounds/s':>10}{'requests/s':>12}{'x commit':>10}{'group':>8}"
            f"{'p50 ms':>9}{'p99 ms':>9}{'p99/commit':>12}{'cpu ms/round':>14}{'of clients':>12}"
            f"{'commit ms':>11}"
        )
        try:
            for clients in map(int, chosen.clients.split(",")):
                alone = commit_seconds(url, 1.0)
                found = measure(where, server.pid, clients, chosen.seconds)
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
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
