"""What `benchmarks.auto` measures on simulated streams: each part is tasks, a run, and a table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import keyhole as kh
from benchmarks.grammix import grammix
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream, collect

Row = dict[str, Any]
LONG, SHORT = 2**16, 2**14
SEARCH = 10.0  # seconds for the best k-sparse model; where they do not do, what was found counts


class Part(NamedTuple):
    """`tasks(seeds)` lists arguments of `run`, whose rows `table` makes into markdown."""

    tasks: Callable[[int], list[tuple[Any, ...]]]
    run: Callable[..., Row]
    table: Callable[[list[Row]], str]


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    rows = [list(head), ["---"] * len(head), *[list(line) for line in lines]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def mean_error(values: Sequence[float], digits: int = 0) -> str:
    """Mean and standard error of the runs that came to an end, and how many did not."""
    good = [value for value in values if np.isfinite(value)]
    failed = (
        f"fails on {len(values) - len(good)} of {len(values)}" if len(good) < len(values) else ""
    )
    if not good:
        return failed
    spread = np.std(good, ddof=1) / np.sqrt(len(good)) if len(good) > 1 else np.nan
    shown = f"{np.mean(good):.{digits}f} ± {spread:.{digits}f}"
    return f"{shown} ({failed})" if failed else shown


def pick(rows: Sequence[Row], value: str, **like: Any) -> list[float]:
    """A value of the rows that agree with `like`."""
    return [row[value] for row in rows if all(row[key] == v for key, v in like.items())]


def names_of(rows: Sequence[Row], key: str) -> list[Any]:
    """The different values of a key, in the order of their first appearance in the program."""
    return list(dict.fromkeys(row[key] for row in rows))


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
    best = kh.hindsight(ArrayStream(X, y), case.problem.k, seconds=SEARCH)
    return X, y, case.problem, best.loss.high


# Ten streams, beside the recipe.


def run_ten(name: str, seed: int) -> Row:
    """Regret of everyone on one instance."""
    X, y, problem, best = instance(name, LONG, seed)
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


def table_ten(rows: list[Row]) -> str:
    """A row per learner, a column per stream; then how many seeds AutoLearner won."""
    streams = [name for name in AGNOSTIC_SUITE if pick(rows, "seed", stream=name)]
    ways = [key for key in rows[0] if key not in ("stream", "seed")]
    lines = [[way, *(mean_error(pick(rows, way, stream=s)) for s in streams)] for way in ways]
    won = []
    for s in streams:
        pairs = zip(
            pick(rows, "AutoLearner", stream=s),
            pick(rows, "GramMix + BEXP", stream=s),
            strict=True,
        )
        better = [a < b for a, b in pairs]
        won.append(f"{sum(better)} of {len(better)}")
    return markdown(["", *streams], [*lines, ["seeds AutoLearner beats GramMix + BEXP", *won]])


# Growth.

POWERS = (14, 16, 18)


def run_growth(name: str, seed: int) -> Row:
    """Regret after 2^14, 2^16, 2^18 rounds, each against the best model of those rounds."""
    case = AGNOSTIC_SUITE[name]
    X, y = collect(case.simulate(2 ** POWERS[-1], seed).stream)
    X = X.astype(np.float32) if name == "iid" else X  # signs are exact in float32
    paid = np.cumsum(losses(X, y, case.problem, seed))
    row: Row = {"stream": name, "seed": seed}
    for power in POWERS:
        stream = ArrayStream(X[: 2**power], y[: 2**power])
        best = kh.hindsight(stream, case.problem.k, seconds=SEARCH).loss.high
        row[str(power)] = float(paid[2**power - 1]) - best
    return row


def table_growth(rows: list[Row]) -> str:
    """Regret by T and log2 of the ratio of means, over 4."""
    lines = []
    for name in names_of(rows, "stream"):
        first, last = (np.mean(pick(rows, str(p), stream=name)) for p in (14, 18))
        cells = [mean_error(pick(rows, str(p), stream=name), 1) for p in POWERS]
        seeds = str(len(pick(rows, "seed", stream=name)))
        lines.append([name, *cells, f"{np.log2(last / first) / 4:.3f}", seeds])
    return markdown(["stream", "2^14", "2^16", "2^18", "exponent", "seeds"], lines)


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


def run_ablation(name: str, seed: int) -> Row:
    """Regret with one part left out or one constant moved, all on the same instance."""
    X, y, problem, best = instance(name, LONG, seed)
    row: Row = {"stream": name, "seed": seed}
    for what, parts in ablations(problem).items():
        row[what] = float(losses(X, y, problem, seed, parts=parts).sum()) - best
    return row


def table_ablation(rows: list[Row]) -> str:
    """A row per change."""
    streams = [name for name in ABLATED if pick(rows, "seed", stream=name)]
    changes = [key for key in rows[0] if key not in ("stream", "seed")]
    lines = [
        [what, *(mean_error(pick(rows, what, stream=s), 1) for s in streams)] for what in changes
    ]
    return markdown(["", *streams], lines)


# Cost.

SIZES = ((30, 12), (100, 24), (300, 32), (1000, 32))


def run_cost(d: int, budget: int) -> Row:
    """Microseconds of processor time per round of block play, beside the floor; best of three.

    Not beside the recipe: it is written here to be read, and copies whole matrices per batch.
    """
    from benchmarks.play import floor_kernel

    rng = np.random.default_rng(0)
    n = SHORT
    X = rng.choice([-1.0, 1.0], (n, d))
    y = 0.2 * X[:, :4].sum(axis=1) + 0.1 * rng.uniform(-1.0, 1.0, n)
    sets = np.array([np.sort(rng.permutation(d)[:budget]) for _ in range(n)])
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


def table_cost(rows: list[Row]) -> str:
    """A row per size."""
    ways = ("floor", "AutoLearner")
    lines = [
        [f"{r['d']}, {r['budget']}", *(f"{r[w]:.2f}" for w in ways),
         f"{r['AutoLearner'] / r['floor']:.0f}"]
        for r in sorted(rows, key=lambda r: int(r["d"]))
    ]  # fmt: skip
    return markdown(["d, budget", *ways, "AutoLearner / floor"], lines)


SIMULATED: dict[str, Part] = {
    "cost": Part(lambda seeds: list(SIZES), run_cost, table_cost),
    "ten": Part(
        lambda seeds: [(name, seed) for seed in range(seeds) for name in AGNOSTIC_SUITE],
        run_ten,
        table_ten,
    ),
    "growth": Part(
        lambda seeds: [(n, s) for s in range(min(seeds, 5)) for n in ("iid", "iid300")],
        run_growth,
        table_growth,
    ),
    "ablation": Part(
        lambda seeds: [(name, seed) for seed in range(min(seeds, 5)) for name in ABLATED],
        run_ablation,
        table_ablation,
    ),
}
