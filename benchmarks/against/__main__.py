"""AutoLearner of this checkout against that of another, side by side on the same games.

    python -m benchmarks.against OTHER [--data DIR] [--seeds 16] [--only ten priced/indep ...]

OTHER is a checkout of keyhole, say of the last release. Each game's line says the score of both
(the median over seeds), as a rule R2, the mean gain with its standard error, and the worst seed;
the last lines are the sums of gains and losses. Scores are kept in --results, by what the sources
say, and are not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import numpy as np

from benchmarks.against.games import all_games, play
from benchmarks.common.store import FOLDER
from benchmarks.common.tables import markdown

HERE = Path(__file__).parents[2]


def _chosen(names: Iterable[str], only: Sequence[str]) -> list[str]:
    return [name for name in names if not only or any(name.startswith(word) for word in only)]


def _score(name: str, seed: int, data: Path | None) -> float:
    return play(dict(all_games(data))[name], seed)


def measure(data: Path | None, names: Sequence[str], seeds: Sequence[int], workers: int) -> None:
    """Play games with the keyhole that is imported here; a line of JSON for each score."""
    tasks = [(name, seed) for name in names for seed in seeds]
    with ProcessPoolExecutor(workers) as pool:
        scores = pool.map(_score, *zip(*tasks, strict=True), repeat(data))
        for (name, seed), score in zip(tasks, scores, strict=True):
            print(json.dumps([name, seed, score]), flush=True)


def digest(checkout: Path) -> str:
    """A short name for what the package of a checkout says."""
    found = hashlib.sha256()
    for path in sorted((checkout / "src/keyhole").rglob("*.[pchi]*")):
        if path.suffix in (".py", ".c", ".h", ".inc"):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


class Scores:
    """Scores in a file of lines, by checkout, game and seed; `module` plays the games."""

    def __init__(self, path: Path, module: str = "benchmarks.against") -> None:
        self.path, self.known = path, dict[tuple[str, str, int], float]()
        self.module = module
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().splitlines() if path.exists() else ():
            of, name, seed, score = json.loads(line)
            self.known[of, name, seed] = score

    def complete(
        self, checkout: Path, names: Sequence[str], seeds: int, words: Sequence[str]
    ) -> str:
        """Have what is missing of a checkout played; the checkout's digest."""
        of = digest(checkout)
        for name in names:
            missing = [s for s in range(seeds) if (of, name, s) not in self.known]
            if not missing:
                continue
            print(f"{checkout.name}: {name}", file=sys.stderr, flush=True)
            path = os.pathsep.join([str(checkout / "src"), str(HERE)])
            command = [sys.executable, "-m", self.module, "--measure", name, *words]
            command += ["--which", *map(str, missing)]
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{checkout}: {name} failed\n{done.stderr}")
            with self.path.open("a") as file:
                for line in done.stdout.splitlines():
                    said, seed, score = json.loads(line)
                    self.known[of, said, seed] = score
                    file.write(json.dumps([of, said, seed, score]) + "\n")
        return of

    def of(self, digest: str, name: str, seeds: int) -> np.ndarray:
        """The scores of a game."""
        return np.array([self.known[digest, name, seed] for seed in range(seeds)])


def table(scores: Scores, here: str, other: str, names: Sequence[str], seeds: int) -> str:
    """A row per game, and the sums."""
    lines, gains = [], []
    for name in names:
        mine, its = scores.of(here, name, seeds), scores.of(other, name, seeds)
        gain = mine - its
        error = float(gain.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else 0.0
        mean = float(gain.mean())
        sure = mean / error if error > 0.0 else 0.0
        gains.append(mean)
        lines.append([
            name, *(f"{np.median(both):.4f} ({both.min():.4f})" for both in (its, mine)),
            f"{mean:+.4f} ± {error:.4f}", f"{sure:+.1f}", f"{gain.min():+.4f}",
        ])  # fmt: skip
    head = [
        "game",
        "score there: median (worst)",
        "here",
        "gain",
        "in standard errors",
        "worst seed",
    ]
    won, lost = (sum(g for g in gains if sign * g > 0.0) for sign in (1, -1))
    return f"{markdown(head, lines)}\n\nsum of gains {won:+.4f}, of losses {lost:+.4f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or with --measure play for another process."""
    about, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="benchmarks.against", description=about, epilog=rest)
    add = parser.add_argument
    add("other", type=Path, nargs="?", help="a checkout of keyhole")
    add("--data", type=Path, help="a folder of Parquet files; without it, none are played")
    add("--seeds", type=int, default=16)
    add("--only", nargs="*", default=[], metavar="GAME", help="games whose names begin so")
    add("--workers", type=int, default=2)
    add("--here", type=Path, default=HERE, metavar="CHECKOUT", help="compare this one instead")
    add("--results", type=Path, default=FOLDER / "against.jsonl")
    add("--measure", help=argparse.SUPPRESS)
    add("--which", nargs="*", type=int, default=[], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.data, [options.measure], options.which, options.workers)
        return 0
    if options.other is None or not (options.other / "src/keyhole").is_dir():
        parser.error("OTHER must be a checkout of keyhole")
    names = _chosen(dict(all_games(options.data)), options.only)
    scores = Scores(options.results)
    words = ["--workers", str(options.workers)]
    words += ["--data", str(options.data)] if options.data else []
    here, other = (
        scores.complete(path.resolve(), names, options.seeds, words)
        for path in (options.here, options.other)
    )
    print(table(scores, here, other, names, options.seeds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
