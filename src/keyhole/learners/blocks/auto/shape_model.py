"""What AutoLearner knows in the rows told last, as a ShapeModel that predicts without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.auto.chain import SEATS, STARTED
from keyhole.learners.blocks.auto.ring import Rows, read_often, rows_since
from keyhole.learners.blocks.auto.state import Auto
from keyhole.learners.blocks.shapes.shape_fit import (
    FEWEST_ROWS,
    Line,
    Shapes,
    believed,
    bent,
    fit_shapes,
)
from keyhole.learners.blocks.sums.column_stats import centres
from keyhole.problem import Floats, Indices
from keyhole.problem.shape_model import ShapeModel

OFTEN = 0.5  # of the rows: who is read in so many may be in the model
TRIED_ON = 4  # one part in so many of the rows is left out when shapes are tried


class Trial(NamedTuple):
    """How much of curves and of trees is believed, and what was then missed by rows left out."""

    curves: float
    trees: float
    missed: Floats

    def beats(self, other: Trial) -> bool:
        """Whether it lost less on the same rows, by more than a standard error."""
        gain = other.missed**2 - self.missed**2
        return bool(gain.sum() > np.sqrt(((gain - gain.mean()) ** 2).sum())) if len(gain) else False


Linear = tuple[Floats, float]  # weights of all features, and the intercept


def parted(rows: Rows) -> tuple[Rows, Rows]:
    """The rows that shapes are tried with, and those they are tried on."""
    rest = len(rows.y) // TRIED_ON
    some = len(rows.y) - rest
    return Rows(rows.X[:some], rows.y[:some]), Rows(rows.X[some:], rows.y[some:])


def line_of(auto: Auto, linear: Linear, features: Indices) -> Line:
    """A linear model of these features, cut off where the learner cuts off."""
    weights, intercept = linear
    middle = centres(auto.state.values)[features]
    middle = np.where(np.isnan(middle), 0.0, middle)
    away = auto.settings.far * auto.state.peaks[features]
    return Line(weights[features], intercept, middle, middle - away, middle + away)


def told_rows(auto: Auto, features: Indices) -> Rows:
    """The values of these features in the rows told last, since shapes last began anew."""
    return rows_since(auto.state.ring, int(auto.chain.clock[STARTED]), features)


def tried(rows: Rows, line: Line, fit: Callable[[Rows, Line], Shapes]) -> Trial:
    """Fit to the older rows, and see what becomes of the others."""
    some, rest = parted(rows)
    missed = rest.y - line.at(rest.X)
    if len(some.y) < FEWEST_ROWS:
        return Trial(0.0, 0.0, missed)
    shapes = fit(some, line)
    curved = shapes.curved(rest.X)
    a = believed(missed, curved)
    grown = shapes.trees.at(rest.X)
    b = believed(missed - a * curved, grown)
    return Trial(a, b, missed - a * curved - b * grown)


def by_importance(rows: Rows, line: Line, fit: Callable[[Rows, Line], Shapes]) -> Indices:
    """Places of the features whose values matter to rows left out, what matters most first.

    What matters is what is lost when the values of a feature are those of other rows. The rows that
    the features are then tried on have no part in it.
    """
    some, rest = parted(parted(rows)[0])
    if len(some.y) < FEWEST_ROWS:
        return np.empty(0, dtype=np.int64)
    shapes = fit(some, line)

    def lost(X: Floats) -> float:
        missed = rest.y - line.at(X) - shapes.curved(X) - shapes.trees.at(X)
        return float(missed @ missed)

    more = np.zeros(rest.X.shape[1])
    for a in range(len(more)):
        there = np.flatnonzero(~np.isnan(rest.X[:, a]))
        for part in (1, 2):  # a third and two thirds of the rows away
            X = rest.X.copy()
            X[there, a] = np.roll(rest.X[there, a], part * len(there) // 3)
            more[a] += lost(X) - lost(rest.X)
    order: Indices = np.argsort(-more, kind="stable")[: int((more > 0.0).sum())]
    return order


def shape_model(
    auto: Auto,
    linear: Linear,
    refit: Callable[[Indices], Linear],
    fits: Callable[[Indices], bool],
    name: Callable[[int], str],
    least: int,
) -> ShapeModel:
    """The model of the features of `linear`, or of others that do better on rows left out.

    `refit` is the linear model of some features, `fits` whether a model may have them, `least` how
    many it may have at least, whichever they are.
    """
    s = auto.settings
    trees, depth = auto.chain.forest.leaves.shape
    levels = depth.bit_length() - 1

    def fit(rows: Rows, line: Line) -> Shapes:
        missed, many = rows.y - line.at(rows.X), trees if len(rows.y) >= FEWEST_ROWS else 0
        return fit_shapes(rows.X, missed, line, many, levels, int(s.seed))

    own = np.flatnonzero(linear[0])
    best, line, rows = own, line_of(auto, linear, own), told_rows(auto, own)
    trial = tried(rows, line, fit)
    other = _others(auto, fits, fit, least)
    if len(other) and not np.array_equal(other, own):
        through, seen = line_of(auto, refit(other), other), told_rows(auto, other)
        again = tried(seen, through, fit)
        if again.beats(trial):
            best, line, rows, trial = other, through, seen, again
    low, high = np.nan_to_num(auto.state.mixture.span).tolist()
    told = tuple(map(name, best.tolist())), best
    constant, curves, grown = bent(line, fit(rows, line), trial.curves, trial.trees)
    return ShapeModel(*told, constant, curves, grown, low, high, trial.missed)


def _others(
    auto: Auto,
    fits: Callable[[Indices], bool],
    fit: Callable[[Rows, Line], Shapes],
    least: int,
) -> Indices:
    """The features that matter most among those read often, as many as fit."""
    started = int(auto.chain.clock[STARTED])
    often = read_often(auto.state.ring, started, OFTEN, min(least, SEATS), SEATS)
    rows = told_rows(auto, often)
    if not len(often) or not len(rows.y):
        return often[:0]
    flat = line_of(auto, (np.zeros(auto.settings.d), float(rows.y.mean())), often)
    chosen = often[:0]
    for j in often[by_importance(rows, flat, fit)].tolist():
        more = np.sort(np.append(chosen, j))
        chosen = more if fits(more) else chosen
    return chosen
