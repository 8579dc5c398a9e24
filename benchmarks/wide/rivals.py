"""Learners that read every feature of every example, to set beside those that read a few."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.peers import optional
from benchmarks.wide.columns import Columns, Game
from benchmarks.wide.parts import BUDGET
from keyhole.problem import Floats, Indices

BLOCK, SCREENED = 250, 256  # rows written out at once; features whose pairs screening keeps


class Rival(Protocol):
    """Predicts row after row, each before it learns its label."""

    def play(self, X: Floats, y: Floats) -> Floats:
        """The predictions."""


class River:
    """`river.linear_model.LinearRegression` with plain gradient steps of a given size."""

    def __init__(self, d: int, rate: float) -> None:
        river = optional("river.linear_model")
        optim = optional("river.optim")
        self._model = river.LinearRegression(optimizer=optim.SGD(rate), intercept_lr=0.01)

    def play(self, X: Floats, y: Floats) -> Floats:
        """The predictions."""
        guesses = np.empty(len(y))
        for t, row in enumerate(X.tolist()):
            x = dict(enumerate(row))
            guesses[t] = self._model.predict_one(x)
            self._model.learn_one(x, float(y[t]))
        return guesses


class VowpalWabbit:
    """Vowpal Wabbit's linear learner with its usual steps, and a penalty on absolute weights."""

    def __init__(self, d: int, l1: float) -> None:
        vw = optional("vowpalwabbit")
        self._model: Any = vw.Workspace(f"--quiet --bit_precision 20 --l1 {l1:g}")
        self._form = "%.7g |x " + " ".join(f"{j}:%.5g" for j in range(d))

    def play(self, X: Floats, y: Floats) -> Floats:
        """The predictions."""
        guesses, model = np.empty(len(y)), self._model
        for t, row in enumerate(X):
            example = model.example(self._form % (y[t], *row.tolist()))
            guesses[t] = model.predict(example)
            model.learn(example)
            model.finish_example(example)
        return guesses


class Screening:
    """Sums of products with the label screen all features; OMP chooses k of the best 256.

    Who is among these is decided anew whenever the rounds have doubled, and their products in pairs
    are counted from then on. Predictions are by least squares on the k, from the sums of the rounds
    since.
    """

    def __init__(self, d: int, k: int) -> None:
        self._k, self._round, self._next = k, 0, 32
        self._c, self._square = np.zeros(d), np.zeros(d)
        self._open(np.arange(min(d, SCREENED)))
        self._chosen: Indices = np.arange(0)
        self._w: Floats = np.zeros(0)

    def _open(self, features: Indices) -> None:
        self._among = features
        self._G = np.zeros((len(features), len(features)))
        self._b = np.zeros(len(features))

    def play(self, X: Floats, y: Floats) -> Floats:
        """The predictions."""
        guesses = np.empty(len(y))
        for t, (x, label) in enumerate(zip(X, y, strict=True)):
            guesses[t] = x[self._chosen] @ self._w
            self._learn(x, float(label))
        return guesses

    def _learn(self, x: Floats, y: float) -> None:
        self._c += y * x
        self._square += x * x
        z = x[self._among]
        self._G += np.outer(z, z)
        self._b += y * z
        self._round += 1
        if self._round == self._next:
            self._next *= 2
            strength = self._c**2 / np.maximum(self._square, 1e-300)
            best = np.argpartition(-strength, len(self._among) - 1)[: len(self._among)]
            self._open(np.sort(best))
        elif self._round % 16 == 0 and self._round >= 1.25 * self._next / 2:
            self._fit()

    def _fit(self) -> None:
        chosen = list[int]()
        for _ in range(self._k):
            w = np.linalg.solve(self._G[np.ix_(chosen, chosen)], self._b[chosen])
            gain = (self._b - self._G[:, chosen] @ w) ** 2 / self._G.diagonal()
            gain[chosen] = -1.0
            chosen.append(int(gain.argmax()))
        w = np.linalg.solve(self._G[np.ix_(chosen, chosen)], self._b[chosen])
        self._w = np.asarray(w, dtype=np.float64)
        self._chosen = self._among[chosen]


Make = Callable[[int, int], Rival]
RIVALS: dict[str, tuple[str, Make]] = {  # the package that each needs; steps above 2 / d diverge
    "river, SGD, rate 0.1 / d": ("river", lambda d, k: River(d, 0.1 / d)),
    "river, SGD, rate 0.5 / d": ("river", lambda d, k: River(d, 0.5 / d)),
    "Vowpal Wabbit": ("vowpalwabbit", lambda d, k: VowpalWabbit(d, 0.0)),
    "Vowpal Wabbit, l1 = 1e-4": ("vowpalwabbit", lambda d, k: VowpalWabbit(d, 1e-4)),
    "screening and OMP": ("numpy", Screening),
}
LEARNERS = ("`auto`", "`dual-averaging`", *RIVALS)


def run_rivals(name: str, d: int, k: int, rho: float, seed: int, n: int) -> Row:
    """Mean squared errors over the last fifth of n rounds and over all; microseconds a round.

    Without the package that it needs, none of these.
    """
    columns = Columns(d, k, seed, rho=rho)
    row: Row = {"learner": name, "d": d, "k": k, "rho": rho, "seed": seed, "n": n}
    if name not in RIVALS:
        return row | (_auto(columns, n) if name == LEARNERS[0] else _few(columns, n))
    package, make = RIVALS[name]
    return row if optional(package) is None else row | _everything(columns, n, make(d, k))


def _summary(errors: Floats, seconds: float, reads: int) -> Row:
    n = len(errors)
    late = float((errors[-(n // 5) :] ** 2).mean())
    return {"late": late, "all": float((errors**2).mean()), "us": 1e6 * seconds / n, "reads": reads}


def _auto(columns: Columns, n: int) -> Row:
    game = Game(kh.AutoLearner(kh.Problem(columns.d, columns.k, BUDGET), seed=0), columns)
    while game.round < n - n // 5:
        game.batch()
    begun, before = game.round, game.loss
    while game.round < n:
        game.batch()
    late, us = (game.loss - before) / (game.round - begun), 1e6 * game.seconds / game.round
    return {"late": late, "all": game.loss / game.round, "us": us, "reads": BUDGET}


def _blocks(columns: Columns, n: int) -> list[Indices]:
    return np.array_split(np.arange(n), math.ceil(n / BLOCK))


def _everything(columns: Columns, n: int, rival: Rival) -> Row:
    errors, seconds, every = np.empty(n), 0.0, np.arange(columns.d)
    for rounds in _blocks(columns, n):
        X, y = columns.values(rounds, every), columns.labels(rounds)
        begun = time.process_time()
        errors[rounds] = rival.play(X, y) - y
        seconds += time.process_time() - begun
    return _summary(errors, seconds, columns.d)


def _few(columns: Columns, n: int) -> Row:
    """A learner with the same budget that keeps one weight for each feature."""
    learner = kh.LEARNERS["dual-averaging"](kh.Problem(columns.d, columns.k, BUDGET), seed=0)
    errors, seconds, rounds, labels = np.empty(n), 0.0, np.arange(n), columns.labels(np.arange(n))
    for t in range(n):
        begun = time.process_time()
        ticket = learner.ask()
        seconds += time.process_time() - begun
        values = columns.values(rounds[t : t + 1], np.array(ticket.features))[0]
        seen = kh.Observation(ticket, values)
        begun = time.process_time()
        errors[t] = learner.predict(seen) - labels[t]
        learner.tell(seen, float(labels[t]))
        seconds += time.process_time() - begun
    return _summary(errors, seconds, BUDGET)
