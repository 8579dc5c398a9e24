"""Plots of a run, and of curves, as matplotlib Figures: for notebooks and as SVGs of the page.

Colours are told apart by colour-blind readers too, and nothing is said by colour alone.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from keyhole.analysis.advice import BudgetCurve, MoneyCurve
from keyhole.analysis.frontier import Frontier
from keyhole.problem import Floats, Indices, ProblemError
from keyhole.problem.optional_imports import extra
from keyhole.report.number_format import brief, plain_name
from keyhole.report.run import FULL, LAST, MEAN, Run
from keyhole.report.spending import RunSpending
from keyhole.report.tables import price_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2328"  # text, axes, grid: the page puts its own colour of text in its place
BLUE, GREEN, PURPLE, ORANGE = "#0072b2", "#009e73", "#cc79a7", "#d55e00"
BASELINE_STYLES: dict[str, tuple[str, Any]] = {
    MEAN: (ORANGE, ":"),
    LAST: (INK, (0, (4, 1.5, 1, 1.5, 1, 1.5))),
    FULL: (PURPLE, "-."),
}
MAX_FEATURES_SHOWN = 30  # features in one picture
FIRST_ROUNDS = 0.1  # of a game, cut off where the loss in it flattens the rest
MOST_LOST = 0.5  # of the whole loss, which does
BARS: dict[str, Any] = {"color": BLUE, "marker": "o", "lw": 1.8, "elinewidth": 1.2, "capsize": 2.5}
STYLE = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "font.size": 9,
    "axes.titlesize": 9,
    "svg.fonttype": "none",  # text stays text, in the fonts of whoever reads it
}


def cumulative_loss(run: Run) -> Figure:
    """Cumulative loss of the learner, of the baselines, and of the best k features in hindsight.

    The best model is that of the rounds up to each point; the band is what is not known about it.
    What was lost in the first round, when nothing was known, is left out of all but the best.
    """
    with style():
        figure, axes = new_figure(3.4)
        for other in run.baselines:
            colour, dashes = BASELINE_STYLES[other.name]
            label = f"{other.name}, reads {other.reads:.3g}"
            lost = later(other.loss, other.first_loss)
            _curve(axes, run.ends, lost, color=colour, ls=dashes, label=label)
        lost = run.loss[np.searchsorted(run.ends, run.regret.rounds)]
        low, high = lost - run.regret.high, lost - run.regret.low
        label = f"{run.yardstick}, of every prefix"
        _curve(axes, run.regret.rounds, high, color=GREEN, ls="--", label=label)
        _band(axes, run.regret.rounds, low, high, GREEN)
        label = f"{shown(run.learner)}, reads {run.ledger.mean_reads:.3g}"
        lost = later(run.loss, run.ledger.first_loss)
        _curve(axes, run.ends, lost, color=BLUE, lw=2.2, label=label)
        axes.set_ylim(bottom=0)
        begin_later(axes, int(run.ends[-1]))
        return finished(figure, axes, "cumulative squared loss", 2)


def begin_later(axes: Axes, rounds: int) -> None:
    """Cut the first tenth of the rounds off where most was lost in it; the title says so."""
    lines = [np.asarray(line.get_xydata(), dtype=np.float64) for line in axes.get_lines()]
    first = FIRST_ROUNDS * rounds
    before = [float(np.interp(first, *xy.T)) for xy in lines if xy[-1, 0] >= rounds]
    after = [float(xy[-1, 1]) for xy in lines if xy[-1, 0] >= rounds]
    if not before or max(before) <= MOST_LOST * max(after):
        return
    axes.set_xlim(first, rounds)
    axes.set_ylim(0.98 * min(before), 1.02 * max(after))
    axes.set_title(
        f"the first {round(first):,} rounds are cut off: most was lost there", loc="right"
    )


def regret(run: Run) -> Figure:
    """Regret against the best k-sparse model found of the rounds so far, the first round left out.

    The band goes up to what it could be against a better model that no search has ruled out.
    """
    with style():
        figure, axes = new_figure(2.9)
        first = run.ledger.first_loss
        rounds, low, high = run.regret.rounds, run.regret.low - first, run.regret.high - first
        _curve(axes, rounds, low, color=BLUE, lw=2.2, label=f"regret of {shown(run.learner)}")
        _band(axes, rounds, low, high, BLUE)
        axes.axhline(0, color=INK, lw=0.8)
        return finished(figure, axes, "regret", 2)


def later(loss: Floats, first_loss: float) -> Floats:
    """Cumulative loss from the second round on."""
    rest: Floats = np.maximum(loss - first_loss, 0.0)
    return rest


def reads(run: Run, most: int = MAX_FEATURES_SHOWN) -> Figure:
    """Which features were bought when: a row per feature, those bought most at the top."""
    rows = bought_most(run, most)
    width = int(run.ends[0])
    rounds = np.diff(run.ends, prepend=0)
    share = np.ma.masked_equal(run.reads[rows] / rounds, 0.0)
    with style():
        figure, axes = new_figure(0.9 + 0.19 * len(rows))
        colours = extra("matplotlib.colors", "report")
        # From nearly nothing to full: what is behind shines through, be it white or black.
        tints = [(*colours.to_rgb(BLUE), strength) for strength in (0.1, 1.0)]
        image = axes.imshow(
            share,
            aspect="auto",
            interpolation="none",
            cmap=colours.LinearSegmentedColormap.from_list("bought", tints),
            vmin=0,
            vmax=1,
            # The last bin may be shorter than the others: it ends beyond the axes.
            extent=(0.0, float(width * len(run.ends)), len(rows) - 0.5, -0.5),
        )
        _features(axes, run, rows, priced=True)
        axes.set_xlim(0, int(run.ends[-1]))
        _not_shown(axes, len(rows), run.problem.d, "features")
        bar = figure.colorbar(image, ax=axes, pad=0.01, fraction=0.03)
        bar.set_label("share of rounds bought")
        bar.outline.set_visible(False)
        return figure


def supports(run: Run, most: int = MAX_FEATURES_SHOWN) -> Figure:
    """The life lines of the model: when each feature had a weight, and of which sign."""
    lives = (run.models != 0).sum(axis=1)
    ever = np.flatnonzero(lives)
    # Those of the final model first, then those that lived longest.
    rows = ever[np.lexsort((-lives[ever], run.weights[ever] == 0))][:most]
    starts = np.concatenate([[0], run.ends[:-1]])
    with style():
        figure, axes = new_figure(0.9 + 0.19 * max(len(rows), 2))
        collections = extra("matplotlib.collections", "report")
        for sign, colour, thick, label in (
            (1.0, BLUE, 7, "positive weight"),
            (-1.0, ORANGE, 3, "negative weight"),
        ):
            lines = [
                [(starts[first], row), (run.ends[last], row)]
                for row, j in enumerate(rows)
                for first, last in stretches(np.sign(run.models[j]) == sign)
            ]
            axes.add_collection(
                collections.LineCollection(
                    lines, colors=colour, lw=thick, label=label, capstyle="butt"
                )
            )
        chosen = np.flatnonzero(np.isin(rows, run.best.support))
        at, label = np.full(len(chosen), float(run.ends[-1])), f"among the {run.yardstick}"
        axes.plot(*(at, chosen, "D"), color=GREEN, ms=5, clip_on=False, label=label)
        _features(axes, run, rows)
        axes.set_xlim(0, int(run.ends[-1]))
        axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
        _not_shown(axes, len(rows), len(ever), "features that ever had a weight")
        figure.legend(loc="outside upper left", ncols=3)
        return figure


def weights(run: Run, most: int = MAX_FEATURES_SHOWN) -> Figure:
    """What one standard deviation of each feature adds to the prediction, by three models.

    The sparse model that is handed out, what is played at the end where that is another, and the
    best in hindsight. Weights in the units of the features cannot be compared with each other,
    these effects can.
    """
    sparse = sparse_weights(run)
    effect, played, best = (w * run.spread for w in (sparse, run.weights, run.best.weights))
    used = np.flatnonzero((sparse != 0) | (run.weights != 0) | (run.best.weights != 0))
    size = np.max(np.abs([effect, played, best]), axis=0)
    rows = used[np.argsort(-size[used], kind="stable")][:most]
    with style():
        figure, axes = new_figure(1.0 + 0.22 * max(len(rows), 2))
        places = np.arange(len(rows))
        label = f"model of at most {run.problem.k}"
        axes.barh(places, effect[rows], 0.62, color=BLUE, label=label)
        if not run.plays_sparse:
            among = np.flatnonzero(run.weights[rows])
            label = f"played by {shown(run.learner)} at the end"
            points = (played[rows[among]], among, "o")
            axes.plot(*points, color=ORANGE, ms=5, mfc="none", mew=1.6, label=label)
        among = np.flatnonzero(np.isin(rows, run.best.support))
        label = run.yardstick
        axes.plot(best[rows[among]], among, color=GREEN, marker="D", ls="", ms=6, label=label)
        axes.axvline(0, color=INK, lw=0.8)
        _features(axes, run, rows)
        axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
        axes.set_xlabel(f"change of {shown(run.target)} per standard deviation of the feature")
        axes.grid(axis="x")
        _not_shown(axes, len(rows), len(used), "features with a weight")
        figure.legend(loc="outside upper left", ncols=3)
        return figure


def budget_curve(curve: BudgetCurve, *, what: str = "money") -> Figure:
    """What k features explain of the label, with two standard errors; the knee, what to choose.

    Beside it the same on the rows that models were fitted on, which is too good. With prices, all
    of it against money; `what` is that in words.
    """
    percent = 100.0 * curve.explained
    money = isinstance(curve, MoneyCurve)
    x = curve.limits if isinstance(curve, MoneyCurve) else curve.k
    chosen = curve.place if isinstance(curve, MoneyCurve) else curve.sparsity
    with style():
        figure, axes = new_figure(3.4)
        axes.plot(x, 100.0 * curve.in_sample, color=ORANGE, ls=":", label="on the rows fitted to")
        label = "on other rows, ± two standard errors"
        axes.errorbar(x, percent, yerr=200.0 * curve.error, ms=4, label=label, **BARS)
        bend = curve.knee
        if 0 < bend < chosen:
            _mark(axes, x[bend], percent[bend], PURPLE, "s", f"knee: {x[bend]:,.6g}")
        if chosen > 0 or (money and chosen == 0):
            how = "reading" if not money else "spending" if what == "money" else "buying"
            label = f"recommended: {x[chosen]:,.6g}, by {how} {curve.budget:,.6g}"
            _mark(axes, x[chosen], percent[chosen], GREEN, "D", label)
        axes.set_xlabel(f"{what} for one example" if money else "features of the model")
        # Errors of useless models may be huge: show where something is explained.
        low, high = percent - 200.0 * curve.error, percent + 200.0 * curve.error
        top = max(float(high.max()), float(100.0 * curve.in_sample.max()), 1.0)
        axes.set_ylim(max(float(low.min()), -0.25 * min(top, 100.0)), 1.04 * min(top, 100.0))
        ticker = extra("matplotlib.ticker", "report")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=not money))
        return finished(figure, axes, "explained of the label's variance, %", 2)


def frontier(
    found: Frontier, point: tuple[float, float] | None = None, *, what: str = "money"
) -> Figure:
    """The least loss in hindsight by money per example, as a step line.

    `point` is a learner's (cost per example, loss), marked on it; its loss is over the same rounds.
    `what` is what is paid, in words.
    """
    costs = np.array([p.cost for p in found.points])
    flat = flat_from(found)
    last = 1.04 * min(1.5 * costs[flat], costs[-1])
    last = max(last, 0.0 if point is None else 1.1 * point[0]) or 1.0
    edges = np.append(costs, max(last, costs[-1]))
    with style():
        figure, axes = new_figure(3.4)
        ends = [(p.loss.low, p.loss.high) for p in (*found.points, found.points[-1])]
        low, high = np.array(ends).T
        label = "best model in hindsight of at most this cost"
        axes.step(edges, high, where="post", color=GREEN, lw=1.8, label=label)
        axes.plot(costs, high[:-1], color=GREEN, marker="o", ms=3.5, ls="")
        if (low < high).any():
            label = "what is not known of the best"
            axes.fill_between(
                edges, low, high, step="post", color=GREEN, alpha=0.25, lw=0, label=label
            )
        axes.axhline(found.empty_loss, color=INK, ls=":", lw=1.2, label="without any feature")
        if point is not None:
            mark = f"the learner: {point[1]:,.6g} lost at {point[0]:,.6g} per example"
            axes.plot([point[0]], [point[1]], color=BLUE, marker="D", ms=8, ls="", label=mark)
        if last < costs[-1]:
            less = found.points[flat].loss.high - found.points[-1].loss.high
            about = f"{less:,.3g} less up to a cost of {costs[-1]:,.6g} is not shown"
            axes.set_title(about, loc="right")
        axes.set_xlim(-0.01 * last, last)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"{what} per example")
        return finished(figure, axes, f"squared loss, {found.rounds:,} rounds", 2)


def flat_from(found: Frontier) -> int:
    """The first point after which a frontier falls by less than a hundredth of its whole fall."""
    high = np.array([p.loss.high for p in found.points])
    return int(np.argmax(high - high[-1] <= 0.01 * (high[0] - high[-1])))


def spending(run: Run) -> Figure:
    """What an example cost, over time, beside the limit; for runs with prices."""
    money = _money(run)
    each = np.diff(money.spent, prepend=0.0) / np.diff(run.ends, prepend=0)
    with style():
        figure, axes = new_figure(2.6)
        edges = np.append(0, run.ends)
        what = "bought" if run.columns else "spent"
        label = f"{what} per example by {shown(run.learner)}"
        axes.stairs(each, edges, baseline=None, color=BLUE, lw=2.0, label=label)
        axes.axhline(run.problem.budget, color=INK, ls=":", lw=1.4, label="the limit")
        axes.set_xlim(0, int(run.ends[-1]))
        axes.set_ylim(0, 1.06 * max(run.problem.budget, float(each.max())))
        unit = "columns" if run.columns else "money"
        return finished(figure, axes, f"{unit} per example", 2)


def purse(run: Run) -> Figure:
    """What was left of the purse, beside spending it evenly; for runs with a purse."""
    money = _money(run)
    if money.purse is None or money.left is None:
        raise ProblemError("the run has no purse: make the learner with purse= and horizon=")
    with style():
        figure, axes = new_figure(2.6)
        last = int(run.ends[-1]) if money.horizon is None else money.horizon
        axes.plot([0, last], [money.purse, 0.0], color=INK, ls="--", lw=1.2, label="evenly")
        left = np.append(money.purse, money.left)
        axes.plot(np.append(0, run.ends), left, color=BLUE, lw=2.2, label="left in the purse")
        axes.set_xlim(0, max(last, int(run.ends[-1])))
        axes.set_ylim(0, 1.04 * money.purse)
        return finished(figure, axes, "money", 2)


def svg(figure: Figure, name: str) -> str:
    """A Figure as SVG text with a transparent background; the same Figure, the same text."""
    matplotlib, target = extra("matplotlib", "report"), io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # matplotlib's own font may lack a letter of a name; the reader's browser draws the text.
        warnings.filterwarnings("ignore", message="Glyph")
        unknown = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(target, format="svg", transparent=True, metadata=unknown)
    return target.getvalue()


def sparse_weights(run: Run) -> Floats:
    """The model that is handed out, as a weight for every feature."""
    weights = np.zeros(run.problem.d)
    weights[run.sparse.features] = run.sparse.weights
    return weights


def bought_most(run: Run, most: int = MAX_FEATURES_SHOWN) -> Indices:
    """The features bought most often, most often first."""
    order: Indices = np.argsort(-run.ledger.reads, kind="stable")[:most]
    return order


def stretches(alive: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """Where a row of truths is true without interruption: first and last place of each stretch.

    >>> stretches(np.array([True, True, False, True]))
    [(0, 1), (3, 3)]
    """
    steps = np.diff(np.concatenate([[0], alive.astype(np.int8), [0]]))
    firsts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return [(int(a), int(b) - 1) for a, b in zip(firsts, ends, strict=True)]


def shown(name: str) -> str:
    """A name as it can stand in a picture: on one line, not too long, no mathematics in it.

    >>> shown("cost in $ of " + "very " * 9 + "many 17"), shown("two\\nlines")
    ('cost in \\\\$ of very…ry many 17', 'two lines')
    """
    return plain_name(name).replace("$", r"\$")  # between two dollars matplotlib reads formulas


def _money(run: Run) -> RunSpending:
    if run.spending is None:
        raise ProblemError("the run has no prices: make its problem with prices=")
    return run.spending


def style() -> Any:
    """All figures are drawn within it."""
    return extra("matplotlib", "report").rc_context(STYLE)


def new_figure(height: float, width: float = 8.6) -> tuple[Figure, Axes]:
    """A Figure of its own, unknown to pyplot, with one pair of axes over the rounds."""
    figure: Figure = extra("matplotlib.figure", "report").Figure(
        (width, height), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.xaxis.set_major_formatter(lambda value, _: tick(value))
    axes.yaxis.set_major_formatter(lambda value, _: tick(value))
    axes.set_xlabel("rounds")
    return figure, axes


def finished(figure: Figure, axes: Axes, ylabel: str, columns: int = 1) -> Figure:
    """The figure with a label, a grid, and a legend of so many columns above the axes."""
    axes.set_ylabel(ylabel)
    axes.grid(True)
    figure.legend(loc="outside upper left", ncols=columns)
    return figure


def tick(value: float) -> str:
    """A number beside an axis: thousands apart, words for what is large.

    >>> tick(1_225_000.0), tick(2.5e10), tick(0.1 + 0.2), tick(-250.0)
    ('1,225,000', '25 billion', '0.3', '-250')
    """
    return brief(value) if abs(value) >= 1e7 else f"{value:,.10g}"


def _curve(axes: Axes, rounds: Indices, values: Floats, **how: Any) -> None:
    # Nothing is lost before the first round.
    axes.plot(np.append(0, rounds), np.append(0.0, values), **how)
    axes.set_xlim(0, int(rounds[-1]))
    axes.grid(True)


def _mark(axes: Axes, k: float, value: float, colour: str, marker: str, label: str) -> None:
    """One point of a curve, told apart by shape as well."""
    axes.plot([k], [value], color=colour, marker=marker, ms=9, ls="", label=label, zorder=3)


def _band(axes: Axes, rounds: Indices, low: Floats, high: Floats, colour: str) -> None:
    if (low < high).any():
        label = "what is not known of the best"
        axes.fill_between(rounds, low, high, color=colour, alpha=0.25, lw=0, label=label)


def _features(axes: Axes, run: Run, rows: Indices, *, priced: bool = False) -> None:
    """Names of features on the y axis, with what each costs alone if asked."""
    names = [shown(run.problem.label(int(j))) for j in rows]
    if priced and run.problem.prices is not None and not run.columns:
        names = [f"{name} · {price_of(run, int(j))}" for name, j in zip(names, rows, strict=True)]
    axes.set_yticks(np.arange(len(rows)), names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _not_shown(axes: Axes, drawn: int, there: int, what: str) -> None:
    if drawn < there:
        axes.set_title(f"{there - drawn:,} of {there:,} {what} are not shown", loc="left")
    elif there == 0:
        axes.set_title(f"no {what}", loc="left")
