"""Dual averaging of sparse linear models: what is kept between rounds, and one round's draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats, Indices


class Dual(NamedTuple):
    """What has been learnt. All fields are sums, `sizes` the roots of sums of squares."""

    h: Floats  # of the estimated gradients
    sizes: Floats  # of gradients, of labels, of values (the mean square of what a round read)
    updates: Indices  # one number: how many rounds were learnt from
    total: Floats  # of the values that arrived, feature by feature
    arrived: Indices  # how many they were


class Rule(NamedTuple):
    """What does not change: numbers of the problem, and the regularisation."""

    k: int
    budget: int
    radius: float  # bound on the norm of the iterate; 0 to measure it
    schedule: float  # lambda_t is this times the root of the updates; 0 for the adaptive one
    dense: bool  # estimate the gradient at the whole iterate, not at its k largest coordinates


class Draw(NamedTuple):
    """One round: what is read, how it is played, and how likely it was.

    Features with `always` are read whatever is drawn. The others are a uniform subset of the rest:
    chances[0] is the probability to be in it, chances[1] that of two of them together.
    """

    features: Indices  # ascending
    played: Floats  # their weights in the prediction
    point: Floats  # their weights where the gradient is wanted
    always: NDArray[np.bool_]
    means: Floats  # what absent values count as
    chances: Floats


def nothing_learnt(d: int) -> Dual:
    """The sums before the first round."""
    updates, arrived = np.zeros(1, dtype=np.int64), np.zeros(d, dtype=np.int64)
    return Dual(np.zeros(d), np.zeros(3), updates, np.zeros(d), arrived)


def room_for(n: int) -> Draw:
    """A draw of n features, to be written into."""
    features, always = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    return Draw(features, np.zeros(n), np.zeros(n), always, np.zeros(n), np.zeros(2))
