"""Hindsight: the best linear model of k features, or of a given cost, of a whole stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.exact.best_subset import best_for_money, best_subset
from keyhole.analysis.hindsight_screening import (
    Screening,
    StatusCallback,
    search_screened,
    usually_kept,
)
from keyhole.analysis.price_limits import CostLimit, cost_limit_of
from keyhole.errors import true_or_false
from keyhole.learners.blocks.sums.data_sums import (
    DataSums,
    Gram,
    LeastSquares,
    gram_bytes,
    refuse_unless_stream_or_sums,
)
from keyhole.learners.blocks.sums.past_labels import BesidePast, PastModel, PastSums
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Interval,
    Problem,
    ProblemError,
    refuse_unless_stream,
    sparsity,
    whole_number,
)
from keyhole.problem.display import HtmlCell, counted, few, html_table
from keyhole.problem.memory import refuse_beyond_memory
from keyhole.problem.prices import Money, Prices


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The best model of a stream that was seen in full: of k features, or for its money.

    `loss` is the cumulative squared loss of the best model, an interval when the search was cut
    short; `weights`, `intercept` are a model that attains `loss.high`, together with `past` where
    models may look at earlier labels (None where not). `empty_loss` is the loss without any feature
    and without the past: of the best constant, or of 0 when models have no intercept. So `r2` is a
    share of the same loss with the past and without; what the past alone loses is `past.loss`.

    `cost` is what the model costs per example, None without prices; k is d where any number of
    features may be bought. With `worth`, the model is the best by worth * loss + money of all
    rounds: that is `total`, an interval when the search was cut short, and `loss` is that of the
    model found. `screening` says which features were searched among where not all were, and what is
    known about the others; `loss.low` holds for all of them.
    """

    rounds: int
    k: int
    loss: Interval
    weights: Floats
    intercept: float
    empty_loss: float
    past: PastModel | None = None
    cost: float | None = None
    worth: float | None = None
    total: Interval | None = None
    screening: Screening | None = None

    @property
    def support(self) -> Indices:
        """The features the model uses."""
        return np.flatnonzero(self.weights)

    @property
    def r2(self) -> float:
        """Share of `empty_loss` that the model explains."""
        return self.r2_of(self.loss.high / self.rounds)

    @property
    def variance(self) -> float:
        """Of the labels, about their mean: what the best constant loses per round.

        Without an intercept, about 0.
        """
        return self.empty_loss / self.rounds

    def r2_of(self, mean_loss: float) -> float:
        """The R2 of anybody who lost that much per round: 1 - mean_loss / variance.

        Every R2 that keyhole tells is worked out here, so that all of them have one denominator. It
        is 0 where labels never change.
        """
        return 1 - mean_loss / self.variance if self.empty_loss > 0 else 0.0

    def __repr__(self) -> str:
        kept = [f"{self.weights[j]:+.4g} × feature {j}" for j in self.support.tolist()]
        about = f"loss {self.loss} over {counted(self.rounds, 'round')}, R2 {self.r2:.4g}"
        return f"<Hindsight of {counted(self.k, 'feature')}: {about}; {few(kept)}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, HtmlCell]] = [("loss", str(self.loss)), ("R2", self.r2)]
        rows.append(("intercept", self.intercept))
        rows += [(f"weight of feature {j}", float(self.weights[j])) for j in self.support.tolist()]
        return html_table(f"Best {counted(self.k, 'feature')} in hindsight", rows)


