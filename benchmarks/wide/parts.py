"""What `benchmarks.wide` measures: the time of a round, what is found and when, regret."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.wide.columns import Columns, Game, found_after
from keyhole.learners.blocks.auto.parts import ACTIVE, PER_READ
from keyhole.learners.blocks.sums.memories import COUNT, PRODUCT, SQUARE
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE, collect

SUITES: dict[str, Any] = {**AGNOSTIC_SUITE, **REALIZABLE_SUITE}

BUDGET, K = 32, 4
SIXTEEN = kh.AutoParts(shortest=16)  # batches of 16 from the first round on
WARM, TURNS, BATCHES = 60, 8, 15  # batches before the clock runs, turns, batches of each turn


def bytes_of(thing: Any) -> int:
    """Bytes of all arrays in nested tuples."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    return sum(map(bytes_of, thing)) if isinstance(thing, tuple) else 0


def _read_before(learner: kh.AutoLearner) -> None:
    """As if every feature that rests had been read four times: first reads are cheaper than what
    comes after them, and of a million features they take long.
    """
    kept, rng = learner._state.kept, np.random.default_rng(0)
    if kept.rest.shape[1]:
        kept.rest[:, :, SQUARE] = kept.rest[:, :, COUNT] = 4.0
        kept.rest[:, :, PRODUCT] = 2.0 * rng.standard_normal(kept.rest.shape[1])
        learner._state.values.reads[:] = 4.0


def run_time(sizes: tuple[int, ...], dense: int) -> Row:
    """Microseconds of processor time a round takes the learner: the best of some turns, in turns.

    `dense` features with a seat for each of them, and each of `sizes` with as many as usual.
    """
    parts = {f"dense {dense}": (dense, replace(SIXTEEN, active=dense))}
    parts |= {str(d): (d, SIXTEEN) for d in sizes}
    games = {
        name: Game(kh.AutoLearner(kh.Problem(d, K, BUDGET), seed=0, parts=how), Columns(d, K, 0))
        for name, (d, how) in parts.items()
    }
    for game in games.values():
        _read_before(game.learner)
        for _ in range(WARM):
            game.batch()
    best = dict.fromkeys(games, np.inf)
    for _ in range(TURNS):
        for name, game in games.items():
            before, begun = game.seconds, game.round
            for _ in range(BATCHES):
                game.batch()
            best[name] = min(best[name], (game.seconds - before) / (game.round - begun))
    sizes_of = {name: bytes_of(game.learner._state) for name, game in games.items()}
    row: Row = {"timed": True, "budget": BUDGET, "batches of": 16}
    row |= {f"us {name}": 1e6 * seconds for name, seconds in best.items()}
    return row | {f"bytes {name}": size for name, size in sizes_of.items()}


def run_support(d: int, k: int, rho: float, seed: int, most: int) -> Row:
    """From which round on each feature that matters is kept; -1 if not by round `most`."""
    columns, begun = Columns(d, k, seed, rho=rho), time.process_time()
    game = Game(kh.AutoLearner(kh.Problem(d, k, BUDGET), seed=seed), columns)
    rounds = found_after(game, most)
    row: Row = {"d": d, "k": k, "rho": rho, "seed": seed, "most": most, "rounds": sorted(rounds)}
    row["last"] = -1 if min(rounds) < 0 else max(rounds)
    return row | {"seconds": time.process_time() - begun, "loss": game.loss / game.round}


def few_seats(problem: kh.Problem) -> int:
    """As many as there are by default beyond 1,024 features."""
    return max(ACTIVE, PER_READ * problem.width)


def wide_streams() -> list[str]:
    """The streams of the suites with more features than that."""
    return [name for name, one in SUITES.items() if few_seats(one.problem) < one.problem.d]


def run_regret(name: str, seed: int, n: int) -> Row:
    """The loss beyond that of the true model, with few seats and with one for all."""
    scenario = SUITES[name]
    stream, truth = scenario.simulate(n, seed)
    X, y = collect(stream)
    row: Row = {"stream": name, "seed": seed, "n": n}
    for form, active in (("few", few_seats(scenario.problem)), ("dense", scenario.problem.d)):
        parts = kh.AutoParts(active=active)
        learner = kh.AutoLearner(scenario.problem, seed=seed, parts=parts)
        row[form] = float(((learner.advance(X, y) - y) ** 2).sum())
    model = truth.intercept + X[:, truth.support] @ truth.weights[truth.support]
    row["truth"] = float(((model - y) ** 2).sum())
    return row
