"""Memories: zero-imputed second moments of what was read, each forgetting at its own pace."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from keyhole.problem import Floats, Indices, ProblemError


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import discounted

    return discounted


class Memories(NamedTuple):
    """Sums over rounds of what was read, one set per memory; what was not read counts as 0.

    With z_t the centred values, 0 where feature j was not read in round t, and 1 in the last place
    (the constant, index d): G = sum a_t z_t z_t', c = sum a_t y_t z_t, n_j = sum a_t [j was read],
    yy = sum a_t y_t^2, where a_t = exp(-age / tau). The arrays hold the sums divided by `scale`,
    one number per memory, so that forgetting costs O(1) a round.

    All fields but `tau` are sums (times a common factor).
    """

    G: Floats  # memory x (d + 1) x (d + 1), symmetric
    c: Floats  # memory x (d + 1)
    n: Floats  # memory x (d + 1)
    yy: Floats
    scale: Floats
    tau: Floats  # rounds, inf for ever


def memories(d: int, taus: Sequence[float]) -> Memories:
    """Empty memories over d features and the constant.

    >>> memories(3, [np.inf, 64.0]).G.shape
    (2, 4, 4)
    """
    tau = np.array(taus, dtype=np.float64)
    if not (tau > 0.0).all():
        raise ProblemError(f"taus must be positive numbers of rounds, got {list(taus)}")
    m = len(tau)
    G = np.zeros((m, d + 1, d + 1))
    return Memories(G, np.zeros((m, d + 1)), np.zeros((m, d + 1)), np.zeros(m), np.ones(m), tau)


def remember(kept: Memories, features: Indices, values: Floats, labels: Floats) -> None:
    """Add rounds that all read the same features: centred values (rounds x features), labels.

    NaN is absent: not read in that round.

    >>> kept = memories(3, [np.inf, 2.0])
    >>> rows = np.array([[1.0, 2.0], [np.nan, 1.0]])
    >>> remember(kept, np.array([0, 2]), rows, np.array([1.0, 1.0]))
    >>> kept.G[0] * kept.scale[0]
    array([[1., 0., 2., 1.],
           [0., 0., 0., 0.],
           [2., 0., 5., 3.],
           [1., 0., 3., 2.]])
    >>> kept.n[0] * kept.scale[0]
    array([1., 0., 2., 2.])
    """
    k = _kernels()
    G, c, count, yy = k.products(np.asarray(values), np.asarray(labels), len(labels))
    k.fold(kept, features, G, c, count, yy, len(labels))
