"""The parts of the search for the best subset: nodes, incumbents, splits, and what is put in."""

from __future__ import annotations

import heapq
import itertools
import math
import time

import numpy as np
import pytest

from keyhole.analysis.exact import best_subset as subset
from keyhole.analysis.exact import best_subset as subset_search
from keyhole.analysis.exact import branch_and_bound as search
from keyhole.analysis.exact.best_subset import CountSearch, best_subset
from keyhole.analysis.exact.branch_and_bound import (
    IN,
    OPEN,
    OUT,
    Leaf,
    Node,
    Split,
    States,
    enumerate_all,
    levels,
    split_off,
)
from keyhole.problem import Floats, Indices, ProblemError


def columns(d: int, seed: int, shared: float = 0.7) -> tuple[Floats, Floats]:
    """Unit columns that have something in common, and a unit label."""
    rng = np.random.default_rng([d, seed])
    X = rng.normal(size=(3 * d, d)) + shared * rng.normal(size=(3 * d, 1))
    y = X @ rng.normal(size=d) + rng.normal(size=3 * d)
    return X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y)


def suppressor() -> tuple[Floats, Floats]:
    """y is the difference of columns 4 and 5, each worthless alone: no forward step finds them."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 6))
    y = 0.1 * X[:, 5]
    X[:, 5] = X[:, 4] + y
    X[:, :2] += 8.0 * y[:, None]
    return X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y)


def value(X: Floats, y: Floats, S: list[int]) -> float:
    w = np.linalg.lstsq(X[:, S], y, rcond=1e-9)[0]
    return float(((y - X[:, S] @ w) ** 2).sum())


def truth(X: Floats, y: Floats, k: int, always: tuple[int, ...] = ()) -> float:
    rest = [j for j in range(X.shape[1]) if j not in always]
    sets = itertools.combinations(rest, k - len(always))
    return min(value(X, y, [*always, *S]) for S in sets)


def searching(X: Floats, y: Floats, k: int) -> CountSearch:
    return CountSearch(np.ascontiguousarray(X.T @ X), X.T @ y, k)


def states(*values: int) -> States:
    return np.array(values, dtype=np.int8)


def opened(d: int) -> Node:
    """A node of d features that has everything before it."""
    return Node(states(*[OPEN] * d), states(), np.zeros(d))


def test_children_of_a_node() -> None:
    node = Node(states(0, 1, 0, 2), states(0, 2), np.arange(4.0), (0.5, 0.1), 0.25, 2)
    for side in (IN, OUT):
        child = node.child(side)
        assert child.state.tolist() == [OPEN, IN, side, OUT]
        assert child.q.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert (child.hints, child.bound) == ((0.5, 0.1), 0.25)
        child.q[0], child.paid[0] = 9.0, IN
    assert node.state.tolist() == [OPEN, IN, OPEN, OUT]
    assert node.q[0] == 0.0
    assert node.paid.tolist() == [OPEN, OUT]
    assert node.key(False) == 0.25
    assert node.key(True) == 2.0
    node.branch = 4  # the first item
    child = node.child(IN)
    assert (child.state.tolist(), child.paid.tolist()) == ([OPEN, IN, OPEN, OUT], [IN, OUT])


def test_the_first_model_is_the_better_of_two() -> None:
    X, y = suppressor()
    for start, found in (([], False), ([4, 5], True), ([2, 3], False)):
        tried = searching(X, y, 2)
        tried.first(start)
        assert (sorted(tried.S.tolist()) == [4, 5]) == found
        assert tried.best == pytest.approx(value(X, y, tried.S.tolist()), abs=1e-9)
    nothing = CountSearch(np.eye(4), np.array([0.6, 0.0, 0.5, 0.0]), 4)
    nothing.first([])
    assert nothing.S.tolist() == [0, 2]
    assert nothing.best == pytest.approx(1.0 - 0.36 - 0.25)


@pytest.mark.parametrize("always", [(), (3,), (1, 6)])
def test_a_node_is_enumerated_when_it_is_small_enough(
    always: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = columns(8, 1)
    size = math.comb(8 - len(always), 3 - len(always))
    for leaf, small in ((size, True), (size - 1, False)):
        monkeypatch.setattr(subset_search, "MAX_ENUMERATED", leaf)
        for finish in (True, False):
            tried = searching(X, y, 3)
            node = opened(8)
            node.bound = 0.01
            node.state[list(always)] = IN
            bound = tried.settle(node, finish=finish)
            if small and finish:
                assert bound == node.bound == math.inf
                assert tried.best <= truth(X, y, 3, always) + 1e-9  # swaps may leave the node
                assert value(X, y, tried.S.tolist()) == pytest.approx(tried.best)
                assert 2 <= tried.nodes <= 1 + sum(math.comb(8, n) for n in range(4))
            else:
                assert bound == node.bound == 0.01  # there is no split, so nothing is known
                assert tried.nodes == 1
                assert tried.best == pytest.approx(value(X, y, tried.S.tolist()))
            assert node.branch >= 0
            assert node.state[node.branch] == OPEN


def test_incumbents_are_written_in_the_numbers_of_all_columns() -> None:
    X, y = columns(9, 2)
    tried = searching(X, y, 2)
    live = np.array([False, True, True, False, True, True, False, True, True])
    before = tried.split.R.copy()
    tried.top.q[:], tried.split.e[:] = np.arange(9.0), np.arange(9.0)
    tried.keep(live)
    alive = np.flatnonzero(live)
    assert tried.alive.tolist() == alive.tolist()
    np.testing.assert_array_equal(tried.G, (X.T @ X)[np.ix_(alive, alive)])
    np.testing.assert_array_equal(tried.split.R, before[np.ix_(alive, alive)])
    np.testing.assert_array_equal(tried.c, (X.T @ y)[alive])
    assert tried.split.e.tolist() == tried.top.q.tolist() == alive.tolist()
    tried.split.e[:] = 0.0
    tried.keep(np.array([True, True, True, True, True, False]))
    assert tried.alive.tolist() == alive[:5].tolist()
    assert len(tried.top.state) == 5
    tried.settle(tried.top, finish=True)
    best = min(itertools.combinations(alive[:5].tolist(), 2), key=lambda S: value(X, y, list(S)))
    assert sorted(tried.S.tolist()) == list(best)


def test_without_a_split_the_root_knows_what_all_columns_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "split_off", lambda *_: None)
    X, y = columns(6, 3)
    X[:, 5] = (X[:, 0] + X[:, 1]) / np.linalg.norm(X[:, 0] + X[:, 1])
    tried = searching(X, y, 3)
    tried.first([])
    assert not tried.root(math.inf)
    assert tried.lower == pytest.approx(value(X, y, list(range(6))))
    every = searching(X[:, :5], y, 5)
    every.first([])
    assert every.root(math.inf)  # the model has all there is to have


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 3])
def test_the_root_loses_no_better_subset(seed: int, k: int) -> None:
    X, y = columns(9, seed)
    tried = searching(X, y, k)
    tried.first([])
    best = truth(X, y, k)
    solved = tried.root(math.inf)
    assert tried.best >= best - 1e-9
    if solved:
        assert tried.best == pytest.approx(best)
        return
    assert tried.lower <= best + 1e-9
    if tried.best > best + 1e-9:
        S = min(itertools.combinations(range(9), k), key=lambda S: value(X, y, list(S)))
        assert set(S) <= set(tried.alive.tolist())
    stopped = searching(X, y, k)
    stopped.first([])
    clock = time.monotonic()
    stopped.root(clock - 1.0)
    assert stopped.lower <= tried.lower + 1e-9  # one turn bounds no better than all of them
    assert tried.run(math.inf)
    assert tried.lower == tried.best == pytest.approx(best)


def test_more_turns_at_the_root_raise_the_bound() -> None:
    raised = 0
    for seed in range(8):
        X, y = columns(12, seed)
        turns = []
        for deadline in (-1.0, math.inf):
            tried = searching(X, y, 3)
            tried.first([])
            tried.root(deadline)
            turns.append(tried.lower)
        assert turns[1] >= turns[0]
        raised += turns[1] > turns[0] + 1e-6
    assert raised >= 4


def test_the_heap_stops_growing_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep first, a node leaves at most one sibling behind at each of its levels."""
    X, y = columns(12, 0, 4.0)
    monkeypatch.setattr(subset_search, "MAX_ENUMERATED", 1.0)
    lengths = list[int]()
    push = heapq.heappush

    def recorded(heap: list[tuple[float, int, Node]], item: tuple[float, int, Node]) -> None:
        push(heap, item)
        lengths.append(len(heap))

    monkeypatch.setattr(heapq, "heappush", recorded)
    longest = []
    for room in (1e9, 4.0 * (9 * 12 + 500)):
        monkeypatch.setattr(search, "MAX_HEAP_BYTES", room)
        monkeypatch.setattr(search, "split_off", lambda *_: None)  # so that there is a lot to do
        tried = searching(X, y, 4)
        tried.first([])
        lengths.clear()
        assert tried.root(math.inf) or tried.run(math.inf)
        assert tried.best == pytest.approx(truth(X, y, 4))
        longest.append(max(lengths))
    assert longest[1] <= 4 + 12 + 1
    assert longest[0] > 2 * longest[1]