def hindsight(
    stream: BlockStream | DataSums,
    k: int | None = None,
    *,
    cost: Money | None = None,
    prices: Problem | Prices | None = None,
    worth: float | None = None,
    intercept: bool = True,
    past: bool = False,
    seconds: float = 10.0,
    screen: int | None = None,
    progress: StatusCallback | None = None,
) -> Hindsight:
    """The best linear model of a whole stream: of k features, for a cost, or for what it is worth.

    min over w with at most k non-zeros of sum_t (y_t - intercept - w.x_t)^2, from one pass over the
    stream. A cell that is NaN counts as the mean of its column. With prices, w may have non-zeros
    only at features that cost at most `cost` together, where what is shared is paid once; or, with
    `worth`, the minimum is that of worth * loss + rounds * cost(w).

    With `past`, models add v.p_t, with p_t the last two labels before round t and means of all
    labels before it that fade with half-lives of 3, 20 and 100 rounds; v does not count towards k.
    In the first rounds, where there is no such label yet, p_t is the mean of that input. This is
    what a learner that remembers labels could do; use it for streams whose order matters.

    With more than 4,096 features not all pairs can be kept: the search is limited to the features
    most correlated with the label and with the residuals of earlier models, and models with other
    features are bounded. Memory is then d x `screen`, and the stream is read four times, plus once
    for every 256 features if all pairs outside are compared. That is done if it takes at most
    10^10 multiplications for each of the `seconds` (rows x d^2; for sparse rows pairs x d); if
    not, models with two or more features outside are only bounded by 0, and those with one by
    `screening.lows[1]`.

    Parameters
    ----------
    stream
        The stream; read once, O(d^2) memory; for more than 4,096 features see above. Or its sums,
        from `kh.sums`: the same model, without reading anything.
    k
        Most non-zero weights, those of free features included. With prices it may be left out: then
        money alone limits models, and free features are always in.
    cost
        Most money per example, rounded down to the smallest unit of the prices.
    prices
        A `Problem` with prices, or its `.prices`.
    worth
        In place of `cost`: the money that one unit of squared error is worth.
    intercept
        Whether models may add a constant, which does not count towards k, like those of
        AutoLearner, of `keyhole run` and of reports. The models of the paper have none: for its
        comparison use False. The past is then not centred either.
    past
        Whether models may use earlier labels; not with sums, which do not know the order of rows.
    seconds
        How long the search for the best subset may take, within a fifth of it; reading the stream
        comes on top.
    screen
        How many features to search among; None: all, or 256 where there are more than 4,096 (down
        to 32, or 4 k, from 131,072 features on: memory is d times this). Not with the past, `cost`
        or `worth`.
    progress
        Called with a few words while a stream of many features is read.

    Returns
    -------
    Hindsight
        `loss` (with `worth`: `total`) is exact (low == high) when the search finished, otherwise an
        interval.

    Guarantee
    ---------
    `loss.high` is attained by `weights`; no k-sparse model has a loss below `loss.low` (to
    rounding, about 1e-9 of the labels' sum of squares), and no model within `cost`; costs are
    exact. The past is projected out of the second moments, so this holds with it too; an input of
    the past, or a feature beside it, of which less than 1e-10 of its square is left counts as
    dependent.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=3, n=1000, seed=0)
    >>> best = hindsight(stream, 3)
    >>> bool((best.support == truth.support).all()), best.loss.width
    (True, 0.0)
    >>> shop = kh.Problem(d=20, k=3, budget=9, prices=range(20))
    >>> for cost in (2, 20, 60):
    ...     best = hindsight(stream, cost=cost, prices=shop)
    ...     print(f"{best.cost:g} per example: R2 {best.r2:.2f}, {len(best.support)} features")
    1 per example: R2 0.47, 2 features
    19 per example: R2 0.82, 6 features
    60 per example: R2 0.97, 8 features
    """
    refuse_unless_stream_or_sums(stream)
    cost_limit = cost_limit_of(stream, k, cost, prices, worth)
    kept = None if screen is None else whole_number("screen", screen, 1)
    if cost_limit is not None or true_or_false("past", past):
        if kept is not None:
            raise ProblemError(
                "screen is not for models with prices or with the past: leave it out"
            )
        whole = summed(stream, intercept, past)
        if cost_limit is not None:
            return whole.best_for(cost_limit, seconds)
        return whole.best(sparsity(cast(int, k), stream.d), seconds)
    most = sparsity(cast(int, k), stream.d)
    if isinstance(stream, DataSums):
        if kept is not None:
            raise ProblemError(
                "screen is for streams; sums have all pairs of features: leave it out"
            )
        kept = stream.d
    elif kept is None:
        kept = usually_kept(stream.d, most)
    if isinstance(stream, DataSums) or kept >= stream.d:
        return summed(stream, intercept, past).best(most, seconds)
    seconds, kept = max(seconds, 0.0), max(kept, most)
    found = search_screened(stream, most, kept, centred=intercept, seconds=seconds, said=progress)
    columns, weights = found.columns, np.zeros(stream.d)
    weights[found.support] = found.weights
    constant = columns.mean_y - float(columns.mean_x @ weights) if intercept else 0.0
    return Hindsight(
        columns.n, most, found.loss, weights, constant, columns.yy, screening=found.screening
    )


