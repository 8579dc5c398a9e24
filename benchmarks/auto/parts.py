"""What `benchmarks.auto` measures on simulated streams. How it is shown: `tables.py`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.auto.grammix import grammix
from benchmarks.common import Row
from benchmarks.common.timing import floor_kernel, random_sets
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream, collect

SEARCH = 10.0  # seconds for the best k-sparse model; where they do not do, what was found counts


USUAL = kh.AutoParts()


def without_net(problem: kh.Problem) -> kh.AutoParts:
    """AutoLearner without its safety net: what that would read is explored."""
    return replace(USUAL, slots=0, net=0, pool=USUAL.sizes(problem).pool)


def losses(
    X: Any,
    y: Floats,
    problem: kh.Problem,
    seed: int,
    *,
    proper: bool = False,
    parts: kh.AutoParts = USUAL,
    against: Floats | None = None,
) -> Floats:
    """AutoLearner's squared losses, round by round, from y or what is given as `against`.

    NaN throughout if the referee stopped the game: such a run has no regret, and tables say so.
    """
    learner = kh.AutoLearner(problem, seed=seed, proper=proper, parts=parts)
    try:
        ledger = kh.play(learner, ArrayStream(X, y))
    except kh.DataError as error:
        print(f"seed {seed}, proper={proper}, {parts}: {error}", file=sys.stderr, flush=True)
        return np.full(len(y), np.nan)
    squared: Floats = ((y if against is None else against) - ledger.predictions) ** 2
    return squared


def instance(name: str, n: int, seed: int) -> tuple[Any, Floats, kh.Problem, float]:
    """Rows, labels, problem of a stream of the suite, and the loss of the best k-sparse model."""
    case = AGNOSTIC_SUITE[name]
    X, y = collect(case.simulate(n, seed).stream)
    best = kh.hindsight(ArrayStream(X, y), case.problem.k, seconds=SEARCH, intercept=False)
    return X, y, case.problem, best.loss.high


# Ten streams, beside the recipe.


def run_ten(name: str, seed: int, n: int) -> Row:
    """Regret of everyone on one instance."""
    X, y, problem, best = instance(name, n, seed)
    plain = float(((y - grammix(X, y, problem.reads, seed=seed)) ** 2).sum())
    bare = float(((y - grammix(X, y, problem.reads, net=False, seed=seed)) ** 2).sum())
    return {
        "stream": name,
        "seed": seed,
        "predict 0": float(y @ y) - best,
        "GramMix without BEXP": bare - best,
        "GramMix + BEXP": plain - best,
        "AutoLearner": float(losses(X, y, problem, seed).sum()) - best,
        "AutoLearner, proper": float(losses(X, y, problem, seed, proper=True).sum()) - best,
    }


# Growth.


def powers_up_to(n: int) -> tuple[int, int, int]:
    """The powers of two at which regret is told: those of n / 16, n / 4, n."""
    last = n.bit_length() - 1
    return last - 4, last - 2, last


def run_growth(name: str, seed: int, n: int) -> Row:
    """Regret after n / 16, n / 4, n rounds, each against the best model of those rounds."""
    case = AGNOSTIC_SUITE[name]
    X, y = collect(case.simulate(n, seed).stream)
    X = X.astype(np.float32) if name == "iid" else X  # signs are exact in float32
    paid = np.cumsum(losses(X, y, case.problem, seed))
    row: Row = {"stream": name, "seed": seed}
    for power in powers_up_to(n):
        stream = ArrayStream(X[: 2**power], y[: 2**power])
        best = kh.hindsight(stream, case.problem.k, seconds=SEARCH, intercept=False).loss.high
        row[str(power)] = float(paid[2**power - 1]) - best
    return row


# Leave one part out.


def without(features: str) -> kh.AutoParts:
    """AutoLearner without the experts on these features."""
    return replace(
        USUAL, experts=tuple(kind for kind in USUAL.experts if kind.features != features)
    )


def ablations(problem: kh.Problem) -> Mapping[str, kh.AutoParts]:
    """AutoLearner with one part left out or one constant moved."""
    threshold = USUAL.sizes(problem).threshold
    return {
        "as it is": USUAL,
        "no safety net (slots = 0)": without_net(problem),
        "optimism 0": replace(USUAL, optimism=0.0),
        "optimism 1.5": replace(USUAL, optimism=1.5),
        "threshold × 0.6": replace(USUAL, threshold=0.6 * threshold),
        "threshold × 1.2": replace(USUAL, threshold=1.2 * threshold),
        "no experts on the best k": without("best"),
        "no expert on everything read": without("everything"),
        "no bold average": replace(USUAL, bold=0.0),
        "only the memory of all rounds": replace(USUAL, taus=USUAL.taus[:1]),
        "no memory of 64 rounds": replace(USUAL, taus=USUAL.taus[:2]),
    }


ABLATED = ("iid", "switch", "flip", "geo", "iid300")


def run_ablation(name: str, seed: int, n: int) -> Row:
    """Regret with one part left out or one constant moved, all on the same instance."""
    X, y, problem, best = instance(name, n, seed)
    row: Row = {"stream": name, "seed": seed}
    for what, parts in ablations(problem).items():
        row[what] = float(losses(X, y, problem, seed, parts=parts).sum()) - best
    return row


# Cost.

SIZES = ((30, 12), (100, 24), (300, 32), (1000, 32))


def run_cost(d: int, budget: int, n: int) -> Row:
    """Microseconds of processor time per round of block play, beside the floor; best of three.

    Not beside the recipe: it is written here to be read, and copies whole matrices per batch.
    """
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d))
    y = 0.2 * X[:, :4].sum(axis=1) + 0.1 * rng.uniform(-1.0, 1.0, n)
    sets = random_sets(d, budget, n, seed=1)
    G, problem = np.zeros((d, d)), kh.Problem(d, 4, budget)
    bought = np.empty((n, budget), dtype=np.int32)
    ways: dict[str, Callable[[], object]] = {
        "floor": lambda: floor_kernel(X, sets, G),
        "AutoLearner": lambda: kh.AutoLearner(problem).advance(X, y, bought),
    }
    row: Row = {"d": d, "budget": budget}
    for way in ways.values():
        way()
    for name, way in ways.items():
        times = []
        for _ in range(3):
            began = time.process_time()
            way()
            times.append(time.process_time() - began)
        row[name] = 1e6 * min(times) / n
    return row
