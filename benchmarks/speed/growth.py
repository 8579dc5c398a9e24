"""How the cost of a round grows: with the rounds played before it, and with the features there are.

Algorithm 1 between two re-solves and Algorithm 2 (whose batches grow with t^(1/3), and who judges
each of them) at a fixed budget. Between re-solves nothing of a round depends on T, and d enters
through the cache alone: the sums that a round adds to lie further apart. Microseconds per round
of block play.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.timing import best_in_turns, rows_of
from benchmarks.speed.play import by_block, learner
from keyhole.problem import BlockLearner, Floats

K, BUDGET = 2, 15
ENDS = [2**i for i in range(12, 19)]
FEATURES = [30, 100, 300, 1000, 3000, 5000]
BLOCK = 4096


PLAYERS: dict[str, Callable[[int], BlockLearner]] = {  # by d
    "Algorithm 1": lambda d: learner(d, K, BUDGET),
    "Algorithm 2": lambda d: kh.OnlineGreedyLearner(kh.Problem(d, K, BUDGET), seed=0),
}


def cost(player: BlockLearner, X: Floats, y: Floats) -> float:
    """Microseconds per round of the best of the next blocks."""
    play = partial(by_block(player, X, y), len(y))
    return 1e6 * best_in_turns({"": play})[""] / len(y)


def run_rounds(name: str, d: int, ends: list[int]) -> Row:
    """What a round costs after T others."""
    X, y = rows_of(d, K, BLOCK)
    player, costs = PLAYERS[name](d), {}
    play = by_block(player, X, y)
    play(len(y))  # compiles
    for T in ends:
        while player.round < T:
            play(len(y))
        costs[str(T)] = cost(player, X, y)
    return {"learner": name, "d": d, "microseconds": costs}


def run_features(name: str, sizes: list[int]) -> Row:
    """What a round costs with d features."""
    costs = {}
    for d in sizes:
        X, y = rows_of(d, K, BLOCK)
        player = PLAYERS[name](d)
        by_block(player, X, y)(len(y))  # compiles
        costs[str(d)] = cost(player, X, y)
    return {"learner": name, "microseconds": costs}
