"""Iterative hard thresholding from partial reads (Murata, Suzuki 2018)."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import true_or_false
from keyhole.learners.base import Choice, LearnerBase
from keyhole.learners.blocks.draw.sampling import uniform_subset, uniforms
from keyhole.learners.blocks.draw.sorting import largest
from keyhole.learners.blocks.fit.linear_algebra import filled
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    StateError,
    Ticket,
    positive_number,
    real_number,
    whole_number,
)
from keyhole.problem.state import MAX_WHOLE_NUMBER, MAY_OVERFLOW, Holds, PerFeature

# Places in fields of `Search`.
PHASE, EXPLOITING, SIZE, CURSOR, LACKING, TOLD, TURN, STEPS, LENGTH = range(9)  # of `whole`
CURVATURE, FRESH = range(2)  # of `pace`: in units of a feature's mean square; examples for a step
NOW, BEFORE = range(2)  # of `losses`: rounds of this phase, of the one that `before` was played in
ORDER, ASIDE = range(2)  # purposes of what is drawn
# Standard errors by which a step must have made things worse to be taken back: when its phase is
# over, and before that, where there are many occasions to err.
AT_THE_END, AT_ONCE = 2.0, 3.0


class Search(NamedTuple):
    """Where the search is. Sums: `gradient`, `seen`, `losses`, `total`, `square`, `arrived`."""

    theta: Floats  # the model that is played, zero outside the support
    iterate: Floats  # of the exploitation, whose average is played
    support: Annotated[Indices, Holds(below="d")]  # ascending, the first whole[SIZE] places
    order: Annotated[Indices, Holds(below="d")]  # the features outside, as they are read in turn
    gradient: Floats  # of this phase: (prediction - y) x_i
    seen: Indices  # and of how many rounds
    before: Floats  # the model before the last step
    slope: Floats  # its mean gradient
    losses: Annotated[Floats, MAY_OVERFLOW]  # by phase: rounds, squared errors, their squares
    total: Floats  # of all values that arrived, feature by feature
    square: Floats
    arrived: Indices
    pace: Floats  # by the names above
    whole: Indices  # whole numbers, by the names above


class HardThresholdingDraw(NamedTuple):
    """One round: what is read and how it is played."""

    features: Indices  # ascending
    played: PerFeature  # their weights in the prediction
    inside: Annotated[NDArray[np.bool_], Holds(shape=("features",))]  # belong to the support
    means: PerFeature  # what absent values count as
    # One number: of the prediction in the residual, more than 1 if some is missing.
    scale: Annotated[Floats, Holds(shape=(1,))]
    # One number; its sign is negative if a part of the support is not read.
    phase: Annotated[Indices, Holds(least=-MAX_WHOLE_NUMBER, shape=(1,))]


def default_batch_size(problem: Problem) -> int:
    """2 k log d, at least 8: with less, k noisy coordinates of d are more than the signal."""
    return max(8, math.ceil(2 * problem.k * math.log(problem.d)))


class HardThresholdingLearner(LearnerBase):
    """Gradient steps on partial reads, each cut back to k features.

    A k-sparse model theta is played. Every round reads its support S and, in turn, a block of the
    other features, so that the error e = <x, theta> - y is exact. Once every feature has B_s fresh
    examples, step s is taken:

        g_i = 2 mean of e x_i over the rounds that read feature i,     theta <- H_k(theta - eta g),

    where H_k keeps the k largest coordinates. B_s grows geometrically. That is Exploration. With
    `hybrid` every step is followed by as many rounds of Exploitation: stochastic gradient descent
    on the support, whose average is played.

    Sums: of the phase, e x_i and how often; of all rounds, values and their squares. Not a sum:
    the models of this and the last step, the curvature.

    Parameters
    ----------
    problem
        |S| <= k features are played, all others of the budget are read in turn. See Deviations for
        budget = k.
    seed
        Random seed, for the order in which features are read.
    hybrid
        Whether exploitation phases come between the steps.
    batch_size
        B_1, fresh examples of every feature before the first step; None for 2 k log d, at least 8.
    growth
        B_(s+1) / B_s.
    step_size
        eta, for plain gradient steps in the units of the features. None adapts it, see Deviations.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Murata, Suzuki (NeurIPS 2018): i.i.d. examples of a linear model with restricted strong
    convexity and smoothness, condition number kappa; a played sparsity of order kappa^2 times that
    of the truth, budgets above it, and eta of the order of one over the smoothness: an excess risk
    of epsilon from O~(1/epsilon) examples, with one factor d / (budget - k); Hybrid comes near the
    rate of full information once the support is found, if no true weight is too small. None of
    that is checked, and the played sparsity here is k itself.

    Deviations
    ----------
    Adaptive step: feature i moves by mean(e x_i) / (L m_i), m_i its mean square, and H_k compares
    |theta_i| sqrt(m_i), so that units do not matter. L is 1 at first, right for uncorrelated
    features. If the loss after the step is higher by two standard errors (three while its phase
    is still under way), the step is taken back and made again with L doubled, up to 2k, which no
    eigenvalue of 2k correlations exceeds. Blocks are drawn anew for every step. Exploitation takes
    steps of one over twice the larger of |S| and |z|^2, z_i = x_i / sqrt(m_i) on S; its other
    reads serve the m_i.

    With budget = k nothing is left to explore with. Every other round of an exploration then puts
    a random half of S aside, reads that many others, predicts with the rest, and counts <x, theta>
    as the sum of the rest times |S| / |rest|, which is right on average (for k = 1 nothing is left
    and features count as uncorrelated). S itself is judged by the rounds between. Exploitations
    of `hybrid` are longer there, s times the exploration of step s.

    An absent value counts as the mean of its feature when the ticket was issued. A label that
    comes after its phase counts in the m_i only.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.HardThresholdingLearner(kh.Problem(d=20, k=2, budget=6), hybrid=True)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED = ("_search",)
    MEMOS = (HardThresholdingDraw,)

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        hybrid: bool = False,
        batch_size: int | None = None,
        growth: float = 1.25,
        step_size: float | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self.hybrid = true_or_false("hybrid", hybrid)
        fresh = default_batch_size(problem) if batch_size is None else batch_size
        self.batch_size = whole_number("batch_size", fresh, 1)
        self.growth = real_number("growth", growth, 1.0)
        hint = "; None adapts it"
        self.step_size = (
            None if step_size is None else positive_number("step_size", step_size, hint)
        )
        self._search = nothing_found(problem.d, problem.k, self.batch_size)

    @property
    def weights(self) -> Floats:
        """The model that is played, at most k non-zeros."""
        return self._search.theta.copy()

    @property
    def steps(self) -> int:
        """How many gradient steps were taken."""
        return int(self._search.whole[STEPS])

    def _predict(self, seen: Observation) -> float:
        """<x, theta> with the theta of the ticket."""
        memo = seen.ticket.memo
        return float(memo["played"] @ filled(seen.values, memo["means"]))

    def _learn(self, seen: Observation, label: float) -> None:
        """Take in a round; begin a new phase if it was the last one missing."""
        search, whole = self._search, self._search.whole
        draw = HardThresholdingDraw(seen.ticket.features, **seen.ticket.memo)
        i, values = seen.arrived()
        search.total[i] += values
        search.square[i] += values * values
        search.arrived[i] += 1
        if abs(draw.phase[0]) != whole[PHASE] + 1:
            return  # a late label: the model has moved on
        whole[TOLD] += 1
        x = filled(seen.values, draw.means)
        if whole[EXPLOITING]:
            descend(search, draw.features[draw.inside], x[draw.inside], label)
            if whole[TOLD] >= whole[LENGTH]:
                self._begin(exploiting=False)
            return
        residual, complete = draw.scale[0] * (draw.played @ x) - label, draw.phase[0] > 0
        read = slice(None) if complete else ~draw.inside
        j = draw.features[read]
        search.gradient[j] += residual * x[read]
        search.seen[j] += 1
        whole[LACKING] -= np.count_nonzero(search.seen[j] == int(search.pace[FRESH]))
        if complete:
            square = residual * residual
            search.losses[NOW] += (1.0, square, square * square)
        if whole[LACKING] == 0 or (complete and self._worse(AT_ONCE)):
            self._step()

    def _choose(self, t: int) -> Choice:
        """The support and the features whose turn it is; then it is the turn of others."""
        search, whole = self._search, self._search.whole
        size, cursor, d = int(whole[SIZE]), int(whole[CURSOR]), self.problem.d
        S = kept = search.support[:size]
        free, outside, scale, phase = self.problem.reads - size, d - size, 1.0, whole[PHASE] + 1
        if free == 0 and outside > 0 and not whole[EXPLOITING] and whole[TURN] % 2 == 1:
            # Nothing is left to explore with: every other round puts half of the support aside.
            free = (size + 1) // 2
            kept = S[uniform_subset(self.seed, t, size, size - free, purpose=ASIDE)]
            scale, phase = size / len(kept) if len(kept) else 1.0, -phase
        n = min(free, outside)
        others = search.order[np.arange(cursor, cursor + n) % max(outside, 1)]
        whole[CURSOR] = (cursor + n) % max(outside, 1)
        whole[TURN] += 1
        features = np.concatenate([kept, others])
        order = np.argsort(features)
        features, inside = features[order], order < len(kept)
        played = np.where(inside, search.theta[features], 0.0)
        means = search.total[features] / np.maximum(search.arrived[features], 1)
        one = np.array([scale]), np.array([phase])
        draw = HardThresholdingDraw(features, played, inside, means, *one)._asdict()
        return draw.pop("features"), draw

    def _take_back(self, ticket: Ticket) -> None:
        super()._take_back(ticket)
        whole = self._search.whole
        others = len(ticket.features) - np.count_nonzero(ticket.memo["inside"])
        whole[CURSOR] = (whole[CURSOR] - others) % max(self.problem.d - whole[SIZE], 1)
        whole[TURN] -= 1

    def _begin(self, *, exploiting: bool) -> None:
        """A phase with the support of theta: all others in a new order, nothing seen yet."""
        search, whole, d = self._search, self._search.whole, self.problem.d
        S = np.flatnonzero(search.theta)[: self.problem.k]
        whole[PHASE] += 1
        others = np.setdiff1d(np.arange(d), S, assume_unique=True).tolist()
        u = uniforms(self.seed, int(whole[PHASE]), len(others), purpose=ORDER).tolist()
        for i in range(len(others) - 1, 0, -1):
            j = int(u[i] * (i + 1))
            others[i], others[j] = others[j], others[i]
        search.support[: len(S)], search.order[: len(others)] = S, others
        whole[[EXPLOITING, SIZE, LACKING]] = exploiting and len(S) > 0, len(S), d
        whole[[CURSOR, TOLD, TURN]] = 0
        search.gradient[:], search.seen[:], search.losses[NOW] = 0.0, 0, 0.0
        search.iterate[:] = search.theta

    def _worse(self, doubt: float) -> bool:
        """Whether the last step should be taken back, and can be."""
        # No correlation matrix of 2k features has an eigenvalue above 2k.
        adaptive = self.step_size is None and self._search.pace[CURVATURE] < 2.0 * self.problem.k
        return bool(adaptive and worse(self._search.losses, doubt))

    def _step(self) -> None:
        """All features have their fresh examples: a gradient step. Or the last again, shorter."""
        search, whole, pace, k = self._search, self._search.whole, self._search.pace, self.problem.k
        if self._worse(AT_THE_END):
            pace[CURVATURE] = min(2.0 * pace[CURVATURE], 2.0 * k)
        else:
            search.before[:] = search.theta
            search.losses[BEFORE] = search.losses[NOW]
            search.slope[:] = search.gradient / np.maximum(search.seen, 1)
            pace[FRESH] *= self.growth
        units, step = np.ones(self.problem.d), 2.0 * (self.step_size or 0.0)
        if self.step_size is None:
            units, step = search.square / np.maximum(search.arrived, 1), 1.0 / pace[CURVATURE]
        search.theta[:] = threshold(search.before, search.slope, units, step, k)
        whole[STEPS] += 1
        # Exploring costs nothing if the support is read beside it; else its share falls.
        whole[LENGTH] = whole[TOLD] * (whole[STEPS] if self.problem.reads == k else 1)
        self._begin(exploiting=self.hybrid)

    def _resume(self) -> None:
        """StateError unless support and order are the features, each once."""
        search, d = self._search, self.problem.d
        size, cursor = search.whole[SIZE], search.whole[CURSOR]
        S = search.support[: max(size, 0)]
        features = np.concatenate([S, search.order[: d - len(S)]])
        if (
            size > self.problem.k
            or cursor >= max(d - size, 1)
            or not np.array_equal(np.sort(features), np.arange(d))
            or (np.diff(S) < 1).any()
        ):
            raise StateError(f"no search of {self.problem} has the support {S.tolist()}")


