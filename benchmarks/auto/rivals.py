"""What else `benchmarks.auto` measures: an adversary, the realizable suite, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.auto.grammix import grammix
from benchmarks.auto.parts import USUAL, losses, powers_up_to, without_net
from benchmarks.common import Row
from benchmarks.common.files import standardised
from keyhole.problem import Floats
from keyhole.streams import REALIZABLE_SUITE, ArrayStream, collect

# An adversary that looks at what is bought.

FEATURES, BUDGET, TURN = 20, 6, 16
ADVERSARIES = [(c, look) for look in ("reads", "weight") for c in (3, 6, 20)]  # candidates, by what
FADE = 0.5 ** (TURN / 256)  # what it remembers of purchases halves every 256 rounds


def duel(
    candidates: int, look: str, seed: int, *, net: bool, single: bool, n: int
) -> tuple[Floats, Floats]:
    """Squared losses, and the products x_j y by round for every candidate j.

    Every TURN rounds the adversary takes the candidate bought least of late (look = "reads") or
    the one with the smallest weight (look = "weight"), ties by lot, and lets labels be +1 or -1
    with correlation 0.8 to it.
    Labels of a turn depend on earlier purchases only, so the turn can be played as one block
    (`single` plays it by ask, predict, tell instead; the result is the same).
    """
    rng = np.random.default_rng([seed, candidates])
    problem = kh.Problem(FEATURES, 1, BUDGET)
    learner = kh.AutoLearner(problem, seed=seed, parts=USUAL if net else without_net(problem))
    used = rng.permutation(FEATURES)[:candidates]
    held, paid, products = np.zeros(FEATURES), np.empty(n), np.empty((n, candidates))
    bought = np.empty((TURN, BUDGET), dtype=np.int32)
    for t in range(0, n, TURN):
        worth = held if look == "reads" else np.abs(learner.weights)
        target = used[np.lexsort((rng.random(candidates), worth[used]))[0]]
        X = rng.choice([-1.0, 1.0], (TURN, FEATURES))
        y = X[:, target] * np.where(rng.random(TURN) < 0.9, 1.0, -1.0)
        if single:
            y_hat = np.empty(TURN)
            for i in range(TURN):
                ticket = learner.ask()
                seen = kh.sell(problem, ticket, X[i])
                y_hat[i] = learner.predict(seen)
                learner.tell(seen, float(y[i]))
                bought[i] = ticket.features
        else:
            y_hat = learner.advance(X, y, bought)
        held = FADE * held + np.bincount(bought.ravel(), minlength=FEATURES)
        paid[t : t + TURN] = (y - y_hat) ** 2
        products[t : t + TURN] = X[:, used] * y[:, None]
    return paid, products


def run_anti(candidates: int, look: str, net: bool, seed: int, n: int) -> Row:
    """Regret against the best single candidate with its best weight, at n / 16, n / 4, n."""
    paid, products = duel(candidates, look, seed, net=net, single=False, n=n)
    row: Row = {"candidates": candidates, "look": look, "net": net, "seed": seed}
    for power in powers_up_to(n):
        # x_j^2 = y^2 = 1: the best weight is the mean product c, its loss T (1 - c^2).
        T = 2**power
        gain = float(T * (products[:T].mean(axis=0) ** 2).max())
        row[str(power)] = float(paid[:T].sum()) - (T - gain)
        row[f"zero {power}"] = gain
    return row


# Realizable streams.


def run_realizable(name: str, seed: int, n: int) -> Row:
    """Sum of (y_hat - <x, w*>)^2, default and proper."""
    setting = REALIZABLE_SUITE[name]
    stream, truth = setting.simulate(n, seed)
    X, y = collect(stream)
    mean = truth.intercept + X @ truth.weights
    row: Row = {"stream": name, "seed": seed, "rounds": n}
    for way, proper in (("default", False), ("proper", True)):
        squared = losses(X, y, setting.problem, seed, proper=proper, against=mean)
        row[way] = float(squared.sum())
        row[f"{way} 2^12"] = float(squared[: 2**12].sum())
    return row


# Files.

TOLD = 3  # seeds of the recipe, which is told all centres and scales of the file in advance


def rows_of_file(path: Path, shuffled: bool) -> tuple[NDArray[np.floating], Floats]:
    """The order of rows is the same for all."""
    stream = kh.streams.read(str(path), target="target")
    return collect(kh.streams.shuffle(stream, 0) if shuffled else stream)


def run_file_best(path: Path, k: int, shuffled: bool) -> Row:
    """Losses of the best k-sparse model and of the best constant."""
    X, y = rows_of_file(path, shuffled)
    best = kh.hindsight(ArrayStream(X, y), k, intercept=True, seconds=30)
    found: Row = {"file": path.stem, "d": X.shape[1], "rounds": len(y)}
    return {**found, "low": best.loss.low, "high": best.loss.high, "constant": best.empty_loss}


def run_file(path: Path, k: int, budget: int, shuffled: bool, seed: int) -> Row:
    """Losses, default and proper, and those of GramMix + BEXP for the first seeds."""
    X, y = rows_of_file(path, shuffled)
    problem = kh.Problem(X.shape[1], k, budget)
    row: Row = {"file": path.stem, "seed": seed}
    for way, proper in (("default", False), ("proper", True)):
        row[way] = float(losses(X, y, problem, seed, proper=proper).sum())
    if seed < TOLD:
        Z, left = standardised(np.asarray(X, dtype=np.float64)), y - y.mean()
        row["recipe"] = float(((left - grammix(Z, left, budget, seed=seed)) ** 2).sum())
    return row
