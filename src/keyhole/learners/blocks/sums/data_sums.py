"""DataSums: second moments of complete rows, of a shard or of many; they add."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import refuse_labels, refuse_unless_stream
from keyhole.learners.blocks.sums.gram import Gram
from keyhole.problem import Floats, StateError


@dataclass(frozen=True, slots=True, eq=False)
class DataSums:
    """What `kh.sums` returns: all that models fitted in hindsight need to know of a data set.

    Counts, means, second moments of all pairs of features and products with the label, kept about
    the means so that no digits are lost to them; the range of every feature and of the label. Sums
    of disjoint data sets add: `a + b`, or `kh.merge(a, b)`.

    Attributes
    ----------
    d, names, target
        Features, what they are called (None if nothing) and what the label is called.
    rounds
        How many rows.
    left_out
        How many rows had no label and are not in it.
    parts
        What the rows are: a name for every shard, empty if they came from a stream. Two sums that
        share one are not added.
    """

    # Sums: gram, left_out. Extremes: low, high, ends. Everything else says what they are of.

    gram: Gram
    low: Floats
    high: Floats
    ends: tuple[float, float]
    names: tuple[str, ...] | None = None
    target: str | None = None
    left_out: int = 0
    parts: tuple[str, ...] = ()

    @property
    def d(self) -> int:
        """How many features."""
        return self.gram.d

    @property
    def rounds(self) -> int:
        """How many rows."""
        return self.gram.n

    @property
    def counts(self) -> Floats:
        """In how many rows each feature has a value."""
        return self.gram.counts

    @property
    def means(self) -> Floats:
        """The mean of each feature over the rows where it has a value."""
        return self.gram.centred().mean_x

    @property
    def label_mean(self) -> float:
        """The mean of the label."""
        return self.gram.centred().mean_y

    @property
    def covariance(self) -> Floats:
        """The covariance of all pairs of features; an absent value counts as the mean.

        >>> import keyhole as kh
        >>> sums = kh.sums(kh.streams.ArrayStream([[1.0, 5.0], [3.0, 9.0]], [0.0, 1.0]))
        >>> sums.covariance
        array([[1., 2.],
               [2., 4.]])
        """
        return self.gram.centred().G / max(self.rounds, 1)

    def __add__(self, other: DataSums) -> DataSums:
        """The sums of both."""
        if not isinstance(other, DataSums):
            return NotImplemented
        for what in ("names", "d", "target"):
            mine, its = getattr(self, what), getattr(other, what)
            if mine != its:
                raise StateError(
                    f"sums of different {what} cannot be added: {_shown(mine)}, {_shown(its)}; "
                    "read both with the same `features` and `target`"
                )
        if both := {*self.parts} & {*other.parts}:
            raise StateError(
                f"sums that share rows cannot be added: {len(both)} of the shards are in both"
            )
        return DataSums(
            self.gram + other.gram,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            (min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])),
            self.names,
            self.target,
            self.left_out + other.left_out,
            (*self.parts, *other.parts),
        )

    def __repr__(self) -> str:
        label = "" if self.target is None else f", label {self.target!r}"
        return f"<sums of {self.rounds:,} rows, {self.d:,} features{label}>"

    def same(self, other: DataSums) -> bool:
        """Whether they are the same to the last bit."""
        mine, its = self.arrays(), other.arrays()
        return mine.keys() == its.keys() and all(
            np.array_equal(mine[name], its[name]) for name in mine
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All numbers, as named arrays."""
        ends = {"low": self.low, "high": self.high, "ends": np.array(self.ends)}
        return {**self.gram.arrays(), **ends}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        names: Sequence[str] | None = None,
        target: str | None = None,
        left_out: int = 0,
        parts: Sequence[str] = (),
    ) -> DataSums:
        """The sums that `arrays` described, or a StateError."""
        rest = {k: v for k, v in arrays.items() if k not in ("low", "high", "ends")}
        if len(rest) != len(arrays) - 3 or "x" not in rest:
            raise StateError("not the arrays of sums: some are missing")
        gram = Gram.from_arrays(rest)
        low, high, ends = (np.asarray(arrays[k], dtype=np.float64) for k in ("low", "high", "ends"))
        if low.shape != (gram.d,) or high.shape != (gram.d,) or ends.shape != (2,):
            raise StateError(f"the ranges of {gram.d} features are missing")
        listed = None if names is None else tuple(names)
        if listed is not None and len(listed) != gram.d:
            raise StateError(f"{len(listed)} names for {gram.d} features")
        return cls(
            gram, low, high, (float(ends[0]), float(ends[1])), listed, target, left_out, (*parts,)
        )


def refuse_unless_stream_or_sums(data: object) -> None:
    """ProblemError unless this is a stream of blocks, or the sums of one."""
    if not isinstance(data, DataSums):
        refuse_unless_stream(data, blocks=True)


class Ranges:
    """The range of every feature and of the label, block by block."""

    def __init__(self, d: int) -> None:
        self.low, self.high = np.full(d, math.inf), np.full(d, -math.inf)
        self.ends = (math.inf, -math.inf)

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Take note of some rows; NaN is absent. DataError for a label that is no number."""
        refuse_labels(y)
        if len(y):
            low, high = X.min(axis=0), X.max(axis=0)
            if np.isnan(low).any():  # slower, and needed only where values are absent
                low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
            np.fmin(self.low, low, out=self.low)
            np.fmax(self.high, high, out=self.high)
            self.ends = min(self.ends[0], float(y.min())), max(self.ends[1], float(y.max()))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} names, {', '.join(value[:3])}, ..."
    return repr(value)
