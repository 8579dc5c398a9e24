"""What the reads of a feature say about it: does it add something to what is predicted, or not?"""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.auto.choose import leader, typical_sizes
from keyhole.blocks.auto.mixture import ROUNDS, WINDOW
from keyhole.blocks.auto.state import ONLY, Batch, Settings, State
from keyhole.blocks.jit.decorators import inner
from keyhole.problem import Floats, Indices

FEW = 4  # features of which each may explain as much as is hoped for, at least
LEAST = -8.0  # so unlikely and no less: what changes need not make up for all of its past
CUT = 3.0  # standard deviations: what is farther out counts as that far, or one row would decide


@inner
def weigh_reads(s: Settings, state: State, batch: Batch, features: Indices, values: Floats) -> None:
    """Add rows of a batch to the evidence of these features: centred values, rows x features.

    With u what the kept features leave of a label and z the value, both in standard deviations, a
    read counts how much likelier u is if z adds +-sqrt(h) z to it than if z adds nothing: for
    either sign the logarithm of N(u; +-sqrt(h) z, 1 - h) / N(u; 0, 1). Were there k features that
    add alike and noise that is as large, each would explain 1 / (1 + k) of the label's variance:
    that is h, a fifth at most. Who hopes for more loses what adds less than is hoped for.

    What was found before a read does not disturb it, and each read counts for what it was when it
    was made. A feature whose values were all alike so far has shown no z: its reads count as they
    do in the mean over z, so that it is neither read all the time nor never again.

    Sums that do not fall below a floor are Page's test for a change.
    """
    mixture, runs, judges = state.mixture, batch.runs, s.experts.judges
    e = judges[leader(judges, mixture.recent)]
    window = WINDOW * (1.0 - (1.0 - 1.0 / WINDOW) ** mixture.noise[ROUNDS])
    if not (window > 0.0 and mixture.recent[e] > 0.0):
        return
    used = max(runs.size[e] - 1, 0)  # without the constant
    h = 1.0 / (1.0 + max(s.k, FEW))
    u = _left_over(batch, e) / math.sqrt(mixture.recent[e] / window)
    sizes, before = typical_sizes(state.kept, features), np.empty((used, 2))
    for q in range(used):
        before[q] = state.evidence[batch.S[runs.place[e, q]]]
    for t in range(len(u)):
        v = min(max(u[t], -CUT), CUT)
        plain = 0.5 * (v * v - math.log(1.0 - h))
        for a in range(len(features)):
            if np.isnan(values[t, a]):
                continue
            z = min(max(values[t, a] / sizes[a], -CUT), CUT) if sizes[a] > 0.0 else 0.0
            square = z * z if sizes[a] > 0.0 else 1.0
            common = plain - 0.5 * (v * v + h * square) / (1.0 - h)
            along, sums = math.sqrt(h) * z * v / (1.0 - h), state.evidence[features[a]]
            sums[0] = max(sums[0] + common + along, LEAST)
            sums[1] = max(sums[1] + common - along, LEAST)
    for q in range(used):  # of these u says nothing: they were used to predict
        state.evidence[batch.S[runs.place[e, q]]] = before[q]


@inner
def _left_over(batch: Batch, e: int) -> Floats:
    # What expert e, having learnt the rows of the batch, leaves of their labels.
    runs, b = batch.runs, len(batch.S)
    left = np.empty(batch.rows[ONLY])
    for t in range(len(left)):
        left[t] = batch.labels[t] - batch.label[ONLY]
        for q in range(runs.size[e]):
            a = runs.place[e, q]
            x = batch.values[t, a] - batch.centre[a] if a < b else 1.0
            if not np.isnan(x):
                left[t] -= runs.theta[e, q] * x
    return left
