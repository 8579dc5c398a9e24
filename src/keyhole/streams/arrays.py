"""Streams over arrays and generators; take, shuffle, chain, repeat and collect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    ProblemError,
    feature_names,
    real_numbers,
    refuse_unless_stream,
    whole_number,
)
from keyhole.problem.display import HtmlCell, few, html_table

LabelledRows = tuple[NDArray[np.floating], Floats]


class StreamBase:
    """What streams share: how they are shown, and their rows one at a time.

    >>> import keyhole as kh
    >>> kh.streams.clinic()[0]
    <GeneratedStream: 4,000 rows of 42 features, age_years, bmi, waist_cm and 39 more>
    """

    d: int
    rounds: int | None
    names: tuple[str, ...] | None

    def __repr__(self) -> str:
        names = "" if self.names is None else f", {few(self.names, 3)}"
        return f"<{type(self).__name__}: {self._rows_shown()} of {self.d:,} features{names}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, HtmlCell]] = [("rows", self._rows_shown()), ("features", self.d)]
        if self.names is not None:
            rows.append(("names", few(self.names)))
        return html_table(type(self).__name__, rows)

    def _rows_shown(self) -> str:
        return "rows" if self.rounds is None else f"{self.rounds:,} rows"

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """The rows as (X, y) blocks, at most `rows` at a time."""
        raise NotImplementedError


def block_rows(d: int) -> int:
    """Rows of a block that suits d features: about a million numbers, 64 to 4,096 rows."""
    return min(4096, max(64, 2**20 // d))


class ArrayStream(StreamBase):
    """A stream held in two arrays.

    Arrays of float64 and float32 in native byte order are used as they are, memory maps and
    read-only ones too; other real numbers are converted to float64.

    Parameters
    ----------
    X
        Examples by row, shape (n, d). NaN is a value that will be absent when bought.
    y
        Labels, length n, finite.
    names
        One name per feature, or None.

    Examples
    --------
    >>> stream = ArrayStream([[1.0, 2.0], [3.0, 4.0]], [0.5, -0.5], names=["age", "tsh"])
    >>> stream.d, stream.rounds
    (2, 2)
    >>> for x, y in stream:
    ...     print(x, y)
    [1. 2.] 0.5
    [3. 4.] -0.5
    """

    def __init__(self, X: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None) -> None:
        if hasattr(X, "tocsr"):
            raise DataError("X is a sparse matrix: make a kh.streams.SparseStream(X, y) of it")
        rows = real_numbers("X", X)
        if rows.ndim != 2 or rows.shape[1] < 1:
            raise DataError(f"X must be a table of rows and features, got shape {rows.shape}")
        self.X = rows
        self.y: Floats = labels_of(rows.shape, y)
        self.d = rows.shape[1]
        self.names = feature_names(names, self.d)
        self.rounds = len(rows)

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """The rows as (X, y) blocks; views, not copies."""
        size = block_rows(self.d) if rows is None else whole_number("rows", rows, 1)
        for start in range(0, len(self.y), size):
            yield self.X[start : start + size], self.y[start : start + size]


def labels_of(shape: tuple[int, ...], y: ArrayLike) -> Floats:
    """A finite label for each row of X, which has this shape, or a DataError."""
    labels = real_numbers("y", y)
    if labels.shape != shape[:1]:
        raise DataError(f"y must have one label per row: X {shape}, y {labels.shape}")
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(f"y must be finite, got {labels[row]} in row {row}: leave such rows out")
    return labels.astype(np.float64, copy=False)


class GeneratedStream(StreamBase):
    """A stream made on the way, chunk by chunk, by a function that can be called again.

    Parameters
    ----------
    d
        Features of a row.
    rounds
        Rows in all, None if not known beforehand.
    chunks
        Called once for each pass: an iterator over (X, y). It must give the same rows every time.
    names
        One name per feature, or None.
    """

    def __init__(
        self,
        d: int,
        rounds: int | None,
        chunks: Callable[[], Iterable[LabelledRows]],
        names: Sequence[str] | None = None,
    ) -> None:
        self.d = whole_number("d", d, 1)
        self.rounds = rounds
        self.names = feature_names(names, self.d)
        self._chunks = chunks

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self._chunks())

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """The rows as (X, y) blocks: the chunks as they come, cut where longer than `rows`."""
        size = block_rows(self.d) if rows is None else whole_number("rows", rows, 1)
        for X, y in self._chunks():
            for start in range(0, len(y), size):
                yield X[start : start + size], y[start : start + size]


def rows_of(blocks: Iterable[LabelledRows]) -> Iterator[tuple[Floats, float]]:
    """The rows of blocks, one at a time: x in double precision, y."""
    for X, y in blocks:
        rows = real_numbers("X", X).astype(np.float64, copy=False)
        yield from zip(rows, real_numbers("y", y).tolist(), strict=True)


def take(stream: BlockStream, rounds: int) -> GeneratedStream:
    """The first `rounds` rows of a stream (all of them, if there are fewer)."""
    refuse_unless_stream(stream, blocks=True)
    most = whole_number("rounds", rounds, 0)

    def chunks() -> Iterator[LabelledRows]:
        left = most
        for X, y in stream.blocks():
            if left <= 0:
                return
            yield X[:left], y[:left]
            left -= len(y)

    known = most if stream.rounds is None else min(most, stream.rounds)
    return GeneratedStream(stream.d, known, chunks, stream.names)


def shuffle(stream: BlockStream, seed: int) -> ArrayStream:
    """The same rows in a random order; reads the stream into memory once."""
    X, y = collect(stream)
    order = np.random.default_rng(seed).permutation(len(y))
    return ArrayStream(X[order], y[order], stream.names)


def chain(*streams: BlockStream) -> GeneratedStream:
    """One stream after the other; all of the same features."""
    if not streams:
        raise ProblemError("chain needs at least one stream, got none")
    for stream in streams:
        refuse_unless_stream(stream, blocks=True)
    first = streams[0]
    for i, other in enumerate(streams[1:], start=1):
        if other.d != first.d:
            raise ProblemError(f"stream 0 has {first.d} features, stream {i} has {other.d}")
        if other.names != first.names:
            raise ProblemError(f"streams 0 and {i} have different feature names")
    lengths = [s.rounds for s in streams]
    known = None if None in lengths else sum(n for n in lengths if n is not None)
    return GeneratedStream(
        first.d, known, lambda: (block for s in streams for block in s.blocks()), first.names
    )


def repeat(stream: BlockStream, passes: int) -> GeneratedStream:
    """The whole stream several times over."""
    return chain(*[stream] * whole_number("passes", passes, 1))


def collect(stream: BlockStream) -> LabelledRows:
    """The whole stream as two arrays in memory."""
    refuse_unless_stream(stream, blocks=True)
    blocks = list(stream.blocks())
    if not blocks:
        return np.empty((0, stream.d)), np.empty(0)
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
