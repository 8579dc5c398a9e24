"""Games with typos, and games whose extremes are real.

A game's score is the mean squared error over the 1,000 rounds from its first typo on, those with a
typo aside; of the games with real extremes, over all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, collect

AFTER = 1_000  # rounds
D, K, BUDGET = 20, 3, 8
CLEAN = "without"


class Game(NamedTuple):
    """Rows, of which the first `history` are studied; which of the others count."""

    X: Floats
    y: Floats
    counts: NDArray[np.bool_]
    problem: kh.Problem
    history: int = 0


Make = Callable[[int], Game]


def _stream(rounds: int, seed: int) -> tuple[Floats, Floats, np.random.Generator, Floats]:
    """Three features matter, each in units of its own; and what their weights are."""
    rng = np.random.default_rng([41, seed])
    X = rng.standard_normal((rounds, D)) * rng.uniform(0.5, 2.0, D) + rng.uniform(0.0, 5.0, D)
    w = np.zeros(D)
    w[rng.choice(D, K, replace=False)] = rng.uniform(0.5, 2.0, K) * rng.choice([-1.0, 1.0], K)
    y = 5.0 + (X - X.mean(axis=0)) @ w + 0.5 * rng.standard_normal(rounds)
    return X, y, rng, w


def _game(X: Floats, y: Floats, counts: NDArray[np.bool_]) -> Game:
    return Game(X, y, counts, kh.Problem(D, K, BUDGET))


def _wild(what: str, times: float, at: int, seed: int) -> Game:
    """One label, or the values that matter of one row, `times` too large."""
    X, y, _, w = _stream(at + AFTER, seed)
    counts = np.arange(1, at + AFTER + 1) > at
    if what == "label":
        y[at - 1] *= times
    elif what == "value":
        X[at - 1, w != 0.0] *= times
    return _game(X, y, counts)


def _often(what: str, times: float, seed: int) -> Game:
    """One label in a hundred, or the values that matter of one row, is `times` too large."""
    X, y, rng, w = _stream(AFTER, seed)
    wrong = rng.random(AFTER) < 0.01
    if what == "label":
        y[wrong] *= times
    elif what == "value":
        X[np.ix_(wrong, w != 0.0)] *= times
    return _game(X, y, ~wrong)


def _studied(what: str, at: int, seed: int) -> Game:
    """A typo in one of 100 rows of history."""
    X, y, _, w = _stream(100 + AFTER, seed)
    if what == "label":
        y[at - 1] *= 100.0
    elif what == "value":
        X[at - 1, w != 0.0] *= 100.0
    return _game(X, y, np.ones(AFTER, dtype=np.bool_))._replace(history=100)


def _clinic(what: str, seed: int) -> Game:
    """The clinic after 500 rows of history; the first of 1,000 rounds has a typo."""
    stream = kh.streams.clinic(1_500, seed=seed).stream
    rows, labels = collect(stream)
    X, y = np.array(rows, dtype=np.float64), np.array(labels)
    names = list(stream.names or ())
    if what == "creatinine":
        X[500, names.index("creatinine_mg_dl")] *= 100.0
    y[500] *= {"label": 100.0, "wilder": 1e4}.get(what, 1.0)
    problem = kh.Problem(X.shape[1], 4, 8, names=names)
    return Game(X, y, np.arange(1, 1_001) > 1, problem, 500)


def _noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if kind == "log-normal":
        return np.exp(1.5 * rng.standard_normal(shape))
    return rng.standard_t({"t2": 2.0, "t3": 3.0}[kind], shape)


def _heavy(what: str, kind: str, seed: int) -> Game:
    """Heavy tails of the noise, or of the features."""
    X, y, rng, w = _stream(4_000, seed)
    if what == "noise":
        y += _noise(kind, y.shape, rng)
    else:
        X = _noise(kind, X.shape, rng)
        y = 5.0 + X @ w + 0.5 * rng.standard_normal(len(y))
    return _game(X, y, np.ones(len(y), dtype=np.bool_))


EVENTS = {"rare event": 0.01, "event": 0.04, "frequent event": 0.15}


def _changed(kind: str, at: int, seed: int) -> Game:
    """Something is otherwise from a round on."""
    X, y, rng, w = _stream(at + 2_000, seed)
    if kind == "level":
        y[at:] += 1_000.0 * y.std()
    elif kind == "level of features":
        X[at:] += 1_000.0
    elif kind == "unit":
        y[at:] *= 1_000.0
    elif kind == "unit of features":
        X[at:] *= 1_000.0
    elif kind == "records":
        y[at:] += 0.02 * np.arange(len(y) - at) ** 1.5
    elif kind in EVENTS:
        there = (rng.random((len(y), K)) < EVENTS[kind]) & (np.arange(len(y)) >= at)[:, None]
        X[:, w != 0.0] = there
        y = 100.0 * X @ w + 0.5 * rng.standard_normal(len(y))
    elif kind == "claims":  # 0 as a rule, and large where the features say so
        z = (y - y.mean()) / y.std()
        y = 100.0 * np.maximum(z - 2.0, 0.0)
    elif kind == "growth":
        y = np.exp(1.5 * (y - y.mean()) / y.std())
    elif kind == "spikes":
        y += 100.0 * (rng.random(len(y)) < 0.01) * (np.arange(len(y)) >= at)
    return _game(X, y, np.arange(len(y)) >= at)


Against = tuple[str, Make]  # the game without its typo, and the game


def _cleans() -> Iterator[tuple[str, Make]]:
    for at in ROUNDS:
        yield f"{CLEAN} {at}", partial(_wild, CLEAN, 1.0, at)
    yield f"{CLEAN} 1 %", partial(_often, CLEAN, 1.0)
    yield f"{CLEAN} history", partial(_studied, CLEAN, 1)
    yield f"{CLEAN} clinic", partial(_clinic, CLEAN)


def _typos() -> Iterator[tuple[str, Against]]:
    for at in ROUNDS:
        clean = f"{CLEAN} {at}"
        for what, times in product(("label", "value"), (1.01, 10.0, 100.0, 1e4)):
            yield f"{what} x{times:g} at {at}", (clean, partial(_wild, what, times, at))
    for what, times in product(("label", "value"), (10.0, 100.0, 1e4)):
        yield f"1 % {what}s x{times:g}", (f"{CLEAN} 1 %", partial(_often, what, times))
    for what, at in product(("label", "value"), (1, 2, 3, 50)):
        game = partial(_studied, what, at)
        yield f"{what} x100 in row {at} of history", (f"{CLEAN} history", game)
    for what in ("label", "wilder", "creatinine"):
        yield f"clinic: {what}", (f"{CLEAN} clinic", partial(_clinic, what))


def _real() -> Iterator[tuple[str, Make]]:
    for kind, what in product(("t2", "t3", "log-normal"), ("noise", "features")):
        yield f"{kind} {what}", partial(_heavy, what, kind)
    for kind, at in product((*CHANGES, *EVENTS), (10, 500)):
        yield f"{kind} from {at}", partial(_changed, kind, at)
    for kind in ("claims", "growth", "spikes"):
        yield kind, partial(_changed, kind, 10)


ROUNDS = (1, 2, 3, 4, 5, 7, 10, 30, 100, 500)
CHANGES = ("level", "level of features", "unit", "unit of features", "records")
CLEANS, TYPOS, REAL = dict(_cleans()), dict(_typos()), dict(_real())
ALL = {**CLEANS, **{name: make for name, (_, make) in TYPOS.items()}, **REAL}


def play(name: str, seed: int) -> float:
    """The mean squared error of a game in the rounds that count."""
    game = ALL[name](seed)
    learner, h = kh.AutoLearner(game.problem, seed=seed), game.history
    if h:
        learner.study(ArrayStream(game.X[:h], game.y[:h]))
    missed = game.y[h:] - np.asarray(learner.advance(game.X[h:], game.y[h:]))
    return float((missed**2)[game.counts].mean())
