"""Baseline learners: zero, running mean, last value, a fixed or random subset, all features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import true_or_false
from keyhole.learners.base import Choice, LearnerBase, refuse_less_than_everything
from keyhole.learners.blocks.draw.block import Block
from keyhole.learners.blocks.draw.sampling import refuse_unless_drawable, uniform_subset
from keyhole.learners.blocks.fit.linear_algebra import filled
from keyhole.learners.blocks.fit.purchase import fill, shop_of
from keyhole.learners.blocks.fit.vaw import VAW
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    StateError,
    positive_number,
)
from keyhole.problem.labels import cut_off_largest
from keyhole.problem.state import LearnerState, fit


class Zero(LearnerBase):
    """Reads nothing and predicts 0."""

    HANDLES_PRICES = True

    @property
    def weights(self) -> Floats:
        """All zero."""
        return np.zeros(self.problem.d)

    @classmethod
    def _setting_names(cls) -> list[str]:
        return []  # there is nothing to cut off

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

    SAVED: tuple[str, ...] = ("_n", "_y")
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

    SAVED: tuple[str, ...] = ("_last",)
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


class FixedSubset(LearnerBase):
    """Buys the same features every round and predicts by VAW on them.

    With the best support in hindsight this is the oracle: what a learner pays on top of it is the
    price of finding the support. A value that did not arrive counts as the mean of those that did.

    With an intercept, features and labels are centred by the means of the rounds before, and VAW
    gets a constant beside the features for what the means missed.

    Sums: those of VAW; labels, values that arrived, and their numbers. Derived: the means.

    Parameters
    ----------
    problem
        The problem to play.
    support
        The features to buy, at most `budget` of them; None for the first k. With prices: what
        costs at most the budget; None for the first k that it buys.
    intercept
        False plays models through the origin: plain VAW on the bought values.
    ridge
        Regularisation of VAW, in the units of the features.
    seed
        Not used: this learner draws nothing.
    clip
        Cut predictions off at the range of the labels so far.

    Guarantee
    ---------
    Without an intercept and while every value arrives: the bound of `blocks.fit.vaw.VAW` against
    any weights on the support, with no assumption on the stream. With one, the same bound for the
    centred rows.

    Examples
    --------
    >>> learner = FixedSubset(Problem(d=5, k=1, budget=2), support=[3])
    >>> learner.ask().features
    array([3])
    """

    SAVED = ("_vaw", "_sums", "_counts")
    HANDLES_PRICES = True  # its support is affordable, or it is refused
    STUDIES = True
    BYTES_PER_PAIR = 40.0  # of features that are bought

    @classmethod
    def memory(cls, problem: Problem) -> float:
        """About how many bytes it needs at most: by default k features are bought."""
        return cls.BYTES_PER_PAIR * float(problem.k) ** 2

    def __init__(
        self,
        problem: Problem,
        *,
        support: ArrayLike | None = None,
        intercept: bool = True,
        ridge: float = 1.0,
        seed: int = 0,
        clip: bool = False,
    ) -> None:
        true_or_false("intercept", intercept)
        features = first_affordable(problem) if support is None else np.asarray(support)
        if features.ndim != 1 or (len(features) and features.dtype.kind not in "iu"):
            raise ProblemError(f"support must be a flat list of feature indices, got {support!r}")
        features = np.unique(features).astype(np.int64)
        if problem.prices is None and len(features) > problem.budget:
            raise ProblemError(
                f"support has {len(features)} features, the budget is {problem.budget}"
            )
        if len(features) and not 0 <= features[0] <= features[-1] < problem.d:
            raise ProblemError(
                f"support must lie between 0 and {problem.d - 1}, got {features.tolist()}"
            )
        if not problem.affords(features):
            raise ProblemError(
                f"support costs {problem.cost(features)}, the budget is {problem.budget}: "
                "choose cheaper features or a larger budget"
            )
        super().__init__(problem, seed=seed, clip=clip)
        positive_number("ridge", ridge)
        self.ridge = ridge  # as it is: files of earlier versions have whole numbers here
        self._support: Indices = features
        self._centre = intercept
        self._vaw = VAW(len(features) + intercept, ridge)
        # Values that arrived, feature by feature, and last the labels; and how many of each.
        self._sums: Floats = np.zeros(len(features) + 1)
        self._counts: Indices = np.zeros(len(features) + 1, dtype=np.int64)

    @property
    def weights(self) -> Floats:
        """The ridge solution on the support; VAW shrinks its predictions from there."""
        weights = np.zeros(self.problem.d)
        weights[self._support] = self._vaw.theta[: len(self._support)]
        return weights

    @property
    def intercept(self) -> float:
        """What the model adds to the weighted sum, 0 for models through the origin."""
        if not self._centre:
            return 0.0
        slopes, constant = self._vaw.theta[:-1], self._vaw.theta[-1]
        means = self._sums / np.maximum(self._counts, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            return cut_off_largest(float(means[-1]) + float(constant - slopes @ means[:-1]))

    def _choose(self, t: int) -> Choice:
        """The support."""
        return self._support, {}

    def _predict(self, seen: Observation) -> float:
        """VAW's prediction, with the mean label added if there is an intercept."""
        x, mean_label = self._row(seen.values)
        return mean_label + self._vaw.predict(x)

    def _learn(self, seen: Observation, label: float) -> None:
        """Update VAW and the means."""
        x, mean_label = self._row(seen.values)
        if self._centre and not self._counts[-1]:
            mean_label = label  # the first label is its own mean
        self._vaw.update(x, label - mean_label)
        told = np.append(seen.values, label)
        here = ~np.isnan(told)
        self._sums[here] += told[here]
        self._counts[here] += 1

    def _row(self, values: Floats) -> tuple[Floats, float]:
        """What VAW sees: means in place of absent values; centred, and a final 1, with an
        intercept. And what is to be added to its prediction: the mean label, or 0.
        """
        *means, mean_label = (self._sums / np.maximum(self._counts, 1)).tolist()
        x = filled(values, means)
        if not self._centre:
            return x, 0.0
        return np.append(np.where(self._counts[:-1] > 0, x - means, 0.0), 1.0), mean_label

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        fit = {"intercept": self._centre, "ridge": self.ridge, "clip": self.clip}
        every: dict[str, Any] = {"support": self._support, **fit}
        return {name: every[name] for name in self._setting_names()}

    def _resume(self) -> None:
        """StateError unless tickets are for the support alone."""
        for ticket in self._desk.open:
            if not np.array_equal(ticket.features, self._support):
                raise StateError(f"the ticket of round {ticket.round} is not for the support")


