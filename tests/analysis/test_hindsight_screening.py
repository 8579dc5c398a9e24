"""Hindsight of screened features: its interval holds the truth, found by trying every subset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import keyhole as kh
from keyhole.analysis import hindsight_screening
from keyhole.analysis.exact import outside
from keyhole.analysis.exact.outside import Outside, minimum
from keyhole.analysis.hindsight_screening import Passes, column_moments, products
from keyhole.problem import BlockStream, Floats
from keyhole.streams import ArrayStream, GeneratedStream, SparseStream


class Case(NamedTuple):
    """A small world, and how much of it is screened away."""

    X: Floats
    y: Floats
    k: int
    screen: int
    intercept: bool

    @property
    def stream(self) -> ArrayStream:
        return ArrayStream(self.X, self.y)

    def best(self) -> kh.Hindsight:
        return kh.hindsight(
            self.stream, self.k, intercept=self.intercept, screen=self.screen, seconds=2.0
        )

    def losses(self, kept: set[int]) -> list[float]:
        """The least loss of models with exactly 0, 1, ..., k features outside of `kept`.

        Copies of those count as kept, and so do columns that do not vary.
        """
        X, y = self.X, self.y
        if self.intercept:
            X, y = X - X.mean(axis=0), y - y.mean()
        size = np.linalg.norm(X, axis=0)
        unit = X / np.maximum(size, 1e-12)
        for j in range(X.shape[1]):
            alike = [np.abs(unit[:, i] @ unit[:, j]) > 1 - 1e-12 for i in kept]
            kept = kept | {j} if any(alike) or size[j] < 1e-9 else kept
        least = [float("inf")] * (self.k + 1)
        least[0] = float(y @ y)
        for size in range(1, self.k + 1):
            for S in itertools.combinations(range(X.shape[1]), size):
                w = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
                r = len(set(S) - kept)
                least[r] = min(least[r], float(((y - X[:, S] @ w) ** 2).sum()))
        return least


def case(seed: int) -> Case:
    """Correlated, duplicated, shifted, sparse columns, from a few rows to many."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(3, 10)), int(rng.choice([12, 40, 300]))
    k = int(rng.integers(1, min(4, d)))
    X = rng.standard_normal((n, d)) + rng.choice([0.0, 2.0])
    if rng.random() < 0.4:
        X = X @ rng.standard_normal((d, d))
    if rng.random() < 0.3:
        X[:, 0] = -3.0 * X[:, -1]
    if rng.random() < 0.3:
        X[:, 1] = X[:, -1] + 0.05 * rng.standard_normal(n)
    X[rng.random((n, d)) < rng.choice([0.0, 0.6])] = 0.0
    w = np.where(rng.random(d) < 0.4, rng.standard_normal(d), 0.0)
    y = X @ w * rng.choice([0.0, 1.0, 5.0]) + rng.standard_normal(n)
    return Case(X, y, k, int(rng.integers(k, d)), bool(rng.integers(2)))


SEEDS = range(250)


