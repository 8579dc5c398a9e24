"""Multiplicative weights over all k-subsets, each with a gradient descent of its own.

With R a uniform m-subset of the d features, p = m/d and q = m(m - 1)/(d(d - 1)) the probabilities
that it holds a feature, a pair, and s = sum of w_i x_i, o = sum of w_i^2 x_i^2 over the features of
a subset S that are in R,

    loss(S)     = o/p + (s^2 - o)/q - 2 y s/p              mean: <w_S, x>^2 - 2 y <w_S, x>
    gradient_i  = 2 x_i (w_i x_i/p + (s - w_i x_i)/q - y/p)     for i in S and R, else 0

are unbiased for the squared loss of w_S, up to y^2, and for its gradient: O(k) per subset.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats

MOST = 100_000  # subsets


class SubsetWeights(NamedTuple):
    """What changes: arrays with one row per subset, in lexicographic order.

    Sums: `losses`; `squares` of the gradients; `tally`, the variance of the losses over the draw
    of a subset, and the largest deviation from their mean. Derived: `w`, projected on the ball;
    `chances`, proportional to the probability of each subset.
    """

    w: Floats
    squares: Floats
    losses: Floats
    chances: Floats
    tally: Floats


def all_subsets(d: int, k: int) -> NDArray[np.int32]:
    """Every k-subset of d features, one per row.

    >>> all_subsets(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    flat = itertools.chain.from_iterable(itertools.combinations(range(d), k))
    n = math.comb(d, k)
    return np.fromiter(flat, dtype=np.int32, count=n * k).reshape(n, k)


def new_weights(n: int, k: int) -> SubsetWeights:
    """Before the first label: all subsets alike, all weights 0."""
    return SubsetWeights(np.zeros((n, k)), np.zeros(n), np.zeros(n), np.ones(n), np.zeros(2))
