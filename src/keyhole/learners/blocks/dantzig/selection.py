"""Dantzig selection of features: the program with a threshold for each coordinate; a refit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyhole.errors import LARGEST
from keyhole.learners.blocks.dantzig.solve import DantzigBasis, DantzigSolution, solve
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.blocks.sums.correlations import Correlations, standard_errors
from keyhole.learners.blocks.sums.seen_sums import SeenSums, fewest
from keyhole.problem import (
    Floats,
    Indices,
    ProblemError,
    positive_number,
    real_number,
    whole_number,
)

# least residual variance, in units of the label's: also for labels without noise
MIN_RESIDUAL_VARIANCE = 1e-6
MAX_SCALE = 8.0  # no scale is raised beyond this
MAX_EXPLAINED = 1.5  # share of the label's variance that a fit may claim to explain
CORRELATION_SHARES = (1.0, 0.5, 0.25, 0.0)  # of the off-diagonal correlations, tried in this order
MIN_EIGENVALUE = 0.05  # eigenvalue of a correlation matrix that is used as a precision


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How the thresholds lam_j = scale se_j of the program are set.

    Parameters
    ----------
    scale
        What is tried first. Theory wants sqrt(2 log d); the truncation to k forgives less.
    raised, most
        The scale is multiplied by `raised`, up to 8, while the answer has more than `most` k
        non-zeros.
    """

    scale: float = 1.0
    raised: float = 1.25
    most: float = 2.0

    def __post_init__(self) -> None:
        positive_number("scale", self.scale)
        if real_number("raised", self.raised, 1.0) == 1.0:
            raise ProblemError("raised must be more than 1, got 1: the scale would never rise")
        real_number("most", self.most, 0.0)


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Parts:
    """What the practical Algorithm 1 is put together from.

    The defaults are all of it. Every field can be changed by itself: benchmarks/dantzig_data.py
    does, and docs/algorithms/dantzig.md shows what each is worth.

    Parameters
    ----------
    growth, least
        The program is solved again when the round has grown by this factor, and by this many.
    thresholds
        How those of the program are set.
    shrink
        Whether off-diagonal correlations are shrunk.
    played
        Whether what is read on the played support counts in the moments.
    refit
        Whether the weights on the support are least squares, not the program's.
    adapt
        Whether VAW goes on from these weights on every row.
    fill
        Whether slots of the prediction that stay empty read the best candidates.
    reweight
        Whether old rows weigh less when the prediction error falls.
    """

    growth: float = 1.1
    least: int = 4
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    shrink: bool = True
    played: bool = True
    refit: bool = True
    adapt: bool = True
    fill: bool = True
    reweight: bool = True

    def __post_init__(self) -> None:
        real_number("growth", self.growth, 1.0, LARGEST)
        whole_number("least", self.least, 1)

    def next_solve(self, t: int) -> int:
        """The round before which the program is solved next, when it was before round t.

        >>> Parts().next_solve(1), Parts().next_solve(1000)
        (5, 1100)
        """
        return max(t + self.least, math.ceil(t * self.growth))


DEFAULT_PARTS = Parts()


@dataclass(frozen=True, slots=True, eq=False)
class StandardizedModel:
    """A sparse model in units of standard deviations: ascending features and their weights."""

    support: Indices
    w: Floats


def residual_variance(found: Correlations, model: StandardizedModel, least: float = 0.0) -> float:
    """1 - 2 w.c + w'R w, what a model leaves of the label's variance, from `least` to 1.

    The correlations come from different rows, so that the formula alone may give anything.

    Parameters
    ----------
    found, model
        The correlations and the model.
    least
        Known to be left, in units of the label's variance; the prediction error is an honest guide.
    """
    S, w = model.support, model.w
    with np.errstate(over="ignore", invalid="ignore"):
        left = 1.0 - 2.0 * float(w @ found.c[S]) + float(w @ found.R[np.ix_(S, S)] @ w)
    return min(max(left, least, MIN_RESIDUAL_VARIANCE), 1.0) if np.isfinite(left) else 1.0


def program(
    found: Correlations,
    errors: Floats,
    k: int,
    thresholds: Thresholds,
    start: DantzigBasis | None = None,
) -> tuple[DantzigSolution, float]:
    """min |w|_1 s.t. |c_j - (R w)_j| <= scale se_j, the scale raised while w is far from sparse.

    If a k-sparse truth is feasible, the program has little reason to use many more features. When
    it does, `errors` were too small (they can't know the noise in the correlations of features
    that no model has used yet), and it is fitting that noise.

    Parameters
    ----------
    found, errors
        The correlations, and the standard errors of c - R w for a w near the truth.
    k
        Non-zeros of the truth.
    thresholds
        How they are set.
    start
        Basis of the last answer.

    Returns
    -------
    The last answer, optimal or not, and its scale.
    """
    known = (found.inverse > 0.0) & np.isfinite(errors)
    c, scale = np.where(known, found.c, 0.0), thresholds.scale
    while True:
        answer = solve(found.R, c, np.where(known, scale * errors, np.inf), start=start)
        fine = answer.status == "optimal" and answer.nonzeros <= thresholds.most * k
        if fine or scale * thresholds.raised > MAX_SCALE:
            return answer, scale
        start = answer.basis if answer.status == "optimal" else None
        scale *= thresholds.raised