def violated(seed: int) -> bool:
    """Whether a bound is above the loss of a model that it is about, beyond rounding."""
    one = case(seed)
    found = one.best()
    assert found.screening is not None
    least = one.losses({int(j) for j in found.screening.kept})
    room = 1e-8 * float(one.y @ one.y)
    return any(low > loss + room for low, loss in zip(found.screening.lows, least, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.integers(1000, 10**6))
def test_the_interval_holds_the_truth(seed: int) -> None:
    one = case(seed)
    found = one.best()
    assert found.screening is not None
    least = one.losses({int(j) for j in found.screening.kept})
    room = 1e-8 * float(one.y @ one.y)
    assert found.loss.low <= min(least) + room
    assert found.loss.high >= min(least) - room
    for low, loss in zip(found.screening.lows, least, strict=True):
        assert low <= loss + room
    left = one.y - found.intercept - one.X @ found.weights
    assert left @ left == pytest.approx(found.loss.high, rel=1e-6, abs=room)
    assert len(found.support) <= one.k


def test_the_bound_of_every_number_outside_holds() -> None:
    assert not any(map(violated, SEEDS))


def without_reach(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """Broken: features outside cannot stand in for those that were kept."""
    return minimum(s2, 0.0 * np.where(np.isinf(H), 0.0, H), T, left)


def without_rest(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """Broken: features outside explain nothing that those kept do not."""
    return minimum(s2, H, 0.0 * T, left)


def uncorrelated(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """Broken: features outside are taken for uncorrelated."""
    return minimum(s2, H, T, 1.0)


@pytest.mark.parametrize("broken", [without_reach, without_rest])
def test_a_broken_bound_is_caught(
    broken: Callable[..., Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "minimum", broken)
    assert any(map(violated, SEEDS))


def twins() -> Case:
    """Two columns that were screened away, nearly alike, whose difference is the label."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    y = rng.standard_normal(400)
    X[:, 4] = X[:, 5] + 0.3 * y
    return Case(X, y, 2, 2, False)


def test_two_columns_whose_difference_is_the_label_are_not_bounded_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = twins()
    monkeypatch.setattr(hindsight_screening, "_strongest", lambda *_: np.arange(2)[: _[-1]])
    found = one.best()
    assert found.screening is not None
    assert found.screening.coherence is not None
    assert found.screening.coherence > 0.9
    assert one.losses(set(range(2)))[2] == pytest.approx(0.0, abs=1e-9)
    assert found.loss.low < 40.0 < found.loss.high
    monkeypatch.setattr(outside, "minimum", uncorrelated)
    found = one.best()
    assert found.screening is not None
    assert found.screening.lows[2] > 100.0  # the broken bound, which the search above refutes


def test_pairs_that_are_not_compared_are_not_bounded() -> None:
    X = np.random.default_rng(1).standard_normal((50, 8))
    stream = ArrayStream(X, X[:, 0] + X[:, 1])
    found = kh.hindsight(stream, 2, screen=4, seconds=0.0)
    assert found.screening is not None
    assert found.screening.coherence is None
    assert found.screening.lows[2] == 0.0
    assert found.screening.lows[1] > 0.0


def test_one_feature_is_found_exactly() -> None:
    for seed in SEEDS:
        one = case(seed)._replace(k=1)
        found = one.best()
        assert found.loss.width == 0.0
        assert found.loss.high == pytest.approx(min(one.losses(set())), rel=1e-9)


def wide(n: int, d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    return X, X[:, 3] - X[:, 5] + 0.3 * rng.standard_normal(n) + 2.0


@pytest.mark.parametrize("intercept", [True, False])
def test_where_the_others_do_not_matter_the_answer_is_exact(intercept: bool) -> None:
    X, y = wide(3000, 60)
    whole = kh.hindsight(ArrayStream(X, y), 2, intercept=intercept)
    screened = kh.hindsight(ArrayStream(X, y), 2, intercept=intercept, screen=8)
    assert screened.loss.width == 0.0
    assert screened.loss.high == pytest.approx(whole.loss.high, rel=1e-9)
    assert screened.support.tolist() == whole.support.tolist() == [3, 5]
    assert screened.weights == pytest.approx(whole.weights)
    assert screened.intercept == pytest.approx(whole.intercept)
    assert screened.empty_loss == pytest.approx(whole.empty_loss)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("absent", ["zero", "unknown"])
def test_sparse_rows_blocks_and_arrays_agree(intercept: bool, share: float, absent: str) -> None:
    """Absent cells too, which count as the mean of their column."""
    X, y = wide(200, 20)
    gone = np.random.default_rng(3).random(X.shape) < share
    stored = scipy.sparse.csr_array(X)
    stored.data[gone[X != 0]] = np.nan
    full = np.where(gone & (X != 0), np.nan, X)
    if absent == "unknown":
        full = np.where(X == 0, np.nan, full)

    def chunks() -> Iterator[tuple[Floats, Floats]]:
        for i in [200, *range(0, 200, 7)]:  # the first is empty
            yield full[i : i + 7], y[i : i + 7]

    streams: list[BlockStream] = [
        ArrayStream(full, y),
        SparseStream(stored, y, absent=absent),
        GeneratedStream(20, 200, chunks),
    ]
    found = [kh.hindsight(s, 2, intercept=intercept, screen=6, seconds=2.0) for s in streams]
    whole = kh.hindsight(streams[0], 2, intercept=intercept)
    for one in found:
        assert one.loss.high == pytest.approx(found[0].loss.high, rel=1e-9)
        assert one.loss.low == pytest.approx(found[0].loss.low, rel=1e-9)
        assert one.weights == pytest.approx(found[0].weights, rel=1e-6)
        assert one.empty_loss == pytest.approx(whole.empty_loss)
        assert one.loss.low <= whole.loss.high * (1 + 1e-9)
        assert whole.loss.high <= one.loss.high * (1 + 1e-9)


def test_columns_far_from_zero_lose_no_digits() -> None:
    X, y = wide(500, 12)
    near = kh.hindsight(ArrayStream(X, y), 2, intercept=True, screen=5)
    far = kh.hindsight(ArrayStream(X + 1e6, y - 1e7), 2, intercept=True, screen=5)
    assert far.loss.high == pytest.approx(near.loss.high, rel=1e-6)
    assert far.support.tolist() == near.support.tolist()


def test_more_than_4096_features_are_screened_and_it_says_so() -> None:
    rng = np.random.default_rng(4)
    X = np.where(rng.random((300, 5000)) < 0.01, rng.standard_normal((300, 5000)), 0.0)
    y = X[:, 7] * 3.0 + 0.01 * rng.standard_normal(300)
    said: list[str] = []
    found = kh.hindsight(
        SparseStream(scipy.sparse.csr_array(X), y), 1, seconds=5.0, progress=said.append
    )
    assert found.support.tolist() == [7]
    assert found.screening is not None
    assert len(found.screening.kept) == 256
    assert "of 256 of 5,000 features" in found.loss.how


def test_constant_columns_and_constant_labels() -> None:
    X = np.ones((20, 5))
    found = kh.hindsight(ArrayStream(X, np.arange(20.0)), 2, intercept=True, screen=2)
    assert (len(found.support), found.loss.width) == (0, 0.0)
    assert found.loss.high == pytest.approx(found.empty_loss)
    same = kh.hindsight(ArrayStream(wide(30, 6)[0], np.full(30, 2.0)), 2, intercept=True, screen=3)
    assert same.loss.high == 0.0
    assert same.intercept == pytest.approx(2.0)


def test_refused() -> None:
    X, y = wide(50, 6)
    stream = ArrayStream(X, y)
    with pytest.raises(kh.ProblemError, match="screen is not for models with prices"):
        kh.hindsight(stream, 2, past=True, screen=3)
    with pytest.raises(kh.ProblemError, match="screen must be"):
        kh.hindsight(stream, 2, screen=0)
    huge = SparseStream(scipy.sparse.csr_array((2, 10**7)), [0.0, 1.0])
    with pytest.raises(kh.ProblemError, match=r"10,000,000 features takes about .* kh\.hindsight"):
        kh.hindsight(huge, 2, past=True)
    with pytest.raises(kh.ProblemError, match="a diagnosis, which compares every pair"):
        kh.diagnose(huge, 2, 4)
    with pytest.raises(kh.DataError, match="empty"):
        kh.hindsight(ArrayStream(np.empty((0, 6)), []), 2, screen=3)


def test_features_outside_are_known_by_their_products() -> None:
    """The numbers behind the bound, against projections of the columns themselves."""
    X, y = wide(80, 9)
    A = np.array([1, 3, 5])
    passes = Passes(ArrayStream(X, y), None)
    columns = column_moments(passes, centred=True)
    G = products(passes, columns, A, "")
    beside = Outside(columns.g, columns.c, columns.yy, A, G)
    Z, z = X - X.mean(axis=0), y - y.mean()
    Q, _ = np.linalg.qr(Z[:, A])
    rest, left = Z - Q @ (Q.T @ Z), z - Q @ (Q.T @ z)
    others = [0, 2, 4, 6, 7, 8]
    size = np.linalg.norm(rest[:, others], axis=0)
    assert beside.features.tolist() == others
    assert pytest.approx(left @ left) == beside.Y
    assert beside.rho == pytest.approx(rest[:, others].T @ left / size)
    reach = np.linalg.norm((Q.T @ Z)[:, others], axis=0) / size
    assert pytest.approx(reach) == beside.H
    C = np.abs(np.corrcoef(rest[:, others].T)) - np.eye(6)
    assert beside.coherence(lambda some: products(passes, columns, some, "")) == pytest.approx(
        C.max()
    )
