"""Learners to compare with: nothing, the mean, fixed and random subsets, everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import uniform_subset
from keyhole.blocks.exact.subset import best_subset
from keyhole.blocks.fit.vaw import VAW
from keyhole.blocks.sums.gram import Gram
from keyhole.learners.base import BlockRounds, Rounds, refuse_less_than_everything
from keyhole.problem import BlockStream, Floats, Indices, Observation, Problem, ProblemError, Ticket


class Zero(Rounds):
    """Reads nothing and predicts 0."""

    @property
    def weights(self) -> Floats:
        """All zero."""
        return np.zeros(self.problem.d)

    def ask(self) -> Ticket:
        """A ticket without features."""
        return self._desk.issue([])

    def predict(self, seen: Observation) -> float:
        """The intercept."""
        return self.intercept

    def tell(self, seen: Observation, y: float) -> None:
        """Close the ticket."""
        self._desk.settle(seen, y)

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds at once."""
        self._desk.skip(len(y))
        return np.zeros(len(y))


class RunningMean(Zero):
    """Reads nothing and predicts the mean of the labels so far: what any learner should beat.

    Sums: the labels and their number. Derived: the mean.
    """

    SAVED: tuple[str, ...] = ("_desk", "_n", "_y")

    def __init__(self, problem: Problem, *, seed: int = 0) -> None:
        super().__init__(problem, seed=seed)
        self._n = 0
        self._y = 0.0

    @property
    def intercept(self) -> float:
        """The mean label, 0 before the first."""
        return self._y / self._n if self._n else 0.0

    def tell(self, seen: Observation, y: float) -> None:
        """Count the label in."""
        _, label = self._desk.settle(seen, y)
        self._n += 1
        self._y += label

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds at once."""
        sums = np.cumsum(np.concatenate([[self._y], y]))  # one after the other, as `tell` adds
        counts = self._n + np.arange(len(y))
        self._desk.skip(len(y))
        self._n += len(y)
        self._y = float(sums[-1])
        means: Floats = sums[:-1] / np.maximum(counts, 1)  # nothing summed yet: 0 / 1
        return means


class FixedSubset(BlockRounds):
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
        The features to buy, at most `budget` of them; None for the first k.
    intercept
        False plays models through the origin: plain VAW on the bought values.
    ridge
        Regularisation of VAW, in the units of the features.
    seed
        Not used: this learner draws nothing.

    Guarantee
    ---------
    Without an intercept and while every value arrives: the bound of `keyhole.blocks.fit.vaw.VAW`
    against any weights on the support, with no assumption on the stream. With one, the same bound
    for the centred rows.

    Examples
    --------
    >>> learner = FixedSubset(Problem(d=5, k=1, budget=2), support=[3])
    >>> learner.ask().features
    array([3])
    """

    SAVED = ("_desk", "_vaw", "_sums", "_counts")

    def __init__(
        self,
        problem: Problem,
        *,
        support: ArrayLike | None = None,
        intercept: bool = True,
        ridge: float = 1.0,
        seed: int = 0,
    ) -> None:
        features = np.arange(problem.k) if support is None else np.asarray(support)
        if features.ndim != 1 or (len(features) and features.dtype.kind not in "iu"):
            raise ProblemError(f"support must be a flat list of feature indices, got {support!r}")
        features = np.unique(features).astype(np.int64)
        if len(features) > problem.budget:
            raise ProblemError(
                f"support has {len(features)} features, the budget is {problem.budget}"
            )
        if len(features) and not 0 <= features[0] <= features[-1] < problem.d:
            raise ProblemError(
                f"support must lie between 0 and {problem.d - 1}, got {features.tolist()}"
            )
        super().__init__(problem, seed=seed)
        self.ridge = ridge
        self._support: Indices = features
        self._centre = intercept
        if not ridge > 0:
            raise ProblemError(f"ridge must be positive, got {ridge}")
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
        return self._mean_y() + float(constant - slopes @ self._mean_x())

    def ask(self) -> Ticket:
        """A ticket for the support."""
        return self._desk.issue(self._support)

    def predict(self, seen: Observation) -> float:
        """VAW's prediction, with the mean label added if there is an intercept."""
        offset = self._mean_y() if self._centre else 0.0
        return offset + self._vaw.predict(self._row(seen))

    def tell(self, seen: Observation, y: float) -> None:
        """Update VAW and the means."""
        _, label = self._desk.settle(seen, y)
        offset = 0.0
        if self._centre:
            offset = self._mean_y() if self._counts[-1] else label  # the first is its own mean
        self._vaw.update(self._row(seen), label - offset)
        told = np.append(seen.values, label)
        here = ~np.isnan(told)
        self._sums[here] += told[here]
        self._counts += here

    def _alike(self, t: int) -> int:
        return self._vaw.until_refresh

    def _play(self, block: Block) -> int:
        from keyhole.blocks.fit.vaw import fixed_rounds

        _, _, X, y, bought, predictions, _ = block
        S, vaw = self._support, self._vaw
        bought[:, : len(S)] = S
        bought[:, len(S) :] = -1
        model = (vaw.P, vaw.theta, vaw.A, vaw.b, self._sums, self._counts)
        played = fixed_rounds(X, y, S, self._centre, *model, predictions)
        vaw.count(played)
        return played

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {"support": self._support, "intercept": self._centre, "ridge": self.ridge}

    def _mean_x(self) -> Floats:
        means: Floats = self._sums[:-1] / np.maximum(self._counts[:-1], 1)
        return means

    def _mean_y(self) -> float:
        return float(self._sums[-1]) / max(int(self._counts[-1]), 1)

    def _row(self, seen: Observation) -> Floats:
        """What VAW sees: absent values replaced by means; centred, then 1, with an intercept."""
        means = self._mean_x()
        x = np.where(np.isnan(seen.values), means, seen.values)
        if not self._centre:
            return x
        return np.append(np.where(self._counts[:-1] > 0, x - means, 0.0), 1.0)


