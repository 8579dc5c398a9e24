"""Conformance of streams: what every one of them must keep to, property by property."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from keyhole.problem import Floats, Stream, has_blocks
from keyhole.testing.helpers import require

StreamMaker = Callable[[], Stream]


def check_stream(factory: StreamMaker) -> None:
    """Run every stream check; `factory` makes the stream."""
    for check in STREAM_CHECKS:
        check(factory)


def gives_the_same_rows_again(factory: StreamMaker) -> None:
    """A second pass, and a pass begun while another is under way, give the same rows."""
    stream = factory()
    first, second = list(_rows(stream)), list(_rows(stream))
    require(len(first) > 0, "the stream has rows")
    require(len(first) == len(second), f"passes of {len(first)} and {len(second)} rows")
    ahead = iter(stream)
    next(ahead)
    third = list(_rows(stream))
    for t, (a, b, c) in enumerate(zip(first, second, third, strict=True), start=1):
        same = np.array_equal(a, b, equal_nan=True) and np.array_equal(a, c, equal_nan=True)
        require(same, f"the same rows in every pass, row {t} differs")


def says_what_it_holds(factory: StreamMaker) -> None:
    """`d`, `names` and `rounds` are right; values are finite or NaN; labels are finite."""
    stream = factory()
    count = 0
    for x, y in stream:
        count += 1
        require(x.shape == (stream.d,), f"row {count} has {stream.d} features, got {x.shape}")
        require(not np.isinf(x).any(), f"row {count} is finite or NaN")
        require(isinstance(y, float) and math.isfinite(y), f"the label of row {count} is finite")
    if stream.rounds is not None:
        require(stream.rounds == count, f"rounds says {stream.rounds}, there are {count} rows")
    if stream.names is not None:
        names = stream.names
        require(len(names) == stream.d, f"{len(names)} names for {stream.d} features")
        require(len(set(names)) == stream.d, "names differ from each other")


def gives_the_same_rows_in_blocks(factory: StreamMaker) -> None:
    """If there are `blocks`: whatever their size, they hold the rows of a plain pass."""
    stream = factory()
    if not has_blocks(stream):
        return
    plain = np.array(list(_rows(stream)))
    for rows in (None, 1, 7, 1000):
        blocks = list(stream.blocks(rows))
        for X, y in blocks:
            require(X.shape == (len(y), stream.d), f"a block of shape {X.shape}, {len(y)} labels")
            require(rows is None or len(y) <= rows, f"a block of {len(y)} rows, asked for {rows}")
        stacked = np.concatenate([np.column_stack([X, y]) for X, y in blocks])
        same = np.array_equal(plain, stacked, equal_nan=True)
        require(same, f"blocks of {rows} rows hold the rows of the stream")


def _rows(stream: Stream) -> Iterator[Floats]:
    return (np.append(x, y) for x, y in stream)


STREAM_CHECKS: tuple[Callable[[StreamMaker], None], ...] = (
    gives_the_same_rows_again,
    says_what_it_holds,
    gives_the_same_rows_in_blocks,
)
