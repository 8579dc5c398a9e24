"""Lengths of streams and of their blocks, at the edges."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.streams import (
    ArrayStream,
    GeneratedStream,
    chain,
    collect,
    csv_table,
    repeat,
    shuffle,
    take,
)
from keyhole.streams.arrays import block_rows, rows_of


def stream_of(n: int, d: int = 2) -> ArrayStream:
    return ArrayStream(np.arange(n * d, dtype=float).reshape(n, d), np.arange(n, dtype=float))


def unknown(n: int) -> GeneratedStream:
    return GeneratedStream(2, None, lambda: stream_of(n).blocks(3))


@pytest.mark.parametrize(
    ("d", "rows"),
    [(1, 4096), (256, 4096), (257, 4080), (1024, 1024), (16384, 64), (16385, 64), (10**6, 64)],
)
def test_blocks_hold_about_a_million_numbers(d: int, rows: int) -> None:
    assert block_rows(d) == rows


def lengths(blocks: object) -> list[int]:
    assert hasattr(blocks, "__iter__")
    return [len(y) for _, y in blocks]


def test_blocks_are_cut_where_they_are_longer_than_asked_for() -> None:
    assert lengths(stream_of(7).blocks(3)) == [3, 3, 1]
    assert lengths(stream_of(6).blocks(3)) == [3, 3]
    assert lengths(stream_of(2).blocks(1)) == [1, 1]
    assert lengths(stream_of(5000).blocks()) == [4096, 904]
    assert lengths(unknown(7).blocks(2)) == [2, 1, 2, 1, 1]
    assert lengths(unknown(7).blocks()) == [3, 3, 1]
    for stream in (stream_of(3), unknown(3)):
        for rows in (0, -1, 1.5):
            with pytest.raises(kh.KeyholeError, match="rows must be"):
                list(stream.blocks(rows))  # type: ignore[arg-type]


@pytest.mark.parametrize("rounds", [0, 1, 3, 4, 6, 7, 9])
def test_the_first_rows(rounds: int) -> None:
    for stream in (stream_of(7), unknown(7)):
        some = take(stream, rounds)
        assert some.rounds == (rounds if stream.rounds is None else min(rounds, 7))
        assert collect(some)[1].tolist() == list(range(min(rounds, 7)))
        assert all(lengths(some.blocks())), "no block is empty"
        assert [y for _, y in some] == list(range(min(rounds, 7)))


def test_nothing_is_read_beyond_what_is_taken() -> None:
    read = 0

    def chunks() -> object:
        nonlocal read
        for _ in range(10):
            read += 1
            yield np.zeros((2, 1)), np.zeros(2)

    collect(take(GeneratedStream(1, None, chunks), 4))  # type: ignore[arg-type]
    assert read == 3  # the third shows that nothing is left


def test_streams_one_after_the_other() -> None:
    both = chain(stream_of(2), stream_of(3))
    assert (both.d, both.rounds) == (2, 5)
    assert collect(both)[1].tolist() == [0, 1, 0, 1, 2]
    assert chain(stream_of(2), unknown(3)).rounds is None
    assert chain(unknown(2)).rounds is None
    assert repeat(stream_of(2), 1).rounds == 2
    assert collect(repeat(stream_of(2), 3))[1].tolist() == [0, 1] * 3
    with pytest.raises(kh.ProblemError, match="passes must be at least 1"):
        repeat(stream_of(2), 0)
    with pytest.raises(kh.ProblemError, match="stream 0 has 2 features, stream 2 has 3"):
        chain(stream_of(2), stream_of(2), stream_of(2, 3))
    named = ArrayStream([[1.0, 2.0]], [0.0], ["a", "b"])
    with pytest.raises(kh.ProblemError, match="streams 0 and 1 have different feature names"):
        chain(stream_of(2), named)
    assert chain(named, named).names == ("a", "b")


def test_shuffled_rows_keep_their_labels() -> None:
    mixed = shuffle(stream_of(50), 3)
    assert sorted(mixed.y.tolist()) == list(range(50))
    assert mixed.y.tolist() != list(range(50))
    assert (mixed.X[:, 0] == 2 * mixed.y).all()
    assert mixed.y.tolist() == shuffle(stream_of(50), 3).y.tolist()


def test_nothing_at_all_is_a_table_of_no_rows() -> None:
    X, y = collect(GeneratedStream(4, 0, list))
    assert (X.shape, y.shape) == ((0, 4), (0,))
    assert ArrayStream(np.zeros((0, 1)), []).rounds == 0
    with pytest.raises(kh.DataError, match="a table of rows and features"):
        ArrayStream(np.zeros((2, 0)), [0.0, 0.0])


def test_the_first_label_that_is_not_finite_is_named() -> None:
    y: Floats = np.array([0.0, 1.0, np.inf, np.nan])
    with pytest.raises(kh.DataError, match="got inf in row 2: leave such rows out"):
        ArrayStream(np.zeros((4, 1)), y)


def test_rows_and_labels_of_a_block_are_as_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        list(rows_of([(np.zeros((2, 1)), np.zeros(3))]))


def test_labels_are_used_as_they_are() -> None:
    y = np.arange(3.0)
    assert np.shares_memory(ArrayStream(np.zeros((3, 1)), y).y, y)


def test_how_much_is_read_before_a_row_is_too_long() -> None:
    assert csv_table.MAX_ROW_BYTES == 2**26
    assert csv_table.CsvTable.block_bytes <= csv_table.MAX_ROW_BYTES
