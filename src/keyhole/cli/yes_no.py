"""Targets that are yes or no: who plays them, and what is said of probabilities."""

from __future__ import annotations

from typing import Any

from keyhole.cli.output import number
from keyhole.cli.source import Source
from keyhole.game.probability_scores import ProbabilityScores
from keyhole.learners.yes_no import YesNoLearner
from keyhole.problem import Interval, Learner
from keyhole.streams import Answers


def answering(learner: Learner, answers: Answers | None) -> Learner:
    """The learner, predicting probabilities if the target is yes or no."""
    return learner if answers is None else YesNoLearner(learner)


def meaning(source: Source) -> list[str]:
    """A line about what the values of the target mean; none for a target of numbers."""
    if source.answers is None:
        return []
    return [f"Yes or no: {source.answers}. Predictions are probabilities of yes."]


def answers_json(answers: Answers | None) -> dict[str, Any] | None:
    """The same for machines."""
    return None if answers is None else {"yes": answers.yes, "no": answers.no}


def score_rows(scores: ProbabilityScores) -> list[tuple[str, str, str]]:
    """Log loss, Brier score and AUC beside those of the share of yes."""
    base = scores.base_log_loss, scores.base_brier
    return [
        ("log loss", number(scores.log_loss), f"share of yes so far {number(base[0])}"),
        ("Brier score", number(scores.brier), f"share of yes so far {number(base[1])}"),
        ("AUC", auc_words(scores.auc), "a yes before a no; by chance 0.5"),
    ]


def calibration_row(learner: Learner) -> list[tuple[str, str, str]]:
    """The regret of calibration, where there is one."""
    if not isinstance(learner, YesNoLearner):
        return []
    found = learner.calibration()
    words = f"nats in all, against {found.best}; at most {found.bound:.1f}"
    return [("regret of calibration", f"{found.regret:+.1f}", words)]


def auc_words(auc: Interval) -> str:
    """The middle of the interval, which is narrow; not known if all labels are alike."""
    return "not known" if auc.width == 1.0 else f"{(auc.low + auc.high) / 2:.3f}"
