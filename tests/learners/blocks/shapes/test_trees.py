"""A tree against one fitted slowly, and the sum of trees against walking them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from keyhole.learners.blocks.draw.philox import words
from keyhole.learners.blocks.shapes.seats import Seated, code, empty_seats, make_cuts
from keyhole.learners.blocks.shapes.trees import (
    NOTHING,
    PREDICTION,
    Forest,
    empty_forest,
    find_nodes,
    fit_tree,
    sum_trees,
)
from keyhole.problem import Floats, Indices

WHO = (4, 9, 2)  # features in the seats; the last input is the prediction
SEED = np.uint64(5)


def rows(n: int = 300) -> tuple[Floats, Floats]:
    """Values of features 4, 9, 2 and the prediction; what is missed: a product and a step."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((n, 4))
    X[rng.random(n) < 0.3, 1] = np.nan
    missed = 2.0 * (X[:, 0] > 0.3) * (X[:, 2] > 0.0) + np.isnan(X[:, 1]) + 0.5 * (X[:, 3] > 1.0)
    return X, missed + 0.1 * rng.standard_normal(n)


def seated(X: Floats) -> Seated:
    seats = empty_seats(len(X), len(WHO), 1)
    seats.who[:] = WHO
    for a in range(4):
        column = X[:, a][~np.isnan(X[:, a])]
        seats.many[a] = make_cuts(np.sort(column)[:256], seats.cuts[a])
        codes = [code(seats.cuts[a], int(seats.many[a]), value) for value in X[:, a].tolist()]
        seats.codes[:, a] = codes
    return seats


def walk(forest: Forest, m: int, value: Callable[[int], float]) -> int:
    k, inner = 0, int(forest.features.shape[1])
    while k < inner:
        j = int(forest.features[m, k])
        x = np.nan if j == NOTHING else value(j)
        left = forest.absent_left[m, k] if np.isnan(x) else x <= forest.thresholds[m, k]
        k = 2 * k + (1 if left else 2)
    return k - inner


def by_walking(forest: Forest, x: Floats) -> tuple[float, list[int]]:
    place = {j: a for a, j in enumerate(WHO)} | {PREDICTION: 3}
    leaf = [walk(forest, m, lambda j: float(x[place[j]])) for m in range(len(forest.leaves))]
    return sum(float(forest.leaves[m, q]) for m, q in enumerate(leaf)), leaf


def fitted(many: int, depth: int = 3, trees: int = 5) -> tuple[Forest, Floats, Floats]:
    X, missed = rows()
    forest, seats = empty_forest(trees, depth, len(X)), seated(X)
    for _ in range(many):
        fit_tree(forest, seats, np.arange(len(X)), missed, SEED)
    return forest, X, missed


@pytest.mark.parametrize("many", [1, 4, 5, 12])
def test_the_fit_of_every_row_is_the_sum_of_the_trees(many: int) -> None:
    """Through old trees that are taken out: what each row is given is what the trees say."""
    forest, X, missed = fitted(many)
    assert forest.fitted[0] == many
    S, leaf = np.array(sorted(WHO)), np.empty(5, dtype=np.int8)
    order = [WHO.index(j) for j in S.tolist()]
    places = np.empty(forest.features.size, dtype=np.int64)
    find_nodes(forest, S, places)
    for i in range(len(X)):
        total, leaves = by_walking(forest, X[i])
        assert forest.fit[i] == pytest.approx(total, abs=1e-12)
        assert forest.places[: min(many, 5), i].tolist() == leaves[: min(many, 5)]
        row = np.array([*X[i, order], X[i, 3], np.nan])
        assert sum_trees(forest, places, row, leaf) == pytest.approx(total, abs=1e-12)
        assert leaf.tolist() == leaves  # of trees that are not fitted: 0
    assert np.square(missed - forest.fit).mean() < np.square(missed).mean()


