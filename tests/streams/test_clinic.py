"""The simulated clinic: plausible values, failed tests, a label that few tests explain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from keyhole.problem import Floats, Indices, Problem, ProblemError
from keyhole.streams.arrays import LabelledRows, collect
from keyhole.streams.clinic import DAYS, TESTS, clinic

Reals = NDArray[np.floating]


@pytest.fixture(scope="module")
def patients() -> LabelledRows:
    return collect(clinic().stream)


def imputed(X: Reals) -> Floats:
    """Columns centred and scaled, absent values at the mean."""
    Z: Floats = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    return Z


class Fit:
    """R^2 of least squares on a set of features, from the moments of the whole table."""

    def __init__(self, X: Reals, y: Floats) -> None:
        Z, e = imputed(X), y - y.mean()
        self.d = Z.shape[1]
        self.G, self.c, self.yy = Z.T @ Z, Z.T @ e, float(e @ e)

    def explained(self, features: Indices | list[int]) -> float:
        S = np.asarray(features)
        c = self.c[S]
        w = np.linalg.lstsq(self.G[S[:, None], S], c, rcond=None)[0]
        return float(c @ w) / self.yy

    def forward(self, k: int) -> list[int]:
        chosen: list[int] = []
        for _ in range(k):
            rest = [j for j in range(self.d) if j not in chosen]
            chosen.append(max(rest, key=lambda j: self.explained([*chosen, j])))
        return chosen


def check_few_tests_explain(X: Reals, y: Floats) -> None:
    """Four tests explain about 0.70, all 0.75, eight random ones clearly less."""
    fit = Fit(X, y)
    four = fit.explained(fit.forward(4))
    # R^2 = 0.70 from 4,000 rows has standard error 2 sqrt(R^2) (1 - R^2) / sqrt(n) = 0.008 for
    # Gaussian values; skewed ones double it; five of that make 0.08, false alarm below 1e-6.
    assert 0.62 < four < 0.78
    assert four < fit.explained(list(range(fit.d))) < 0.83
    rng = np.random.default_rng(0)
    random = [fit.explained(rng.choice(fit.d, 8, replace=False)) for _ in range(200)]
    assert np.mean(random) < four - 0.2
    assert np.quantile(random, 0.9) < four - 0.1


def test_four_tests_explain_most_and_eight_random_ones_less(patients: LabelledRows) -> None:
    X, y = patients
    check_few_tests_explain(X, y)
    with pytest.raises(AssertionError):
        check_few_tests_explain(X, np.random.default_rng(0).permutation(y))
    rng = np.random.default_rng(1)
    with pytest.raises(AssertionError):  # all tests nearly the same: any eight would do
        check_few_tests_explain(y[:, None] + 2.0 * rng.standard_normal(X.shape), y)


def test_forward_selection_finds_tests_that_matter(patients: LabelledRows) -> None:
    X, y = patients
    four = {TESTS[j].name for j in Fit(X, y).forward(4)}
    assert four == {"crp_mg_l", "age_years", "creatinine_mg_dl", "haemoglobin_g_dl"}


def check_failures(X: Reals) -> None:
    """1.5 % of the cells are absent, in every column, and most rows miss nothing or little."""
    n, p, log = X.size, 0.015, math.log(2 * 43 / 1e-6)
    absent = np.isnan(X)
    # Bernstein, with p = 0.015, for the whole and for each of 42 columns of 4,000 at once.
    assert abs(absent.mean() - p) < math.sqrt(2 * p * log / n) + log / (3 * n)
    rows = len(X)
    margin = math.sqrt(2 * p * log / rows) + log / (3 * rows)
    assert np.abs(absent.mean(axis=0) - p).max() < margin


def test_some_tests_fail(patients: LabelledRows) -> None:
    X, y = patients
    check_failures(X)
    assert np.isfinite(y).all()
    with pytest.raises(AssertionError):
        check_failures(np.nan_to_num(X))
    whole_rows = X.copy()
    whole_rows[::20] = np.nan
    with pytest.raises(AssertionError):
        check_failures(whole_rows)


def test_the_truth_is_in_the_units_of_the_tests(patients: LabelledRows) -> None:
    X, y = patients
    truth = clinic().truth
    whole = ~np.isnan(X).any(axis=1)
    assert whole.sum() > 1500
    e = y[whole] - truth.intercept - X[whole] @ truth.weights
    assert np.abs(e).max() <= math.sqrt(3) * truth.noise_sd + 1e-9
    # Uniform noise: its square is in [0, 3 sd^2], mean sd^2; Hoeffding over more than 1,500 rows:
    # 3 sqrt(ln(2 / 1e-6) / (2 * 1500)) = 0.209.
    assert abs((e**2).mean() / truth.noise_sd**2 - 1) < 0.209
    assert len(truth.support) == len(DAYS) == 10


def test_values_and_names_are_plausible(patients: LabelledRows) -> None:
    X, y = patients
    stream = clinic().stream
    assert stream.names is not None
    assert Problem(d=stream.d, k=4, budget=8, names=stream.names).d == 42
    assert all(name.isidentifier() and name == name.lower() for name in stream.names)
    assert set(DAYS) <= set(stream.names)
    assert np.nanmin(X) > 0.0
    limits = {
        "age_years": (18, 105),
        "bmi": (14, 50),
        "temperature_c": (35, 39.5),
        "oxygen_saturation": (88, 100),
        "hba1c_percent": (3.5, 10),
        "systolic_bp": (70, 200),
    }
    for name, (low, high) in limits.items():
        column = X[:, stream.names.index(name)]
        assert low <= np.nanmin(column) <= np.nanmax(column) <= high, name
    assert 0.0 < y.min() < y.mean() < 20.0
    for j, test in enumerate(TESTS):
        if test.skewed:
            assert np.nanmean(X[:, j]) > np.nanmedian(X[:, j]), test.name


def test_two_tests_are_pure_noise_and_others_hang_together(patients: LabelledRows) -> None:
    X, y = patients
    Z = imputed(X)
    correlations = np.abs(Z.T @ Z / len(Z)) - np.eye(Z.shape[1])
    names = [test.name for test in TESTS]
    # Correlations of independent columns have standard error 1/sqrt(4000) = 0.016; six of it leave
    # 2e-9 for each of 84, below 1e-6 together.
    for name in ("eosinophils_percent", "magnesium_mmol_l"):
        j = names.index(name)
        assert correlations[j].max() < 6 / math.sqrt(len(Z))
        assert abs(Z[:, j] @ (y - y.mean())) / len(Z) / y.std() < 6 / math.sqrt(len(Z))
    assert correlations[names.index("glucose_mg_dl"), names.index("hba1c_percent")] > 0.5
    assert correlations[names.index("creatinine_mg_dl"), names.index("urea_mg_dl")] > 0.4
    assert correlations[names.index("alt_u_l"), names.index("ast_u_l")] > 0.5


def test_senseless_arguments_are_refused() -> None:
    with pytest.raises(ProblemError, match="n must be at least 1, got 0"):
        clinic(0)
    with pytest.raises(ProblemError, match="seed must be at least 0, got -1"):
        clinic(seed=-1)
