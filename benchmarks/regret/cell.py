"""Plays cells of `benchmarks.regret`: hindsight of an instance, and one player on it.

Every function here runs in a process of its own choosing and hands back plain rows for the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.regret.streams import Instance, instance
from benchmarks.regret.suite import Player, Setting
from keyhole.game.ledger import Ledger
from keyhole.learners import LEARNERS, make_learner
from keyhole.learners.auto import AutoLearner
from keyhole.learners.baselines import FixedSubset
from keyhole.learners.online_greedy import OnlineGreedyLearner
from keyhole.problem import Learner, Problem
from keyhole.problem.optional_imports import extra

SEARCH, SEARCH_ONCE = 5.0, 20.0  # seconds for the best model in hindsight; if all seeds share it
CURVE = 30.0  # the same for all prefixes of a long stream together
FIRST_MARK = 2**8  # losses are kept at this round and at every doubling
KAPPA = 1.2  # what the printed Algorithm 2 is told of the condition number, for its B and k1

Variant = Callable[[Problem, int, int, Sequence[int]], Learner]


def _proper(problem: Problem, seed: int, rounds: int, best: Sequence[int]) -> Learner:
    return AutoLearner(problem, seed=seed, proper=True)


def _printed(problem: Problem, seed: int, rounds: int, best: Sequence[int]) -> Learner:
    """With a horizon all parts are the paper's."""
    return OnlineGreedyLearner(problem, seed=seed, horizon=rounds, kappa=KAPPA)


def _oracle(problem: Problem, seed: int, rounds: int, best: Sequence[int]) -> Learner:
    return FixedSubset(problem, support=np.array(best, dtype=np.int64), seed=seed)


# Players that the registry does not have: by problem, seed, rounds, support of the best model.
VARIANTS: dict[str, Variant] = {
    "auto-proper": _proper,
    "online-greedy-printed": _printed,
    "oracle": _oracle,
}


def exists(player: Player) -> bool:
    """Whether this version of the library has the learner."""
    return player.learner in VARIANTS or player.learner in LEARNERS


def make(player: Player, problem: Problem, seed: int, rounds: int, best: Sequence[int]) -> Learner:
    """The learner of a player."""
    if player.learner in VARIANTS:
        return VARIANTS[player.learner](problem, seed, rounds, best)
    return make_learner(player.learner, problem, seed)


@cache
def warm(player: Player) -> None:
    """Let the player's code be compiled, or read from disk, before any clock runs."""
    stream, truth = kh.streams.realizable(d=8, k=2, n=300, seed=0)
    X, y = kh.streams.collect(stream)
    try:
        learner = make(player, Problem(8, 2, 6), 0, len(y), truth.support.tolist())
        kh.play(learner, kh.streams.ArrayStream(X, y), keep_predictions=False)
    except Exception:  # the cell itself will say what is wrong
        return


def alone() -> Any:
    """A context in which linear algebra uses one thread: cells run side by side."""
    return extra("threadpoolctl", "bench").threadpool_limits(1)


def find_best(setting: Setting, seed: int) -> Row:
    """Losses of the best model in hindsight and of the best constant, in the stream's own units."""
    began = time.monotonic()
    with alone():
        stream, _, unit = instance(setting, seed)
        limit = SEARCH_ONCE if setting.one_instance else SEARCH
        best = kh.hindsight(stream, setting.features, intercept=True, seconds=limit)
        curve = {}
        if setting.curve:
            rounds = _marks(setting.rounds)
            models = kh.hindsight_curve(
                stream, setting.features, rounds, intercept=True, seconds=CURVE
            )
            curve = {str(t): m.loss.low * unit for t, m in zip(rounds, models, strict=True)}
    return {
        "low": best.loss.low * unit,
        "high": best.loss.high * unit,
        "constant": best.empty_loss * unit,
        "support": best.support.tolist(),
        "curve": curve,
        "seconds": time.monotonic() - began,
    }


@lru_cache(maxsize=1)
def _same(setting: Setting, seed: int, changed: int) -> Instance:
    """The rows that players meet one after the other."""
    return instance(setting, seed)


def play_cell(setting: Setting, seed: int, player: Player, support: Sequence[int]) -> Row:
    """One player on an instance, told the support of the best model if it wants to know."""
    path = setting.arguments.get("path")
    with alone():
        made = _same(setting, seed, Path(str(path)).stat().st_mtime_ns if path else 0)
        warm(player)
        try:
            problem = Problem(setting.d, setting.k, setting.budget)
            learner = make(player, problem, seed, setting.rounds, support)
        except kh.ProblemError as refusal:
            return {"refused": str(refusal)}
        raw = player.kind == "raw"
        began = time.process_time()
        ledger = kh.play(learner, made.raw if raw else made.played, keep_predictions=False)
        seconds = time.process_time() - began
    unit = 1.0 if raw else made.squared_unit
    return {
        "loss": ledger.loss * unit,
        "reads": ledger.mean_reads,
        "most_reads": ledger.most_reads,
        "microseconds": 1e6 * seconds / ledger.rounds,
        "marks": _losses(ledger, unit),
    }


def _marks(rounds: int) -> list[int]:
    """FIRST_MARK, its doublings, not beyond the rounds played."""
    return [2**i for i in range(FIRST_MARK.bit_length() - 1, rounds.bit_length()) if 2**i <= rounds]


def _losses(ledger: Ledger, unit: float) -> dict[str, float]:
    wanted = set(_marks(ledger.rounds))
    return {str(c.round): c.loss * unit for c in ledger.checkpoints if c.round in wanted}
