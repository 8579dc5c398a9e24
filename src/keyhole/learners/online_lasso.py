"""The lasso, online, with everything read: what l1 regularisation does without a budget."""

from __future__ import annotations

import numpy as np

from keyhole.errors import SMALLEST
from keyhole.learners.base import Choice, LearnerBase, refuse_less_than_everything
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.estimates import mean_imputed
from keyhole.learners.blocks.sums.seen_sums import WEIGHT, SeenSums
from keyhole.learners.lasso import scaled_lasso
from keyhole.learners.study_sums import add_to_seen_sums
from keyhole.problem import Floats, Observation, Problem, positive_number

GROWTH = 8  # solved anew after an eighth of the rounds so far
CONSTANT = 1e-12  # what varies by less than this share of its mean square is constant


class OnlineLassoLearner(LearnerBase):
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
    clip
        Cut predictions off at the range of the labels so far.

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
    SETTINGS = ("scale", "clip")
    BLIND = False  # reads everything, or is refused
    STUDIES = STUDIES_SUMS = True
    BYTES_PER_PAIR = 48.0  # sums, covariances, correlations

    def __init__(
        self, problem: Problem, *, seed: int = 0, scale: float = 1.0, clip: bool = False
    ) -> None:
        refuse_less_than_everything(problem, "the online lasso")
        super().__init__(problem, seed=seed, clip=clip)
        self.scale = positive_number("scale", scale)
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

    def _choose(self, t: int) -> Choice:
        """Everything."""
        return np.arange(self.problem.d), {}

    def _predict(self, seen: Observation) -> float:
        """<x, w> and the intercept; the mean stands in for a value that is absent."""
        j = np.flatnonzero(self._w)
        x = seen.values[j]
        return self._intercept + float(self._w[j] @ np.where(np.isnan(x), self._means[j], x))

    def _learn(self, seen: Observation, label: float) -> None:
        """Add the row to the sums."""
        ticket = seen.ticket
        self._sums.add(ticket.features, seen.values, label)

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        everything = np.arange(self.problem.d)
        for row, label in zip(np.where(np.abs(X) < SMALLEST, 0.0, X), y.tolist(), strict=True):
            self._sums.add(everything, row, label)
        self._next = 0  # a new model before the next round

    def _study_sums(self, history: DataSums) -> None:
        add_to_seen_sums(self._sums, history)
        self._next = 0

    def _before_round(self, t: int) -> None:
        """A new model before round t, if one is due."""
        if t < self._next:
            return
        self._next = t + 1 + t // GROWTH
        if not self._sums.totals[WEIGHT]:
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
