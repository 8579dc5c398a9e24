"""Which row belongs to which fold: stretches of consecutive rows, dealt out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import BlockStream, Floats, refuse_labels, rows_and_labels

STRETCHES = 3  # per fold: enough in all to see how they differ, long enough to hold neighbours
# Sums of all pairs of features are kept for every fold: the more features, the fewer folds.
FEWER_FOLDS = ((400, 20), (1000, 10))
FEWEST_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Deal:
    """Row t is in stretch t // length, and stretch s in fold s % folds.

    Neighbours in time are alike: were they dealt out one by one, a model would be tested on rows
    that it has all but seen. The rule is fixed; nothing is drawn.
    """

    folds: int
    length: int

    @classmethod
    def of(cls, rows: int, d: int) -> Deal:
        """How so many rows of d features are dealt.

        >>> Deal.of(rows=6000, d=30), Deal.of(rows=60, d=2000)
        (Deal(folds=20, length=100), Deal(folds=5, length=4))
        """
        folds = next((folds for most, folds in FEWER_FOLDS if d <= most), FEWEST_FOLDS)
        return cls(folds, max(1, -(-rows // (STRETCHES * folds))))

    def pieces(self, stream: BlockStream) -> Iterator[tuple[int, NDArray[np.floating], Floats]]:
        """The rows of a stream in their order: the stretch they are in, X, y; checked."""
        t = 0
        for rows, labels in stream.blocks():
            X, y = rows_and_labels(rows, labels, stream.d)
            refuse_labels(y)
            start = 0
            while start < len(y):
                stop = min(len(y), start + self.length - t % self.length)
                yield t // self.length, X[start:stop], y[start:stop]
                t += stop - start
                start = stop
