"""How fast the Dantzig program is solved, against every other solver at hand, in one run.

    python -m benchmarks.dantzig [--quick] [--smallest 50] [--largest 5000] [--seconds 60]

Problems are built as Algorithm 1 builds them: Rademacher or Toeplitz rows of which a fifth of the
features is seen, G and b weighted by exact inclusion probabilities (so G is indefinite), lam chosen
for a wanted number of non-zeros. Median times. A peer that needs more than --seconds for one
problem is not asked about larger ones (no smaller d, no fewer non-zeros); the table says so.
OR-tools and pyprimal are optional: what is missing is said.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dantzig_cases import GRID, Case, estimates, moments, threshold
from benchmarks.dantzig_peers import PEERS, measured, missing, timed
from keyhole.blocks.dantzig import solve as dantzig
from keyhole.blocks.dantzig.kernels import engine as kernels

STREAMS = ((200, "rademacher", 20), (1000, "rademacher", 30), (1000, "toeplitz", 60))


def compare(
    case: Case, peers: list[str], slow: dict[str, tuple[int, int]], seconds: float
) -> dict[str, Any]:
    """One row of the table; `slow`: d and non-zeros of the problem that was too much for a peer."""
    G, b, lam, d = case.G, case.b, case.lam, len(case.b)
    answer = dantzig.solve(G, b, lam)
    bound, basis = np.full(d, lam), answer.basis
    w, u = answer.w[basis.columns], answer.dual[basis.rows]
    args = G, b, bound, basis.columns, w, basis.rows, u
    # Before and after the peers: the machine may be busy with other things.
    times = [timed(partial(dantzig.solve, G, b, lam), 21)]
    row: dict[str, Any] = {
        "problem": case.name,
        "d": d,
        "nonzeros": answer.nonzeros,
        "pivots": answer.pivots,
        "engine": answer.engine,
        "gap": answer.gap,
        "floor ms": 1e3 * timed(lambda: kernels.certify(*args), 51),
        "peer ms": {},
        "objective differs": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/case.npz"
        np.savez(file, G=G, b=b, lam=lam)
        for name in peers:
            before, fewer = slow.get(name, (d + 1, 0))
            if before <= d and fewer <= answer.nonzeros:
                row["peer ms"][name] = f"slow at {before}"
                continue
            found = measured(name, file, seconds)
            times.append(timed(partial(dantzig.solve, G, b, lam), 21))
            if isinstance(found, str):
                row["peer ms"][name] = f"> {seconds:.0f} s" if found == "time" else found
                slow[name] = d, answer.nonzeros
                continue
            row["peer ms"][name] = 1e3 * found[0]
            if found[0] > seconds:
                slow[name] = d, answer.nonzeros
            if np.isfinite(found[1]):
                total = np.abs(answer.w).sum()
                row["objective differs"][name] = abs(found[1] - total) / total
    row["ms"] = 1e3 * statistics.median(times)
    return row


def show(row: dict[str, Any], peers: list[str]) -> None:
    """Print one row."""
    told = [row["peer ms"][name] for name in peers]
    cells = [x if isinstance(x, str) else f"{x / row['ms']:,.0f}" for x in told]
    print(
        f"{row['problem']:<29} {row['nonzeros']:>4} {row['pivots']:>6} {row['ms']:>9.3f} "
        f"{row['ms'] / row['floor ms']:>6.1f}  " + " ".join(f"{x:>15}" for x in cells),
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


def show_stream(one: dict[str, Any]) -> None:
    """Print one stream."""
    print(f"stream {one['problem']}: warm / cold time, median {one['median warm / cold']:.2f}")
    for t, n, cold, warm, before, after, ratio in one["rows"]:
        print(
            f"   t {t:>6}  nnz {n:>3}  pivots {cold:>4} cold {warm:>4} warm  "
            f"us {before:>5.0f} cold {after:>5.0f} warm  ratio {ratio:.2f}"
        )


def main(arguments: list[str] | None = None) -> None:
    """Run the grid and the streams; `arguments` as on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only d <= 200")
    parser.add_argument("--json", default="", help="write the numbers to this file")
    parser.add_argument("--seconds", type=float, default=60.0, help="patience with a peer")
    parser.add_argument("--smallest", type=int, default=0, help="smallest d")
    parser.add_argument("--largest", type=int, default=5000, help="largest d")
    parser.add_argument("--skip", default="", help="peers to leave out, by comma")
    options = parser.parse_args(arguments)
    largest = 200 if options.quick else options.largest
    wanted_peers = [name for name in PEERS if name not in options.skip.split(",")]
    absent = [name for name in wanted_peers if missing(name)]
    peers = [name for name in wanted_peers if name not in absent]
    streams = [stream(d, design, n) for d, design, n in STREAMS if options.smallest <= d <= largest]
    for one in streams:
        show_stream(one)
    print("missing:", ", ".join(absent) or "none")
    print(f"{'problem':<29} {'nnz':>4} {'pivots':>6} {'ms':>9} {'/floor':>6}  ", end="")
    print(" ".join(f"{name:>15}" for name in peers), "  (times slower)")
    rows, slow = [], dict[str, tuple[int, int]]()
    for d, examples, design, targets in GRID:
        if options.smallest <= d <= largest:
            G, b = estimates(moments(d, examples, design, seed=0), examples)
            for wanted in targets:
                name = f"{d} {design} {examples} {wanted}"
                case = Case(name, G, b, threshold(G, b, wanted))
                rows.append(compare(case, peers, slow, options.seconds))
                show(rows[-1], peers)
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        with open(options.json, "w") as file:
            json.dump({"missing": absent, "solve": rows, "stream": streams}, file, indent=1)


if __name__ == "__main__":
    main()
