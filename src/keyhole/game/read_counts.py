"""Counts of reads: how often each feature was read, now and at checkpoints, in little memory."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from keyhole.problem.ticket import Indices

Counted = tuple[NDArray[np.int32], Indices]  # features, ascending, and how often each was read


def count_into(counts: Indices, features: NDArray[np.integer]) -> None:
    """Add 1 for each of the features, which may come several times."""
    if len(features) < len(counts):
        np.add.at(counts, features, 1)
    else:
        counts += np.bincount(features, minlength=len(counts))


class SparseCounts:
    """Counts of the features that were read, in proportion to how many those are.

    `_waiting` has the reads as they came; once they are more than features there is one count for
    each feature instead, `_dense`.

    >>> few = SparseCounts(10**6)
    >>> few.add(np.array([7, 9])); few.add(np.array([7]))
    >>> few.counted()
    (array([7, 9], dtype=int32), array([2, 1]))
    """

    def __init__(self, d: int) -> None:
        self._d, self._held = d, 0
        self._waiting: list[NDArray[np.int32]] = []
        self._dense: Indices | None = None

    def add(self, features: NDArray[np.integer]) -> None:
        """Enter reads, of one round or of many."""
        if self._dense is not None:
            count_into(self._dense, features)
            return
        self._waiting.append(features.astype(np.int32))
        self._held += len(features)
        if self._held > self._d:
            self._dense = np.bincount(np.concatenate(self._waiting), minlength=self._d)
            self._waiting = []

    def counted(self) -> Counted:
        """The features that were read, and how often."""
        if self._dense is not None:
            features = np.flatnonzero(self._dense)
            return features.astype(np.int32), self._dense[features]
        if len(self._waiting) == 1 and (self._waiting[0][1:] > self._waiting[0][:-1]).all():
            return self._waiting[0], np.ones(len(self._waiting[0]), dtype=np.int64)  # of one round
        waiting = self._waiting or [np.empty(0, dtype=np.int32)]
        return np.unique(np.concatenate(waiting), return_counts=True)


class ReadCounts:
    """Counts by feature, and what they were at every `mark`.

    A mark keeps what was added since the one before: of a million features of which 32 are read a
    round, the few that were read. Adding and marking cost in proportion to what was read, whatever
    the number of features; looking back costs O(d).

    Sums: `now`, `total`, and what was added since the last mark. A list: what was added up to each.

    >>> counts = ReadCounts(4)
    >>> counts.add(np.array([0, 3])); first = counts.mark()
    >>> counts.add(np.array([3])); second = counts.mark()
    >>> counts.at(first), counts.at(second), counts.total
    (array([1, 0, 0, 1]), array([1, 0, 0, 2]), 3)
    """

    def __init__(self, d: int) -> None:
        self.now: Indices = np.zeros(d, dtype=np.int64)
        self.total = 0
        self._marks: list[Counted] = []
        self._since = SparseCounts(d)

    def add(self, features: NDArray[np.integer]) -> None:
        """Enter reads, of one round or of many."""
        count_into(self.now, features)
        self.total += len(features)
        self._since.add(features)

    def mark(self) -> int:
        """Keep the counts as they are now; returns the number to look them up by."""
        self._marks.append(self._since.counted())
        self._since = SparseCounts(len(self.now))
        return len(self._marks) - 1

    def at(self, mark: int) -> Indices:
        """The counts as they were at a mark."""
        counts = np.zeros_like(self.now)
        for features, added in self._marks[: mark + 1]:
            counts[features] += added
        return counts

    def then(self, later: ReadCounts) -> tuple[ReadCounts, int]:
        """The counts of two parts of a game as one; and by how much the later marks have moved."""
        both = ReadCounts(len(self.now))
        both.now = self.now + later.now
        both.total = self.total + later.total
        # What the first part added after its last mark stands as one of its own, for `at`.
        both._marks = [*self._marks, self._since.counted(), *later._marks]
        both._since = copy.deepcopy(later._since)
        return both, len(self._marks) + 1
