"""Online hard thresholding: what is kept from round to round, and one round's draw."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.fields import MANY, MAY_OVERFLOW, Holds, PerFeature
from keyhole.problem import Floats, Indices

# Places in fields of `Search`.
PHASE, EXPLOITING, SIZE, CURSOR, LACKING, TOLD, TURN, STEPS, LENGTH = range(9)  # of `whole`
CURVATURE, FRESH = range(2)  # of `pace`: in units of a feature's mean square; examples for a step
NOW, BEFORE = range(2)  # of `losses`: rounds of this phase, of the one that `before` was played in
ROUNDS, ERROR, SQUARE = range(3)  # of `losses`: how many, squared errors, their squares


class Rule(NamedTuple):
    """What does not change."""

    k: int
    budget: int
    hybrid: bool
    step: float  # the step size; 0 for the adaptive one
    growth: float  # of the fresh examples from step to step


class Search(NamedTuple):
    """Where the search is. Sums: `gradient`, `seen`, `losses`, `total`, `square`, `arrived`."""

    theta: Floats  # the model that is played, zero outside the support
    iterate: Floats  # of the exploitation, whose average is played
    support: Annotated[Indices, Holds(below="d")]  # ascending, the first whole[SIZE] places
    order: Annotated[Indices, Holds(below="d")]  # the features outside, as they are read in turn
    gradient: Floats  # of this phase: (prediction - y) x_i
    seen: Indices  # and of how many rounds
    before: Floats  # the model before the last step
    slope: Floats  # its mean gradient
    losses: Annotated[Floats, MAY_OVERFLOW]  # by the names above, phase by sum
    total: Floats  # of all values that arrived, feature by feature
    square: Floats
    arrived: Indices
    pace: Floats  # by the names above
    whole: Indices  # whole numbers, by the names above


class Draw(NamedTuple):
    """One round: what is read and how it is played."""

    features: Indices  # ascending
    played: PerFeature  # their weights in the prediction
    inside: Annotated[NDArray[np.bool_], Holds(shape=("features",))]  # belong to the support
    means: PerFeature  # what absent values count as
    # One number: of the prediction in the residual, more than 1 if some is missing.
    scale: Annotated[Floats, Holds(shape=(1,))]
    # One number; its sign is negative if a part of the support is not read.
    phase: Annotated[Indices, Holds(least=-MANY, shape=(1,))]


def nothing_found(d: int, k: int, fresh: int) -> Search:
    """The state before the first round: nothing played, everything to be looked at."""
    zeros, none = [np.zeros(d) for _ in range(7)], [np.zeros(d, dtype=np.int64) for _ in range(2)]
    whole = np.zeros(9, dtype=np.int64)
    whole[LACKING] = d
    return Search(
        theta=zeros[0],
        iterate=zeros[1],
        support=np.zeros(k, dtype=np.int64),
        order=np.arange(d),
        gradient=zeros[2],
        seen=none[0],
        before=zeros[3],
        slope=zeros[4],
        losses=np.zeros((2, 3)),
        total=zeros[5],
        square=zeros[6],
        arrived=none[1],
        pace=np.array([1.0, float(fresh)]),
        whole=whole,
    )


def room_for(n: int) -> Draw:
    """A draw of n features, to be written into."""
    features, inside = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    return Draw(features, np.zeros(n), inside, np.zeros(n), np.ones(1), np.zeros(1, dtype=np.int64))


def first(draw: Draw, n: int) -> Draw:
    """The draw of its first n features alone."""
    features, played, inside, means, scale, phase = draw
    return Draw(features[:n], played[:n], inside[:n], means[:n], scale, phase)
