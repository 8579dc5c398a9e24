"""What AutoLearner makes of each feature it keeps: curves with their doubt, and interactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.auto import engine
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.chain import STARTED, chain_words
from keyhole.learners.blocks.auto.explanation import WORTH_SAYING
from keyhole.learners.blocks.auto.ring import read_often, rows_since
from keyhole.learners.blocks.auto.state import Auto
from keyhole.learners.blocks.shapes.seats import LOOKED
from keyhole.problem import Floats
from keyhole.problem.display import counted, few
from keyhole.problem.labels import cut_off_largest

ROWS = 64  # that features of other rows are put into
POINTS = 15  # of a curve
PAIRED = 8  # features of which pairs are looked at: those whose curves vary most
PAIRED_ROWS = 32
MOST_PAIRS = 2
STRONG = 0.05  # standard deviations of predictions: weaker pairs are not shown
LEVELS = (0.1, 0.9)  # quantiles of the other feature
KEPT = 0.75  # of the rows: who is read in so many is kept
WHOLE = 0.25  # of the rows, with all features that are kept: then the others are left out
FEWEST = 8  # rows around a mark that say how sure a curve is

Predict = Callable[[Floats], float]  # of a row of bought values; NaN is absent


class FeatureCurve(NamedTuple):
    """What a feature adds to predictions, at some of the values that were bought.

    `adds` is the mean prediction with that value in the place of the feature's own, less its mean
    over the rows told last (partial dependence). From `low` to `high` is where those rows have it:
    `adds`, and the mean of what predictions miss in the rows whose value is nearest to that mark,
    beyond what they miss in all, two standard errors to either side; NaN where there are fewer than
    8 such rows.
    """

    name: str
    at: Floats
    adds: Floats
    low: Floats
    high: Floats


class PairCurves(NamedTuple):
    """The curve of feature `name` where `other` is low, and where it is high (its levels).

    `strength` is the standard deviation of what both add together, beyond what each adds alone.
    """

    name: str
    other: str
    at: Floats
    levels: tuple[float, float]
    adds: tuple[Floats, Floats]
    strength: float


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Curves of the kept features and the strongest interactions: see `AutoLearner.curves`.

    `saves` is the share of the squared error of late that shapes save; `rows` were looked at.
    """

    features: tuple[FeatureCurve, ...]
    pairs: tuple[PairCurves, ...]
    saves: float
    rows: int

    def __repr__(self) -> str:
        names = few([curve.name for curve in self.features])
        return f"<Curves of {names}, from {counted(self.rows, 'row')}>"


def curves_of(auto: Auto, past: Floats, name: Callable[[int], str]) -> Curves:
    """The curves of what is kept, given the past: see `AutoLearner.curves`.

    Not of what the current batch reads: one that explores may do without a feature that is kept.
    """
    saves, started = chain_words(auto.chain).shapes_save, int(auto.chain.clock[STARTED])
    kept = read_often(auto.state.ring, started, KEPT, 1, auto.settings.width)
    if not len(kept) or saves < WORTH_SAYING:
        return Curves((), (), saves, 0)
    rows = rows_since(auto.state.ring, started, kept)
    with np.errstate(all="ignore"):
        predict = predictor(auto, engine.reopen(auto, kept), past)
        return found_curves(predict, list(map(name, kept.tolist())), rows.X, rows.y, saves)


def predictor(auto: Auto, batch: Batch, past: Floats) -> Predict:
    """What is predicted now for values of what this batch reads."""

    def predict(row: Floats) -> float:
        return cut_off_largest(engine.predict_row(auto, batch, row, past))

    return predict


def marks(values: Floats, most: int = POINTS) -> Floats:
    """Some of these values, each once, ascending; NaN is none.

    All, if they are not too many; else the middle one of each of `most` equal parts.
    """
    there = np.unique(values[~np.isnan(values)])
    if len(there) <= most:
        return there
    every = np.sort(values[~np.isnan(values)])
    return np.unique(every[((np.arange(most) + 0.5) * len(every) / most).astype(np.int64)])


def rows_before(X: Floats, most: int = ROWS) -> Floats:
    """Some rows to compare with, the newest among them; what one lacks, the next older one gives.

    X are rows told, the oldest first. A feature that no row has stays absent.
    """
    n = len(X)
    places = n - 1 - (np.arange(min(n, most)) * n) // max(min(n, most), 1)
    filled = X.copy()
    for t in range(1, n):
        filled[t] = np.where(np.isnan(X[t]), filled[t - 1], X[t])
    for t in range(n - 2, -1, -1):  # before the first value of a feature: that one
        filled[t] = np.where(np.isnan(filled[t]), filled[t + 1], filled[t])
    return filled[places]


