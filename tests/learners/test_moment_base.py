"""Models from the sums of what was seen: VAW where rows are complete, tame where they are not."""

import math

import numpy as np
import pytest

from keyhole.learners.blocks.fit.set_function import greedy
from keyhole.learners.blocks.fit.vaw import VAW
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.learners.epsilon_greedy import screened
from keyhole.learners.moment_base import measure, natural, predicted, select_forward
from keyhole.problem import Floats, Indices

# Three columns of signs, each orthogonal to the others and to the constant.
SIGNS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]] * 4)


def told(X: Floats, y: Floats) -> SeenSums:
    """The sums of rows in which NaN was not seen."""
    sums = SeenSums(X.shape[1])
    for x, label in zip(X, y.tolist(), strict=True):
        sums.add(np.arange(X.shape[1]), x, label)
    return sums


def select(d: int, k: int, ridge: float, sums: SeenSums) -> list[int]:
    return sorted(select_forward(np.arange(d), k, 0.0, ridge, sums).chosen)


def ends(y: Floats) -> Floats:
    return np.array([y.min(), y.max()])


def rows(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 3.0 + rng.normal(0, 20, d)
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
def test_on_complete_rows_it_is_vaw_on_standardised_ones(ridge: float) -> None:
    X, y = rows(60, 4)
    Z, u = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    vaw, sums = VAW(4, ridge), told(X, y)
    for z, label in zip(Z, u.tolist(), strict=True):
        vaw.update(z, label)
    fit = select_forward(np.arange(4), 4, 0.0, ridge, sums)
    assert len(fit[0]) == 4
    for x, z in zip(X, Z, strict=True):
        expected = float(np.clip(y.mean() + y.std() * vaw.predict(z), y.min(), y.max()))
        found = predicted(x, fit, sums, ends(y))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    weights, intercept = natural(np.arange(4), fit, sums)
    np.testing.assert_allclose(weights, vaw.theta * y.std() / X.std(axis=0), rtol=1e-9)
    assert intercept == pytest.approx(y.mean() - weights @ X.mean(axis=0), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_on_complete_rows_it_selects_what_greedy_selects(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 12)) + 0.5 * rng.standard_normal((200, 1))
    y = X @ rng.standard_normal(12) + rng.standard_normal(200)
    Z, u = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    expected, _ = greedy(Z.T @ Z, Z.T @ u, float(u @ u), 200, 4)
    assert select(12, 4, 1e-9, told(X, y)) == sorted(expected.tolist())


def test_correlations_that_contradict_each_other_do_not_blow_up() -> None:
    # Three features that are seen in pairs, each pair with correlation -0.9: no three variables can
    # be like that, and the least squares solution of the indefinite matrix would be anything.
    rng = np.random.default_rng(0)
    sums = SeenSums(3)
    for t in range(3000):
        S: Indices = np.delete(np.arange(3), t % 3)
        x = rng.multivariate_normal([0.0, 0.0], [[1.0, -0.9], [-0.9, 1.0]])
        sums.add(S, x, float(x[0] - x[1] + rng.standard_normal()))
    R = np.full((3, 3), -0.9) + 1.9 * np.eye(3)
    assert np.linalg.eigvalsh(R)[0] < 0.0
    chosen, w, _, _ = select_forward(np.arange(3), 3, 0.0, 1.0, sums)
    assert len(chosen) == 2
    assert np.abs(w).max() < 5.0


def test_constant_and_unseen_features_are_never_chosen() -> None:
    X, y = rows(50, 4)
    X[:, 1], X[:, 2] = 7.0, np.nan
    assert select(4, 4, 1.0, told(X, y)) == [0, 3]
    assert select(4, 4, 1.0, told(X, np.full(50, 3.0))) == []


def test_screening_takes_the_largest_correlations() -> None:
    X, y = rows(80, 9)
    size = np.abs([np.corrcoef(x, y)[0, 1] for x in X.T])
    for k in (1, 3, 9, 12):
        top = np.sort(np.argsort(-size)[:k])
        assert screened(np.arange(9), k, 1.0, told(X, y)).tolist() == top.tolist()


def test_a_correlation_from_few_rows_counts_less() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    X[:, 1] = np.nan
    X[:2, 1] = y[:2]
    assert screened(np.arange(2), 1, 2.0, told(X, y)).tolist() == [0]


def slow_units(X: Floats) -> tuple[Floats, Floats, Floats]:
    """How often each feature was seen, its mean and its deviation there."""
    return (~np.isnan(X)).sum(axis=0).astype(float), np.nanmean(X, axis=0), np.nanstd(X, axis=0)


def slow_seen(
    X: Floats, y: Floats, S: list[int], most: int, gate: float, ridge: float
) -> tuple[list[int], Floats, Floats]:
    """Places chosen in S, their weights, and the matrix of all of S: a solve for every step."""
    N, mean, deviation = slow_units(X)
    Z, m = (X - mean) / deviation, len(S)
    R, c = np.eye(m), np.empty(m)
    for a, i in enumerate(S):
        both = ~np.isnan(Z[:, i])
        c[a] = float((Z[both, i] * y[both]).mean() / y.std())
        for b, j in enumerate(S):
            products = (Z[:, i] * Z[:, j])[~np.isnan(Z[:, i] * Z[:, j])]
            R[a, b] = products.mean() if len(products) else 0.0
        R[a, a] = 1.0 + ridge / N[i]
    chosen, left = list[int](), 1.0
    while len(chosen) < min(most, m):
        gains = dict[int, float]()
        for a in set(range(m)) - set(chosen):
            row = np.linalg.solve(R[np.ix_(chosen, chosen)], R[chosen, a]) if chosen else R[:0, a]
            new = R[a, a] - float(row @ R[chosen, a])
            gain = (c[a] - float(row @ c[chosen])) ** 2 / new
            if new > 0.05 and gain * N[S[a]] > gate**2 * max(left, 0.05):
                gains[a] = gain
        if not gains:
            break
        best = max(gains, key=lambda a: gains[a])
        chosen.append(best)
        left -= gains[best]
    w: Floats = np.linalg.solve(R[np.ix_(chosen, chosen)], c[chosen]).astype(np.float64)
    return chosen, w, R


@pytest.mark.parametrize("gate", [0.0, 2.0, 2.8])
@pytest.mark.parametrize("S", [[0, 1, 2, 3], [3, 0, 2], [2]])
def test_a_fit_from_rows_with_holes_is_its_formula(S: list[int], gate: float) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 4)) @ rng.standard_normal((4, 4)) + rng.normal(0, 5, 4)
    y = X @ rng.standard_normal(4) + rng.standard_normal(40)
    X[rng.random(X.shape) < 0.3] = np.nan
    sums, places = told(X, y), np.array(S)
    N, mean, deviation = slow_units(X)
    chosen, w, R = slow_seen(X, y, S, 3, gate, 0.7)
    fit = select_forward(places, 3, gate, 0.7, sums)
    assert fit.chosen == chosen
    np.testing.assert_allclose(fit.w, w, rtol=1e-9)
    used = places[chosen]
    P = np.linalg.inv(R[np.ix_(chosen, chosen)]) / np.sqrt(np.outer(N[used], N[used]))
    for x in np.nan_to_num(X[:10], nan=1.0):
        z = ((x - mean) / deviation)[used]
        prediction = y.mean() + y.std() * float(w @ z) / (1.0 + float(z @ P @ z))
        expected = min(max(prediction, y.min()), y.max())
        assert predicted(x[S], fit, sums, ends(y)) == pytest.approx(expected, rel=1e-9)
    out, intercept = natural(places, fit, sums)
    weights = np.zeros(4)
    weights[used] = w * y.std() / deviation[used]
    np.testing.assert_allclose(out, weights, rtol=1e-9)
    assert intercept == pytest.approx(y.mean() - weights[used] @ mean[used], rel=1e-9)


