"""Inner loops of `blocks/exploration.py`."""

from __future__ import annotations

import math

from keyhole.blocks.kernels.forward import NEW
from keyhole.blocks.kernels.jit import kernel
from keyhole.blocks.kernels.sampling import Seed, words
from keyhole.problem import Floats, Indices

PURPOSE = 1 << 20  # keeps these draws apart from those of experts (2 i, 2 i + 1)
NEVER = 1e300  # the score of a feature that was never read, times 1 to 2
_UNIT = 1.0 / 4294967296.0


@kernel
def sampled_gains(
    seed: Seed,
    round: int,
    r: Floats,
    D: Floats,
    noise: float,
    counts: Floats,
    reads: Floats,
    optimism: float,
    score: Floats,
) -> None:
    """The gain of every feature were its correlation off by a random standard error."""
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
            g = optimism * normals[i]
            if reads[j] == 0.0:
                score[j] = NEVER * (1.0 + uniforms[i] * _UNIT)
            elif D[j] <= 0.0 and r[j] == 0.0 and counts[j] > 0.0:  # constant so far
                score[j] = noise * (normals[i] * normals[i] + g * g) / counts[j]
            elif D[j] <= NEW or counts[j] <= 0.0:
                score[j] = 0.0
            else:
                optimistic = r[j] + math.sqrt(noise * D[j] / counts[j]) * g
                score[j] = optimistic * optimistic / D[j]


@kernel
def largest(score: Floats, out: Indices) -> None:
    """The indices of the len(out) largest entries, the largest first."""
    m, held = len(out), 0
    if m == 0:
        return
    for j in range(len(score)):
        if held == m and not score[j] > score[out[m - 1]]:
            continue
        place = min(held, m - 1)
        while place > 0 and score[j] > score[out[place - 1]]:
            out[place] = out[place - 1]
            place -= 1
        out[place] = j
        held = min(held + 1, m)