def found_curves(predict: Predict, names: list[str], X: Floats, y: Floats, saves: float) -> Curves:
    """The curves of the features of X, rows told, the oldest first."""
    X, y = X[-LOOKED:], y[-LOOKED:]
    whole = ~np.isnan(X).any(axis=1)  # others are predicted from less
    if whole.sum() >= WHOLE * len(y):
        X, y = X[whole], y[whole]
    missed = y - np.array([predict(row) for row in X])
    missed = missed - (missed.mean() if len(y) else 0.0)  # curves are about a level of their own
    rows = rows_before(X)
    curves = {a: feature_curve(predict, name, a, rows, X, missed) for a, name in enumerate(names)}
    curves = {a: curve for a, curve in curves.items() if len(curve.at) > 1}
    order = sorted(curves, key=lambda a: -float(np.ptp(curves[a].adds)))
    pairs = pair_curves(predict, curves, rows, X)
    return Curves(tuple(curves[a] for a in order), pairs, saves, len(y))


def feature_curve(
    predict: Predict, name: str, a: int, rows: Floats, X: Floats, missed: Floats
) -> FeatureCurve:
    """The curve at place a: by the rows to compare with; its doubt by those told, X."""
    at = marks(X[:, a])
    adds = dependence(predict, a, at, rows)
    there = ~np.isnan(X[:, a])
    nearest = np.searchsorted((at[1:] + at[:-1]) / 2.0, X[there, a])
    counts = np.bincount(nearest, minlength=len(at)).astype(np.float64)
    safe = np.maximum(counts, 1.0)
    mean = np.bincount(nearest, missed[there], len(at)) / safe
    square = np.bincount(nearest, (missed[there] - mean[nearest]) ** 2, len(at))
    error = np.sqrt(square / np.maximum(counts - 1.0, 1.0) / safe)
    few_rows = counts < FEWEST
    mean[few_rows], error[few_rows] = np.nan, np.nan
    middle = float(np.average(adds, weights=counts)) if counts.any() else 0.0
    adds = adds - middle
    return FeatureCurve(name, at, adds, adds + mean - 2.0 * error, adds + mean + 2.0 * error)


def dependence(predict: Predict, a: int, at: Floats, rows: Floats) -> Floats:
    """The mean prediction for these rows with each of these values at place a."""
    found, mixed = np.zeros(len(at)), rows.copy()
    for i, value in enumerate(at.tolist()):
        mixed[:, a] = value
        found[i] = sum(map(predict, mixed)) / max(len(rows), 1)
    return found


def pair_curves(
    predict: Predict, curves: dict[int, FeatureCurve], rows: Floats, X: Floats
) -> tuple[PairCurves, ...]:
    """The strongest interactions of the features at these places, if there are any to speak of."""
    places = sorted(curves, key=lambda a: -float(np.ptp(curves[a].adds)))[:PAIRED]
    strengths = _strengths(predict, sorted(places), rows[:PAIRED_ROWS])
    spread = float(np.std([predict(row) for row in rows])) if len(rows) else 0.0
    strongest = sorted(strengths.items(), key=lambda item: -item[1])[:MOST_PAIRS]
    found = list[PairCurves]()
    for (a, b), strength in strongest:
        if not strength > STRONG * spread:
            continue
        if len(curves[b].at) > len(curves[a].at):  # the axis is the one with more values
            a, b = b, a
        low, high = (float(v) for v in np.nanquantile(X[:, b], LEVELS, method="nearest"))
        if low == high:
            low, high = float(curves[b].at[0]), float(curves[b].at[-1])
        lines = [dependence(predict, a, curves[a].at, _with(rows, b, v)) for v in (low, high)]
        middle = float(np.mean(lines))
        both = lines[0] - middle, lines[1] - middle
        names = curves[a].name, curves[b].name
        found.append(PairCurves(*names, curves[a].at, (low, high), both, strength))
    return tuple(found)


def _with(rows: Floats, place: int, value: float) -> Floats:
    mixed = rows.copy()
    mixed[:, place] = value
    return mixed


def _strengths(predict: Predict, places: list[int], rows: Floats) -> dict[tuple[int, int], float]:
    """Of each pair, how much its two values add together, beyond what each adds alone.

    Half the root of the mean square of f(x) - f(x, one from another row) - f(x, the other from it)
    + f(x, both from it): the standard deviation of that part, where rows are independent.
    """
    total = dict[tuple[int, int], float]()
    for row, donor in zip(rows, np.roll(rows, 1, axis=0), strict=True):

        def lent(*some: int, row: Floats = row, donor: Floats = donor) -> float:
            mixed = row.copy()
            mixed[list(some)] = donor[list(some)]
            return predict(mixed)

        here, alone = predict(row), {a: lent(a) for a in places}
        for i, j in ((i, j) for i in places for j in places if i < j):
            both = here - alone[i] - alone[j] + lent(i, j)
            total[i, j] = total.get((i, j), 0.0) + both**2
    many = max(len(rows), 1)
    return {pair: 0.5 * float(np.sqrt(sum_ / many)) for pair, sum_ in total.items()}
