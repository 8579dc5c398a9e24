"""Streams whose weights change: the paths are what they say, and labels follow them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from keyhole.problem import ProblemError
from keyhole.streams.arrays import collect
from keyhole.streams.drift import drifting, leaders, sign_flips, switching
from keyhole.streams.simulate import Simulated, Truth

LOG = math.log(2 / 1e-6)  # every statistical check: false alarm at most 1e-6 over its seed

QUIET: dict[str, Callable[[], Simulated]] = {
    "switching": lambda: switching(40, 4, 3000, mean_length=90, noise_sd=0.0, seed=1),
    "drifting": lambda: drifting(12, 3000, periods=(400, 900), noise_sd=0.0, seed=1),
    "sign_flips": lambda: sign_flips(12, 3000, period=70, noise_sd=0.0, seed=1),
    "leaders": lambda: leaders(12, 3000, noise_sd=0.0, seed=1),
}


@pytest.mark.parametrize("name", QUIET)
def test_labels_follow_the_path(name: str) -> None:
    stream, truth = QUIET[name]()
    for t, (x, y) in enumerate(stream, start=1):
        assert abs(y - x @ truth.at(t)) < 1e-12


@pytest.mark.parametrize("name", QUIET)
def test_the_mean_of_the_path_is_the_fixed_model(name: str) -> None:
    stream, truth = QUIET[name]()
    assert stream.rounds == 3000
    mean = np.mean([truth.at(t) for t in range(1, 3001)], axis=0)
    np.testing.assert_allclose(truth.weights, mean, rtol=0, atol=1e-12)
    assert truth.path[0][0] == 1
    assert truth.path[-1][0] <= 3000
    ever = np.flatnonzero(np.any([w != 0 for _, w in truth.path], axis=0))
    assert set(ever) <= set(truth.support)
    assert all(np.abs(w).sum() <= 1 + 1e-12 for _, w in truth.path)


def test_switching_supports_are_disjoint_and_change_every_time() -> None:
    truth = switching(100, 4, 20_000, seed=3).truth
    seen = [tuple(np.flatnonzero(w)) for _, w in truth.path]
    assert len(set(seen)) == 6
    assert len(truth.support) == len({j for support in set(seen) for j in support}) == 24
    assert all(len(support) == 4 for support in seen)
    assert all(a != b for a, b in pairwise(seen))


def check_geometric(truth: Truth, n: int, mean: float) -> None:
    """Segments end in every round with probability 1/mean."""
    firsts = np.array([first for first, _ in truth.path])
    # Switches are Binomial(n-1, 1/mean), expected m = 2,000 (Bernstein): sqrt(2 m L) + L/3 = 246.
    m = (n - 1) / mean
    assert abs(len(firsts) - 1 - m) < math.sqrt(2 * m * LOG) + LOG / 3
    # Share of lengths up to mean/3, of at least 1,750 segments (Hoeffding): sqrt(L / 3500) = 0.064.
    short = (np.diff(firsts) <= mean / 3).mean()
    assert abs(short - (1 - (1 - 1 / mean) ** int(mean / 3))) < math.sqrt(LOG / 3500)


def equal_segments(n: int, length: int) -> Truth:
    w = np.array([1.0])
    return Truth(w, np.arange(1), 0.0, 0.0, tuple((t, w) for t in range(1, n + 1, length)))


def test_segments_are_geometric_with_the_mean_asked_for() -> None:
    n = 600_000
    check_geometric(switching(30, 2, n, mean_length=300, seed=5).truth, n, 300)
    with pytest.raises(AssertionError):
        check_geometric(switching(30, 2, n, mean_length=200, seed=5).truth, n, 300)
    with pytest.raises(AssertionError):
        check_geometric(equal_segments(n, 300), n, 300)


def test_drifting_weights_rotate() -> None:
    truth = drifting(30, 8192, periods=(1024.0, 2048.0), hold=32, noise_sd=0.1, seed=2).truth
    assert len(truth.support) == 2
    assert [first for first, _ in truth.path] == list(range(1, 8193, 32))
    W = np.array([w[truth.support] for _, w in truth.path])
    size = (1 - math.sqrt(3) * 0.1) / 2
    assert np.abs(W).max() <= size + 1e-12
    assert np.abs(W).max() > 0.99 * size
    np.testing.assert_allclose(W[:-64], W[64:], atol=1e-12)  # 2,048 rounds are 64 steps
    quick = np.abs(W[:-32] - W[32:]).max(axis=0) < 1e-12  # 1,024 rounds are 32
    assert quick.sum() == 1
    np.testing.assert_allclose(truth.weights, 0.0, atol=1e-12)  # whole turns cancel


def test_a_period_beyond_the_end_is_as_good_as_steady() -> None:
    truth = drifting(10, 1000, periods=(1e9,), seed=1).truth
    W = np.array([w for _, w in truth.path])
    assert np.ptp(W, axis=0).max() < 1e-4


def check_fair_flips(truth: Truth) -> None:
    """Signs are redrawn by a fair coin: half are positive, half differ from the one before."""
    W = np.array([w for _, w in truth.path])
    flipping = W[:, np.abs(W[0]) == 0.18]
    assert flipping.shape == (5000, 4)
    # One frequency of at least 4 * 4,999 fair events (Hoeffding): sqrt(L / 39992) = 0.019.
    margin = math.sqrt(LOG / (2 * 4 * 4999))
    assert abs((flipping > 0).mean() - 0.5) < margin
    assert abs((flipping[1:] != flipping[:-1]).mean() - 0.5) < margin


def alternating(truth: Truth) -> Truth:
    first = truth.path[0][1]
    strong = np.abs(first) == 0.18
    path = [
        (t, np.where(strong & (i % 2 == 1), -first, first)) for i, (t, _) in enumerate(truth.path)
    ]
    return Truth(first, truth.support, 0.0, 0.0, tuple(path))


def test_signs_flip_fairly() -> None:
    truth = sign_flips(30, 1_000_000, period=200, seed=4).truth
    check_fair_flips(truth)
    with pytest.raises(AssertionError):
        check_fair_flips(alternating(truth))


def test_steady_features_are_steady_and_best_in_the_long_run() -> None:
    truth = sign_flips(30, 2**16, period=200, seed=4).truth
    W = np.array([w for _, w in truth.path])
    steady = np.flatnonzero(np.abs(W[0]) == 0.1)
    assert len(steady) == 2
    assert (W[:, steady] == W[0, steady]).all()
    # A strong weight averages 0.18 times the mean of 328 fair signs: 0.18 * sqrt(2 ln(8e6) / 328)
    # = 0.056 at most (Hoeffding), below the steady 0.1.
    best = np.argsort(np.abs(truth.weights))[-2:]
    np.testing.assert_array_equal(np.sort(best), steady)


def test_leaders_change_at_growing_phases() -> None:
    truth = leaders(10, 10_000, first_phase=100, growth=1.6, seed=2).truth
    firsts = np.array([first for first, _ in truth.path])
    np.testing.assert_allclose(np.diff(firsts), 100 * 1.6 ** np.arange(len(firsts) - 1), atol=1.0)
    W = np.array([w for _, w in truth.path])
    steady = np.flatnonzero((W == 0.35).all(axis=0))
    assert len(steady) == 1
    lead = np.argmax(W, axis=1)
    np.testing.assert_array_equal(W.max(axis=1), 0.55)
    assert (np.diff(lead) != 0).all()
    assert steady[0] not in lead


def test_labels_use_the_room_they_have() -> None:
    _, y = collect(sign_flips(30, 20_000, seed=1).stream)
    assert 0.9 < np.abs(y).max() <= 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: switching(20, 4, 10), "d must be at least supports . k = 24, got 20"),
        (lambda: switching(20, 4, 10, supports=1), "supports must be at least 2, got 1"),
        (lambda: switching(30, 4, 10, mean_length=0.5), "mean_length must be at least 1"),
        (lambda: switching(30, 4, 10, noise_sd=0.6), "noise_sd must be from 0 to 0.5"),
        (lambda: switching(30, 4, 0), "n must be at least 1, got 0"),
        (lambda: drifting(30, 10, periods=()), "periods must have 1 to d = 30 entries, got 0"),
        (lambda: drifting(2, 10), "periods must have 1 to d = 2 entries, got 4"),
        (lambda: drifting(30, 10, periods=(0.0,)), "periods must be at least 1"),
        (lambda: drifting(30, 10, hold=0), "hold must be at least 1, got 0"),
        (lambda: sign_flips(5, 10), r"steady \+ flipping must be from 1 to d = 5, got 2 \+ 4"),
        (lambda: sign_flips(9, 10, steady=0, flipping=0), "must be from 1 to d = 9"),
        (lambda: sign_flips(9, 10, strong=0.5), "must be at most .* got 2.2: lower the weights"),
        (lambda: sign_flips(9, 10, period=0), "period must be at least 1, got 0"),
        (lambda: leaders(2, 10), "d must be at least 3, got 2"),
        (lambda: leaders(9, 10, steady=0.5), r"steady \+ leader must be at most .* got 1.05"),
        (lambda: leaders(9, 10, growth=0.5), "growth must be at least 1"),
        (lambda: leaders(9, 10, seed=-1), "seed must be at least 0, got -1"),
    ],
)
def test_senseless_arguments_are_refused_at_once(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()


@pytest.mark.parametrize("supports", [2, 3, 6])
def test_every_switch_is_to_another_support_and_all_take_turns(supports: int) -> None:
    """5 rounds between switches: over 3,000 rounds each support is expected 100 times."""
    _, truth = switching(12, 2, 3_000, supports=supports, mean_length=5.0)
    played = [tuple(np.flatnonzero(weights).tolist()) for _, weights in truth.path]
    assert all(a != b for a, b in pairwise(played))
    assert len(set(played)) == supports
    follows = {(a, b) for a, b in pairwise(played)}
    assert len(follows) == supports * (supports - 1)  # from each to each
