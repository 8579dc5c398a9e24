"""A search that knows more than a learner can: how soon would it find the features that matter?

It knows centres, scales, the size of the weights and the noise at every time; it never takes a
wrong feature for a right one, and reads other features in every round. Only which features matter,
and with which sign, it has to find out. What it reads are those that are likeliest to matter, given
everything read so far.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common import Row
from keyhole.problem import Floats

NOISE = 0.5  # standard deviation, as in `Columns`
SURE = 2.0  # logarithm of the odds, the rarity of such features included, that make one found


def run_ideal(d: int, k: int, places: int, seed: int, most: int) -> Row:
    """The round after which all k features are found among d; -1 if not by round `most`.

    Found features are read in every round, and take places.
    """
    rng = np.random.default_rng(seed)
    matters = rng.choice(d, k, replace=False)
    weights = dict(zip(matters.tolist(), rng.choice([-1.0, 1.0], k) / math.sqrt(k), strict=True))
    evidence, found, enough = np.zeros((2, d)), set[int](), math.log(d / k) + SURE
    odds = np.zeros(d) + 1e-9 * rng.random(d)  # ties in a random order
    for round in range(1, most + 1):
        read = np.argpartition(-odds, places - len(found))[: places - len(found)]
        z, hidden = rng.standard_normal(len(read)), [j for j in weights if j not in found]
        values = dict(zip(read.tolist(), z.tolist(), strict=True))
        label = NOISE * rng.standard_normal()
        label += sum(weights[j] * values.get(j, rng.standard_normal()) for j in hidden)
        evidence[:, read] += _likelier(label, z, len(hidden), k)
        odds[read] = np.logaddexp(*evidence[:, read]) - math.log(2.0)
        for j in hidden:
            if odds[j] > enough:
                found.add(j)
                odds[j] = -math.inf
        if len(found) == k:
            return {"d": d, "k": k, "places": places, "seed": seed, "last": round}
    return {"d": d, "k": k, "places": places, "seed": seed, "last": -1}


def _likelier(label: float, z: Floats, hidden: int, k: int) -> Floats:
    """How much likelier a label is if a feature with the value z matters, for either sign.

    The other hidden features are noise to it.
    """
    with_it = NOISE**2 + (hidden - 1) / k
    without, w = NOISE**2 + hidden / k, 1.0 / math.sqrt(k)
    plain = 0.5 * (label**2 / without + math.log(without / with_it))
    return np.stack([plain - 0.5 * (label - sign * w * z) ** 2 / with_it for sign in (1.0, -1.0)])
