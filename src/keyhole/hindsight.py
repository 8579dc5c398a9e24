"""What could have been: the best k-sparse linear model of a stream, and regret against it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.exact.subset import best_subset
from keyhole.blocks.sums.gram import Gram, LeastSquares
from keyhole.blocks.sums.past_sums import BesidePast, PastModel, PastSums
from keyhole.errors import shortened, true_or_false
from keyhole.ledger import Ledger
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Interval,
    ProblemError,
    refuse_unless_stream,
    sparsity,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The best k-sparse model of a stream that was seen in full.

    `loss` is the cumulative squared loss of the best model, an interval when the search was cut
    short; `weights`, `intercept` are a model that attains `loss.high`, together with `past` where
    models may look at earlier labels (None where not). `empty_loss` is the loss without any feature
    and without the past: of the best constant, or of 0 when models have no intercept. So `r2` is a
    share of the same loss with the past and without; what the past alone loses is `past.loss`.
    """

    rounds: int
    k: int
    loss: Interval
    weights: Floats
    intercept: float
    empty_loss: float
    past: PastModel | None = None

    @property
    def support(self) -> Indices:
        """The features the model uses."""
        return np.flatnonzero(self.weights)

    @property
    def r2(self) -> float:
        """Share of `empty_loss` that the model explains."""
        return 1 - self.loss.high / self.empty_loss if self.empty_loss > 0 else 0.0


def hindsight(
    stream: BlockStream,
    k: int,
    *,
    intercept: bool = False,
    past: bool = False,
    seconds: float = 10.0,
) -> Hindsight:
    """The best k-sparse linear model of a whole stream.

    min over w with at most k non-zeros of sum_t (y_t - intercept - w.x_t)^2, from one pass over the
    stream. A cell that is NaN counts as the mean of its column.

    With `past`, models add v.p_t, with p_t the last two labels before round t and means of all
    labels before it that fade with half-lives of 3, 20 and 100 rounds; v does not count towards k.
    In the first rounds, where there is no such label yet, p_t is the mean of that input. It is what
    a learner could do that remembers labels, and the yardstick for streams whose order matters.

    Parameters
    ----------
    stream
        The stream; read once, O(d^2) memory.
    k
        Most non-zero weights.
    intercept
        Whether models may add a constant, which does not count towards k. Without it the past is
        taken as it is, too, in the units of the label and about 0.
    past
        Whether models may look at earlier labels.
    seconds
        How long the search for the best subset may take; reading the stream comes on top.

    Returns
    -------
    Hindsight
        `loss` is exact (low == high) when the search finished, otherwise an interval.

    Guarantee
    ---------
    `loss.high` is attained by `weights`; no k-sparse model has a loss below `loss.low` (to
    rounding, about 1e-9 of the labels' sum of squares). The past is projected out of the second
    moments, so this holds with it too; an input of the past, or a feature beside it, of which less
    than 1e-10 of its square is left counts as dependent.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=3, n=1000, seed=0)
    >>> best = hindsight(stream, 3)
    >>> bool((best.support == truth.support).all()), best.loss.width
    (True, 0.0)
    """
    refuse_unless_stream(stream, blocks=True)
    k = sparsity(k, stream.d)
    sums = Sums(stream.d, past=past)
    for X, y in stream.blocks():
        sums.add(X, y)
    if sums.n == 0:
        raise DataError("the stream is empty: there is no best model of no rounds")
    return sums.prefix(intercept, past).best(k, seconds)


