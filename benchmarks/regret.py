"""Regret of every learner on every setting, with the same reads: `python -m benchmarks.regret`.

    python -m benchmarks.regret [--data DIR] [--seeds 10] [--workers 2] [--only NAME ...]
                                [--rounds N] [--results FILE] [--page FILE] [--fresh]

Plays what FILE does not have yet, writes each result to it as it comes, and makes a page of all of
them. `--only` takes groups, settings and players. Cells are played by joblib: to use a cluster,
call `main` within `joblib.parallel_config("dask")` or another backend. Exit code 1: a cell failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.regret_cell import Row, exists, find_best, play_cells, warm
from benchmarks.regret_files import settings_of
from benchmarks.regret_numbers import Results
from benchmarks.regret_page import write_page
from benchmarks.regret_store import Store, name_best, name_game
from benchmarks.regret_suite import GROUPS, PLAYERS, Player, Setting, simulated
from benchmarks.regret_versions import stamp
from benchmarks.results import FOLDER
from keyhole.optional_imports import extra

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


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


def in_parallel(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[tuple[int, Any]]:
    """Results with the index of their task, as they come; all at the end if the backend must."""
    joblib = extra("joblib", "bench")
    backend, _ = joblib.parallel.get_active_backend()
    as_they_come = "generator_unordered" if backend.supports_return_generator else "list"
    parallel = joblib.Parallel(n_jobs=workers, return_as=as_they_come, batch_size=1)
    call = joblib.delayed(_numbered)
    yield from parallel(call(function, i, task) for i, task in enumerate(tasks))


def _numbered(function: Callable[..., Any], i: int, task: tuple[Any, ...]) -> tuple[int, Any]:
    """What the function makes of a task; what it raises, as a row, so that the others go on."""
    try:
        return i, function(*task)
    except Exception as error:
        return i, {"error": f"{type(error).__name__}: {error}"}


class Progress:
    """A line on standard error: cells done, time gone, time to go."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self.began = what, total, 0, time.monotonic()

    def count(self, cells: int) -> None:
        """So many more are done."""
        self.done += cells
        gone = time.monotonic() - self.began
        left = gone / self.done * (self.total - self.done)
        print(
            f"{self.what}: {self.done:,} of {self.total:,}, {gone:.0f} s, about {left:.0f} s to go",
            file=sys.stderr,
            flush=True,
        )


def find_all(suite: Suite, workers: int, base: Row) -> int:
    """Find the best models that are not known yet; returns how many searches failed."""
    wanted: dict[str, tuple[Setting, int]] = {}
    for seed in range(suite.seeds):
        for setting in suite.settings:
            name = name_best(setting, seed)
            if not suite.store.done(name):
                wanted.setdefault(name, (setting, seed))  # seeds may share it
    names, progress, failed = list(wanted), Progress("hindsight", len(wanted)), 0
    for i, found in in_parallel(find_best, list(wanted.values()), workers):
        setting, seed = wanted[names[i]]
        about = {"id": names[i], "cell": "hindsight", "setting": setting.name, "seed": seed}
        suite.store.add({**about, **base, **found})
        failed += _complain(about, found)
        progress.count(1)
    return failed


def compile_for(players: set[Player], workers: int) -> None:
    """Compile what players need, each thing once, before all processes want all of it."""
    progress = Progress("compiling or loading", len(players))
    for _ in in_parallel(warm, [(player,) for player in players], workers):
        progress.count(1)


def play_all(suite: Suite, workers: int, base: Row) -> int:
    """Play the games that were not played yet; returns how many failed."""
    results, tasks = suite.results(), []
    for seed in range(suite.seeds):
        for setting in suite.settings:
            best = results.best(setting, seed)
            players = [
                player
                for player in suite.players
                if results.plays(setting, player)
                and exists(player)
                and not suite.store.done(name_game(setting, seed, player))
            ]
            if players and best is not None and "error" not in best:
                tasks.append((setting, seed, players, best))
    compile_for({player for _, _, players, _ in tasks for player in players}, workers)
    progress, failed = Progress("games", sum(len(players) for _, _, players, _ in tasks)), 0
    for i, rows in in_parallel(play_cells, tasks, workers):
        setting, seed, players, _ = tasks[i]
        if isinstance(rows, dict):  # the whole instance failed
            rows = [rows] * len(players)
        for player, row in zip(players, rows, strict=True):
            about = {
                "id": name_game(setting, seed, player),
                "cell": "game",
                "setting": setting.name,
                "player": player.name,
                "seed": seed,
            }
            suite.store.add({**about, **base, **row})
            failed += _complain(about, row)
        progress.count(len(players))
    return failed


def _complain(about: Row, row: Row) -> bool:
    if "error" in row:
        where = ", ".join(str(about[key]) for key in about if key not in ("id", "cell"))
        print(f"{about['cell']} {where}: {row['error']}", file=sys.stderr, flush=True)
    return "error" in row


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
    about, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="benchmarks.regret",
        description=about,
        epilog=rest.partition("\n\n")[2],
    )
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=-1, help="processes; -1: one for each core")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="groups, settings, players")
    parser.add_argument("--rounds", type=int, help="play at most so many, for a quick look")
    parser.add_argument("--results", type=Path, default=FOLDER / "regret.jsonl")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--fresh", action="store_true", help="begin anew; keeps FILE as FILE.old")
    options = parser.parse_args(arguments)
    if options.seeds < 1 or (options.rounds is not None and options.rounds < 2):
        parser.error("--seeds must be at least 1 and --rounds at least 2")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data must be a folder, there is none at {options.data}")
    settings, players = chosen(parser, _settings(options.data, options.rounds), options.only)
    if options.fresh and options.results.exists():
        options.results.replace(options.results.with_name(options.results.name + ".old"))
    store = Store(options.results)
    if store.broken:
        print(f"{options.results}: {store.broken} broken lines left out", file=sys.stderr)
    suite = Suite(settings, players, options.seeds, store)
    began, base = time.monotonic(), stamp()
    try:
        failed = find_all(suite, options.workers, base)
        failed += play_all(suite, options.workers, base)
    except KeyboardInterrupt:
        print(f"interrupted: {len(store.rows):,} results kept, run it again", file=sys.stderr)
        return 130
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
