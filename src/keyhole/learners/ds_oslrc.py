"""DS-OSLRC of Li, Liao, Xu and Nie: explore at square rounds, else online Newton on the support."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple, Unpack

import numpy as np

from keyhole.errors import LARGEST
from keyhole.learners.base import Choice, at_least
from keyhole.learners.blocks.draw.mixed_sampling import mixed_scheme
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.blocks.fit.linear_algebra import inverse
from keyhole.learners.blocks.fit.vaw import MAX_PRODUCT
from keyhole.learners.weighted_dantzig import DSLearner, DSSettings, Spread
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    Ticket,
    whole_number,
)
from keyhole.problem.state import Holds, PerFeature
from keyhole.problem.state_checks import refuse_another_model

LABEL, WORST = range(2)  # of `limits`: the largest |y| so far, the largest |y_hat - y| so far


class NewtonStep:
    """The online Newton step on up to k coordinates, O(k^2) per round.

    When x is there, u is projected, in the norm of A, on the w with |w.x| <= Y; that w predicts;
    then, with g = 2 (w.x - y) x,

        A <- A + rho g g',  u <- w - A^-1 g,  rho = 1 / (2 M^2).

    Y is the largest |y| so far and M the largest |w.x - y| since the start: square loss satisfies
    loss(v) >= loss(w) + g.(v - w) + (rho/2) (g.(v - w))^2 whenever |w.x - y| <= M.

    Sums: `A`. Maxima: Y and M in `limits`. Derived: `P` = A^-1, kept by rank-1 updates and anew by
    `refresh`; `u`. The arrays have room for k coordinates, of which the first `v` are in use; who
    restores one says how many (`v` is not saved: a learner knows its support).

    Parameters
    ----------
    k
        The largest number of coordinates.

    Guarantee
    ---------
    Against every v with |v.x| at most the Y of each round: regret at most
    (v - u_1)'A_0 (v - u_1)/2 + M^2 log(det A_T/det A_0), with the last M (Hazan, Agarwal, Kale
    2007; with this projection Luo, Agarwal, Cesa-Bianchi, Langford 2016).

    Examples
    --------
    >>> newton = NewtonStep(2)
    >>> newton.start(np.zeros(2), np.ones(2))
    >>> for _ in range(50):
    ...     prediction = newton.step(np.array([1.0, 0.0]), 3.0)
    >>> round(prediction, 3), newton.weights.round(3)
    (3.0, array([3., 0.]))
    """

    SAVED = ("u", "A", "P", "limits")

    def __init__(self, k: int) -> None:
        k = whole_number("k", k, 1)
        self.u: Floats = np.zeros(k)
        self.A: Floats = np.zeros((k, k))
        self.P: Floats = np.zeros((k, k))
        self.limits: Floats = np.zeros(2)
        self.v = 0

    @property
    def weights(self) -> Floats:
        """u, as far as it is in use."""
        return self.u[: self.v]

    @property
    def inverse(self) -> Floats:
        """A^-1, as far as it is in use."""
        return self.P[: self.v, : self.v]

    @property
    def label(self) -> float:
        """The largest |y| so far, which no prediction exceeds."""
        return float(self.limits[LABEL])

    def start(self, u: Floats, diagonal: Floats, worst: float = 0.0) -> None:
        """Begin anew from u with A = diag(diagonal); `worst` is a bound for |w.x - y| known before.

        The range of the labels is not forgotten.
        """
        self.v = v = len(u)
        for array in (self.u, self.A, self.P):
            array[:] = 0.0
        self.u[:v] = u
        self.A[range(v), range(v)] = diagonal
        self.limits[WORST] = worst
        self.refresh()

    def refresh(self) -> None:
        """P anew from A, so that no rounding piles up."""
        v = self.v
        P = inverse(self.A[:v, :v])
        self.P[:v, :v] = (P + P.T) / 2.0

    def predict(self, x: Floats) -> float:
        """The prediction for x; changes nothing."""
        return predicted(self.weights, self.limits, x)

    @np.errstate(all="ignore")
    def step(self, x: Floats, y: float) -> float:
        """The prediction for x, from whose label u then learns.

        With g = 2 (y_hat - y) x and rho = 1/(2 M^2) the matrix A grows by rho g g', which is
        c x x' with c = 2 ((y_hat - y)/M)^2: no square of a large number is needed.
        """
        v, limits = self.v, self.limits
        u, P, A = self.u[:v], self.P[:v, :v], self.A[:v, :v]
        prediction = predicted(u, limits, x)
        error = prediction - y
        limits[:] = np.maximum(limits, (abs(y), abs(error)))
        Px, along = P @ x, float(u @ x)
        s, size = float(x @ Px), float(np.abs(Px).max(initial=0.0))
        # x = 0, or too large for P: nothing to learn
        if not (0.0 < s < MAX_PRODUCT and size < LARGEST and abs(along) < MAX_PRODUCT):
            return prediction
        c = 2.0 * float(error / limits[WORST]) ** 2 if error else 0.0
        # First the projection in the norm of A on the w with w.x = y_hat, then the step from there.
        u += ((prediction - along) / s - 2.0 * error / (1.0 + c * s)) * Px
        A += c * np.outer(x, x)
        P -= c / (1.0 + c * s) * np.outer(Px, Px)
        return prediction

    def note(self, y: float) -> None:
        """A label from which nothing but the range of labels is learnt."""
        self.limits[LABEL] = max(self.label, math.fabs(y))


@np.errstate(all="ignore")
def predicted(u: Floats, limits: Floats, x: Floats) -> float:
    """u.x, kept within the largest label so far; 0 for terms that overflow."""
    along, most = float((u * x).sum()), float(limits[LABEL])
    return 0.0 if math.isnan(along) else min(max(along, -most), most)


class ExploredMemo(NamedTuple):
    """What the ticket of a square round remembers: the whole model, and how features were drawn."""

    means: PerFeature
    limits: Annotated[Floats, Holds(least=0.0, shape=(2,))]
    marks: PerFeature
    spread: Spread
    weights: PerFeature


class ExploitedOnlyMemo(NamedTuple):
    """What the ticket of another round remembers: the model on the support, and its number."""

    means: Annotated[Floats, Holds(shape=("support",))]
    limits: Annotated[Floats, Holds(least=0.0, shape=(2,))]
    support: Annotated[Indices, Holds(ascending=True, longest="k", among="features")]
    weights: Annotated[Floats, Holds(shape=("support",))]
    number: Annotated[Indices, Holds(shape=())]


class ExploitedMemo(NamedTuple):
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
    (`keyhole.learners.ds_oslrc`), which begins anew, from w_hat(S), when S changes.

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

    SAVED = ("_fit", "_newton", "_number")
    MEMOS = (ExploredMemo, ExploitedMemo, ExploitedOnlyMemo)

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        threshold_scale: float = 0.05,
        **options: Unpack[DSSettings],
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
        explores = math.isqrt(t) ** 2 == t
        scheme, odds = self._explore if explores else self._exploit
        features = scheme.read(self.seed, t)
        drawn = (odds.marks[features], odds.spread)
        S = features if explores else scheme.support
        past = (self._fit.means[S], self._newton.limits)
        w, number = self._newton.weights, np.array(self._number)
        memo: NamedTuple
        if explores:
            memo = ExploredMemo(*past, *drawn, self._fit.weights[features])
        elif self._adds:
            memo = ExploitedMemo(*past, *drawn, S, w, number)
        else:  # the row adds nothing to the sums
            memo = ExploitedOnlyMemo(*past, S, w, number)
        return features, memo

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
        if t == 1 or math.isqrt(t - 1) ** 2 != t - 1 or not self._fit.solve(t):
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