def test_pairs_that_were_never_seen_together_count_as_uncorrelated() -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0], [np.nan, 6.0]])
    y = np.array([1.0, 2.0, 1.0, 4.0])
    chosen, w, R = slow_seen(X, y, [0, 1], 2, 0.0, 0.5)
    assert R[0, 1] == 0.0
    fit = select_forward(np.arange(2), 2, 0.0, 0.5, told(X, y))
    assert fit.chosen == chosen
    np.testing.assert_allclose(fit.w, w)


def test_before_the_first_row_everything_is_0_and_one_row_is_its_label() -> None:
    nothing = told(np.empty((0, 2)), np.empty(0))
    fit = select_forward(np.arange(2), 2, 0.0, 1.0, nothing)
    assert fit.chosen == []
    assert predicted(np.ones(2), fit, nothing, np.zeros(2)) == 0.0
    assert natural(np.arange(2), fit, nothing)[1] == 0.0
    one = told(np.array([[3.0, 5.0]]), np.array([-2.0]))
    fit = select_forward(np.arange(2), 2, 0.0, 1.0, one)
    assert fit.chosen == []
    assert predicted(np.ones(2), fit, one, np.full(2, -2.0)) == -2.0
    weights, intercept = natural(np.arange(2), fit, one)
    assert intercept == -2.0
    assert not weights.any()


