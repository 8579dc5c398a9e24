"""The games that checkouts are compared on: what is played, and how much of the label is lost.

Streams are made, and files shuffled, anew for each seed. A game's score is R2: 1 less the squared
loss of all rounds over that of the mean label in hindsight. Of games named `log/` it is the mean
log loss of `YesNoLearner`, negative; of `covered/` the share of labels in their interval of 90 %,
and of `width/` how wide these are on average, in standard deviations of the label, negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import keyhole as kh
from benchmarks.common.files import FILES
from benchmarks.common.priced_files import PRICED_FILES
from keyhole.problem import BlockStream, Floats
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE, ArrayStream, collect, priced_suite

ROUNDS, PRICED_ROUNDS = 2**13, 2**14


class Game(NamedTuple):
    """Rows and labels, the problem, what the learner is given; rows it studies, delay of labels."""

    X: Floats
    y: Floats
    problem: kh.Problem
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    history: int = 0
    delay: int = 0
    score: str = "R2"


Make = Callable[[int], Game]


def _collected(stream: BlockStream) -> tuple[Floats, Floats]:
    X, y = collect(stream)
    return X.astype(np.float64), y


def _suite(suite: Any, name: str, options: dict[str, Any], delay: int, seed: int) -> Game:
    case = suite[name]
    X, y = _collected(case.simulate(ROUNDS, seed).stream)
    return Game(X, y, case.problem, options, 0, delay)


def _rows(path: Path, shuffled: bool, seed: int) -> tuple[Floats, Floats, list[str]]:
    stream = kh.streams.read(str(path), target="target")
    X, y = _collected(stream)
    order = np.random.default_rng(seed).permutation(len(y)) if shuffled else np.arange(len(y))
    assert stream.names is not None
    order = order[:ROUNDS]
    return X[order], y[order], list(stream.names)


def _file(
    path: Path,
    k: int,
    budget: int,
    shuffled: bool,
    options: dict[str, Any],
    history: int,
    seed: int,
) -> Game:
    X, y, _ = _rows(path, shuffled, seed)
    return Game(X, y, kh.Problem(X.shape[1], k, budget), options, history)


def _priced_file(path: Path, seed: int) -> Game:
    X, y, names = _rows(path, False, seed)
    return Game(X, y, PRICED_FILES[path.stem].problem(names))


def _priced(name: str, limit: str, seed: int) -> Game:
    case = priced_suite(name, PRICED_ROUNDS, seed=seed)
    X, y = _collected(case.stream)
    return Game(X, y, case.problem(limit))


def _clinic(budget: int, seed: int) -> Game:
    X, y = _collected(kh.streams.clinic(2_000, seed=seed).stream)
    return Game(X, y, kh.Problem(X.shape[1], 4, budget))


def _clinic_priced(seed: int) -> Game:
    stream = kh.streams.clinic(4_000, seed=seed).stream
    X, y = _collected(stream)
    prices = kh.streams.clinic_prices()
    return Game(X, y, kh.Problem(X.shape[1], 4, 30.0, stream.names, prices=prices))


def _plain(d: int, useful: int, budget: int, n: int, seed: int) -> Game:
    """So many weights of 1, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, rng.choice(d, useful, replace=False)].sum(axis=1) + 0.5 * rng.standard_normal(n)
    return Game(X, y, kh.Problem(d, min(useful, budget), budget))


def _begins(budget: int, n: int, begins: int, seed: int) -> Game:
    """Ten features, one with a weight of .5; others, of 1, begin to count at a round."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    order = rng.permutation(10)
    y = 0.5 * X[:, order[0]] + 0.5 * rng.standard_normal(n)
    y[begins:] += X[begins:, order[1 : 1 + budget]].sum(axis=1)
    return Game(X, y, kh.Problem(10, budget, budget))


def _wide(d: int, n: int, seed: int) -> Game:
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([-1.0, 1.0]), (n, d))
    useful = rng.choice(d, 4, replace=False)
    y = X[:, useful].sum(axis=1) * 0.5 + 0.5 * rng.standard_normal(n)
    return Game(X, y, kh.Problem(d, 4, 32))


def _even(d: int, begins: int, seed: int) -> Game:
    """Three features of which a line says nothing; from round `begins` on (0: never) others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROUNDS, d))
    order = rng.permutation(d)

    def curves(square: int, size: int, step: int) -> Floats:
        found: Floats = (
            X[:, square] ** 2 + 1.5 * np.abs(X[:, size]) + 2.0 * (np.abs(X[:, step]) > 1)
        )
        return found

    y = curves(*order[:3])
    if begins:
        y[begins:] = curves(*order[3:6])[begins:]
    y += X[:, order[6]] + 0.5 * rng.standard_normal(ROUNDS)
    return Game(X, y, kh.Problem(d, 4, 8))


