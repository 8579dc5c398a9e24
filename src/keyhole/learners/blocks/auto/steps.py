"""Step by step: in which order a batch's features are bought, and for whom going on pays.

After each step the squared error that is still expected is known from earlier examples, by bins
of the prediction: of *all* that got there, whether they went on or not, because their labels came.
What going on from one step to a later one takes away of it is a share, known from the examples that
went on. So going on is expected to save share x error, and an example goes on while that is more
than what the steps cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices
from keyhole.problem.state import AT_LEAST_0, Holds
from keyhole.problem.step import MOST_STEPS

SINGLE = 8  # items that are a step each; later steps have a quarter or an eighth of what is bought
BINS, RECENT = 16, 512


class Steps(NamedTuple):
    """What is known of examples that were bought step by step, by the number of the step.

    Sums, fading: `errors` (squared errors by bin of the prediction, and how many), `saved` (from
    step to step: by how much squared errors shrank, what they were, how many examples went on).
    `many`: how many examples made each step. `recent`: the last predictions and their squared
    errors, a ring. `cuts`: the inner ends of the bins, `bins` of them, made anew of `recent` at 64
    examples and whenever there are twice as many.
    """

    recent: Annotated[Floats, f"steps {RECENT} 2"]
    cuts: Annotated[Floats, f"steps {BINS - 1}"]
    bins: Annotated[Indices, Holds(most=BINS - 1), "steps"]
    errors: Annotated[Floats, AT_LEAST_0, f"steps {BINS} 2"]
    saved: Annotated[Floats, "steps steps 3"]
    many: Annotated[Indices, "steps"]


def new_steps() -> Steps:
    """Nothing is known yet."""
    m = MOST_STEPS
    return Steps(
        np.zeros((m, RECENT, 2)),
        np.zeros((m, BINS - 1)),
        np.zeros(m, dtype=np.int64),
        np.zeros((m, BINS, 2)),
        np.zeros((m, m, 3)),
        np.zeros(m, dtype=np.int64),
    )


@c_function("kh_learn_steps", "at[n] guesses[n]", room=f"n+10*{RECENT}")
def learn(steps: Steps, at: Indices, guesses: Floats, y: float) -> None:
    """An example was predicted so after these steps, ascending, and its label is y."""
    raise NotImplementedError


@c_function("kh_expected_error")
def expected_error(steps: Steps, step: int, guess: float) -> float:
    """The squared error that is expected of such a prediction after this step."""
    raise NotImplementedError


@c_function("kh_gain_of_going_on", "to[n] price[n]")
def gain_of_going_on(steps: Steps, step: int, guess: float, to: Indices, price: Floats) -> float:
    """What going on is expected to save beyond its price, to the best of these later steps.

    Infinite as long as fewer than 20 examples went on to one of them.
    """
    raise NotImplementedError


def ends_of_steps(items: int) -> list[int]:
    """After how many items each step ends: one at a time, later more.

    >>> ends_of_steps(3), ends_of_steps(30)
    ([1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 30])
    """
    ends, end = list[int](), 0
    while end < items and len(ends) < MOST_STEPS - 1:
        end += max(1, 1 << max(end.bit_length() - 3, 0)) if end >= SINGLE else 1
        ends.append(min(end, items))
    if not ends or ends[-1] < items:
        ends.append(items)
    return ends


def numbered(items: Sequence[Sequence[int]], S: Indices) -> Indices:
    """The step of each feature of S, when these groups of features are bought one after the other.

    Groups are what one price buys. What is in none of them comes with the first.

    >>> numbered([[5], [2, 7], [1]], np.array([1, 2, 5, 7])).tolist()
    [2, 1, 0, 1]
    """
    place = {j: at for at, group in enumerate(items) for j in group}
    ends = np.array(ends_of_steps(max(len(items), 1)))
    groups = np.array([place.get(j, 0) for j in S.tolist()], dtype=np.int64)
    return np.searchsorted(ends, groups, side="right").astype(np.int64)
