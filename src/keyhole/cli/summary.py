"""What a run comes to: for people, and for machines."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keyhole.cli.output import columns, heading, number, plain, say, span
from keyhole.cli.recording import Recorded
from keyhole.model import sparse_model
from keyhole.problem import Floats
from keyhole.report.run import LAST, MEAN

SHOWN = 12  # features in the list of what was bought
BAR = 24  # characters


def r2_against(done: Recorded, baseline: str) -> float:
    """1 - loss / loss of that baseline."""
    lost = _loss_of(done, baseline)
    return 1 - done.run.ledger.loss / lost if lost > 0 else math.nan


def facts(done: Recorded) -> dict[str, object]:
    """The answer of --json."""
    run, model, history = done.run, sparse_model(done.learner), done.before.history
    answer: dict[str, object] = plain(run.summary())
    return {
        **answer,
        "r2_running_mean": r2_against(done, MEAN),
        "r2_last_value": r2_against(done, LAST),
        "sparse_model": {
            "weights": dict(zip(model.names, model.weights.tolist(), strict=True)),
            "intercept": model.intercept,
            "errors": _by_name(model.names, model.errors),
            "shares": _by_name(model.names, model.shares),
        },
        "money": None if done.money is None else done.money.as_json(),
        "sizes": done.before.sizes.as_json(),
        "history": None if history is None else history.as_json(),
        "rows_without_target": done.source.left_out,
        "interrupted": done.interrupted,
        "report": done.files.report,
        "save": done.files.save,
    }


def _by_name(names: Sequence[str], numbers: Floats | None) -> dict[str, float] | None:
    return None if numbers is None else dict(zip(names, numbers.tolist(), strict=True))


def show(done: Recorded, *, explain: bool) -> None:
    """The answer for people."""
    run, p, ledger, history = done.run, done.run.problem, done.run.ledger, done.before.history
    say(
        f"{run.title}: {ledger.rounds:,} rounds, {p.d} features, target {run.target}; "
        f"learner {run.learner}, seed {run.seed}{'' if history is None else ', ' + history.words()}"
    )
    if history is not None and history.left_out:
        say(f"{history.left_out:,} rows of {history.title} without a target were left out.")
    if done.source.left_out:
        say(f"{done.source.left_out:,} rows without a target were left out.")
    if done.money is not None:
        say(*done.money.shop.words())
    if done.before.sizes.words:
        say(done.before.sizes.words)
    heading("What it cost")
    say(*columns(_costs(done), "<><"))
    _model(done)
    _reads(done)
    _orders(done)
    if explain:
        _explanation(done)
        _advice(done)
    if run.notes:
        say("", *run.notes)
    report, save = done.files.report, done.files.save
    if report is not None:
        say("", f"Report: {report}")
    if save is not None:
        say("", f"Learner: {save} (keyhole predict {save} FILE --out predictions.csv)")


def _costs(done: Recorded) -> list[tuple[str, str, str]]:
    """What was read, spent and lost, and what could have been."""
    run, p, ledger, money = done.run, done.run.problem, done.run.ledger, done.money
    reads = f"{number(ledger.mean_reads)} of {p.d}"
    mean, last = (number(_loss_of(done, who) / ledger.rounds) for who in (MEAN, LAST))
    lost = [
        ("mean squared loss", number(ledger.mean_loss), f"running mean of the label {mean}"),
        ("", "", f"last value of the label   {last}"),
        ("R2 against the running mean", f"{r2_against(done, MEAN):.3f}", ""),
    ]
    if money is not None:
        read = ("features read per example", reads, "")
        return [*money.spent_rows(), read, *lost, *money.best_rows()]
    gap, yardstick = run.total_regret, f"best {p.k} features in hindsight"
    rows = [
        ("features read per example", reads, f"{run.saved:.0%} saved"),
        *lost,
        (yardstick, number(run.best.loss.high / ledger.rounds), f"R2 {run.best.r2:.3f}"),
        ("regret against them", span(gap), f"{number(gap.high / ledger.rounds)} per round at most"),
    ]
    beside = run.best_with_past
    if beside is not None:
        per_round = number(beside.loss.high / ledger.rounds)
        rows.append((f"best {p.k} features and the past", per_round, f"R2 {beside.r2:.3f}"))
    return rows


def _model(done: Recorded) -> None:
    run, model = done.run, sparse_model(done.learner)
    heading(f"The model: {run.target} =")
    order = np.argsort(-np.abs(model.weights * run.spread[model.features]), kind="stable")
    yardstick = run.best if done.money is None else done.money.best
    best = set() if yardstick is None else set(yardstick.support.tolist())
    rows = [(f"{model.intercept:+.4g}", "", "", "", "")]
    for i in order.tolist():
        feature = int(model.features[i])
        known = "among the best in hindsight" if feature in best else ""
        doubt = "" if model.errors is None else f"± {model.errors[i]:.2g}"
        long = "" if model.shares is None else f"in the model {model.shares[i]:.0%} of the time"
        rows.append((f"{model.weights[i]:+.4g}", doubt, f"× {model.names[i]}", long, known))
    # What is nowhere known takes no room.
    there = [at for at in range(5) if at == 0 or any(row[at] for row in rows)]
    say(*columns([[row[at] for at in there] for row in rows], ">" + "<" * (len(there) - 1)))


def _reads(done: Recorded) -> None:
    run = done.run
    share = run.ledger.reads / run.ledger.rounds
    order = np.argsort(-share, kind="stable")
    money = done.money
    words = "" if money is None else ", and what it costs alone"
    heading(f"How often each feature was bought{words}")
    rows = []
    for j in order[:SHOWN].tolist():
        bar = "█" * round(BAR * share[j])
        price = () if money is None else (money.price(j),)
        rows.append((run.problem.label(j), *price, f"{share[j]:.1%}", bar))
    say(*columns(rows, "<><" if money is None else "<>><"))
    rest = share[order[SHOWN:]]
    if len(rest):
        say(f"  and {len(rest)} more, {rest.min():.1%} to {rest.max():.1%} each")


def _orders(done: Recorded) -> None:
    """What was ordered: a panel is one item."""
    if done.money is None or not done.money.shop.prices.items:
        return
    heading("What was ordered, most money first")
    rows, more = done.money.order_rows(SHOWN)
    say(*columns(rows, "<>>>"))
    if more:
        say(f"  and {more} more")


def _explanation(done: Recorded) -> None:
    explained = getattr(done.learner, "explain", None)
    heading("What is bought now, and why")
    if explained is None:
        say(f"  {done.run.learner} does not say.")
    else:
        say(*str(explained()).splitlines())


def _advice(done: Recorded) -> None:
    if done.run.advice is not None:
        heading("Advice")
        say(*str(done.run.advice).splitlines())


def _loss_of(done: Recorded, baseline: str) -> float:
    found = next(b for b in done.run.baselines if b.name == baseline)
    return float(found.loss[-1])
