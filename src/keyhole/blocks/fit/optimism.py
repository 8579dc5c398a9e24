"""Which features to read in order to learn: those that might gain most, by a random optimism."""

from __future__ import annotations

import math

from keyhole.blocks.draw.keyed import Seed, words
from keyhole.blocks.fit.forward import NEW, Selection
from keyhole.blocks.jit.decorators import inner, kernel, succeeds
from keyhole.core.functions import c_function
from keyhole.problem import Floats

PURPOSE = 1 << 20  # keeps these draws apart from those of experts (2 i, 2 i + 1)
NEVER = 1e300  # the score of a feature that was never read, times 1 to 2
_UNIT = 1.0 / 4294967296.0


@inner
def _gain(r: float, D: float, noise: float, count: float, optimism: float, normal: float) -> float:
    # The gain of a feature some values of which arrived.
    g = optimism * normal
    if D <= 0.0 and r == 0.0 and count > 0.0:  # constant so far
        return noise * (normal * normal + g * g) / count
    if D <= NEW or count <= 0.0:
        return 0.0
    optimistic = r + math.sqrt(noise * D / count) * g
    return optimistic * optimistic / D


@kernel
def _sampled_gain(
    seed: Seed, round: int, j: int, sums: tuple[float, float, float], noise: float, optimism: float
) -> float:
    w0, w1, w2, w3 = words(seed, round, PURPOSE, j // 4)
    if j % 4 >= 2:
        w0, w1 = w2, w3
    size = math.sqrt(-2.0 * math.log(1.0 - float(w0) * _UNIT))
    angle = 2.0 * math.pi * float(w1) * _UNIT
    normal = size * math.sin(angle) if j % 2 else size * math.cos(angle)
    return _gain(sums[0], sums[1], noise, sums[2], optimism, normal)


@succeeds(_sampled_gain)
def sampled_gain(
    seed: Seed, round: int, j: int, sums: tuple[float, float, float], noise: float, optimism: float
) -> float:
    """What `sampled_gains` writes for feature j with the sums r, D and count, if it was ever read.

    >>> sampled_gain(0, 1, 5, (0.5, 1.0, 9.0), 0.1, 0.0)
    0.25
    """
    return _one_gain(seed, round, j, *sums, noise, optimism)


@c_function("kh_sampled_gain")
def _one_gain(
    seed: Seed, round: int, j: int, r: float, D: float, count: float, noise: float, optimism: float
) -> float:
    raise NotImplementedError


@c_function("kh_sampled_gains", "reads[seats] score[seats]", writes="score")
@kernel
def sampled_gains(
    seed: Seed, round: int, selection: Selection, reads: Floats, optimism: float, score: Floats
) -> None:
    """Write the gain of every feature were its correlation off by a random standard error.

        (r_j + sqrt(noise D_j / n_j) g_j)^2 / D_j,   g_j normal, sd `optimism`

    Thompson sampling on the residual correlations, keyed by (seed, round). A feature never read
    comes before all others, in random order. One whose reads were all the same has shown no r: a
    standard error of its own is drawn for it too, because a rare event may hide there. One that is
    a combination of the chosen features has no gain.

    >>> import numpy as np
    >>> selection = Selection(np.array([0]), np.array([1.0]), np.array([0.0, 0.5, 0.0]),
    ...     np.array([0.0, 1.0, 1.0]), 0.1, np.array([9.0, 9.0, 9.0]))
    >>> score = np.empty(3)
    >>> sampled_gains(np.uint64(0), 1, selection, np.array([9.0, 9.0, 0.0]), 1.0, score)
    >>> int(score.argmax())
    2
    """
    r, D, noise, counts = selection.r, selection.D, selection.noise, selection.counts
    d = len(r)
    for block in range((d + 3) // 4):
        w0, w1, w2, w3 = words(seed, round, PURPOSE, block)
        # Box and Muller: four normal numbers from four words; 1 - u is never 0.
        size = math.sqrt(-2.0 * math.log(1.0 - float(w0) * _UNIT))
        angle = 2.0 * math.pi * float(w1) * _UNIT
        more = math.sqrt(-2.0 * math.log(1.0 - float(w2) * _UNIT))
        turn = 2.0 * math.pi * float(w3) * _UNIT
        normals = (
            size * math.cos(angle),
            size * math.sin(angle),
            more * math.cos(turn),
            more * math.sin(turn),
        )
        uniforms = (float(w0), float(w1), float(w2), float(w3))
        for i in range(4):
            j = 4 * block + i
            if j >= d:
                break
            if reads[j] == 0.0:
                score[j] = NEVER * (1.0 + uniforms[i] * _UNIT)
            else:
                score[j] = _gain(r[j], D[j], noise, counts[j], optimism, normals[i])
