"""DS-POSLRC of Li, Liao, Xu and Nie: the Dantzig selector, exploring beside the played support."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np

from keyhole.learners.base import Choice, at_least
from keyhole.learners.blocks.draw.mixed_sampling import mixed_scheme
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.weighted_dantzig import DSLearner, DSSettings, Spread
from keyhole.problem import Floats, Observation, Problem, ProblemError, real_number
from keyhole.problem.state import PerFeature


class DSPOSLRCMemo(NamedTuple):
    """What a ticket remembers: the model that was in play, and how the features were drawn."""

    weights: PerFeature
    means: PerFeature
    marks: PerFeature
    spread: Spread


class DSPOSLRCLearner(DSLearner):
    """Plays the k largest weights of a Dantzig program, and explores outside of them.

    S_t are the k largest coordinates of w_hat. Every round reads S_t, predicts <x(S_t), w_hat(S_t)>
    and reads k0 = budget - |S_t| features more outside S_t: one drawn with probability proportional
    to |w_hat_i|, the others uniformly (`draw/mixed_sampling.py`). With P_t[i], P_t[i, j] the
    exact probabilities of reading a feature and a pair, 1 within S_t,

        G_ij = (1/n) sum x_i x_j / P_t[i, j],   b_i = (1/n) sum x_i y / P_t[i],
        w_hat = argmin |w|_1  s.t.  |b - G w|_inf <= gamma_n.

    So rows of G that matter, those of S_t, are seen with probability k0/(d - k), not (k0/d)^2.

    Sums: of products over probabilities, and of inverse probabilities. Derived: the model, solved
    for again whenever t has grown by a fifth.

    Parameters
    ----------
    problem
        budget - k must be at least 2, or budget = d.
    seed
        Random seed, for the exploration sets.
    threshold_scale
        What gamma is multiplied by; 1 is the paper, with which the program returns w = 0 for all
        practical t (docs/algorithms/ds-poslrc.md).
    noise_sd
        sigma, for features, labels and |w*|_1 that are at most 1. None: features and labels are
        brought to mean square 1 in the program, and sigma is at its largest, that of the labels.
    failure_probability
        delta.
    weighting
        "exact" is G, b above; "ratio" divides by the sums of 1/P_t[i, j], 1/P_t[i] in place of n.
    growth
        The program is solved again when t has grown by this factor.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Li, Liao, Xu, Nie (COLT 2025): regret O(k^2 d/(delta_S^4 k0) (d/k0 + log T) log(d T/delta)) with
    probability 1 - delta, if y = <x, w*> + N(0, sigma^2), |x|_inf <= 1, |w*|_1 <= 1, the design has
    a compatibility constant delta_S for the support of w*, k0 >= 3 and a program is solved in every
    round with the printed gamma. None of that is checked, and the defaults break the last.

    Deviations
    ----------
    The program is solved on a geometric schedule, which the authors call plausible and do not
    prove. gamma is the printed one of DS-OSLRC with the mean inverse probabilities of the rounds
    so far in place of their bounds, without the schedule by which its last term shrinks (that takes
    delta_S), times `threshold_scale`. Coordinates where w_hat is 0 are not played: their reads
    explore. q takes |w_hat|, where the paper prints w_hat. With k0 = 2 the draw is uniform: the
    mixed one would leave pairs that are never seen. An absent value is left out of the sums, and
    counts in predictions as its mean at the last program; with "exact" that pulls G and b to 0,
    with "ratio" it does not. An infeasible program keeps the last weights (see `diagnostics`).

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=2000, noise_sd=0.1, seed=0)
    >>> learner = kh.DSPOSLRCLearner(kh.Problem(d=20, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED = ("_fit", "_next")
    MEMOS = (DSPOSLRCMemo,)

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        threshold_scale: float = 0.03,
        growth: float = 1.2,
        **options: Unpack[DSSettings],
    ) -> None:
        if problem.reads < min(problem.k + 2, problem.d):
            enough = f"k + 2 = {problem.k + 2}, or d = {problem.d}"
            raise ProblemError(
                f"budget must be {at_least(problem, problem.k + 2, enough)}, got "
                f"{problem.budget}: with fewer than two features to explore with, no pair of them "
                "is ever seen together"
            )
        super().__init__(problem, seed=seed, threshold_scale=threshold_scale, **options)
        self.growth = real_number("growth", growth, 1.0)
        self._next = 2  # the round before which the program is solved again
        self._derive()

    @property
    def weights(self) -> Floats:
        """The played weights, at most k of them not 0."""
        return self._played.copy()

    def settings(self) -> dict[str, float | str | None]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {**self._fit.settings(), "growth": self.growth, "clip": self.clip}

    def _choose(self, t: int) -> Choice:
        """The support and what is drawn outside of it."""
        features = self._scheme.read(self.seed, t)
        # The label may come when another model is in play, with other probabilities.
        model = (self._played[features], self._fit.means[features])
        memo = DSPOSLRCMemo(*model, self._odds.marks[features], self._odds.spread)
        return features, memo

    def _predict(self, seen: Observation) -> float:
        """<x, w_t> with the w_t of the ticket; the mean stands in for a value that is absent."""
        memo, x = seen.ticket.memo, seen.values
        return float(memo["weights"] @ np.where(np.isnan(x), memo["means"], x))

    def _learn(self, seen: Observation, label: float) -> None:
        """Add what was read to the sums, with the probabilities of its round."""
        ticket = seen.ticket
        self._add(ticket, seen.values, label)

    def _before_round(self, t: int) -> None:
        """A new model before round t, if one is due."""
        if t >= self._next:
            self._next = max(t + 1, math.ceil(self.growth * t))
            if self._fit.solve(t):
                self._derive()

    def _derive(self) -> None:
        problem, w = self.problem, self._fit.w
        S = top_k(w, problem.k)
        self._played: Floats = np.zeros(problem.d)
        self._played[S] = self._fit.weights[S]
        self._scheme = mixed_scheme(w, S, problem.reads - len(S))
        self._odds = self._scheme.arrays()
