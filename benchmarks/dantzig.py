"""How fast the Dantzig program is solved, against every other solver at hand, in one run.

    python -m benchmarks.dantzig [--quick] [--smallest 50] [--largest 5000] [--seconds 60]

Problems are built as Algorithm 1 builds them: Rademacher or Toeplitz rows of which a fifth of the
features is seen, G and b weighted by exact inclusion probabilities (so G is indefinite), lam chosen
for a wanted number of non-zeros. Median times; a peer that needs more than --seconds for one
problem is left out for larger ones. OR-tools and pyprimal are optional: what is missing is said.
Model building is not counted for OR-tools. pyprimal only takes X and y: it is timed on the positive
part of G, X = G_+^(1/2), the closest problem it can state, from lam = infinity to the same lam.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keyhole.blocks import dantzig, dantzig_highs
from keyhole.blocks.kernels import dantzig as kernels
from keyhole.problem import Floats

GRID = [
    # d, examples, design, wanted non-zeros
    (50, 2_000, "rademacher", (5, 20, 45)),
    (200, 8_000, "rademacher", (5, 20, 50, 100)),
    (200, 8_000, "toeplitz", (20, 50)),
    (1000, 20_000, "rademacher", (5, 20, 50, 120)),
    (1000, 20_000, "toeplitz", (20, 50)),
    (1000, 8_000, "rademacher", (50, 270)),
    (2000, 30_000, "rademacher", (5, 20, 50, 100)),
    (5000, 40_000, "rademacher", (5, 20, 50, 100)),
]


class Case(NamedTuple):
    """One problem, and where it comes from."""

    name: str
    G: Floats
    b: Floats
    lam: float


def moments(d: int, examples: int, design: str, seed: int, k: int = 10) -> Floats:
    """Sums of x xT and y x over the seen entries of rows, stacked as (d + 1, d)."""
    rng = np.random.default_rng(seed)
    share, sums = max(2, d // 5), np.zeros((d + 1, d))
    truth = np.zeros(d)
    support = rng.choice(d, min(k, d), replace=False)
    truth[support] = rng.uniform(0.5, 1.5, len(support)) * rng.choice([-1, 1], len(support))
    truth /= np.abs(truth).sum()
    rng = np.random.default_rng((seed, examples))
    for first in range(0, examples, 2000):
        n = min(2000, examples - first)
        X = rng.normal(size=(n, d))
        if design == "rademacher":
            X = np.sign(X)
        else:
            for j in range(1, d):
                X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
        y = X @ truth + 0.1 * rng.normal(size=n)
        hidden = np.argpartition(rng.random((n, d)), share, axis=1)[:, share:]
        np.put_along_axis(X, hidden, 0.0, axis=1)
        sums[:d] += X.T @ X
        sums[d] += X.T @ y
    return sums


def estimates(sums: Floats, examples: int) -> tuple[Floats, Floats]:
    """G and b by inclusion probabilities, as in Algorithm 1."""
    d = sums.shape[1]
    share = max(2, d // 5)
    single, pair = share / d, share * (share - 1) / (d * (d - 1))
    G = sums[:d] / (pair * examples)
    G[np.diag_indices(d)] *= pair / single
    return (G + G.T) / 2, sums[d] / (single * examples)


def threshold(G: Floats, b: Floats, wanted: int) -> float:
    """Some lam whose solution has about `wanted` non-zeros, by bisection."""
    low, high = 0.0, float(np.abs(b).max())
    best, error = high, wanted
    for _ in range(25):
        lam = 0.75 * high if low == 0.0 else (low + high) / 2
        answer = dantzig.solve(G, b, lam)
        dense = answer.status != "optimal" or answer.nonzeros >= wanted
        if answer.status == "optimal" and abs(answer.nonzeros - wanted) < error:
            best, error = lam, abs(answer.nonzeros - wanted)
        if error == 0:
            break
        low, high = (lam, high) if dense else (low, lam)
    return best


def timed(run: Callable[[], Any], repeats: int) -> float:
    """Median seconds of `run`, fewer repeats if it is slow."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
        if sum(times) > 10:
            break
    return statistics.median(times)


def by_scipy(method: str) -> Callable[[Case], Callable[[], float]]:
    """One-sided rows: scipy's linprog has no others."""
    linprog: Any = importlib.import_module("scipy.optimize").linprog

    def prepare(case: Case) -> Callable[[], float]:
        G, b, lam = case.G, case.b, case.lam
        A = np.block([[G, -G], [-G, G]])
        bound = np.concatenate((b + lam, lam - b))

        def run() -> float:
            return float(linprog(np.ones(2 * len(b)), A, bound, method=method).fun)

        return run

    return prepare


