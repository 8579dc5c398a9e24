"""Means over seeds, with errors that are more than rounding."""

import math

import numpy as np
import pytest

from keyhole.analysis.hindsight import hindsight
from keyhole.cli.game_scores import mean_error, plus_minus, scores
from keyhole.cli.games import BaselineLoss, GameResult, Yardsticks
from keyhole.problem import Interval
from keyhole.streams import ArrayStream


def test_mean_and_standard_error() -> None:
    assert mean_error([1.0, 2.0, 6.0]) == pytest.approx({"mean": 3, "error": math.sqrt(7 / 3)})
    assert mean_error([5.0])["mean"] == 5
    assert math.isnan(mean_error([5.0])["error"])
    assert math.isnan(mean_error([])["mean"])


def test_errors_of_rounding_are_none() -> None:
    # The mean of three equal numbers is not always that number: the standard error would be 6e-16.
    same = [6.567084576266534] * 3
    assert np.std([*same[:2], np.nextafter(same[0], 7)]) > 0
    found = mean_error([*same[:2], float(np.nextafter(same[0], 7))])
    assert found["error"] == 0
    assert plus_minus(**found) == "6.567"
    # Just above rounding it counts.
    assert mean_error([1.0, 1.0 + 1e-11])["error"] > 0


def test_rounding_is_that_of_the_losses_a_regret_is_the_difference_of() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    best = hindsight(ArrayStream(X, X[:, 0] + 5), 1, intercept=True)
    by = Yardsticks(best, best, BaselineLoss(best.empty_loss), BaselineLoss(1.0))
    losses = 1e6, 1e6 * (1 + 3e-16)
    games = [
        GameResult("auto", 2, seed, loss, 2.0, Interval(r, r, ""), 0.0)
        for seed, loss, r in zip((0, 1), losses, (1e-3, 1e-3 + 2e-10), strict=True)
    ]
    found = scores(games, by)
    assert [found[key]["error"] for key in ("mean_loss", "r2", "regret", "normalised_regret")] == [
        0,
        0,
        0,
        0,
    ]
    assert found["regret"]["mean"] == pytest.approx(1e-3)


def test_digits_that_count() -> None:
    assert plus_minus(12.3456, 0.0214) == "12.346 ± 0.021"
    assert plus_minus(1234.5, 321.0) == "1,230 ± 320"
    assert plus_minus(0.5, math.inf) == "0.5"
    assert plus_minus(math.nan, math.nan) == "-"
