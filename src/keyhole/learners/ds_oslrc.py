"""DS-OSLRC of Li, Liao, Xu and Nie: explore at square rounds, else online Newton on the support."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple, Unpack

import numpy as np

from keyhole.learners.base import Choice, at_least
from keyhole.learners.blocks.draw.mixed_sampling import mixed_scheme
from keyhole.learners.blocks.fit.truncation import top_k
from keyhole.learners.ds_base import DSLearner, Options, Spread
from keyhole.learners.newton import NewtonStep, predicted
from keyhole.learners.squares import is_square
from keyhole.problem import Floats, Indices, Observation, Problem, ProblemError, Ticket
from keyhole.problem.fields import Holds, PerFeature
from keyhole.problem.soundness import refuse_another_model


class Explored(NamedTuple):
    """What the ticket of a square round remembers: the whole model, and how features were drawn."""

    means: PerFeature
    limits: Annotated[Floats, Holds(least=0.0, shape=(2,))]
    marks: PerFeature
    spread: Spread
    weights: PerFeature


class ExploitedOnly(NamedTuple):
    """What the ticket of another round remembers: the model on the support, and its number."""

    means: Annotated[Floats, Holds(shape=("support",))]
    limits: Annotated[Floats, Holds(least=0.0, shape=(2,))]
    support: Annotated[Indices, Holds(ascending=True, longest="k", among="features")]
    weights: Annotated[Floats, Holds(shape=("support",))]
    number: Annotated[Indices, Holds(shape=())]


class Exploited(NamedTuple):
    """The same where the row goes into the sums: how features were drawn, too."""

    means: Annotated[Floats, Holds(shape=("support",))]
    limits: Annotated[Floats, Holds(least=0.0, shape=(2,))]
    marks: PerFeature
    spread: Spread
    support: Annotated[Indices, Holds(ascending=True, longest="k", among="features")]
    weights: Annotated[Floats, Holds(shape=("support",))]
    number: Annotated[Indices, Holds(shape=())]


class DSOSLRCLearner(DSLearner):
    """Explores at rounds 1, 4, 9, 16, ...; in between, online Newton steps on the chosen support.

    Round t = s^2 reads `budget` features, one drawn with probability proportional to |w_hat_i|, the
    others uniformly (`blocks/draw/mixed_sampling.py`), predicts with the part of w_hat that was
    read, and then

        w_hat = argmin |w|_1  s.t.  |b - G w|_inf <= gamma_s,   S = its k largest coordinates,

    where G and b sum what was explored, every product divided by its round's exact probability of
    being read. All other rounds read S and predict by the online Newton step on it
    (`keyhole.learners.newton`), which begins anew, from w_hat(S), when S changes.

    Sums: of products over probabilities, of inverse probabilities; Newton's A. Derived: w_hat, S.

    Parameters
    ----------
    problem
        The budget is at least 2, or d.
    seed
        Random seed, for the exploration sets.
    threshold_scale, noise_sd, failure_probability, weighting
        As in `DSPOSLRCLearner`. A `noise_sd` also gives the printed constants of the Newton step:
        A = k I at the start, and rho at most 1/(2 (1 + Y)^2), Y = 1 + sigma sqrt(2 log(1/delta)).
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Li, Liao, Xu, Nie (COLT 2025), for budget = k: regret
    4 sqrt(T) + (1024 k^2 d^2/(delta_S^8 h^2)) log(d T/delta)^2 with probability 1 - delta, if
    y = <x, w*> + N(0, sigma^2), |x|_inf <= 1, |w*|_1 <= 1, 3 <= k <= d - 3, the smallest weight of
    w* is h, and the design has a compatibility constant delta_S for its support. Printed constants
    only; none of it is checked.

    Deviations
    ----------
    The paper reads k features and plays k. Here exploration reads all of the budget; other rounds
    read S and, with what is left of the budget, features outside of S, drawn in the same way and
    added to G and b with their own probabilities, as DS-POSLRC does. If that is a single feature
    out of several, which sees no pair, it is not read; with budget = k nothing is left, as in the
    paper. gamma is that of `DSPOSLRCLearner`. At the start w_hat is 0, not 1/d everywhere: the
    first draw is uniform in both cases. Coordinates where w_hat is 0 are not in S. Without a noise
    level, A starts from k times the mean squares of the features and rho from the largest error so
    far: nothing depends on units. Predictions are kept within the largest |y| so far, not within
    1, in exploration too. A label that comes after S has changed teaches the Newton step nothing.
    An absent value counts, in predictions, as its mean at the last program, and is left out of G
    and b.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.DSOSLRCLearner(kh.Problem(d=20, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED = ("_desk", "_fit", "_newton", "_number")
    MEMOS = (Explored, Exploited, ExploitedOnly)

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        threshold_scale: float = 0.05,
        **options: Unpack[Options],
    ) -> None:
        if problem.reads < min(2, problem.d):
            raise ProblemError(
                f"budget must be {at_least(problem, 2, '2')}, got {problem.budget}: with one "
                "feature no pair is ever seen together"
            )
        super().__init__(problem, seed=seed, threshold_scale=threshold_scale, **options)
        self._newton = NewtonStep(problem.k)
        self._number = 0  # of the support: how many were in play before
        self._derive()

    @property
    def weights(self) -> Floats:
        """The weights of the Newton step, on the support."""
        weights = np.zeros(self.problem.d)
        weights[self._support] = self._newton.weights
        return weights

    def _choose(self, t: int) -> Choice:
        """A sample of everything at square rounds, else the support and some others."""
        explores = is_square(t)
        scheme, odds = self._explore if explores else self._exploit
        features = scheme.read(self.seed, t)
        drawn = (odds.marks[features], odds.spread)
        S = features if explores else scheme.support
        past = (self._fit.means[S], self._newton.limits)
        w, number = self._newton.weights, np.array(self._number)
        memo: NamedTuple
        if explores:
            memo = Explored(*past, *drawn, self._fit.weights[features])
        elif self._adds:
            memo = Exploited(*past, *drawn, S, w, number)
        else:  # the row adds nothing to the sums
            memo = ExploitedOnly(*past, S, w, number)
        return features, memo._asdict()

    def _predict(self, seen: Observation) -> float:
        """The prediction of the ticket's model, as it was when the ticket was issued."""
        memo = seen.ticket.memo
        return predicted(memo["weights"], memo["limits"], self._row(seen.ticket, seen))

    def _learn(self, seen: Observation, label: float) -> None:
        """Learn the label: the Newton step if its support is still in play, and the sums."""
        ticket = seen.ticket
        memo = ticket.memo
        if "number" in memo and memo["number"] == self._number:
            self._newton.step(self._row(ticket, seen), label)
        else:
            self._newton.note(label)
        if "marks" in memo:
            self._add(ticket, seen.values, label)

    def _row(self, ticket: Ticket, seen: Observation) -> Floats:
        """The values of what is played, means in place of those that are absent."""
        S = ticket.memo.get("support")
        x = seen.values if S is None else seen.at(S)
        return np.where(np.isnan(x), ticket.memo["means"], x)

    def _before_round(self, t: int) -> None:
        """A program, if the last round explored."""
        if t == 1 or not is_square(t - 1) or not self._fit.solve(t):
            return
        before = self._support
        self._derive()
        S = self._support
        if np.array_equal(S, before):
            self._newton.refresh()
            return
        self._number += 1
        k, fit = self.problem.k, self._fit
        if fit.noise_sd is None:
            squares = fit.sums.squares[S]
            self._newton.start(fit.weights[S], k * np.where(squares > 0.0, squares, 1.0))
        else:
            Y = 1.0 + fit.noise_sd * math.sqrt(2.0 * math.log(1.0 / fit.failure_probability))
            self._newton.start(fit.weights[S], np.full(len(S), float(k)), worst=1.0 + Y)

    def _resume(self) -> None:
        super()._resume()
        refuse_another_model(self._desk, "number", self._number, self._support)

    @property
    def _support(self) -> Indices:
        return self._exploit[0].support

    def _derive(self) -> None:
        w, budget = self._fit.w, self.problem.reads
        S = top_k(w, self.problem.k)
        exploit = mixed_scheme(w, S, budget - len(S))
        if not exploit.sees_all_pairs:
            exploit = mixed_scheme(w, S, 0)
        explore = mixed_scheme(w, [], budget)
        self._explore, self._exploit = (explore, explore.arrays()), (exploit, exploit.arrays())
        self._adds = exploit.sees_all_pairs
        self._newton.v = len(S)