def by_highspy(case: Case) -> Callable[[], float]:
    """Two-sided rows, the model passed in one call."""
    lam = np.full(len(case.b), case.lam)
    return lambda: float(np.abs(dantzig_highs.solve(case.G, case.b, lam).w).sum())


def by_ortools(solver: str) -> Callable[[Case], Callable[[], float]]:
    """GLOP or PDLP in a process of its own: OR-tools brings a library that highspy trips over."""
    if importlib.util.find_spec("ortools") is None:
        raise ImportError("ortools")

    def prepare(case: Case) -> Callable[[], float]:
        def run() -> float:
            with tempfile.TemporaryDirectory() as folder:
                file = f"{folder}/case.npz"
                np.savez(file, G=case.G, b=case.b, lam=case.lam)
                command = [sys.executable, __file__, "--ortools", solver, file]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, objective = map(float, done.stdout.split())
            CHILD[0] = seconds
            return objective

        return run

    return prepare


CHILD = [0.0]  # seconds of the last solve that was timed in its own process


def ortools_child(solver: str, file: str) -> None:
    """Solve one problem with OR-tools, two-sided rows, and print seconds and objective."""
    import scipy.sparse

    helper: Any = importlib.import_module("ortools.linear_solver.python.model_builder_helper")
    case = np.load(file)
    G, b, lam, d = case["G"], case["b"], float(case["lam"]), len(case["b"])
    model = helper.ModelBuilderHelper()
    zero, above, ones = np.zeros(2 * d), np.full(2 * d, np.inf), np.ones(2 * d)
    rows = scipy.sparse.csr_matrix(np.concatenate((G, -G), axis=1))
    model.fill_model_from_sparse_data(zero, above, ones, b - lam, b + lam, rows)
    engine = helper.ModelSolverHelper(solver)
    engine.set_time_limit_in_seconds(120.0)
    start = time.perf_counter()
    engine.solve(model)
    seconds = time.perf_counter() - start
    print(seconds, engine.objective_value() if engine.has_solution() else np.nan)


def by_pyprimal(case: Case) -> Callable[[], float]:
    """The path of the positive part of G down to lam."""
    dantzig_solver: Any = importlib.import_module("pyprimal").dantzig_solver

    values, vectors = np.linalg.eigh(case.G)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    inverse = np.where(values > 1e-9, 1.0 / np.sqrt(np.maximum(values, 1e-9)), 0.0)
    y = inverse * (vectors.T @ case.b)

    def run() -> float:
        dantzig_solver(root, y, 100_000, case.lam)
        return np.nan

    return run


PEERS: dict[str, Callable[[], Callable[[Case], Callable[[], float]]]] = {
    "highspy": lambda: by_highspy,
    "scipy highs-ds": lambda: by_scipy("highs-ds"),
    "scipy highs-ipm": lambda: by_scipy("highs-ipm"),
    "GLOP": lambda: by_ortools("glop"),
    "PDLP": lambda: by_ortools("pdlp"),
    "pyprimal": lambda: _needs("pyprimal", by_pyprimal),
}


def _needs(
    module: str, run: Callable[[Case], Callable[[], float]]
) -> Callable[[Case], Callable[[], float]]:
    importlib.import_module(module)
    return run


def compare(
    case: Case, peers: dict[str, Any], slow: dict[str, int], seconds: float
) -> dict[str, Any]:
    """One row of the table."""
    G, b, lam, d = case.G, case.b, case.lam, len(case.b)
    answer = dantzig.solve(G, b, lam)
    bound, basis = np.full(d, lam), answer.basis
    w, u = answer.w[basis.columns], answer.dual[basis.rows]
    args = G, b, bound, basis.columns, w, basis.rows, u
    mine = timed(lambda: dantzig.solve(G, b, lam), 21)
    row: dict[str, Any] = {
        "problem": case.name,
        "d": d,
        "nonzeros": answer.nonzeros,
        "pivots": answer.pivots,
        "engine": answer.engine,
        "gap": answer.gap,
        "ms": 1e3 * mine,
        "floor ms": 1e3 * timed(lambda: kernels.certify(*args), 51),
        "times slower": {},
        "objective differs": {},
    }
    for name, prepare in peers.items():
        if slow.get(name, 10**9) < d:
            continue
        run = prepare(case)
        start = time.perf_counter()
        objective = run()
        once = time.perf_counter() - start
        if name in ("GLOP", "PDLP"):
            once = CHILD[0]
        elif once > seconds:
            slow[name] = d
        else:
            once = timed(run, 3) if once < 2 else once
        if once > seconds:
            slow[name] = d
        row["times slower"][name] = once / mine
        if np.isfinite(objective):
            total = np.abs(answer.w).sum()
            row["objective differs"][name] = abs(objective - total) / total
    return row


