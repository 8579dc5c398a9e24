"""How the figures of the documentation look, and where they go."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.common import Row
from benchmarks.common.questions import Ask, Run
from benchmarks.common.store import FOLDER, Store
from keyhole.problem import Floats

DOCS = Path(__file__).parents[2] / "docs"
# Told apart by colour-blind readers too.
BLUE, ORANGE, GREEN, PINK, LIGHT, RED = COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"
)  # fmt: skip


def rows_for(
    room: str, run: Run, tasks: Iterable[tuple[Any, ...]], *, timed: bool = False
) -> list[Row]:
    """What a figure is drawn from: kept with the room's results, measured where it is not there."""
    ask = Ask(Store(FOLDER / f"{room}.jsonl"), workers=-1)
    rows = ask(run, tasks, timed=timed)
    if ask.failed:
        raise SystemExit(f"nothing to draw: {ask.failed} cells failed")
    return rows


def begin(font_size: float) -> None:
    """Draw SVG, drawn again the same file."""
    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "keyhole", "font.size": font_size})


def save(figure: Figure, target: Path) -> None:
    """Write and forget it."""
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)


def line(
    axes: Axes, x: Floats, middle: Floats, band: tuple[Floats, Floats], colour: str, label: str
) -> None:
    """A line with its band."""
    axes.plot(x, middle, color=colour, label=label)
    axes.fill_between(x, *band, color=colour, alpha=0.25, lw=0)
