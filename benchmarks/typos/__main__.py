"""What typos cost AutoLearner, in this checkout and in another; and what real extremes cost it.

    python -m benchmarks.typos OTHER [--seeds 16] [--only "label x100" t2 ...]

OTHER is a checkout of keyhole. A line for each typo: the loss over the next 1,000 rounds over that
without it, there and here, the median and the worst of the seeds. Then, for streams whose extremes
are real, the loss here over that there. Scores are kept in --results, by what the sources say.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.against.__main__ import HERE, Scores
from benchmarks.common.store import FOLDER
from benchmarks.common.tables import markdown
from benchmarks.typos.games import ALL, REAL, TYPOS, play
from keyhole.problem import Floats


def _chosen(names: Sequence[str], only: Sequence[str]) -> list[str]:
    return [name for name in names if not only or any(name.startswith(word) for word in only)]


def _words(ratios: Floats) -> str:
    return f"{np.median(ratios):.3f} ({ratios.max():.3f})"


def table(scores: Scores, here: str, other: str, only: Sequence[str], seeds: int) -> str:
    """A row per typo, and one per stream of real extremes."""
    typos, real = [], []
    for name in _chosen(list(TYPOS), only):
        clean = TYPOS[name][0]
        both = [scores.of(of, name, seeds) / scores.of(of, clean, seeds) for of in (other, here)]
        typos.append([name, *map(_words, both)])
    for name in _chosen(list(REAL), only):
        ratios = scores.of(here, name, seeds) / scores.of(other, name, seeds)
        real.append([name, _words(ratios)])
    heads = ["typo", "loss with it over that without, there: median (worst)", "here"]
    more = ["real extremes", "loss here over that there: median (worst)"]
    return f"{markdown(heads, typos)}\n\n{markdown(more, real)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or with --measure play for another process."""
    about, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="benchmarks.typos", description=about, epilog=rest)
    add = parser.add_argument
    add("other", type=Path, nargs="?", help="a checkout of keyhole")
    add("--seeds", type=int, default=16)
    add("--only", nargs="*", default=[], metavar="GAME", help="games whose names begin so")
    add("--workers", type=int, default=2)
    add("--results", type=Path, default=FOLDER / "typos.jsonl")
    add("--measure", nargs="*", help=argparse.SUPPRESS)
    add("--which", nargs="*", type=int, default=[], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        tasks = [(name, seed) for name in options.measure for seed in options.which]
        with ProcessPoolExecutor(options.workers) as pool:
            for (name, seed), score in zip(
                tasks, pool.map(play, *zip(*tasks, strict=True)), strict=True
            ):
                print(json.dumps([name, seed, score]), flush=True)
        return 0
    if options.other is None or not (options.other / "src/keyhole").is_dir():
        parser.error("OTHER must be a checkout of keyhole")
    wanted = {*_chosen(list(TYPOS), options.only), *_chosen(list(REAL), options.only)}
    wanted |= {TYPOS[name][0] for name in wanted if name in TYPOS}
    names = [name for name in ALL if name in wanted]
    scores = Scores(options.results, "benchmarks.typos")
    words = ["--workers", str(options.workers)]
    here, other = (
        scores.complete(path, names, options.seeds, words)
        for path in (HERE, options.other.resolve())
    )
    print(table(scores, here, other, options.only, options.seeds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
