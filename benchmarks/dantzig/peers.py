"""The other solvers of the Dantzig program, each in a process of its own and with a time limit.

    python -m benchmarks.dantzig.peers NAME FILE

solves the problem in FILE (G, b, lam) and prints seconds and objective. A process of its own,
because some cannot be told to stop, and because OR-tools brings a library that highspy trips over.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.timing import timed
from benchmarks.dantzig.cases import Case

Run = Callable[[], float]  # solves, returns the objective or NaN


def by_highspy(case: Case) -> Run:
    """Two-sided rows, the model passed in one call."""
    from keyhole.learners.blocks.dantzig import highs as dantzig_highs

    lam = np.full(len(case.b), case.lam)
    return lambda: float(np.abs(dantzig_highs.solve(case.G, case.b, lam).w).sum())


def by_scipy(case: Case, method: str) -> Run:
    """One-sided rows: scipy's linprog has no others."""
    linprog: Any = importlib.import_module("scipy.optimize").linprog
    G, b, lam = case.G, case.b, case.lam
    A = np.block([[G, -G], [-G, G]])
    bound = np.concatenate((b + lam, lam - b))
    return lambda: float(linprog(np.ones(2 * len(b)), A, bound, method=method).fun)


def by_ortools(case: Case, solver: str) -> Run:
    """GLOP or PDLP, two-sided rows; building the model is not counted."""
    import scipy.sparse

    helper: Any = importlib.import_module("ortools.linear_solver.python.model_builder_helper")
    G, b, lam, d = case.G, case.b, case.lam, len(case.b)
    model = helper.ModelBuilderHelper()
    zero, above, ones = np.zeros(2 * d), np.full(2 * d, np.inf), np.ones(2 * d)
    rows = scipy.sparse.csr_matrix(np.concatenate((G, -G), axis=1))
    model.fill_model_from_sparse_data(zero, above, ones, b - lam, b + lam, rows)

    def run() -> float:
        engine = helper.ModelSolverHelper(solver)
        engine.solve(model)
        return float(engine.objective_value()) if engine.has_solution() else np.nan

    return run


def by_pyprimal(case: Case) -> Run:
    """The path down to lam of the positive part of G, X = G_+^(1/2): it only takes X and y."""
    dantzig_solver: Any = importlib.import_module("pyprimal").dantzig_solver
    values, vectors = np.linalg.eigh(case.G)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    inverse = np.where(values > 1e-9, 1.0 / np.sqrt(np.maximum(values, 1e-9)), 0.0)
    y = inverse * (vectors.T @ case.b)

    def run() -> float:
        dantzig_solver(root, y, 100_000, case.lam)
        return np.nan

    return run


# Name, the module it needs, how it is prepared.
PEERS: dict[str, tuple[str, Callable[[Case], Run]]] = {
    "highspy": ("highspy", by_highspy),
    "scipy highs-ds": ("scipy", lambda case: by_scipy(case, "highs-ds")),
    "scipy highs-ipm": ("scipy", lambda case: by_scipy(case, "highs-ipm")),
    "GLOP": ("ortools", lambda case: by_ortools(case, "glop")),
    "PDLP": ("ortools", lambda case: by_ortools(case, "pdlp")),
    "pyprimal": ("pyprimal", by_pyprimal),
}


def missing(name: str) -> bool:
    """Whether that peer is not installed."""
    return importlib.util.find_spec(PEERS[name][0]) is None


def measured(name: str, file: str, limit: float) -> tuple[float, float] | str:
    """Seconds and objective of a peer on the problem in `file`, or why there are none.

    It gets twice the limit and a minute: models are built before the clock starts.
    """
    command = [sys.executable, "-m", "benchmarks.dantzig.peers", name, file]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=2 * limit + 60, check=False
        )
    except subprocess.TimeoutExpired:
        return "time"
    lines = [line for line in done.stdout.splitlines() if line.startswith("took ")]
    if done.returncode != 0 or not lines:
        return "memory" if done.returncode in (-9, -6) or "MemoryError" in done.stderr else "error"
    _, seconds, objective = lines[-1].split()
    return float(seconds), float(objective)


def main() -> None:
    """Solve one problem, print what it took."""
    name, file = sys.argv[1:]
    stored = np.load(Path(file))
    run = PEERS[name][1](Case(name, stored["G"], stored["b"], float(stored["lam"])))
    start = time.perf_counter()
    objective = run()
    seconds = time.perf_counter() - start
    if seconds < 2:
        seconds = min(seconds, timed(run, 3))
    print("took", seconds, objective)


if __name__ == "__main__":
    main()
