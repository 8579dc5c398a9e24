"""The lasso, online, with everything read: what l1 regularisation does without a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.fit import lasso as kernels
from keyhole.blocks.fit.lasso import scaled_lasso
from keyhole.blocks.sums import seen_sums as adding
from keyhole.blocks.sums.estimates import mean_imputed
from keyhole.blocks.sums.seen_sums import SeenSums
from keyhole.learners.base import BlockRounds, refuse_less_than_everything
from keyhole.problem import Floats, Observation, Problem, ProblemError, Ticket, real_number

GROWTH = 8  # solved anew after an eighth of the rounds so far
CONSTANT = 1e-12  # what varies by less than this share of its mean square is constant


class OnlineLassoLearner(BlockRounds):
    """Reads everything and plays the lasso of all rows so far.

    At rounds 2, 3, 4, ..., each an eighth beyond the one before,

        w = argmin (1/2n) sum (y - a - <x, w>)^2 + sigma scale sqrt(2 log(2d) / n) sum_j s_j |w_j|

    over the n rows so far, s_j the standard deviation of feature j and sigma that of the residual
    of w itself (the scaled lasso), by coordinate descent from the last w. In between w stays. A
    reference: what the usual method does when looking is free.

    Sums: those of all rows. Derived: the model, as of the last solve.

    Parameters
    ----------
    problem
        With budget = d; k is not used.
    seed
        Not used: this learner draws nothing.
    scale
        Of the penalty, positive. Lower ones predict better and select more.

    Guarantee
    ---------
    For y = a + <x, w*> + noise with a k-sparse w* and restricted eigenvalues bounded away from 0,
    the prediction error after n rows is O(sigma^2 k log(d) / n), without knowing sigma (Sun and
    Zhang 2012, Biometrika 99; Bickel, Ritov, Tsybakov 2009, Annals of Statistics 37). None of that
    is checked. Nothing is promised against other sequences.

    Deviations
    ----------
    Solved on a geometric schedule instead of every round: w is that of about 8/9 of the rows or
    more. A value that did not arrive counts as the mean of those that did.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=2000, noise_sd=0.1, seed=0)
    >>> learner = kh.OnlineLassoLearner(kh.Problem(d=20, k=2, budget=20))
    >>> ledger = kh.play(learner, stream)
    >>> set(truth.support) <= set(np.flatnonzero(learner.weights))
    True

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso, JRSS B 58.
    """

    SAVED = ("_desk", "_sums", "_w", "_means", "_intercept", "_next")

    def __init__(self, problem: Problem, *, seed: int = 0, scale: float = 1.0) -> None:
        refuse_less_than_everything(problem, "the online lasso")
        super().__init__(problem, seed=seed)
        self.scale = real_number("scale", scale, 0.0)
        if self.scale == 0.0:
            raise ProblemError(f"scale must be positive, got {scale}")
        self._sums = SeenSums(problem.d)
        self._w: Floats = np.zeros(problem.d)
        self._means: Floats = np.zeros(problem.d)
        self._intercept = 0.0
        self._next = 2  # the round before which the lasso is solved anew

    @property
    def weights(self) -> Floats:
        """The lasso as of the last solve."""
        return self._w.copy()

    @property
    def intercept(self) -> float:
        """Its intercept: the mean label where all features have their means."""
        return self._intercept

    def ask(self) -> Ticket:
        """A ticket for everything."""
        self._begin(self.round + 1)
        return self._desk.issue(np.arange(self.problem.d))

    def predict(self, seen: Observation) -> float:
        """<x, w> and the intercept."""
        return float(kernels.weigh(*self._played(), np.array(seen.values)))

    def tell(self, seen: Observation, y: float) -> None:
        """Add the row to the sums."""
        ticket, label = self._desk.settle(seen, y)
        self._sums.add(ticket.features, seen.values, label)

    def _play(self, block: Block) -> int:
        _, _, X, y, bought, predictions, _ = block
        bought[:] = np.arange(self.problem.d)
        played = int(kernels.linear_rounds(X, *self._played(), predictions))
        self._add(X[:played], y[:played])
        return played

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {"scale": self.scale}

    def _played(self) -> tuple[Floats, Floats, float]:
        return self._w, self._means, self._intercept

    def _add(self, X: NDArray[np.floating], y: Floats) -> None:
        here = ~np.isnan(X)
        offsets = np.concatenate([[0], np.cumsum(here.sum(axis=1))])
        row = (offsets, np.nonzero(here)[1], X[here].astype(np.float64), np.array(y))
        adding.add_rows(*row, self._sums.pairs, self._sums.singles, self._sums.totals)

    def _alike(self, t: int) -> int:
        return self._next - t

    def _begin(self, t: int) -> None:
        """A new model, if one is due."""
        if t < self._next:
            return
        self._next = t + 1 + t // GROWTH
        if not self._sums.totals[0]:
            return
        found = mean_imputed(self._sums)
        variance = np.diag(found.G)
        varies = variance > CONSTANT * (variance + found.x_mean**2)
        inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        last, self._w = self._w, np.zeros(self.problem.d)
        self._means, self._intercept = found.x_mean, found.y_mean
        if not found.c > CONSTANT * (found.c + found.y_mean**2):
            return  # all labels alike so far
        scale_y = float(np.sqrt(found.c))
        R, c = inverse[:, None] * found.G * inverse, inverse * found.b / scale_y
        start = last * np.sqrt(np.where(varies, variance, 0.0)) / scale_y
        w, _ = scaled_lasso(R, c, found.n, start, scale=self.scale)
        self._w = w * inverse * scale_y
        self._intercept = found.intercept(self._w)
