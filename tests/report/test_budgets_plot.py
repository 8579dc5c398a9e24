"""The picture of several budgets: its own numbers, legible, on white."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import keyhole as kh
from keyhole.report.budgets_plot import (
    LINE_COLOURS,
    MARKERS,
    BudgetLine,
    loss_by_budget,
    write_figure,
)

AUTO = BudgetLine("auto", [4, 8, 12], [3.0, 2.0, 1.5], [0.5, 0.25, np.nan])
RANDOM = BudgetLine("random", [4, 8, 12], [4.0, 3.5, 3.0], [0.1, 0.1, 0.1])
FULL = BudgetLine("full", [42], [1.4], [0.0], level=True)


def drawn(*lines: BudgetLine, mean: float = 5.0) -> Figure:
    """The picture of these lines."""
    return loss_by_budget(
        lines,
        budgets=[4, 8, 12],
        hindsight=("best 4 in hindsight", 1.25),
        mean=("running mean, reads 0", mean),
        features=42,
        target="days $x$",
    )


def test_every_learner_is_a_line_with_bars() -> None:
    axes = drawn(AUTO, RANDOM, FULL).axes[0]
    auto, random = axes.containers
    for bars, line in ((auto, AUTO), (random, RANDOM)):
        data, _, (stems,) = bars.lines  # type: ignore[attr-defined]
        assert data.get_xdata().tolist() == list(line.budgets)
        assert data.get_ydata().tolist() == list(line.means)
        half = [(stem[1, 1] - stem[0, 1]) / 2 for stem in stems.get_segments()]
        assert half == pytest.approx(np.nan_to_num(line.errors).tolist())
    levels = {
        str(line.get_label()): float(np.asarray(line.get_ydata())[0])
        for line in axes.lines
        if not str(line.get_label()).startswith("_")
    }
    assert levels == {
        "running mean, reads 0": 5.0,
        "full, reads all 42": 1.4,
        "best 4 in hindsight": 1.25,
    }


def test_it_can_be_read() -> None:
    figure = drawn(AUTO, RANDOM, FULL)
    axes = figure.axes[0]
    assert axes.get_xticks().tolist() == [4, 8, 12]
    assert "budget" in axes.get_xlabel()
    assert axes.get_ylabel() == r"mean squared loss, days \$x\$"
    assert "standard error" in axes.get_title(loc="right")
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"auto", "random", "full, reads all 42", "best 4 in hindsight"} <= set(words)
    assert axes.get_yscale() == "linear"
    # One that is ten times worse does not press the others together.
    assert drawn(AUTO, mean=15.0).axes[0].get_yscale() == "log"


def test_a_dozen_learners_are_told_apart_by_more_than_colour() -> None:
    assert len(set(MARKERS)) == len(MARKERS) >= 12
    assert len(set(LINE_COLOURS)) == len(LINE_COLOURS)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.PDF", b"%PDF")])
def test_it_is_written_on_white(tmp_path: Path, name: str, start: bytes) -> None:
    write_figure(drawn(AUTO), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(kh.DataError, match="cannot write"):
        write_figure(drawn(AUTO), tmp_path / "no" / name)


def test_the_background_is_white(tmp_path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.image import imread

    with mpl.rc_context({"axes.facecolor": "black", "savefig.facecolor": "black"}):
        write_figure(drawn(AUTO), tmp_path / "a.png")
    image = np.asarray(imread(tmp_path / "a.png"))
    assert image.shape[1] > 1000
    assert np.mean(image[..., :3].min(axis=2) > 0.99) > 0.9
