"""One budget: the table of what several learners cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyhole.analysis.advice.choosing import amount
from keyhole.analysis.hindsight import Hindsight
from keyhole.cli import games
from keyhole.cli.games import Played, Yardsticks
from keyhole.cli.output import columns, heading, number, say, span
from keyhole.cli.scores import plus_minus, say_who_is_worse, scores, yardsticks_json
from keyhole.cli.source import Source
from keyhole.cli.spending import ONLY_A_LIMIT, Spending
from keyhole.learners.registry import LEARNERS
from keyhole.problem import Problem


@dataclass(frozen=True)
class Tournament:
    """All games, the yardsticks they are measured by, and how to show them."""

    source: Source
    problem: Problem
    learners: Sequence[str]
    by: Yardsticks
    played: Played
    spending: Spending = ONLY_A_LIMIT

    def of(self, learner: str) -> dict[str, Any]:
        """Means over the games of a learner, and their standard errors."""
        own = [g for g in self.played.games if g.learner == learner]
        return {
            "learner": learner,
            "reads_everything": LEARNERS[learner].reads_everything,
            "games": len(own),
            **scores(own, self.by),
        }

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        p = self.problem
        return {
            "source": self.source.title,
            "target": self.source.target,
            "rounds": self.by.rounds,
            "features": p.d,
            "budget": p.budget,
            "sparsity": p.k,
            "prices": None if self.source.shop is None else self.source.shop.as_json(),
            "worth": self.spending.worth,
            "purse": self.spending.purse,
            "interrupted": self.played.interrupted,
            **yardsticks_json(self.by),
            "learners": [self.of(name) for name in self.learners],
            "games": self.played.games,
        }

    def show(self) -> None:
        """The table, for people."""
        p, best, past = self.problem, self.by.best, self.by.with_past
        priced = p.prices is not None
        say(
            f"{self.source.title}: {best.rounds:,} rounds, {p.d:,} features, {amount(p.budget)}"
            f"{self._may()} per example; target {self.source.target}"
        )
        if self.source.shop is not None:
            say(*self.source.shop.words())
        what = {"spent": "columns" if self.by.columns else "spent"} if priced else {}
        what |= {"reads": "reads"}
        shown = {"mean_loss": "mean loss", "last_tenth_loss": "last tenth", "r2": "R2"}
        if self.source.answers is not None:
            shown = {"mean_loss": "Brier score", "log_loss": "log loss", "auc": "AUC"}
        shown |= {"regret": "regret", "normalised_regret": "normalised"}
        names = ("learner", *what.values(), *shown.values(), "seconds")
        rows: list[tuple[str, ...]] = [names]
        found = {g.learner: self.of(g.learner) for g in self.played.games}
        for learner, row in found.items():
            scored = {**row, **row["after_first"]}
            rows.append(
                (
                    f"{learner} (all {p.d:,})" if row["reads_everything"] else learner,
                    *(number(row[key]["mean"]) for key in what),
                    *(plus_minus(**scored[key]) for key in shown),
                    number(row["seconds"]["mean"]),
                )
            )
        head, *lines = columns(rows, "<" + ">" * (len(names) - 1))
        heading(head)
        say(*lines, "")
        say(
            f"{self.by.words} in hindsight: loss {span(best.loss)}, R2 {best.r2:.3f}"
            f"{self._for(best)}. ± is the standard error over the seeds."
        )
        if best.total is not None:
            say(
                f"Regret is in money, of that sum: {span(best.total)} by that model. The mean of "
                f"the games is {number(self._total())}."
            )
        told = f"loss {span(past.loss)}, R2 {past.r2:.3f}{self._for(past)}"
        say(f"{self.by.words} and the past: {told}.")
        for game in self.played.games:
            if game.purse_left is not None:
                purse = amount(self.spending.purse or 0.0)
                left = f"{number(game.purse_left)} of the purse of {purse} is left"
                say(f"{game.learner}, seed {game.seed}: {left}.")
        say_who_is_worse(
            self.by,
            {who: {"": row["after_first"]["mean_loss"]["mean"]} for who, row in found.items()},
        )
        if self.played.interrupted:
            say(f"Interrupted after {len(self.played.games)} games.")

    def _may(self) -> str:
        """What may be done for one example."""
        if self.by.columns:
            return " columns may be bought"
        return " may be read" if self.problem.prices is None else " may be spent"

    def _for(self, best: Hindsight) -> str:
        if best.cost is None:
            return ""
        return f", {number(best.cost)}{' columns' if self.by.columns else ''} per example"

    def draw(self) -> None:
        """Draw nothing: with one budget there is no curve."""

    def _total(self) -> float:
        totals = [game.total for game in self.played.games if game.total is not None]
        return sum(totals) / len(totals) if totals else math.nan


def play(
    source: Source,
    problem: Problem,
    learners: Sequence[str],
    how: games.Settings,
    kept: games.KeepsGames | None = None,
) -> Tournament:
    """Play every learner with this problem."""
    entries, left_out = games.entries(learners, [problem], named=how.named)
    playing = [name for name in learners if name in {entry[0] for entry in entries}]
    games.say_left_out([one for one in left_out if one.learner not in playing])
    by = games.measure(source, problem, how.spending)
    played = games.play(source.stream, entries, by, how, kept)
    return Tournament(source, problem, playing, by, played, how.spending)
