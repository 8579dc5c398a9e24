"""Iterative hard thresholding from partial reads (Murata, Suzuki 2018)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.literature import hard_thresholding_kernels as kernels
from keyhole.blocks.literature.hard_thresholding import (
    CURSOR,
    SIZE,
    STEPS,
    Draw,
    Rule,
    first,
    nothing_found,
    room_for,
)
from keyhole.errors import true_or_false
from keyhole.learners.draw_base import DrawLearner
from keyhole.problem import (
    Floats,
    Problem,
    StateError,
    positive_number,
    real_number,
    whole_number,
)


def default_batch_size(problem: Problem) -> int:
    """2 k log d, at least 8: with less, k noisy coordinates of d are more than the signal."""
    return max(8, math.ceil(2 * problem.k * math.log(problem.d)))


class HardThresholdingLearner(DrawLearner):
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

    SAVED = ("_desk", "_search")
    MEMOS = (Draw,)
    SETTINGS = ("hybrid", "batch_size", "growth", "step_size", "clip")

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
        sizes = (problem.k, problem.reads)
        self._rule = Rule(*sizes, self.hybrid, self.step_size or 0.0, self.growth)
        self._search = nothing_found(problem.d, problem.k, self.batch_size)

    @property
    def weights(self) -> Floats:
        """The model that is played, at most k non-zeros."""
        return self._search.theta.copy()

    @property
    def steps(self) -> int:
        """How many gradient steps were taken."""
        return int(self._search.whole[STEPS])

    def _choose(self, t: int) -> Draw:
        room, space = room_for(self.problem.reads), workspace(self.problem.d)
        n = kernels.choose(np.uint64(self.seed), t, self._rule, self._search, room, space)
        return first(room, n)

    def _learn(self, draw: dict[str, NDArray[Any]], values: Floats, y: float) -> None:
        told = (Draw(**draw), values, y)
        kernels.learn(np.uint64(self.seed), self._rule, self._search, *told)

    def _play(self, block: Block) -> int:
        return kernels.play(block, self._rule, self._search, room_for(self.problem.reads))

    def _resume(self) -> None:
        """StateError unless support and order are the features, each once: kernels trust them."""
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
