"""Forward selection from zero-imputed sums, with a significance stop."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import NamedTuple

import numpy as np

from keyhole.blocks.discounted import Memories
from keyhole.problem import Floats, Indices


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import forward

    return forward


class Selection(NamedTuple):
    """What forward selection chose, in order, and what it thinks of everything else.

    In units in which every feature has mean square 1, and given the chosen features and the
    constant: `r` is the mean product of each feature with what is left of the label, `D` the mean
    square that is left of the feature, `noise` the mean square that is left of the label, `counts`
    how many reads of the feature there were. So r^2/D is the gain in mean square error a feature
    promises; r has the standard error sqrt(noise D / n). `gains` are those of the chosen, at the
    time they were chosen.
    """

    chosen: Indices
    gains: Floats
    r: Floats
    D: Floats
    noise: float
    counts: Floats


def select(kept: Memories, memory: int, most: int, threshold: float) -> Selection:
    """Choose greedily at most `most` features that are significant.

    Feature j is significant if |r_j| exceeds `threshold` standard errors sqrt(noise D_j / n_j) and
    it was read at least 4 times; the one with the largest
    (|r_j| - threshold sqrt(noise D_j/n_j))^2 / D_j comes next. One that is to 95 % a combination
    of those before it is passed over. The constant is projected out first.

    >>> from keyhole.blocks.discounted import memories, remember
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 5))
    >>> kept = memories(5, [np.inf])
    >>> remember(kept, np.arange(5), X, 3.0 + 2.0 * X[:, 3] - X[:, 1] + rng.standard_normal(400))
    >>> select(kept, 0, most=5, threshold=3.0).chosen
    array([3, 1])
    """
    d = kept.c.shape[1] - 1
    chosen, gains = np.empty(most, dtype=np.int64), np.empty(most)
    L, r, D = np.empty((most + 3, d)), np.empty(d), np.empty(d)
    ready = np.empty(d, dtype=np.bool_)
    size, noise = _kernels().select(kept, memory, most, threshold, chosen, gains, L, r, D, ready)
    counts = kept.n[memory, :d] * kept.scale[memory]
    return Selection(chosen[:size], gains[:size], r, D, noise, counts)
