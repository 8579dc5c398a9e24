"""Conclusions of a report: a headline of two sentences, and findings about the data and the run."""

from __future__ import annotations

import math

import numpy as np

from keyhole.analysis.diagnosis.diagnose import ENOUGH_VIEWS
from keyhole.analysis.diagnosis.page import Finding, Severity
from keyhole.report.number_format import (
    MAX_NAME_LENGTH,
    brief,
    listed,
    mean_amount,
    plain_name,
    share,
)
from keyhole.report.run import FULL, LAST, MEAN, Run

MAX_NAMED = 6  # features that are named
SEVERITIES: tuple[Severity, ...] = ("serious", "worth mending", "good to know")
WORSE_BY = 1.5  # times the loss of the whole game, from which the last tenth is worse
PAST_HELPS = 0.02  # R2 that the past adds, from which it is told
NEARLY_ALL = 0.9  # of the R2 of the best in hindsight


def headline(run: Run) -> tuple[str, str]:
    """What to buy and what it saves; how good that is. Names are as short as a line wants them."""
    return _buy(run), _good(run)


def _buy(run: Run) -> str:
    """What to buy; what finding that out took, and saved."""
    names = listed([plain_name(name) for name in to_buy(run)], MAX_NAMED)
    target = plain_name(run.target, 10 * MAX_NAME_LENGTH)
    if not names:
        return f"No feature was found that helps to predict {target}; {_taken(run)}."
    what = f"{'the columns ' if run.columns else ''}{names}"
    return f"Buy {what} to predict {target}: {_taken(run)}."


def to_buy(run: Run) -> list[str]:
    """The features of the sparse model, or the columns they come from; the largest effect first."""
    model, prices = run.sparse, run.problem.prices
    effect = np.abs(model.weights) * run.spread[model.features]
    order = model.features[np.argsort(-effect, kind="stable")]
    if not run.columns or prices is None:
        return [run.problem.label(int(j)) for j in order]
    columns = (prices.items[i] for j in order for i in prices.needs[int(j)])
    return list(dict.fromkeys(columns))


def _taken(run: Run) -> str:
    """What was read or spent in the game, exploring included, and what that saved."""
    ledger, prices, found = run.ledger, run.problem.prices, "learning that took"
    if prices is None:
        read = f"{ledger.mean_reads:.3g} of {run.problem.d:,} features"
        return f"{found} {read} per example and saved {run.saved:.0%} of all reads"
    each = ledger.spent / ledger.rounds
    if run.columns:
        bought = f"{each:.3g} of {len(prices.items):,} columns"
        return f"{found} {bought} per example and saved {ledger.saved:.0%} of them"
    spent = f"{mean_amount(each, prices)} per example"
    return f"learning that cost {spent}, {ledger.saved:.0%} less than reading everything"


def _good(run: Run) -> str:
    """How good predictions are, beside what people know."""
    scores = run.probabilities
    if scores is not None:
        middle = (scores.auc.low + scores.auc.high) / 2
        auc = "" if scores.auc.width == 1.0 else f", and an AUC of {middle:.3f}"
        beside = f"{brief(scores.base_log_loss)} for the share of yes so far"
        lost = brief(scores.log_loss)
        return f"Its probabilities have a log loss of {lost}, against {beside}{auc}."
    mean = run.ledger.later_mean_loss
    if math.isnan(mean):
        return "One round is too few to say how good predictions are."
    known = {b.name: b.later_mean(run.ledger.rounds) for b in run.baselines}
    against = f"against {brief(math.sqrt(known[MEAN]))} for the running mean"
    if FULL in known:
        against += f" and {brief(math.sqrt(known[FULL]))} if everything is read"
    r2, best = run.later_r2, run.best.r2
    if r2 <= 0:
        explained = f"they explain nothing (R² {share(r2)}; {run.yardstick} {share(best)})"
    else:
        explained = f"they explain {r2:.0%} of what varies, the {run.yardstick} {best:.0%}"
    off = f"are typically off by {brief(math.sqrt(mean))}, {against}"
    return f"Predictions {off}; {explained}."


def findings(run: Run) -> list[Finding]:
    """About the run, and about the data if it was diagnosed; the most serious first."""
    found = [*_of_run(run), *(() if run.diagnosis is None else _of_data(run))]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


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
    elif run.best_with_past is not None and run.best_with_past.r2 > run.best.r2 + PAST_HELPS:
        gain = f"R² {run.best.r2:.3f} without, {run.best_with_past.r2:.3f} with them"
        what = f"In hindsight, earlier labels help in addition to the features: {gain}."
        found.append(Finding(what, "Keep in mind that the order of the rows matters."))
    if recent > WORSE_BY * mean:
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
