"""Which features to read in order to learn: those that might gain most, by a random optimism."""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.forward import Selection
from keyhole.problem import Floats, Indices


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import exploration

    return exploration


def sampled_gains(
    seed: int,
    round: int,
    selection: Selection,
    reads: NDArray[np.floating],
    optimism: float = 1.0,
) -> Floats:
    """The gain of every feature were its correlation off by a random standard error.

        (r_j + sqrt(noise D_j / n_j) g_j)^2 / D_j,   g_j normal, sd `optimism`

    Thompson sampling on the residual correlations, keyed by (seed, round). A feature never read
    comes before all others, in random order. One whose reads were all the same has shown no r: a
    standard error of its own is drawn for it too, because a rare event may hide there. One that is
    a combination of the chosen features has no gain.

    >>> selection = Selection(np.array([0]), np.array([1.0]), np.array([0.0, 0.5, 0.0]),
    ...     np.array([0.0, 1.0, 1.0]), 0.1, np.array([9.0, 9.0, 9.0]))
    >>> int(sampled_gains(0, 1, selection, np.array([9, 9, 0])).argmax())
    2
    """
    score = np.empty(len(selection.r))
    _kernels().sampled_gains(
        np.uint64(seed),
        round,
        selection.r,
        selection.D,
        selection.noise,
        selection.counts,
        np.asarray(reads, dtype=np.float64),
        optimism,
        score,
    )
    return score


def largest(score: Floats, m: int) -> Indices:
    """The indices of the m largest entries, the largest first; ties go to the lower index.

    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    out = np.empty(min(m, len(score)), dtype=np.int64)
    _kernels().largest(score, out)
    return out
