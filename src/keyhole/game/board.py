"""The board: lazy rows written out for a learner that plays blocks, in memory that is used again.

`advance` is handed an array of rows x d. Of sparse rows that is nearly all zeros: only the pairs
are written, and taken off again when the block has been played, so that a round costs what its
pairs cost and not d. The board holds the rows of this block and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from keyhole.problem.lazy_rows import LazyRows

NUMBERS = 2**22  # on a board: 32 MB,
MOST = 2**24  # or up to 128 MB where that would be fewer rows than
ENOUGH = 16  # which a call of `advance` is shared by
FEWEST = 4  # rows that make block play worth while


def rows_of_board(d: int) -> int:
    """How many rows of d features a board holds; 0 if so few that single rounds are as good.

    >>> [rows_of_board(d) for d in (1_000, 100_000, 1_000_000, 5_000_000)]
    [4194, 41, 16, 0]
    """
    rows = max(NUMBERS // d, min(ENOUGH, MOST // d))
    return rows if rows >= FEWEST else 0


class Board:
    """Memory for lazy rows, made when the first of them are played."""

    def __init__(self) -> None:
        self._memory: NDArray[np.floating] = np.empty((0, 0))
        self._fill = 0.0

    @contextmanager
    def laid_out(self, rows: LazyRows) -> Iterator[NDArray[np.floating]]:
        """The rows, written out, for as long as they are played."""
        n, d = rows.shape
        memory, fill = self._memory, rows.fill
        alike = memory.dtype == rows.dtype and repr(self._fill) == repr(fill)  # NaN is alike
        if not alike or memory.shape[1] != d or len(memory) < n:
            self._memory = memory = np.zeros((n, d), rows.dtype)  # pages are made when touched
            self._fill = fill
            if fill != 0.0:
                memory.fill(fill)
        board = memory[:n]
        try:
            rows.write_into(board)
            yield board
        finally:
            rows.wipe(board)
