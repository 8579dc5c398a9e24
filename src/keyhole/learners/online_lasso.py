"""The lasso, online, with everything read: what l1 regularisation does without a budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.fit import lasso as kernels
from keyhole.blocks.fit.lasso import Model, scaled_lasso
from keyhole.blocks.sums.estimates import mean_imputed
from keyhole.blocks.sums.seen_sums import WEIGHT, SeenSums, add_rows
from keyhole.data_sums import DataSums
from keyhole.errors import SMALLEST
from keyhole.learners.base import LearnerBase, refuse_less_than_everything
from keyhole.learners.study_sums import add_to_seen_sums
from keyhole.problem import Floats, Observation, Problem, Ticket, positive_number

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

    def ask(self) -> Ticket:
        """A ticket for everything."""
        self._before_round(self.round + 1)
        return self._desk.issue(np.arange(self.problem.d))

    def _predict(self, seen: Observation) -> float:
        """<x, w> and the intercept."""
        return float(kernels.predict(self._model(), np.array(seen.values)))

    def tell(self, seen: Observation, y: float) -> None:
        """Add the row to the sums."""
        ticket, label = self._desk.settle(seen, y)
        self._sums.add(ticket.features, seen.values, label)

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        self._add(X, y)
        self._next = 0  # a new model before the next round

    def _study_sums(self, history: DataSums) -> None:
        add_to_seen_sums(self._sums, history)
        self._next = 0

    def _play(self, block: Block) -> int:
        played = kernels.play(block, self._model())
        self._add(block.X[:played], block.y[:played])
        return played

    def _model(self) -> Model:
        return Model(self._w, self._means, self._intercept)

    def _add(self, X: NDArray[np.floating], y: Floats) -> None:
        X = np.where(np.abs(X) < SMALLEST, 0.0, X)
        here = ~np.isnan(X)
        offsets = np.concatenate([[0], np.cumsum(here.sum(axis=1))])
        rows = (offsets, np.nonzero(here)[1], X[here].astype(np.float64), np.array(y))
        add_rows(*rows, *self._sums.arrays())

    def _rounds_alike(self, t: int) -> int:
        return self._next - t

    def _before_round(self, t: int) -> None:
        """A new model, if one is due."""
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
