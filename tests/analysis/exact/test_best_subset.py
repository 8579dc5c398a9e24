"""Best k-subset: against enumeration, by certificates, in any units, and when time runs out."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.analysis.exact import best_subset as subset_search
from keyhole.analysis.exact import branch_and_bound as search
from keyhole.analysis.exact.best_subset import Subset, best_subset
from keyhole.analysis.exact.branch_and_bound import split_off
from keyhole.problem import Floats, Indices, ProblemError
from tests.helpers import exact_parts


def model(X: Floats, y: Floats, S: tuple[int, ...] | Indices) -> float:
    """rss of the columns S, from the data and by another factorisation than the block's."""
    w = np.linalg.lstsq(X[:, list(S)], y, rcond=None)[0]
    return float(((y - X[:, list(S)] @ w) ** 2).sum())


def truth(X: Floats, y: Floats, k: int) -> float:
    """The best value, by enumeration."""
    return min(model(X, y, S) for S in itertools.combinations(range(X.shape[1]), k))


def solve(X: Floats, y: Floats, k: int, seconds: float = 60.0) -> Subset:
    return best_subset(X.T @ X, X.T @ y, float(y @ y), k, seconds=seconds)


def accept(X: Floats, y: Floats, k: int, found: Subset) -> None:
    """What holds for every answer, exact or not: a feasible model with its own value."""
    tolerance = 1e-9 * float(y @ y)
    S = found.support
    assert S.dtype == np.int64
    assert len(S) == len(found.weights) <= k
    assert (np.diff(S) > 0).all()
    value = float(((y - X[:, S] @ found.weights) ** 2).sum())
    assert value == pytest.approx(found.rss, abs=tolerance)
    assert 0.0 <= found.lower <= found.rss
    if found.exact:
        assert found.lower == found.rss


def random_design(rng: np.random.Generator, n: int, d: int) -> Floats:
    return rng.normal(size=(n, d))


def correlated(rng: np.random.Generator, n: int, d: int, rho: float = 0.95) -> Floats:
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + math.sqrt(1.0 - rho**2) * X[:, j]
    return X


def duplicates(rng: np.random.Generator, n: int, d: int) -> Floats:
    X = rng.normal(size=(n, d))
    X[:, 1::3] = -2.0 * X[:, 0::3][:, : X[:, 1::3].shape[1]]
    return X


def one_hot(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Two groups, centred: each sums to zero, so the Gram matrix misses two directions."""
    levels = (d // 2, d - d // 2)
    X = np.hstack([np.eye(s)[rng.integers(0, s, n)] for s in levels])
    return np.asarray(X - X.mean(axis=0))


def zero_columns(rng: np.random.Generator, n: int, d: int) -> Floats:
    X = rng.normal(size=(n, d))
    X[:, ::3] = 0.0
    return X


def short(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Fewer rows than columns."""
    X = rng.normal(size=(n, d))
    X[d - 2 :] = 0.0
    return X


Design = Callable[[np.random.Generator, int, int], Floats]
DESIGNS: list[Design] = [random_design, correlated, duplicates, one_hot, zero_columns, short]


@pytest.mark.parametrize("leaf", [1.0, 1e6], ids=["branching", "enumerating"])
@pytest.mark.parametrize("design", DESIGNS)
def test_all_k_against_enumeration(
    design: Design, leaf: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small leaves force the search to branch down to single subsets.
    monkeypatch.setattr(subset_search, "MAX_ENUMERATED", leaf)
    rng = np.random.default_rng(7)
    for d, noise in ((4, 1.0), (8, 0.3), (9, 3.0)):
        X = design(rng, 40, d)
        y = X @ rng.normal(size=d) + noise * rng.normal(size=40)
        for k in range(1, d + 1):
            found = solve(X, y, k)
            accept(X, y, k, found)
            assert found.exact
            assert found.rss == pytest.approx(truth(X, y, k), abs=1e-9 * float(y @ y))


def test_ten_features_all_k() -> None:
    rng = np.random.default_rng(3)
    X = correlated(rng, 30, 10, 0.7)
    y = X[:, 2] - X[:, 3] + rng.normal(size=30)
    for k in range(1, 11):
        found = solve(X, y, k)
        assert found.exact
        assert found.rss == pytest.approx(truth(X, y, k), abs=1e-9 * float(y @ y))


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(), d=st.integers(1, 6), n=st.integers(1, 7), seconds=st.sampled_from([0.0, 60.0])
)
def test_small_whole_numbers(data: st.DataObject, d: int, n: int, seconds: float) -> None:
    # Small whole numbers make copies, dependent columns, zero columns and ties the usual case.
    entries = st.integers(-2, 2)
    X = np.array(data.draw(st.lists(entries, min_size=n * d, max_size=n * d)), dtype=float)
    X = X.reshape(n, d)
    y = np.array(data.draw(st.lists(entries, min_size=n, max_size=n)), dtype=float)
    k = data.draw(st.integers(1, d))
    found = solve(X, y, k, seconds)
    accept(X, y, k, found)
    best = truth(X, y, k)
    tolerance = 1e-9 * float(y @ y)
    assert found.lower - tolerance <= best <= found.rss + tolerance
    if seconds > 0.0:
        assert found.exact


@pytest.mark.parametrize("design", DESIGNS)
def test_out_of_time_is_an_interval_that_holds_the_truth(design: Design) -> None:
    rng = np.random.default_rng(11)
    X = design(rng, 30, 12)
    y = X @ rng.normal(size=12) + rng.normal(size=30)
    for k in (1, 3, 4):
        found = solve(X, y, k, seconds=0.0)
        accept(X, y, k, found)
        tolerance = 1e-9 * float(y @ y)
        assert found.lower - tolerance <= truth(X, y, k) <= found.rss + tolerance


def test_stopped_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that moves one second per look stops the search after a known number of looks.
    rng = np.random.default_rng(5)
    X = correlated(rng, 40, 14, 0.9)
    y = X @ rng.normal(size=14) + 3.0 * rng.normal(size=40)
    best = truth(X, y, 5)
    monkeypatch.setattr(subset_search, "MAX_ENUMERATED", 1.0)
    widths, exact = [], []
    for looks in (0, 5, 10, 20, 40, 10_000):
        clock = itertools.count()
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda clock=clock: float(next(clock)))
            found = solve(X, y, 5, seconds=float(looks))
        accept(X, y, 5, found)
        assert found.lower - 1e-9 * float(y @ y) <= best <= found.rss + 1e-9 * float(y @ y)
        widths.append(found.rss - found.lower)
        exact.append(found.exact)
        assert ("complete" in found.how) == found.exact
    assert not exact[0]
    assert exact[-1]
    assert (np.diff(widths) <= 1e-12).all()  # more time never widens the interval


