"""Dual averaging with the k largest coordinates played (Ito et al. 2017, 2018)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.fit.truncation import top_k
from keyhole.blocks.literature import dual_averaging as kernels
from keyhole.blocks.literature.dual_averaging import Draw, Rule, first, nothing_learnt, room_for
from keyhole.errors import one_of
from keyhole.learners.draw_base import DrawLearner
from keyhole.problem import Floats, Problem, ProblemError, positive_number

GRADIENTS = {"residual": False, "unbiased": True}  # whether at the whole iterate
SCHEDULES = ("adaptive", "paper")


class DualAveragingLearner(DrawLearner):
    """Dual averaging: sum estimated gradients, play the k largest coordinates of the iterate.

    With h the sum of the gradient estimates so far, round t has the iterate

        w = -h / max(lambda_t, |h| / radius),

    the minimiser of <h, w> + lambda_t |w|^2 / 2 over |w| <= radius. It plays w on S, its k largest
    coordinates, and reads S and a uniform subset of the rest. With
    p_i, p_ij the probabilities, given S, to read feature i and the pair i, j,

        g_i = (2 x_i / p_i) (sum_j v_j x_j p_i / p_ij - y)      for the features read, 0 elsewhere,

    is an unbiased estimate of the gradient of (<x, v> - y)^2, and is added to h. For v = w on S
    the bracket is the residual of the prediction, exactly: no pair outside S is needed.

    Sums: the gradients, their squares, the values read, their squares and those of the labels.
    Derived: iterate, support, radius.

    Parameters
    ----------
    problem
        |S| <= k features are played, all others of the budget explore. See Deviations for
        budget = k.
    seed
        Random seed.
    gradient
        "residual": v is what is played (Ito et al. 2018, Algorithm 3 with A = I). "unbiased": v is
        the whole iterate (2017, Algorithm 1), whose estimate needs pairs, so at least two explored
        features, and has more variance: (d/k0)^2 where the other has d/k0.
    radius
        Bound on the norm of the iterate. None measures it: 1.25 times the root mean square of the
        labels over that of the values, which makes the learner indifferent to the units of both.
    schedule
        "adaptive": lambda_t = sqrt(sum |g|^2) / radius. "paper": lambda_t = sqrt(8 d t / k0), that
        of 2018, for features and labels of about unit size. Its bound is that of
        gradient="residual"; the bound of 2017, gradient="unbiased", needs a lambda_t proportional
        to (d/k0) sqrt(t), which is not among the schedules.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi. NIPS 2017: for
    gradient="unbiased", budget >= k + 2, i.i.d. bounded features with E x x' >= sigma^2 I and
    labels of a k-sparse model with bounded noise, expected regret O(d / (sigma^2 k0) sqrt(T)),
    k0 = budget - k. AISTATS 2018: for gradient="residual" and any sequence with |x| <= 1, |y| <= 1,
    expected regret (D + 1)^2 sqrt(8 d / k0) sqrt(T + 1) + 2 (D + 1) sum_t e_t with D the radius and
    e_t the size of what the truncation in round t cuts off. Neither is checked. With the adaptive
    lambda_t the first term is of order radius sqrt(sum |g|^2); for a measured radius nothing is
    proven.

    Deviations
    ----------
    Values on S count in the gradient with p_i = 1. Slots of S that are not needed (zero
    coordinates) explore. With budget = k the rounds t = 1, 4, 9, 16, ... read a uniform subset of
    k features, as in Algorithm 2 of 2017, and play those of S among them; the rounds between read
    S and add its exact gradient, 0 elsewhere. Pairs that can never be read together (one explored
    feature) count as uncorrelated; the unbiased gradient refuses such problems. An absent value
    counts as the mean of its feature when the ticket was issued. In lambda_t, t counts labels told.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.DualAveragingLearner(kh.Problem(d=20, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED = ("_desk", "_dual")
    MEMOS = (Draw,)
    SETTINGS = ("gradient", "radius", "schedule", "clip")

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        gradient: str = "residual",
        radius: float | None = None,
        schedule: str = "adaptive",
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self.gradient = one_of("gradient", gradient, GRADIENTS)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        hint = "; None measures it"
        self.radius = None if radius is None else positive_number("radius", radius, hint)
        d, k, budget = problem.d, problem.k, problem.reads
        # With budget = k the rounds that explore do so with all of it.
        k0, rest = (budget - k, d - k) if budget > k else (budget, d)
        if GRADIENTS[gradient] and k0 == 1 < rest:
            raise ProblemError(
                f"budget must be at least {min(k + 2, d)} with gradient='unbiased', got {budget}: "
                "with one explored feature no pair is ever seen together; or use 'residual'"
            )
        printed = math.sqrt(8.0 * d / k0) if schedule == "paper" else 0.0
        self._rule = Rule(k, budget, self.radius or 0.0, printed, GRADIENTS[gradient])
        self._dual = nothing_learnt(d)

    @property
    def weights(self) -> Floats:
        """The iterate on its k largest coordinates."""
        w, played = np.empty(self.problem.d), np.zeros(self.problem.d)
        kernels.iterate(self._rule, self._dual, w)
        S = top_k(w, self._rule.k)
        played[S] = w[S]
        return played

    def _choose(self, t: int) -> Draw:
        room, space = room_for(self.problem.reads), workspace(self.problem.d)
        n = kernels.choose(np.uint64(self.seed), t, self._rule, self._dual, room, space)
        return first(room, n)

    def _learn(self, draw: dict[str, NDArray[Any]], values: Floats, y: float) -> None:
        kernels.learn(self._dual, Draw(**draw), values, y)

    def _play(self, block: Block) -> int:
        return kernels.play(block, self._rule, self._dual, room_for(self.problem.reads))