class RandomSubset(FixedSubset):
    """Buys one random subset of `budget` features every round: spending without choosing.

    With prices: what still fits, in a random order, and whatever that pays for.
    """

    @classmethod
    def memory(cls, problem: Problem) -> float:
        """About how many bytes it needs at most."""
        return cls.BYTES_PER_PAIR * float(problem.width) ** 2

    def __init__(
        self, problem: Problem, *, seed: int = 0, ridge: float = 1.0, clip: bool = False
    ) -> None:
        refuse_unless_drawable(seed, problem.d)
        support = random_subset(problem, seed) if problem.counted else filled_subset(problem, seed)
        super().__init__(problem, support=support, ridge=ridge, seed=seed, clip=clip)

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        learner = super()._restored(state)
        if state.problem.prices is not None:
            # Files from before equal prices were a number of features do not say what they read.
            before, now = filled_subset(state.problem, learner.seed), learner._support
            learner._support = before
            if "support" in state.parts:
                learner._support = fit(now, state.part("support"), "support")
            if not any(np.array_equal(learner._support, drawn) for drawn in (before, now)):
                raise StateError("support is not what is drawn with this seed")
        return learner

    def _parts(self) -> Mapping[str, object]:
        return {} if self.problem.prices is None else {"support": self._support}


def random_subset(problem: Problem, seed: int) -> Indices:
    """A random subset of as many features as an example buys, all alike likely."""
    return uniform_subset(seed, 1, problem.d, problem.width)


def filled_subset(problem: Problem, seed: int) -> Indices:
    """What the money buys in a random order, and whatever that pays for."""
    support, none = np.empty(problem.width, dtype=np.int64), np.empty(0, dtype=np.int64)
    return support[: fill(np.uint64(seed), 1, 0, none, shop_of(problem, listed=True), support)]


class FullInformation(FixedSubset):
    """Buys everything: what a learner could do if looking were free. Needs budget = d."""

    @classmethod
    def memory(cls, problem: Problem) -> float:
        """About how many bytes it needs at most."""
        return cls.BYTES_PER_PAIR * float(problem.d) ** 2

    def __init__(
        self, problem: Problem, *, seed: int = 0, ridge: float = 1.0, clip: bool = False
    ) -> None:
        refuse_less_than_everything(problem, "full information")
        support = np.arange(problem.d)
        super().__init__(problem, support=support, ridge=ridge, seed=seed, clip=clip)


def first_affordable(problem: Problem) -> Indices:
    """The first k features, of each the next that the money left buys.

    >>> first_affordable(Problem(4, 2, 3, prices=[5, 2, 2, 1])).tolist()
    [1, 3]
    """
    features = list[int]()
    for j in range(problem.d):
        if len(features) < problem.k and problem.affords([*features, j]):
            features.append(j)
    return np.array(features, dtype=np.int64)
