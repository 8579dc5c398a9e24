"""Comparison tables of `keyhole compare`: several learners with one budget, or with several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyhole.analysis.hindsight import Hindsight
from keyhole.cli import games
from keyhole.cli.game_scores import (
    BRIER,
    SQUARED,
    plus_minus,
    say_who_is_worse,
    scores,
    squared_words,
    yardsticks_json,
)
from keyhole.cli.games import GameSettings, LeftOut, PlayedGames, StoredGames, Yardsticks
from keyhole.cli.output import columns, heading, number, say, span
from keyhole.cli.source import Source
from keyhole.cli.spending import NO_SPENDING_RULE, SpendingRule
from keyhole.learners.registry import LEARNERS
from keyhole.problem import DataError, Interval, Problem
from keyhole.problem.display import money_text
from keyhole.problem.optional_imports import extra


@dataclass(frozen=True)
class LearnerComparison:
    """All games, the yardsticks they are measured by, and how to show them."""

    source: Source
    problem: Problem
    learners: Sequence[str]
    by: Yardsticks
    played: PlayedGames
    spending: SpendingRule = NO_SPENDING_RULE

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
            "prices": self.source.prices_json(),
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
            f"{self.source.title}: {best.rounds:,} rounds, {p.d:,} features, {money_text(p.budget)}"
            f"{self._may()} per example; target {self.source.target}"
        )
        say(*self.source.price_words())
        what = {"spent": "columns" if self.by.columns else "spent"} if priced else {}
        what |= {"reads": "reads"}
        shown = {"mean_loss": SQUARED, "last_tenth_loss": "last tenth", "r2": "R2"}
        if self.by.calibrated:
            shown |= {"mean_loss": BRIER, "log_loss": "log loss", "auc": "AUC"}
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
                    *(_told(key, scored[key]) for key in shown),
                    number(row["seconds"]["mean"]),
                )
            )
        head, *lines = columns(rows, "<" + ">" * (len(names) - 1))
        heading(head)
        say(*lines, "")
        mean = mean_words(self.by, best.loss)
        say(
            f"{self.by.words} in hindsight: {mean}, R2 {best.r2:.3f}"
            f"{self._for(best)}. ± is the standard error over the seeds."
        )
        if best.total is not None:
            say(
                f"Regret is in money, of that sum: {span(best.total)} by that model. The mean of "
                f"the games is {number(self._total())}."
            )
        if not self.by.calibrated:
            told = f"{mean_words(self.by, past.loss)}, R2 {past.r2:.3f}{self._for(past)}"
            say(f"{self.by.words} and the past: {told}.")
        for game in self.played.games:
            if game.purse_left is not None:
                purse = money_text(self.spending.purse or 0.0)
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

    def _total(self) -> float:
        totals = [game.total for game in self.played.games if game.total is not None]
        return sum(totals) / len(totals) if totals else math.nan


def mean_words(by: Yardsticks, loss: Interval) -> str:
    """What a model loses per round, in the words and with the digits of `keyhole run`."""
    mean = Interval(loss.low / by.rounds, loss.high / by.rounds, loss.how)
    return f"{squared_words(by)} {span(mean)}"


def _told(key: str, found: dict[str, float]) -> str:
    """A mean with its error; of one game, an R2 as `keyhole run` tells it."""
    if key == "r2" and not found["error"] > 0:
        return f"{round(found['mean'], 3) + 0.0:.3f}"
    return plus_minus(**found)


def compare_learners(
    source: Source,
    problem: Problem,
    learners: Sequence[str],
    how: GameSettings,
    kept: StoredGames,
) -> LearnerComparison:
    """Play every learner with this problem."""
    entries, left_out = games.entries(learners, [problem], named=how.named)
    playing = [name for name in learners if name in {entry[0] for entry in entries}]
    games.say_left_out([one for one in left_out if one.learner not in playing])
    by = games.measure(source, problem, how.spending)
    played = games.play(source.stream, entries, by, how, kept)
    return LearnerComparison(source, problem, playing, by, played, how.spending)


FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class BudgetScores:
    """What a learner lost per round with a budget: over its games the mean, and the worst."""

    learner: str
    budget: float
    games: int
    mean: float
    error: float
    worst: float
    r2: dict[str, float]
    normalised_regret: dict[str, float]
    reads: dict[str, float]
    seconds: dict[str, float]
    spent: dict[str, float]
    after_first: dict[str, dict[str, float]]  # mean_loss, r2, regret and the like without round 1
    worst_after_first: float
    last_tenth_loss: dict[str, float]

    @property
    def later(self) -> dict[str, float]:
        """Mean and error of the loss per round, the first round left out."""
        return self.after_first["mean_loss"]


@dataclass(frozen=True)
class BudgetComparison:
    """All games, the yardsticks they are measured by, and how to show them."""

    source: Source
    problems: Sequence[Problem]
    entries: Sequence[tuple[str, Problem]]
    by: Yardsticks
    played: PlayedGames
    left_out: Sequence[LeftOut] = ()
    plot: str | None = None
    bests: Sequence[Hindsight] = ()  # with prices, the best model of each budget

    @property
    def cells(self) -> list[BudgetScores]:
        """One for every learner and every budget it plays, played or not."""
        return [self._cell(name, problem.budget) for name, problem in self.entries]

    def _cell(self, learner: str, budget: float) -> BudgetScores:
        own = [g for g in self.played.games if (g.learner, g.budget) == (learner, budget)]
        found, later = scores(own, self.by), max(self.by.rounds - 1, 1)
        same = ("r2", "normalised_regret", "reads", "seconds", "spent", "last_tenth_loss")
        return BudgetScores(
            learner,
            budget,
            games=len(own),
            mean=found["mean_loss"]["mean"],
            error=found["mean_loss"]["error"],
            worst=max((g.loss / self.by.rounds for g in own), default=math.nan),
            after_first=found["after_first"],
            worst_after_first=max((g.later_loss / later for g in own), default=math.nan),
            **{name: found[name] for name in same},
        )

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        p = self.problems[0]
        return {
            "source": self.source.title,
            "target": self.source.target,
            "rounds": self.by.rounds,
            "features": p.d,
            "budgets": [problem.budget for problem in self.problems],
            "sparsity": p.k,
            "prices": self.source.prices_json(),
            "hindsight_by_budget": [best.loss for best in self.bests],
            "interrupted": self.played.interrupted,
            **yardsticks_json(self.by),
            "cells": self.cells,
            "games": self.played.games,
            "left_out": self.left_out,
            "plot": self.plot if self.played.games else None,
        }

    def show(self) -> None:
        """The table, for people."""
        p, cells = self.problems[0], self.cells
        say(
            f"{self.source.title}: {self.by.rounds:,} rounds, {p.d:,} features; "
            f"target {self.source.target}"
        )
        say(*self.source.price_words())
        head, *lines = columns(*self._table(cells))
        heading(head)
        best, past = (
            f"{mean_words(self.by, model.loss)}, R2 {model.r2:.3f}."
            for model in (self.by.best, self.by.with_past)
        )
        said = f"{self._best_words()} in hindsight: {best} ± is the standard error over the seeds."
        say(*lines, "", said)
        if not self.by.calibrated:
            say(f"{self._best_words()} and the past: {past}")
        losses: dict[str, dict[str, float]] = {}
        for cell in cells:
            losses.setdefault(cell.learner, {})[money_text(cell.budget)] = cell.later["mean"]
        say_who_is_worse(self.by, losses)
        if self.plot is not None:
            say(f"Picture: {self.plot}" if self.played.games else "No picture: nothing was played.")
        if self.played.interrupted:
            say(f"Interrupted after {len(self.played.games)} of {self.played.total} games.")

    def _table(self, cells: Sequence[BudgetScores]) -> tuple[list[list[str]], str]:
        """Rows: two for each learner, its means and its worst seeds. A column for each budget."""
        budgets = sorted({cell.budget for cell in cells})
        asked = {problem.budget for problem in self.problems}
        heads = [money_text(b) if b in asked else f"all {money_text(b)}" for b in budgets]
        rows = [[f"{squared_words(self.by)} by budget", *heads]]
        for learner in dict.fromkeys(cell.learner for cell in cells):
            own = {cell.budget: cell for cell in cells if cell.learner == learner}
            here = [own.get(budget) for budget in budgets]
            rows.append([learner, *(plus_minus(**c.later) if c else "-" for c in here)])
            if any(cell.error > 0 for cell in own.values()):  # or all seeds are the same game
                worst = (number(c.worst_after_first) if c else "-" for c in here)
                rows.append(["  worst seed", *worst])
            recent = (number(c.last_tenth_loss["mean"]) if c else "-" for c in here)
            rows.append(["  in the last tenth", *recent])
        if self.bests:
            best = {
                problem.budget: model.loss.high / self.by.rounds
                for problem, model in zip(self.problems, self.bests, strict=True)
            }
            lost = (number(best[b]) if b in best else "-" for b in budgets)
            rows.append(["best in hindsight", *lost])
        return rows, "<" + ">" * len(budgets)

    def _best_words(self) -> str:
        if not self.bests:
            return self.by.words
        columns = " columns" if self.by.columns else ""
        return (
            f"Best model for {money_text(self.problems[-1].budget)}{columns}, the largest budget,"
        )

    def draw(self) -> None:
        """Write the picture of the games, if one is asked for and there are any."""
        if self.plot is None or not self.played.games:
            return
        from keyhole.report.budgets_plot import BudgetLine, loss_by_budget, write_figure

        lines: dict[str, list[BudgetScores]] = {}
        for cell in self.cells:
            if cell.games:
                lines.setdefault(cell.learner, []).append(cell)
        d, best, n = self.problems[0].d, self.by.best, self.by.rounds
        figure = loss_by_budget(
            [
                BudgetLine(
                    name,
                    [cell.budget for cell in own],
                    [cell.later["mean"] for cell in own],
                    [cell.later["error"] for cell in own],
                    level=LEARNERS[name].reads_everything,
                )
                for name, own in lines.items()
            ],
            budgets=[problem.budget for problem in self.problems],
            hindsight=(self._hindsight_label(), best.loss.high / n),
            mean=("running mean, reads 0", self.by.mean.later_mean(n)),
            features=d,
            target=self.source.target,
        )
        if self.source.pricing is not None:
            everything = money_text(self.source.pricing.everything)
            what = f"money per example, of {everything} for everything"
            if self.by.columns:
                what = f"columns bought per example, of {everything}"
            figure.axes[0].set_xlabel(f"budget: {what}")
        write_figure(figure, self.plot)

    def _hindsight_label(self) -> str:
        if not self.bests:
            return f"best {self.by.best.k} in hindsight"
        return f"best for {money_text(self.problems[-1].budget)} in hindsight"


def compare_budgets(
    source: Source,
    problems: Sequence[Problem],
    learners: Sequence[str],
    how: GameSettings,
    plot: str | None,
    kept: StoredGames,
) -> BudgetComparison:
    """Play every learner with every budget. `plot`: where the picture is to be written."""
    entries, left_out = games.entries(learners, problems, named=how.named)
    games.say_left_out(left_out)
    by = games.measure(source, problems[-1])
    bests = games.best_of_each(source.stream, problems)
    played = games.play(source.stream, entries, by, how, kept)
    return BudgetComparison(source, problems, entries, by, played, left_out, plot, bests)


def check_plot(path: str, several: bool) -> None:
    """What is needed to draw should not be found missing after the games."""
    if not several:
        raise DataError(f"--plot {path} draws loss against budget: add --budgets 4,8,12")
    if Path(path).suffix.lower() not in FORMATS:
        raise DataError(f"--plot {path}: the name must end in {', '.join(FORMATS)}")
    if not Path(path).parent.is_dir():
        raise DataError(f"cannot write {path}: there is no directory {Path(path).parent}")
    extra("matplotlib", "report")
