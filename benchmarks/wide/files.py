"""Saving and loading, beside writing and reading as many bytes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import keyhole as kh
from benchmarks.common import Row
from benchmarks.wide.columns import Columns, Game
from benchmarks.wide.parts import BUDGET, K

TURNS = 7  # each is timed so often, in turns; the best counts


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def run_files(d: int) -> Row:
    """Milliseconds on the clock, the best of some turns, and the bytes of the file."""
    game = Game(kh.AutoLearner(kh.Problem(d, K, BUDGET), seed=0), Columns(d, K, 0))
    for _ in range(50):
        game.batch()
    with tempfile.TemporaryDirectory() as folder:
        file, plain = Path(folder, "learner"), Path(folder, "plain")
        kh.save(game.learner, file)
        data = file.read_bytes()
        tasks: dict[str, Callable[[], object]] = {
            "save": lambda: kh.save(game.learner, file),
            "write": lambda: _write(plain, data),
            "load": lambda: kh.load(file),
            "read": lambda: plain.read_bytes(),
        }
        best = dict.fromkeys(tasks, float("inf"))
        for _ in range(TURNS):
            for name, task in tasks.items():
                begun = time.perf_counter()
                task()
                best[name] = min(best[name], 1e3 * (time.perf_counter() - begun))
    return {"timed": True, "d": d, "bytes": len(data), **best}
