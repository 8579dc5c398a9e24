"""What AERR and AELR have in common: a gradient estimated from few reads, and who predicts.

The gradient of (<w, x> - y)^2 / 2 is (<w, x> - y) x. With reads drawn before x is seen, a round has

    x_tilde = x on the played S;  outside, the mean of x_i e_i / q_i over draws i ~ q
    phi     = <w, mu> + sum over S of w_i (x_i - mu_i)
              + the mean of w_j (x_j - mu_j) / p_j over other draws j ~ p outside S;  minus y

for any mu known before, and phi x_tilde is unbiased: its two factors are independent given w.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.errors import true_or_false
from keyhole.learners.base import Choice, LearnerBase
from keyhole.learners.blocks.draw.sampling import complement_subset, uniforms
from keyhole.learners.blocks.fit.linear import filled
from keyhole.learners.blocks.fit.truncation import top_k
from keyhole.learners.squares import is_square
from keyhole.problem import Floats, Indices, Observation, Problem, Ticket, positive_number
from keyhole.problem.fields import AT_LEAST_0, Holds

LABELS, GRADIENTS, SQUARE, GRADIENT = range(4)  # of `Iterate.tally`
WHOLE, UNREAD = range(2)  # of `Plan.offsets`
REACH, PRODUCT, FILL = range(3)  # purposes of the draws of a round
_CONFIDENCE = math.log(2.0 / 0.05)  # the paper's ln(2/delta), at delta = 0.05


class Iterate(NamedTuple):
    """Everything that changes as an attribute-efficient learner plays.

    Sums: `theta` of EG's clipped gradients; `counts`, `sums` and `squares` of what was read and did
    arrive, feature by feature. Derived: `w`, the dense iterate; `shares`, how much of the weight of
    EG's experts each feature has; `average` of the w so far, the n-th counting n times; `moments`,
    the second moments as the last phase left them, in units of the largest square. `tally`: labels,
    squared gradients, the largest square of a value and of a gradient.
    """

    w: Floats
    average: Floats
    theta: Floats
    shares: Annotated[Floats, AT_LEAST_0]
    counts: Annotated[Floats, AT_LEAST_0]
    sums: Floats
    squares: Annotated[Floats, AT_LEAST_0]
    moments: Annotated[Floats, AT_LEAST_0]
    tally: Annotated[Floats, AT_LEAST_0]


class Plan(NamedTuple):
    """What a round reads, and what each value counts: arrays over the bought features.

    `reach` are the factors of x_tilde, `product` those of phi, `played` the weights of the
    prediction, `means` what absent values count as. `offsets` are <w, mu> and what the prediction
    adds for played features that are not read.
    """

    features: Indices
    reach: Floats
    product: Floats
    played: Floats
    means: Floats
    offsets: Floats


class Memo(NamedTuple):
    """What a ticket remembers: `reach`, `product`, `played` and `means` of its plan; `offsets`."""

    counts: Annotated[Floats, Holds(shape=(4, "features"))]
    offsets: Annotated[Floats, Holds(shape=(2,))]


class AttributeEfficient(LearnerBase):
    """A dense iterate learns from estimated gradients, the top k of its average predict.

    A subclass says how draws are weighted and how a step is taken. Sums and derived: see `Iterate`.
    """

    SAVED = ("_desk", "_iterate")
    MEMOS = (Memo,)
    SETTINGS = ("radius", "data_dependent", "rate", "clip")

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        radius: float = 1.0,
        data_dependent: bool = False,
        rate: float | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self.radius = positive_number("radius", radius)
        self.data_dependent = true_or_false("data_dependent", data_dependent)
        self.rate = None if rate is None else positive_number("rate", rate)
        self._iterate = new_iterate(problem.d)

    @property
    def weights(self) -> Floats:
        """The played model: the average iterate, cut down to its k largest coordinates."""
        weights, average = np.zeros(self.problem.d), self._iterate.average
        support = top_k(average, self.problem.k)
        weights[support] = average[support]
        return weights

    @property
    def iterate(self) -> Floats:
        """A copy of the dense w that the next gradient is taken at."""
        return self._iterate.w.copy()

    @abstractmethod
    def _odds(self) -> tuple[Floats, Floats]:
        """What q and p are proportional to, for all features."""

    @abstractmethod
    def _step(self, features: Indices, g: Floats) -> None:
        """Move the iterate along a gradient that is 0 elsewhere."""

    def _choose(self, t: int) -> Choice:
        """The played features, the draws, and others up to the budget."""
        features, *counts, offsets = self._plan(t)
        # The estimate is of the gradient at the w of now, so it is on the ticket.
        return features, Memo(np.array(counts), offsets)._asdict()

    def _plan(self, t: int) -> Plan:
        """What round t reads and what each value will count; a new phase at powers of two."""
        it, d, k, budget = self._iterate, self.problem.d, self.problem.k, self.problem.reads
        if self.data_dependent and t & (t - 1) == 0:
            measure(it)
        S, played = top_k(it.average, k), np.zeros(d)
        played[S] = it.average[S]
        if budget == k < d and is_square(t):
            S = S[:0]  # nothing is left to explore with: a look at other features instead
        left = budget - len(S)
        if left < d - len(S):
            m, (q, p) = left // 2, self._odds()
            q[S] = p[S] = 0.0
            key = (self.seed, t)
            reach = drawn(uniforms(*key, left - m, purpose=REACH), q, np.ones(d))
            product = drawn(uniforms(*key, m, purpose=PRODUCT), p, it.w)
            reach[S], product[S] = 1.0, it.w[S]
            mark = (reach != 0.0) | (product != 0.0)
            # What draws of the same feature have saved: for the means and second moments.
            read = np.flatnonzero(mark)
            mark[complement_subset(*key, d, budget - len(read), read, purpose=FILL)] = True
        else:
            mark, reach, product = np.ones(d, dtype=np.bool_), np.ones(d), it.w
        mu = it.sums / np.maximum(it.counts, 1.0)
        features, unread = np.flatnonzero(mark), ~mark
        offsets = np.array([it.w @ mu, played[unread] @ mu[unread]])
        counts = (reach[features], product[features], played[features], mu[features])
        return Plan(features, *counts, offsets)

    def _predict(self, seen: Observation) -> float:
        """The model of the ticket on what was read."""
        return predicted(plan_of(seen.ticket), seen.values)

    def _learn(self, seen: Observation, label: float) -> None:
        """Step along the estimated gradient; the average, the sums of what arrived."""
        ticket = seen.ticket
        it, features = self._iterate, ticket.features
        self._step(features, gradient(plan_of(ticket), seen.values, label))
        it.tally[LABELS] += 1.0
        it.average[:] += 2.0 / (it.tally[LABELS] + 1.0) * (it.w - it.average)
        i, x = seen.arrived()
        squares = x * x
        it.counts[i] += 1.0
        it.sums[i] += x
        it.squares[i] += squares
        it.tally[SQUARE] = max(it.tally[SQUARE], squares.max(initial=0.0))


def new_iterate(d: int) -> Iterate:
    """Before the first round: w = 0, every feature alike.

    >>> new_iterate(2).shares
    array([0.5, 0.5])
    """
    w, average, theta, counts, sums, squares = np.zeros((6, d))
    return Iterate(
        w, average, theta, np.full(d, 1.0 / d), counts, sums, squares, np.ones(d), np.zeros(4)
    )


def draws(d: int, k: int, budget: int) -> tuple[int, int]:
    """How many draws x_tilde and the inner product get when k features are played.

    Half of what is left each, x_tilde the odd one; with budget = d all features are read, and none
    is drawn.

    >>> draws(20, 2, 9)
    (4, 3)
    """
    left = budget - k if budget < d else 0
    return left - left // 2, left // 2


def drawn(u: Floats, weights: Floats, value: Floats) -> Floats:
    """The sum of value_i e_i / (n P_i) over n draws i ~ P, P proportional to the weights.

    A draw for each uniform number, with replacement, so that the sum is unbiased for `value` where
    the weights are positive; all weights 0 draw nothing.
    """
    out, reached = np.zeros(len(weights)), np.cumsum(weights)
    total = reached[-1]
    if total > 0.0:
        i = np.searchsorted(reached, u * total, side="right")
        # A product that rounded up to the total: the last feature with a weight.
        np.minimum(i, np.searchsorted(reached, total, side="left"), out=i)
        np.add.at(out, i, value[i] * total / (len(u) * weights[i]))
    return out


def measure(it: Iterate) -> None:
    """A new phase: second moments as they are now, plus 13/6 of their uncertainty."""
    it.moments[:] = 1.0
    if it.tally[SQUARE] > 0.0:
        n = np.maximum(it.counts, 1.0)
        error = np.minimum((_CONFIDENCE + math.log(len(it.w))) / n, 1.0)
        it.moments[:] = it.squares / n / it.tally[SQUARE] + 13.0 / 6.0 * error


def predicted(plan: Plan, values: Floats) -> float:
    """The truncated average on the values read; an absent one counts as its mean."""
    x = filled(values, plan.means)
    return float(plan.offsets[UNREAD] + plan.played @ x)


def gradient(plan: Plan, values: Floats, y: float) -> Floats:
    """phi x_tilde on the values read; an absent one counts as its mean."""
    x = filled(values, plan.means)
    phi = plan.offsets[WHOLE] + plan.product @ (x - plan.means) - y
    g: Floats = phi * (plan.reach * x)
    return g


def plan_of(ticket: Ticket) -> Plan:
    """The plan that a ticket remembers."""
    reach, product, played, means = ticket.memo["counts"]
    return Plan(ticket.features, reach, product, played, means, ticket.memo["offsets"])
