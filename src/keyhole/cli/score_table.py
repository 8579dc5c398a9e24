"""How good a run was, for people: the learner beside the best in hindsight and what is known."""

from __future__ import annotations

import math

from keyhole.cli.output import columns, heading, number, say, span
from keyhole.cli.recording import Recorded
from keyhole.cli.yes_no import calibration_row, score_rows
from keyhole.report.scores import Score, in_hindsight, of_model, scores


def show_scores(done: Recorded) -> None:
    """The table, what it is measured by, and the first round by itself."""
    run, ledger = done.run, done.run.ledger
    squared = "mean squared loss" if run.probabilities is None else "Brier score"
    recent = f"last {run.recent.rounds:,} rounds"
    rows = [("How good it is", squared, "typical error", recent, "R2")]
    for row in _rows(done):
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
    more = [*_probabilities(done), *_intervals(done), *_regret(done)]
    if more:
        say("", *columns(more, "<><"))
    variance = number(run.best.variance)
    notes = [f"R2 is 1 - {squared} / {variance}, the variance of the label."]
    if ledger.rounds > 1:
        lost = number(ledger.first_loss)
        notes.append(f"These figures leave out the first round, in which {lost} was lost.")
    say("", *notes)


def _rows(done: Recorded) -> list[Score]:
    """The learner, the best in hindsight, and what everybody knows."""
    run, money = done.run, done.money
    ours, *others = scores(run)
    known = others[len(in_hindsight(run)) :]
    best = others[: len(others) - len(known)]
    if money is not None:
        best = [] if money.best is None else [of_model(run, money.best_words, money.best)]
    return [ours, *best, *known]


def _probabilities(done: Recorded) -> list[tuple[str, str, str]]:
    """Scores of probabilities, where predictions are some."""
    if done.run.probabilities is None:
        return []
    return [*score_rows(done.run.probabilities), *calibration_row(done.learner)]


def _intervals(done: Recorded) -> list[tuple[str, str, str]]:
    """How many labels were within their intervals, where those were asked for."""
    ledger = done.run.ledger
    if not ledger.bounded or ledger.coverage is None:
        return []
    words = f"labels within their {100 * ledger.coverage:g} % intervals"
    return [(words, f"{ledger.covered_share:.1%}", f"{number(ledger.mean_width)} wide on average")]


def _regret(done: Recorded) -> list[tuple[str, str, str]]:
    """What was lost beyond the best model, the first round left out."""
    run = done.run
    if done.money is not None:
        return done.money.regret_rows()
    gap, n = run.later_regret, run.ledger.rounds
    per_round = f"{number(gap.high / n)} per round at most"
    return [(f"regret against the {run.yardstick}", span(gap), per_round)]
