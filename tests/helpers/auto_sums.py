"""AutoLearner's sums as they follow from the rows it was told, row by row in plain NumPy.

The rows, and the order of the batches in which they entered the sums, are those of its ring; what
they add up to is worked out from the beginning, from means and variances of all values so far.
"""

from typing import NamedTuple

import numpy as np

import keyhole as kh
from keyhole.learners.blocks.auto.ring import told_last
from keyhole.learners.blocks.sums.memories import COUNT, LEVEL, PRODUCT, SQUARE
from keyhole.problem import Floats

EPSILON = float(np.finfo(np.float64).eps)


class Sums(NamedTuple):
    """The sums of one memory, of all features and the constant in the last place."""

    G: Floats
    c: Floats
    n: Floats
    yy: float


class Worked(NamedTuple):
    """What everything should be: the memories, means and variances of features, peaks."""

    memories: list[Sums]
    reads: Floats
    means: Floats
    variances: Floats
    label: tuple[float, float]
    peaks: Floats


def centre(values: Floats) -> float:
    """What values that arrived so far are centred by."""
    if not len(values) or values.mean() == 0.0:
        return 0.0
    variance = values.var(ddof=1) if len(values) > 1 else 0.0
    mean = float(values.mean())
    return mean * max(0.0, 1.0 - 2.0 * variance / len(values) / mean**2)


def rows_in_sums(learner: kh.AutoLearner) -> tuple[Floats, Floats, Floats]:
    """Rows over all features (NaN: not read, or absent), labels and folds, in order."""
    told, d = told_last(learner._state.ring), learner.problem.d
    X = np.full((len(told.labels), d), np.nan)
    for row, features, values in zip(X, told.features, told.values, strict=True):
        there = features >= 0
        row[features[there]] = values[there]
    order = np.argsort(told.folds, kind="stable")
    order = order[told.folds[order] > 0]
    return X[order], told.labels[order], told.folds[order].astype(float)


def centred(learner: kh.AutoLearner) -> tuple[Floats, Floats, Floats]:
    """The same rows and labels less the centres of their fold; 0 where nothing arrived."""
    X, y, folds = rows_in_sums(learner)
    Z, v = np.zeros(X.shape), np.zeros(len(y))
    for fold in np.unique(folds):
        upto, here = folds <= fold, folds == fold
        centres = np.array([centre(x[~np.isnan(x)]) for x in X[upto].T])
        Z[here] = np.nan_to_num(X[here] - centres)
        v[here] = y[here] - centre(y[upto])
    return Z, v, folds


def weights(learner: kh.AutoLearner, folds: Floats) -> list[Floats]:
    """What a row counts by now, in every memory: as many rows came after its batch."""
    return [np.exp((folds - folds.max(initial=0.0)) / tau) for tau in learner.parts.taus]


def worked_out(learner: kh.AutoLearner) -> Worked:
    """What the sums of a learner must be that was told nothing but the rows of its ring."""
    (X, y, _), (Z, v, folds) = rows_in_sums(learner), centred(learner)
    z, seen = (np.column_stack([part, np.ones(len(y))]) for part in (Z, ~np.isnan(X)))
    memories = [
        Sums((z.T * a) @ z, (z.T * a) @ v, a @ seen, float(a @ v**2))
        for a in weights(learner, folds)
    ]
    arrived = [x[~np.isnan(x)] for x in X.T]
    return Worked(
        memories,
        np.array([float(len(x)) for x in arrived]),
        np.array([x.mean() if len(x) else 0.0 for x in arrived]),
        np.array([x.var() if len(x) else 0.0 for x in arrived]),
        (float(y.mean()), float(y.var())) if len(y) else (0.0, 0.0),
        np.abs(Z).max(axis=0, initial=0.0),
    )


def learnt(learner: kh.AutoLearner) -> list[Sums]:
    """The same as the learner has them, by feature; 0 for pairs of which one rests."""
    kept, found = learner._state.kept, list[Sums]()
    d, places = len(kept.seat), np.flatnonzero(kept.who >= 0)
    seats, features = np.append(places, len(kept.who)), np.append(kept.who[places], len(kept.seat))
    for m, scale in enumerate(kept.scale):
        G, c, n = np.zeros((d + 1, d + 1)), np.zeros(d + 1), np.zeros(d + 1)
        G[np.ix_(features, features)] = kept.G[m][np.ix_(seats, seats)] * scale
        c[features], n[features] = kept.c[m, seats] * scale, kept.n[m, seats] * scale
        if kept.rest.shape[1]:
            away, rest = kept.seat < 0, kept.rest[m] * scale
            G[:-1, :-1][np.diag_indices(d)] += np.where(away, rest[:, SQUARE], 0.0)
            G[:-1, -1] = G[-1, :-1] = np.where(away, rest[:, LEVEL], G[-1, :-1])
            c[:-1], n[:-1] = (
                np.where(away, rest[:, at], one[:-1]) for at, one in ((PRODUCT, c), (COUNT, n))
            )
        found.append(Sums(G, c, n, float(kept.yy[m] * scale)))
    return found


def allowed(rows: int, sizes: Floats) -> Floats:
    """How far sums of products may be off by rounding, by pairs of columns.

    `sizes` are the largest values a column ever had, wrong ones included, label last. A sum of
    `rows` products of numbers that are each off by a few epsilon of these sizes (a value less a
    mean of `rows` values) is off by at most about rows^2 epsilon times the sizes; 4 for the sums
    that were added, taken off and added again.
    """
    return 4.0 * rows**2 * EPSILON * np.outer(sizes, sizes)
