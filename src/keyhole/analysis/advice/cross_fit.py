"""Cross-fitting: models of every size, fitted on some rows and tested on others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.advice.choosing import Chooser
from keyhole.analysis.advice.dealing import Deal
from keyhole.learners.blocks.sums.gram import Gram, LeastSquares, gram_bytes
from keyhole.problem import BlockStream, DataError, Floats, Indices
from keyhole.problem.memory import refuse_beyond_memory

Stage = Callable[[str], None]
FEWEST_ROWS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Least squares models of some features each: weights (a column each) about the means."""

    features: tuple[Indices, ...]
    weights: Floats
    mean_x: Floats
    mean_y: float
    span: tuple[float, float]
    left: Floats  # the loss of each on the rows that it was fitted on

    @classmethod
    def fit(
        cls, squares: LeastSquares, features: Sequence[Indices], span: tuple[float, float]
    ) -> Path:
        """The models of these sums; `span` are the smallest and the largest label behind them."""
        G, c = squares.G, squares.c
        weights = np.zeros((len(c), len(features)))
        left = np.empty(len(features))
        for k, S in enumerate(features):
            unit = np.sqrt(np.diag(G)[S])
            w = np.linalg.lstsq(G[np.ix_(S, S)] / np.outer(unit, unit), c[S] / unit, rcond=None)[0]
            weights[S, k] = w / unit
            left[k] = max(squares.yy - float(w @ (c[S] / unit)), 0.0)
        return cls(tuple(features), weights, squares.mean_x, squares.mean_y, span, left)

    def losses(self, X: Floats, y: Floats) -> Floats:
        """Squared errors: rows by models. An absent value counts as the mean that was seen.

        Predictions are cut off at the labels that were seen, as those of learners are: one value
        far out would otherwise be all that a curve shows.
        """
        used = np.flatnonzero(self.weights.any(axis=1))
        Z = X[:, used] - self.mean_x[used]
        Z[np.isnan(Z)] = 0.0
        errors: Floats = y[:, None] - np.clip(self.mean_y + Z @ self.weights[used], *self.span)
        return errors * errors


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """What models lost on rows that they were neither chosen nor fitted on; the first is empty.

    `lost` are sums over stretches of consecutive rows: stretches by models. `whole` are the models
    of all rows. `unsettled` is, for each size, the variance of the mean loss that comes from not
    having found the best model (see `_unsettled`); `spread` are the standard deviations of the
    features.
    """

    rows: int
    lost: Floats
    whole: Path
    unsettled: Floats
    spread: Floats


def cross_fit(stream: BlockStream, deal: Deal, chooser: Chooser, stage: Stage) -> CrossFit:
    """Two passes: sums for each fold, then the losses of each fold by the models of the others."""
    stage("reading")
    folds = _sums(stream, deal)
    whole = _added(folds)
    squares = whole.centred()
    chooser.begin(squares, whole.n)
    paths = []
    for i in range(deal.folds):
        stage(f"models without part {i + 1} of {deal.folds}")
        others = [fold for j, fold in enumerate(folds) if j != i]
        rest = _added(others)
        sums = rest.centred()
        paths.append(Path.fit(sums, chooser.features(sums, rest.n), _span(others)))
    best = Path.fit(squares, chooser.features(squares, whole.n), _span(folds))
    stage("testing them")
    stretches = -(-whole.n // deal.length)
    lost = np.zeros((stretches, len(best.features)))
    for stretch, X, y in deal.pieces(stream):
        lost[stretch] += paths[stretch % deal.folds].losses(np.asarray(X, np.float64), y).sum(0)
    covariance = squares.G / whole.n
    spread = np.sqrt(np.diag(covariance))
    return CrossFit(whole.n, lost, best, _unsettled(paths, covariance), spread)


class _Fold:
    """The sums of a fold, and the range of its labels."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.lowest, self.highest = math.inf, -math.inf

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        self.gram.add(X, y)
        self.lowest = min(self.lowest, float(y.min()))
        self.highest = max(self.highest, float(y.max()))


def _sums(stream: BlockStream, deal: Deal) -> list[_Fold]:
    """The sums of each fold."""
    d = stream.d
    refuse_beyond_memory(
        f"a table of all pairs of {d:,} features for each of {deal.folds} folds",
        gram_bytes(d, copies=3 * (deal.folds + 2)),
        "use fewer features",
    )
    folds: list[_Fold] = []
    for stretch, X, y in deal.pieces(stream):
        if not folds:
            folds = [_Fold(Gram(d))]
            folds[0].add(X, y)  # its mean is the origin of all
            folds += [_Fold(folds[0].gram.beside()) for _ in range(deal.folds - 1)]
        else:
            folds[stretch % deal.folds].add(X, y)
    rows = sum(fold.gram.n for fold in folds)
    if rows < FEWEST_ROWS:
        raise DataError(f"a curve needs at least {FEWEST_ROWS} rows, there are {rows}")
    return folds


def _added(folds: Sequence[_Fold]) -> Gram:
    total = folds[0].gram.beside()
    for fold in folds:
        total.include(fold.gram)
    return total


def _span(folds: Sequence[_Fold]) -> tuple[float, float]:
    return min(fold.lowest for fold in folds), max(fold.highest for fold in folds)


def _unsettled(paths: Sequence[Path], covariance: Floats) -> Floats:
    """How much the loss of a fitted model varies because another sample gives another model.

    Weights w with covariance C about their mean lose (w - mean)'V(w - mean) more than that mean, V
    the covariance of the features: for Gaussian weights a number of variance 2 tr((VC)^2). C is the
    jackknife's, from the models without one fold each, so it counts other features too.
    """
    J, found = len(paths), []
    for k in range(paths[0].weights.shape[1]):
        used = np.unique(np.concatenate([path.features[k] for path in paths]))
        W = np.array([path.weights[used, k] for path in paths])
        D = W - W.mean(axis=0)
        M = (J - 1) / J * (D @ covariance[np.ix_(used, used)] @ D.T)
        found.append(2.0 * float((M * M).sum()))
    return np.array(found)
