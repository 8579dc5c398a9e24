"""The reliability diagram: what came of probabilities, beside what was predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.game.probability_scores import ProbabilityScores
from keyhole.problem.optional_imports import extra
from keyhole.report.figures import Fact, number
from keyhole.report.plots import BLUE, INK, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = (
    "Rounds in ten groups of about equal size, by the probability that was predicted. On the "
    "dashed line the share of yes is what was predicted; bars are 95% intervals of that share."
)


def reliability(scores: ProbabilityScores) -> Figure:
    """The share of yes by predicted probability, in ten groups of rounds."""
    with extra("matplotlib", "report").rc_context(STYLE):
        figure: Figure = extra("matplotlib.figure", "report").Figure(
            (8.6, 4.4), layout="constrained"
        )
        axes = figure.add_subplot()
        groups = scores.reliability()
        predicted = np.array([g.predicted for g in groups])
        came = np.array([g.yes for g in groups])
        bars = np.array([[g.yes - g.low for g in groups], [g.high - g.yes for g in groups]])
        axes.plot([0, 1], [0, 1], color=INK, ls="--", lw=1.2, label="as predicted")
        axes.errorbar(
            predicted,
            came,
            yerr=np.maximum(bars, 0.0),
            color=BLUE,
            marker="o",
            ms=5,
            lw=1.8,
            elinewidth=1.2,
            capsize=2.5,
            label="what came",
        )
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("predicted probability of yes")
        axes.set_ylabel("share of yes")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=2)
        return figure


def probability_facts(scores: ProbabilityScores) -> list[Fact]:
    """The large numbers of a run whose predictions are probabilities."""
    auc = scores.auc
    shown = "not known" if auc.width == 1.0 else f"{(auc.low + auc.high) / 2:.3f}"
    return [
        Fact("log loss", number(scores.log_loss), f"share of yes {number(scores.base_log_loss)}"),
        Fact("Brier score", number(scores.brier), f"share of yes {number(scores.base_brier)}"),
        Fact("AUC", shown, "a yes before a no; by chance 0.5"),
    ]
