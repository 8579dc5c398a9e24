"""What a diagnosis is worked out from: sums over complete rows, from a stream or beside a game."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.game import Observer, PlayedBlock
from keyhole.learners.blocks.sums.column_sums import ColumnSums
from keyhole.learners.blocks.sums.gram import Gram
from keyhole.problem import Floats, Learner
from keyhole.streams.codes import CodeCounter


class ColumnObserver(Observer):
    """Sums of every column by itself."""

    def __init__(self, d: int) -> None:
        self.columns = ColumnSums(d)
        self.codes = CodeCounter(d + 1)  # of the columns, and of the label behind them

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add complete rows and their labels."""
        self.columns.add(X)
        self.codes.add(np.column_stack([X, y]))

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Add the rows that were played."""
        self.add(played.X, played.y)


class StreamSums(ColumnObserver):
    """Sums of every column and every pair of columns, and the range of the labels.

    >>> sums = StreamSums(d=1)
    >>> sums.add(np.array([[1.0], [3.0]]), np.array([2.0, 6.0]))
    >>> sums.gram.n, sums.lowest, sums.highest
    (2, 2.0, 6.0)
    """

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self.gram = Gram(d)
        self.lowest, self.highest = math.inf, -math.inf

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add complete rows and their labels."""
        super().add(X, y)
        self.gram.add(X, y)
        if len(y):
            self.lowest = min(self.lowest, float(y.min()))
            self.highest = max(self.highest, float(y.max()))