def test_the_gains_of_a_split() -> None:
    """q_j^2 (1/z_j - 1) where z is the relaxation's; the better of two splits is kept."""
    X, y = columns(8, 4)
    tried = searching(X, y, 3)
    tried.first([])
    tried.best = 0.99  # so that neither settles anything
    values, vectors = np.linalg.eigh(tried.G)
    good = split_off(values, vectors, 3, 0.0, None)
    assert good is not None
    bound, gain = tried.resplit(*good)
    top = tried.top
    assert bound == top.bound > 0.0
    z = np.minimum(1.0, np.abs(top.q) * np.sqrt(good[1] / top.hints[0]))
    some = z > 0.0
    expected = top.q[some] ** 2 * (1.0 / z[some] - 1.0)
    np.testing.assert_allclose(gain[some], expected, atol=1e-15)
    assert (gain[~some] == 0.0).all()
    assert (gain > 0.0).any()
    poor = good[0] + np.diag(0.9 * good[1]), 0.1 * good[1]
    lower, _ = tried.resplit(*poor)
    assert lower < bound
    assert tried.top is top
    np.testing.assert_array_equal(tried.split.e, good[1])
    np.testing.assert_array_equal(tried.split.R, good[0])


def test_a_small_node_is_enumerated_in_the_order_its_bounds_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What candidates may bring falls, and bounds every subset of the node."""
    leaves = list[Leaf]()

    def recorded(
        G: Floats, c: Floats, leaf: Leaf, r: int, best: float, S: Indices
    ) -> tuple[float, int]:
        leaves.append(leaf)
        return enumerate_all(G, c, leaf, r, best, S)

    monkeypatch.setattr(subset_search, "enumerate_all", recorded)
    for seed in range(6):
        X, y = columns(8, seed)
        tried = searching(X, y, 3)
        split = split_off(*np.linalg.eigh(tried.G), 3, 0.0, None)
        assert split is not None
        tried.split = Split(*split, tried.c)
        leaves.clear()
        node = opened(8)
        node.state[seed] = IN
        tried.best = 0.9999
        tried.settle(node, finish=True)
        for leaf in leaves:
            assert (np.diff(leaf.v) <= 0.0).all()
            I, C = leaf.I.tolist(), leaf.C.tolist()  # noqa: E741
            for places in itertools.combinations(range(len(C)), 3 - len(I)):
                bound = leaf.slack - leaf.v[list(places)].sum()
                assert value(X, y, [*I, *(C[p] for p in places)]) >= bound - 1e-9
        assert leaves or node.bound == math.inf
    tried = searching(X, y, 3)
    tried.settle(opened(8), finish=True)
    strong = np.abs(X.T @ y)[leaves[-1].C]  # without a split: the strongest columns first
    assert (np.diff(strong) <= 0.0).all()


def test_levels_worth_trying() -> None:
    def thetas(values: list[float], k: int) -> list[float]:
        return levels(np.array(values), k)

    assert thetas([0.1, 0.5, 1.0, 2.4], 2) == [0.0]  # no direction is missing
    assert thetas([0.0, 1e-7, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 1) == [0.3, 0.5]
    assert thetas([0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 2) == [0.2, 0.3]
    assert thetas([0.0, 0.2, 0.3, 0.4], 2) == [0.2]  # both are the same
    assert thetas([0.0, 0.0, 0.0, 0.0], 1) == [0.0]  # there is no third one


@pytest.mark.parametrize("theta", [0.0, 0.05, 0.2])
def test_an_even_split_by_its_formula(theta: float) -> None:
    X, _ = columns(7, 5, 0.2)
    values, vectors = np.linalg.eigh(X.T @ X)
    values[0] = 0.03  # one direction is nearly missing
    G, k = (vectors * values) @ vectors.T, 2
    lift = sum(max(theta - v, 0.0) * np.outer(u, u) for v, u in zip(values, vectors.T, strict=True))
    delta = max(values[0], theta) - 1e-12
    split = split_off(values, vectors, k, theta, None)
    e = delta - k * np.diag(lift) if theta else np.full(7, delta)
    if e.min() <= 1e-9:
        assert split is None
        return
    assert split is not None
    np.testing.assert_allclose(split[1], e, atol=1e-14)
    np.testing.assert_allclose(split[0], G + lift - delta * np.eye(7), atol=1e-12)


def test_a_split_without_anything_to_share_out_is_none() -> None:
    values, vectors = np.array([0.0, 1.0, 2.0]), np.eye(3)
    assert split_off(values, vectors, 2, 0.0, None) is None
    assert split_off(values, vectors, 2, 1.0, None) is None  # the lift takes twice what it gives
    assert split_off(values, vectors, 1, 1.0, None) is None  # as much as it gives
    assert split_off(values + 1e-6, vectors, 2, 0.0, None) is not None


@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_split_puts_its_diagonal_where_the_weight_is(seed: int) -> None:
    X, _ = columns(9, seed)
    values, vectors = np.linalg.eigh(X.T @ X)
    weight = np.random.default_rng(seed).uniform(0.05, 1.0, 9) ** 2
    even = split_off(values, vectors, 3, 0.0, None)
    uneven = split_off(values, vectors, 3, 0.0, weight)
    assert even is not None
    assert uneven is not None
    R, e = uneven
    np.testing.assert_allclose(R + np.diag(e), X.T @ X, atol=1e-9)
    assert np.linalg.eigvalsh(R)[0] == pytest.approx(0.0, abs=1e-11)
    assert e.min() >= 0.4 * values[0]  # nobody gives up more than half of an even share
    assert weight @ e > 1.1 * (weight @ even[1])


# --- What best_subset takes and gives


def test_the_interval_comes_back_in_the_units_of_the_label() -> None:
    X, y = columns(14, 6, 3.0)
    G, c = 9.0 * X.T @ X, 3.0 * 7.0 * X.T @ y
    done = best_subset(G, c, 49.0, 4)
    assert done.exact
    assert done.rss == pytest.approx(49.0 * truth(X, y, 4))
    np.testing.assert_allclose(
        G[np.ix_(done.support, done.support)] @ done.weights, c[done.support]
    )
    stopped = best_subset(G, c, 49.0, 4, seconds=0.0)
    tried = searching(X, y, 4)
    tried.first([])
    if not tried.root(0.0):
        tried.run(0.0)
        assert stopped.lower == pytest.approx(49.0 * tried.lower)
        assert "relaxation bound below" in stopped.how


def test_a_stopped_search_without_a_split_says_what_its_bound_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "split_off", lambda *_: None)
    X, y = columns(10, 7)
    found = best_subset(X.T @ X, X.T @ y, 1.0, 4, seconds=0.0)
    assert not found.exact
    assert "the rss of all columns below" in found.how
    assert "stopped after 0 s" in found.how
    assert found.lower == pytest.approx(value(X, y, list(range(10))))


def test_starts_of_at_most_k_features() -> None:
    assert subset._support(None, 5, 2) == []
    assert subset._support([], 5, 2) == []
    assert subset._support([4, 0], 5, 2) == [4, 0]
    for wrong in ([5], [1, 1], [0, 1, 2]):
        with pytest.raises(
            ProblemError, match="start must be at most 2 different features below 5"
        ):
            subset._support(wrong, 5, 2)
    with pytest.raises(ProblemError, match="start must be"):
        subset._support([-1], 5, 2)


def test_copies_are_left_out_and_near_copies_are_not() -> None:
    X, y = columns(6, 8)
    X[:, 3], X[:, 5] = -X[:, 1], 0.0
    near = X[:, 0] + 1e-5 * X[:, 2]
    X[:, 4] = near / np.linalg.norm(near)
    A, b = X.T @ X, X.T @ y
    assert subset._distinct(A, b).tolist() == [0, 1, 2, 4]
    assert subset._same(A, b, 1, 3)
    assert not subset._same(A, b, 0, 4)
    other = b.copy()
    other[3] += 1e-6  # the same column with another product: they cannot both be right
    assert not subset._same(A, other, 1, 3)
    assert subset._distinct(A, other).tolist() == [0, 1, 2, 3, 4]


def test_gram_matrices_are_symmetric_up_to_rounding() -> None:
    G = np.array([[4.0, 1.0], [1.0, 9.0]])
    for off, fine in ((5e-8, True), (7e-8, False)):  # 1e-8 of sqrt(4 * 9)
        skew = G + np.array([[0.0, off], [0.0, 0.0]])
        if not fine:
            with pytest.raises(ProblemError, match="symmetric"):
                subset._checked(skew, np.ones(2), 1.0, 1)
            continue
        half, _, _, k = subset._checked(skew, np.ones(2), 1.0, 1)
        assert half[0, 1] == half[1, 0] == pytest.approx(1.0 + off / 2, abs=1e-12)
        assert k == 1
    with pytest.raises(ProblemError, match="must be numbers"):
        best_subset([["a"]], [1.0], 1.0, 1)
    with pytest.raises(ProblemError, match="square"):
        best_subset(np.zeros((0, 0)), [], 1.0, 1)
    with pytest.raises(ProblemError, match="square"):
        best_subset(np.zeros(3), np.zeros(3), 1.0, 1)
