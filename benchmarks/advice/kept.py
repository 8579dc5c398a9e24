"""What AutoLearner advises beside the truth.

    python -m benchmarks.advice.kept [--seeds 16] [--first 0] [STREAM ...]

For each stream and some numbers of rounds: how many statements "without these features so much
less is explained" were made, which share of them is within two errors of the truth (that of the
rows that were never played), and their median error, in percent. `without`: one feature each;
`fewer`: the sets that `fewer` leaves out, everything at the end. `more`: the best so many of the
other features add at most so much (the truth is found step by step among those that something is
said of); the number behind it is the median bound. `least`: they add at least so much, where that
is said.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from keyhole.learners.blocks.auto.explanation import valued
from keyhole.problem import Floats, Problem
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE, ArrayStream, collect

ROUNDS = (100, 300, 1000, 4000)
ROWS = 40_000  # the truth is in those not played; half as many of 300 features
STREAMS = ["iid", "dense", "clinic", "S1", "S2", "S3", "S4", "S6", "S7", "S8", "S9", "S10"]


class Statement(NamedTuple):
    """What is said to be lost, its error, and what is lost indeed."""

    kind: str
    rounds: int
    lost: float
    error: float
    truth: float


def simulated(name: str, seed: int) -> tuple[Problem, NDArray[np.floating], Floats]:
    """A problem, and rows to play it with."""
    if name == "clinic":
        return (Problem(42, 4, 8), *collect(kh.streams.clinic(ROWS, seed=seed).stream))
    suite: dict[str, Any] = {**AGNOSTIC_SUITE, **REALIZABLE_SUITE}
    case = suite[name]
    rows = ROWS if case.problem.d <= 100 else ROWS // 2
    return (case.problem, *collect(case.simulate(rows, seed).stream))


def explained(X: NDArray[np.floating], y: Floats, features: list[int]) -> float:
    """The share of the variance that features explain by least squares; absent values are means."""
    Z = X[:, features] - np.nanmean(X[:, features], axis=0)
    Z[np.isnan(Z)] = 0.0
    e = y - y.mean()
    return 1.0 - float(np.mean((e - Z @ np.linalg.lstsq(Z, e, rcond=None)[0]) ** 2) / e.var())


def statements(name: str, seed: int) -> Iterator[Statement]:
    """All that is said about one game, at several times."""
    problem, X, y = simulated(name, seed)
    rest, learner, begun = slice(max(ROUNDS), None), kh.AutoLearner(problem, seed=seed), 0
    for n in ROUNDS:
        kh.play(learner, ArrayStream(X[begun:n], y[begun:n]))
        advice, begun = learner.advice(), n
        if not advice.kept:
            continue
        names = advice.fewer[0].features
        known: dict[tuple[str, ...], float] = {(): 0.0}

        def share(left: tuple[str, ...], known: dict[tuple[str, ...], float] = known) -> float:
            if left not in known:
                known[left] = explained(X[rest], y[rest], [int(one[1:]) for one in left])
            return known[left]

        for worth in advice.kept:
            others = tuple(one for one in names if one != worth.name)
            yield Statement("without", n, worth.lost, worth.error, share(names) - share(others))
        for fewer in advice.fewer[1:]:
            lost = advice.fewer[0].explained - fewer.explained
            truth = share(names) - share(fewer.features)
            yield Statement("fewer", n, lost, fewer.error, truth)
        if advice.more:
            yield from larger(learner, n, X[rest], y[rest])


def larger(
    learner: kh.AutoLearner, n: int, X: NDArray[np.floating], y: Floats
) -> Iterator[Statement]:
    """What is said about more features; off by 0 if it is right, by 2 if it is not."""
    found = valued(learner._settings, learner._state, learner._leader(), str)
    Z = X - np.nanmean(X, axis=0)
    Z[np.isnan(Z)] = 0.0
    e, told = y - y.mean(), np.flatnonzero(found.others.told)
    best, before = found.chosen.tolist(), 0.0
    for one in learner.advice().more:
        while len(best) < len(found.chosen) + one.count:
            Q = np.linalg.qr(Z[:, best])[0]
            left, rest = e - Q @ (Q.T @ e), Z[:, told] - Q @ (Q.T @ Z[:, told])
            square = (rest**2).sum(axis=0)
            alive = square > 1e-9 * (Z[:, told] ** 2).sum(axis=0)
            gains = np.where(alive, (left @ rest) ** 2 / np.where(alive, square, 1.0), -1.0)
            gains[np.isin(told, best)] = -1.0
            best.append(int(told[np.argmax(gains)]))
            before += float(gains.max()) / float(e @ e)
        yield Statement("more", n, 0.0 if before <= one.most else 2.0, one.most, 0.0)
        if one.least > 0.0:
            yield Statement("least", n, 0.0 if before >= one.least else 2.0, one.least, 0.0)


def main() -> None:
    """Print a line per stream and number of rounds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advice.kept")
    parser.add_argument("streams", nargs="*", default=STREAMS)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    for name in given.streams:
        seeds = range(given.first, given.first + given.seeds)
        said = [one for seed in seeds for one in statements(name, seed)]
        for n in ROUNDS:
            line = f"{name:8}{n:6}"
            for kind in ("without", "fewer", "more", "least"):
                some = [one for one in said if (one.kind, one.rounds) == (kind, n)]
                if not some:
                    continue
                right = np.mean([abs(one.lost - one.truth) <= 2.0 * one.error for one in some])
                error = np.median([one.error for one in some])
                line += f"   {kind} {len(some):4} {right:4.0%} ± {100.0 * error:.2f} %"
            print(line, flush=True)


if __name__ == "__main__":
    main()
