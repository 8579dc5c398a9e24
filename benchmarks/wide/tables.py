"""Tables of `benchmarks.wide`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown, names_of
from benchmarks.wide.parts import BUDGET


def table_time(rows: list[Row]) -> str:
    """Time and memory by the number of features, ratios to the dense form."""
    [row] = rows[-1:]
    names = [key.removeprefix("us ") for key in row if key.startswith("us ")]
    first = float(row[f"us {names[0]}"])
    lines = []
    for name in names:
        us, size = float(row[f"us {name}"]), float(row[f"bytes {name}"])
        lines.append([name, f"{us:.0f}", f"{us / first:.2f}", f"{size / 1e6:.1f}"])
    return markdown(["features", "us a round", "of the dense form", "MB of state"], lines)


def table_support(rows: list[Row]) -> str:
    """When all features that matter are kept, in rounds and in reads a feature."""
    lines = []
    for case in dict.fromkeys((row["d"], row["k"], row["rho"]) for row in rows):
        d, k, rho = case
        mine = [row for row in rows if (row["d"], row["k"], row["rho"]) == case]
        last = sorted(np.inf if row["last"] < 0 else float(row["last"]) for row in mine)
        limit = 20 * d / BUDGET
        words = ["never" if value == np.inf else f"{value:,.0f}" for value in last]
        within = sum(value <= limit for value in last)
        lines.append(
            [
                *(f"{d:,}", str(k), f"{rho:g}", f"{within} of {len(last)}", f"{limit:,.0f}"),
                *(words[0], words[len(words) // 2], words[-1]),
            ]
        )
    heads = ["features", "k", "rho", "within 20 d / budget", "that is", "best", "median", "worst"]
    return markdown(heads, lines)


def table_regret(rows: list[Row]) -> str:
    """Loss beyond that of the truth, few seats over one for each feature."""
    lines = []
    for name in names_of(rows, "stream"):
        mine = [row for row in rows if row["stream"] == name]
        few, dense = (
            np.array([row[form] - row["truth"] for row in mine]) for form in ("few", "dense")
        )
        ratios = few / dense
        lines.append(
            [
                *(str(name), str(len(mine)), f"{few.mean():.1f}", f"{dense.mean():.1f}"),
                *(f"{few.mean() / dense.mean():.3f}", f"{np.median(ratios):.3f}"),
                f"{ratios.max():.3f}",
            ]
        )
    heads = ["stream", "seeds", "few seats", "dense", "ratio of means", "median ratio", "worst"]
    return markdown(heads, lines)
