"""AutoLearner.curves(): known functions lie in their bands, and straight ones have none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.curves import Curves
from keyhole.problem import Floats
from keyhole.saving.api import to_bytes

GAMES = 6


def three(x: Floats) -> Floats:
    return x + np.abs(x)


def seven(x: Floats) -> Floats:
    return np.sin(2.0 * x)


KNOWN: dict[str, Callable[[Floats], Floats]] = {"x3": three, "x7": seven}


def found(seed: int) -> tuple[Curves, Floats, kh.AutoLearner]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, 12))
    y = three(X[:, 3]) + seven(X[:, 7]) + 0.5 * rng.standard_normal(4000)
    learner = kh.AutoLearner(kh.Problem(12, 3, 6), seed=seed)
    learner.advance(X, y)
    curves = learner.curves()
    assert curves is not None
    return curves, X, learner


def test_known_curves_lie_in_their_bands() -> None:
    """At one mark of twenty they may not, and three standard errors of that more.

    The twin is the straight line that is nearest to the curve.
    """
    marks = misses = twin = 0
    for seed in range(GAMES):
        curves, X, _ = found(seed)
        assert KNOWN.keys() <= {curve.name for curve in curves.features}
        for curve in curves.features:
            if curve.name not in KNOWN:
                continue
            true, j = KNOWN[curve.name], int(curve.name[1:])
            expected = true(curve.at) - true(X[-1024:, j]).mean()
            line = np.polyval(np.polyfit(curve.at, expected, 1), curve.at)
            marks += len(curve.at)
            misses += int(((expected < curve.low) | (expected > curve.high)).sum())
            twin += int(((line < curve.low) | (line > curve.high)).sum())
    allowed = 0.05 * marks + 3.0 * math.sqrt(0.05 * 0.95 * marks)
    assert marks == GAMES * 30
    assert misses <= allowed < twin


def test_marks_are_bought_values_in_order() -> None:
    curves, X, _ = found(0)
    for curve in curves.features:
        column = X[:, int(curve.name[1:])]
        assert (np.diff(curve.at) > 0).all()
        assert np.isin(curve.at, column).all()
    ranges = [float(np.ptp(curve.adds)) for curve in curves.features]
    assert ranges == sorted(ranges, reverse=True)


def test_the_strongest_interaction() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 12))
    learner = kh.AutoLearner(kh.Problem(12, 3, 6), seed=0)
    learner.advance(X, X[:, 3] + X[:, 7] + X[:, 9] + X[:, 3] * X[:, 7])
    curves = learner.curves()
    assert curves is not None
    first = curves.pairs[0]
    assert {first.name, first.other} == {"x3", "x7"}
    # x z has standard deviation 1; by 32 rows, and as far as trees have found it.
    assert 0.4 < first.strength < 1.6
    low, high = first.adds
    slopes = [float(np.polyfit(first.at, adds, 1)[0]) for adds in (low, high)]
    assert slopes[0] < 0.3 < 1.2 < slopes[1]  # 1 - 1.28 and 1 + 1.28


def test_nothing_is_said_where_all_is_straight() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 12))
    y = X[:, 3] + rng.standard_normal(2000)
    learner = kh.AutoLearner(kh.Problem(12, 3, 6), seed=0)
    fresh = learner.curves()
    learner.advance(X, y)
    for curves in (fresh, learner.curves()):
        assert curves is not None
        assert curves.features == ()
        assert curves.pairs == ()
    plain = kh.AutoLearner(kh.Problem(12, 3, 6), seed=0, shapes=False)
    assert plain.curves() is None


def test_nothing_changes_by_asking() -> None:
    curves, _, learner = found(0)
    before = to_bytes(learner)
    again = learner.curves()
    assert to_bytes(learner) == before
    assert again is not None
    for one, two in zip(curves.features, again.features, strict=True):
        assert np.array_equal(one.adds, two.adds)
    assert repr(curves).startswith("<Curves of x")


def test_of_yes_or_no() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 12))
    learner = kh.YesNoLearner(kh.AutoLearner(kh.Problem(12, 3, 6), seed=0))
    learner.advance(X, (np.abs(X[:, 3]) + 0.2 * X[:, 3] > 0.7).astype(float))
    curves = learner.curves()
    assert curves.features[0].name == "x3"
    with pytest.raises(AttributeError):
        kh.YesNoLearner(kh.OnlineGreedyLearner(kh.Problem(12, 3, 6), seed=0)).curves  # noqa: B018
