"""Practical Dantzig: Algorithm 1 with everything measured, `DantzigLearner(threshold="data")`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import LARGEST, shortened
from keyhole.learners.base import Choice, LearnerBase, at_least
from keyhole.learners.blocks.dantzig.selection import (
    DEFAULT_PARTS,
    DantzigSelection,
    Parts,
    StandardizedModel,
    candidates,
    precision,
    select,
)
from keyhole.learners.blocks.dantzig.solution import Diagnostics
from keyhole.learners.blocks.dantzig.solve import DantzigBasis
from keyhole.learners.blocks.draw.sampling import complement_subset
from keyhole.learners.blocks.fit.linear_algebra import inverse, solution
from keyhole.learners.blocks.fit.vaw import MAX_PRODUCT
from keyhole.learners.blocks.sums.correlations import Correlations, correlations
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.learners.dantzig import DantzigLearner
from keyhole.learners.history import widen
from keyhole.problem import Floats, Indices, Observation, Problem, ProblemError, StateError
from keyhole.problem.labels import cut_off_largest
from keyhole.problem.state import AT_LEAST_0, Holds, LearnerState, fit, restore
from keyhole.problem.state_checks import refuse_another_model


def standardised(seen: Observation) -> Floats:
    """z = (x - centre) inverse on the support of the ticket's model, 0 if absent; and a final 1."""
    memo = seen.ticket.memo
    x = seen.values[seen.ticket.features.searchsorted(memo["support"])]
    with np.errstate(over="ignore"):
        scaled = (x - memo["centre"]) * memo["inverse"]
    scaled[np.isnan(scaled)] = 0.0
    z = np.ones(len(scaled) + 1)
    z[:-1] = np.minimum(np.maximum(scaled, -LARGEST), LARGEST)
    return z


def vaw_terms(P: Floats, theta: Floats, z: Floats) -> tuple[Floats, float, float]:
    """P z, theta.z and 1 + z'P z; the quotient of the last two is VAW's prediction.

    P is positive definite, but after rows of very different sizes its rounded copy may not be: a
    row for which 1 + z'P z is not above 1/2 then, or which is too large for P, teaches nothing (P z
    and z'P z count as 0), and a theta.z that overflows is 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        Pz = P @ z
        along, s = float(theta @ z), 1.0 + float(z @ Pz)
    fits = abs(along) < MAX_PRODUCT
    if not (fits and 0.5 < s < MAX_PRODUCT and max(map(abs, Pz.tolist())) < LARGEST):
        return np.zeros_like(z), along if fits else 0.0, 1.0
    return Pz, along, s


def update_vaw(P: Floats, theta: Floats, A: Floats, b: Floats, z: Floats, y: float) -> None:
    """VAW learns a row and its label, less what theta adds to; with P = 0 nothing is adapted."""
    Pz, along, s = vaw_terms(P, theta, z)
    with np.errstate(over="ignore"):
        A += z[:, None] * z
        b += y * z
    theta += Pz * ((y - along) / s)
    P -= Pz[:, None] * Pz / s


def predicted(memo: Mapping[str, NDArray[Any]], z: Floats) -> float:
    """The prediction of a ticket's model, kept in the range of the labels before it."""
    _, along, s = vaw_terms(memo["P"], memo["theta"], z)
    base, low, high = memo["limits"].tolist()
    return float(min(max(base + along / s, low), high))


KEPT_AFTER_SOLVE = 0.5  # of the prediction errors before a solve, what still counts after it
MIN_ERRORS = 7.0  # prediction errors that an estimate of their level takes
# the residual variance is at least this share of the recent prediction error
MIN_RESIDUAL_SHARE = 0.5

BASE = 0  # of `_limits`: what theta adds to; the range of labels so far is beside it
ERROR, COUNT, LABELS = range(3)  # of `_record`: recent squared errors, how many; labels so far


