"""Games of several learners in several processes, and the table of what they cost."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyhole.cli.output import columns, heading, number, say, span
from keyhole.cli.progress import counted
from keyhole.cli.source import Source
from keyhole.game import play as play_game
from keyhole.hindsight import Hindsight, regret
from keyhole.learners.nothing_read import LastValue
from keyhole.learners.registry import LEARNERS, make_learner
from keyhole.optional_imports import extra
from keyhole.problem import BlockStream, DataError, Interval, Problem
from keyhole.report.observers import PrefixObserver, Rival

SEARCH = 10.0  # seconds for the best model in hindsight


@dataclass(frozen=True)
class Game:
    """What one learner with one seed read, lost and took."""

    learner: str
    seed: int
    loss: float
    reads: float
    regret: Interval
    seconds: float


@dataclass
class Tournament:
    """All games, the yardsticks they are measured by, and how to show them."""

    source: Source
    problem: Problem
    learners: Sequence[str]
    best: Hindsight
    with_past: Hindsight
    mean_loss: float
    last_loss: float
    games: list[Game] = field(default_factory=list)
    interrupted: bool = False

    def of(self, learner: str) -> dict[str, Any]:
        """Means over the games of a learner, and their standard errors."""
        games = [g for g in self.games if g.learner == learner]
        spread = self.best.empty_loss - self.best.loss.high
        middles = [(g.regret.low + g.regret.high) / 2 for g in games]
        measured = {
            "mean_loss": [g.loss / self.best.rounds for g in games],
            "r2": [1 - g.loss / self.mean_loss if self.mean_loss > 0 else math.nan for g in games],
            "regret": middles,
            "normalised_regret": [m / spread if spread > 0 else math.nan for m in middles],
            "reads": [g.reads for g in games],
            "seconds": [g.seconds for g in games],
        }
        return {
            "learner": learner,
            "reads_everything": LEARNERS[learner].reads_everything,
            "games": len(games),
            **{name: _mean(values) for name, values in measured.items()},
        }

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        p = self.problem
        return {
            "source": self.source.title,
            "target": self.source.target,
            "rounds": self.best.rounds,
            "features": p.d,
            "budget": p.budget,
            "sparsity": p.k,
            "interrupted": self.interrupted,
            "hindsight_loss": self.best.loss,
            "hindsight_with_past_loss": self.with_past.loss,
            "best_constant_loss": self.best.empty_loss,
            "running_mean_loss": self.mean_loss,
            "last_value_loss": self.last_loss,
            "learners": [self.of(name) for name in self.learners],
            "games": self.games,
        }

    def show(self) -> None:
        """The table, for people."""
        p, best = self.problem, self.best
        say(
            f"{self.source.title}: {best.rounds:,} rounds, {p.d} features, {p.budget} may be read "
            f"per example; target {self.source.target}"
        )
        names = ("learner", "reads", "mean loss", "R2", "regret", "normalised", "seconds")
        rows: list[tuple[str, ...]] = [names]
        for learner in dict.fromkeys(g.learner for g in self.games):
            row = self.of(learner)
            keys = ("mean_loss", "r2", "regret", "normalised_regret")
            rows.append(
                (
                    f"{learner} (all {p.d})" if row["reads_everything"] else learner,
                    number(row["reads"]["mean"]),
                    *(_plus_minus(**row[key]) for key in keys),
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
        past = self.with_past
        say(f"Best {p.k} features and the past: loss {span(past.loss)}, R2 {past.r2:.3f}.")
        mean, last = self.mean_loss / best.rounds, self.last_loss / best.rounds
        say(
            f"Without any feature: mean loss {number(mean)} by the running mean of the label, "
            f"{number(last)} by its last value."
        )
        worse, worse_than_last = self._worse_than(mean), self._worse_than(last)
        plain = [name for name in worse if not LEARNERS[name].has_intercept]
        if worse:
            say(f"Worse than the mean of the labels so far: {', '.join(worse)}.")
        if worse_than_last:
            say(f"Worse than the last label: {', '.join(worse_than_last)}.")
        if plain:
            say(
                f"Models without an intercept: {', '.join(plain)}; centre and scale columns and "
                "label first (keyhole diagnose)."
            )
        if self.interrupted:
            say(f"Interrupted after {len(self.games)} games.")

    def _worse_than(self, loss: float) -> list[str]:
        """The learners whose mean loss is larger, by more than rounding."""
        most = loss * (1 + 1e-9)
        return [name for name in self.learners if self.of(name)["mean_loss"]["mean"] > most]


def play(
    source: Source,
    problem: Problem,
    learners: Sequence[str],
    seeds: int,
    jobs: int,
    audit: float,
) -> Tournament:
    """Play every learner with seeds 0, 1, ... in `jobs` processes; Ctrl-C ends it early."""
    joblib = extra("joblib", "cli")
    found = Tournament(source, problem, learners, *_yardsticks(source.stream, problem))
    best = found.best
    tasks = [(name, seed) for seed in range(seeds) for name in learners]
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    call = joblib.delayed(_game)
    # Processes that begin while Ctrl-C is ignored never hear of it: this one stops them.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        games: Iterator[Game] = parallel(
            call(source.stream, problem, best, audit, *t) for t in tasks
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        for game in counted(games, len(tasks), "games"):
            found.games.append(game)
    except KeyboardInterrupt:
        found.interrupted = True
    found.games.sort(key=lambda g: (learners.index(g.learner), g.seed))
    return found


def _yardsticks(stream: BlockStream, problem: Problem) -> tuple[Hindsight, Hindsight, float, float]:
    """The best models in hindsight, without the past and with it; losses of mean and last value.

    From one pass.
    """
    whole = PrefixObserver(stream.d, intercept=True)
    mean, last = make_learner("mean", problem, 0), Rival(LastValue(problem), bins=2)
    ledger = play_game(mean, stream, keep_predictions=False, observers=[whole, last])
    if not whole.prefixes:
        raise DataError("the stream is empty: there is nothing to compare")
    best = whole.prefixes[-1].best(problem.k, SEARCH)
    with_past = whole.beside_past().best(problem.k, SEARCH, best.support)
    return best, with_past, ledger.loss, last.ledger.loss


def _game(
    stream: BlockStream, problem: Problem, best: Hindsight, audit: float, learner: str, seed: int
) -> Game:
    player = make_learner(learner, problem, seed)
    start = time.monotonic()
    ledger = play_game(player, stream, keep_predictions=False, audit=audit)
    seconds = time.monotonic() - start
    gap = regret(ledger, best)
    return Game(learner, seed, ledger.loss, ledger.mean_reads, gap, seconds)


def _mean(values: Sequence[float]) -> dict[str, float]:
    """Mean and standard error; NaN where there is none."""
    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return {"mean": float(np.mean(values)) if n else math.nan, "error": error}


def _plus_minus(mean: float, error: float) -> str:
    """A mean with as many digits as its error lets count.

    >>> _plus_minus(12.3456, 0.0214), _plus_minus(1234.5, 321.0), _plus_minus(0.5, math.nan)
    ('12.346 ± 0.021', '1,234 ± 321', '0.5')
    """
    if math.isnan(error) or error == 0:
        return number(mean)
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{mean:,.{places}f} ± {error:,.{places}f}"
