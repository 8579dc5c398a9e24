"""A run in two sentences: what to buy and what that saves, and how good it is."""

from __future__ import annotations

import math

import numpy as np

from keyhole.report.figures import LONGEST, brief, listed, mean_amount, plain_name, share
from keyhole.report.run import FULL, MEAN, Run

NAMED = 6  # features that are named


def headline(run: Run) -> tuple[str, str]:
    """What to buy and what it saves; how good that is. Names are as short as a line wants them."""
    return _buy(run), _good(run)


def _buy(run: Run) -> str:
    """What to buy; what finding that out took, and saved."""
    names = listed([plain_name(name) for name in to_buy(run)], NAMED)
    target = plain_name(run.target, 10 * LONGEST)
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
