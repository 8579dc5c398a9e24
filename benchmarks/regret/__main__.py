"""Regret of every learner on every setting, with the same reads: `python -m benchmarks.regret`.

    python -m benchmarks.regret [--data DIR] [--seeds 10] [--jobs 2 | --cluster ADDRESS]
                                [--only NAME ...] [--rounds N] [--results FILE] [--page FILE]
                                [--fresh]

Plays what FILE does not have yet, writes each result to it as it comes, and makes a page of all of
them. `--only` takes groups, settings and players. With --cluster cells are played by the workers of
that Dask scheduler, which need keyhole and this folder in PYTHONPATH. Exit code 1: a cell failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.common import Row
from benchmarks.common.parallel import Progress, in_parallel
from benchmarks.common.questions import answer
from benchmarks.common.room import interrupted, open_store, room_parser
from benchmarks.common.store import Store
from benchmarks.regret.cell import exists, warm
from benchmarks.regret.files import settings_of
from benchmarks.regret.names import ask_best, ask_game, name_best, name_game
from benchmarks.regret.numbers import Results
from benchmarks.regret.page import write_page
from benchmarks.regret.suite import GROUPS, PLAYERS, Player, Setting, simulated
from keyhole.saving.parallel import cluster

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Suite:
    """What is to be played, how often, and where results are kept."""

    settings: Sequence[Setting]
    players: Sequence[Player]
    seeds: int
    store: Store

    def results(self) -> Results:
        """What has been found so far."""

        def best(setting: Setting, seed: int) -> Row | None:
            return self.store.rows.get(name_best(setting, seed))

        def game(setting: Setting, seed: int, player: Player) -> Row | None:
            return self.store.rows.get(name_game(setting, seed, player))

        return Results(self.settings, self.players, self.seeds, best, game, exists)


def find_all(suite: Suite, workers: int) -> int:
    """Find the best models that are not known yet; returns how many searches failed."""
    wanted = (ask_best(s, seed) for seed in range(suite.seeds) for s in suite.settings)
    return answer(suite.store, wanted, workers, "hindsight")


def compile_for(players: set[Player], workers: int) -> None:
    """Compile what players need, each thing once, before all processes want all of it."""
    progress = Progress("compiling or loading", len(players))
    for _ in in_parallel([(warm, (player,)) for player in players], workers):
        progress.count()


def play_all(suite: Suite, workers: int) -> int:
    """Play the games that were not played yet; returns how many failed."""
    results, games, waiting = suite.results(), [], set[Player]()
    for seed in range(suite.seeds):
        for setting in suite.settings:
            best = results.best(setting, seed)
            if best is None or "error" in best:
                continue
            for player in suite.players:
                if results.plays(setting, player) and exists(player):
                    games.append(ask_game(setting, seed, player, best["support"]))
                    waiting |= set() if suite.store.done(games[-1].id) else {player}
    compile_for(waiting, workers)
    return answer(suite.store, games, workers, "games")


def chosen(
    parser: argparse.ArgumentParser, settings: Sequence[Setting], only: Sequence[str] | None
) -> tuple[list[Setting], list[Player]]:
    """The settings and players that the words of --only leave, all where no word speaks of them."""
    words = set(only or ())
    places = {s.name for s in settings} | set(GROUPS)
    names = {player.name for player in PLAYERS}
    if unknown := words - places - names:
        known = [*GROUPS, *sorted(names)]
        parser.error(
            f"--only knows {', '.join(known)} and the settings of each group, "
            f"not {', '.join(sorted(unknown))}"
        )
    where, who = words & places, words & names
    return (
        [s for s in settings if not where or s.name in where or s.group in where],
        [player for player in PLAYERS if not who or player.name in who],
    )


def _settings(data: Path | None, rounds: int | None) -> list[Setting]:
    settings, notes = simulated(), ["files: skipped, no --data DIR"]
    if data is not None:
        files, notes = settings_of(data)
        settings += files
    for note in notes:
        print(note, file=sys.stderr)
    if rounds is not None:
        settings = [replace(s, rounds=min(s.rounds, rounds)) for s in settings]
    return settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is missing, then write the page."""
    parser = room_parser("regret", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="groups, settings, players")
    parser.add_argument("--rounds", type=int, help="play at most so many, for a quick look")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    if options.seeds < 1 or (options.rounds is not None and options.rounds < 2):
        parser.error("--seeds must be at least 1 and --rounds at least 2")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data must be a folder, there is none at {options.data}")
    settings, players = chosen(parser, _settings(options.data, options.rounds), options.only)
    store = open_store(options.results, fresh=options.fresh)
    suite = Suite(settings, players, options.seeds, store)
    began = time.monotonic()
    try:
        with cluster(options.cluster):
            failed = find_all(suite, options.workers) + play_all(suite, options.workers)
    except KeyboardInterrupt:
        return interrupted(store)
    command = ["python -m benchmarks.regret"]
    command += ["--data DIR"] if options.data is not None else []
    command += [f"--seeds {options.seeds}"]
    command += [f"--rounds {options.rounds}"] if options.rounds is not None else []
    command += [f"--only {' '.join(options.only)}"] if options.only else []
    write_page(options.page, suite.results(), " ".join(command))
    took = time.monotonic() - began
    print(f"{options.page.name}: written, {failed} cells failed, {took:.0f} s", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
