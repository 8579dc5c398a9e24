"""The compiled models of subsets against least squares on the columns themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from keyhole.analysis.exact import branch_and_bound as kernels
from keyhole.analysis.exact.best_subset import CountSearch
from keyhole.analysis.exact.branch_and_bound import MIN_IMPROVEMENT, Leaf
from keyhole.problem import Floats, Indices
from tests.helpers.exact_parts import forward


def columns(kind: str, m: int = 7, seed: int = 0) -> tuple[Floats, Floats]:
    """Unit columns and a unit label; column 3 depends on 0 and 1, or is nearly column 2."""
    rng = np.random.default_rng([len(kind), seed])
    X = rng.normal(size=(3 * m, m)) + 0.5 * rng.normal(size=(3 * m, 1))
    if kind == "dependent":
        X[:, 3] = X[:, 0] - 2.0 * X[:, 1]
    y = X @ rng.normal(size=m) + rng.normal(size=3 * m)
    return X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y)


def left(X: Floats, y: Floats, S: list[int]) -> Floats:
    """What the columns S leave of y."""
    return np.asarray(y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=1e-9)[0])


def value(X: Floats, y: Floats, S: list[int]) -> float:
    return float((left(X, y, S) ** 2).sum())


def independent(X: Floats, S: list[int]) -> bool:
    return bool(np.linalg.matrix_rank(X[:, S], tol=1e-6) == len(S))


KINDS = ["plain", "dependent"]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_projected_out_one_by_one(kind: str) -> None:
    X, y = columns(kind)
    G, c = X.T @ X, X.T @ y
    D, r = np.diag(G).copy(), c.copy()
    L, chosen = np.full((7, 7), np.nan), list[int]()
    for i in (1, 5, 0, 3, 6, 3):
        before = value(X, y, chosen)
        gain = kernels.include(G, L, len(chosen), i, D, r)
        if not independent(X, [*chosen, i]):
            assert gain == -1.0
            continue
        chosen.append(i)
        assert gain == pytest.approx(before - value(X, y, chosen))
        rest = np.column_stack([left(X, X[:, j], chosen) for j in range(7)])
        np.testing.assert_allclose(D, (rest**2).sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(r, rest.T @ y, atol=1e-9)
    n = len(chosen)
    np.testing.assert_allclose(L[:n].T[chosen] @ L[:n], G[chosen], atol=1e-9)
    assert kind == "plain" or 3 not in chosen


@pytest.mark.parametrize("kind", KINDS)
def test_the_rss_of_any_list_of_columns(kind: str) -> None:
    X, y = columns(kind)
    G, c = X.T @ X, X.T @ y
    for size in range(6):
        for S in itertools.permutations(range(6), size):
            if size < 3 or sum(S) % 5 == 0:
                found = kernels.rss(G, c, np.array([*S, 6, 6], dtype=np.int64), size)
                assert found == pytest.approx(value(X, y, list(S)), abs=1e-9)
    assert kernels.rss(G, c, np.array([2, 2, 4]), 3) == pytest.approx(value(X, y, [2, 4]))


def greedy(X: Floats, y: Floats, k: int, S: list[int]) -> list[int]:
    """Those of S that do not depend on earlier ones, then the best column, again and again."""
    kept = list[int]()
    for j in S:
        if independent(X, [*kept, j]):
            kept.append(j)
    while len(kept) < k:
        others = [j for j in range(X.shape[1]) if independent(X, [*kept, j])]
        if not others:
            break
        kept.append(min(others, key=lambda j: value(X, y, [*kept, j])))
    return kept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [[], [4], [0, 1, 3], [6, 6, 2]])
def test_forward_selection_takes_the_best_column_every_time(kind: str, start: list[int]) -> None:
    X, y = columns(kind)
    for k in range(max(len(start), 1), 8):
        S = np.full(k, -1)
        S[: len(start)] = start
        n, found = forward(X.T @ X, X.T @ y, k, S, len(start))
        expected = greedy(X, y, k, start)
        assert n == len(expected)
        for size in range(1, n + 1):  # by value: columns that depend on others may be tied
            now = value(X, y, S[:size].tolist())
            assert now == pytest.approx(value(X, y, expected[:size]), abs=1e-9)
        assert found == pytest.approx(now, abs=1e-9)


def test_forward_selection_stops_when_nothing_is_left_to_gain() -> None:
    S = np.full(3, -1)
    assert forward(np.eye(3), np.array([0.6, 0.0, 0.0]), 3, S, 0) == (1, 1.0 - 0.36)
    assert S[0] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_no_exchange_of_one_column_helps_after_swaps(kind: str, seed: int) -> None:
    X, y = columns(kind, 8, seed)
    worse = 0
    for k in (1, 2, 3, 4):
        for start in ([], list(range(k))):
            S = np.full(k, -1)
            S[: len(start)] = start
            size, found = kernels.swaps(X.T @ X, X.T @ y, k, S, len(start))
            chosen = S[:size].tolist()
            assert found == pytest.approx(value(X, y, chosen), abs=1e-9)
            assert len(set(chosen)) == size == k
            for p in range(k):
                rest = chosen[:p] + chosen[p + 1 :]
                best = value(X, y, greedy(X, y, k, rest))
                assert found <= best + 1e-9
            worse += found < value(X, y, greedy(X, y, k, start)) - 1e-6
    assert worse > 0  # forward selection alone would not do


def improved(G: Floats, c: Floats, k: int, S: list[int], bar: float) -> CountSearch:
    """A search whose last relaxation was S, rounded, and whose best value was `bar`."""
    search = CountSearch(G, c, k)
    search.rounded[: len(S)], search.size, search.best = S, len(S), bar
    search.improve(search.top, finish=False)
    return search


def test_an_incumbent_is_replaced_by_what_is_better_only() -> None:
    X, y = columns("plain")
    G, c = X.T @ X, X.T @ y
    own = value(X, y, [0, 1])
    better = improved(G, c, 4, [0, 1], own + 1e-6)
    assert better.best < own
    assert better.best == pytest.approx(value(X, y, better.S.tolist()))
    worse = improved(G, c, 4, [0, 1], own - 1e-6)
    assert (worse.best, worse.S.tolist()) == (own - 1e-6, [])
    one = np.array([0.6, 0.0, 0.0])  # a single column has all there is to gain
    few = improved(np.eye(3), one, 3, [0], 1.0)
    assert (few.best, few.S.tolist()) == (1.0 - 0.36, [0])


def bounds(
    X: Floats, y: Floats, always: list[int], C: Indices, share: float
) -> tuple[Floats, float]:
    """v and slack with rss(I + T) >= slack - v(T) for all T in C, from any split; v descends."""
    G, c = X.T @ X, X.T @ y
    e = share * float(np.linalg.eigvalsh(G)[0])
    q = np.linalg.solve(G, c)
    v = (c - (G - e * np.eye(len(c))) @ q) ** 2 / e
    base = 1.0 - float(q @ (G - e * np.eye(len(c))) @ q)
    return v[C], base - float(v[always].sum())


@pytest.mark.parametrize("r", [1, 2, 3, 4])
@pytest.mark.parametrize("always", [[], [2], [6, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_enumeration_with_bounds_finds_the_best_and_skips_what_they_rule_out(
    seed: int, always: list[int], r: int
) -> None:
    X, y = columns("plain", 9, seed)
    G, c = X.T @ X, X.T @ y
    rest = np.array([j for j in range(9) if j not in always])
    v, slack = bounds(X, y, always, rest, 0.9)
    order = np.argsort(-v)
    C, v = rest[order], v[order]
    sets = [T for n in range(1, r + 1) for T in itertools.combinations(range(len(C)), n)]
    values = {T: value(X, y, [*always, *C[list(T)].tolist()]) for T in sets}
    for T, found in values.items():
        assert found >= slack - v[list(T)].sum() - 1e-9
    expected = min(values.values())
    for bar in (1.0, expected + 1e-6, expected - 1e-6):
        S = np.full(len(always) + r, -7)
        leaf = Leaf(np.array(always, dtype=np.int64), C, v, slack)
        best, visited = kernels.enumerate_all(G, c, leaf, r, bar, S)
        if bar < expected:
            assert best == bar
            assert S.tolist() == [-7] * len(S)
        else:
            assert best == pytest.approx(expected)
            assert value(X, y, S[S >= 0].tolist()) == pytest.approx(expected)
            assert S[: len(always)].tolist() == always
        # A partial set has to be visited if its best completion could still be good enough.
        needed = {T: _reach(T, v, slack, r) < min(bar, expected) - MIN_IMPROVEMENT for T in sets}
        shorter = [T for T in sets if len(T) < max(r, 2)]
        at_least = sum(needed[T] for T in shorter if len(T) < r or r == 1)
        assert visited >= at_least - 1
        if bar <= expected + 1e-6:
            assert visited <= sum(_reach(T, v, slack, r) < bar - MIN_IMPROVEMENT for T in shorter)


def _reach(T: tuple[int, ...], v: Floats, slack: float, r: int) -> float:
    """The least bound of T with as many later ones as there is room for."""
    return slack - float(v[list(T)].sum()) - float(v[T[-1] + 1 :][: r - len(T)].sum())


def test_enumeration_leaves_dependent_columns_out() -> None:
    X, y = columns("dependent")
    G, c = X.T @ X, X.T @ y
    for r in (1, 2, 3):
        for always in ([], [0], [0, 1]):
            C = np.array([j for j in (3, 1, 0, 2, 4) if j not in always])
            leaf = Leaf(np.array(always, dtype=np.int64), C, np.zeros(len(C)), -10.0)
            S = np.full(len(always) + r, -1)
            best, _ = kernels.enumerate_all(G, c, leaf, r, 2.0, S)
            sets = [T for n in range(1, r + 1) for T in itertools.combinations(C.tolist(), n)]
            assert best == pytest.approx(min(value(X, y, [*always, *T]) for T in sets))
            assert value(X, y, S[S >= 0].tolist()) == pytest.approx(best)


def test_an_incumbent_is_written_in_full() -> None:
    """What is in, then what was chosen; -1 for places that nobody needs."""
    c = np.array([0.0, 0.3, 0.0, 0.2, 0.1, 0.4, 0.0, 0.1])
    S = np.full(5, 9)
    leaf = Leaf(np.array([7, 3]), np.array([5, 1, 0, 2]), np.zeros(4), -9.0)
    best, _ = kernels.enumerate_all(np.eye(8), c, leaf, 3, 1.0, S)
    assert best == pytest.approx(1.0 - (c[[7, 3, 5, 1]] ** 2).sum())
    assert S.tolist() == [7, 3, 5, 1, -1]


def test_a_column_of_which_just_enough_is_left_counts() -> None:
    """1e-10 of its square, to the last bit; a hair less and it depends on what is there."""
    c = np.array([0.5e-5, 0.1])
    for left, gain in ((1e-10, 0.25), (0.99e-10, 0.0)):
        G = np.diag([left, 1.0])
        D, r = np.diag(G).copy(), c.copy()
        told = kernels.include(G, np.empty((2, 2)), 0, 0, D, r)
        assert told == pytest.approx(gain or -1.0)
        assert kernels.rss(G, c, np.array([0]), 1) == pytest.approx(1.0 - gain)
        S = np.full(2, -1)
        size, found = forward(G, c, 2, S, 0)
        assert size == (2 if gain else 1)
        assert found == pytest.approx(1.0 - 0.01 - gain)
        for always in ([], [1]) if gain else ([],):
            C = np.array([j for j in (1, 0) if j not in always])
            leaf = Leaf(np.array(always, dtype=np.int64), C, np.zeros(len(C)), -9.0)
            best, _ = kernels.enumerate_all(G, c, leaf, len(C), 1.0, S)
            assert best == pytest.approx(1.0 - 0.01 - gain)