def summed(stream: BlockStream | DataSums, intercept: bool, past: bool) -> Prefix:
    """A whole stream, in one pass, or its sums; a DataError if it is empty."""
    if isinstance(stream, DataSums):
        sums = _of_sums([stream], past)[0]
    else:
        sums = PrefixSums(stream.d, past=past)
        for X, y in stream.blocks():
            sums.add(X, y)
    if sums.n == 0:
        raise DataError("the stream is empty: there is nothing to fit a model to")
    return sums.prefix(intercept, past)


def _of_sums(parts: Sequence[DataSums], past: bool) -> list[PrefixSums]:
    """The sums up to the end of each part."""
    if past:
        raise ProblemError("past: sums do not know the order of the rows; give the stream itself")
    found, total = [], parts[0]
    for i, part in enumerate(parts):
        total = part if i == 0 else total + part
        sums = PrefixSums(total.d, past=False)
        sums._gram = total.gram
        found.append(sums)
    return found


def hindsight_curve(
    stream: BlockStream | Sequence[DataSums],
    k: int,
    rounds: Sequence[int],
    *,
    intercept: bool = True,
    past: bool = False,
    seconds: float = 10.0,
) -> list[Hindsight]:
    """The best k-sparse model of each prefix of a stream; with the past as in `hindsight`.

    `rounds` are the lengths of the prefixes, ascending. The time is shared among all of them, and
    each search starts from the model of the prefix before. In place of a stream: a list of sums of
    its parts, one after the other (of months, for instance); prefixes then end where parts do.
    """
    parts = list(stream) if isinstance(stream, list | tuple) else None
    if parts is None or not parts or not all(isinstance(part, DataSums) for part in parts):
        refuse_unless_stream(stream, blocks=True)
        parts = None
    k = sparsity(k, parts[0].d if parts else cast(BlockStream, stream).d)
    ends = [whole_number("rounds", end, 1) for end in rounds]
    if any(b <= a for a, b in itertools.pairwise(ends)):
        raise ProblemError(f"rounds must be ascending, got {ends}")
    if parts is None:
        prefixes = _prefixes(cast(BlockStream, stream), ends, intercept, past)
    else:
        prefixes = _prefixes_of_sums(parts, ends, intercept, past)
    return best_of_prefixes(prefixes, len(ends), k, seconds)