def test_deep_first_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    X = correlated(rng, 40, 14, 0.9)
    y = X @ rng.normal(size=14) + 3.0 * rng.normal(size=40)
    monkeypatch.setattr(subset_search, "MAX_ENUMERATED", 1.0)
    monkeypatch.setattr(search, "MAX_HEAP_BYTES", 3000.0)
    found = solve(X, y, 5)
    assert found.exact
    assert found.rss == pytest.approx(truth(X, y, 5), abs=1e-9 * float(y @ y))


def test_units_of_columns_and_label_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    X = correlated(rng, 60, 12, 0.8)
    y = X[:, [1, 5, 8]].sum(axis=1) + rng.normal(size=60)
    plain = solve(X, y, 3)
    unit = 10.0 ** rng.uniform(-9, 9, 12)
    scaled = solve(X * unit, 1e6 * y, 3)
    assert scaled.exact
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.rss == pytest.approx(1e12 * plain.rss, rel=1e-6)
    np.testing.assert_allclose(
        scaled.weights * unit[scaled.support], 1e6 * plain.weights, rtol=1e-6
    )
    mean = best_subset(X.T @ X / 60, X.T @ y / 60, float(y @ y) / 60, 3)
    assert mean.rss == pytest.approx(plain.rss / 60)


def planted(d: int, k: int, n: int, rho: float, signal: float) -> tuple[Floats, Floats, Indices]:
    rng = np.random.default_rng(d + n)
    X = correlated(rng, n, d, rho)
    S = np.sort(rng.choice(d, k, replace=False))
    f = X[:, S] @ (rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k))
    return X, f * math.sqrt(signal / f.var()) + rng.normal(size=n), S


