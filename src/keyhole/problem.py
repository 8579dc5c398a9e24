"""The nouns: Problem, Ticket, Observation, Round, Learner, Stream; Interval; the errors.

The rest of the package imports them from here, and this file imports nothing of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, SupportsIndex, TypeGuard

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import (
    BudgetError,
    DataError,
    KeyholeError,
    MissingExtraError,
    ProblemError,
    StateError,
    TicketError,
    feature_names,
    finite_label,
    nearest,
    positive_number,
    real_number,
    real_numbers,
    refuse_labels,
    refuse_round,
    refuse_unless_stream,
    rows_and_labels,
    sparsity,
    whole_number,
)
from keyhole.ticket import Floats, Indices, Observation, Ticket

__all__ = [
    "BlockLearner",
    "BlockStream",
    "BudgetError",
    "DataError",
    "Floats",
    "Indices",
    "Interval",
    "KeyholeError",
    "Learner",
    "MissingExtraError",
    "Observation",
    "Problem",
    "ProblemError",
    "Round",
    "StateError",
    "Stream",
    "Ticket",
    "TicketError",
    "feature_names",
    "finite_label",
    "has_blocks",
    "nearest",
    "plays_blocks",
    "positive_number",
    "real_number",
    "real_numbers",
    "refuse_labels",
    "refuse_other_features",
    "refuse_round",
    "refuse_unless_stream",
    "rows_and_labels",
    "sparsity",
    "whole_number",
]


@dataclass(frozen=True, slots=True, init=False)
class Problem:
    """What may be read and what is compared with: d features, sparsity k, budget.

    Parameters
    ----------
    d
        How many features an example has.
    k
        Sparsity of the linear models the learner is compared with.
    budget
        How many features may be read of one example, everything included: the paper's k0 + k.
    names
        One name per feature; None for features known by number only.

    Examples
    --------
    >>> Problem(d=64, k=4, budget=12)
    Problem(d=64, k=4, budget=12, names=None)
    >>> Problem(d=3, k=1, budget=4)
    Traceback (most recent call last):
    keyhole.errors.ProblemError: budget must be at most d = 3, got 4
    """

    d: int
    k: int
    budget: int
    names: tuple[str, ...] | None = None

    def __init__(
        self,
        d: SupportsIndex,
        k: SupportsIndex,
        budget: SupportsIndex,
        names: Sequence[str] | None = None,
    ) -> None:
        d = whole_number("d", d, 1)
        k = whole_number("k", k, 1)
        budget = whole_number("budget", budget, 1)
        if budget > d:
            raise ProblemError(f"budget must be at most d = {d}, got {budget}")
        if k > budget:
            raise ProblemError(
                f"k must be at most budget = {budget}, got {k}: a model of {k} features cannot be "
                f"used when only {budget} are read"
            )
        for name, value in (("d", d), ("k", k), ("budget", budget)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", feature_names(names, d))

    @property
    def exploration(self) -> int:
        """What is left to explore with when k features are played: budget - k, the paper's k0.

        With budget = d everything is read anyway, and all d features explore.
        """
        return self.d if self.budget == self.d else self.budget - self.k

    def label(self, feature: int) -> str:
        """What to call a feature in front of a person: its name, or 'feature 7'."""
        return f"feature {feature}" if self.names is None else self.names[feature]


@dataclass(frozen=True, slots=True)
class Round:
    """One played round as nature saw it: what was bought, the label, the prediction."""

    round: int
    features: Indices
    y: float
    y_hat: float

    @property
    def loss(self) -> float:
        """Squared error of the round."""
        error = self.y - self.y_hat
        # Not `** 2`: Python's power may be off by a last bit where block play multiplies.
        return error * error


@dataclass(frozen=True, slots=True)
class Interval:
    """A number known to lie between two others, and how that is known.

    >>> Interval(1.0, 1.5, "branch and bound, stopped after 10 s")
    Interval(low=1.0, high=1.5, how='branch and bound, stopped after 10 s')
    >>> 1.25 in Interval(1.0, 1.5, "search")
    True
    >>> 10.0 - Interval(1.0, 1.5, "search")
    Interval(low=8.5, high=9.0, how='search')
    """

    low: float
    high: float
    how: str

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ProblemError(f"an interval needs low <= high, got [{self.low}, {self.high}]")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __rsub__(self, value: float) -> Interval:
        return Interval(value - self.high, value - self.low, self.how)

    @property
    def width(self) -> float:
        """high - low; 0 when the number is known."""
        return 0.0 if self.low == self.high else self.high - self.low  # both may be infinite

    def __str__(self) -> str:
        if self.width == 0:
            return f"{self.low:.6g}"
        return f"[{self.low:.6g}, {self.high:.6g}]"


class Learner(Protocol):
    """A player of the game. Any class with these members is one; there is no base class.

    `predict` must not change anything. `tell` and `drop` close a ticket; closing one that is
    unknown or closed is a TicketError, a label that is not finite a DataError, and an error leaves
    the learner as it was. Several tickets may be open and may be closed in any order.
    """

    @property
    def problem(self) -> Problem:
        """The problem the learner was made for."""

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""

    @property
    def weights(self) -> Floats:
        """The current linear model, length d, in the units of the features."""

    @property
    def intercept(self) -> float:
        """What the current model adds to the weighted sum."""

    def ask(self) -> Ticket:
        """The ticket of the next round. The example is not seen yet."""

    def predict(self, seen: Observation) -> float:
        """The predicted label; changes nothing."""

    def tell(self, seen: Observation, y: float) -> None:
        """Learn from the label of a ticket and close it."""

    def drop(self, ticket: Ticket) -> None:
        """Close a ticket whose label will never come."""


class BlockLearner(Learner, Protocol):
    """A learner that can also play a block of rounds in one call, for instance in compiled code."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds of ask, predict, tell in one go and return the predictions.

        The transcript is the one that single rounds would give, bit for bit, and a row of X is
        read at the bought features only. A row that cannot be played is a DataError, and the
        rounds before it stand, as they would in single rounds. `bought`, of shape (len(y), budget),
        receives what was bought: ascending indices, then -1; that is what the referee audits.
        """


class Stream(Protocol):
    """Examples that can be gone through again and again: iterate for (x, y), one row at a time."""

    @property
    def d(self) -> int:
        """How many features a row has."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Their names, or None."""

    @property
    def rounds(self) -> int | None:
        """How many rows there are, None when that is not known beforehand."""

    def __iter__(self) -> Iterator[tuple[Floats, float]]: ...


class BlockStream(Stream, Protocol):
    """A stream that also hands out blocks of rows."""

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.floating], Floats]]:
        """The same rows as (X, y) blocks of at most `rows` rows (None: a size that suits d)."""


def plays_blocks(learner: Learner) -> TypeGuard[BlockLearner]:
    """Whether a learner offers `advance`."""
    return hasattr(learner, "advance")


def has_blocks(stream: Stream) -> TypeGuard[BlockStream]:
    """Whether a stream offers `blocks`."""
    return hasattr(stream, "blocks")


def refuse_other_features(problem: Problem, stream: Stream) -> None:
    """ProblemError unless the problem is about the features of the stream."""
    refuse_unless_stream(stream)
    if stream.d != problem.d:
        raise ProblemError(f"the learner's problem has {problem.d} features, the stream {stream.d}")
    if problem.names is not None and stream.names is not None and problem.names != stream.names:
        ours, theirs = next(
            (a, b) for a, b in zip(problem.names, stream.names, strict=True) if a != b
        )
        raise ProblemError(
            f"the learner's problem and the stream name their features differently: "
            f"{ours!r} against {theirs!r}"
        )
