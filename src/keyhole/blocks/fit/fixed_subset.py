"""Rounds that read the same features every time and predict by VAW on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.fit import vaw as vaws
from keyhole.blocks.fit.vaw import VAWState
from keyhole.blocks.jit.decorators import kernel, part
from keyhole.problem import Floats, Indices


class Arrived(NamedTuple):
    """Sums of what arrived, feature by feature, and last the labels; and of how many."""

    sums: Floats
    counts: Indices


@part
def _mean(arrived: Arrived, a: int) -> float:
    return float(arrived.sums[a] / max(arrived.counts[a], 1))


@part
def _row(values: Floats, centre: bool, arrived: Arrived, x: Floats) -> None:
    # What VAW sees: means in place of absent values; centred, and a final 1, with an intercept.
    for a in range(len(values)):
        mean = _mean(arrived, a)
        x[a] = mean if np.isnan(values[a]) else values[a]
        if centre:
            x[a] = x[a] - mean if arrived.counts[a] > 0 else 0.0
    if centre:
        x[len(values)] = 1.0


@kernel
def predict(values: Floats, centre: bool, vaw: VAWState, arrived: Arrived) -> float:
    """VAW's prediction from the values, NaN for absent; with the mean label if it is centred."""
    v = len(values)
    x, Px = np.empty(len(vaw.theta)), np.empty(len(vaw.theta))
    _row(values, centre, arrived, x)
    along, s = vaws.forward(vaw.P, vaw.theta, x, Px)
    return (_mean(arrived, v) if centre else 0.0) + along / s


@part
def _learn(
    values: Floats,
    y: float,
    centre: bool,
    vaw: VAWState,
    arrived: Arrived,
    x: Floats,
    Px: Floats,
) -> float:
    # The prediction; then VAW and the means learn the label. x and Px are written to.
    v, (P, theta, A, b) = len(values), vaw
    _row(values, centre, arrived, x)
    along, s = vaws.forward(P, theta, x, Px)
    offset = _mean(arrived, v) if centre else 0.0
    prediction = offset + along / s
    if centre and arrived.counts[v] == 0:
        offset = y  # the first label is its own mean
    vaws.add(A, b, x, y - offset)
    vaws.learn(P, theta, Px, along, s, y - offset)
    for a in range(v):
        if not np.isnan(values[a]):
            arrived.sums[a] += values[a]
            arrived.counts[a] += 1
    arrived.sums[v] += y
    arrived.counts[v] += 1
    return prediction


@kernel
def learn(values: Floats, y: float, centre: bool, vaw: VAWState, arrived: Arrived) -> None:
    """Learn the label of a row: VAW, and the means."""
    v = len(vaw.theta)
    _learn(values, y, centre, vaw, arrived, np.empty(v), np.empty(v))


@kernel
def play(block: Block, support: Indices, centre: bool, vaw: VAWState, arrived: Arrived) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    values, x, Px = np.empty(len(support)), np.empty(len(vaw.theta)), np.empty(len(vaw.theta))
    for t in range(len(block.y)):
        if not read(block.X[t], support, values, block.bought[t]):
            return t
        block.predictions[t] = _learn(values, block.y[t], centre, vaw, arrived, x, Px)
    return len(block.y)
