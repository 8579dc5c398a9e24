"""What the rows of `benchmarks.regret` say: regret, normalised regret, ranks, growth, losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import Mean
from benchmarks.regret.suite import Player, Setting
from keyhole.problem import Floats

GROWN_FROM = 2**12  # growth is measured from here on, where the support has been found


def normalised(loss: float, best: float, constant: float) -> float:
    """(loss - best) / (constant - best): 0 is as good as hindsight, 1 no better than a constant.

    >>> normalised(loss=12.0, best=10.0, constant=18.0)
    0.25
    """
    return (loss - best) / (constant - best) if constant > best else math.nan


@dataclass(frozen=True, slots=True)
class Loss:
    """A setting where somebody did better than the player in question."""

    setting: Setting
    winner: Player
    ours: Mean
    theirs: Mean
    gap: Mean  # ours - theirs, seed by seed on the same rows
    share: float  # the gap in normalised regret


@dataclass(frozen=True)
class Results:
    """The rows of a suite. `best(setting, seed)`, `game(...)` are None where there is none yet."""

    settings: Sequence[Setting]
    players: Sequence[Player]
    seeds: int
    best: Callable[[Setting, int], Row | None]
    game: Callable[[Setting, int, Player], Row | None]
    exists: Callable[[Player], bool]

    def of(self, group: str) -> list[Setting]:
        """The settings of a group."""
        return [setting for setting in self.settings if setting.group == group]

    def plays(self, setting: Setting, player: Player) -> bool:
        """Whether the suite has the player on the setting at all."""
        if player.kind == "raw" and setting.units == "own":
            return False  # the same as in the setting's units
        return not setting.players or player.name in setting.players

    def pairs(self, setting: Setting, player: Player) -> Iterator[tuple[Row, Row]]:
        """Game and hindsight of every seed that was played to its end."""
        if not (self.plays(setting, player) and self.exists(player)):
            return
        for seed in range(self.seeds):
            game, best = self.game(setting, seed, player), self.best(setting, seed)
            if game is not None and best is not None and "loss" in game:
                yield game, best

    def regrets(self, setting: Setting, player: Player) -> list[float]:
        """Loss minus the least that a model in hindsight can have had, by seed."""
        return [game["loss"] - best["low"] for game, best in self.pairs(setting, player)]

    def shares(self, setting: Setting, player: Player) -> list[float]:
        """Normalised regret by seed."""
        return [
            normalised(game["loss"], best["low"], best["constant"])
            for game, best in self.pairs(setting, player)
        ]

    def values(self, setting: Setting, player: Player, key: str) -> list[float]:
        """A number of every row."""
        return [game[key] for game, _ in self.pairs(setting, player)]

    def missing(self, setting: Setting, player: Player) -> str:
        """Why there is nothing to show for some seed, "" if there is something for all."""
        if not self.plays(setting, player):
            if player.kind == "raw":
                return 'the units are the stream\'s own: the same as without "raw"'
            return "not part of this group"
        if not self.exists(player):
            return "not in this version of the library"
        rows = [self.game(setting, seed, player) for seed in range(self.seeds)]
        for word in ("refused", "error"):
            said = [str(row[word]) for row in rows if row is not None and word in row]
            if said:
                verb = "refuses" if word == "refused" else "fails"
                return f"{verb} on {len(said)} of {self.seeds} seeds: {said[0]}"
        return "not played yet" if None in rows else ""

    @cached_property
    def ranked(self) -> list[Player]:
        """Players of the same budget, in the same units, that exist."""
        return [p for p in self.players if p.kind == "budget" and self.exists(p)]

    def ranks(self, settings: Sequence[Setting]) -> dict[Player, float]:
        """Mean rank over the settings that all ranked players were given; 1 is the best.

        Ranks of a setting are by mean regret; who refuses it or fails shares the last places.
        """
        from scipy.stats import rankdata

        table = []
        for setting in settings:
            if setting.players:
                continue
            means = [self._mean_regret(setting, player) for player in self.ranked]
            if all(math.isinf(mean) for mean in means):
                continue
            table.append(rankdata(means))
        if not table:
            return {}
        mean = np.mean(table, axis=0)
        return dict(zip(self.ranked, mean.tolist(), strict=True))

    def _mean_regret(self, setting: Setting, player: Player) -> float:
        values = self.regrets(setting, player)
        whole = values and not self.missing(setting, player)
        return float(np.mean(values)) if whole else math.inf

    def losses(self, ours: Player) -> list[Loss]:
        """Where another ranked player has a lower mean, by more than one standard error.

        The error is that of the differences between the two on the same rows.
        """
        found = []
        for setting in self.settings:
            mine = self.regrets(setting, ours)
            rivals = [p for p in self.ranked if p != ours and self.plays(setting, p)]
            rivals = [p for p in rivals if not self.missing(setting, p)]
            if not rivals or self.missing(setting, ours):
                continue
            winner = min(rivals, key=lambda p: self._mean_regret(setting, p))
            theirs = self.regrets(setting, winner)
            gap = Mean.of(np.array(mine) - np.array(theirs))
            if gap.mean > (0.0 if math.isnan(gap.error) else gap.error):
                share = np.array(self.shares(setting, ours)) - self.shares(setting, winner)
                means = Mean.of(mine), Mean.of(theirs)
                found.append(Loss(setting, winner, *means, gap, float(share.mean())))
        return found

    def curve(self, setting: Setting, player: Player) -> tuple[list[int], Floats]:
        """Rounds, and regret against the best model of the rounds up to there, a row per seed."""
        rows = []
        rounds: list[int] = []
        for game, best in self.pairs(setting, player):
            rounds = [int(t) for t in best["curve"] if t in game["marks"]]
            rows.append([game["marks"][str(t)] - best["curve"][str(t)] for t in rounds])
        return rounds, np.array(rows)


def exponent(rounds: Sequence[int], regret: Floats) -> Mean | None:
    """Slope of log regret against log T from GROWN_FROM on, by seed; None if it is not positive."""
    late = [i for i, t in enumerate(rounds) if t >= GROWN_FROM]
    if len(late) < 2 or not len(regret) or not (regret[:, late] > 0).all():
        return None
    x = np.log([rounds[i] for i in late])
    return Mean.of(np.polyfit(x, np.log(regret[:, late]).T, 1)[0])
