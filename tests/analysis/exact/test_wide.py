"""Best subsets of many columns: the bound by correlations, and a search that keeps to its time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keyhole.analysis.exact import best_subset as subset_search
from keyhole.analysis.exact import branch_and_bound, outside
from keyhole.analysis.exact.best_subset import CountSearch, best_subset, scaled
from keyhole.analysis.exact.branch_and_bound import rss
from keyhole.problem import Floats


def moments(X: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    return X.T @ X, X.T @ y, float(y @ y)


def planted(n: int, d: int, signal: float = 1.0, seed: int = 0) -> tuple[Floats, Floats]:
    """Labels of unit noise that follow the last three of d columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, d))
    return X, signal * X[:, -3:] @ np.array([2.0, -1.5, 1.0]) + rng.normal(size=n)


def test_fewer_rows_than_features_are_certified_without_a_search() -> None:
    """No relaxation helps: all columns together explain everything."""
    X, y = planted(250, 1100, signal=2.0)
    found = best_subset(*moments(X, y), 3, seconds=0.0)
    assert (found.exact, found.nodes, found.support.tolist()) == (True, 0, [1097, 1098, 1099])
    residual = y - X[:, -3:] @ np.linalg.lstsq(X[:, -3:], y)[0]
    assert found.rss == pytest.approx(residual @ residual)


def wrong(seed: int) -> bool:
    """Whether a bound by correlations is above the best of all subsets, found by trying them."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(6, 30)), 7, int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) + rng.uniform(0.0, 1.0) * rng.normal(size=(n, 1))
    y = X[:, :3] @ rng.normal(0.0, 2.0, 3) + rng.normal(size=n)
    X[:, 6] = X[:, 5] + rng.choice([0.0, 0.3]) * y  # a copy, or two columns that leave y
    A, b, _, k = scaled(*moments(X, y), k)
    search = CountSearch(A, b, k)
    search.S = np.sort(rng.permutation(len(b))[:k])  # any will do
    search.best = rss(A, b, search.S, k)
    search.certify()
    best = min(
        1.0 - float(b[[*S]] @ np.linalg.lstsq(A[np.ix_(S, S)], b[[*S]], rcond=1e-10)[0])
        for S in itertools.combinations(range(len(b)), k)
    )
    return search.lower > best + 1e-9


SEEDS = range(300)


def test_the_bound_by_correlations_holds_beside_any_subset() -> None:
    assert not any(map(wrong, SEEDS))


def uncorrelated(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """Broken: columns outside are taken for uncorrelated."""
    return minimum(s2, H, T, 1.0)


def without_reach(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """Broken: columns outside cannot stand in for those of the subset."""
    return minimum(s2, 0.0 * np.where(np.isinf(H), 0.0, H), T, left)


minimum = outside.minimum


@pytest.mark.parametrize("broken", [uncorrelated, without_reach])
def test_a_broken_bound_is_caught(
    broken: Callable[..., Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "minimum", broken)
    assert any(map(wrong, SEEDS))


class Clock:
    """Time that passes as columns are worked on: m^3 for eigenvalues, m^2 for a step of a sweep."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.eigen, self.steps = 0.0, np.linalg.eigh, branch_and_bound._spread
        patch.setattr(time, "monotonic", self.look)
        patch.setattr(np.linalg, "eigh", self.eigenvalues)
        patch.setattr(branch_and_bound, "_spread", self.sweep)

    def look(self) -> float:
        self.now += 5e-3
        return self.now

    def eigenvalues(self, G: Floats) -> object:
        self.now += 1e-3 * len(G) ** 3 / 60.0**3
        return self.eigen(G)

    def sweep(self, P: Floats, *given: Any) -> None:
        first, end = given[-2:]
        self.now += (end - first) * 1e-3 * len(P) ** 2 / 60.0**3
        self.steps(P, *given)


@pytest.mark.parametrize("rows", [40, 400])
@pytest.mark.parametrize("seconds", [0.0, 0.1, 1.0, 2.0, 10.0])
def test_a_search_keeps_to_its_time(
    rows: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eigenvalues take .001, sweeps .007 times (m / 60)^3: m = 600 takes 1 and 7 seconds."""
    X, y = planted(rows, 600, signal=0.05)
    clock = Clock(monkeypatch)
    monkeypatch.setattr(subset_search, "MAX_ENUMERATED", 1.0)
    monkeypatch.setattr(subset_search, "FEW", 400)
    monkeypatch.setattr(branch_and_bound, "FEW", 400)
    found = best_subset(*moments(X, y), 8, seconds=seconds)
    assert clock.now <= 1.2 * seconds + 0.05
    assert 0.0 <= found.lower <= found.rss
