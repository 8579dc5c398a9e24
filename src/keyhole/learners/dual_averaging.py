"""Dual averaging with the k largest coordinates played (Ito et al. 2017, 2018)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.fit.linear import weigh
from keyhole.blocks.fit.truncation import top_k
from keyhole.blocks.literature import dual_averaging as kernels
from keyhole.blocks.literature.dual_averaging import Draw, Rule, nothing_learnt, room_for
from keyhole.learners.base import BlockRounds
from keyhole.problem import Floats, Observation, Problem, ProblemError, Ticket, nearest, real_number
from keyhole.saving.memo import Arrays, refuse_foreign, writable, written
from keyhole.saving.snapshot import State

GRADIENTS = {"residual": False, "unbiased": True}  # whether at the whole iterate
SCHEDULES = ("adaptive", "paper")


def _memo_of(draw: Draw, n: int) -> dict[str, NDArray[Any]]:
    return {
        "played": draw.played[:n],
        "point": draw.point[:n],
        "always": draw.always[:n],
        "means": draw.means[:n],
        "chances": draw.chances,
    }


def _memo_like(ticket: Ticket) -> Arrays:
    n = len(ticket.features)
    return _memo_of(room_for(n), n)


class DualAveragingLearner(BlockRounds):
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
        Of what is explored.
    gradient
        "residual": v is what is played (Ito et al. 2018, Algorithm 3 with A = I). "unbiased": v is
        the whole iterate (2017, Algorithm 1), whose estimate needs pairs, so at least two explored
        features, and has more variance: (d/k0)^2 where the other has d/k0.
    radius
        Bound on the norm of the iterate. None measures it: 1.25 times the root mean square of the
        labels over that of the values, which makes the learner indifferent to the units of both.
    schedule
        "adaptive": lambda_t = sqrt(sum |g|^2) / radius. "paper": lambda_t = sqrt(8 d t / k0), for
        features and labels of about unit size.

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

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        gradient: str = "residual",
        radius: float | None = None,
        schedule: str = "adaptive",
    ) -> None:
        super().__init__(problem, seed=seed)
        for name, value, known in (
            ("gradient", gradient, tuple(GRADIENTS)),
            ("schedule", schedule, SCHEDULES),
        ):
            if not isinstance(value, str) or value not in known:
                raise ProblemError(
                    f"{name} must be one of {', '.join(known)}, got {value!r}"
                    f"{nearest(value, known)}"
                )
        self.gradient, self.schedule = gradient, schedule
        self.radius = None if radius is None else real_number("radius", radius, 0.0)
        if self.radius == 0.0:
            raise ProblemError("radius must be positive, got 0; None measures it")
        d, k, budget = problem.d, problem.k, problem.budget
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

    def ask(self) -> Ticket:
        """A ticket for S and what is explored beside it."""
        draw, d = room_for(self.problem.budget), self.problem.d
        key = (np.uint64(self.seed), self.round + 1)
        n = kernels.choose(*key, self._rule, self._dual, draw, workspace(d))
        return self._desk.issue(draw.features[:n], _memo_of(draw, n))

    def predict(self, seen: Observation) -> float:
        """<x, w> on S with the w of the ticket."""
        memo = written(seen.ticket, _memo_like(seen.ticket))
        return float(weigh(memo["played"], memo["means"], seen.values))

    def tell(self, seen: Observation, y: float) -> None:
        """Add the gradient."""
        ticket, label = self._desk.settle(seen, y)
        draw = Draw(features=np.array(ticket.features), **writable(ticket.memo))
        kernels.learn(self._dual, draw, np.array(seen.values), label)

    def _play(self, block: Block) -> int:
        room = room_for(self.problem.budget)
        return int(kernels.rounds(block, self._rule, self._dual, room))

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {"gradient": self.gradient, "radius": self.radius, "schedule": self.schedule}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner that `state` described."""
        learner = super().from_state(state)
        refuse_foreign(learner._desk, _memo_like)
        return learner
