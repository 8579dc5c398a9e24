"""The errors that AutoLearner tells beside the truth: of weights, and of shares of the variance.

    python -m benchmarks.errors [--seeds 16] [--first 0] [STREAM ...]

For each stream and some numbers of rounds, how many statements were made, which share of them is
within two errors of the truth (least squares on rows that were never played), and their median
error. `weights`: of `model()`, errors in standard deviations of the label per standard deviation of
the feature; `zeros`: the same weights with the errors of least squares that takes what was not read
for zeros; `shares`: what is lost without a feature, as `explain()` says it, and what all explain
together, errors in percent.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.advice.kept import ROUNDS, STREAMS, explained, simulated
from keyhole.problem import Floats, Indices
from keyhole.streams import ArrayStream


class Statement(NamedTuple):
    """A number, its error, the truth; errors in units in which they can be compared."""

    kind: str
    rounds: int
    off: float
    error: float


def fitted(X: NDArray[np.floating], y: Floats, features: Indices) -> tuple[Floats, Floats]:
    """Weights by least squares, and standard deviations; absent values are means."""
    Z = X[:, features] - np.nanmean(X[:, features], axis=0)
    Z[np.isnan(Z)] = 0.0
    weights: Floats = np.linalg.lstsq(Z, y - y.mean(), rcond=None)[0]
    return weights, Z.std(axis=0)


def taking_zeros(learner: kh.AutoLearner, features: Indices) -> Floats:
    """Errors by the sums as they are, as if all rows had been read in full."""
    kept, m = learner._state.kept, learner._leader()
    V = [*features.tolist(), -1]
    P = np.linalg.pinv(kept.G[m][np.ix_(V, V)])
    c = kept.c[m][V]
    noise = max(float(kept.yy[m] - c @ P @ c), 0.0) / float(kept.n[m, -1])
    errors: Floats = np.sqrt(np.maximum(noise * np.diag(P)[:-1] / kept.scale[m], 0.0))
    return errors


def statements(name: str, seed: int) -> Iterator[Statement]:
    """All that is said about one game, at several times."""
    problem, X, y = simulated(name, seed)
    learner, begun, rest = kh.AutoLearner(problem, seed=seed), 0, slice(max(ROUNDS), None)
    X_rest, y_rest = X[rest], y[rest]
    for n in ROUNDS:
        kh.play(learner, ArrayStream(X[begun:n], y[begun:n]))
        begun, model, told = n, learner.model(), learner.explain()
        if len(model.features) and model.errors is not None:
            best, size = fitted(X_rest, y_rest, model.features)
            units, twin = size / y_rest.std(), taking_zeros(learner, model.features)
            for i, off in enumerate(np.abs(model.weights - best) * units):
                yield Statement("weights", n, float(off), float(model.errors[i] * units[i]))
                yield Statement("zeros", n, float(off), float(twin[i] * units[i]))
        if told.explained is None or told.explained_error is None:
            continue
        kept = [int(one[1:]) for one in learner.advice().fewer[0].features]
        whole = explained(X_rest, y_rest, kept)
        yield Statement("shares", n, abs(told.explained - whole), told.explained_error)
        for line in told.lines:
            if line.lost is not None and line.error is not None:
                others = [j for j in kept if j != int(line.name[1:])]
                lost = whole - (explained(X_rest, y_rest, others) if others else 0.0)
                yield Statement("shares", n, abs(line.lost - lost), line.error)


def main() -> None:
    """Print a line per stream and number of rounds, and one for all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.errors")
    parser.add_argument("streams", nargs="*", default=STREAMS)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    every = list[Statement]()
    for name in given.streams:
        seeds = range(given.first, given.first + given.seeds)
        said = [one for seed in seeds for one in statements(name, seed)]
        every += said
        for n in ROUNDS:
            print(_line(f"{name:8}{n:6}", [one for one in said if one.rounds == n]), flush=True)
    print(_line(f"{'all':14}", every))


def _line(name: str, said: list[Statement]) -> str:
    line = name
    for kind in ("weights", "zeros", "shares"):
        some = [one for one in said if one.kind == kind]
        if some:
            right = np.mean([one.off <= 2.0 * one.error for one in some])
            error = np.median([one.error for one in some])
            line += f"   {kind} {len(some):5} {right:4.0%} ± {100.0 * error:.2f} %"
    return line


if __name__ == "__main__":
    main()
