"""The suite: every stream is what its entry says."""

import math

import numpy as np
import pytest

from keyhole.problem import Floats, ProblemError
from keyhole.streams import REALIZABLE_SUITE, collect, realizable_suite, take
from keyhole.streams.simulate import CHUNK
from keyhole.streams.suites import unbounded_student


@pytest.mark.parametrize("name", REALIZABLE_SUITE)
def test_labels_follow_the_truth(name: str) -> None:
    setting = REALIZABLE_SUITE[name]
    stream, truth = realizable_suite(name, 4 * CHUNK, seed=3)
    X, y = collect(stream)
    assert X.shape == (4 * CHUNK, setting.d)
    assert len(truth.support) == setting.k
    noise = y - truth.intercept - X @ truth.weights
    # 4,096 values of standard deviation 1: their mean is within 6 / 64.
    assert abs(noise.mean()) < 6 / 64 * setting.noise_sd
    # Gaussian: a mean square within 2 sqrt(L/n) + 2 L/n of 1, L = ln(4e6) (Laurent and Massart).
    # Student t with 3 degrees of freedom has no fourth moment: only the order of magnitude.
    margin = 2 * math.sqrt(15.2 / 4096) + 2 * 15.2 / 4096
    low, high = (0.4, 3.0) if name == "S8" else (1 - margin, 1 + margin)
    assert low < (noise**2).mean() / setting.noise_sd**2 < high


@pytest.mark.parametrize("name", REALIZABLE_SUITE)
def test_in_standard_deviations_the_weights_add_up_to_one(name: str) -> None:
    setting, truth = REALIZABLE_SUITE[name], realizable_suite(name, 10, seed=4).truth
    if name != "S8":
        assert np.abs(truth.weights).sum() == pytest.approx(1.0)
    else:
        assert 0.3 < np.abs(truth.weights).sum() < 1 / 0.3
    budget = setting.problem.budget
    assert budget == min(setting.d, setting.exploration + setting.k)


def test_heavy_tails_have_their_scales() -> None:
    stream, truth = realizable_suite("S8", 16 * CHUNK, seed=5)
    X, _ = collect(stream)
    spread = np.median(np.abs(X), axis=0)  # 0.741 / sqrt(2) = 0.524 of the scale
    assert 0.28 * 0.524 < spread.min() < 0.6
    assert 0.9 < spread.max() < 3.2 * 0.524
    scales = spread[truth.support] / 0.524
    assert np.abs(truth.weights[truth.support] * scales).sum() == pytest.approx(1.0, abs=0.05)
    assert np.abs(X).max() > 15.0, "nothing is cut off"


def common_sign(X: Floats) -> Floats:
    """Signs of the factor of these rows, up to a common one."""
    vector: Floats = np.linalg.eigh(np.corrcoef(X.T))[1][:, -1]
    return np.sign(vector)


def test_the_factor_changes_every_chunk_and_only_then() -> None:
    X, _ = collect(realizable_suite("S12", 12 * CHUNK, seed=6).stream)
    chunks = X.reshape(12, CHUNK, 100)
    strength = [float(np.mean(np.corrcoef(chunk.T) ** 2)) for chunk in chunks]
    assert max(strength) > 4 * min(strength)
    strong = int(np.argmax(strength))
    halves = [common_sign(part) for part in np.split(chunks[strong], 2)]
    assert abs(np.mean(halves[0] * halves[1])) > 0.95
    others = [common_sign(chunks[c]) for c in range(12) if c != strong]
    # Independent signs: |mean of 100| < 0.55 but for 4e-8 (Hoeffding).
    assert max(abs(float(np.mean(halves[0] * other))) for other in others) < 0.55


@pytest.mark.parametrize("name", ["S8", "S9", "S12"])
def test_the_first_rows_do_not_depend_on_how_many_follow(name: str) -> None:
    short = collect(realizable_suite(name, 1500, seed=7).stream)
    long = collect(take(realizable_suite(name, 4100, seed=7).stream, 1500))
    for a, b in zip(short, long, strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors() -> None:
    with pytest.raises(ProblemError, match=r"name must be one of S1, .*, got 's1'"):
        realizable_suite("s1", 10)
    with pytest.raises(ProblemError, match=r"dof must be at least 2\.1"):
        unbounded_student(2.0)


def test_problems_and_noise_of_the_suite() -> None:
    """d, k, budget and noise of each stream, as the results of the literature are quoted for."""
    table = {
        "S1": (20, 2, 2, 0.1),
        "S2": (100, 5, 10, 0.1),
        "S3": (100, 5, 25, 0.3),
        "S4": (300, 5, 75, 0.1),
        "S5": (1000, 10, 100, 0.1),
        "S6": (100, 5, 25, 0.1),
        "S7": (100, 5, 10, 0.1),
        "S8": (100, 5, 25, 0.3),
        "S9": (50, 5, 10, 0.1),
        "S10": (100, 5, 100, 0.1),
        "S12": (100, 5, 10, 0.1),
    }
    assert {*table} == {*REALIZABLE_SUITE}
    for name, numbers in table.items():
        setting = REALIZABLE_SUITE[name]
        assert (setting.d, setting.k, setting.exploration, setting.noise_sd) == numbers
    plain, seeded = realizable_suite("S1", 8), realizable_suite("S1", 8, seed=0)
    np.testing.assert_array_equal(collect(plain.stream)[0], collect(seeded.stream)[0])
