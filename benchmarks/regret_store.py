"""Results of `benchmarks.regret`: a file of JSON lines that only grows, and what names a cell.

A cell is named by a digest of what it is: the setting, the player, the seed, and the code behind
stream, learner and referee. So a row counts as long as playing again would give the same, and an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.regret_cell import VARIANTS, Row
from benchmarks.regret_sources import digest, file_digest, made_by
from benchmarks.regret_streams import SOURCES
from benchmarks.regret_suite import Player, Setting
from keyhole.learners import LEARNERS

FORMAT = 1  # changes when cells are played differently: units, clocks, what a row holds
INFORMED = ("oracle",)  # players who are told the best model's support


class Store:
    """The rows of a file, the last of each cell, and a way to add more.

    A line that cannot be read, such as the last of a run that was killed, is left out; `broken`
    counts them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self.broken = 0
        text = path.read_text() if path.exists() else ""
        self._torn = not text.endswith("\n") and text != ""
        for line in text.splitlines():
            self._read(line)

    def _read(self, line: str) -> None:
        if not line.strip():
            return
        try:
            row = json.loads(line)
            self.rows[row["id"]] = row
        except (ValueError, TypeError, KeyError):
            self.broken += 1

    def done(self, cell: str) -> bool:
        """Whether a cell was played to its end, or refused; errors are tried again."""
        return cell in self.rows and "error" not in self.rows[cell]

    def add(self, row: Row) -> None:
        """Write a row, so that it survives whatever comes next."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write("\n" * self._torn + json.dumps(row) + "\n")
        self._torn = False
        self.rows[row["id"]] = row


def _name(content: Mapping[str, Any]) -> str:
    text = json.dumps({"format": FORMAT, **content}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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


def name_best(setting: Setting, seed: int) -> str:
    """The cell of the best model in hindsight, shared by seeds that have the same rows."""
    seed = 0 if setting.one_instance else seed
    return _name(
        {
            "cell": "hindsight",
            "stream": _stream(setting, seed),
            "features": setting.features,
            "curve": setting.curve,
            "code": digest("keyhole.hindsight"),
        }
    )


def name_game(setting: Setting, seed: int, player: Player) -> str:
    """The cell of a player on an instance."""
    factory = VARIANTS.get(player.learner) or LEARNERS[player.learner]
    text, behind = made_by(factory)
    return _name(
        {
            "cell": "game",
            "stream": _stream(setting, seed),
            "problem": [setting.d, setting.k, setting.budget],
            "player": [player.learner, player.kind],
            "told": name_best(setting, seed) if player.learner in INFORMED else None,
            "factory": text,
            "code": digest("keyhole.game.playing", *behind),
        }
    )
