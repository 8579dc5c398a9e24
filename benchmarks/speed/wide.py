"""A batch of the safety net over many features: p worked out in full, and by a tree of sums.

Two slots, a net of 4, 24 features that are always read and told of. Both ways make the same draws
from the same sums and are taken in turns. Beside it, a round of the learners whose memory is O(d).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import Row
from keyhole.learners.blocks.draw.odds import (
    MAX_OUTRIGHT_EXPERTS,
    chance,
    draw_by,
    even_rate,
    odds,
    renew,
)
from keyhole.learners.blocks.greedy.budgeted_experts import (
    draw_experts,
    draw_shared,
    feed_losses,
    fill_probabilities,
)
from keyhole.learners.registry import LINEAR_MEMORY_LEARNERS, make_learner
from keyhole.problem import Floats, Problem
from keyhole.saving.api import to_bytes

FEATURES = (MAX_OUTRIGHT_EXPERTS + 1, 100_000, 1_000_000)
SLOTS, NET, KEPT = 2, 4, 24
BATCHES, EVERY = 1200, 40  # of which one in EVERY is worked out in full too
ROUNDS = 24
WARM = 4  # not counted: compiling


def _microseconds(work: Callable[[], Any], into: list[float]) -> None:
    start = time.process_time_ns()
    work()
    into.append((time.process_time_ns() - start) / 1e3)


def _spread(times: list[float]) -> dict[str, float]:
    return {"median": float(np.median(times[WARM:])), "worst": max(times[WARM:])}


def run_net(d: int) -> Row:
    """Microseconds of processor time a batch: median and worst of each step."""
    rng, known, p = np.random.default_rng(0), odds(SLOTS, d), np.empty((SLOTS, d))
    L, squares, largest = np.zeros((SLOTS, d)), np.zeros(SLOTS), np.zeros(SLOTS)
    j, same = np.empty(SLOTS, dtype=np.int64), np.empty(SLOTS, dtype=np.int64)
    read = np.empty(NET, dtype=np.int64)
    times: dict[str, list[float]] = {"in full": [], "by the tree": [], "renewed": []}
    f0 = (NET - SLOTS) / (d - SLOTS)
    unread, built = 1.0 / (f0 + (1.0 - f0) / d), 0
    for t in range(1, BATCHES + 1):
        seen = unread * largest**2 + squares
        eta: Floats = np.sqrt(np.log(d) / np.where(seen > 0.0, seen, np.log(d)))
        before = known.rate.copy(), known.shift.copy()
        _microseconds(lambda: draw_by(3, t, L, eta, known, j), times["by the tree"])  # noqa: B023
        built += int(((known.rate != before[0]) | (known.shift != before[1])).sum())
        if t % EVERY == 0:
            rate = np.array([even_rate(each) for each in eta])

            def in_full() -> None:
                fill_probabilities(L, rate, p)  # noqa: B023
                draw_experts(3, t, p, same)  # noqa: B023

            _microseconds(in_full, times["in full"])
            if j.tolist() != same.tolist():
                raise AssertionError(f"two ways, two draws: {j}, {same}")
        draw_shared(3, t, d, j, NET, read)
        S = np.union1d(np.arange(KEPT), read)
        chances = np.array([[chance(known, L, i, e) for e in S] for i in range(SLOTS)])
        weight = np.where(S < KEPT, 1.0, 1.0 / (chances + f0))
        gains = rng.exponential(0.02, (SLOTS, len(S))) + 0.5 * (S == 3)
        feed_losses(S, chances, weight, -gains, L, squares, largest)
        _microseconds(lambda: renew(known, L, S, weight), times["renewed"])  # noqa: B023
    told = {name: _spread(each) for name, each in times.items()}
    kept = sum(array.nbytes for array in known) / d
    return {"d": d, "microseconds": told, "built": built, "bytes a feature": kept}


def run_slim(name: str, d: int) -> Row:
    """Milliseconds of processor time a round of ask, predict and tell, and what is saved."""
    learner, rng = make_learner(name, Problem(d, 4, 32), 0), np.random.default_rng(0)
    times: list[float] = []

    def play() -> None:
        ticket = learner.ask()
        seen = ticket.fill(rng.standard_normal(len(ticket.features)))
        learner.predict(seen)
        learner.tell(seen, float(rng.standard_normal()))

    for _ in range(ROUNDS):
        _microseconds(play, times)
    spread = {key: value / 1e3 for key, value in _spread(times).items()}
    return {"learner": name, "d": d, "milliseconds": spread, "bytes": len(to_bytes(learner)) / d}


PLAYERS = (*LINEAR_MEMORY_LEARNERS, "random")