def nothing_found(d: int, k: int, fresh: int) -> Search:
    """The state before the first round: nothing played, everything to be looked at."""
    zeros, none = np.zeros((7, d)), np.zeros((2, d), dtype=np.int64)
    whole = np.zeros(9, dtype=np.int64)
    whole[LACKING] = d
    return Search(
        theta=zeros[0],
        iterate=zeros[1],
        support=np.zeros(k, dtype=np.int64),
        order=np.arange(d),
        gradient=zeros[2],
        seen=none[0],
        before=zeros[3],
        slope=zeros[4],
        losses=np.zeros((2, 3)),
        total=zeros[5],
        square=zeros[6],
        arrived=none[1],
        pace=np.array([1.0, float(fresh)]),
        whole=whole,
    )


def threshold(theta: Floats, slope: Floats, units: Floats, step: float, k: int) -> Floats:
    """The k largest of theta_i - step slope_i / units_i, in size times sqrt(units_i)."""
    known = units > 0.0
    moved = np.where(known, theta - step * slope / np.where(known, units, 1.0), 0.0)
    best, out = np.empty(k, dtype=np.int64), np.zeros(len(theta))
    largest(np.abs(moved) * np.sqrt(units), best)
    out[best] = np.where(np.isfinite(moved[best]), moved[best], 0.0)
    return out


def worse(losses: Floats, doubt: float) -> bool:
    """Whether the mean loss is now above that of before by `doubt` standard errors."""
    n, errors, squares = losses.T
    if n.min() < 8.0:
        return False
    mean = errors / n
    variance = np.maximum(0.0, squares / n - mean * mean) / n
    return bool(mean[NOW] - mean[BEFORE] > doubt * math.sqrt(variance.sum()))


def descend(search: Search, S: Indices, x: Floats, y: float) -> None:
    """Averaged stochastic gradient on the support, in units of the features' root mean squares."""
    error = search.iterate[S] @ x - y
    known = search.square[S] > 0.0
    S, x = S[known], x[known]
    scaled = x / (search.square[S] / search.arrived[S])
    move = error * scaled / (2.0 * max(float(x @ scaled), float(search.whole[SIZE])))
    search.iterate[S] -= np.where(np.isfinite(move), move, 0.0)
    search.theta[S] += (search.iterate[S] - search.theta[S]) / (search.whole[TOLD] + 1.0)
