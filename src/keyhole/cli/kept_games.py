"""Games that are kept in a file as they end, so that none is played twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from keyhole.cli.games import Game, Settings, Task, Yardsticks
from keyhole.cli.history import History
from keyhole.cli.options import FileOptions, HistoryOptions
from keyhole.cli.results import ResultFile, Row, cell_id
from keyhole.cli.source import Source
from keyhole.problem import BlockStream, DataError, Interval
from keyhole.streams.files import FileStream
from keyhole.version import __version__


class KeptGames:
    """The games of a file, by all that they hang on: rows, learner, problem, seed, history, money.

    `reading` says how the rows are read. Without a file nothing is kept.
    """

    def __init__(
        self, path: str | None, source: Source, history: History | None, reading: str
    ) -> None:
        self._file = None if path is None else _opened(path)
        self._about = {
            "keyhole": __version__,
            "stream": _identity(source.stream),
            "reading": reading,
            "answers": str(source.answers),
            "history": None
            if history is None
            else [_identity(history.stream), history.rows, history.half_life],
        }

    def known(
        self, tasks: Sequence[Task], by: Yardsticks, how: Settings
    ) -> tuple[list[Game], list[Task]]:
        """The games that are there, and the tasks that are left."""
        if self._file is None:
            return [], list(tasks)
        found, left = list[Game](), list[Task]()
        for task in tasks:
            key = self._key(task, by, how)
            if self._file.done(key):
                found.append(_game(self._file.rows[key]["game"], by))
            else:
                left.append(task)
        return found, left

    def keep(self, game: Game, task: Task, by: Yardsticks, how: Settings) -> None:
        """Keep a game that was played."""
        if self._file is not None:
            told = {k: v for k, v in asdict(game).items() if k != "regret"}
            self._file.add({"id": self._key(task, by, how), "game": told})

    def _key(self, task: Task, by: Yardsticks, how: Settings) -> str:
        learner, problem, seed = task
        return cell_id(
            {
                **self._about,
                # What reads nothing lost, in the order of the labels: another file, another number.
                "rows": [by.rounds, by.mean.loss, by.last.loss],
                "game": [learner, repr(problem), seed, how.audit, repr(how.spending)],
            }
        )


def _identity(stream: BlockStream) -> list[str]:
    """What the rows of a stream come from, as far as it tells."""
    names = list(stream.names or ())
    return [*(stream.sources if isinstance(stream, FileStream) else ()), *names]


def _game(row: Row, by: Yardsticks) -> Game:
    """A game that was kept; regret is against the best model that is known now."""
    game = Game(**row, regret=Interval(0.0, 0.0, ""))
    best = by.best
    if best.total is not None and game.total is not None and not math.isnan(game.total):
        return replace(game, regret=game.total - best.total)
    return replace(game, regret=game.loss - best.loss)


def _opened(path: str) -> ResultFile:
    place = Path(path)
    if place.is_dir() or not place.parent.is_dir():
        raise DataError(f"--results {path}: name a file, in a folder that exists")
    try:
        return ResultFile(place)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--results {path} cannot be read: {error}") from None


def refuse_standard_input(file: FileOptions, past: HistoryOptions) -> None:
    """DataError if workers elsewhere would have to read what is piped in here."""
    if "-" in file.files or past.history == "-":
        raise DataError(
            "standard input cannot be used with --cluster: name a file that the workers can read"
        )
