"""What `benchmarks.auto` measures on simulated streams. How it is shown: `tables.py`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.auto.grammix import grammix
from benchmarks.common import Row
from benchmarks.common.timing import floor_kernel, random_sets
from keyhole.blocks.auto import state as parts_of_auto
from keyhole.blocks.auto.mixture import Mixture, mix
from keyhole.blocks.auto.state import TAUS, new_state
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream, collect

SEARCH = 10.0  # seconds for the best k-sparse model; where they do not do, what was found counts


Change = Callable[[Mixture], None]


@contextmanager
def memories(taus: tuple[float, ...]) -> Iterator[None]:
    """AutoLearner with other memories, while it lasts."""
    before = parts_of_auto.TAUS
    vars(parts_of_auto)["TAUS"] = taus
    try:
        yield
    finally:
        vars(parts_of_auto)["TAUS"] = before


def losses(
    X: Any,
    y: Floats,
    problem: kh.Problem,
    seed: int,
    *,
    proper: bool = False,
    taus: tuple[float, ...] = TAUS,
    mute: Change | None = None,
    against: Floats | None = None,
    **settings: Any,
) -> Floats:
    """AutoLearner's squared losses, round by round, from y or what is given as `against`.

    NaN throughout if the referee stopped the game: such a run has no regret, and tables say so.
    """
    with memories(taus):
        learner = kh.AutoLearner(problem, seed=seed, proper=proper)
        if settings or taus != TAUS or mute is not None:
            learner._settings = learner._settings._replace(**settings)
            learner._state = new_state(learner._settings)
            if mute is not None:
                mute(learner._state.mixture)
        try:
            ledger = kh.play(learner, ArrayStream(X, y))
        except kh.DataError as error:
            print(f"seed {seed}, proper={proper}, {settings}: {error}", file=sys.stderr, flush=True)
            return np.full(len(y), np.nan)
    squared: Floats = ((y if against is None else against) - ledger.predictions) ** 2
    return squared


def instance(name: str, n: int, seed: int) -> tuple[Any, Floats, kh.Problem, float]:
    """Rows, labels, problem of a stream of the suite, and the loss of the best k-sparse model."""
    case = AGNOSTIC_SUITE[name]
    X, y = collect(case.simulate(n, seed).stream)
    best = kh.hindsight(ArrayStream(X, y), case.problem.k, seconds=SEARCH)
    return X, y, case.problem, best.loss.high


# Ten streams, beside the recipe.


def run_ten(name: str, seed: int, n: int) -> Row:
    """Regret of everyone on one instance."""
    X, y, problem, best = instance(name, n, seed)
    plain = float(((y - grammix(X, y, problem.budget, seed=seed)) ** 2).sum())
    bare = float(((y - grammix(X, y, problem.budget, net=False, seed=seed)) ** 2).sum())
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
        best = kh.hindsight(stream, case.problem.k, seconds=SEARCH).loss.high
        row[str(power)] = float(paid[2**power - 1]) - best
    return row


# Leave one part out.


def muted(*experts: int, bold: bool = False) -> Change:
    """Experts that are charged and never heard."""

    def mute(mixture: Mixture) -> None:
        heard = np.ones(len(mixture.recent))
        heard[list(experts)] = 0.0
        for part, fresh in zip(mixture, mix(heard), strict=True):
            part[...] = fresh
        if bold:
            mixture.prior[-1] = 0.0

    return mute


ABLATIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no safety net (slots = 0)": {"slots": 0, "net": 0},
    "optimism 0": {"optimism": 0.0},
    "optimism 1.5": {"optimism": 1.5},
    "threshold × 0.6": {"threshold": 0.6},
    "threshold × 1.2": {"threshold": 1.2},
    "no experts on the best k": {"mute": muted(3, 4, 5)},
    "no expert on everything read": {"mute": muted(9)},
    "no bold average": {"mute": muted(bold=True)},
    "only the memory of all rounds": {"taus": TAUS[:1]},
    "no memory of 64 rounds": {"taus": TAUS[:2]},
}
ABLATED = ("iid", "switch", "flip", "geo", "iid300")


def run_ablation(name: str, seed: int, n: int) -> Row:
    """Regret with one part left out or one constant moved, all on the same instance."""
    X, y, problem, best = instance(name, n, seed)
    row: Row = {"stream": name, "seed": seed}
    for what, changes in ABLATIONS.items():
        change = dict(changes)
        if "threshold" in change:
            change["threshold"] *= kh.AutoLearner(problem)._settings.threshold
        row[what] = float(losses(X, y, problem, seed, **change).sum()) - best
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
