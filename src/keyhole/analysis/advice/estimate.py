"""Estimate a budget curve by cross-fitting: what features explain of rows never fitted on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.advice.curves import BudgetCurve, MoneyCurve, by_use
from keyhole.analysis.advice.feature_selection import FeatureSelector, SelectByMoney, SelectBySize
from keyhole.analysis.exact.best_subset import least_squares
from keyhole.analysis.hindsight_screening import StatusCallback
from keyhole.analysis.price_limits import prices_of, units_of_each
from keyhole.learners.blocks.draw.sampling import uniforms
from keyhole.learners.blocks.sums.data_sums import DataSums, Gram, LeastSquares, gram_bytes
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Problem,
    ProblemError,
    real_number,
    refuse_labels,
    refuse_unless_stream,
    rows_and_labels,
    whole_number,
)
from keyhole.problem.memory import refuse_beyond_memory
from keyhole.problem.prices import Money, Prices
from keyhole.streams.arrays import GeneratedStream

STRETCHES = 3  # per fold: enough in all to see how they differ, long enough to hold neighbours
# Sums of all pairs of features are kept for every fold: the more features, the fewer folds.
FEWER_FOLDS = ((400, 20), (1000, 10))
FEWEST_FOLDS = 5


@dataclass(frozen=True, slots=True)
class BlockedKFold:
    """Row t is in stretch t // length, and stretch s in fold s % folds.

    Neighbours in time are alike: were they dealt out one by one, a model would be tested on rows
    that it has all but seen. The rule is fixed; nothing is drawn.
    """

    folds: int
    length: int

    @classmethod
    def of(cls, rows: int, d: int) -> BlockedKFold:
        """How so many rows of d features are dealt.

        >>> BlockedKFold.of(rows=6000, d=30), BlockedKFold.of(rows=60, d=2000)
        (BlockedKFold(folds=20, length=100), BlockedKFold(folds=5, length=4))
        """
        folds = next((folds for most, folds in FEWER_FOLDS if d <= most), FEWEST_FOLDS)
        return cls(folds, max(1, -(-rows // (STRETCHES * folds))))

    def pieces(self, stream: BlockStream) -> Iterator[tuple[int, NDArray[np.floating], Floats]]:
        """The rows of a stream in their order: the stretch they are in, X, y; checked."""
        t = 0
        for rows, labels in stream.blocks():
            X, y = rows_and_labels(rows, labels, stream.d)
            refuse_labels(y)
            start = 0
            while start < len(y):
                stop = min(len(y), start + self.length - t % self.length)
                yield t // self.length, X[start:stop], y[start:stop]
                t += stop - start
                start = stop


FEWEST_ROWS = 20


@dataclass(frozen=True, slots=True, eq=False)
class ModelPath:
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
    ) -> ModelPath:
        """The models of these sums; `span` are the smallest and the largest label behind them."""
        weights = np.zeros((len(squares.c), len(features)))
        left = np.empty(len(features))
        for k, S in enumerate(features):
            weights[S, k], left[k] = least_squares(squares.G, squares.c, squares.yy, S)
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
    whole: ModelPath
    unsettled: Floats
    spread: Floats


def cross_fit(
    stream: BlockStream, split: BlockedKFold, selector: FeatureSelector, stage: StatusCallback
) -> CrossFit:
    """Two passes: sums for each fold, then the losses of each fold by the models of the others."""
    stage("reading")
    folds = _sums(stream, split)
    whole = _added(folds)
    squares = whole.centred()
    selector.begin(squares, whole.n)
    paths = []
    for i in range(split.folds):
        stage(f"models without part {i + 1} of {split.folds}")
        others = [fold for j, fold in enumerate(folds) if j != i]
        rest = _added(others)
        sums = rest.centred()
        paths.append(ModelPath.fit(sums, selector.features(sums, rest.n), _span(others)))
    best = ModelPath.fit(squares, selector.features(squares, whole.n), _span(folds))
    stage("testing them")
    stretches = -(-whole.n // split.length)
    lost = np.zeros((stretches, len(best.features)))
    for stretch, X, y in split.pieces(stream):
        lost[stretch] += paths[stretch % split.folds].losses(np.asarray(X, np.float64), y).sum(0)
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


def _sums(stream: BlockStream, split: BlockedKFold) -> list[_Fold]:
    """The sums of each fold."""
    d = stream.d
    refuse_beyond_memory(
        f"a table of all pairs of {d:,} features for each of {split.folds} folds",
        gram_bytes(d, copies=3 * (split.folds + 2)),
        "use fewer features",
    )
    folds: list[_Fold] = []
    for stretch, X, y in split.pieces(stream):
        if not folds:
            folds = [_Fold(Gram(d))]
            folds[0].add(X, y)  # its mean is the origin of all
            folds += [_Fold(folds[0].gram.beside()) for _ in range(split.folds - 1)]
        else:
            folds[stretch % split.folds].add(X, y)
    _refuse_few(sum(fold.gram.n for fold in folds), None)
    return folds


def _added(folds: Sequence[_Fold]) -> Gram:
    total = folds[0].gram.beside()
    for fold in folds:
        total.include(fold.gram)
    return total


def _span(folds: Sequence[_Fold]) -> tuple[float, float]:
    return min(fold.lowest for fold in folds), max(fold.highest for fold in folds)


def _unsettled(paths: Sequence[ModelPath], covariance: Floats) -> Floats:
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


SCOUT_PURPOSE = 0x5C07  # separates these draws from those of learners with the same seed


class Scout(GeneratedStream):
    """The rows that a draw keyed by (seed, round) picks, each with chance `share`.

    `passed` counts the rows of the last pass that was finished, looked at or not.
    """

    def __init__(self, stream: BlockStream, share: float, seed: int) -> None:
        share = real_number("scout", share, 0.0, 1.0)
        self.passed = 0

        def chunks() -> Iterator[tuple[NDArray[np.floating], Floats]]:
            t = 0
            for X, y in stream.blocks():
                rounds = range(t + 1, t + len(y) + 1)
                draws = [uniforms(seed, i, 1, purpose=SCOUT_PURPOSE)[0] for i in rounds]
                picked = np.array(draws) < share
                t += len(y)
                if picked.any():
                    yield X[picked], y[picked]
            self.passed = t

        super().__init__(stream.d, None, chunks, stream.names)


MAX_MODEL_SIZE = 24  # features of a model, unless told otherwise


@overload
def budget_curve(
    stream: BlockStream,
    *,
    prices: Problem | Prices,
    costs: Sequence[Money] | None = ...,
    most: int | None = ...,
    scout: float | None = ...,
    seed: int = ...,
    stage: StatusCallback | None = ...,
) -> MoneyCurve: ...
@overload
def budget_curve(
    stream: BlockStream,
    *,
    prices: Problem | Prices | None = ...,
    costs: Sequence[Money] | None = ...,
    most: int | None = ...,
    scout: float | None = ...,
    seed: int = ...,
    stage: StatusCallback | None = ...,
) -> BudgetCurve: ...
def budget_curve(
    stream: BlockStream,
    *,
    prices: Problem | Prices | None = None,
    costs: Sequence[Money] | None = None,
    most: int | None = None,
    scout: float | None = None,
    seed: int = 0,
    stage: StatusCallback | None = None,
) -> BudgetCurve:
    """What k features explain of the label, for k = 0, 1, 2, ..., with errors, and what to choose.

    The rows are dealt out to folds (20; fewer where there are more than 400 features) in stretches
    of consecutive rows, so that neighbours in time stay together; nothing is drawn. For each fold,
    the best k features of the other folds are found (forward selection and swaps), fitted by least
    squares with an intercept, and tested on the fold. Choosing features is part of what is tested:
    the share explained is that of rows which neither the choice nor the fit has seen.

    With prices it is a curve of money: what 0, 10, 20, ... per example explain. At each limit,
    features that it buys are chosen by forward selection by gain and by price, then by exchanges,
    as long as their gain is more than chance; again on the other folds.

    Parameters
    ----------
    stream
        Rows with everything known: a history. A cell that is NaN counts as the mean of its column.
        Read twice (three times if its length is not known).
    prices
        A `Problem` with prices, or its `.prices`: loss against money instead of counts.
    costs
        With prices, the limits per example. None: 0, and up to 16 round amounts where something
        else is bought.
    most
        The largest k. None: 24, or fewer if there are fewer features or less than 5 rows for each.
    scout
        None: look at every row. A share, 0.05 for instance, if there is no history: read all values
        of a random 5% of the rows, and nothing of the others. That measures what more features
        would bring; partial reads would have to be extrapolated.
    seed
        Random seed of `scout`.
    stage
        Called with a few words when something new begins.

    Returns
    -------
    BudgetCurve
        `explained` and `error` for each k; `sparsity`, `budget`, `recommendation`. With prices it
        is a `MoneyCurve`, for each of its `limits`.

    Guarantee
    ---------
    None. `error` has two parts: how the share differs between stretches of rows (so that similar
    neighbouring rows do not make it too small), and how much the loss of a model varies because
    other rows give another model. The share explained by the models of all rows, on rows of the
    same kind, is within two errors in 96% of the statements that `python -m benchmarks.advice`
    checks. No error includes heavy tails that were not seen yet, or a world that changes after the
    last row.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.realizable(d=20, k=3, n=2000, noise_sd=0.5, seed=0)
    >>> print(budget_curve(stream, most=6).recommendation)
    3 features explain 57% ± 1%; more would not explain more; below 2 it falls quickly (1: 30% ±
    1%).
    >>> sparse = budget_curve(stream, most=6, scout=0.25)
    >>> sparse.rows, sparse.passed, round(sparse.reads, 1)
    (459, 2000, 4.6)
    >>> shop = kh.Problem(20, 3, 9, prices=[3, 2, 9, 4] * 5)
    >>> priced = budget_curve(stream, prices=shop, costs=[0, 5, 10, 20])
    >>> priced.limits.tolist(), priced.costs.tolist()
    ([0.0, 5.0, 10.0, 20.0], [0.0, 4.0, 6.0, 6.0])
    """
    if isinstance(stream, DataSums):
        raise ProblemError(
            "stream: models are tested on rows that they were not fitted on, and sums have no "
            "rows; give the stream itself"
        )
    refuse_unless_stream(stream, blocks=True)
    money, limits = _money(stream, prices, costs)
    say = stage if stage is not None else lambda words: None
    source = stream if scout is None else Scout(stream, scout, seed)
    say("counting rows")
    rows = source.rounds
    if rows is None:
        rows = sum(len(y) for _, y in source.blocks())
    passed = source.passed if isinstance(source, Scout) else rows
    _refuse_few(rows, scout)
    split, largest = BlockedKFold.of(rows, stream.d), _most(most, rows, stream.d)
    names = stream.names or tuple(f"feature {j}" for j in range(stream.d))
    by_size = SelectBySize(largest)
    by_money = None if money is None else SelectByMoney(money, largest, limits)
    fitted = cross_fit(source, split, by_money or by_size, say)
    seen = passed if scout is not None else fitted.rows
    explained, error, in_sample, behind, chosen = _shares(fitted)
    if by_money is None:
        k = np.arange(len(explained))
        return BudgetCurve(k, explained, error, in_sample, behind, chosen, names, fitted.rows, seen)
    shop = by_money.prices
    return MoneyCurve(
        k=np.array([len(S) for S in chosen[1:]], dtype=np.int64),
        explained=explained[1:],  # the first model is that of nothing, which is no limit
        error=error[1:],
        in_sample=in_sample[1:],
        behind_error=behind[1:],
        features=chosen[1:],
        names=names,
        rows=fitted.rows,
        passed=seen,
        limits=np.array([shop.money(limit) for limit in by_money.limits]),
        nothing_error=float(behind[0]),
        prices=shop,
    )


def _money(
    stream: BlockStream, prices: Problem | Prices | None, costs: Sequence[Money] | None
) -> tuple[Prices | None, list[int]]:
    """The prices, if there are any, and the limits in units, if any are given."""
    if prices is None:
        if costs is not None:
            raise ProblemError("costs needs prices: give prices=, a Problem that has them")
        return None, []
    found = prices_of(stream, prices)
    return found, [] if costs is None else sorted({*units_of_each(costs, found)})


Shares = tuple[Floats, Floats, Floats, Floats, tuple[tuple[int, ...], ...]]


def _shares(fitted: CrossFit) -> Shares:
    """Shares explained, errors, in-sample shares, errors of differences, features by use."""
    explained, error, behind_error = _judged(fitted)
    whole = fitted.whole
    in_sample = 1.0 - whole.left / whole.left[0] if whole.left[0] else np.zeros(len(explained))
    features = tuple(
        by_use(S, whole.weights[:, k], fitted.spread) for k, S in enumerate(whole.features)
    )
    return explained, error, in_sample, behind_error, features


def _refuse_few(rows: int, scout: float | None) -> None:
    if rows < FEWEST_ROWS:
        remedy = "" if scout is None else f": raise scout, now {scout:g}"
        raise DataError(f"a curve needs at least {FEWEST_ROWS} rows, there are {rows}{remedy}")


def _most(most: int | None, rows: int, d: int) -> int:
    """The largest k."""
    if most is None:
        return min(MAX_MODEL_SIZE, d, rows // 5)
    number = whole_number("most", most, 1)
    if number > d:
        raise ProblemError(f"most must be at most the {d} features there are, got {number}")
    if number > rows // 2:
        raise ProblemError(
            f"most must be at most {rows // 2}, half of the {rows} rows, got {number}"
        )
    return number


def _judged(fitted: CrossFit) -> tuple[Floats, Floats, Floats]:
    """The shares explained, their errors, and the errors of their differences to the best."""
    lost = fitted.lost
    total = lost.sum(axis=0)
    empty = float(total[0])
    if empty == 0.0:  # the label never changes
        nothing = np.zeros(lost.shape[1])
        return nothing, nothing, nothing
    left = total / empty
    explained = 1.0 - left
    # A ratio of sums varies as the sum over stretches of (numerator - ratio * denominator).
    by_rows = _spread(lost - np.outer(lost[:, 0], left)) / empty
    best = int(explained.argmax())
    gap = left - left[best]
    behind = lost - lost[:, [best]] - np.outer(lost[:, 0], gap)
    # The jackknife overstates what changes when features that say the same change places: so this
    # part counts for no more than the other one.
    by_model = np.minimum(np.sqrt(fitted.unsettled) * fitted.rows / empty, by_rows)
    return explained, np.hypot(by_rows, by_model), _spread(behind) / empty


def _spread(sums: Floats) -> Floats:
    """The standard error of the total of sums over stretches, which is 0."""
    n = len(sums)
    found: Floats = np.sqrt(n / (n - 1) * (sums**2).sum(axis=0))
    return found
