"""Tables of `benchmarks.wide`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown, names_of, pick
from benchmarks.wide.parts import BUDGET

LAST = (("all", 3), ("us", 0))  # what is said of a rival beside its loss at last, with digits


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
    """When all features that matter are kept."""
    return _when_found(rows, ("d", "k", "rho"), ("features", "k", "rho"))


def table_ideal(rows: list[Row]) -> str:
    """When a search that knows more than a learner can has found all features that matter."""
    return _when_found(rows, ("d", "k", "places"), ("features", "k", "read per round"))


def _when_found(rows: list[Row], keys: tuple[str, ...], words: tuple[str, ...]) -> str:
    """Rounds until all are found, by case: the best, the median and the worst seed."""
    lines = []
    for case in dict.fromkeys(tuple(row[key] for key in keys) for row in rows):
        mine = [row for row in rows if tuple(row[key] for key in keys) == case]
        last = sorted(np.inf if row["last"] < 0 else float(row["last"]) for row in mine)
        limit = 20 * case[0] / BUDGET
        found = ["never" if value == np.inf else f"{value:,.0f}" for value in last]
        within = sum(value <= limit for value in last)
        lines.append(
            [
                *(f"{value:,}" if isinstance(value, int) else f"{value:g}" for value in case),
                *(f"{within} of {len(last)}", f"{limit:,.0f}"),
                *(found[0], found[len(found) // 2], found[-1]),
            ]
        )
    return markdown([*words, "within 20 d / budget", "that is", "best", "median", "worst"], lines)


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


def table_rivals(rows: list[Row]) -> str:
    """Losses of those that read everything beside those that read a few; medians and worst."""
    lines, missing = [], list[str]()
    for case in dict.fromkeys((row["d"], row["k"], row["rho"], row["n"]) for row in rows):
        those = [row for row in rows if (row["d"], row["k"], row["rho"], row["n"]) == case]
        for name in names_of(those, "learner"):
            mine = [row for row in those if row["learner"] == name and "late" in row]
            if not mine:
                missing.append(name)
                continue
            late, (d, k, rho, n) = pick(mine, "late"), case
            lines.append(
                [
                    *(f"{d:,}", str(k), f"{rho:g}", f"{n:,}", name, f"{mine[0]['reads']:,}"),
                    *(f"{np.median(late):.3f}", f"{max(late):.3f}"),
                    *(f"{np.median(pick(mine, key)):,.{digits}f}" for key, digits in LAST),
                    str(len(mine)),
                ]
            )
    heads = ["features", "k", "rho", "rounds", "learner", "read per round", "loss at last", "worst"]
    table = markdown([*heads, "loss of all rounds", "us a round", "seeds"], lines)
    if missing:
        table += f"\n\nNot installed, and left out: {', '.join(dict.fromkeys(missing))}."
    return table


def table_products(rows: list[Row]) -> str:
    """Errors on real data made wide."""
    lines = []
    d, n = rows[0]["d"], rows[0]["n"]
    for k in names_of(rows, "k"):
        mine = [row for row in rows if row["k"] == k]
        named = [(f"`auto`, k = {k}", "auto", str(BUDGET), "auto")]
        for most in (d, BUDGET):
            if f"lasso {most}" in mine[0]:
                weights = np.median([row[f"weights {most}"] for row in mine])
                name = f"lasso, {weights:.0f} weights"
                named.append((name, f"lasso {most}", f"{d:,}", "lasso"))
        for name, key, reads, clock in named:
            errors = [row[key] for row in mine]
            seconds = np.median([row[f"seconds {clock}"] for row in mine])
            lines.append(
                [
                    *(name, reads, f"{np.median(errors):.3f}", f"{max(errors):.3f}"),
                    *(f"{seconds:.0f}", str(len(mine))),
                ]
            )
    heads = ["learner", "read per row", f"error on the last {n - n // 2:,} rows", "worst"]
    return markdown([*heads, "seconds", "seeds"], lines)


def table_files(rows: list[Row]) -> str:
    """Saving over writing, loading over reading and over writing."""
    lines = []
    for row in rows:
        lines.append(
            [
                *(f"{row['d']:,}", f"{row['bytes'] / 1e6:.1f}"),
                *(f"{row['save']:.1f}", f"{row['write']:.1f}", f"{row['save'] / row['write']:.2f}"),
                *(f"{row['load']:.1f}", f"{row['load'] / row['write']:.2f}", f"{row['read']:.1f}"),
            ]
        )
    heads = ["features", "MB", "save, ms", "write, ms", "ratio", "load, ms", "of writing"]
    return markdown([*heads, "read, ms"], lines)
