"""What a ShapeModel is put together from: curves of single features, and small trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import DataError, shortened
from keyhole.problem.ticket import Floats, Indices

NOTHING = -1  # in place of a feature: all rows go left
MOST_LEVELS, MOST_TREES, MOST_KNOTS = 6, 4096, 4096
CHUNK = 4096  # rows that go through the trees together


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """What the value of one feature adds: straight between knots, flat beyond the outermost.

    An absent value adds 0. At exactly `mode`, the value that is there most often, `jump` is added;
    None if there is no such value. `typical` are values of the feature: the middle ones of equal
    parts.

    Examples
    --------
    >>> curve = Curve(np.array([0.0, 10.0]), np.array([-1.0, 1.0]), np.array([0.0, 5.0, 10.0]))
    >>> curve.at([2.5, 99.0, np.nan])
    array([-0.5,  1. ,  0. ])
    """

    knots: Floats
    values: Floats
    typical: Floats
    mode: float | None = None
    jump: float = 0.0

    def at(self, values: ArrayLike) -> Floats:
        """What these values add."""
        x = np.asarray(values, dtype=np.float64)
        added = np.interp(x, self.knots, self.values)
        if self.mode is not None:
            added = added + self.jump * (x == self.mode)
        result: Floats = np.where(np.isnan(x), 0.0, added)
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Small trees; below node i of one are nodes 2 i + 1 (left) and 2 i + 2.

    `features`: the place, among those of the model, of the feature that a node looks at, -1: all
    rows go left. A row goes left if its value is at most the threshold, one without a value where
    `absent_left` says. What a tree adds is the leaf that the row comes to.
    """

    features: Indices
    thresholds: Floats
    absent_left: NDArray[np.bool_]
    leaves: Floats

    def at(self, X: Floats) -> Floats:
        """What all trees add for rows of the model's features."""
        added = np.zeros(len(X))
        if len(self.leaves):
            for first in range(0, len(X), CHUNK):
                added[first : first + CHUNK] = self._of(X[first : first + CHUNK])
        return added

    def times(self, share: float) -> Trees:
        """Trees that add so much of it."""
        return Trees(self.features, self.thresholds, self.absent_left, share * self.leaves)

    def _of(self, X: Floats) -> Floats:
        inner, rows, total = self.features.shape[1], np.arange(len(X)), np.zeros(len(X))
        for tree in range(len(self.leaves)):
            node = np.zeros(len(X), dtype=np.int64)
            while node.size and node[0] < inner:  # all leaves are equally deep
                j = self.features[tree, node]
                value = np.where(j == NOTHING, -np.inf, X[rows, np.maximum(j, 0)])
                absent, low = np.isnan(value), value <= self.thresholds[tree, node]
                left = np.where(absent, self.absent_left[tree, node], low)
                node = 2 * node + np.where(left, 1, 2)
            total += self.leaves[tree, node - inner]
        return total


def no_trees() -> Trees:
    """No trees at all."""
    return Trees(
        np.zeros((0, 1), dtype=np.int64),
        np.zeros((0, 1)),
        np.zeros((0, 1), dtype=np.bool_),
        np.zeros((0, 2)),
    )


def refuse_odd_trees(trees: Trees, k: int) -> None:
    """DataError unless rows of k features can go through them."""
    if trees.features.ndim != 2 or trees.leaves.ndim != 2:
        raise DataError("trees must be tables, one row for each tree")
    many, nodes = trees.features.shape
    shapes = {trees.thresholds.shape, trees.absent_left.shape}
    fits = shapes == {(many, nodes)} and trees.leaves.shape == (many, nodes + 1)
    levels = (nodes + 1).bit_length() - 1
    if not fits or many > MOST_TREES or not 1 <= levels <= MOST_LEVELS or nodes + 1 != 1 << levels:
        raise DataError(f"trees must have 2^levels - 1 nodes, of {MOST_LEVELS} levels at most")
    if many and (trees.features.min() < NOTHING or trees.features.max() >= k):
        raise DataError(f"trees.features must be below {k}, the features, or {NOTHING}")
    if not (np.isfinite(trees.thresholds).all() and np.isfinite(trees.leaves).all()):
        raise DataError("trees must have finite thresholds and leaves")


def refuse_odd_curve(name: str, curve: Curve) -> None:
    """DataError unless values of the feature of that name can be looked up."""
    numbers = (curve.knots, curve.values, curve.typical)
    if any(part.ndim != 1 or not np.isfinite(part).all() for part in numbers):
        raise DataError(f"the curve of {name} must have finite knots, values and typical values")
    if not 1 <= len(curve.knots) == len(curve.values) <= MOST_KNOTS:
        raise DataError(f"the curve of {name} must have a value for each knot, and one at least")
    if (np.diff(curve.knots) <= 0).any() or (np.diff(curve.typical) < 0).any():
        raise DataError(f"the knots and typical values of {name} must be ascending")
    if not math.isfinite(curve.jump) or not math.isfinite(curve.mode or 0.0):
        raise DataError(f"the curve of {name} must have a finite mode and jump")


def read_curve(told: Any) -> Curve:
    """A curve from JSON."""
    knots, values, typical = (read_numbers(told[name]) for name in ("knots", "values", "typical"))
    mode = None if told["mode"] is None else read_number(told["mode"])
    return Curve(knots, values, typical, mode, read_number(told["jump"]))


def read_trees(told: Any) -> Trees:
    """Trees from JSON."""
    features, left = read_whole(told["features"]), np.array(told["absent_left"])
    if not len(features):
        return no_trees()
    if left.dtype != np.bool_:
        raise DataError("trees.absent_left must be true or false")
    return Trees(features, read_numbers(told["thresholds"]), left, read_numbers(told["leaves"]))


def read_numbers(told: Any) -> Floats:
    """Numbers from JSON."""
    found = np.array(told)
    if found.dtype.kind not in "if" and found.size:
        raise DataError(f"numbers are wanted, got {shortened(told)}")
    return found.astype(np.float64)


def read_whole(told: Any) -> Indices:
    """Whole numbers from JSON."""
    found = np.array(told)
    if found.dtype.kind != "i" and found.size:
        raise DataError(f"whole numbers are wanted, got {shortened(told)}")
    return found.astype(np.int64)


def read_number(told: Any) -> float:
    """A number from JSON."""
    if isinstance(told, bool) or not isinstance(told, int | float):
        raise DataError(f"a number is wanted, got {shortened(told)}")
    return float(told)


def read_names(told: Any) -> tuple[str, ...]:
    """Names from JSON."""
    if not isinstance(told, list) or not all(isinstance(name, str) for name in told):
        raise DataError(f"names are wanted, got {shortened(told)}")
    return tuple(told)
