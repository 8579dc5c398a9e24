"""Epsilon-greedy correlation screening."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.literature import screening as kernels
from keyhole.blocks.literature.screening import Rule
from keyhole.learners.moment_base import MomentLearner
from keyhole.problem import Floats, Observation, Problem, Ticket, real_number


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

    SAVED = ("_desk", "_sums", "_limits")
    MEMOS = ()
    SETTINGS = ("epsilon", "decay", "ridge")

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
        self._rule = Rule(problem.k, self.ridge, self.epsilon, self.decay)

    def ask(self) -> Ticket:
        """A ticket for `budget` features: those on top, or any."""
        features = np.empty(self.problem.width, dtype=np.int64)
        key, out = (np.uint64(self.seed), self.round + 1), (features, workspace(self.problem.d))
        n = kernels.choose(*key, self._rule, self._arrays(), self._shop, *out)
        return self._desk.issue(features[:n])

    def _predict(self, seen: Observation) -> float:
        """The prediction of VAW on the k of those read that are most correlated with the label."""
        row = (np.array(seen.ticket.features), np.array(seen.values))
        return float(kernels.predict(*row, self._rule, self._arrays()))

    def _play(self, block: Block) -> int:
        return kernels.play(block, self._rule, self._arrays(), self._shop)

    def _model(self) -> tuple[Floats, float]:
        weights, S = np.zeros(self.problem.d), np.arange(self.problem.d)
        if self.problem.prices is not None:  # of what it would buy
            n = kernels.on_top(self._rule, self._arrays(), self._shop, S)
            S = S[:n]
        constant = kernels.model(S, self._rule, self._arrays(), weights)
        return weights, float(constant)
