"""What names a cell of `benchmarks.regret`: the setting, the player, the seed, the code behind it.

A row counts as long as playing again would give the same.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common.factories import made_by
from benchmarks.common.questions import Question, file_digest
from benchmarks.common.sources import digest
from benchmarks.regret.cell import VARIANTS, find_best, play_cell
from benchmarks.regret.streams import SOURCES
from benchmarks.regret.suite import Player, Setting
from keyhole.learners import LEARNERS

FORMAT = 2  # changes when cells are played differently: units, clocks, what a row holds
INFORMED = ("oracle",)  # players who are told the best model's support


def _stream(setting: Setting, seed: int) -> dict[str, Any]:
    """What makes the rows: not where a file lies, but what is in it."""
    arguments = dict(setting.arguments)
    if "path" in arguments:
        arguments["path"] = file_digest(str(arguments["path"]))
    return {
        "maker": setting.maker,
        "arguments": arguments,
        "rounds": setting.rounds,
        "units": setting.units,
        "seed": seed,
        "code": digest(*SOURCES[setting.maker]),
    }


def ask_best(setting: Setting, seed: int) -> Question:
    """For the best model in hindsight, shared by seeds that have the same rows."""
    content = {
        "format": FORMAT,
        "cell": "hindsight",
        "stream": _stream(setting, 0 if setting.one_instance else seed),
        "features": setting.features,
        "curve": setting.curve,
        "code": digest("keyhole.hindsight"),
    }
    about = {"cell": "hindsight", "setting": setting.name, "seed": seed}
    return Question(find_best, (setting, seed), content, about)


def name_best(setting: Setting, seed: int) -> str:
    """The cell of the best model in hindsight."""
    return ask_best(setting, seed).id


def ask_game(
    setting: Setting, seed: int, player: Player, support: list[int] | None = None
) -> Question:
    """How a player does on an instance whose best model has that support."""
    factory = VARIANTS.get(player.learner) or LEARNERS[player.learner]
    text, behind = made_by(factory)
    content = {
        "format": FORMAT,
        "cell": "game",
        "stream": _stream(setting, seed),
        "problem": [setting.d, setting.k, setting.budget],
        "player": [player.learner, player.kind],
        "told": name_best(setting, seed) if player.learner in INFORMED else None,
        "factory": text,
        "code": digest("keyhole.game.playing", *behind),
    }
    about = {"cell": "game", "setting": setting.name, "player": player.name, "seed": seed}
    return Question(play_cell, (setting, seed, player, support), content, about)


def name_game(setting: Setting, seed: int, player: Player) -> str:
    """The cell of a player on an instance."""
    return ask_game(setting, seed, player).id
