"""What a run comes to: for people, and for machines."""

from __future__ import annotations

import math

import numpy as np

from keyhole.cli.output import columns, heading, number, plain, say
from keyhole.cli.recording import Recorded
from keyhole.cli.score_table import show_scores
from keyhole.cli.yes_no import answers_json, meaning
from keyhole.report.advice_table import sentences
from keyhole.report.figures import doubt
from keyhole.report.run import LAST, MEAN

SHOWN = 12  # features in the list of what was bought
BAR = 24  # characters


def r2_against(done: Recorded, baseline: str) -> float:
    """1 - loss / loss of that baseline."""
    lost = _loss_of(done, baseline)
    return 1 - done.run.ledger.loss / lost if lost > 0 else math.nan


def facts(done: Recorded) -> dict[str, object]:
    """The answer of --json."""
    run, history = done.run, done.before.history
    answer: dict[str, object] = plain(run.summary())
    return {
        **answer,
        "answers": answers_json(done.source.answers),
        "r2_running_mean": r2_against(done, MEAN),
        "r2_last_value": r2_against(done, LAST),
        "money": None if done.money is None else done.money.as_json(),
        "sizes": done.before.sizes.as_json(),
        "history": None if history is None else history.as_json(),
        "rows_without_target": done.source.left_out,
        "interrupted": done.interrupted,
        "report": done.files.report,
        "save": done.files.save,
    }


def show(done: Recorded, *, explain: bool) -> None:
    """The answer for people."""
    run, p, ledger, history = done.run, done.run.problem, done.run.ledger, done.before.history
    say(
        f"{run.title}: {ledger.rounds:,} rounds, {p.d:,} features, target {run.target}; "
        f"learner {run.learner}, seed {run.seed}{'' if history is None else ', ' + history.words()}"
    )
    if history is not None and history.left_out:
        say(f"{history.left_out:,} rows of {history.title} without a target were left out.")
    if done.source.left_out:
        say(f"{done.source.left_out:,} rows without a target were left out.")
    say(*meaning(done.source))
    if done.money is not None:
        say(*done.money.shop.words())
    if done.before.sizes.words:
        say(done.before.sizes.words)
    heading("What it cost")
    say(*columns(_costs(done), "<><"))
    show_scores(done)
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
    """What was read and spent."""
    run, money = done.run, done.money
    reads = f"{number(run.ledger.mean_reads)} of {run.problem.d:,}"
    if money is not None:
        return [*money.spent_rows(), ("features read per example", reads, "")]
    return [("features read per example", reads, f"{run.saved:.0%} saved")]


def _model(done: Recorded) -> None:
    run, model = done.run, done.run.sparse
    score = "" if run.probabilities is None else ", its score from about 0 (no) to 1 (yes),"
    heading(f"The model of at most {run.problem.k} weights: {run.target}{score} =")
    order = np.argsort(-np.abs(model.weights * run.spread[model.features]), kind="stable")
    yardstick = run.best if done.money is None else done.money.best
    best = set() if yardstick is None else set(yardstick.support.tolist())
    rows = [(_signed(model.intercept), "", "", "", "")]
    for i in order.tolist():
        feature = int(model.features[i])
        known = "among the best in hindsight" if feature in best else ""
        error = "" if model.errors is None else f"± {doubt(float(model.errors[i]))}"
        long = "" if model.shares is None else f"in the model {model.shares[i]:.0%} of the time"
        rows.append((_signed(float(model.weights[i])), error, f"× {model.names[i]}", long, known))
    # What is nowhere known takes no room.
    there = [at for at in range(5) if at == 0 or any(row[at] for row in rows)]
    say(*columns([[row[at] for at in there] for row in rows], ">" + "<" * (len(there) - 1)))
    if not run.plays_sparse:
        used = f"While playing, {run.learner} uses other weights, {len(run.support)} at the end"
        say(f"  {used}: see --report, or `model` in --json.")


def _signed(weight: float) -> str:
    return f"{'-' if weight < 0 else '+'}{number(abs(weight))}"


def _reads(done: Recorded) -> None:
    run = done.run
    share = run.ledger.reads / run.ledger.rounds
    order = np.argsort(-share, kind="stable")
    money = done.money
    words = "" if money is None else ", and what it costs alone"
    if run.columns:
        words = ", and the column it comes from"
    heading(f"How often each feature was bought{words}")
    rows = []
    for j in order[:SHOWN].tolist():
        bar = "█" * round(BAR * share[j])
        price = () if money is None else (money.price(j),)
        rows.append((run.problem.label(j), *price, f"{share[j]:.1%}", bar))
    say(*columns(rows, "<><" if money is None else "<>><"))
    rest = share[order[SHOWN:]]
    if len(rest):
        say(f"  and {len(rest):,} more, {rest.min():.1%} to {rest.max():.1%} each")


def _orders(done: Recorded) -> None:
    """What was ordered: a panel is one item, and so is a column of levels."""
    if done.money is None or not done.money.shop.prices.items:
        return
    what = "How often each column was bought" if done.run.columns else "What was ordered"
    heading(what if done.run.columns else f"{what}, most money first")
    rows, more = done.money.order_rows(SHOWN)
    say(*columns(rows, "<" + ">" * (len(rows[0]) - 1)))
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
        said = str(done.run.advice)
        if done.run.columns:
            told = sentences(done.run.advice, columns=True)
            for before, after in zip(done.run.advice.sentences, told, strict=True):
                said = said.replace(before, after)
        say(*said.splitlines())


def _loss_of(done: Recorded, baseline: str) -> float:
    found = next(b for b in done.run.baselines if b.name == baseline)
    return float(found.loss[-1])