def _prefixes_of_sums(
    parts: Sequence[DataSums], ends: Sequence[int], intercept: bool, past: bool
) -> Iterator[Prefix]:
    known = {sums.n: sums for sums in _of_sums(parts, past)}
    for end in ends:
        if end not in known:
            raise ProblemError(
                f"rounds: no part ends after {end:,}, they end after "
                f"{', '.join(f'{n:,}' for n in list(known)[:8])}"
            )
    return (known[end].prefix(intercept) for end in ends)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the best model of the first rounds is worked out from: how many, and second moments.

    `beside` is what is left of them beside the past, for models that may look at it.
    """

    rounds: int
    squares: LeastSquares
    beside: BesidePast | None = None

    @property
    def _left(self) -> LeastSquares:
        return self.squares if self.beside is None else self.beside.squares

    def best(self, k: int, seconds: float, start: Indices | None = None) -> Hindsight:
        """The best k-sparse model; the search begins with the features `start`."""
        squares = self._left
        found = best_subset(
            squares.G, squares.c, squares.yy, k, seconds=max(seconds, 0.0), start=start
        )
        loss = Interval(found.lower, found.rss, found.how)
        return self._model(k, loss, found.support, found.weights)

    def loss_of(self, support: Indices) -> float:
        """What the best model of exactly these features loses."""
        squares = self._left
        G, c = squares.G[np.ix_(support, support)], squares.c[support]
        weights = np.linalg.lstsq(G, c, rcond=None)[0]
        return max(float(squares.yy - 2.0 * (c @ weights) + weights @ G @ weights), 0.0)

    def best_for(
        self, cost_limit: CostLimit, seconds: float, start: Indices | None = None
    ) -> Hindsight:
        """The best model for the money; the search begins with the features `start`."""
        squares, terms = self._left, cost_limit.terms(self.rounds)
        G, c, yy, first = squares.G, squares.c, squares.yy, () if start is None else start
        found = best_for_money(G, c, yy, terms, seconds=max(seconds, 0.0), start=first)
        low = found.rss if cost_limit.worth is not None else found.lower
        k = len(c) if cost_limit.k is None else cost_limit.k
        loss = Interval(low, found.rss, found.how)
        model = self._model(k, loss, found.support, found.weights)
        cost, total = cost_limit.prices.money(found.units), None
        if cost_limit.worth is not None:
            high = cost_limit.worth * found.rss + cost_limit.prices.money(self.rounds * found.units)
            low = high if found.exact else min(cost_limit.worth * found.lower, high)
            total = Interval(low, high, found.how)
        return replace(model, cost=cost, worth=cost_limit.worth, total=total)

    def _model(self, k: int, loss: Interval, support: Indices, found: Floats) -> Hindsight:
        squares = self._left
        weights = np.zeros(len(squares.c))
        weights[support] = found
        return Hindsight(
            rounds=self.rounds,
            k=k,
            loss=loss,
            weights=weights,
            intercept=squares.mean_y - float(squares.mean_x @ weights),
            empty_loss=self.squares.yy,
            past=None if self.beside is None else self.beside.model(weights),
        )


class PrefixSums:
    """Sums over the rounds so far, with those of the past if asked: prefixes are made of them."""

    def __init__(self, d: int, *, past: bool) -> None:
        refuse_beyond_memory(
            f"a table of all pairs of {d:,} features",
            gram_bytes(d),
            "kh.hindsight(stream, k), without prices and without the past, keeps a few of them",
        )
        self._gram = Gram(d)
        self._past = PastSums(d) if true_or_false("past", past) else None

    @property
    def n(self) -> int:
        """How many rounds were added."""
        return self._gram.n

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add the next rounds."""
        self._gram.add(X, y)
        if self._past is not None:
            self._past.add(X, y)

    def prefix(self, intercept: bool, past: bool = False) -> Prefix:
        """The rounds so far, for models with or without an intercept, beside the past or not."""
        squares = self._gram.centred() if intercept else self._gram.raw()
        if not past or self._past is None:
            return Prefix(self.n, squares)
        return Prefix(self.n, squares, self._past.beside(squares, intercept=intercept))


class Searchable(Protocol):
    """Rounds of which the best model can be asked for."""

    def best(self, k: int, seconds: float, start: Indices | None = None) -> Hindsight:
        """The best k-sparse model; the search begins with the features `start`."""


def best_of_prefixes(
    prefixes: Iterable[Searchable],
    count: int,
    k: int,
    seconds: float,
    told: Callable[[int], None] | None = None,
) -> list[Hindsight]:
    """The best models of so many prefixes, ascending; each search starts from the model before.

    Every search may take the same share of the time, so that none is known better than others only
    because it came later; what it takes to make the prefixes does not count. `told` is called
    before each with its number, from 1.
    """
    found: list[Hindsight] = []
    for prefix in prefixes:
        if told is not None:
            told(len(found) + 1)
        start = found[-1].support if found else None
        found.append(prefix.best(k, seconds / count, start))
    return found


def _prefixes(
    stream: BlockStream, ends: Sequence[int], intercept: bool, past: bool
) -> Iterator[Prefix]:
    sums = PrefixSums(stream.d, past=past)
    waiting = list(reversed(ends))
    for X, y in stream.blocks():
        start = 0
        while waiting and waiting[-1] - sums.n <= len(y) - start:
            stop = start + waiting.pop() - sums.n
            sums.add(X[start:stop], y[start:stop])
            start = stop
            yield sums.prefix(intercept, past)
        if not waiting:
            return
        sums.add(X[start:], y[start:])
    if waiting:
        raise DataError(f"the stream has {sums.n} rounds, a prefix of {ends[-1]} was asked for")