@dataclass(slots=True, eq=False)
class _Played:
    """The model in play: VAW on (x - centre) * inverse of the support, and on a final 1.

    Sums: A, b. Derived: P = A^-1 (0 if nothing is to be adapted), theta = P b.
    """

    number: int  # how many models were played before
    support: Annotated[Indices, Holds(below="d", ascending=True, longest="k")]
    centre: Annotated[Floats, Holds(shape=("support",))]
    inverse: Annotated[Floats, Holds(shape=("support",))]
    A: Annotated[Floats, Holds(shape=("support+1", "support+1"))]
    b: Annotated[Floats, Holds(shape=("support+1",))]
    P: Annotated[Floats, Holds(shape=("support+1", "support+1"))]
    theta: Annotated[Floats, Holds(shape=("support+1",))]

    def refresh(self) -> None:
        """P and theta anew from the sums, so that no rounding piles up."""
        self.P = inverse(self.A)
        self.theta = solution(self.P, self.b)


class PracticalDantzigMemo(NamedTuple):
    """What a ticket remembers: what goes into the sums, and the model that was in play."""

    counted: Annotated[Indices, Holds(ascending=True, longest="budget", among="features")]
    support: Annotated[Indices, Holds(ascending=True, longest="k", among="features")]
    centre: Annotated[Floats, Holds(shape=("support",))]
    inverse: Annotated[Floats, Holds(shape=("support",))]
    P: Annotated[Floats, Holds(shape=("support+1", "support+1"))]
    theta: Annotated[Floats, Holds(shape=("support+1",))]
    limits: Annotated[Floats, Holds(shape=(3,))]
    model: Annotated[Indices, Holds(shape=())]


