"""Score table of a run: the learner next to the best models in hindsight and the baselines."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.analysis.hindsight import Hindsight
from keyhole.problem import Interval
from keyhole.report.run import FULL, LAST, MEAN, Run

# What the yardsticks that everybody knows are called in front of people.
KNOWN = {
    FULL: "reading everything",
    MEAN: "running mean of the label",
    LAST: "last value of the label",
}


@dataclass(frozen=True, slots=True)
class Score:
    """What somebody lost per round, and what it cost.

    Of whoever played, the first round is not counted: nothing is known in it. Models in hindsight
    are fitted to all rounds, and what they lose in the last tenth alone is not known (NaN).

    Attributes
    ----------
    who
        In words.
    reads, cost
        Features and money per example; `cost` is None where it is not known.
    loss
        In all.
    mean
        Per round.
    last_tenth
        Per round, in the last tenth of the game.
    r2
        1 - mean / variance of the label (`Hindsight.r2_of`).
    ours
        Whether it is the learner of the run.
    """

    who: str
    reads: float
    loss: Interval
    mean: Interval
    r2: float
    last_tenth: float = math.nan
    cost: float | None = None
    ours: bool = False

    @property
    def error(self) -> float:
        """The typical error: the root of the mean squared loss, in the units of the label."""
        return math.sqrt(self.mean.high)


def scores(run: Run) -> list[Score]:
    """The learner, the best in hindsight, and what people know; the learner first."""
    ours, *known = played(run)
    return [ours, *in_hindsight(run), *known]


def played(run: Run) -> list[Score]:
    """Those who played: the learner, and what people know."""
    return [_learner(run), *_known(run)]


def in_hindsight(run: Run) -> list[Score]:
    """The best models in hindsight: of k features, beside the past, and for the money."""
    found = [of_model(run, run.yardstick, run.best)]
    if run.best_with_past is not None:
        found.append(of_model(run, f"{run.yardstick} and the past", run.best_with_past))
    return found + _best_for_money(run)


def of_model(run: Run, who: str, model: Hindsight) -> Score:
    """The score of a model in hindsight."""
    features = float(model.k) if model.worth is None else float(len(model.support))
    return _fitted(run, who, features, model.loss, model.cost)


def _learner(run: Run) -> Score:
    ledger = run.ledger
    lost = _later(ledger.loss, ledger.first_loss, ledger.rounds)
    cost = None if run.spending is None else ledger.spent / ledger.rounds
    return _played(run, run.learner, ledger.mean_reads, lost, run.recent.mean_loss, cost, ours=True)


def _known(run: Run) -> list[Score]:
    return [
        _played(
            run,
            KNOWN[b.name],
            b.reads,
            _later(float(b.loss[-1]), b.first_loss, run.ledger.rounds),
            b.last_tenth,
            None if run.spending is None else b.cost,
        )
        for b in sorted(run.baselines, key=lambda b: list(KNOWN).index(b.name))
    ]


def _later(loss: float, first_loss: float, rounds: int) -> float:
    """What was lost after the first round; all of it if there was no other."""
    return max(loss - first_loss, 0.0) if rounds > 1 else loss


def _played(
    run: Run,
    who: str,
    reads: float,
    lost: float,
    last_tenth: float,
    cost: float | None,
    ours: bool = False,
) -> Score:
    mean = lost / max(run.ledger.rounds - 1, 1)
    exact, each = Interval(lost, lost, "played"), Interval(mean, mean, "played")
    return Score(who, reads, exact, each, run.best.r2_of(mean), last_tenth, cost, ours)


def _fitted(run: Run, who: str, features: float, loss: Interval, cost: float | None) -> Score:
    n = run.ledger.rounds
    mean = Interval(loss.low / n, loss.high / n, loss.how)
    return Score(who, features, loss, mean, run.best.r2_of(mean.high), cost=cost)


def _best_for_money(run: Run) -> list[Score]:
    """The best of any number of features within the limit, and the best at the rate."""
    money, found = run.spending, list[Score]()
    if money is None:
        return found
    if money.frontier is not None:
        point = money.frontier.at(money.allowed)
        who = f"best for {money.allowed:,.10g} in hindsight, any number"
        if run.columns:
            who = f"best {money.allowed:,.10g} columns in hindsight"
        found.append(_fitted(run, who, float(len(point.features)), point.loss, point.cost))
    if money.best_total is not None:
        who = "best for what it is worth in hindsight"
        found.append(of_model(run, who, money.best_total))
    return found
