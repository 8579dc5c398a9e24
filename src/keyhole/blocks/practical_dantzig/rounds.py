"""A block of rounds of the practical Algorithm 1: drawn, read, predicted and learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import complement
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge as merge
from keyhole.blocks.fit.vaw import add, forward, learn
from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.seen_sums import add_rows, arrived
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

BASE, LOW, HIGH = range(3)  # of `limits`: what theta adds to, and the range of labels so far
ERROR, COUNT, LABELS = range(3)  # of `record`: sum of squared errors, of how many; labels so far

Units = tuple[Indices, Floats, Floats]  # a support, and the centre and inverse scale of each of it


@kernel
def standardise(
    features: NDArray[np.signedinteger],
    values: Floats,
    units: Units,
    z: Floats,
) -> None:
    """z = (x - centre) inverse on the support, 0 for what is absent, and a final 1."""
    support, centre, inverse = units
    i, m = 0, len(support)
    for a in range(m):
        while features[i] < support[a]:
            i += 1
        z[a] = 0.0 if np.isnan(values[i]) else (values[i] - centre[a]) * inverse[a]
        z[a] = min(max(z[a], -LARGEST), LARGEST)
    z[m] = 1.0


@kernel
def within(limits: Floats, along: float, s: float) -> float:
    """The prediction, kept in the range of the labels so far."""
    return float(min(max(limits[BASE] + along / s, limits[LOW]), limits[HIGH]))


@kernel
def predict(
    features: Indices, values: Floats, units: Units, P: Floats, theta: Floats, limits: Floats
) -> float:
    """The prediction for one row."""
    z = np.empty(len(theta))
    standardise(features, values, units, z)
    along, s = forward(P, theta, z, np.empty(len(theta)))
    return within(limits, along, s)


@kernel
def note(limits: Floats, record: Floats, prediction: float, y: float) -> None:
    """A label came: its error, and the range."""
    record[ERROR] += (y - prediction) * (y - prediction)
    record[COUNT] += 1.0
    note_label(limits, record, y)


@kernel
def note_label(limits: Floats, record: Floats, y: float) -> None:
    """A label is known, and nobody predicted it."""
    if record[LABELS] == 0.0:
        limits[LOW] = y
        limits[HIGH] = y
    record[LABELS] += 1.0
    limits[LOW] = min(limits[LOW], y)
    limits[HIGH] = max(limits[HIGH], y)


@kernel
def refine(P: Floats, theta: Floats, A: Floats, b: Floats, z: Floats, y: float) -> None:
    """VAW learns a row; a predictor with P = 0 has nothing to learn."""
    Pz = np.empty(len(theta))
    along, s = forward(P, theta, z, Pz)
    add(A, b, z, y)
    learn(P, theta, Pz, along, s, y)


@kernel
def play(
    block: Block,
    reads: tuple[Indices, Indices, int],
    units: Units,
    vaw: tuple[Floats, Floats, Floats, Floats],
    books: tuple[Floats, Floats],
    sums: tuple[Floats, Floats, Floats],
) -> int:
    """Play len(y) rounds; X is read at the bought coordinates only.

    Returns how many were played: all, or those before the first one with a value that cannot be
    squared.

    `reads` are (fixed, avoid, explore): every round buys the fixed features, which contain the
    support, and `explore` features outside of `avoid`, drawn uniformly. If `avoid` is not all of
    `fixed`, only what was drawn is added to the sums.
    """
    seed, first_round, X, y, bought, predictions, space = block
    fixed, avoid, explore = reads
    P, theta, A, b = vaw
    limits, record = books
    pairs, singles, totals = sums
    d, width = X.shape[1], len(fixed) + explore
    drawn, union = np.empty(explore, dtype=np.int64), np.empty(width, dtype=np.int64)
    values, z, Pz = np.empty(width), np.empty(len(theta)), np.empty(len(theta))
    # What was seen is kept until the end of the block: adding it all at once is much cheaper.
    offsets = np.zeros(len(y) + 1, dtype=np.int64)
    kept, x = np.empty(len(y) * width, dtype=np.int64), np.empty(len(y) * width)
    played = len(y)
    for t in range(len(y)):
        complement(seed, first_round + t, 0, d, avoid, drawn, space)
        n = merge(drawn, fixed, union)
        if not read(X[t], union[:n], values, bought[t]):
            played = t
            break
        standardise(union[:n], values[:n], units, z)
        along, s = forward(P, theta, z, Pz)
        predictions[t] = within(limits, along, s)
        note(limits, record, predictions[t], y[t])
        label = y[t] - limits[BASE]
        add(A, b, z, label)
        learn(P, theta, Pz, along, s, label)
        if len(avoid) < len(fixed):
            for a in range(explore):
                values[a] = X[t, drawn[a]]
            n = arrived(drawn, values[:explore], kept[offsets[t] :], x[offsets[t] :])
        else:
            n = arrived(union[:n], values[:n], kept[offsets[t] :], x[offsets[t] :])
        offsets[t + 1] = offsets[t] + n
    add_rows(offsets, kept, x, y[:played], pairs, singles, totals)
    return played