def _nonlin(budget: int, kind: str, seed: int) -> Game:
    """Four of 40 features: a logarithm, a hinge, a sine, a threshold; or products of pairs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROUNDS, 40))
    a, b, c, e = X[:, rng.choice(40, 4, replace=False)].T
    y = a + b + a * b + 0.5 * c + 0.5 * c * e
    if kind == "additive":
        y = np.sign(a) * np.log1p(3.0 * np.abs(a)) + 2.0 * np.maximum(b, 0.0)
        y += 1.5 * np.sin(2.0 * c) + 1.5 * (e > 0.5)
    return Game(X, y + 0.5 * rng.standard_normal(ROUNDS), kh.Problem(40, 4, budget))


def _scored(make: Make, score: str, seed: int) -> Game:
    """Another score of a game; labels of log losses are whether they are above 0."""
    game = make(seed)
    labels = (game.y > 0.0).astype(np.float64) if score == "log" else game.y
    return game._replace(y=labels, score=score)


def all_games(data: Path | None) -> Iterator[tuple[str, Make]]:
    """The names of all games, and what makes them of a seed."""
    for name in AGNOSTIC_SUITE:
        yield f"ten/{name}", partial(_suite, AGNOSTIC_SUITE, name, {}, 0)
    for name in REALIZABLE_SUITE:
        yield f"realizable/{name}", partial(_suite, REALIZABLE_SUITE, name, {}, 0)
    for name in ("iid", "switch", "geo"):
        yield f"proper/{name}", partial(_suite, AGNOSTIC_SUITE, name, {"proper": True}, 0)
        yield f"late/{name}", partial(_suite, AGNOSTIC_SUITE, name, {}, 30)
    for budget in (1, 2, 5, 6, 11, 12):
        yield f"few/40:{budget}", partial(_plain, 40, 5, budget, 4_000)
    for budget in (1, 2, 4):
        yield f"few/begins:{budget}", partial(_begins, budget, 6_000, 1_000)
    yield "clinic/8", partial(_clinic, 8)
    yield "clinic/12", partial(_clinic, 12)
    yield "clinic/priced", _clinic_priced
    for name in ("indep", "dear", "proxy", "panel", "heavy", "free50"):
        for limit in ("loose", "tight"):
            yield f"priced/{name}:{limit}", partial(_priced, name, limit)
    yield "wide/10000", partial(_wide, 10_000, 8_000)
    for d in (30, 300):
        yield f"even/{d}", partial(_even, d, 0)
    yield "even/begins", partial(_even, 30, ROUNDS // 2)
    for kind in ("additive", "pairs"):
        for budget in (5, 10):
            yield f"nonlin40/{kind}:{budget}", partial(_nonlin, budget, kind)
    if data is None:
        return
    for name, (k, budget, shuffled) in FILES.items():
        path = data / f"{name}.parquet"
        game = partial(_file, path, k, budget, shuffled)
        yield f"file/{name}", partial(game, {}, 0)
        yield f"file8/{name}", partial(_file, path, min(k, 4), 8, shuffled, {}, 0)
        yield f"history/{name}", partial(game, {}, 100)
        yield f"proper/{name}", partial(game, {"proper": True}, 0)
    spam = data / "spam.parquet"
    for budget in (5, 10):
        for history in (0, 300):
            yield f"spam/{budget}:{history}", partial(_file, spam, 4, budget, True, {}, history)
    thyroid = partial(_file, data / "thyroid_cost.parquet", 3, 5, True, {}, 0)
    yield "log/thyroid_cost:5", partial(_scored, thyroid, "log")
    for budget in (5, 10):
        game = partial(_file, spam, 4, budget, True, {}, 300)
        yield f"log/spam:{budget}", partial(_scored, game, "log")
    for name in ("thyroid_cost", "supercon_magpie"):
        for shapes in (True, False):
            options = {"shapes": shapes}
            game = partial(_file, data / f"{name}.parquet", 4, 8, True, options, 0)
            for score in ("covered", "width"):
                said = f"{score}/{name}" + ("" if shapes else ":plain")
                yield said, partial(_scored, game, score)
    for name in PRICED_FILES:
        yield f"priced/{name}", partial(_priced_file, data / f"{name}.parquet")


def play(make: Make, seed: int) -> float:
    """The score of one game."""
    game = make(seed)
    learner: Any = kh.AutoLearner(game.problem, seed=seed, **game.options)
    if game.score == "log":
        learner = kh.YesNoLearner(learner)
    X, y = game.X[game.history :], game.y[game.history :]
    if game.history:
        learner.study(ArrayStream(game.X[: game.history], game.y[: game.history]))
    if game.score in ("covered", "width"):
        return _play_intervals(learner, X, y)[game.score]
    if game.delay:
        predictions = _play_late(learner, X, y, game.delay)
    else:
        predictions = np.asarray(learner.advance(X, y))
    if game.score == "log":
        return float(np.log(np.where(y > 0.0, predictions, 1.0 - predictions)).mean())
    return 1.0 - float(((y - predictions) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def _play_intervals(learner: kh.AutoLearner, X: Floats, y: Floats) -> dict[str, float]:
    """The share of labels in their interval, and minus the mean width of those that have an end."""
    inside, widths = 0, list[float]()
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = learner.ask()
        seen = ticket.fill(x[ticket.features])
        interval = learner.interval(seen, coverage=0.9)
        inside += interval.low <= label <= interval.high
        widths += [interval.high - interval.low] * bool(np.isfinite(interval.high - interval.low))
        learner.tell(seen, label)
    return {"covered": inside / len(y), "width": -float(np.mean(widths) / y.std())}


def _play_late(learner: kh.AutoLearner, X: Floats, y: Floats, delay: int) -> Floats:
    waiting, predictions = [], np.empty(len(y))
    for t in range(len(y)):
        ticket = learner.ask()
        seen = ticket.fill(X[t, list(ticket.features)])
        predictions[t] = learner.predict(seen)
        waiting.append(seen)
        if t >= delay:
            learner.tell(waiting[t - delay], float(y[t - delay]))
    return predictions
