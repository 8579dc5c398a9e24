"""What else `benchmarks.auto` measures: an adversary, the realizable suite, files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.auto_parts import (
    LONG,
    SHORT,
    USUAL,
    Part,
    Row,
    losses,
    markdown,
    mean_error,
    pick,
    without_net,
)
from benchmarks.grammix import grammix
from benchmarks.regret_streams import standardised
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, collect

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


def run_anti(candidates: int, look: str, net: bool, seed: int) -> Row:
    """Regret against the best single candidate with its best weight, at 2^12 ... 2^16."""
    paid, products = duel(candidates, look, seed, net=net, single=False, n=LONG)
    row: Row = {"candidates": candidates, "look": look, "net": net, "seed": seed}
    for power in (12, 14, 16):
        # x_j^2 = y^2 = 1: the best weight is the mean product c, its loss n (1 - c^2).
        n = 2**power
        gain = float(n * (products[:n].mean(axis=0) ** 2).max())
        row[str(power)] = float(paid[:n].sum()) - (n - gain)
        row[f"zero {power}"] = gain
    return row


def table_anti(rows: list[Row]) -> str:
    """A row per adversary and learner."""
    lines = []
    for candidates, look in ADVERSARIES:
        for net in (True, False):
            like = {"candidates": candidates, "look": look, "net": net}
            if not pick(rows, "seed", **like):
                continue
            cells = [mean_error(pick(rows, str(p), **like)) for p in (12, 14, 16)]
            zero = float(np.mean(pick(rows, "zero 16", **like)))
            last = float(np.mean(pick(rows, "16", **like)))
            who = "AutoLearner" if net else "without the net"
            lines.append(
                [f"{candidates}, by {look}", who, *cells, f"{zero:.0f}", f"{last / zero:.2f}"]
            )
    head = ["candidates", "", "2^12", "2^14", "2^16", "predict 0 at 2^16", "ratio at 2^16"]
    return markdown(head, lines)


# Realizable streams.

NOTED = {
    "S1": 21, "S2": 29, "S3": 26, "S4": 8.3, "S5": 37, "S6": 7.1,
    "S7": 13, "S8": 38, "S9": 5.1, "S10": 8.0, "S12": 12,
}  # fmt: skip


def run_realizable(name: str, seed: int) -> Row:
    """Sum of (y_hat - <x, w*>)^2, default and proper."""
    from keyhole.streams.realizable_suite import REALIZABLE_SUITE

    setting = REALIZABLE_SUITE[name]
    stream, truth = setting.simulate(SHORT, seed)
    X, y = collect(stream)
    mean = truth.intercept + X @ truth.weights
    row: Row = {"stream": name, "seed": seed}
    for way, proper in (("default", False), ("proper", True)):
        squared = losses(X, y, setting.problem, seed, proper=proper, against=mean)
        row[way] = float(squared.sum())
        row[f"{way} 2^12"] = float(squared[: 2**12].sum())
    return row


def table_realizable(rows: list[Row]) -> str:
    """A column per stream."""
    found = [name for name in NOTED if pick(rows, "seed", stream=name)]
    ways = ("default", "default 2^12", "proper", "proper 2^12")
    lines = [[w, *(mean_error(pick(rows, w, stream=s), 1) for s in found)] for w in ways]
    lines.append(["best recipe of the notes, 2^16", *(f"{NOTED[s]:g}" for s in found)])
    for way in ("default", "proper"):
        ratio = [np.mean(pick(rows, way, stream=s)) / NOTED[s] for s in found]
        lines.append([f"ratio, {way}", *(f"{r:.2f}" for r in ratio)])
    return markdown(["2^14 rounds", *found], lines)


# Files.

FILES: dict[str, tuple[int, int, bool, float | None, float | None]] = {
    # k, budget, shuffled; normalised regret in the notes: default, at most k features
    "nycflights": (4, 16, False, -0.028, -0.020),
    "blogfeedback": (4, 16, True, 0.031, 0.035),
    "beijing_air": (4, 16, False, -0.021, 0.028),
    "supercon_magpie": (8, 24, True, 0.017, 0.033),
    "mnist_3v5": (8, 64, True, -0.176, 0.039),
    "nhanes_a1c": (4, 16, False, 0.102, 0.109),
    "thyroid_cost": (3, 6, False, -0.023, -0.016),
    "appliances": (4, 16, False, None, None),
    "sp500_track": (4, 8, False, None, None),
}


def recipe(X: NDArray[np.floating], y: Floats, budget: int, seeds: int) -> list[float]:
    """Losses of GramMix + BEXP by seed, told all centres and scales of the file in advance."""
    Z, left = standardised(np.asarray(X, dtype=np.float64)), y - y.mean()
    guesses = (grammix(Z, left, budget, seed=s) for s in range(seeds))
    return [float(((left - guess) ** 2).sum()) for guess in guesses]


def run_file(folder: str, name: str, seeds: int) -> Row:
    """Normalised regret by seed, default and proper; the order of rows is the same for all."""
    k, budget, shuffled, *_ = FILES[name]
    stream: Any = kh.streams.read(str(Path(folder) / f"{name}.parquet"), target="target")
    X, y = collect(kh.streams.shuffle(stream, 0) if shuffled else stream)
    best = kh.hindsight(ArrayStream(X, y), k, intercept=True, seconds=30)
    span = best.empty_loss - best.loss.high
    problem = kh.Problem(X.shape[1], k, budget)
    row: Row = {"file": name, "d": X.shape[1], "rounds": len(y), "exact": best.loss.width == 0.0}
    row["low"] = (best.loss.low - best.loss.high) / span
    for way, proper in (("default", False), ("proper", True)):
        paid = [float(losses(X, y, problem, s, proper=proper).sum()) for s in range(seeds)]
        row[way] = [(loss - best.loss.high) / span for loss in paid]
    told = recipe(X, y, budget, min(seeds, 3))
    row["recipe"] = [(loss - best.loss.high) / span for loss in told]
    return row


def table_files(rows: list[Row]) -> str:
    """A row per file."""
    lines = []
    for name, (k, budget, shuffled, noted, noted_k) in FILES.items():
        for row in (r for r in rows if r["file"] == name):
            told = [f"{v:.3f}" if v is not None else "-" for v in (noted, noted_k)]
            lines.append([
                f"{name}{' (shuffled)' if shuffled else ''}", f"{k}, {budget} of {row['d']}",
                mean_error(row["default"], 3), mean_error(row["recipe"], 3), told[0],
                mean_error(row["proper"], 3), told[1],
                "exact" if row["exact"] else f"found; could be {row['low']:.3f}",
            ])  # fmt: skip
    head = [
        "file",
        "k, budget of d",
        "default",
        "GramMix + BEXP, told centres and scales",
        "notes",
        "proper",
        "notes, k features",
        "best k-sparse",
    ]
    return markdown(head, lines)


def rivals(folder: str | None) -> dict[str, Part]:
    """The parts; files only if there is a folder of them."""
    parts = {
        "anti": Part(
            lambda seeds: [
                (*a, net, s)
                for s in range(min(seeds, 5))
                for a in ADVERSARIES
                for net in (True, False)
            ],
            run_anti,
            table_anti,
        ),
        "realizable": Part(
            lambda seeds: [(name, seed) for seed in range(seeds) for name in NOTED],
            run_realizable,
            table_realizable,
        ),
    }
    if folder is not None:
        there = [name for name in FILES if (Path(folder) / f"{name}.parquet").exists()]
        parts["files"] = Part(
            lambda seeds: [(name, seeds) for name in there],
            partial(run_file, folder),
            table_files,
        )
    return parts
