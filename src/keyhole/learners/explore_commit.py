"""Explore, then commit: read at random, select features once, play them."""

from __future__ import annotations

import math

import numpy as np

from keyhole.learners.moment_base import MomentLearner, SupportPlan
from keyhole.problem import Problem, ProblemError, whole_number


class ExploreThenCommitLearner(MomentLearner):
    """Reads random features for a while, selects k by orthogonal matching pursuit, plays those.

    Exploring rounds read a uniform subset of `budget` features. From the sums of all that was read
    so far (R the correlations of the features, each over the rows that have both; c those with the
    label) forward selection takes

        S_0 = {},   S_{i+1} = S_i + argmax_j (c_j - R_jS w)^2 / (R_jj - R_jS R_SS^-1 R_Sj),

    w the least squares solution on S_i: the feature that lowers the squared error most. After k
    steps the learner commits to S and predicts by VAW on it.

    Without `horizon` and `exploration` that happens in epochs of T = 1, 2, 4, ... rounds, of which
    the first ceil(T^(2/3) (d/budget)^(1/3)) explore; all sums are kept, and the committed rounds
    spend what the support leaves of the budget on features drawn uniformly, which are added too.

    With prices, features are drawn in a random order, of which those are bought that still fit;
    d/budget is what all features cost, in budgets; and S is selected within the money, twice, by
    gain and by gain per price, whichever explains more.

    Sums: those of all that was read. Derived: the support, selected when a commitment begins, and
    VAW.

    Parameters
    ----------
    problem
        Any; with budget = k nothing is explored in committed rounds.
    seed
        Random seed.
    horizon
        T, the number of rounds, for the classic single phase; None for epochs.
    exploration
        How many rounds explore in the single phase; None for ceil(T^(2/3) (d/budget)^(1/3)). May
        be given without a horizon.
    ridge
        Regularisation, in rows: R_jj is 1 + ridge / (rows that have j).

    Guarantee
    ---------
    Folklore, made precise for epochs by Langford and Zhang (2007, NIPS): if examples
    are independent and alike and n explored rounds select a model that is worse than the best by
    e(n), regret is n + T e(n); with e(n) of order (d / (budget n))^(1/2) that is O(T^(2/3)) at the
    n above, without a horizon as well. e(n) is trusted: forward selection finds the best k features
    only under conditions on their correlations (for instance Zhang 2009, JMLR 10).

    Deviations
    ----------
    Exploring rounds predict too: VAW on at most k of the features just read, by the same selection
    among those that are two standard errors away from no use. VAW is computed from the sums of all
    rows, those of other supports included; where features were seen in different rows that is an
    approximation. Features and label are centred by their means so far and scaled; predictions
    stay within the labels so far. A value that did not arrive is left out of the round. The single
    phase reads only its support after it has committed: further reads would be of no use to it.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=4096, noise_sd=0.1, seed=0)
    >>> learner = kh.ExploreThenCommitLearner(kh.Problem(d=20, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True

    References
    ----------
    Langford, Zhang (2007), The epoch-greedy algorithm for contextual multi-armed bandits, NIPS.
    Pati, Rezaiifar, Krishnaprasad (1993), Orthogonal matching pursuit, Asilomar.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        horizon: int | None = None,
        exploration: int | None = None,
        ridge: float = 1.0,
    ) -> None:
        super().__init__(problem, seed=seed, ridge=ridge)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        self.exploration = (
            None if exploration is None else whole_number("exploration", exploration, 1)
        )
        if self.horizon is not None and (self.exploration or 1) > self.horizon:
            raise ProblemError(
                f"exploration must be at most horizon = {self.horizon}, got {self.exploration}"
            )

    def explored(self, T: int) -> int:
        """How many of T rounds explore: ceil(T^(2/3) (d/budget)^(1/3)), at most T.

        >>> ExploreThenCommitLearner(Problem(d=16, k=1, budget=2)).explored(1000)
        200
        """
        # Roots are a hair too large or too small: the cubic root of 8,000,000 is not exactly 200.
        problem = self.problem
        prices = problem.prices
        if prices is None or problem.counted:
            rows = T * T * problem.d / problem.reads
        else:  # how many budgets it takes to read everything once
            everything = prices.count(range(problem.d))
            rows = T * T * min(problem.d, max(1.0, everything / max(1, problem.limit)))
        root = math.pow(rows, 1 / 3)
        return min(T, math.ceil(round(root, 6)))

    def _plan(self, t: int) -> SupportPlan:
        commits, budget = self._commits(t), self.problem.width
        if t < commits:
            return SupportPlan(np.empty(0, dtype=np.int64), budget)
        if t == commits or not len(self._support):
            self._select()
        S = self._support
        if not len(S):  # no label yet, or nothing in them: try again next round
            return SupportPlan(S, budget)
        counted = self.problem.counted  # else it draws until the money is spent
        others = 0 if self._single else budget - len(S) if counted else budget
        return SupportPlan(S, others)

    @property
    def _single(self) -> bool:
        return self.horizon is not None or self.exploration is not None

    def _commits(self, t: int) -> int:
        """The round of the epoch of round t that is the first one not to explore."""
        if self._single:
            return 1 + (self.exploration or self.explored(self.horizon or 1))
        T = 1 << (t.bit_length() - 1)
        return T + self.explored(T)