@pytest.mark.parametrize(
    ("n", "rho", "signal"), [(5000, 0.0, 0.01), (5000, 0.8, 0.01), (200, 0.0, 0.1), (200, 0.8, 1.0)]
)
def test_sixty_features(n: int, rho: float, signal: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, S = planted(60, 5, n, rho, signal)
    found = solve(X, y, 5)
    accept(X, y, 5, found)
    assert found.exact
    assert found.rss <= model(X, y, S) * (1.0 + 1e-9)
    # Without any relaxation the search is a plain enumeration of all 5.5 million subsets.
    monkeypatch.setattr(search, "split_off", lambda *_: None)
    plain = solve(X, y, 5)
    assert plain.exact
    assert plain.nodes > 100_000
    assert found.rss == pytest.approx(plain.rss, abs=1e-9 * float(y @ y))


def test_five_hundred_features() -> None:
    X, y, S = planted(500, 10, 1000, 0.9, 1.0)
    found = solve(X, y, 10, seconds=0.4)
    accept(X, y, 10, found)
    assert found.rss <= model(X, y, S) * (1.0 + 1e-9)
    assert found.lower > 0.5 * found.rss
    assert found.lower <= model(X, y, S) * (1.0 + 1e-9)


def scaled_moments(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    unit = np.sqrt((X**2).sum(axis=0))
    return np.ascontiguousarray(X.T @ X / np.outer(unit, unit)), X.T @ y / unit / math.sqrt(y @ y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_split_is_below_the_form_on_sparse_vectors(theta: float, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    X = one_hot(rng, 400, 24) if theta > 0.0 else correlated(rng, 100, 24, 0.5)
    G, _ = scaled_moments(X, X[:, 0])
    k = 3
    weight = rng.uniform(0.1, 1.0, 24) if weighted else None
    split = split_off(*np.linalg.eigh(G), k, theta, weight)
    assert split is not None
    R, e = split
    assert e.min() > 0.0
    assert np.linalg.eigvalsh(R)[0] > -1e-12
    for S in itertools.combinations(range(24), k):
        part = np.ix_(S, S)
        assert np.linalg.eigvalsh(G[part] - R[part] - np.diag(e[list(S)]))[0] > -1e-12


def test_dual_bound_holds_for_every_point_and_every_subset() -> None:
    rng = np.random.default_rng(4)
    X = correlated(rng, 50, 8, 0.6)
    y = X[:, 0] - X[:, 4] + rng.normal(size=50)
    G, c = scaled_moments(X, y)
    split = split_off(*np.linalg.eigh(G), 3, 0.0, None)
    assert split is not None
    R, e = split
    state = np.zeros(8, dtype=np.int8)
    v = np.empty(8)
    for _ in range(30):
        q = rng.normal(size=8) * rng.uniform(0.0, 1.0)
        base, bound = exact_parts.dual(c, e, state, 3, q, c - R @ q, v)
        for S in itertools.combinations(range(8), 3):
            value = model(X, y, S) / float(y @ y)
            assert bound - 1e-12 <= base - v[list(S)].sum() <= value + 1e-12


def as_if_orthogonal(
    values: Floats, vectors: Floats, k: int, theta: float, weight: Floats | None, until: float
) -> tuple[Floats, Floats]:
    """Broken twin of the split: the gains of single columns add up, as if none were correlated."""
    m = len(values)
    return np.zeros((m, m)), np.ones(m)


def test_broken_twin_misses_a_suppressor_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    # y is the small difference of two columns that are nearly the same: worthless one by one,
    # perfect together, and two swaps away from what forward selection takes.
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 6))
    y = 0.1 * X[:, 5]
    X[:, 5] = X[:, 4] + y
    X[:, :2] += 8.0 * y[:, None]
    right = solve(X, y, 2)
    assert right.exact
    assert right.support.tolist() == [4, 5]
    monkeypatch.setattr(search, "split_off", as_if_orthogonal)
    wrong = solve(X, y, 2)
    assert wrong.exact  # it claims so
    assert wrong.rss > truth(X, y, 2) + 0.1 * float(y @ y)


def test_start_is_tried() -> None:
    X, y, _ = planted(40, 4, 100, 0.5, 1.0)
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    best = best_subset(G, c, yy, 4)
    again = best_subset(G, c, yy, 4, seconds=0.0, start=best.support)
    assert again.rss == pytest.approx(best.rss)
    with pytest.raises(ProblemError, match="start"):
        best_subset(G, c, yy, 4, start=[0, 0])
    with pytest.raises(ProblemError, match="start"):
        best_subset(G, c, yy, 4, start=[40])


def test_corners() -> None:
    one = best_subset([[4.0]], [2.0], 3.0, 1)
    assert (one.support.tolist(), one.weights.tolist(), one.exact) == ([0], [0.5], True)
    assert one.rss == pytest.approx(2.0)
    silent = best_subset(np.eye(3), np.zeros(3), 0.0, 2)
    assert (silent.rss, silent.lower, silent.exact, silent.support.size) == (0.0, 0.0, True, 0)
    unrelated = best_subset(np.eye(3), np.zeros(3), 5.0, 2)
    assert (unrelated.rss, unrelated.exact, unrelated.support.size) == (5.0, True, 0)
    nothing = best_subset(np.zeros((2, 2)), np.zeros(2), 5.0, 2)
    assert (nothing.rss, nothing.exact, nothing.support.size) == (5.0, True, 0)


def test_nonsense_is_refused_by_name() -> None:
    G, c = np.eye(2), np.ones(2)
    bad: list[tuple[str, tuple[object, ...]]] = [
        ("G must be finite", ([[1.0, np.nan], [np.nan, 1.0]], c, 2.0, 1)),
        ("c must be finite", (G, [np.inf, 0.0], 2.0, 1)),
        ("yy must be finite", (G, c, np.nan, 1)),
        ("yy must be at least 0", (G, c, -1.0, 1)),
        ("G must be a square", (np.ones((2, 3)), c, 2.0, 1)),
        ("c must have shape", (G, np.ones(3), 2.0, 1)),
        ("G must be symmetric", ([[1.0, 0.5], [0.0, 1.0]], c, 2.0, 1)),
        ("G must be symmetric", ([[1e300, 5e299], [0.0, 1e300]], c, 2.0, 1)),  # no overflow
        ("positive semidefinite", ([[1.0, 2.0], [2.0, 1.0]], c, 2.0, 1)),
        ("positive semidefinite", ([[-1.0, 0.0], [0.0, 1.0]], c, 2.0, 1)),
        ("k must be at least 1", (G, c, 2.0, 0)),
        ("k must be at most d = 2", (G, c, 2.0, 3)),
    ]
    for message, arguments in bad:
        with pytest.raises(ProblemError, match=message):
            best_subset(*arguments)  # type: ignore[arg-type]
