"""Summary of `keyhole run`: what it cost, how good it is, the model; as text and as JSON."""

from __future__ import annotations

import math

import numpy as np

from keyhole.cli.output import columns, heading, number, plain, say, span
from keyhole.cli.recording import RecordedRun
from keyhole.cli.source import say_findings
from keyhole.problem.sparse_model import not_known
from keyhole.report.number_format import doubt
from keyhole.report.run import LAST, MEAN
from keyhole.report.tables import Score, how_far, in_hindsight, of_model, scores, sentences

MAX_FEATURES_LISTED = 12  # features in the list of what was bought
BAR_WIDTH = 24  # characters


def r2_against(done: RecordedRun, baseline: str) -> float:
    """1 - loss / loss of that baseline."""
    lost = next(float(b.loss[-1]) for b in done.run.baselines if b.name == baseline)
    return 1 - done.run.ledger.loss / lost if lost > 0 else math.nan


def facts(done: RecordedRun) -> dict[str, object]:
    """The answer of --json."""
    run, history = done.run, done.before.history
    answer: dict[str, object] = plain(run.summary())
    return {
        **answer,
        "findings": plain(done.findings),
        "answers": done.source.answers_json(),
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


def show(done: RecordedRun, *, explain: bool) -> None:
    """The answer for people."""
    run, p, ledger, history = done.run, done.run.problem, done.run.ledger, done.before.history
    say_findings(done.findings)
    say(
        f"{run.title}: {ledger.rounds:,} rounds, {p.d:,} features, target {run.target}; "
        f"learner {run.learner}, seed {run.seed}{'' if history is None else ', ' + history.words()}"
    )
    if history is not None and history.left_out:
        say(f"{history.left_out:,} rows of {history.title} without a target were left out.")
    if done.source.left_out:
        say(f"{done.source.left_out:,} rows without a target were left out.")
    say(*done.source.answer_words(), *done.source.price_words())
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
    if run.notes:
        say("", *run.notes)
    report, save = done.files.report, done.files.save
    if report is not None:
        say("", f"Report: {report}")
    if save is not None:
        say("", f"Learner: {save} (keyhole predict {save} FILE --out predictions.csv)")


def _costs(done: RecordedRun) -> list[tuple[str, str, str]]:
    """What was read and spent."""
    run, money = done.run, done.money
    reads = f"{number(run.ledger.mean_reads)} of {run.problem.d:,}"
    if money is not None:
        return [*money.spent_rows(), *_steps_rows(done), ("features read per example", reads, "")]
    return [("features read per example", reads, f"{run.saved:.0%} saved")]


def _steps_rows(done: RecordedRun) -> list[tuple[str, str, str]]:
    """How far rows went that were bought step by step, and what that saved."""
    ledger = done.run.ledger
    if not ledger.stepwise:
        return []
    saved, whole = ledger.not_bought, ledger.not_bought + ledger.spent
    share = saved / whole if whole else 0.0
    return [
        ("rows that stopped early", f"{ledger.stopped_share:.0%}", how_far(ledger)),
        (
            "saved by stopping",
            f"{number(saved / ledger.stepwise)} per example",
            f"{share:.0%} of what all steps would have cost",
        ),
    ]


def _model(done: RecordedRun) -> None:
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
        weight = float(model.weights[i])
        error = "" if model.errors is None else _error(weight, float(model.errors[i]))
        long = "" if model.shares is None else f"in the model {model.shares[i]:.0%} of the time"
        rows.append((_signed(weight), error, f"× {model.names[i]}", long, known))
    # What is nowhere known takes no room.
    there = [at for at in range(5) if at == 0 or any(row[at] for row in rows)]
    say(*columns([[row[at] for at in there] for row in rows], ">" + "<" * (len(there) - 1)))
    if not run.plays_sparse:
        used = f"While playing, {run.learner} uses other weights, {len(run.support)} at the end"
        say(f"  {used}: see --report, or `model` in --json.")


def _error(weight: float, error: float) -> str:
    """The error of a weight; where it is as large as the weight, nothing is known of that yet.

    >>> _error(0.3, 0.012), _error(0.3, 0.4)
    ('± 0.012', '± 0.4, not known yet')
    """
    return f"± {doubt(error)}{not_known(weight, error)}"


def _signed(weight: float) -> str:
    return f"{'-' if weight < 0 else '+'}{number(abs(weight))}"


def _reads(done: RecordedRun) -> None:
    run = done.run
    share = run.ledger.reads / run.ledger.rounds
    order = np.argsort(-share, kind="stable")
    money = done.money
    words = "" if money is None else ", and what it costs alone"
    if run.columns:
        words = ", and the column it comes from"
    heading(f"How often each feature was bought{words}")
    rows = []
    for j in order[:MAX_FEATURES_LISTED].tolist():
        bar = "█" * round(BAR_WIDTH * share[j])
        price = () if money is None else (money.price(j),)
        rows.append((run.problem.label(j), *price, f"{share[j]:.1%}", bar))
    say(*columns(rows, "<><" if money is None else "<>><"))
    rest = share[order[MAX_FEATURES_LISTED:]]
    if len(rest):
        say(f"  and {len(rest):,} more, {rest.min():.1%} to {rest.max():.1%} each")


def _orders(done: RecordedRun) -> None:
    """What was ordered: a panel is one item, and so is a column of levels."""
    if done.money is None or not done.money.pricing.prices.items:
        return
    what = "How often each column was bought" if done.run.columns else "What was ordered"
    heading(what if done.run.columns else f"{what}, most money first")
    rows, more = done.money.order_rows(MAX_FEATURES_LISTED)
    say(*columns(rows, "<" + ">" * (len(rows[0]) - 1)))
    if more:
        say(f"  and {more} more")


def _explanation(done: RecordedRun) -> None:
    explained, advice = getattr(done.learner, "explain", None), done.run.advice
    heading("What is bought now, and why")
    if explained is None:
        say(f"  {done.run.learner} does not say.")
    else:
        say(*str(explained()).splitlines())
    if advice is not None:
        heading("Advice")
        said = str(advice)
        if done.run.columns:
            told = sentences(advice, columns=True)
            for before, after in zip(advice.sentences, told, strict=True):
                said = said.replace(before, after)
        say(*said.splitlines())


def show_scores(done: RecordedRun) -> None:
    """The table, what it is measured by, and the first round by itself."""
    run, ledger = done.run, done.run.ledger
    squared = "mean squared loss" if run.probabilities is None else "Brier score"
    recent = f"last {run.recent.rounds:,} rounds"
    rows = [("How good it is", squared, "typical error", recent, "R2")]
    for row in _score_rows(done):
        rows.append(
            (
                row.who,
                number(row.mean.high),
                number(row.error),
                "" if math.isnan(row.last_tenth) else number(row.last_tenth),
                f"{round(row.r2, 3) + 0.0:.3f}",  # no -0.000
            )
        )
    head, *lines = columns(rows, "<>>>>")
    heading(head)
    say(*lines)
    more = [*_probability_rows(done), *_interval_rows(done), *_regret_rows(done)]
    if more:
        say("", *columns(more, "<><"))
    variance = number(run.best.variance)
    notes = [f"R2 is 1 - {squared} / {variance}, the variance of the label."]
    if ledger.rounds > 1:
        lost = number(ledger.first_loss)
        which = "These figures leave" if run.probabilities is None else "The table leaves"
        notes.append(f"{which} out the first round, in which {lost} was lost.")
    if run.probabilities is not None:
        notes.append("All predictions of the table are calibrated: they are probabilities of yes.")
    say("", *notes)


def _score_rows(done: RecordedRun) -> list[Score]:
    """The learner, the best in hindsight, and what everybody knows."""
    run, money = done.run, done.money
    ours, *others = scores(run)
    known = others[len(in_hindsight(run)) :]
    best = others[: len(others) - len(known)]
    if money is not None and run.calibrated_best is None:
        best = [] if money.best is None else [of_model(run, money.best_words, money.best)]
    return [ours, *best, *known]


def _probability_rows(done: RecordedRun) -> list[tuple[str, str, str]]:
    """Scores of probabilities beside those of the share of yes, where predictions are some."""
    found = done.run.probabilities
    if found is None:
        return []
    auc = (found.auc.low + found.auc.high) / 2  # the interval is narrow, or all labels are alike
    rows = [
        ("log loss", number(found.log_loss), f"share of yes so far {number(found.base_log_loss)}"),
        (
            "AUC",
            "not known" if found.auc.width == 1.0 else f"{auc:.3f}",
            "a yes before a no; by chance 0.5",
        ),
    ]
    if hasattr(done.learner, "calibration"):
        told = done.learner.calibration()
        words = f"nats in all, against {told.best}; at most {told.bound:.1f}"
        rows.append(("regret of calibration", f"{told.regret:+.1f}", words))
    return rows


def _interval_rows(done: RecordedRun) -> list[tuple[str, str, str]]:
    """How many labels were within their intervals, where those were asked for."""
    ledger = done.run.ledger
    if not ledger.bounded or ledger.coverage is None:
        return []
    words = f"labels within their {100 * ledger.coverage:g} % intervals"
    return [(words, f"{ledger.covered_share:.1%}", f"{number(ledger.mean_width)} wide on average")]


def _regret_rows(done: RecordedRun) -> list[tuple[str, str, str]]:
    """What was lost beyond the best model, the first round left out."""
    run = done.run
    if done.money is not None and run.calibrated_best is None:
        return done.money.regret_rows()
    gap, n = run.later_regret, run.ledger.rounds
    per_round = f"{number(gap.high / n)} per round at most"
    return [(f"regret against the {run.yardstick}", span(gap), per_round)]