def test_what_a_row_lacks_is_absent() -> None:
    """A row in which features 4 and 2 were not read: nodes that look at them take their side."""
    forest, X, _ = fitted(9)
    places = np.empty(forest.features.size, dtype=np.int64)
    find_nodes(forest, np.array([9]), places)
    leaf = np.empty(5, dtype=np.int8)
    for i in range(20):
        total, leaves = by_walking(forest, np.array([np.nan, X[i, 1], np.nan, X[i, 3]]))
        row = np.array([X[i, 1], X[i, 3], np.nan])
        assert sum_trees(forest, places, row, leaf) == pytest.approx(total, abs=1e-12)
        assert leaf.tolist() == leaves


def best_stump(X: Floats, r: Floats, seats: Seated, a: int) -> float:
    """The largest gain of a cut of one input, all rows at once."""
    best = 0.0
    absent = np.isnan(X[:, a])
    for cut in seats.cuts[a, : seats.many[a]].tolist():
        for side in (absent, np.zeros_like(absent)):
            with np.errstate(invalid="ignore"):
                left = (X[:, a] <= cut) | side
            sums, counts = [r[left].sum(), r[~left].sum()], [left.sum(), (~left).sum()]
            if min(counts) >= 5:
                parts = [G * G / (n + 10.0) for G, n in zip(sums, counts, strict=True)]
                best = max(best, sum(parts) - r.sum() ** 2 / (len(r) + 10.0))
    return best


def test_a_stump_is_the_best_of_all_cuts() -> None:
    """Drawn rows and inputs are not known here: they are those that explain what was found."""
    X, missed = rows()
    seats = seated(X)
    forest = empty_forest(1, 1, len(X))
    fit_tree(forest, seats, np.arange(len(X)), missed, SEED)
    drawn: Indices = np.flatnonzero(
        [int(words(SEED, 0, 2**20 + 16, i // 4)[i % 4]) < 3006477107 for i in range(len(X))]
    )
    assert 0.6 < len(drawn) / len(X) < 0.8
    some, r = X[drawn], missed[drawn]
    a = (*WHO, PREDICTION).index(int(forest.features[0, 0]))
    gains = [best_stump(some, r, seats, each) for each in range(4)]
    assert sum(gain > gains[a] for gain in gains) <= 1  # one of four inputs was not drawn
    with np.errstate(invalid="ignore"):
        left = some[:, a] <= forest.thresholds[0, 0]
    left |= np.isnan(some[:, a]) & forest.absent_left[0, 0]
    for side, leaf in zip((left, ~left), forest.leaves[0].tolist(), strict=True):
        assert leaf == pytest.approx(0.2 * r[side].sum() / (side.sum() + 10.0))
    whole = r.sum() ** 2 / (len(r) + 10.0)
    found = [r[side].sum() ** 2 / (side.sum() + 10.0) for side in (left, ~left)]
    assert sum(found) - whole == pytest.approx(gains[a])


def test_without_cuts_or_rows_a_tree_is_one_leaf() -> None:
    forest, seats = empty_forest(2, 2, 30), empty_seats(30, 3, 1)
    fit_tree(forest, seats, np.arange(30), np.ones(30), SEED)
    assert (forest.features[0] == NOTHING).all()
    assert not forest.places.any()
    assert forest.leaves[0, 0] == forest.fit[0] > 0.0
    few = empty_forest(1, 2, 30)
    fit_tree(few, seated(rows(30)[0]), np.arange(6), np.arange(6.0), SEED)  # 5 rows a side
    assert (few.features == NOTHING).all()


def test_labels_that_leave_no_room_are_no_leaf() -> None:
    X, missed = rows()
    forest = empty_forest(1, 2, len(X))
    fit_tree(forest, seated(X), np.arange(len(X)), missed * 1e307, SEED)
    assert np.isfinite(forest.leaves).all()
    assert np.isfinite(forest.fit).all()
