"""Draws the figure of paper/paper.md from the table of ranks in docs/benchmarks.md.

python -m tools.site.paper_figure
"""

from __future__ import annotations

from tools.rooms import ROOT

PAGE, PICTURE = ROOT / "docs" / "benchmarks.md", ROOT / "paper" / "ranks.png"


def ranks(text: str) -> list[tuple[str, bool, float]]:
    """Name, whether it is in bold (keyhole's own), and the mean rank over all settings.

    >>> head = "## Ranks\\n\\n|  | all settings |\\n| --- | --- |\\n"
    >>> ranks(head + "| **auto** | 1.4 |\\n| iht | 12.4 |\\n")
    [('auto', True, 1.4), ('iht', False, 12.4)]
    """
    lines = text.partition("## Ranks")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    place = rows[0].index("all settings")
    return [(row[0].strip("*"), row[0].startswith("**"), float(row[place])) for row in rows[2:]]


def draw() -> None:
    """Write the picture."""
    from matplotlib.figure import Figure

    found = ranks(PAGE.read_text())[::-1]
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    colours = ["#1b4f8a" if own else "#a9c1dc" for _, own, _ in found]
    axes.barh([name for name, _, _ in found], [rank for *_, rank in found], color=colours)
    axes.set_xlabel("mean rank by regret over all settings")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    figure.savefig(PICTURE, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    draw()
