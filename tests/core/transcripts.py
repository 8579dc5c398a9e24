"""Whole games, each as one digest: what compiled code returned when it was last proven right.

`transcripts.json` holds the digest of every game by its name. A game is a learner, a stream, and
steps in words: `block 40, rounds 10, late 12, save`. Everything that comes back is hashed, to the
bit: tickets, predictions, purchases, and in the end the whole state. To write the file anew, once
a change of numbers is meant: `python -m tests.core.transcripts`.

Only what is computed by our own C is here. NumPy's linear algebra (`kh.sums`, the inverses of
online-greedy) has last bits that depend on the processor.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import keyhole as kh
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes

FILE = Path(__file__).with_suffix(".json")
BEYOND = 600  # rows of every stream: more than any game needs
SEED = 3


class Game(NamedTuple):
    """A learner with its seed, the kind of stream it plays, and the steps."""

    learner: Callable[[], Any]
    steps: str
    kind: str = "steady"


def data(kind: str, d: int, n: int) -> tuple[Floats, Floats]:
    """Rows and labels, the same on every machine: few digits, and no sums but of three columns."""
    rng = np.random.default_rng([d, SEED])
    X = np.round(256.0 * rng.standard_normal((n, d))) / 256.0 + np.arange(d) % 3
    noise = np.round(256.0 * rng.standard_normal(n)) / 256.0
    first, second, third = X[:, 0], X[:, min(2, d - 1)], X[:, d // 2]
    y = 2.0 + first - 0.75 * second + 0.5 * third + 0.5 * noise
    if kind == "switch":
        y[n // 4 :] = 1.0 - second[n // 4 :] + 0.25 * noise[n // 4 :]
    if kind == "drift":
        y += 0.25 * np.cumsum(np.sign(noise)) + 2.0 * np.arange(n) / n * third
    if kind == "gaps":
        X[rng.random(X.shape) < 0.15] = np.nan
        X[rng.random(X.shape) < 0.01] *= 64.0
    if (
        kind == "odd"
    ):  # nothing varies at first; then labels far out, values too small to be squared
        y[: n // 8], y[n // 5 :: 97] = 3.0, 4096.0
        X[rng.random(X.shape) < 0.05] = 1e-200
        X[:, -1] = 7.0
    if kind == "far":
        y = 1e9 + 1e3 * y
        X[:, ::2] *= 1e6
    return X, y


class Player:
    """Plays a game step by step; what comes back is handed out to be hashed."""

    def __init__(self, game: Game) -> None:
        self.learner = game.learner()
        self.problem: kh.Problem = self.learner.problem
        self.X, self.y = data(game.kind, self.problem.d, BEYOND)
        self.t, self.draw = 0, np.random.default_rng(1)

    def step(self, word: str, number: int) -> Iterator[Any]:
        """What comes back from one step."""
        yield from getattr(self, word)(number)

    def _rows(self, n: int) -> tuple[Floats, Floats]:
        first, self.t = self.t, self.t + n
        return self.X[first : self.t], self.y[first : self.t]

    def _stream(self, n: int) -> kh.streams.ArrayStream:
        return kh.streams.ArrayStream(*self._rows(n), names=self.problem.names)

    def block(self, n: int) -> Iterator[Any]:
        """Rounds in one call."""
        X, y = self._rows(n)
        bought = np.full((n, self.problem.width), -1, dtype=np.int32)
        yield self.learner.advance(X, y, bought)
        yield bought

    def rounds(self, n: int, **terms: Any) -> Iterator[Any]:
        """Rounds one by one, on these terms."""
        for x, y in zip(*self._rows(n), strict=True):
            ticket = self.learner.ask(**terms)
            seen = ticket.fill(x[ticket.features])
            yield ticket
            yield self.learner.predict(seen)
            self.learner.tell(seen, float(y))

    def late(self, n: int) -> Iterator[Any]:
        """Rounds whose labels come in any order after all were asked; one in seven never does."""
        X, y = self._rows(n)
        seen = []
        for x in X:
            ticket = self.learner.ask()
            seen.append(ticket.fill(x[ticket.features]))
            yield ticket
        for i in self.draw.permutation(n).tolist():
            if i % 7 == 6:
                self.learner.drop(seen[i].ticket)
            else:
                yield self.learner.predict(seen[i])
                self.learner.tell(seen[i], float(y[i]))

    def own(self, n: int) -> Iterator[Any]:
        """Rounds on terms of their own, a different kind of terms each."""
        d = self.problem.d
        kinds: list[dict[str, Any]] = [
            {"without": [0, d - 1]},
            {"known": {1: 0.5, d // 2: -1.0}},
            {"budget": self.problem.budget / 2 if self.problem.prices else 1},
            {"prices": {2: 0, d - 2: math.inf}},
        ]
        for i in range(n):
            yield from self.rounds(1, **kinds[i % 4])

    def study(self, n: int, half_life: float | None = None) -> Iterator[Any]:
        """Rows of history."""
        yield self.learner.study(self._stream(n), half_life=half_life)

    def fade(self, n: int) -> Iterator[Any]:
        """Rows of history of which older ones count less."""
        yield from self.study(n, 20.0)

    def wrong(self, n: int) -> Iterator[Any]:
        """Rows of history that mislead: labels the other way round."""
        X, y = self._rows(n)
        yield self.learner.study(kh.streams.ArrayStream(X, y.max() - y, names=self.problem.names))

    def moved(self, n: int) -> Iterator[Any]:
        """Rows of history in other units."""
        X, y = self._rows(n)
        yield self.learner.study(
            kh.streams.ArrayStream(X, 10.0 * y + 100.0, names=self.problem.names)
        )

    def save(self, _: int) -> Iterator[Any]:
        """Go on with what was written and read back."""
        yield self.learner.state()
        self.learner = from_bytes(to_bytes(self.learner))

    def copy(self, n: int) -> Iterator[Any]:
        """A copy plays some rounds, which changes nothing here."""
        first, mine = self.t, self.learner
        self.learner = copy.deepcopy(mine)
        yield from self.block(n)
        yield from self.rounds(n)
        self.learner, self.t = mine, first

    def look(self, _: int) -> Iterator[Any]:
        """What people are told."""
        yield f"{self.learner.explain()}\n{self.learner.advice()}"
        yield self.learner.model().features


def written(thing: Any) -> Iterator[bytes]:
    """Everything in it as bytes; of NaN there is one."""
    if isinstance(thing, np.ndarray):
        yield f"{thing.dtype.str}{thing.shape}".encode()
        yield (
            np.where(np.isnan(thing), np.nan, thing) if thing.dtype.kind == "f" else thing
        ).tobytes()
    elif isinstance(thing, float):
        yield from written(np.array(thing))
    elif isinstance(thing, kh.Ticket):
        yield from written([thing.round, thing.features, dict(thing.memo), thing.cost, thing.order])
    elif isinstance(thing, Mapping):
        yield from written([part for name in sorted(thing) for part in (name, thing[name])])
    elif isinstance(thing, list | tuple):
        yield f"{len(thing)}".encode()
        for part in thing:
            yield from written(part)
    elif hasattr(thing, "parts"):  # a learner's state
        yield from written([thing.learner, thing.round, dict(thing.parts)])
    else:
        yield repr(thing).encode()


def steps(game: Game) -> Iterator[tuple[str, str]]:
    """Each step of a game, and the digest of all that came back so far."""
    player, seen = Player(game), hashlib.sha256()
    for step in [*game.steps.split(", "), "save"]:
        word, _, number = step.partition(" ")
        for thing in player.step(word, int(number or 0)):
            for some in written(thing):
                seen.update(some)
        yield step, seen.hexdigest()[:32]


def digest(game: Game) -> str:
    """The digest of a whole game."""
    return [found for _, found in steps(game)][-1]


def auto(d: int, k: int, budget: float, prices: Any = None, **how: Any) -> Callable[[], Any]:
    """How to make an AutoLearner; `prices` are what a Problem has of them."""
    return lambda: kh.AutoLearner(kh.Problem(d, k, budget, **(prices or {})), seed=SEED, **how)


def named(name: str, d: int, k: int, budget: float, prices: Any = None) -> Callable[[], Any]:
    """How to make another learner that is compiled."""
    return lambda: kh.LEARNERS[name](kh.Problem(d, k, budget, **(prices or {})), seed=SEED)


PARTS = kh.AutoParts
EXPERTS = PARTS().experts
RESTLESS = PARTS(taus=(math.inf, 6.0), threshold=1.0, shortest=2, longest=7, growth=4)
OWN = {"prices": [2, 1, 3, 1, 4, 2, 1, 5, 2, 1, 3, 1]}
FEES = {**OWN, "panels": {"visit": (2, [0, 1, 4, 5]), "lab": (3, [2, 3, 6, 7])}}
MIXED = {  # panels with and without own prices, a derived feature, a free one, one too dear
    "prices": {0: 1, 1: "0.5", 3: 1, 5: 0, 6: "3.10", 7: 2, 8: 1, 9: 9, 10: "0.75", 11: 4},
    "panels": {"draw": ("2.5", [0, 1, 2]), "scan": (4, [3, 4])},
    "derived": {7: [0, 6]},
}
MANY = {"prices": [1 + j % 4 for j in range(60)], "panels": {"p": (2, [3, 4, 5])}}
ALL = "block 37, rounds 11, late 13, save, block 60, look, copy 9, rounds 30, block 50"
LATE = "block 50, late 350, rounds 20, block 30"
PLAIN = "block 37, rounds 11, late 13, save, block 60, copy 9, rounds 30, block 500"
HISTORY = "study 60, look, block 30, rounds 12, save, fade 20, late 20, block 60"

GAMES: Mapping[str, Game] = {
    "auto d=1": Game(auto(1, 1, 1), ALL),
    "auto d=2, budget 1": Game(auto(2, 1, 1), ALL),
    "auto d=8, budget 1": Game(auto(8, 1, 1), ALL, "switch"),
    "auto d=5, everything": Game(auto(5, 2, 5), ALL, "gaps"),
    "auto d=8, everything": Game(auto(8, 2, 8), ALL),
    "auto d=9, budget 3": Game(auto(9, 2, 3), ALL, "drift"),
    "auto d=30": Game(auto(30, 4, 12), ALL),
    "auto d=30, switch": Game(auto(30, 2, 8), ALL, "switch"),
    "auto d=30, gaps": Game(auto(30, 4, 12), ALL, "gaps"),
    "auto d=30, odd": Game(auto(30, 4, 12), ALL, "odd"),
    "auto d=30, far": Game(auto(30, 4, 12), ALL, "far"),
    "auto d=30, long": Game(auto(30, 4, 12), "block 500, rounds 20", "drift"),
    "auto d=30, labels late": Game(auto(30, 4, 12), LATE),
    "auto d=30, labels late, restless": Game(auto(30, 4, 12, parts=RESTLESS), LATE, "gaps"),
    "auto d=100": Game(auto(100, 4, 24), ALL, "switch"),
    "auto d=300": Game(auto(300, 4, 32), ALL),
    "auto own terms": Game(auto(12, 2, 5), "block 30, own 16, late 9, own 4, save, block 40"),
    "auto proper": Game(auto(30, 4, 12, proper=True), ALL),
    "auto proper, gaps": Game(auto(12, 2, 6, proper=True), ALL, "gaps"),
    "auto proper, past": Game(auto(12, 2, 6, proper=True, past=True), ALL, "drift"),
    "auto proper, history": Game(auto(12, 2, 6, proper=True), HISTORY),
    "auto no past": Game(auto(30, 4, 12, past=False), ALL, "drift"),
    "auto no layer": Game(auto(30, 4, 12, past=False, parts=PARTS(kinks=None)), ALL, "drift"),
    "auto straight layer": Game(auto(12, 2, 6, parts=PARTS(kinks=())), ALL, "drift"),
    "auto past alone": Game(auto(12, 2, 6, parts=PARTS(kinks=None)), ALL, "drift"),
    "auto one memory": Game(auto(12, 2, 8, parts=PARTS(taus=(64.0,), slots=0)), ALL, "switch"),
    "auto restless": Game(auto(12, 2, 8, parts=RESTLESS), ALL, "gaps"),
    "auto experts": Game(auto(12, 2, 8, parts=PARTS(experts=EXPERTS[1:4], bold=0.0)), ALL),
    "auto shares": Game(auto(20, 3, 10, parts=PARTS(pool=4, slots=2, net=5)), ALL),
    "auto short memories": Game(auto(12, 2, 8, parts=PARTS(taus=(2.0, 1.0))), "block 500", "drift"),
    "auto history": Game(auto(20, 2, 8), HISTORY),
    "auto history, gaps": Game(auto(20, 2, 8), HISTORY, "gaps"),
    "auto misled": Game(auto(20, 2, 6), "wrong 150, block 90, rounds 40, save, block 60"),
    "auto misled, moved": Game(
        auto(20, 2, 6), "moved 150, block 90, rounds 40, study 30, block 60"
    ),
    "auto few seats": Game(auto(60, 2, 8, parts=PARTS(active=11)), ALL, "switch"),
    "auto few seats, late": Game(auto(60, 2, 8, parts=PARTS(active=9)), LATE, "gaps"),
    "auto few seats, history": Game(auto(60, 2, 8, parts=PARTS(active=11)), HISTORY),
    "auto few seats, misled": Game(
        auto(60, 2, 8, parts=PARTS(active=11)), "wrong 150, block 90, rounds 40, save, block 60"
    ),
    "auto few seats, proper": Game(auto(60, 2, 8, parts=PARTS(active=11), proper=True), ALL),
    "auto d=1100": Game(auto(1100, 4, 24), "block 90, rounds 9, late 9, block 30", "switch"),
    "auto own prices": Game(auto(12, 2, 8, OWN), ALL),
    "auto own prices, tight": Game(auto(12, 1, 3, OWN), ALL, "drift"),
    "auto all kinds of prices": Game(auto(12, 2, 9, MIXED), ALL, "switch"),
    "auto all kinds of prices, gaps": Game(auto(12, 2, 6, MIXED), ALL, "gaps"),
    "auto prices, labels late": Game(auto(12, 2, 9, FEES), LATE),
    "auto prices, long": Game(auto(12, 2, 9, FEES), "block 500, rounds 20", "switch"),
    "auto prices, own terms": Game(
        auto(12, 2, 9, MIXED), "block 30, own 16, late 9, own 4, save, block 40"
    ),
    "auto worth": Game(auto(12, 2, 12, MIXED, worth=60.0), ALL),
    "auto worth little": Game(auto(12, 2, 12, FEES, worth=10.0), ALL, "switch"),
    "auto purse": Game(auto(12, 2, 9, MIXED, purse=1500, horizon=300), f"{ALL}, own 8"),
    "auto purse, complete rows": Game(auto(12, 2, 30, OWN, purse=7000, horizon=1000), ALL),
    "auto purse runs out": Game(auto(12, 2, 9, MIXED, purse=900, horizon=200), f"{ALL}, block 60"),
    "auto prices, proper": Game(auto(12, 2, 8, FEES, proper=True), ALL, "switch"),
    "auto prices, history": Game(auto(12, 2, 8, MIXED), HISTORY),
    "auto prices, misled": Game(
        auto(12, 2, 8, FEES), "wrong 150, block 90, rounds 40, save, block 60"
    ),
    "auto prices, worth, history": Game(auto(12, 2, 9, FEES, worth=40.0), HISTORY),
    "auto prices, few seats": Game(auto(60, 2, 8, MANY, parts=PARTS(active=20)), ALL, "switch"),
    "auto prices, few seats, worth": Game(
        auto(60, 2, 8, MANY, parts=PARTS(active=20), worth=60.0), f"study 40, {ALL}"
    ),
    "dantzig": Game(named("dantzig", 12, 2, 6), PLAIN),
    "dantzig, gaps": Game(named("dantzig", 30, 3, 12), PLAIN, "gaps"),
}


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({name: digest(game) for name, game in GAMES.items()}, indent=1) + "\n"
    )
