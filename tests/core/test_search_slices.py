"""Searches in slices: however short these are, the same is found; and deadlines are kept."""

from __future__ import annotations

import _thread
import itertools
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from keyhole.analysis.exact import branch_and_bound as splits
from keyhole.analysis.exact.best_subset import CostTerms, best_for_money, best_subset
from keyhole.analysis.exact.branch_and_bound import Leaf, enumerate_all, swaps
from keyhole.analysis.exact.sparse_eigenvalues import all_definite, sparse_spectrum
from keyhole.analysis.exact.subset_paths import priced_path, subset_path
from keyhole.analysis.exact.supermodular import smallest_alpha
from keyhole.core import functions as slices
from keyhole.problem import Floats
from tests.helpers.priced_models import shop


def data(d: int = 14) -> tuple[Floats, Floats, float]:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(40, d)) + 1.5 * rng.normal(size=(40, 1))
    y = X @ rng.normal(size=d) + 3.0 * rng.normal(size=40)
    return X.T @ X, X.T @ y, float(y @ y)


def everything() -> Iterator[Any]:
    """What the searches find, as numbers and lists."""
    G, c, yy = data()
    for k in (3, 6):
        yield astuple(best_subset(G, c, yy, k, seconds=60.0))
    yield subset_path(G, c, yy, 8)
    for seed in (1, 3, 5):
        case = shop(seed, 9)
        everywhere = sum(case.prices.units)
        for terms in (
            CostTerms(case.prices, everywhere // 2),
            CostTerms(case.prices, None, 4, 0.5),
        ):
            yield astuple(best_for_money(*case.moments, terms, seconds=60.0))
        yield priced_path(*case.moments, case.prices, [2, 5, 9], 9, 30)
    spectrum = sparse_spectrum(G / 40, 4, seconds=0.1)
    yield spectrum.low, spectrum.high, spectrum.low_support, spectrum.high_support
    yield smallest_alpha(G, c, yy, 5, seconds=0.1)


def slower(monkeypatch: pytest.MonkeyPatch, effort: int) -> None:
    for module in (slices, splits):
        monkeypatch.setattr(module, "ADDITIONS_PER_SLICE", effort)


@pytest.mark.parametrize("effort", [1, 300, 20_000])
def test_the_length_of_slices_changes_nothing(effort: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(everything())
    slower(monkeypatch, effort)
    for found, told in zip(everything(), expected, strict=True):
        assert repr(found) == repr(told)


def test_every_search_is_left_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    A, b = data()[0] / 1000.0, data()[1] / 1000.0
    calls = []

    def no_time(search: Any, *given: Any, until: float = math.inf) -> Any:
        calls.append(search.__name__)
        with pytest.raises(slices.OutOfTime):
            slices.to_the_end(search, *given, until=-math.inf)
        return slices.to_the_end(search, *given, until=until)

    slower(monkeypatch, 1)
    M = 1.02 * sparse_spectrum(A, 4).high.high * np.eye(14) - A
    leaf = Leaf(np.array([0]), np.arange(1, 9), np.zeros(8), -9.0)
    for module, go in (
        ("branch_and_bound", lambda: swaps(A, b, 5, np.full(5, -1), 0)),
        ("branch_and_bound", lambda: enumerate_all(A, b, leaf, 3, 9.0, np.full(4, -1))),
        ("sparse_eigenvalues", lambda: all_definite(M, 4, math.inf, np.empty(4, dtype=np.int64))),
    ):
        monkeypatch.setattr(f"keyhole.analysis.exact.{module}.to_the_end", no_time)
        go()
    assert calls == ["_swaps", "_enumerate", "_all_definite"]


@pytest.mark.parametrize("priced", [False, True])
def test_a_search_that_is_left_within_a_node_knows_what_it_knew(
    priced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that moves at every look: with short slices, most looks are within a node."""
    case = shop(7, 10)
    G, c, yy = case.moments
    terms = CostTerms(case.prices, sum(case.prices.units) // 3)
    monkeypatch.setattr("keyhole.analysis.exact.best_subset.MAX_ENUMERATED", 1.0)

    def best(seconds: float) -> tuple[float, float, bool]:
        if priced:
            found = best_for_money(G, c, yy, terms, seconds=seconds)
            return found.lower, found.value, found.exact
        subset = best_subset(G, c, yy, 4, seconds=seconds)
        return subset.lower, subset.rss, subset.exact

    truth = best(60.0)[1]
    slower(monkeypatch, 1)
    widths, exact = [], []
    for looks in (0, 1, 2, 3, 5, 8, 13, 21, 34, 100_000):
        clock = itertools.count()
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda clock=clock: float(next(clock)))
            low, high, done = best(float(looks))
        assert low - 1e-9 * yy <= truth <= high + 1e-9 * yy
        widths.append(high - low)
        exact.append(done)
    assert exact[-1]
    assert not exact[0]
    assert (np.diff(widths) <= 1e-9 * yy).all()


def test_a_search_can_be_interrupted() -> None:
    """What would take a minute ends with Ctrl-C, between two slices."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 200)) + rng.normal(size=(400, 1))
    y = X[:, :20].sum(axis=1) + 9.0 * rng.normal(size=400)
    began = time.monotonic()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        best_subset(X.T @ X, X.T @ y, float(y @ y), 15, seconds=60.0)
    timer.join()
    assert time.monotonic() - began < 30.0