def guarded_fit(R: Floats, c: Floats, pairs: float) -> Floats:
    """w = (R + I / pairs)^-1 c, with correlations halved while that makes no sense.

    Estimated from different rows, R may be indefinite, and w then be anything. It is accepted if
    R + I / pairs is positive definite and the variance it claims to explain, 2 w.c - w'R w, is
    between 0 and 1.5 of the label's; otherwise the off-diagonal of R is multiplied by 1/2, 1/4,
    and at last 0.

    Parameters
    ----------
    R, c
        Correlations of a few features with each other, and with the label.
    pairs
        The least number of rows that one of them rests on.

    Examples
    --------
    >>> guarded_fit(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.6, 0.3]), pairs=1e12).round(3)
    array([0.6, 0. ])
    >>> guarded_fit(np.array([[1.0, 1.2], [1.2, 1.0]]), np.array([0.6, 0.3]), pairs=9.0).round(3)
    array([ 0.556, -0.03 ])
    """
    ridge = 1.0 / max(pairs, 1.0)
    own = np.eye(len(c))
    for share in CORRELATION_SHARES:
        S = share * R + (1.0 - share) * own
        try:
            root = np.linalg.cholesky(S + ridge * own)
        except np.linalg.LinAlgError:  # never for the last share
            continue
        w: Floats = np.linalg.solve(root.T, np.linalg.solve(root, c)).astype(np.float64)
        explained = 2.0 * float(w @ c) - float(w @ S @ w)
        if 0.0 <= explained <= MAX_EXPLAINED:
            break
    return w


def precision(R: Floats, counts: Floats) -> Floats:
    """R_ij sqrt(N_i N_j), made positive definite: what VAW may start from.

    Eigenvalues of R below 0.05 are lifted to that.
    """
    values, vectors = np.linalg.eigh(R)
    lifted = (vectors * np.maximum(values, MIN_EIGENVALUE)) @ vectors.T
    size = np.sqrt(counts)
    A: Floats = size[:, None] * lifted * size
    return (A + A.T) / 2.0


def fitted(sums: SeenSums, found: Correlations, S: Indices) -> StandardizedModel:
    """The model that `guarded_fit` makes of the features S."""
    if not len(S):
        return StandardizedModel(S, np.empty(0))
    R = np.ascontiguousarray(found.R[np.ix_(S, S)])
    rows = float(fewest(sums.pairs, found.counts, S))
    return StandardizedModel(S, guarded_fit(R, found.c[S], rows))


def candidates(found: Correlations, errors: Floats, model: StandardizedModel, n: int) -> Indices:
    """The n features outside the model whose c_j - (R w)_j is largest in standard errors."""
    known = (found.inverse > 0.0) & np.isfinite(errors)
    left = np.abs(found.c - found.R[:, model.support] @ model.w)
    z = np.divide(left, errors, out=np.zeros_like(left), where=known)
    z[model.support] = -1.0
    best: Indices = np.argsort(-z, kind="stable")[:n]
    return best


@dataclass(frozen=True, slots=True, eq=False)
class DantzigSelection:
    """What was selected: the model, its residual variance, the errors, and the program's answer."""

    model: StandardizedModel
    residual: float
    errors: Floats
    answer: DantzigSolution
    scale: float


def select(
    sums: SeenSums,
    found: Correlations,
    pilot: StandardizedModel,
    k: int,
    thresholds: Thresholds,
    *,
    least: float = 0.0,
    refit: bool = True,
    start: DantzigBasis | None = None,
) -> DantzigSelection:
    """At most k features and their weights: program, truncation, guarded fit.

    Parameters
    ----------
    sums, found
        The sums and the correlations they gave.
    pilot
        The model so far, which says how large the errors are; may be empty.
    k
        Most features.
    thresholds, start
        As in `program`.
    least
        As in `residual_variance`.
    refit
        False keeps the weights of the program.

    Returns
    -------
    DantzigSelection, whose model is the pilot if the program could not be solved.
    """
    residual = residual_variance(found, pilot, least)
    errors = standard_errors(sums, found, pilot.support, pilot.w, residual)
    answer, scale = program(found, errors, k, thresholds, start)
    if answer.status != "optimal":
        return DantzigSelection(pilot, residual, errors, answer, scale)
    S = top_k(answer.w, k)
    model = fitted(sums, found, S) if refit else StandardizedModel(S, answer.w[S])
    residual = residual_variance(found, model, least)
    errors = standard_errors(sums, found, S, model.w, residual)
    return DantzigSelection(model, residual, errors, answer, scale)