class RandomSubset(FixedSubset):
    """Buys one random subset of `budget` features every round: spending without choosing."""

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        support = uniform_subset(seed, 1, problem.d, problem.budget)
        super().__init__(problem, support=support, ridge=ridge, seed=seed)

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {"ridge": self.ridge}


class FullInformation(FixedSubset):
    """Buys everything: what a learner could do if looking were free. Needs budget = d."""

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        refuse_less_than_everything(problem, "full information")
        super().__init__(problem, support=np.arange(problem.d), ridge=ridge, seed=seed)

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {"ridge": self.ridge}


def oracle(
    stream: BlockStream, problem: Problem, *, ridge: float = 1.0, seconds: float = 10.0
) -> FixedSubset:
    """VAW on the best k features in hindsight: what could be paid if the support were known.

    It has looked at the whole stream, so it is a mark to measure learners by and not one of them.

    Parameters
    ----------
    stream
        The stream it will be played on, gone through once; the support is that of
        `keyhole.hindsight(stream, k, intercept=True)`.
    problem
        Of which it reads k features, never more.
    ridge
        Of VAW.
    seconds
        When to stop searching; the support is then the best one found.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, noise_sd=0.1, seed=0)
    >>> bool((kh.oracle(stream, kh.Problem(20, 2, 6)).ask().features == truth.support).all())
    True
    """
    if stream.d != problem.d:
        raise ProblemError(f"the stream has {stream.d} features, the problem d = {problem.d}")
    gram = Gram(problem.d)
    for X, y in stream.blocks():
        gram.add(X, y)
    sums = gram.centred()
    best = best_subset(sums.G, sums.c, sums.yy, problem.k, seconds=seconds)
    return FixedSubset(problem, support=best.support, ridge=ridge)
