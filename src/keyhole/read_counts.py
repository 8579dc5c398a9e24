"""How often each feature was read, now and at checkpoints, without a copy of all counts for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.ticket import Indices

Added = tuple[NDArray[np.int32], Indices]  # features, and how often each was read


def _count(features: NDArray[np.integer], counts: Indices) -> None:
    """Add 1 for each of the features, which may come several times."""
    if len(features) < len(counts):
        np.add.at(counts, features, 1)
    else:
        counts += np.bincount(features, minlength=len(counts))


class ReadCounts:
    """Counts by feature, and what they were at every `mark`.

    A mark keeps what was added since the one before: of a million features of which 32 are read a
    round, the few that were read. Adding and marking cost in proportion to what was read, whatever
    the number of features; looking back costs O(d).

    Sums: `now`, `total`. A list: what was added up to each mark. `_since` and `_held`, and instead
    of them `_added` once more reads than features are waiting, are what was added since the last.

    >>> counts = ReadCounts(4)
    >>> counts.add(np.array([0, 3])); first = counts.mark()
    >>> counts.add(np.array([3])); second = counts.mark()
    >>> counts.at(first), counts.at(second), counts.total
    (array([1, 0, 0, 1]), array([1, 0, 0, 2]), 3)
    """

    def __init__(self, d: int) -> None:
        self.now: Indices = np.zeros(d, dtype=np.int64)
        self.total = 0
        self._marks: list[Added] = []
        self._since: list[NDArray[np.int32]] = []
        self._held = 0
        self._added: Indices | None = None

    def add(self, features: NDArray[np.integer]) -> None:
        """Enter reads, of one round or of many."""
        _count(features, self.now)
        self.total += len(features)
        if self._added is not None:
            _count(features, self._added)
            return
        self._since.append(features.astype(np.int32))
        self._held += len(features)
        if self._held > len(self.now):
            self._added = np.bincount(np.concatenate(self._since), minlength=len(self.now))
            self._since, self._held = [], 0

    def mark(self) -> int:
        """Keep the counts as they are now; returns the number to look them up by."""
        self._marks.append(self._added_since())
        self._since, self._held, self._added = [], 0, None
        return len(self._marks) - 1

    def at(self, mark: int) -> Indices:
        """The counts as they were at a mark."""
        counts = np.zeros_like(self.now)
        for features, added in self._marks[: mark + 1]:
            counts[features] += added
        return counts

    def _added_since(self) -> Added:
        if self._added is not None:
            features = np.flatnonzero(self._added)
            return features.astype(np.int32), self._added[features]
        waiting = np.concatenate(self._since) if self._since else np.empty(0, dtype=np.int32)
        return np.unique(waiting, return_counts=True)

    def then(self, later: ReadCounts) -> tuple[ReadCounts, int]:
        """The counts of two parts of a game as one; and by how much the later marks have moved."""
        both = ReadCounts(len(self.now))
        both.now = self.now + later.now
        both.total = self.total + later.total
        # What the first part added after its last mark stands as one of its own, for `at`.
        both._marks = [*self._marks, self._added_since(), *later._marks]
        both._since, both._held = list(later._since), later._held
        both._added = None if later._added is None else later._added.copy()
        return both, len(self._marks) + 1