def show(row: dict[str, Any], peers: dict[str, Any]) -> None:
    """Print one row."""
    ratios = " ".join(f"{row['times slower'].get(name, np.nan):>15,.0f}" for name in peers)
    floor = row["ms"] / row["floor ms"]
    print(
        f"{row['problem']:<24} {row['nonzeros']:>4} {row['pivots']:>6} {row['ms']:>9.3f} "
        f"{floor:>6.1f}  {ratios}",
        flush=True,
    )


def stream(d: int, design: str, wanted: int) -> dict[str, Any]:
    """Re-solving along a growing stream, t = 2^10, 2^10.5, ...: warm against cold.

    lam falls with the noise of b, so that the `wanted` true weights come in one by one.
    """
    t = [round(2 ** (10 + i / 2)) for i in range(15)]
    sums, start, rows = np.zeros((d + 1, d)), None, []
    for i, now in enumerate(t):
        sums = sums + moments(d, now - (t[i - 1] if i else 0), design, seed=1, k=wanted)
        G, b = estimates(sums, now)
        lam = 1.5 * float(np.abs(b).max()) * np.sqrt(d / now)
        cold = dantzig.solve(G, b, lam)
        if start is not None and cold.nonzeros:
            times = []
            for _ in range(31):  # alternating: the machine may be busy with other things
                a = timed(partial(dantzig.solve, G, b, lam), 1)
                times.append((a, timed(partial(dantzig.solve, G, b, lam, start=start), 1)))
            a, w = np.median(times, axis=0)
            warm = dantzig.solve(G, b, lam, start=start)
            row = now, cold.nonzeros, cold.pivots, warm.pivots, 1e6 * a, 1e6 * w, w / a
            rows.append(row)
        start = cold.basis if cold.nonzeros else None
    return {
        "problem": f"{d} {design}",
        "columns": "t, non-zeros, cold pivots, warm pivots, cold us, warm us, warm / cold",
        "rows": rows,
        "median warm / cold": statistics.median(row[-1] for row in rows),
    }


def main(arguments: list[str] | None = None) -> None:
    """Run the grid and the streams; `arguments` as on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only d <= 200")
    parser.add_argument("--json", default="", help="write the numbers to this file")
    parser.add_argument("--seconds", type=float, default=60.0, help="patience with a peer")
    parser.add_argument("--smallest", type=int, default=0, help="smallest d")
    parser.add_argument("--largest", type=int, default=5000, help="largest d")
    parser.add_argument("--skip", default="", help="peers to leave out, by comma")
    parser.add_argument("--ortools", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.ortools:
        return ortools_child(*options.ortools)
    largest = 200 if options.quick else options.largest
    peers, missing = {}, []
    for name, load in PEERS.items():
        if name in options.skip.split(","):
            continue
        try:
            peers[name] = load()
        except ImportError:
            missing.append(name)
    print("missing:", ", ".join(missing) or "none")
    print(f"{'problem':<24} {'nnz':>4} {'pivots':>6} {'ms':>9} {'/floor':>6}  ", end="")
    print(" ".join(f"{name:>15}" for name in peers), "  (times slower)")
    rows, slow = [], dict[str, int]()
    for d, examples, design, targets in GRID:
        if options.smallest <= d <= largest:
            G, b = estimates(moments(d, examples, design, seed=0), examples)
            for wanted in targets:
                case = Case(f"{d} {design} {wanted}", G, b, threshold(G, b, wanted))
                rows.append(compare(case, peers, slow, options.seconds))
                show(rows[-1], peers)
    streams = [
        stream(d, design, n)
        for d, design, n in (
            (200, "rademacher", 20),
            (1000, "rademacher", 30),
            (1000, "toeplitz", 60),
        )
        if options.smallest <= d <= largest
    ]
    for one in streams:
        print(f"stream {one['problem']}: warm / cold time, median {one['median warm / cold']:.2f}")
        for t, n, cold, warm, before, after, ratio in one["rows"]:
            print(
                f"   t {t:>6}  nnz {n:>3}  pivots {cold:>4} cold {warm:>4} warm  "
                f"us {before:>5.0f} cold {after:>5.0f} warm  ratio {ratio:.2f}"
            )
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        with open(options.json, "w") as file:
            json.dump({"missing": missing, "solve": rows, "stream": streams}, file, indent=1)
    return None


if __name__ == "__main__":
    main()
