"""Array streams and what is made of them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.streams import ArrayStream, GeneratedStream, chain, collect, repeat, shuffle, take

X = np.arange(30.0).reshape(10, 3)
X[4, 1] = np.nan
Y = np.arange(10.0)
STREAM = ArrayStream(X, Y, names=["a", "b", "c"])

STREAMS = {
    "arrays": lambda: STREAM,
    "float32": lambda: ArrayStream(X.astype(np.float32), Y.astype(np.float32)),
    "integers": lambda: ArrayStream(np.arange(6).reshape(3, 2), [1, 0, 1]),
    "lists": lambda: ArrayStream([[1.0, 2.0]], [3.0]),
    "fortran": lambda: ArrayStream(np.asfortranarray(X), Y),
    "take": lambda: take(STREAM, 7),
    "take too many": lambda: take(STREAM, 70),
    "shuffle": lambda: shuffle(STREAM, seed=1),
    "chain": lambda: chain(STREAM, take(STREAM, 2), STREAM),
    "repeat": lambda: repeat(STREAM, 3),
    "generated": lambda: GeneratedStream(3, None, lambda: iter([(X[:6], Y[:6]), (X[6:], Y[6:])])),
}


@pytest.mark.parametrize("check", kh.testing.STREAM_CHECKS, ids=lambda check: str(check.__name__))
@pytest.mark.parametrize("name", STREAMS)
def test_conformance(name: str, check: Any) -> None:
    check(STREAMS[name])


def test_what_they_hold() -> None:
    np.testing.assert_array_equal(collect(take(STREAM, 7))[1], Y[:7])
    np.testing.assert_array_equal(collect(repeat(STREAM, 2))[1], np.concatenate([Y, Y]))
    np.testing.assert_array_equal(collect(chain(STREAM, take(STREAM, 1)))[0], np.vstack([X, X[:1]]))
    mixed_X, mixed_y = collect(shuffle(STREAM, seed=1))
    assert not np.array_equal(mixed_y, Y)
    np.testing.assert_array_equal(mixed_X, X[mixed_y.astype(int)])
    assert shuffle(STREAM, seed=1).y.tolist() == mixed_y.tolist()
    assert shuffle(STREAM, seed=2).y.tolist() != mixed_y.tolist()
    for made in (take(STREAM, 1), shuffle(STREAM, 0), chain(STREAM), repeat(STREAM, 2)):
        assert made.names == ("a", "b", "c")
    assert collect(take(STREAM, 0))[0].shape == (0, 3)


def test_arrays_are_used_as_they_are(tmp_path: Path) -> None:
    single = X.astype(np.float32)
    stream = ArrayStream(single, Y)
    block, _ = next(stream.blocks())
    assert np.shares_memory(block, single)
    assert block.dtype == np.float32
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(next(ArrayStream(mapped, Y).blocks())[0], mapped)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArrayStream([1.0, 2.0], [1.0]), "got shape (2,)"),
        (lambda: ArrayStream(np.zeros((3, 0)), np.zeros(3)), "got shape (3, 0)"),
        (lambda: ArrayStream(X, Y[:4]), "X (10, 3), y (4,)"),
        (lambda: ArrayStream([["a"]], [1.0]), "must be numbers"),
        (lambda: ArrayStream([[1.0]], [float("nan")]), "y must be finite, got nan in row 0"),
        (lambda: ArrayStream(X, Y, names=["a"]), "3 features, 1 names"),
        (lambda: chain(), "at least one stream"),
        (
            lambda: chain(STREAM, ArrayStream(X[:, :2], Y)),
            "stream 0 has 3 features, stream 1 has 2",
        ),
        (lambda: chain(STREAM, ArrayStream(X, Y)), "different feature names"),
        (lambda: repeat(STREAM, 0), "passes must be at least 1, got 0"),
        (lambda: take(STREAM, -1), "rounds must be at least 0, got -1"),
        (lambda: list(STREAM.blocks(0)), "rows must be at least 1, got 0"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(kh.KeyholeError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("dtype", ["f2", ">f2", ">f4", ">f8", "g", ">i4", "u8", "?"])
def test_other_real_numbers_become_native_float64(dtype: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 5)).astype(dtype), rng.integers(0, 2, 60).astype(dtype)
    stream = ArrayStream(X, y)
    assert stream.X.dtype == stream.y.dtype == np.float64
    problem = kh.Problem(d=5, k=1, budget=3)
    ours, plain = kh.AutoLearner(problem), kh.AutoLearner(problem)
    kh.play(ours, stream)
    kh.play(plain, ArrayStream(X.astype(float), y.astype(float)))
    assert ours.weights.tobytes() == plain.weights.tobytes()


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no long double")
def test_what_float64_cannot_hold_is_refused() -> None:
    huge = np.array([[np.longdouble(10) ** 400]])
    with pytest.raises(kh.DataError, match="beyond float64"):
        ArrayStream(huge, [1.0])
    with pytest.raises(kh.DataError, match="beyond float64"):
        ArrayStream([[1.0]], huge[0])


@pytest.mark.parametrize("X", [[["1"]], [[1j]], [[None]], [["1", 2]], np.ma.masked_less([[1]], 2)])
def test_what_is_no_number_is_refused(X: object) -> None:
    with pytest.raises(kh.DataError, match=r"X must be numbers|X is a masked array"):
        ArrayStream(X, [1.0])  # type: ignore[arg-type]
    with pytest.raises(kh.DataError, match="y"):
        ArrayStream([[1.0]], X[0])  # type: ignore[index]


def test_generated_rows_of_text_are_refused() -> None:
    rows = kh.streams.GeneratedStream(1, 1, lambda: [(np.array([["1"]]), np.array([1.0]))])
    for play in (lambda: list(rows), lambda: kh.play(kh.Zero(kh.Problem(1, 1, 1)), rows)):
        with pytest.raises(kh.DataError, match="X must be numbers"):
            play()
