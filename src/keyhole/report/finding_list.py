"""What a reader of a report should know first: findings about the data and about the run."""

from __future__ import annotations

import math

from keyhole.analysis.diagnosis.page import Finding, Severity
from keyhole.report.run import LAST, MEAN, Run

ORDER: tuple[Severity, ...] = ("serious", "worth mending", "good to know")
WORSE = 1.5  # times the loss of the whole game, from which the last tenth is worse
ENOUGH_VIEWS = 100  # of two features together
TELLS = 0.02  # R2 that the past adds, from which it is told
NEARLY_ALL = 0.9  # of the R2 of the best in hindsight


def findings(run: Run) -> list[Finding]:
    """About the run, and about the data if it was diagnosed; the most serious first."""
    found = [*_of_run(run), *(() if run.diagnosis is None else _of_data(run))]
    return sorted(found, key=lambda finding: ORDER.index(finding.severity))


def _of_run(run: Run) -> list[Finding]:
    """How the learner fared beside what everybody knows, and lately."""
    ledger, found = run.ledger, list[Finding]()
    mean, recent = ledger.later_mean_loss, run.recent.mean_loss
    if math.isnan(mean):
        return found
    known = {b.name: b.later_mean(ledger.rounds) for b in run.baselines}
    if mean >= known[MEAN]:
        what = "Its predictions are no better than the mean of the labels so far."
        do = "Play more rows, raise the budget, or look for other features: nothing was learnt yet."
        found.append(Finding(what, do, (), "serious"))
    if known[LAST] < mean:
        what = "The last value of the label predicts better than the learner."
        do = "Add the last values of the label as columns: they cost nothing."
        found.append(Finding(what, do, (), "worth mending"))
    elif run.best_with_past is not None and run.best_with_past.r2 > run.best.r2 + TELLS:
        gain = f"R² {run.best.r2:.3f} without, {run.best_with_past.r2:.3f} with them"
        what = f"In hindsight, earlier labels help in addition to the features: {gain}."
        found.append(Finding(what, "Keep in mind that the order of the rows matters."))
    if recent > WORSE * mean:
        many = f"The mean squared loss of the last {run.recent.rounds:,} rounds"
        what = f"{many} is {recent / mean:.1f} times that of the whole game."
        do = "Look at the errors over time: something may have changed."
        found.append(Finding(what, do, (), "worth mending"))
    return found


def _of_data(run: Run) -> list[Finding]:
    """The findings of the diagnosis, and what it expects if that is little."""
    diagnosis = run.diagnosis
    assert diagnosis is not None
    found = list(diagnosis.findings)
    close = run.best.r2 > 0 and run.later_r2 >= NEARLY_ALL * run.best.r2
    if diagnosis.pair_views < ENOUGH_VIEWS and not close:
        do = "Play more rows: at any budget, pairs of features are read together too rarely."
        if diagnosis.enough:
            do = f"Raise the budget to {diagnosis.enough}, or play more rows."
        found.append(Finding(diagnosis.outlook[0], do, (), "worth mending"))
    return found
