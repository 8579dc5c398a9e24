"""Curves and trees of a few features from complete rows, to bend a linear model of them.

The same columns, cuts and trees as behind AutoLearner, fitted at once. The columns of a curve are
looked up at knots and run straight between them, so what is fitted is a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.shapes.seats import (
    COLUMNS,
    FORM,
    KNOTS,
    LOOKED,
    SAMPLE,
    columns,
    empty_seats,
    make_cuts,
    make_form,
)
from keyhole.learners.blocks.shapes.trees import empty_forest, fit_tree
from keyhole.problem import Floats
from keyhole.problem.shape_parts import Curve, Trees, no_trees

FEWEST_VALUES = 16  # of a feature that gets a curve
FEWEST_ROWS = 64  # that curves and trees are fitted to
QUANTILES = 24  # steps between the knots of a curve
PASSES = 4  # how often each tree is fitted
SMOOTH = COLUMNS - 1  # columns that run straight between knots; the last is [x != mode]
FARTHEST = 5.0  # standard deviations: where columns are cut off
MODE = 2  # place in a form


class Line(NamedTuple):
    """A linear model of the same features: what is bent.

    `centres`: what an absent value counts as. Beyond `low` and `high` values count as these.
    """

    weights: Floats
    intercept: float
    centres: Floats
    low: Floats
    high: Floats

    @property
    def level(self) -> float:
        """The prediction where all values are absent."""
        return self.intercept + float(self.weights @ self.centres)

    def at(self, X: Floats) -> Floats:
        """Its predictions."""
        away = np.clip(X, self.low, self.high) - self.centres
        return self.level + np.where(np.isnan(away), 0.0, away) @ self.weights


class Basis(NamedTuple):
    """The columns of one curve, looked up at `knots`; none where nothing varies.

    `typical`: the middles of equal parts; `mode`: the value with a column of its own, which is
    `off` elsewhere and `on` at it.
    """

    knots: Floats
    table: Floats
    typical: Floats
    mode: float | None
    off: float
    on: float

    def at(self, values: Floats) -> Floats:
        """All columns at these values; 0 where one is absent."""
        there = np.where(np.isnan(values), 0.0, values)
        found = np.zeros((len(values), COLUMNS))
        for i in range(self.table.shape[1]):
            found[:, i] = np.interp(there, self.knots, self.table[:, i])
        if self.mode is not None:
            found[:, SMOOTH] = np.where(there == self.mode, self.on, self.off)
        found[np.isnan(values)] = 0.0
        return found


class Shapes(NamedTuple):
    """What curves (weights of columns, and last of 1) and trees make of what a line misses."""

    bases: tuple[Basis, ...]
    weights: Floats
    trees: Trees

    def curved(self, X: Floats) -> Floats:
        """What curves add."""
        return design(self.bases, X) @ self.weights


def latest(values: Floats) -> Floats:
    """An ascending sample of the last values, the newest last; as `seats.sample` takes it."""
    there = values[-LOOKED:]
    there = there[~np.isnan(there)][::-1]
    many = min(len(there), SAMPLE)
    return np.sort(there[np.arange(many) * len(there) // max(many, 1)])


def basis(values: Floats, low: float, high: float) -> Basis:
    """The columns of a feature with these values, the newest last, that are cut off at the ends."""
    sample = latest(values)
    if len(sample) < FEWEST_VALUES or sample[0] == sample[-1]:
        knots = np.unique([low, *sample[:1], high])
        return Basis(knots, np.zeros((len(knots), 0)), sample[:1], None, 0.0, 0.0)
    form, row = np.zeros(FORM), np.zeros(COLUMNS)
    make_form(sample, form)
    typical = np.quantile(sample, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    between = np.quantile(sample, np.arange(QUANTILES + 1) / QUANTILES)
    knots = np.unique([min(low, sample[0]), *between, max(high, sample[-1])])
    table = np.zeros((len(knots), SMOOTH))
    for i, knot in enumerate(knots.tolist()):
        columns(form, knot, row)
        table[i] = row[:SMOOTH]
    mean, size = float(form[3 + KNOTS + SMOOTH]), float(form[3 + KNOTS + COLUMNS + SMOOTH])
    if size <= 0.0:
        return Basis(knots, table, typical, None, 0.0, 0.0)
    off, on = np.clip([(1.0 - mean) / size, -mean / size], -FARTHEST, FARTHEST).tolist()
    return Basis(knots, table, typical, float(form[MODE]), off, on)


def design(bases: tuple[Basis, ...], X: Floats) -> Floats:
    """The columns of all curves side by side, and last 1."""
    blocks = [one.at(X[:, a]) for a, one in enumerate(bases)]
    return np.concatenate([*blocks, np.ones((len(X), 1))], axis=1)


def fit_shapes(X: Floats, missed: Floats, line: Line, trees: int, depth: int, seed: int) -> Shapes:
    """Curves, by a ridge regression, then trees, for what is missed at these rows."""
    bases = tuple(
        basis(X[:, a], *ends) for a, ends in enumerate(zip(line.low, line.high, strict=True))
    )
    Z = design(bases, X)
    weights = np.asarray(np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]), Z.T @ missed), np.float64)
    return Shapes(bases, weights, grow(X, missed - Z @ weights, trees, depth, seed))


def grow(X: Floats, missed: Floats, trees: int, depth: int, seed: int) -> Trees:
    """Trees fitted one after the other, over and over, to what the others miss."""
    n, k = X.shape
    if trees == 0 or k == 0:
        return no_trees()
    forest, seated = empty_forest(trees, depth, n), empty_seats(n, k, 0)
    for a in range(k):
        seated.who[a], sample = a, latest(X[:, a])
        many = make_cuts(sample, seated.cuts[a]) if len(sample) else 0
        seated.many[a], there = many, ~np.isnan(X[:, a])
        seated.codes[there, a] = 1 + np.searchsorted(seated.cuts[a, :many], X[there, a])
    slots, missed = np.arange(n), np.ascontiguousarray(missed)
    for _ in range(PASSES * trees):
        fit_tree(forest, seated, slots, missed, np.uint64(seed))
    return Trees(forest.features, forest.thresholds, forest.absent_left, forest.leaves)


def bent(line: Line, shapes: Shapes, a: float, b: float) -> tuple[float, tuple[Curve, ...], Trees]:
    """The line with so much of the curves and of the trees: intercept, curves, trees."""
    curves = list[Curve]()
    for i, one in enumerate(shapes.bases):
        w = a * shapes.weights[COLUMNS * i : COLUMNS * (i + 1)]
        straight = np.clip(one.knots, line.low[i], line.high[i]) - line.centres[i]
        values = line.weights[i] * straight + one.table @ w[: one.table.shape[1]]
        common = one.mode is not None
        values += one.off * w[SMOOTH] if common else 0.0
        jump = (one.on - one.off) * float(w[SMOOTH]) if common else 0.0
        curves.append(Curve(one.knots, values, one.typical, one.mode if jump else None, jump))
    constant = line.level + a * float(shapes.weights[-1])
    trees = shapes.trees.times(b) if b > 0.0 else no_trees()
    return constant, tuple(curves), trees


def believed(missed: Floats, guess: Floats) -> float:
    """How much of a guess, from 0 to 1, does best at rows that it does not know."""
    size = float(guess @ guess)
    return float(np.clip((missed @ guess) / size, 0.0, 1.0)) if size > 0.0 else 0.0