def test_of_features_that_explain_the_same_the_first_is_chosen() -> None:
    sums = told(SIGNS[:, [2, 0, 1]], SIGNS[:, 0] + SIGNS[:, 1])
    assert select_forward(np.arange(3), 3, 0.5, 1.0, sums).chosen == [1, 2]


def test_many_candidates_are_chosen_as_few_are() -> None:
    """Correlations of up to 64 candidates are worked out at once, of more one by one."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 70))
    y = X[:, 5] - X[:, 60] + 0.1 * rng.standard_normal(30)
    X[rng.random(X.shape) < 0.3] = np.nan
    sums = told(X, y)
    many = select_forward(np.arange(70), 4, 0.0, 1.0, sums)
    few = select_forward(np.sort(many.chosen), 4, 0.0, 1.0, sums)
    assert [int(np.sort(many.chosen)[a]) for a in few.chosen] == many.chosen
    assert few.w == many.w


def test_what_varies_by_rounding_alone_is_constant() -> None:
    """1e-12 of the mean square: 1 +- 3e-7 is constant, 1 +- 3e-6 is not."""
    y = np.array([1.0, -1.0] * 4)
    for part, chosen in [(3e-7, []), (3e-6, [0])]:
        sums = told((1.0 + part * y)[:, None], y)
        assert select_forward(np.arange(1), 1, 0.0, 1.0, sums).chosen == chosen


def test_units_are_those_of_the_rows_in_which_a_feature_was_told() -> None:
    X = np.array([[1.0, np.nan, 7.0, 5.0], [3.0, np.nan, 7.0, np.nan], [np.nan, np.nan, 7.0, 2.0]])
    y = np.array([1.0, 2.0, 6.0])
    rows, means, inverses, products = measure(np.arange(4), told(X, y))
    assert rows.tolist() == [2.0, 0.0, 3.0, 2.0]
    np.testing.assert_allclose(means, [2.0, 0.0, 7.0, 3.5])
    np.testing.assert_allclose(inverses, [1.0, 0.0, 0.0, 1 / 1.5])  # 0 for what is constant
    # mean of (x - mean) y, in units of both deviations
    np.testing.assert_allclose(products, np.array([0.5, 0.0, 0.0, -3.75 / 1.5]) / y.std())
    # A label that is constant has no products, and no feature explains it.
    assert not measure(np.arange(4), told(X, np.full(3, 0.1)))[3].any()


def test_at_least_a_twentieth_of_the_label_counts_as_unexplained() -> None:
    """Shares 0.96, 0.03 and 0.01 of 16 rows: the second has 0.48 rows, against gate^2 0.05."""
    sums = told(SIGNS[:, :2], SIGNS @ np.sqrt([0.96, 0.03, 0.01]))
    for squared, chosen in [(9.5, [0, 1]), (9.7, [0])]:
        assert select_forward(np.arange(2), 2, math.sqrt(squared), 1e-9, sums).chosen == chosen
    # Shares 0.7, 0.2 and 0.1: the second has 3.2 rows, against gate^2 0.3, which was left.
    sums = told(SIGNS[:, :2], SIGNS @ np.sqrt([0.7, 0.2, 0.1]))
    for squared, chosen in [(10.6, [0, 1]), (10.7, [0])]:
        assert select_forward(np.arange(2), 2, math.sqrt(squared), 1e-9, sums).chosen == chosen


def test_a_feature_of_which_less_than_a_twentieth_is_new_is_passed_over() -> None:
    for part, chosen in [(0.045, [0]), (0.055, [0, 1])]:
        mixed = math.sqrt(1.0 - part) * SIGNS[:, 0] + math.sqrt(part) * SIGNS[:, 1]
        sums = told(np.column_stack([SIGNS[:, 0], mixed]), 2.0 * SIGNS[:, 0] - 0.3 * SIGNS[:, 1])
        assert select_forward(np.arange(2), 2, 0.0, 1e-9, sums).chosen == chosen


def test_the_answer_stays_between_the_labels() -> None:
    x = np.array([1.0, -1.0] * 5)
    sums = told(x[:, None], 4.0 * x + 1.0)
    fit = select_forward(np.arange(1), 1, 0.0, 1e-6, sums)
    limits = np.array([-3.0, 5.0])
    assert predicted(np.array([2.0]), fit, sums, limits) == 5.0
    assert predicted(np.array([-2.0]), fit, sums, limits) == -3.0
    far = fit._replace(w=[-fit.w[0]])
    assert predicted(np.array([2.0]), far, sums, limits) == -3.0