def hindsight_curve(
    stream: BlockStream,
    k: int,
    rounds: Sequence[int],
    *,
    intercept: bool = False,
    past: bool = False,
    seconds: float = 10.0,
) -> list[Hindsight]:
    """The best k-sparse model of each prefix of a stream; with the past as in `hindsight`.

    `rounds` are the lengths of the prefixes, ascending. The time is shared among all of them, and
    each search starts from the model of the prefix before.
    """
    refuse_unless_stream(stream, blocks=True)
    k = sparsity(k, stream.d)
    ends = [whole_number("rounds", end, 1) for end in rounds]
    if any(b <= a for a, b in itertools.pairwise(ends)):
        raise ProblemError(f"rounds must be ascending, got {ends}")
    return best_of_each(_prefixes(stream, ends, intercept, past), len(ends), k, seconds)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the best model of the first rounds is worked out from: how many, and second moments.

    `beside` is what is left of them beside the past, for models that may look at it.
    """

    rounds: int
    squares: LeastSquares
    beside: BesidePast | None = None

    def best(self, k: int, seconds: float, start: Indices | None = None) -> Hindsight:
        """The best k-sparse model; the search begins with the features `start`."""
        squares = self.squares if self.beside is None else self.beside.squares
        found = best_subset(
            squares.G, squares.c, squares.yy, k, seconds=max(seconds, 0.0), start=start
        )
        weights = np.zeros(len(squares.c))
        weights[found.support] = found.weights
        return Hindsight(
            rounds=self.rounds,
            k=k,
            loss=Interval(found.lower, found.rss, found.how),
            weights=weights,
            intercept=squares.mean_y - float(squares.mean_x @ weights),
            empty_loss=self.squares.yy,
            past=None if self.beside is None else self.beside.model(weights),
        )


class Sums:
    """Sums over the rounds so far, with those of the past if asked: prefixes are made of them."""

    def __init__(self, d: int, *, past: bool) -> None:
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


def best_of_each(
    prefixes: Iterable[Searchable], count: int, k: int, seconds: float
) -> list[Hindsight]:
    """The best models of so many prefixes, ascending; each search starts from the model before.

    All of them share the time of searching; what it takes to make the prefixes does not count.
    """
    found: list[Hindsight] = []
    left = seconds
    for prefix in prefixes:
        began = time.monotonic()
        start = found[-1].support if found else None
        found.append(prefix.best(k, left / (count - len(found)), start))
        left -= time.monotonic() - began
    return found


def _prefixes(
    stream: BlockStream, ends: Sequence[int], intercept: bool, past: bool
) -> Iterator[Prefix]:
    sums = Sums(stream.d, past=past)
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


def regret(ledger: Ledger, best: Hindsight) -> Interval:
    """How much more was lost than by the best k-sparse model of the same rounds.

    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, noise_sd=0.1, seed=1)
    >>> problem = kh.Problem(d=20, k=2, budget=2)
    >>> oracle = kh.FixedSubset(problem, support=truth.support, intercept=False)
    >>> ledger = kh.play(oracle, stream)
    >>> f"{regret(ledger, kh.hindsight(stream, 2)).high:.2f}"
    '2.38'
    """
    _refuse_unless_ledger(ledger)
    if ledger.first_round != 1 or ledger.rounds != best.rounds:
        raise DataError(
            f"the ledger covers rounds {ledger.first_round} to {ledger.last_round}, the model in "
            f"hindsight rounds 1 to {best.rounds}: regret compares the same rounds"
        )
    return ledger.loss - best.loss


def _refuse_unless_ledger(ledger: object) -> None:
    if not isinstance(ledger, Ledger):
        raise DataError(f"ledger must be what kh.play returns, got {shortened(ledger)}")


@dataclass(frozen=True, slots=True)
class RegretCurve:
    """Regret after each checkpoint, against the best model of the rounds up to there."""

    rounds: Indices
    low: Floats
    high: Floats


def regret_curve(
    ledger: Ledger,
    stream: BlockStream,
    k: int,
    *,
    intercept: bool = False,
    past: bool = False,
    seconds: float = 10.0,
) -> RegretCurve:
    """Regret along a game, at the checkpoints of its ledger; the time is shared among them."""
    _refuse_unless_ledger(ledger)
    if ledger.first_round != 1:
        raise DataError(f"a curve begins at round 1, the ledger at round {ledger.first_round}")
    marks = ledger.checkpoints
    rounds = [c.round for c in marks]
    models = hindsight_curve(stream, k, rounds, intercept=intercept, past=past, seconds=seconds)
    gaps = [c.loss - best.loss for c, best in zip(marks, models, strict=True)]
    return RegretCurve(
        rounds=np.array(rounds, dtype=np.int64),
        low=np.array([gap.low for gap in gaps]),
        high=np.array([gap.high for gap in gaps]),
    )
