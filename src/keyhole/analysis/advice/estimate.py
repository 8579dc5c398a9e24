"""budget_curve: what so many features explain, tested on rows that models were not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from keyhole.analysis.advice.choosing import ByMoney, BySize
from keyhole.analysis.advice.cross_fit import FEWEST_ROWS, CrossFit, Stage, cross_fit
from keyhole.analysis.advice.curve import BudgetCurve, by_use
from keyhole.analysis.advice.dealing import Deal
from keyhole.analysis.advice.money_curve import MoneyCurve
from keyhole.analysis.advice.scouting import Scout
from keyhole.analysis.hindsight_cost import prices_of, units_of
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Problem,
    ProblemError,
    refuse_unless_stream,
    whole_number,
)
from keyhole.problem.prices import Money, Prices

MOST = 24  # features of a model, unless told otherwise


@overload
def budget_curve(
    stream: BlockStream,
    *,
    prices: Problem | Prices,
    costs: Sequence[Money] | None = ...,
    most: int | None = ...,
    scout: float | None = ...,
    seed: int = ...,
    stage: Stage | None = ...,
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
    stage: Stage | None = ...,
) -> BudgetCurve: ...
def budget_curve(
    stream: BlockStream,
    *,
    prices: Problem | Prices | None = None,
    costs: Sequence[Money] | None = None,
    most: int | None = None,
    scout: float | None = None,
    seed: int = 0,
    stage: Stage | None = None,
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
    deal, largest = Deal.of(rows, stream.d), _most(most, rows, stream.d)
    names = stream.names or tuple(f"feature {j}" for j in range(stream.d))
    by_size = BySize(largest)
    by_money = None if money is None else ByMoney(money, largest, limits)
    fitted = cross_fit(source, deal, by_money or by_size, say)
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
    if costs is None:
        return found, []
    if isinstance(costs, str) or not len(costs):
        raise ProblemError(f"costs must be a list of amounts, got {costs!r}")
    return found, sorted({units_of("costs", cost, found) for cost in costs})


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
        return min(MOST, d, rows // 5)
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
