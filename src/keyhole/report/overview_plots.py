"""Overview of a run in two pictures: error over time, and what it cost against how good it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from keyhole.report.plots import BLUE, GREEN, INK, ORANGE, PURPLE, finished, new_figure, style
from keyhole.report.prediction_plots import error_over_time
from keyhole.report.run import FULL, LAST, MEAN, Run
from keyhole.report.tables import KNOWN, Score, of_model, played

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 5.4, 3.5  # inches: two stand side by side
FAR = 20.0  # times what this run spends: what is dearer needs a scale of powers
MARKS = {
    KNOWN[MEAN]: (ORANGE, "s", "running mean"),
    KNOWN[LAST]: (INK, "X", "last value"),
    KNOWN[FULL]: (PURPLE, "^", "everything read"),
}


def overview(run: Run) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each; none where one round is all there is."""
    if run.ledger.rounds < 2:
        return []
    paid = run.spending is not None
    what = "money" if paid and not run.columns else _unit(run)
    error = (
        "The root of the mean squared error of each stretch of rounds, in the units of what is "
        "predicted. The right end says what to expect from now on."
    )
    cost = f"To the left is less {what if what == 'money' else 'to buy'}, further down is better."
    if paid and run.spending is not None and run.spending.frontier is not None:
        cost += " The steps are the best that was possible at each cost, known only in hindsight."
    return [
        ("Error over time", error, error_over_time(run, *SIZE)),
        (f"{what.capitalize()} against error", cost, money_and_error(run)),
    ]


def money_and_error(run: Run) -> Figure:
    """What an example cost on average against the typical error: this run, and what is known."""
    known = [score for score in _scores(run) if math.isfinite(score.error)]
    with style():
        figure, axes = new_figure(SIZE[1], SIZE[0])
        money = run.spending
        if money is not None and money.frontier is not None:
            points, rounds = money.frontier.points, money.frontier.rounds
            last = max([points[-1].cost, *(_cost(run, score) for score in known)])
            costs = [*(point.cost for point in points), last]
            errors = [math.sqrt(point.loss.high / rounds) for point in (*points, points[-1])]
            axes.step(costs, errors, where="post", color=GREEN, lw=1.6, label="best in hindsight")
        for score in known:
            colour, mark, label = MARKS.get(score.who, (GREEN, "D", "best in hindsight"))
            if score.ours:
                colour, mark, label = BLUE, "o", "this run"
            style_of: dict[str, Any] = {"color": colour, "marker": mark, "ls": "", "label": label}
            axes.plot([_cost(run, score)], [score.error], ms=11 if score.ours else 7, **style_of)
        axes.set_ylim(bottom=0)
        here, most = _cost(run, known[0]), max(_cost(run, score) for score in known)
        if most > FAR * max(here, 1.0):
            axes.set_xscale("symlog", linthresh=max(here, 1.0))
        axes.set_xlim(-0.04 * max(here if most > FAR * max(here, 1.0) else most, 1.0), 1.06 * most)
        unit = "money" if money is not None and not run.columns else _unit(run)
        axes.set_xlabel(f"{unit} per example")
        return finished(figure, axes, "typical error", 3)


def _scores(run: Run) -> list[Score]:
    """Those who played, and the best in hindsight, unless it lies on the steps."""
    found = [s for s in played(run) if s.who != KNOWN[LAST] or run.last_value_helps]
    if run.knows_hindsight and (run.spending is None or run.spending.frontier is None):
        found.append(of_model(run, run.yardstick, run.best))
    return found


def _unit(run: Run) -> str:
    return "columns bought" if run.columns else "features read"


def _cost(run: Run, score: Score) -> float:
    """What it paid per example: money or columns where they are counted, else features."""
    if run.spending is None:
        return score.reads
    return float(np.nan_to_num(score.cost if score.cost is not None else 0.0))