class PracticalDantzig(DantzigLearner):
    """Algorithm 1 with everything measured: no noise level, no constant, no scaling in advance.

    Explore, solve the program, play its top k, as printed; but

    - the moments use whatever was read, the played support included, feature by feature and pair
      by pair (available cases), centred, scaled and shrunk (`blocks/sums/correlations.py`);
    - the threshold is lam_j = scale se_j, a standard error for each coordinate
      (`blocks/dantzig/selection.py`);
    - the program is solved again whenever t has grown by a tenth;
    - on the support, least squares that VAW goes on refining with every row, until the support
      changes; predictions stay within the range of the labels so far;
    - slots of the prediction that stay empty read the best candidates;
    - old rows weigh less when the prediction error falls: a row is noise by what the model of its
      time could not explain.

    Sums: those of what was seen, VAW's, the recent prediction errors. Extremes: of the labels.
    Derived: the model, correlations, thresholds.

    Parameters
    ----------
    problem
        budget - k features explore, outside of what is played.
    seed
        Random seed, for the exploration sets.
    threshold
        "data", the way here from `DantzigLearner`.
    parts
        What it is put together from; the default is all of it.

    Guarantee
    ---------
    None that is proven; docs/algorithms/dantzig.md has what was measured. VAW depends on x_t, so
    unlike the printed algorithm this one is proper only up to VAW's 1 + x'Px.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=2000, noise_sd=0.1, seed=0)
    >>> learner = kh.DantzigLearner(kh.Problem(d=20, k=2, budget=6), seed=0, threshold="data")
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    BYTES_PER_PAIR = 48.0  # sums, correlations, the program
    SAVED: tuple[str, ...] = (
        *("_sums", "_limits", "_record", "_level", "_next", "_basis", "_played"),
        *("_fixed", "_avoid", "_explore", "diagnostics"),
    )
    MEMOS: tuple[type, ...] | None = (PracticalDantzigMemo,)
    STUDIES = FADES = STUDIES_SUMS = True
    _play = LearnerBase._play  # blocks are played round by round

    _basis: DantzigBasis | None
    _level: Annotated[float, Holds(least=0.0, infinite=True)]
    _record: Annotated[Floats, AT_LEAST_0]
    _fixed: Annotated[Indices, Holds(below="d", ascending=True, longest="budget")]
    _avoid: Annotated[Indices, Holds(below="d", ascending=True, longest="budget")]

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        threshold: str = "data",
        parts: Parts = DEFAULT_PARTS,
        **printed: object,
    ) -> None:
        for name in printed:
            raise ProblemError(
                f"{name} belongs to threshold='printed'; threshold='data' measures what it needs: "
                f"leave {name} out"
            )
        if problem.exploration < 1:
            raise ProblemError(
                f"budget must leave something to explore with: k = {problem.k} features are "
                f"played, got budget = {problem.budget}; make it "
                f"{at_least(problem, problem.k + 1, str(problem.k + 1))}"
            )
        if not isinstance(parts, Parts):
            raise ProblemError(
                f"parts must be a Parts, such as DEFAULT_PARTS, got {shortened(parts)}"
            )
        LearnerBase.__init__(self, problem, seed=seed)  # nothing of what is printed
        self.parts = parts
        self.diagnostics = Diagnostics()
        self._sums = SeenSums(problem.d)
        self._limits: Floats = np.zeros(3)  # what theta adds to; least and largest label so far
        self._record = np.zeros(3)  # recent squared errors, of how many; labels so far
        self._level = math.inf  # the squared error at which a row of weight 1 was predicted
        self._next = parts.next_solve(1)
        self._basis = None
        nothing = np.empty(0, dtype=np.int64)
        # A hair of precision: the constant is the mean of the labels until there is a model.
        self._play_model(
            0, StandardizedModel(nothing, np.empty(0)), np.empty((2, 0)), np.full((1, 1), 1e-9)
        )
        self._read(nothing)

    @property
    def weights(self) -> Floats:
        """The played model in the units of the features, at most k non-zeros."""
        weights = np.zeros(self.problem.d)
        weights[self._played.support] = self._played.theta[:-1] * self._played.inverse
        return weights

    @property
    def intercept(self) -> float:
        """What the model adds: it is learnt about the centre of labels and features."""
        model = self._played
        with np.errstate(over="ignore", invalid="ignore"):
            slope = float((model.theta[:-1] * model.inverse) @ model.centre)
            return cut_off_largest(float(self._limits[BASE] + model.theta[-1]) - slope)

    @property
    def moments(self) -> Moments:
        """Not there: rows have weights here, see `sums`."""
        raise AttributeError("moments: with threshold='data' rows have weights, see sums")

    @property
    def sums(self) -> SeenSums:
        """A copy of what was learnt so far: the weighted sums of what was seen."""
        return self._sums.copy()

    def _choose(self, t: int) -> Choice:
        """The support, the best candidates, and what is drawn to explore."""
        d, model = self.problem.d, self._played
        S = complement_subset(self.seed, t, d, self._explore, self._avoid)
        features = np.array(sorted({*S.tolist(), *self._fixed.tolist()}))
        # The model goes on the ticket: when the prediction is made, another may be in play.
        counted, number = features if self.parts.played else S, np.array(model.number)
        units, vaw = (model.support, model.centre, model.inverse), (model.P, model.theta)
        memo = PracticalDantzigMemo(counted, *units, *vaw, self._limits, number)
        return features, memo

    def _predict(self, seen: Observation) -> float:
        """The prediction of the ticket's model, which learnt from the labels before it."""
        return predicted(seen.ticket.memo, standardised(seen))

    def _learn(self, seen: Observation, label: float) -> None:
        """Add what was seen to the sums; refine the model if it is still in play."""
        ticket = seen.ticket
        z, model = standardised(seen), self._played
        self._record[ERROR] += (label - predicted(ticket.memo, z)) ** 2
        self._record[COUNT] += 1.0
        self._note(label)
        if ticket.memo["model"] == model.number:
            update_vaw(model.P, model.theta, model.A, model.b, z, label - self._limits[BASE])
        counted = ticket.memo["counted"]
        self._sums.add(counted, seen.at(counted), label)

    def _note(self, label: float) -> None:
        """A label is known."""
        widen(self._limits[1:], (label, label), known=bool(self._record[LABELS] > 0.0))
        self._record[LABELS] += 1.0

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        everything = np.arange(self.problem.d)
        for row, label in zip(X, y.tolist(), strict=True):
            if keep < 1.0:
                self._sums.scale(keep)
            self._note(label)
            self._sums.add(everything, row, label)
        self._next = self.round + 1  # a new model before the next round

    def _study_sums(self, history: DataSums) -> None:
        widen(self._limits[1:], history.ends, known=bool(self._record[LABELS] > 0.0))
        self._record[LABELS] += history.rounds
        self._sums.add_complete(history)
        self._next = self.round + 1

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {"parts": self.parts}

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        given = state.settings
        settings = {"seed": given["seed"], "parts": fit(DEFAULT_PARTS, given["parts"], "parts")}
        loose = ("_played", "_fixed", "_avoid")
        return restore(cls, state, loose=loose, kinds=(DantzigBasis,), settings=settings)

    def _resume(self) -> None:
        """StateError unless what is read follows from the support and what is read besides."""
        fixed, avoid, explore = self._fixed, self._avoid, self._explore
        self._read(np.setdiff1d(fixed, self._played.support))
        same = np.array_equal(fixed, self._fixed) and np.array_equal(avoid, self._avoid)
        if not same or explore != self._explore:
            raise StateError(
                f"fixed, avoid, explore are {fixed}, {avoid}, {explore}: that is no plan"
            )
        refuse_another_model(self._desk, "model", self._played.number, self._played.support)

    def _before_round(self, t: int) -> None:
        """What happens before round t is asked: a new model, if one is due."""
        if t >= self._next:
            self._next = self.parts.next_solve(t)
            if self._record[LABELS]:
                self._solve(t)

    def _solve(self, t: int) -> None:
        parts, k = self.parts, self.problem.k
        error = self._recent_error()
        found = correlations(self._sums, shrink=parts.shrink)
        if found.scale_y == 0.0 or not np.isfinite(found.c).all():
            return  # all labels alike so far; or sums that are no sums, from a file
        chosen = select(
            self._sums,
            found,
            self._pilot(found),
            k,
            parts.thresholds,
            least=MIN_RESIDUAL_SHARE * error / found.scale_y**2,
            refit=parts.refit,
            start=self._basis,
        )
        known = np.isfinite(chosen.errors)
        error = float(chosen.errors[known].mean()) if known.any() else math.inf
        threshold = chosen.scale * error
        self.diagnostics = self.diagnostics.after(chosen.answer, t, threshold)
        self._basis = None
        if chosen.answer.status != "optimal":
            return
        self._basis = chosen.answer.basis
        self._adopt(found, chosen)
        idle = k - len(chosen.model.support) if parts.fill and parts.played else 0
        self._read(candidates(found, chosen.errors, chosen.model, idle))

    def _recent_error(self) -> float:
        """The mean squared error of late; when it has fallen, old rows lose weight."""
        total, n = self._record[:2]
        error = float(total / max(n, 1.0))
        if self.parts.reweight and n >= MIN_ERRORS:
            # One standard error of slack: an error that is low by chance should change nothing.
            level = error * (1.0 + math.sqrt(2.0 / n))
            if 0.0 < level < self._level < math.inf:
                # The root: correlations between features are as good as ever, only those with
                # the label get better with the error.
                self._sums.scale(math.sqrt(level / self._level))
            self._level = min(self._level, level)
        self._record[:2] *= KEPT_AFTER_SOLVE
        return error

    def _pilot(self, found: Correlations) -> StandardizedModel:
        """The model in play, in the present units."""
        model = self._played
        now = found.inverse[model.support]
        units = np.divide(model.inverse, now, out=np.zeros_like(now), where=now > 0.0)
        return StandardizedModel(model.support, model.theta[:-1] * units / found.scale_y)

    def _adopt(self, found: Correlations, chosen: DantzigSelection) -> None:
        """Play what was chosen; if that is the support already in play, go on with its VAW."""
        S, before = chosen.model.support, self._played
        if self.parts.adapt and np.array_equal(S, before.support) and self.diagnostics.solves > 1:
            before.refresh()
            return
        m = len(S)
        A = np.zeros((m + 1, m + 1))
        # What the moments know of a weight, in rows that are predicted as well as now.
        rows = chosen.residual / chosen.errors[S] ** 2
        A[:m, :m] = precision(found.R[np.ix_(S, S)], rows)
        A[m, m] = self._sums.totals[0]
        model = StandardizedModel(S, chosen.model.w * found.scale_y)
        self._limits[BASE] = found.centre_y
        units = np.array([found.centre[S], found.inverse[S]])
        self._play_model(before.number + 1, model, units, A)

    def _play_model(self, number: int, model: StandardizedModel, units: Floats, A: Floats) -> None:
        theta = np.append(model.w, 0.0)
        P = np.zeros_like(A)
        centre, inverse = units.copy()
        self._played = _Played(number, model.support, centre, inverse, A, A @ theta, P, theta)
        if self.parts.adapt:
            self._played.refresh()

    def _read(self, extra: Indices) -> None:
        """From now on read the played support, these besides, and uniformly drawn others."""
        self._fixed = np.union1d(self._played.support, extra)
        self._avoid = self._fixed if self.parts.played else self._fixed[:0]
        free = self.problem.reads - len(self._fixed)
        self._explore = free if self.parts.played else self.problem.exploration
