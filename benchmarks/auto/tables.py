"""The tables of docs/algorithms/auto-tables.md, from the rows of `benchmarks.auto`."""

from __future__ import annotations

import numpy as np

from benchmarks.auto.parts import ABLATED
from benchmarks.auto.rivals import ADVERSARIES
from benchmarks.common import Row
from benchmarks.common.files import FILES
from benchmarks.common.tables import markdown, mean_error, names_of, pick
from keyhole.streams import AGNOSTIC_SUITE


def table_ten(rows: list[Row]) -> str:
    """A row per learner, a column per stream; then how many seeds AutoLearner won."""
    streams = [name for name in AGNOSTIC_SUITE if pick(rows, "seed", stream=name)]
    ways = ("predict 0", "GramMix without BEXP", "GramMix + BEXP", "AutoLearner",
            "AutoLearner, proper")  # fmt: skip
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


def powers_of(rows: list[Row]) -> list[str]:
    """The powers of two at which these rows tell regret."""
    return [key for key in rows[0] if key.isdigit()]


def table_growth(rows: list[Row]) -> str:
    """Regret by T and log2 of the ratio of means, over 4."""
    lines, powers = [], powers_of(rows)
    for name in names_of(rows, "stream"):
        first, last = (np.mean(pick(rows, p, stream=name)) for p in (powers[0], powers[-1]))
        cells = [mean_error(pick(rows, p, stream=name), 1) for p in powers]
        seeds = str(len(pick(rows, "seed", stream=name)))
        lines.append([name, *cells, f"{np.log2(last / first) / 4:.3f}", seeds])
    return markdown(["stream", *(f"2^{p}" for p in powers), "exponent", "seeds"], lines)


def table_ablation(rows: list[Row]) -> str:
    """A row per change."""
    streams = [name for name in ABLATED if pick(rows, "seed", stream=name)]
    changes = [key for key in rows[0] if key not in ("stream", "seed")]
    lines = [
        [what, *(mean_error(pick(rows, what, stream=s), 1) for s in streams)] for what in changes
    ]
    return markdown(["", *streams], lines)


def table_cost(rows: list[Row]) -> str:
    """A row per size."""
    ways = ("floor", "AutoLearner")
    lines = [
        [f"{r['d']}, {r['budget']}", *(f"{r[w]:.2f}" for w in ways),
         f"{r['AutoLearner'] / r['floor']:.0f}"]
        for r in rows
    ]  # fmt: skip
    return markdown(["d, budget", *ways, "AutoLearner / floor"], lines)


def table_anti(rows: list[Row]) -> str:
    """A row per adversary and learner."""
    lines, powers = [], powers_of(rows)
    end = powers[-1]
    for candidates, look in ADVERSARIES:
        for net in (True, False):
            like = {"candidates": candidates, "look": look, "net": net}
            if not pick(rows, "seed", **like):
                continue
            cells = [mean_error(pick(rows, p, **like)) for p in powers]
            zero = float(np.mean(pick(rows, f"zero {end}", **like)))
            last = float(np.mean(pick(rows, end, **like)))
            who = "AutoLearner" if net else "without the net"
            lines.append(
                [f"{candidates}, by {look}", who, *cells, f"{zero:.0f}", f"{last / zero:.2f}"]
            )
    ends = [f"predict 0 at 2^{end}", f"ratio at 2^{end}"]
    return markdown(["candidates", "", *(f"2^{p}" for p in powers), *ends], lines)


NOTED = {
    "S1": 21, "S2": 29, "S3": 26, "S4": 8.3, "S5": 37, "S6": 7.1,
    "S7": 13, "S8": 38, "S9": 5.1, "S10": 8.0, "S12": 12,
}  # fmt: skip


def table_realizable(rows: list[Row]) -> str:
    """A column per stream."""
    found = [name for name in NOTED if pick(rows, "seed", stream=name)]
    ways = ("default", "default 2^12", "proper", "proper 2^12")
    lines = [[w, *(mean_error(pick(rows, w, stream=s), 1) for s in found)] for w in ways]
    lines.append(["best recipe of the notes, 2^16", *(f"{NOTED[s]:g}" for s in found)])
    for way in ("default", "proper"):
        ratio = [np.mean(pick(rows, way, stream=s)) / NOTED[s] for s in found]
        lines.append([f"ratio, {way}", *(f"{r:.2f}" for r in ratio)])
    return markdown([f"2^{rows[0]['rounds'].bit_length() - 1} rounds", *found], lines)


# Normalised regret in the notes: default, at most k features.
NOTED_FILES: dict[str, tuple[float, float]] = {
    "nycflights": (-0.028, -0.020),
    "blogfeedback": (0.031, 0.035),
    "beijing_air": (-0.021, 0.028),
    "supercon_magpie": (0.017, 0.033),
    "mnist_3v5": (-0.176, 0.039),
    "nhanes_a1c": (0.102, 0.109),
    "thyroid_cost": (-0.023, -0.016),
}


def table_files(rows: list[Row]) -> str:
    """A row per file: normalised regret. Rows of best models come first, then those of games."""
    lines = []
    for best in (row for row in rows if "constant" in row):
        name, high, span = best["file"], best["high"], best["constant"] - best["high"]
        k, budget, shuffled = FILES[name]
        games = [row for row in rows if row["file"] == name and "seed" in row]
        cells = {
            way: mean_error([(row[way] - high) / span for row in games if way in row], 3)
            for way in ("default", "recipe", "proper")
        }
        sure = (
            "exact" if best["low"] == high else f"found; could be {(best['low'] - high) / span:.3f}"
        )
        noted = [f"{value:.3f}" for value in NOTED_FILES.get(name, ())] or ["-", "-"]
        lines.append([
            f"{name}{' (shuffled)' if shuffled else ''}", f"{k}, {budget} of {best['d']}",
            cells["default"], cells["recipe"], noted[0], cells["proper"], noted[1],
            sure,
        ])  # fmt: skip
    head = ["file", "k, budget of d", "default", "GramMix + BEXP, told centres and scales", "notes",
            "proper", "notes, k features", "best k-sparse"]  # fmt: skip
    return markdown(head, lines)
