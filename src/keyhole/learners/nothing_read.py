"""Learners to compare with that read nothing: 0, the mean of the labels so far, the last label."""

from __future__ import annotations

import numpy as np

from keyhole.learners.base import Choice, LearnerBase
from keyhole.learners.blocks.draw.reading import Block
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import Floats, Observation, Problem


class Zero(LearnerBase):
    """Reads nothing and predicts 0."""

    BLIND = False

    @property
    def weights(self) -> Floats:
        """All zero."""
        return np.zeros(self.problem.d)

    def _choose(self, t: int) -> Choice:
        """No feature."""
        return [], {}

    def _predict(self, seen: Observation) -> float:
        """The intercept."""
        return self.intercept

    def _learn(self, seen: Observation, label: float) -> None:
        """Nothing."""

    def _play(self, block: Block) -> int:
        block.bought[:] = -1
        block.predictions[:] = 0.0
        return len(block.y)


class RunningMean(Zero):
    """Reads nothing and predicts the mean of the labels so far: what any learner should beat.

    Sums: the labels and their number. Derived: the mean.
    """

    SAVED: tuple[str, ...] = ("_desk", "_n", "_y")
    STUDIES = STUDIES_SUMS = True

    def __init__(self, problem: Problem, *, seed: int = 0) -> None:
        super().__init__(problem, seed=seed)
        self._n = 0
        self._y = 0.0

    @property
    def intercept(self) -> float:
        """The mean label, 0 before the first."""
        return self._y / self._n if self._n else 0.0

    def _learn(self, seen: Observation, label: float) -> None:
        """Count the label in."""
        self._n += 1
        self._y += label

    def _study_sums(self, history: DataSums) -> None:
        self._n += history.rounds
        self._y += history.label_mean * history.rounds

    def _play(self, block: Block) -> int:
        n = len(block.y)
        sums = np.cumsum(np.append(self._y, block.y))  # one after the other, as `tell` adds
        counts = self._n + np.arange(n)
        block.bought[:] = -1
        block.predictions[:] = sums[:-1] / np.maximum(counts, 1)  # nothing summed yet: 0 / 1
        self._n += n
        self._y = float(sums[-1])
        return n


class LastValue(Zero):
    """Reads nothing and predicts the label told last: hard to beat where labels change slowly.

    Labels may come late: the last one told counts, whichever round it is of. In rows whose order
    means nothing this is a bad learner, with about twice the loss of the mean.

    Examples
    --------
    >>> learner = LastValue(Problem(d=3, k=1, budget=2))
    >>> learner.advance(np.zeros((4, 3)), np.array([5.0, 7.0, 6.0, 8.0]))
    array([0., 5., 7., 6.])
    >>> learner.intercept
    8.0
    """

    SAVED: tuple[str, ...] = ("_desk", "_last")
    STUDIES = True

    def __init__(self, problem: Problem, *, seed: int = 0) -> None:
        super().__init__(problem, seed=seed)
        self._last = 0.0

    @property
    def intercept(self) -> float:
        """The label told last, 0 before the first."""
        return self._last

    def _learn(self, seen: Observation, label: float) -> None:
        """Remember the label."""
        self._last = label

    def _play(self, block: Block) -> int:
        labels = np.append(self._last, block.y)
        block.bought[:] = -1
        block.predictions[:] = labels[:-1]
        self._last = float(labels[-1])
        return len(block.y)
