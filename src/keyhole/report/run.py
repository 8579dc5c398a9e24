"""Run: all that a report shows about one game: what was played, what it cost, the best possible."""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from keyhole.analysis.hindsight import Hindsight
from keyhole.analysis.regret import RegretCurve
from keyhole.errors import printable
from keyhole.game.ledger import Ledger
from keyhole.learners.blocks.auto.advice import Advice
from keyhole.problem import Floats, Indices, Interval, Problem
from keyhole.problem.display import HtmlCell, html_table
from keyhole.problem.sparse_model import SparseModel
from keyhole.report.spending import RunSpending
from keyhole.report.traces import IntervalTrace, PredictionTrace, Recent

if TYPE_CHECKING:
    from keyhole.analysis.advice import BudgetCurve
    from keyhole.analysis.diagnosis import Diagnosis
    from keyhole.game.probability_scores import ProbabilityScores
    from keyhole.learners.blocks.auto.curves import Curves

MEAN, LAST, FULL = "running mean", "last value", "full information"  # names of baselines
PACKAGES = ("numpy", "scipy")


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """What another learner lost on the same stream, cumulatively at the ends of the bins.

    `reads` is what it read per example, `cost` what that cost; `first_loss` is what it lost in the
    first round, `last_tenth` what it lost per round in the last tenth of the game.
    """

    name: str
    reads: float
    loss: Floats
    cost: float = 0.0
    first_loss: float = 0.0
    last_tenth: float = math.nan

    def later_mean(self, rounds: int) -> float:
        """Loss per round of a game of so many, the first left out; NaN where there is no other."""
        lost = max(float(self.loss[-1]) - self.first_loss, 0.0)
        return lost / (rounds - 1) if rounds > 1 else math.nan


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What one run produced; `record` makes it, `write` makes a page of it, `kh.plots` pictures.

    Attributes
    ----------
    problem
        Features, sparsity, budget.
    title, target
        What was played: a file or the name of a stream, and what was predicted.
    learner, settings, seed
        Its name, and what it takes to make it again.
    rounds_per_second
        How fast the learner played, reading the stream and everything beside the game left out.
    ledger
        The books of the game.
    ends
        The last round of each bin of time; bins are equally wide, the last may be shorter.
    loss
        Cumulative loss at the ends.
    reads
        How often each feature was bought in each bin: features by bins.
    models
        The learner's weights at the ends, features by bins; the last column is the final model.
    intercept
        What the final model adds to the weighted sum.
    spread
        The standard deviation of each feature over the stream.
    best
        The best k-sparse model of the whole stream, with an intercept if `centred`; with prices, of
        those that the budget buys.
    best_with_past
        The same where models may look at earlier labels too, which costs nothing
        (`keyhole.hindsight(..., past=True)`); None where it was not searched for.
    regret
        Regret at some of the ends, against the best k-sparse model of the rounds up to each.
    baselines
        The running mean and the last value of the label; full information where that is
        feasible.
    diagnosis
        Does the data fit; None if it was not asked for.
    sparse
        The model of at most k features that the learner hands out (`learner.model`), which
        `keyhole predict` uses. The one that is played, `models`, may use all that is read.
    recent
        How many rounds the last tenth of the game has, and what was lost in them per round.
    predictions
        Some predictions with their labels, and errors over time.
    command
        What to type, or to run, to have it again; may be empty.
    notes
        What was left out, and why.
    curve
        What so many features explain, if sizes were chosen from that; None if not.
    history
        How many rows the learner studied before the first round; none of them is in the figures.
    advice
        What the learner advises at the end, if it does (`AutoLearner.advice`); None if not.
    errors, shares
        Of each feature: the standard error of its weight, and the share of the rounds in which it
        was in the learner's sparse model; None where the learner does not know.
    curves
        What each kept feature adds and which interact, where the learner has shapes
        (`AutoLearner.curves`); None where it has none.
    spending
        Money: what was spent when, the frontier, the purse; None without prices.
    probabilities
        Scores of the predictions if they are probabilities of yes (`kh.YesNoLearner`); None if not.
    calibrated_best
        What the best model in hindsight loses if its score is made a probability in hindsight too;
        None if predictions are none. Regret is then against that: like is compared with like.
    intervals
        How intervals fared over time, if they were asked for; None if not.
    columns
        Whether prices count the columns of a file, 1 for each: then nothing is told as money.
    versions
        Versions of keyhole and of what it computes with.
    """

    problem: Problem
    title: str
    target: str
    learner: str
    settings: Mapping[str, object]
    seed: int | None
    rounds_per_second: float
    ledger: Ledger
    ends: Indices
    loss: Floats
    reads: Indices
    models: Floats
    intercept: float
    spread: Floats
    best: Hindsight
    best_with_past: Hindsight | None
    centred: bool
    regret: RegretCurve
    baselines: tuple[Baseline, ...]
    diagnosis: Diagnosis | None
    sparse: SparseModel
    recent: Recent
    predictions: PredictionTrace
    command: str = ""
    notes: tuple[str, ...] = ()
    curve: BudgetCurve | None = None
    history: int = 0
    advice: Advice | None = None
    errors: Floats | None = None
    shares: Floats | None = None
    curves: Curves | None = None
    spending: RunSpending | None = None
    probabilities: ProbabilityScores | None = None
    calibrated_best: float | None = None
    intervals: IntervalTrace | None = None
    columns: bool = False
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    def __repr__(self) -> str:
        return f"<Run of {self.learner} on {printable(self.title)}: {self.ledger}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, HtmlCell]] = [
            ("target", self.target),
            ("rounds", self.ledger.rounds),
            ("mean squared loss", self.ledger.mean_loss),
            (self.yardstick, self.best.loss.high / max(self.best.rounds, 1)),
            ("R2", self.r2),
            ("features read per example", f"{self.ledger.mean_reads:.1f} of {self.problem.d:,}"),
        ]
        return html_table(f"{self.learner} on {self.title}", rows)

    @property
    def weights(self) -> Floats:
        """The final model, in the units of the features."""
        return self.models[:, -1]

    @property
    def support(self) -> Indices:
        """The features of the final model."""
        return np.flatnonzero(self.weights)

    @property
    def plays_sparse(self) -> bool:
        """Whether the model that is played is the sparse one that is handed out."""
        used, handed_out = self.weights[self.support], self.sparse
        return (
            np.array_equal(self.support, np.sort(handed_out.features))
            and np.array_equal(used, handed_out.weights[np.argsort(handed_out.features)])
            and self.intercept == handed_out.intercept
        )

    @property
    def knows_hindsight(self) -> bool:
        """Whether the best model in hindsight was searched for: a log has not what that takes."""
        return len(self.regret.rounds) > 0

    @property
    def last_value_helps(self) -> bool:
        """Whether the last value of the label predicts better than the mean of all before."""
        known = {b.name: b.later_mean(self.ledger.rounds) for b in self.baselines}
        return LAST in known and MEAN in known and known[LAST] < known[MEAN]

    @property
    def yardstick(self) -> str:
        """What the learner is compared with, in words."""
        if self.spending is None:
            return f"best {self.best.k} features in hindsight"
        if self.columns:
            columns = f"{self.spending.allowed:,.10g} columns"
            return f"best {self.best.k} weights of {columns} in hindsight"
        return f"best {self.best.k} features for {self.spending.allowed:,.10g} in hindsight"

    @property
    def saved(self) -> float:
        """The share of reads saved: 1 - what was read / everything."""
        return 1.0 - self.ledger.mean_reads / self.problem.d

    @property
    def r2(self) -> float:
        """R2 of all rounds, the first included: see `Hindsight.r2_of`."""
        return self.best.r2_of(self.ledger.mean_loss)

    @property
    def later_r2(self) -> float:
        """R2 of all rounds but the first."""
        later = self.ledger.later_mean_loss
        return self.r2 if math.isnan(later) else self.best.r2_of(later)

    @property
    def best_loss(self) -> Interval:
        """What the best model in hindsight loses; as probabilities where predictions are some."""
        lost = self.calibrated_best
        if lost is None:
            return self.best.loss
        return Interval(lost, lost, "calibrated in hindsight")

    @property
    def total_regret(self) -> Interval:
        """Regret over the whole stream."""
        return self.ledger.loss - self.best_loss

    @property
    def later_regret(self) -> Interval:
        """The same without what the learner lost in the first round."""
        return self.ledger.later_loss - self.best_loss

    def summary(self) -> dict[str, object]:
        """The figures of the run as plain words, numbers, lists: what JSON can hold.

        Numbers that are not finite are None. Features are given by name.
        """
        label, best, beside = self.problem.label, self.best, self.best_with_past
        priced = self.spending
        return {
            "title": self.title,
            "target": self.target,
            "rounds": self.ledger.rounds,
            "history_rows": self.history,
            "features": self.problem.d,
            "sparsity": self.problem.k,
            "budget": self.problem.budget,
            "learner": self.learner,
            "settings": dict(self.settings),
            "seed": self.seed,
            "loss": self.ledger.loss,
            "mean_loss": self.ledger.mean_loss,
            "r2": self.r2,
            "first_round": {"loss": self.ledger.first_loss},
            "after_first": {
                "mean_loss": finite(self.ledger.later_mean_loss),
                "r2": self.later_r2,
                "regret": _ends(self.later_regret),
            },
            "last_tenth": {
                "rounds": self.recent.rounds,
                "mean_loss": finite(self.recent.mean_loss),
                "r2": finite(self.best.r2_of(self.recent.mean_loss)),
            },
            "label_variance": self.best.variance,
            **self._probabilities(),
            "reads_per_example": self.ledger.mean_reads,
            "most_reads": self.ledger.most_reads,
            "reads_saved": self.saved,
            **({} if priced is None else {"money": priced.as_json(self.problem, self.ledger)}),
            **({} if self.ledger.coverage is None else {"intervals": self._intervals()}),
            **self._steps(),
            "regret": _ends(self.total_regret),
            "hindsight": {**self._model(best), "calibrated_loss": self.calibrated_best},
            "hindsight_with_past": None if beside is None else self._model(beside),
            "model": {
                "weights": {label(int(j)): float(self.weights[j]) for j in self.support},
                "intercept": self.intercept,
                "errors": self._of_support(self.errors),
                "shares": self._of_support(self.shares),
            },
            "sparse_model": self._sparse(),
            "bought": self._bought(),
            "baselines": {b.name: self._baseline(b) for b in self.baselines},
            "advice": None if self.advice is None else self.advice.as_json(),
            "rounds_per_second": self.rounds_per_second,
            "notes": list(self.notes),
            "versions": dict(self.versions),
        }

    def _bought(self) -> dict[str, int]:
        """How often each feature was bought, those that were, most often first."""
        reads = self.ledger.reads
        order = np.argsort(-reads, kind="stable")[: np.count_nonzero(reads)].tolist()
        return {self.problem.label(j): int(reads[j]) for j in order}

    def _baseline(self, other: Baseline) -> dict[str, object]:
        """What a baseline lost, in all and after the first round, for the summary."""
        mean = other.later_mean(self.ledger.rounds)
        return {
            "loss": float(other.loss[-1]),
            "first_loss": other.first_loss,
            "after_first": {"mean_loss": finite(mean), "r2": finite(self.best.r2_of(mean))},
            "last_tenth": {"mean_loss": finite(other.last_tenth)},
        }

    def _sparse(self) -> dict[str, object]:
        model = self.sparse

        def by_name(numbers: Floats | None) -> dict[str, float] | None:
            return (
                None if numbers is None else dict(zip(model.names, numbers.tolist(), strict=True))
            )

        return {
            "weights": by_name(model.weights),
            "intercept": model.intercept,
            "errors": by_name(model.errors),
            "shares": by_name(model.shares),
        }

    def _probabilities(self) -> dict[str, object]:
        """Scores of probabilities, for the summary, where predictions are some."""
        return {} if self.probabilities is None else {"yes_no": self.probabilities.as_json()}

    def _intervals(self) -> dict[str, object]:
        ledger = self.ledger
        told = {"coverage": ledger.coverage, "rounds": ledger.bounded, "covered": ledger.covered}
        return {**told, "covered_share": ledger.covered_share, "mean_width": ledger.mean_width}

    def _steps(self) -> dict[str, object]:
        """How far examples went, for the summary, where they were bought step by step."""
        ledger = self.ledger
        if not ledger.stepwise:
            return {}
        after = {str(items): many for items, many in sorted(ledger.stopped_after.items())}
        told = {"rounds": ledger.stepwise, "stopped_after_items": after}
        return {
            "steps": {
                **told,
                "stopped_share": ledger.stopped_share,
                "not_bought": ledger.not_bought,
            }
        }

    def _of_support(self, numbers: Floats | None) -> dict[str, float] | None:
        """A number for each feature of the final model, by name."""
        if numbers is None:
            return None
        return {self.problem.label(int(j)): float(numbers[j]) for j in self.support}

    def _model(self, best: Hindsight) -> dict[str, object]:
        """A model in hindsight, for the summary."""
        weights = {self.problem.label(int(j)): float(best.weights[j]) for j in best.support}
        told = {"loss": _ends(best.loss), "r2": best.r2}
        model = {**told, "weights": weights, "intercept": best.intercept}
        if best.past is None:
            return model
        past = dict(zip(best.past.names, best.past.weights.tolist(), strict=True))
        return {**model, "past": past, "past_alone_loss": best.past.loss}


def versions() -> dict[str, str]:
    """Versions of keyhole, Python and the packages that numbers depend on; and the machine."""
    from keyhole.version import __version__

    found = {"keyhole": __version__, "python": platform.python_version()}
    found |= {package: importlib.metadata.version(package) for package in PACKAGES}
    return found | {"machine": f"{platform.system()} {platform.machine()}"}


def finite(value: float) -> float | None:
    """A number as JSON knows it: None if it is not finite."""
    return value if math.isfinite(value) else None


def _ends(interval: Interval) -> dict[str, object]:
    low, high = (float(end) if np.isfinite(end) else None for end in (interval.low, interval.high))
    return {"low": low, "high": high, "how": interval.how}
