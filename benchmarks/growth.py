"""How the cost of a round grows: with the rounds played before it, and with the features there are.

Algorithm 1 between two re-solves and Algorithm 2 (whose batches grow with t^(1/3), and who judges
each of them) at a fixed budget. Between re-solves nothing of a round depends on T, and d enters
through the cache alone: the sums that a round adds to lie further apart. Microseconds per round
of block play; nothing is asserted.
"""

from __future__ import annotations

import time
from typing import Any

import keyhole as kh
from benchmarks.play import by_block, learner, rows_of
from benchmarks.results import write
from keyhole.problem import BlockLearner, Floats

K, BUDGET = 2, 15
ROUNDS = [2**i for i in range(12, 19)]
FEATURES = (30, 100, 300, 1000, 3000, 5000)
BLOCK = 4096
REPEATS = 7


def players(d: int) -> dict[str, BlockLearner]:
    """Who is measured."""
    greedy = kh.OnlineGreedyLearner(kh.Problem(d, K, BUDGET), seed=0)
    return {"Algorithm 1": learner(d, K, BUDGET), "Algorithm 2": greedy}


def block(player: BlockLearner, X: Floats, y: Floats) -> float:
    """Seconds per round of one block."""
    play = by_block(player, X, y)
    began = time.perf_counter()
    play(len(y))
    return (time.perf_counter() - began) / len(y)


def against_rounds(d: int = 100) -> list[dict[str, Any]]:
    """The best of the blocks that follow round T."""
    X, y = rows_of(d, K, BLOCK)
    results = []
    for name, player in players(d).items():
        block(player, X, y)  # compiles
        for T in ROUNDS:
            while player.round < T:
                block(player, X, y)
            cost = min(block(player, X, y) for _ in range(REPEATS))
            results.append({"learner": name, "d": d, "T": T, "microseconds": 1e6 * cost})
            print(f"{name}  d={d:<5} T={T:<7} {1e6 * cost:.3f}", flush=True)
    return results


def against_features() -> list[dict[str, Any]]:
    """The best of some blocks for each d."""
    results = []
    for d in FEATURES:
        X, y = rows_of(d, K, BLOCK)
        for name, player in players(d).items():
            block(player, X, y)
            cost = min(block(player, X, y) for _ in range(REPEATS))
            results.append({"learner": name, "d": d, "microseconds": 1e6 * cost})
            print(f"{name}  d={d:<5} {1e6 * cost:.3f}", flush=True)
    return results


def main() -> None:
    """Print the tables and write the JSON."""
    print(f"microseconds per round of block play, budget {BUDGET}, against the rounds before it")
    rounds = against_rounds()
    print(f"microseconds per round of block play, budget {BUDGET}, against the features")
    write("growth", {"rounds": rounds, "features": against_features()})


if __name__ == "__main__":
    main()
