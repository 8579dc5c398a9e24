"""What the attribute-efficient learners know, and how they estimate a gradient from few reads.

The gradient of (<w, x> - y)^2 / 2 is (<w, x> - y) x. With reads drawn before x is seen, a round has

    x_tilde = x on the played S;  outside, the mean of x_i e_i / q_i over draws i ~ q
    phi     = <w, mu> + sum over S of w_i (x_i - mu_i)
              + the mean of w_j (x_j - mu_j) / p_j over other draws j ~ p outside S;  minus y

for any mu known before, and phi x_tilde is unbiased: its two factors are independent given w.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.fields import AT_LEAST_0
from keyhole.problem import Floats, Indices

LABELS, GRADIENTS, SQUARE, GRADIENT = range(4)  # of `Iterate.tally`
WHOLE, UNREAD = range(2)  # of `Plan.offsets`


class Rule(NamedTuple):
    """What does not change: sizes, AELR or AERR, data-dependent draws or not, radius and rate.

    A rate of 0 is measured.
    """

    k: int
    budget: int
    lasso: bool
    data_dependent: bool
    radius: float
    rate: float


class Iterate(NamedTuple):
    """Everything that changes as an attribute-efficient learner plays; arrays that kernels fill.

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
