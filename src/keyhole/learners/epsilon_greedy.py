"""Epsilon-greedy: read the features most correlated with the label, now and then any others."""

from __future__ import annotations

import numpy as np

from keyhole.learners.base import Choice
from keyhole.learners.blocks.draw.sampling import uniform_subset, uniforms
from keyhole.learners.blocks.draw.sorting import largest
from keyhole.learners.blocks.fit.purchase import best_buy
from keyhole.learners.blocks.sums.seen_sums import WEIGHT, SeenSums
from keyhole.learners.moment_base import (
    GATE_STANDARD_ERRORS,
    ForwardFit,
    MomentLearner,
    measure,
    natural,
    predicted,
    select_forward,
)
from keyhole.problem import Floats, Indices, Observation, Problem, real_number

SUBSET, COIN = range(2)  # purposes of the two draws of a round


class EpsilonGreedyLearner(MomentLearner):
    """Reads the features most correlated with the label, now and then any; plays the best k.

    Round t reads a uniform subset of `budget` features with probability

        epsilon_t = min(1, epsilon t^-decay),

    and else the `budget` features with the largest |c_j| N_j / (N_j + ridge), c_j the correlation
    with the label over the N_j rows that have feature j. It predicts by VAW on the k of those read
    that have the largest.

    With prices, a round that explores goes through the features in a random order and buys what
    still fits; the others buy a large sum of c_j^2 for the money: the best of three greedy orders,
    by c_j^2 and by c_j^2 per price, with the price of a panel or split among its members. What is
    fully paid for is read.

    Sums: those of all that was read. Derived: correlations, VAW.

    Parameters
    ----------
    problem
        Any.
    seed
        Random seed.
    epsilon, decay
        How often to explore; epsilon at least 0, decay from 0 to 1. decay = 0 explores at a
        constant rate, which a stream that drifts needs; epsilon = 0 only before the first label.
    ridge
        Regularisation, in rows, of screening and of VAW.

    Guarantee
    ---------
    Of the selection, not of regret: with d features of which the k relevant ones have correlations
    with the label bounded away from 0, screening keeps all of them with probability going to 1
    (Fan and Lv 2008, JRSS B 70, Theorem 1, for features that are nearly normal and not too
    correlated), and sum_t epsilon_t = O(T^(2/3)) rounds are spent on exploring. A relevant feature
    whose correlation with the label is cancelled by that of others is never found, however long the
    stream: see docs/algorithms/epsilon-greedy.md.

    Deviations
    ----------
    Fan and Lv screen once and fit a penalised model to what is left. Here the whole budget reads
    the features on top, not k of them: the runners-up are measured every round for free. VAW is
    computed from the sums of all rows, and leaves a feature out that is less than two standard
    errors away from no use. Features and label are centred by their means so far and scaled;
    predictions stay within the labels so far. A value that did not arrive is left out of the round.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=4096, noise_sd=0.1, seed=0)
    >>> learner = kh.EpsilonGreedyLearner(kh.Problem(d=20, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True

    References
    ----------
    Fan, Lv (2008), Sure independence screening for ultrahigh dimensional feature space, JRSS B.
    Auer, Cesa-Bianchi, Fischer (2002), Finite-time analysis of the multiarmed bandit problem (for
    exploration whose rate falls), Machine Learning.
    """

    SAVED = ("_sums", "_limits")
    MEMOS = ()

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        epsilon: float = 1.0,
        decay: float = 1 / 3,
        ridge: float = 1.0,
    ) -> None:
        super().__init__(problem, seed=seed, ridge=ridge)
        self.epsilon = real_number("epsilon", epsilon, 0.0)
        self.decay = real_number("decay", decay, 0.0, 1.0)

    def _choose(self, t: int) -> Choice:
        """`budget` features: those on top, or any."""
        d, width = self.problem.d, self.problem.width
        coin = uniforms(self.seed, t, 1, purpose=COIN)[0]
        if not (coin < self.epsilon * t**-self.decay or self._sums.totals[WEIGHT] == 0.0):
            return self._on_top(), {}
        if not self.problem.counted:
            return self._filled(t, np.empty(0, dtype=np.int64)), {}
        return uniform_subset(self.seed, t, d, width, purpose=SUBSET), {}

    def _on_top(self) -> Indices:
        """The features most correlated with the label, as many as the budget buys.

        With prices, a large sum of squared correlations for the money.
        """
        everything, width = np.arange(self.problem.d), self.problem.width
        if self.problem.counted:
            return screened(everything, width, self.ridge, self._sums)
        out = np.empty(width, dtype=np.int64)
        score = scores(everything, self.ridge, self._sums) ** 2
        return out[: best_buy(score, self._shop, out)]

    def _predict(self, seen: Observation) -> float:
        """The prediction of VAW on the k of those read that are most correlated with the label."""
        S, x = seen.arrived()
        places, fit = self._screened_fit(S)
        return predicted(x[places], fit, self._sums, self._limits)

    def _screened_fit(self, S: Indices) -> tuple[Indices, ForwardFit]:
        """Places in S of the k most correlated features; the fit of those that are significant."""
        k, ridge = self.problem.k, self.ridge
        places = screened(S, k, ridge, self._sums)
        return places, select_forward(S[places], k, GATE_STANDARD_ERRORS, ridge, self._sums)

    def _model(self) -> tuple[Floats, float]:
        # With prices, of what it would buy.
        S = np.arange(self.problem.d) if self.problem.counted else self._on_top()
        places, fit = self._screened_fit(S)
        return natural(S[places], fit, self._sums)


@np.errstate(all="ignore")
def scores(S: Indices, ridge: float, sums: SeenSums) -> Floats:
    """|correlation| of each feature with the label; from N rows it counts N / (N + ridge) of it."""
    units = measure(S, sums)
    score = np.abs(units.products) * units.rows / (units.rows + ridge)
    return np.where(score >= 0.0, score, 0.0)  # 0 for sums that are no sums, from a file


def screened(S: Indices, k: int, ridge: float, sums: SeenSums) -> Indices:
    """The places in S of the k features with the largest score, ascending; ties: the lower."""
    places = np.empty(min(k, len(S)), dtype=np.int64)
    largest(scores(S, ridge, sums), places)
    places.sort()
    return places
