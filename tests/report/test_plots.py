"""Pictures: labelled, legible, and of the run's own numbers."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import keyhole as kh
from keyhole import plots
from keyhole.report import Run, record

ALL = [plots.cumulative_loss, plots.regret, plots.reads, plots.supports, plots.weights]


def axes_of(figure: Figure) -> Axes:
    """The axes with the data; a colour bar comes second."""
    return figure.axes[0]


def legend_of(figure: Figure) -> list[str]:
    """What the legends say."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def names_of(figure: Figure) -> list[str]:
    """The features on the y axis, from the top."""
    return [text.get_text() for text in axes_of(figure).get_yticklabels()]


def points(line: Line2D, axis: str) -> list[float]:
    """The coordinates a line is drawn through."""
    data = line.get_xdata() if axis == "x" else line.get_ydata()
    return [float(value) for value in np.asarray(data)]


@pytest.fixture(scope="module")
def wide() -> Run:
    """A run with more features than a picture shows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 100))
    stream = kh.streams.ArrayStream(X, X[:, 70] - X[:, 3] + rng.normal(size=400))
    learner = kh.LEARNERS["auto"](kh.Problem(100, 2, 10), seed=0)
    return record(learner, stream, diagnosed=False, seconds=1.0)


@pytest.mark.parametrize("draw", ALL)
def test_axes_are_labelled(draw: Callable[[Run], Figure], run: Run) -> None:
    axes = axes_of(draw(run))
    assert axes.get_xlabel()
    assert axes.get_ylabel() or axes.get_yticklabels()


def test_cumulative_loss_is_that_of_the_run(run: Run) -> None:
    figure = plots.cumulative_loss(run)
    lines = {str(line.get_label()): line for line in axes_of(figure).lines}
    assert list(lines) == legend_of(figure)
    mean, last, full, best, ours = lines.values()
    assert points(ours, "x")[1:] == run.ends.tolist()
    # The first round is left out of all that were played.
    assert points(ours, "y")[1:] == (run.loss - run.ledger.first_loss).tolist()
    for line, other in zip((mean, last, full), run.baselines, strict=True):
        assert points(line, "y")[1:] == (other.loss - other.first_loss).tolist()
        assert other.first_loss > 0
    assert points(best, "y")[-1] == pytest.approx(run.best.loss.high)
    assert all(points(line, "y")[0] == 0 for line in lines.values())
    dashes = {str(vars(line)["_unscaled_dash_pattern"]) for line in lines.values()}
    assert len(dashes) == 5  # not by colour alone


def test_regret_is_that_of_the_run_and_a_band_is_drawn_where_it_is_open(run: Run) -> None:
    axes = axes_of(plots.regret(run))
    assert points(axes.lines[0], "x")[1:] == run.regret.rounds.tolist()
    assert points(axes.lines[0], "y")[1:] == (run.regret.low - run.ledger.first_loss).tolist()
    assert len(axes.collections) == 0
    open_above = replace(run.regret, high=run.regret.high + 1)
    figure = plots.regret(replace(run, regret=open_above))
    line = axes_of(figure).lines[0]  # what searching left open moves no line
    assert points(line, "y") == points(axes.lines[0], "y")
    assert len(axes_of(figure).collections) == 1
    assert "what is not known of the best" in legend_of(figure)


def test_reads_are_shares_of_rounds(run: Run) -> None:
    figure = plots.reads(run)
    rows = plots.bought_most(run)
    shares = axes_of(figure).images[0].get_array()
    assert isinstance(shares, np.ma.MaskedArray)
    drawn = shares.filled(0.0)
    lengths = np.diff(run.ends, prepend=0)
    assert (drawn * lengths).round().astype(int).tolist() == run.reads[rows].tolist()
    assert drawn.max() <= 1
    assert run.ledger.reads[rows].tolist() == sorted(run.ledger.reads.tolist(), reverse=True)
    assert names_of(figure)[0] == plots.shown(run.problem.label(int(rows[0])))
    assert axes_of(figure).get_xlim() == (0, 700)
    assert figure.axes[1].get_ylabel() == "share of rounds bought"


def test_life_lines_are_where_the_weights_are(run: Run) -> None:
    figure = plots.supports(run)
    names = names_of(figure)
    covered = np.zeros_like(run.models)
    starts = np.concatenate([[0], run.ends[:-1]])
    place = {plots.shown(run.problem.label(j)): j for j in range(8)}
    lines = [c for c in axes_of(figure).collections if isinstance(c, LineCollection)]
    for sign, collection in zip((1, -1), lines, strict=True):
        for (first, row), (last, _) in collection.get_segments():
            inside = (starts >= first) & (run.ends <= last)
            covered[place[names[int(row)]], inside] += sign
    assert np.array_equal(covered, np.sign(run.models))
    marked = points(axes_of(figure).lines[0], "y")
    assert {place[names[int(row)]] for row in marked} == set(run.best.support.tolist())
    assert legend_of(figure)[:2] == ["positive weight", "negative weight"]


def test_bars_are_effects_of_one_standard_deviation(run: Run) -> None:
    figure = plots.weights(run)
    place = {plots.shown(run.problem.label(j)): j for j in range(8)}
    rows = [place[name] for name in names_of(figure)]
    bars = [patch for patch in axes_of(figure).patches if isinstance(patch, Rectangle)]
    sparse = np.zeros(8)
    sparse[run.sparse.features] = run.sparse.weights
    assert [float(bar.get_width()) for bar in bars] == pytest.approx((sparse * run.spread)[rows])
    assert set(rows) == set(run.support.tolist()) | set(run.best.support.tolist())
    played = axes_of(figure).lines[0]
    assert played.get_label() == "played by auto at the end"
    assert points(played, "x") == pytest.approx(
        [float((run.weights * run.spread)[j]) for j in rows if run.weights[j]]
    )
    assert "days & nights" in axes_of(figure).get_xlabel()


def test_many_features_are_cut_and_counted(wide: Run) -> None:
    figure = plots.reads(wide)
    assert len(names_of(figure)) == 30
    assert axes_of(figure).get_title(loc="left") == "70 of 100 features are not shown"
    assert len(names_of(plots.reads(wide, most=5))) == 5
    ever = int((wide.models != 0).any(axis=1).sum())
    title = axes_of(plots.supports(wide, most=3)).get_title(loc="left")
    assert title == f"{ever - 3} of {ever} features that ever had a weight are not shown"


def test_a_model_of_nothing_can_be_drawn() -> None:
    stream = kh.streams.ArrayStream([[1.0, 2.0]], [3.0])
    run = record(kh.RunningMean(kh.Problem(2, 1, 1)), stream, diagnosed=False, centred=False)
    for draw in ALL:
        assert plots.svg(draw(run), "nothing").startswith("<?xml")
    title = axes_of(plots.supports(run)).get_title(loc="left")
    assert title == "no features that ever had a weight"


def test_names_are_never_formulas_nor_lines(run: Run) -> None:
    text = plots.svg(plots.reads(run), "p")
    assert "cost $x^2$ in $" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert plots.shown("\u202ea\nb") == "a b"


def test_the_same_figure_gives_the_same_svg(run: Run) -> None:
    assert plots.svg(plots.supports(run), "p") == plots.svg(plots.supports(run), "p")


def test_matplotlib_missing_names_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(kh.MissingExtraError, match=r"keyhole\[report\]"):
        plots.regret(run)


def test_the_budget_curve_is_that_of_the_numbers() -> None:
    curve = kh.budget_curve(kh.streams.clinic(400).stream, most=8)
    figure = plots.budget_curve(curve)
    axes = axes_of(figure)
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    drawn = {len(points(line, "x")): points(line, "y") for line in axes.get_lines()}
    assert drawn[1] == pytest.approx([100 * curve.explained[curve.sparsity]])
    lines = [points(line, "y") for line in axes.get_lines() if len(points(line, "y")) == 9]
    assert any(line == pytest.approx(100 * curve.explained) for line in lines)
    assert any(line == pytest.approx(100 * curve.in_sample) for line in lines)
    said = legend_of(figure)
    assert f"recommended: {curve.sparsity}, by reading {curve.budget}" in said
    assert f"knee: {curve.knee}" in said
    nothing = kh.streams.ArrayStream(np.random.default_rng(1).normal(size=(60, 3)), np.ones(60))
    assert not any(
        "recommended" in w for w in legend_of(plots.budget_curve(kh.budget_curve(nothing)))
    )
