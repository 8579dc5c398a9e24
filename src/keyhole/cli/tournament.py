"""One budget: the table of what several learners cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyhole.cli import games
from keyhole.cli.games import Played, Yardsticks
from keyhole.cli.output import columns, heading, number, say, span
from keyhole.cli.scores import plus_minus, say_who_is_worse, scores, yardsticks_json
from keyhole.cli.source import Source
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
            "interrupted": self.played.interrupted,
            **yardsticks_json(self.by),
            "learners": [self.of(name) for name in self.learners],
            "games": self.played.games,
        }

    def show(self) -> None:
        """The table, for people."""
        p, best, past = self.problem, self.by.best, self.by.with_past
        say(
            f"{self.source.title}: {best.rounds:,} rounds, {p.d} features, {p.budget} may be read "
            f"per example; target {self.source.target}"
        )
        names = ("learner", "reads", "mean loss", "R2", "regret", "normalised", "seconds")
        rows: list[tuple[str, ...]] = [names]
        found = {g.learner: self.of(g.learner) for g in self.played.games}
        for learner, row in found.items():
            keys = ("mean_loss", "r2", "regret", "normalised_regret")
            rows.append(
                (
                    f"{learner} (all {p.d})" if row["reads_everything"] else learner,
                    number(row["reads"]["mean"]),
                    *(plus_minus(**row[key]) for key in keys),
                    number(row["seconds"]["mean"]),
                )
            )
        head, *lines = columns(rows, "<>>>>>>")
        heading(head)
        say(*lines, "")
        say(
            f"Best {p.k} features in hindsight: loss {span(best.loss)}, R2 {best.r2:.3f}. "
            "± is the standard error over the seeds."
        )
        say(f"Best {p.k} features and the past: loss {span(past.loss)}, R2 {past.r2:.3f}.")
        say_who_is_worse(
            self.by, {who: {"": row["mean_loss"]["mean"]} for who, row in found.items()}
        )
        if self.played.interrupted:
            say(f"Interrupted after {len(self.played.games)} games.")

    def draw(self) -> None:
        """Draw nothing: with one budget there is no curve."""


def play(
    source: Source, problem: Problem, learners: Sequence[str], how: games.Settings
) -> Tournament:
    """Play every learner with this problem."""
    entries, _ = games.entries(learners, [problem])
    by = games.measure(source.stream, problem)
    return Tournament(
        source, problem, learners, by, games.play(source.stream, entries, by.best, how)
    )
