"""How fast the Dantzig program is solved, against every other solver at hand, in one run.

Problems are built as Algorithm 1 builds them: Rademacher or Toeplitz rows of which a fifth of the
features is seen, G and b weighted by exact inclusion probabilities (so G is indefinite), lam chosen
for a wanted number of non-zeros. Median times.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import lru_cache, partial

import numpy as np

from benchmarks.common import Row
from benchmarks.common.timing import timed
from benchmarks.dantzig.cases import Case, estimates, moments, threshold
from benchmarks.dantzig.peers import measured
from keyhole.learners.blocks.dantzig import homotopy as kernels
from keyhole.learners.blocks.dantzig import solve as dantzig
from keyhole.problem import Floats


@lru_cache(maxsize=1)
def program(d: int, examples: int, design: str) -> tuple[Floats, Floats]:
    """G and b, which problems with other non-zeros share."""
    return estimates(moments(d, examples, design, seed=0), examples)


def run_solve(
    d: int, examples: int, design: str, wanted: int, peers: list[str], seconds: float
) -> Row:
    """One problem, solved here and by peers; who needs more than some time is stopped."""
    G, b = program(d, examples, design)
    case = Case(f"{d} {design} {examples} {wanted}", G, b, threshold(G, b, wanted))
    solve = partial(dantzig.solve, G, b, case.lam)
    answer = solve()
    bound, basis = np.full(d, case.lam), answer.basis
    w, u = answer.w[basis.columns], answer.dual[basis.rows]
    certify = partial(kernels.certify, G, b, bound, basis.columns, w, basis.rows, u)
    # Before and after the peers: the machine may be busy with other things.
    times = [timed(solve, 21)]
    row: Row = {
        "problem": case.name,
        "d": d,
        "nonzeros": answer.nonzeros,
        "pivots": answer.pivots,
        "engine": answer.engine,
        "gap": answer.gap,
        "floor ms": 1e3 * timed(certify, 51),
        "peer ms": {},
        "objective differs": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/case.npz"
        np.savez(file, G=G, b=b, lam=case.lam)
        for name in peers:
            found = measured(name, file, seconds)
            times.append(timed(solve, 21))
            if isinstance(found, str):
                row["peer ms"][name] = f"> {seconds:.0f} s" if found == "time" else found
                continue
            row["peer ms"][name] = 1e3 * found[0]
            if np.isfinite(found[1]):
                total = np.abs(answer.w).sum()
                row["objective differs"][name] = abs(found[1] - total) / total
    row["ms"] = 1e3 * statistics.median(times)
    return row


def run_stream(d: int, design: str, wanted: int) -> Row:
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
            a, w = np.median(times, axis=0).tolist()
            warm = dantzig.solve(G, b, lam, start=start)
            rows.append((now, cold.nonzeros, cold.pivots, warm.pivots, 1e6 * a, 1e6 * w, w / a))
        start = cold.basis if cold.nonzeros else None
    return {
        "problem": f"{d} {design}",
        "columns": "t, non-zeros, cold pivots, warm pivots, cold us, warm us, warm / cold",
        "rows": rows,
        "median warm / cold": statistics.median(row[-1] for row in rows),
    }
