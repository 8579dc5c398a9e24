"""The ten streams of the suite, and the one with rounds that depend on each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keyhole.problem import Floats, ProblemError
from keyhole.streams import AGNOSTIC_SUITE, agnostic_suite, collect, dependent
from keyhole.streams.simulate import CHUNK

SIZES = {
    "iid": (30, 2, 12),
    "dense": (100, 4, 24),
    "nonlin": (30, 2, 12),
    "switch": (100, 4, 24),
    "drift": (30, 2, 12),
    "flip": (30, 2, 12),
    "depn": (100, 4, 24),
    "needle": (300, 1, 12),
    "geo": (10, 1, 4),
    "iid300": (300, 4, 32),
}


def test_the_suite_has_its_ten_streams_with_their_problems() -> None:
    problems = {name: case.problem for name, case in AGNOSTIC_SUITE.items()}
    assert {name: (p.d, p.k, p.budget) for name, p in problems.items()} == SIZES


@pytest.mark.parametrize("name", SIZES)
def test_every_stream_fits_its_problem_and_repeats_itself(name: str) -> None:
    stream, truth = agnostic_suite(name, 1500, seed=3)
    X, y = collect(stream)
    assert X.shape == (1500, AGNOSTIC_SUITE[name].problem.d)
    assert len(truth.weights) == X.shape[1]
    # Bounded noise of sd s reaches s sqrt(3), beyond a mean of at most 1.
    most = 1.0 + math.sqrt(3.0) * {"iid": 0.2, "iid300": 0.15}.get(name, 0.0)
    assert np.abs(y).max() <= most + 1e-12
    X2, y2 = collect(agnostic_suite(name, 1100, seed=3).stream)
    np.testing.assert_array_equal(y2, y[:1100])
    np.testing.assert_array_equal(X2, X[:1100])
    assert not np.array_equal(collect(agnostic_suite(name, 1500, seed=4).stream)[1], y)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ProblemError, match="needle"):
        agnostic_suite("needel", 10)


def disturbances(w: Floats, X: Floats, y: Floats) -> Floats:
    """0.6 e_t of every round whose label and predecessor are not cut off, chunk starts left out."""
    before = np.concatenate([[0.0], y[:-1]])
    e: Floats = y - X @ w - 0.15 * before
    t = np.arange(len(y))
    e[(np.abs(y) >= 1.0) | (t % CHUNK == 0)] = np.nan
    return e


def check_recursion(w: Floats, X: Floats, y: Floats) -> None:
    """What is left of 0.6 e_t after 0.7 times the one before is a shock of the size x_0 allows."""
    e = disturbances(w, X, y)
    shock = e[1:] - 0.7 * e[:-1]
    most = 0.6 * 0.3 * (0.3 + np.abs(X[1:, 0]))
    known = ~np.isnan(shock)
    assert known.sum() > 0.8 * len(y)
    share = shock[known] / most[known]
    assert np.abs(share).max() <= 1.0 + 1e-9
    # Mean of |u|, u uniform on [-1, 1], over more than 13,000 rounds (Hoeffding, 1e-6): 0.024.
    assert abs(np.abs(share).mean() - 0.5) < math.sqrt(math.log(2e6) / (2 * known.sum()))


def test_dependent_follows_its_recursion() -> None:
    stream, truth = dependent(20, 4, 16 * CHUNK, seed=1)
    rows, y = collect(stream)
    X = rows.astype(np.float64)
    check_recursion(truth.weights, X, y)
    rng = np.random.default_rng(0)
    fresh = 0.6 * 0.3 * (0.3 + np.abs(X[:, 0])) * rng.uniform(-1.0, 1.0, len(y))
    with pytest.raises(AssertionError):  # independent noise of the same size
        check_recursion(truth.weights, X, X @ truth.weights + fresh)


def test_dependent_starts_anew_with_every_chunk() -> None:
    stream, truth = dependent(20, 2, 64 * CHUNK, seed=2)
    X, y = collect(stream)
    first = y[::CHUNK] - X[::CHUNK] @ truth.weights
    most = 0.6 * 0.3 * (0.3 + np.abs(X[::CHUNK, 0]))
    inside = np.abs(y[::CHUNK]) < 1.0
    assert inside.sum() > 32
    assert (np.abs(first) <= most + 1e-12)[inside].all()  # no past label, no past noise
    later = np.abs(y[7::CHUNK] - X[7::CHUNK] @ truth.weights)
    assert (later > 0.6 * 0.3 * (0.3 + np.abs(X[7::CHUNK, 0]))).any()


def test_dependent_says_its_noise() -> None:
    stream, truth = dependent(20, 4, 64 * CHUNK, seed=3)
    X, y = collect(stream)
    e = disturbances(truth.weights, X.astype(np.float64), y)
    # 65,000 values, correlated over about (1 + 0.7)/(1 - 0.7) = 6 rounds: about 11,000 independent
    # squares of relative sd below 2, so 6 sd of the root are 6 * 2 / (2 sqrt(11000)) = 6 %. Rounds
    # cut off are left out, which makes it smaller: 5 % more.
    assert abs(np.sqrt(np.nanmean(e**2)) / truth.noise_sd - 1.0) < 0.11
    assert len(truth.support) == 4
    assert abs(np.abs(truth.weights).sum() - 1.25) < 1e-12


def test_senseless_arguments_are_refused() -> None:
    with pytest.raises(ProblemError, match="d must be at least 1, got 0"):
        dependent(0, 1, 10)
    with pytest.raises(ProblemError, match="n must be at least 1, got 0"):
        dependent(5, 1, 0)


def test_problems_of_the_suite_fit_their_streams() -> None:
    """d, k and budget of each, by hand; and how many features matter at once, where few do."""
    assert {*SIZES} == {*AGNOSTIC_SUITE}
    for name, shape in SIZES.items():
        problem, (stream, truth) = AGNOSTIC_SUITE[name].problem, agnostic_suite(name, 4)
        assert (problem.d, problem.k, problem.budget) == shape
        assert stream.d == problem.d
        if name in ("iid", "iid300", "switch", "depn"):
            assert np.count_nonzero(truth.at(1)) == problem.k
