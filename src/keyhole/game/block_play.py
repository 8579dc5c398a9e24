"""Block play: whole blocks of rows are handed to a learner, and its answers are checked.

A learner that plays blocks is handed whole rows. They are copies, of exactly this block: neither
the stream's memory nor a later row can be reached from them. Lazy rows are written out into a
buffer, which holds no other rows either and is wiped before the next. What it wrote down as bought
is checked here; that it read nothing else is tried by the audit and proven by `keyhole.testing`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import shortened
from keyhole.game.observer import ArrayOrLazyRows
from keyhole.game.referee import overspent, real_prediction
from keyhole.problem import BlockLearner, BudgetError, DataError, Floats, Problem
from keyhole.problem.rows import LazyRows, are_lazy

BUFFER_VALUES = 2**22  # in the buffer: 32 MB,
MAX_BUFFER_VALUES = 2**24  # or up to 128 MB where that would be fewer rows than
GOOD_BLOCK_ROWS = 16  # which a call of `advance` is shared by
MIN_BLOCK_ROWS = 4  # rows that make block play worth while


def buffer_rows(d: int) -> int:
    """How many rows of d features the buffer holds; 0 if so few that single rounds are as good.

    >>> [buffer_rows(d) for d in (1_000, 100_000, 1_000_000, 5_000_000)]
    [4194, 41, 16, 0]
    """
    rows = max(BUFFER_VALUES // d, min(GOOD_BLOCK_ROWS, MAX_BUFFER_VALUES // d))
    return rows if rows >= MIN_BLOCK_ROWS else 0


class RowBuffer:
    """Memory for lazy rows, made when the first of them are played."""

    def __init__(self) -> None:
        self._memory: NDArray[np.floating] = np.empty((0, 0))
        self._fill = 0.0

    @contextmanager
    def filled_with(self, rows: LazyRows) -> Iterator[NDArray[np.floating]]:
        """The rows, written out, for as long as they are played."""
        n, d = rows.shape
        memory, fill = self._memory, rows.fill
        alike = memory.dtype == rows.dtype and repr(self._fill) == repr(fill)  # NaN is alike
        if not alike or memory.shape[1] != d or len(memory) < n:
            self._memory = memory = np.zeros((n, d), rows.dtype)  # pages are made when touched
            self._fill = fill
            if fill != 0.0:
                memory.fill(fill)
        block = memory[:n]
        try:
            rows.write_into(block)
            yield block
        finally:
            rows.wipe(block)


class BlockAnswer(NamedTuple):
    """What a learner made of a block, as copies: predictions, purchases; the seconds it took."""

    y_hat: Floats
    bought: NDArray[np.int32]
    seconds: float


def play_rounds(
    problem: Problem,
    learner: BlockLearner,
    first: int,
    X: ArrayOrLazyRows,
    y: Floats,
    buffer: RowBuffer,
) -> BlockAnswer:
    """Have a learner play a block of rounds, `first` and those after it."""
    name, n = type(learner).__name__, len(y)
    last = first + n - 1
    labels = y.copy()
    bought = np.full((n, problem.width), -1, dtype=np.int32)
    with _copied(X, buffer) as rows:
        began = time.perf_counter()
        predicted = learner.advance(rows, labels, bought)
        seconds = time.perf_counter() - began
    if labels.tobytes() != y.tobytes():
        raise BudgetError(f"rounds {first} to {last}: {name}.advance changed the labels")
    y_hat = _predictions(learner, first, n, predicted)
    written = np.array(bought)
    if written.shape != (n, problem.width) or written.dtype != np.int32:
        raise BudgetError(f"rounds {first} to {last}: {name}.advance changed the shape of `bought`")
    _check_purchases(problem, first, written)
    if learner.round != last:
        raise BudgetError(
            f"{name}.advance played rounds {first} to {last} and says it is in round "
            f"{shortened(learner.round)}"
        )
    return BlockAnswer(y_hat, written, seconds)


@contextmanager
def _copied(X: ArrayOrLazyRows, buffer: RowBuffer) -> Iterator[NDArray[np.floating]]:
    """Rows that a learner may have: a copy, or written out into the buffer."""
    if are_lazy(X):
        with buffer.filled_with(X) as rows:
            yield rows
    else:
        yield np.array(X, order="C")


def _predictions(learner: BlockLearner, first: int, n: int, predicted: object) -> Floats:
    """A copy of what `advance` returned, one finite real number per round."""
    plain = isinstance(predicted, np.ndarray) and predicted.dtype.kind == "f"
    y_hat = np.array(predicted, dtype=np.float64) if plain else np.zeros(0)
    if not plain or y_hat.shape != (n,):
        got = shortened(predicted)
        if isinstance(predicted, np.ndarray):
            got = f"an array of shape {np.asarray(predicted).shape}, dtype {predicted.dtype}"
        raise DataError(
            f"rounds {first} to {first + n - 1}: {type(learner).__name__}.advance must return an "
            f"array of {n} real predictions, shape ({n},), got {got}"
        )
    for at in np.flatnonzero(~np.isfinite(y_hat))[:1].tolist():
        real_prediction(learner, first + at, float(y_hat[at]))
    return y_hat


def _check_purchases(problem: Problem, first: int, bought: NDArray[np.int32]) -> None:
    """Every row of `bought`: ascending feature indices within range, then -1; within the budget."""
    before, after = bought[:, :-1], bought[:, 1:]
    in_order = (after == -1) | ((before >= 0) & (after > before))
    wrong = ((bought >= problem.d) | (bought < -1)).any(axis=1) | ~in_order.all(axis=1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise BudgetError(
            f"round {first + at}: block play bought {bought[at].tolist()}; "
            f"features run from 0 to {problem.d - 1}, ascending, each once, then -1"
        )
    for at in np.flatnonzero(problem.too_dear(bought))[:1].tolist():
        features = bought[at][bought[at] >= 0].astype(np.int64)
        raise BudgetError(overspent(problem, first + at, features))
