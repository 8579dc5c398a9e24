"""Online orthogonal matching pursuit (OMP), with every feature read."""

from __future__ import annotations

from keyhole.learners.base import refuse_less_than_everything
from keyhole.learners.moment_base import MomentLearner, SupportPlan
from keyhole.problem import Problem

SELECT_EVERY = 10  # features are selected anew after a tenth of the rounds so far


class OnlineOMPLearner(MomentLearner):
    """Reads everything and plays VAW on the k features of forward selection.

    The rule is that of `ExploreThenCommitLearner`, on sums of complete rows: from the correlations
    R and c of all rows so far, k times the feature that lowers the squared error most. It is
    applied anew at rounds 2, 3, 4, ..., each a tenth beyond the one before. A reference: what a
    learner with a budget loses against it is the price of not looking.

    Sums: those of all rows. Derived: the support, VAW.

    Parameters
    ----------
    problem
        With budget = d.
    seed
        Not used: this learner draws nothing.
    ridge
        Regularisation, in rows: R_jj is 1 + ridge / (rows that have j).

    Guarantee
    ---------
    None against any sequence. For y = <x, w*> + noise with a k-sparse w* whose weights stand out of
    the noise, forward selection finds the support after enough rows if no other feature is too
    correlated with it (Tropp 2004, IEEE IT 50; with noise, Zhang 2009, JMLR 10); from then on VAW's
    bound holds for k features, O(k log T).

    Deviations
    ----------
    Centred, scaled, kept in the range of labels so far, as `ExploreThenCommitLearner` is. A
    feature that is to 95 % a combination of those selected before it is passed over.

    Examples
    --------
    >>> import numpy as np
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, noise_sd=0.1, seed=0)
    >>> learner = kh.OnlineOMPLearner(kh.Problem(d=20, k=2, budget=20))
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED = ("_sums", "_limits", "_support", "_next")
    HANDLES_PRICES = True  # reads everything, or is refused

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        refuse_less_than_everything(problem, "online OMP")
        super().__init__(problem, seed=seed, ridge=ridge)
        self._next = 2  # the round before which features are selected anew

    def _plan(self, t: int) -> SupportPlan:
        if t >= self._next:
            self._select()
            self._next = t + 1 + t // SELECT_EVERY
        return SupportPlan(self._support, self.problem.d - len(self._support))
