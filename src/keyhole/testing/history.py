"""Conformance of learners that study history, property by property."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from keyhole.game import play, rounds, sell
from keyhole.problem import Floats, KeyholeError, ProblemError
from keyhole.problem.state import has_state
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams.arrays import ArrayStream
from keyhole.testing.helpers import LearnerMaker, RowsOnly, make, plays_its_own_blocks, require

STUDY_SHAPES = [(1, 1, 1), (3, 2, 2), (4, 4, 4), (9, 2, 6)]  # d, k, budget
STUDY_ROWS = 37


def students(factory: LearnerMaker) -> Iterator[Any]:
    """A learner for each shape, if it can study: it has `study`, and that takes rows."""
    for shape in STUDY_SHAPES:
        learner: Any = make(factory, shape)
        if hasattr(learner, "study") and _takes_rows(learner):
            yield learner


def _takes_rows(learner: Any) -> bool:
    try:
        copy.deepcopy(learner).study(_history(learner.problem.d, 1))
    except ProblemError:
        return False  # it refuses, as one may
    return True


def _history(d: int, n: int = STUDY_ROWS, seed: int = 5) -> ArrayStream:
    """Some values are absent, one column is constant, labels are far from 0."""
    rng = np.random.default_rng([seed, d])
    X = rng.standard_normal((n, d)) + 1.0
    y = 4.0 + X[:, 0] + 0.3 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, d - 1] = 2.0
    return ArrayStream(X, y)


def _rows_after(d: int) -> tuple[Floats, Floats]:
    stream = _history(d, 40, seed=6)
    return stream.X.astype(np.float64), stream.y


def _alike(one: Any, other: Any, promise: str, *, played: bool = False) -> None:
    """The same bytes; if there are none, or if asked, the same transcript of copies, too."""
    if has_state(one):
        require(to_bytes(one) == to_bytes(other), f"{promise}: the same state, to the bit")
        if not played:
            return
    X, y = _rows_after(one.problem.d)
    told = []
    for learner in (copy.deepcopy(one), copy.deepcopy(other)):
        told.append([(r.features.tolist(), r.y_hat) for r in rounds(learner, ArrayStream(X, y))])
    for t, (a, b) in enumerate(zip(*told, strict=True), start=1):
        require(a == b, f"{promise}: round {t} differs, {a} against {b}")


def _part(stream: ArrayStream, rows: slice) -> ArrayStream:
    return ArrayStream(stream.X[rows], stream.y[rows])


def studies_in_any_parts(factory: LearnerMaker) -> None:
    """If there is `study`: history in several parts gives the same learner as the whole of it."""
    for learner in students(factory):
        d = learner.problem.d
        history, whole = _history(d), copy.deepcopy(learner)
        require(
            whole.study(history) == STUDY_ROWS,
            f"study returns how many rows there were: {STUDY_ROWS}",
        )
        for cuts in ([1], [STUDY_ROWS - 1], [3, 3, 20], list(range(STUDY_ROWS))):
            parted, ends = copy.deepcopy(learner), [0, *cuts, STUDY_ROWS]
            for first, last in itertools.pairwise(ends):
                parted.study(_part(history, slice(first, last)))
            _alike(whole, parted, f"history in parts, cut at {cuts}")
        X, y = _rows_after(d)
        for player in (whole, parted):
            play(player, ArrayStream(X, y))
        for player, ends in ((whole, [0, STUDY_ROWS]), (parted, [0, 10, STUDY_ROWS])):
            for first, last in itertools.pairwise(ends):
                player.study(_part(history, slice(first, last)))
        _alike(whole, parted, "history in parts, between rounds")


def studies_beside_the_game(factory: LearnerMaker) -> None:
    """If there is `study`: it counts no round, and tickets that are open stay open."""
    for learner in students(factory):
        problem, history = learner.problem, _history(learner.problem.d)
        learner.study(history)
        require(learner.round == 0, f"rows of history are no rounds, round = {learner.round}")
        X, y = _rows_after(problem.d)
        waiting = [sell(problem, learner.ask(), x) for x in X[:5]]
        learner.study(history)
        require(learner.round == 5, f"5 tickets were issued, round = {learner.round}")
        for seen in reversed(waiting):
            guess = learner.predict(seen)
            require(math.isfinite(guess), f"an open ticket can be predicted after study, {guess}")
            learner.tell(seen, float(y[seen.round - 1]))
        for played in rounds(learner, ArrayStream(X[5:], y[5:])):
            require(math.isfinite(played.y_hat), f"finite predictions after study, {played}")
        require(bool(np.isfinite(learner.weights).all()), "finite weights after study")


class _Wrong:
    """A stream of one block that says it has d features."""

    rounds = None

    def __init__(self, d: int, X: Any, y: Any, names: tuple[str, ...] | None = None) -> None:
        self.d, self.names, self._block = d, names, (X, y)

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return iter(())

    def blocks(self, rows: int | None = None) -> Iterator[tuple[Any, Any]]:
        good = np.zeros((2, self.d)) + 0.5, np.array([1.0, 2.0])
        yield from (good, self._block)


def _bad(d: int) -> Iterator[tuple[str, Any]]:
    X, y = np.ones((3, d)), np.ones(3)
    for value in (math.inf, -math.inf, 1e200):
        rows = X.copy()
        rows[1, d - 1] = value
        yield f"a value of {value}", _Wrong(d, rows, y)
    for value in (math.nan, math.inf, 1e200):
        yield f"a label of {value}", _Wrong(d, X, np.array([1.0, value, 1.0]))
    yield "rows that are too wide", _Wrong(d, np.ones((3, d + 1)), y)
    yield "a label too few", _Wrong(d, X, y[:2])
    yield "text", _Wrong(d, np.full((3, d), "a"), y)
    yield "another number of features", ArrayStream(np.ones((3, d + 1)), y)
    yield "no stream", [1, 2, 3]


def refuses_history_without_a_trace(factory: LearnerMaker) -> None:
    """If there is `study`: rows that cannot be used are refused, whatever was good before them."""
    for learner in students(factory):
        problem = learner.problem
        learner.study(_history(problem.d))
        play(learner, ArrayStream(*_rows_after(problem.d)))
        for what, history in _bad(problem.d):
            _refused(learner, what, history)
        for half_life in (0.0, -1.0, math.nan, "long", True):
            _refused(learner, f"half_life = {half_life}", _history(problem.d), half_life=half_life)
    named: Any = make(factory, (3, 2, 2), names=tuple("abc"))
    if hasattr(named, "study") and _takes_rows(named):
        other = _Wrong(3, np.ones((3, 3)), np.ones(3), names=("a", "b", "z"))
        _refused(named, "features of other names", other)


def _refused(learner: Any, what: str, history: Any, **options: Any) -> None:
    before = copy.deepcopy(learner)
    try:
        learner.study(history, **options)
    except KeyholeError:
        _alike(before, learner, f"{what} is refused without a trace")
        return
    raise AssertionError(f"{what} in a history must be refused")


def goes_on_from_a_file_after_study(factory: LearnerMaker) -> None:
    """If there are `study` and `state`: saved after study and loaded, it goes on to the bit."""
    for learner in students(factory):
        keeps_state: bool = has_state(learner)
        if not keeps_state:
            return
        history = _history(learner.problem.d)
        for _ in range(2):  # before the first round, and between rounds
            learner.study(history)
            data = to_bytes(learner)
            twin = from_bytes(data, type(learner))
            require(to_bytes(twin) == data, "loaded and saved again after study is the same")
            _alike(learner, twin, "saved after study", played=True)
            learner.study(history)
            twin.study(history)
            _alike(learner, twin, "saved after study, and studied more")
            play(learner, ArrayStream(*_rows_after(learner.problem.d)))


def plays_blocks_after_study(factory: LearnerMaker) -> None:
    """If there are `study` and `advance`: after study blocks are played as single rounds are."""
    for learner in students(factory):
        in_blocks: bool = plays_its_own_blocks(learner)
        if not in_blocks:
            return
        learner.study(_history(learner.problem.d))
        twin, (X, y) = copy.deepcopy(learner), _rows_after(learner.problem.d)
        fast = play(learner, ArrayStream(X, y))
        slow = play(twin, RowsOnly(ArrayStream(X, y)))
        same = np.array_equal(slow.predictions, fast.predictions)
        require(same and np.array_equal(slow.reads, fast.reads), "blocks after study are rounds")
        learner.study(_history(learner.problem.d))
        twin.study(_history(learner.problem.d))
        same = np.array_equal(learner.weights, twin.weights)
        require(same, "blocks after study leave the same weights")


STUDY_CHECKS: tuple[Callable[[LearnerMaker], None], ...] = (
    studies_in_any_parts,
    studies_beside_the_game,
    refuses_history_without_a_trace,
    goes_on_from_a_file_after_study,
    plays_blocks_after_study,
)
