"""Online lasso, with every feature read: what l1 regularisation does without a budget."""

from __future__ import annotations

import math

import numpy as np

from keyhole.errors import SMALLEST
from keyhole.learners.base import Choice, LearnerBase, refuse_less_than_everything
from keyhole.learners.blocks.sums.correlations import CONSTANT_VARIANCE
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.estimates import mean_imputed
from keyhole.learners.blocks.sums.seen_sums import WEIGHT, SeenSums
from keyhole.problem import Floats, Observation, Problem, positive_number

LASSO_TOLERANCE = 1e-6  # in units of standard deviations
MAX_SWEEPS = 1000
MIN_NOISE_SHARE = 1e-4  # least share of the label's variance that counts as noise
MAX_NOISE_UPDATES = 20  # of lasso and noise level in turn
MAX_STEP = 1e6  # a step that no coordinate takes while R is positive semidefinite


def lasso(R: Floats, c: Floats, penalty: float, start: Floats | None = None) -> Floats:
    """argmin_w  w'R w / 2 - c.w + penalty |w|_1, by coordinate descent.

    Parameters
    ----------
    R, c
        Correlations of the features, and with the label. R should be positive semidefinite; if it
        is not and the descent runs away, the answer is 0.
    penalty
        At least 0.
    start
        Where to begin; None for 0.

    Guarantee
    ---------
    If R is positive semidefinite: |c_j - (R w)_j| <= penalty + 1e-6 d, with equality up to 1e-6 d
    and the sign of w_j where w_j is not 0, unless 1,000 sweeps were not enough.

    Examples
    --------
    >>> lasso(np.eye(2), np.array([0.5, -0.1]), 0.2)
    array([0.3, 0. ])
    """

    w = np.zeros(len(c)) if start is None else np.array(start)
    descend(R, c, penalty, w, LASSO_TOLERANCE, MAX_SWEEPS)
    # At w = 0 the objective is 0: anything above is no descent. And half the variance of the label,
    # which is 1, is all that correlations of actual rows can take off.
    with np.errstate(over="ignore", invalid="ignore"):
        objective = float(w @ (R @ w)) / 2.0 - float(c @ w) + penalty * float(np.abs(w).sum())
    return w if -1.0 <= objective <= LASSO_TOLERANCE else np.zeros(len(c))


def scaled_lasso(
    R: Floats, c: Floats, n: float, start: Floats | None = None, *, scale: float = 1.0
) -> tuple[Floats, float]:
    """The lasso whose penalty is scale sigma sqrt(2 log(2 d) / n), sigma its own residual.

        sigma^2 = 1 - 2 c.w + w'R w,   w = lasso(R, c, scale sigma sqrt(2 log(2 d) / n))

    in turn until sigma rests: no noise level is needed (Sun and Zhang 2012, Biometrika 99).

    Parameters
    ----------
    R, c, start
        As in `lasso`.
    n
        How many rows the correlations come from.
    scale
        Of the penalty. 1 keeps pure noise out: its largest correlation is about that much.

    Returns
    -------
    w and sigma, both in units of standard deviations.

    Examples
    --------
    >>> w, sigma = scaled_lasso(np.eye(2), np.array([0.6, 0.01]), 1000)
    >>> w.round(2), round(sigma, 2)
    (array([0.56, 0.  ]), 0.8)
    """
    w = np.zeros(len(c)) if start is None else start
    sigma, unit = 1.0, scale * math.sqrt(2.0 * math.log(2.0 * len(c)) / max(n, 1.0))
    for _ in range(MAX_NOISE_UPDATES):
        w = lasso(R, c, sigma * unit, w)
        before = sigma
        sigma = math.sqrt(
            min(max(1.0 - 2.0 * float(c @ w) + float(w @ (R @ w)), MIN_NOISE_SHARE), 1.0)
        )
        if abs(sigma - before) <= 1e-3 * before:
            break
    return w, sigma


@np.errstate(all="ignore")
def descend(R: Floats, c: Floats, penalty: float, w: Floats, tolerance: float, sweeps: int) -> int:
    """Minimise w'R w / 2 - c.w + penalty |w|_1 from w on, in place; sweeps made.

    Stops when no coordinate of a sweep moved by more than `tolerance`, or one ran away. After a
    full sweep only the non-zero coordinates are gone through until they rest; then all again.
    """
    left, squares = c - R @ w, np.diag(R)
    usable = squares > 0.0
    full = True
    for made in range(1, sweeps + 1):
        moved, j = 0.0, -1
        while True:
            # The next coordinate that may move: not 0, or pulled away from 0 by what is left.
            movable = w[j + 1 :] != 0.0
            if full:
                movable |= np.abs(left[j + 1 :]) > penalty
            movable &= usable[j + 1 :]
            if not movable.any():
                break
            j += 1 + int(movable.argmax())
            target = float(left[j] + squares[j] * w[j])
            size = max(abs(target) - penalty, 0.0) / float(squares[j])
            step = math.copysign(size, target) - float(w[j])
            w[j] += step
            left -= step * R[j]
            moved = max(moved, abs(step))
        if moved > MAX_STEP or (full and moved <= tolerance):
            return made
        full = moved <= tolerance
    return sweeps


SOLVE_EVERY = 8  # solved anew after an eighth of the rounds so far


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

    SAVED = ("_sums", "_w", "_means", "_intercept", "_next")
    HANDLES_PRICES = True  # reads everything, or is refused
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
        self._sums.add_complete(history)
        self._next = 0

    def _before_round(self, t: int) -> None:
        """A new model before round t, if one is due."""
        if t < self._next:
            return
        self._next = t + 1 + t // SOLVE_EVERY
        if not self._sums.totals[WEIGHT]:
            return
        found = mean_imputed(self._sums)
        variance = np.diag(found.G)
        varies = variance > CONSTANT_VARIANCE * (variance + found.x_mean**2)
        inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        last, self._w = self._w, np.zeros(self.problem.d)
        self._means, self._intercept = found.x_mean, found.y_mean
        if not found.c > CONSTANT_VARIANCE * (found.c + found.y_mean**2):
            return  # all labels alike so far
        scale_y = float(np.sqrt(found.c))
        R, c = inverse[:, None] * found.G * inverse, inverse * found.b / scale_y
        start = last * np.sqrt(np.where(varies, variance, 0.0)) / scale_y
        w, _ = scaled_lasso(R, c, found.n, start, scale=self.scale)
        self._w = w * inverse * scale_y
        self._intercept = found.intercept(self._w)
