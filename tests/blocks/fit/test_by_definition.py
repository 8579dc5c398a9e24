"""Kernels of fitting against their formulas, written out row by row on inputs of a few numbers.

Small enough to run as plain Python, where `tools.mutants` plants its bugs.
"""

import math

import numpy as np
import pytest

from keyhole.blocks.draw.keyed import scratch, words
from keyhole.blocks.draw.reading import Block
from keyhole.blocks.fit import ensemble as ensembles
from keyhole.blocks.fit import fixed_subset, newton, vaw
from keyhole.blocks.fit import lasso as lassos
from keyhole.blocks.fit.fixed_subset import Arrived
from keyhole.blocks.fit.forward import Selection, select
from keyhole.blocks.fit.inverse import inverse, solution
from keyhole.blocks.fit.lasso import Model, descend, lasso, scaled_lasso
from keyhole.blocks.fit.optimism import PURPOSE, sampled_gains
from keyhole.blocks.fit.seen_fit import Fit, Sums, forward, measure, natural, tell, weigh
from keyhole.blocks.fit.set_function import greedy, marginal_gains, residual, slot_gains
from keyhole.blocks.fit.truncation import top_k
from keyhole.blocks.fit.vaw import VAW, VAWState
from keyhole.blocks.sums.memories import memories, remember
from keyhole.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats


def block_of(X: Floats, y: Floats, width: int) -> Block:
    """Rounds whose answers are not written yet: whoever forgets one is found out."""
    bought = np.full((len(y), width), -7, dtype=np.int32)
    return Block(np.uint64(0), 1, X, y, bought, np.full(len(y), np.nan), scratch(X.shape[1]))


# Three columns of signs, each orthogonal to the others and to the constant.
SIGNS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]] * 4)


# --- The lasso: sweeps one by one, the penalty and the noise in turn, the model it ends in


def one_sweep(R: Floats, c: Floats, penalty: float, w: Floats, *, full: bool) -> float:
    """Each coordinate at the minimum of the objective along it; returns the largest step."""
    moved = 0.0
    for j in range(len(c)):
        if (full or w[j] != 0.0) and R[j, j] > 0.0:
            rest = float(c[j] - R[j] @ w + R[j, j] * w[j])
            best = math.copysign(max(abs(rest) - penalty, 0.0) / R[j, j], rest)
            moved, w[j] = max(moved, abs(best - w[j])), best
    return moved


@pytest.mark.parametrize("start", [[0.0] * 4, [0.3, 0.0, -2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
def test_sweeps_go_through_all_coordinates_then_through_those_in_use(start: list[float]) -> None:
    R = np.array([[1.0, 0.4, 0.3, 0], [0.4, 2.0, -0.5, 0], [0.3, -0.5, 1.5, 0], [0.0] * 4])
    c, penalty, tolerance = np.array([0.9, -0.2, 0.5, 7.0]), 0.15, 1e-3
    expected, full, made = np.array(start), True, 0
    for sweeps in range(1, 30):
        moved = one_sweep(R, c, penalty, expected, full=full)
        made += 1
        w = np.array(start)
        assert descend(R, c, penalty, w, tolerance, sweeps) == made
        np.testing.assert_allclose(w, expected, atol=1e-14)
        if moved <= tolerance and full:
            break
        full = moved <= tolerance
    assert 2 < made < 29
    w = np.array(start)
    assert descend(R, c, penalty, w, tolerance, 1000) == made
    np.testing.assert_allclose(w, expected, atol=1e-14)


def test_a_descent_that_runs_away_is_left_at_once_and_counts_for_nothing() -> None:
    R = np.array([[1e-4, -1.0], [-1.0, 1e-4]])  # no correlations of anything
    w, c = np.zeros(2), np.array([1.0, 1.0])
    expected = np.zeros(2)
    made = 1
    while one_sweep(R, c, 0.1, expected, full=True) <= 1e6:
        made += 1
    assert descend(R, c, 0.1, w, 1e-6, 1000) == made
    assert not lasso(R, c, 0.1).any()


def test_a_step_of_the_largest_allowed_size_is_no_runaway() -> None:
    w = np.zeros(1)
    descend(np.ones((1, 1)), np.array([1e6]), 0.0, w, 1e-6, 1000)
    assert w[0] == 1e6
    assert descend(np.ones((1, 1)), np.array([1e6]), 0.0, np.zeros(1), 1e-6, 1000) == 3
    assert descend(np.ones((1, 1)), np.array([2e6]), 0.0, np.zeros(1), 1e-6, 1000) == 1


def test_without_a_tolerance_it_stops_when_nothing_moves() -> None:
    w = np.zeros(2)
    assert descend(np.eye(2), np.array([0.5, -0.25]), 0.0, w, 0.0, 1000) == 3
    assert w.tolist() == [0.5, -0.25]


def test_the_lasso_gives_up_after_a_thousand_sweeps() -> None:
    """Two features that are nearly one: a sweep takes 2e-3 of what is left off it."""
    R, c = np.array([[1.0, 0.999], [0.999, 1.0]]), np.array([0.50, 0.499])
    after = {sweeps: np.zeros(2) for sweeps in (999, 1000, 1001)}
    for sweeps, w in after.items():
        assert descend(R, c, 0.0, w, 1e-6, sweeps) == sweeps
    np.testing.assert_array_equal(lasso(R, c, 0.0), after[1000])
    assert not np.array_equal(after[999], after[1000])
    assert not np.array_equal(after[1001], after[1000])


def test_an_objective_that_no_rows_have_counts_for_nothing() -> None:
    """-c^2 / 2 = -1 at c = sqrt 2 is the least that is believed; rows have -1/2 at least."""
    for c, believed in [(1.0, True), (1.4142, True), (1.4143, False), (3.0, False)]:
        w = lasso(np.eye(1), np.array([c]), 0.0)
        assert w[0] == (pytest.approx(c) if believed else 0.0)
    assert lasso(np.eye(2), np.ones(2), 0.0).tolist() == [1.0, 1.0]  # -1 itself
    assert lasso(np.eye(1), np.array([1.3]), 0.3).tolist() == [1.0]  # 1/2 - 1.3 + 0.3


@pytest.mark.parametrize(("n", "scale"), [(50.0, 1.0), (50.0, 0.3), (4.0, 0.7), (0.0, 0.1)])
def test_penalty_and_noise_take_turns_until_the_noise_rests(n: float, scale: float) -> None:
    R, c = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]]), np.array([0.9, 0.3, 0.3])
    unit = scale * math.sqrt(2 * math.log(6) / max(n, 1))
    for start in (None, np.array([0.2, -0.1, 0.0])):
        v, before, sigma, turns = start, 0.0, 1.0, 0
        while turns < 20 and not abs(sigma - before) <= 1e-3 * before:
            v, before, turns = lasso(R, c, sigma * unit, v), sigma, turns + 1
            left = 1 - 2 * float(c @ v) + float(v @ R @ v)
            sigma = math.sqrt(min(max(left, 1e-4), 1.0))
        w, found = scaled_lasso(R, c, n, start, scale=scale)
        assert v is not None
        np.testing.assert_allclose(w, v, rtol=1e-12)
        assert found == pytest.approx(sigma, rel=1e-14)


def test_the_noise_is_never_below_a_hundredth() -> None:
    """A label that is a feature leaves 0; its variance of 1e-4 keeps a penalty."""
    w, sigma = scaled_lasso(np.eye(2), np.array([1.0, 0.0]), 1e12)
    assert sigma == pytest.approx(1e-2)
    np.testing.assert_allclose(w, [1.0, 0.0], atol=1e-5)


def test_a_model_is_its_intercept_and_weights_times_values() -> None:
    model = Model(np.array([2.0, 0.0, -0.5]), np.array([10.0, 20.0, 30.0]), 1.5)
    assert lassos.predict(model, np.array([1.0, 5.0, 4.0])) == 1.5 + 2.0 - 2.0
    assert lassos.predict(model, np.array([np.nan, np.nan, np.nan])) == 1.5 + 20.0 - 15.0
    X = np.array([[1.0, 5.0, 4.0], [0.0, np.nan, 2.0], [1e-200, 0.0, np.nan], [1.0, 1e151, 1.0]])
    block = block_of(X, np.zeros(4), 4)
    assert lassos.play(block, model) == 3  # the last row is too large
    assert block.predictions[:3].tolist() == [1.5, 0.5, -13.5]
    assert block.bought[:3].tolist() == [[0, 1, 2, -1]] * 3
    whole = block_of(X[:2], np.zeros(2), 3)
    assert lassos.play(whole, model) == 2


# --- Optimism: the normal numbers are those of Box and Muller


def test_optimism_is_drawn_by_box_and_muller() -> None:
    """(r + sqrt(noise D / n) g)^2 / D with r so large that its sign is known gives g."""
    d, t, seed = 10, 7, np.uint64(3)
    normals, uniforms = list[float](), list[float]()
    for block in range(3):
        u = [float(w) / 2.0**32 for w in words(seed, t, PURPOSE, block)]
        for radius, angle in ((u[0], u[1]), (u[2], u[3])):
            size = math.sqrt(-2 * math.log(1 - radius))
            normals += [size * math.cos(2 * math.pi * angle), size * math.sin(2 * math.pi * angle)]
        uniforms += u
    g, n = 0.5 * np.array(normals[:d]), np.arange(1.0, d + 1)
    none, score = np.empty(0), np.empty(d)
    r, D = np.full(d, 40.0), np.linspace(0.2, 1.0, d)
    found = Selection(none.astype(np.int64), none, r, D, 3.0, n)
    sampled_gains(seed, t, found, n, 0.5, score)
    np.testing.assert_allclose(score, (40.0 + np.sqrt(3.0 * D / n) * g) ** 2 / D, rtol=1e-12)
    sampled_gains(seed, t, found, 0.0 * n, 0.5, score)  # never read
    np.testing.assert_allclose(score, 1e300 * (1.0 + np.array(uniforms[:d])), rtol=1e-14)
    constant = found._replace(r=0.0 * r, D=0.0 * D)
    sampled_gains(seed, t, constant, n, 0.5, score)
    np.testing.assert_allclose(score, 3.0 * (np.array(normals[:d]) ** 2 + g**2) / n, rtol=1e-12)
    sampled_gains(seed, t, constant._replace(counts=0.0 * n), n, 0.5, score)  # all forgotten
    assert not score.any()


# --- Forward selection from zero-imputed sums


def test_selection_from_rows_that_read_little_is_its_formula() -> None:
    """r, D, noise and gains by the formulas of `select_into`, one pivot after the other."""
    rng = np.random.default_rng(1)
    d, n = 5, 30
    X = rng.standard_normal((n, d)) + 0.5
    y = 2.0 * X[:, 1] - X[:, 3] + rng.standard_normal(n) + 1.0
    X[rng.random(X.shape) < 0.4] = np.nan
    X[:, 4] = np.nan
    X[3, 4] = 0.7  # read once, which is never enough
    kept = memories(d + 1, [np.inf])  # the last feature is never read
    remember(kept, np.arange(d), X, y)
    Z, counts = np.nan_to_num(X), (~np.isnan(X)).sum(axis=0)
    unit = np.sqrt((Z**2).sum(axis=0))
    corr = Z.T @ Z / np.outer(unit, unit)
    one = Z.sum(axis=0) / unit / math.sqrt(n)
    # The constant is the first pivot: it takes the mean off the label.
    R, r = corr - np.outer(one, one), Z.T @ y / unit - one * y.mean() * math.sqrt(n)
    r = r / np.sqrt(counts)
    D, noise, threshold = np.diag(R).copy(), float(np.var(y)), 0.5
    chosen, gains = list[int](), list[float]()
    while len(chosen) < 3:
        error = threshold * np.sqrt(noise * np.maximum(D, 0.0) / counts)
        able = [j for j in range(d) if j not in chosen and D[j] > 0.05 and counts[j] >= 4]
        excess = {j: (abs(r[j]) - error[j]) / math.sqrt(D[j]) for j in able}
        v = max(excess, key=lambda j: excess[j])
        if excess[v] <= 0.0:
            break
        step = r[v] / math.sqrt(D[v])
        row = R[v] / math.sqrt(D[v])
        R, D = R - np.outer(row, row), D - row**2
        r = r - row * step * np.sqrt(counts[v] / counts)
        noise = max(noise - step**2, 1e-3 * float(np.mean(y**2)))
        chosen.append(v)
        gains.append(step**2)
    assert len(chosen) > 1
    found = select(kept, 0, most=3, threshold=threshold)
    assert found.chosen.tolist() == chosen
    np.testing.assert_allclose(found.gains, gains, rtol=1e-9)
    np.testing.assert_allclose(found.noise, noise, rtol=1e-9)
    np.testing.assert_array_equal(found.counts, [*counts, 0])
    others = [j for j in range(d) if j not in chosen]
    np.testing.assert_allclose(found.r[others], r[others], rtol=1e-9)
    np.testing.assert_allclose(found.D[others], D[others], rtol=1e-9)
    assert found.r[d] == found.D[d] == 0.0
    np.testing.assert_allclose(found.D[chosen], 0.0, atol=1e-30)
    # With nothing chosen, the feature that was read once has r = mean product, about the mean of y.
    nothing = select(kept, 0, most=0, threshold=0.0)
    assert nothing.r[4] == pytest.approx((y[3] - y.mean()) * math.copysign(1.0, X[3, 4]))
    assert nothing.D[4] == pytest.approx(1.0 - 1.0 / n)


def test_an_empty_memory_selects_nothing_and_says_0() -> None:
    found = select(memories(3, [np.inf]), 0, most=2, threshold=0.0)
    assert len(found.chosen) == 0
    assert found.noise == 0.0
    assert not found.r.any()
    assert not found.D.any()


def test_of_features_that_explain_the_same_the_first_is_chosen() -> None:
    kept = memories(3, [np.inf])
    remember(kept, np.arange(3), SIGNS[:, [2, 0, 1]], SIGNS[:, 0] + SIGNS[:, 1])
    assert select(kept, 0, most=3, threshold=0.0).chosen.tolist() == [1, 2]
    sums = seen(SIGNS[:, [2, 0, 1]], SIGNS[:, 0] + SIGNS[:, 1])
    assert forward(np.arange(3), 3, 0.5, 1.0, sums).chosen.tolist() == [1, 2]


def test_four_reads_less_rounding_are_enough() -> None:
    kept = memories(1, [np.inf])
    remember(kept, np.array([0]), SIGNS[:4, :1], SIGNS[:4, 0])
    for reads, chosen in [(3.98, []), (3.99, [0]), (4.0, [0])]:
        kept.scale[0] = reads / 4.0
        assert select(kept, 0, most=1, threshold=0.0).chosen.tolist() == chosen


# --- Models from what was seen


def seen(X: Floats, y: Floats) -> Sums:
    sums = Sums(*SeenSums(X.shape[1]).arrays(), np.zeros(2))
    for x, label in zip(X, y.tolist(), strict=True):
        tell(np.arange(X.shape[1]), x.copy(), label, sums)
    return sums


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
    sums, places = seen(X, y), np.array(S)
    N, mean, deviation = slow_units(X)
    chosen, w, R = slow_seen(X, y, S, 3, gate, 0.7)
    fit = forward(places, 3, gate, 0.7, sums)
    assert fit.chosen.tolist() == chosen
    np.testing.assert_allclose(fit.w, w, rtol=1e-9)
    used = places[chosen]
    P = np.linalg.inv(R[np.ix_(chosen, chosen)]) / np.sqrt(np.outer(N[used], N[used]))
    for x in np.nan_to_num(X[:10], nan=1.0):
        z = ((x - mean) / deviation)[used]
        prediction = y.mean() + y.std() * float(w @ z) / (1.0 + float(z @ P @ z))
        expected = min(max(prediction, y.min()), y.max())
        assert weigh(x[S].copy(), fit, sums) == pytest.approx(expected, rel=1e-9)
    out = np.full(4, -1.0)
    intercept = natural(places, fit, sums, out)
    weights = np.full(4, -1.0)  # what was not chosen is left as it is
    weights[used] = w * y.std() / deviation[used]
    np.testing.assert_allclose(out, weights, rtol=1e-9)
    assert intercept == pytest.approx(y.mean() - weights[used] @ mean[used], rel=1e-9)


def test_pairs_that_were_never_seen_together_count_as_uncorrelated() -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0], [np.nan, 6.0]])
    y = np.array([1.0, 2.0, 1.0, 4.0])
    chosen, w, R = slow_seen(X, y, [0, 1], 2, 0.0, 0.5)
    assert R[0, 1] == 0.0
    fit = forward(np.arange(2), 2, 0.0, 0.5, seen(X, y))
    assert fit.chosen.tolist() == chosen
    np.testing.assert_allclose(fit.w, w)


def test_before_the_first_row_everything_is_0_and_one_row_is_its_label() -> None:
    nothing = seen(np.empty((0, 2)), np.empty(0))
    fit = forward(np.arange(2), 2, 0.0, 1.0, nothing)
    assert len(fit.chosen) == 0
    assert weigh(np.ones(2), fit, nothing) == 0.0
    assert natural(np.arange(2), fit, nothing, np.zeros(2)) == 0.0
    one = seen(np.array([[3.0, 5.0]]), np.array([-2.0]))
    fit = forward(np.arange(2), 2, 0.0, 1.0, one)
    assert len(fit.chosen) == 0
    assert weigh(np.ones(2), fit, one) == -2.0
    assert natural(np.arange(2), fit, one, np.zeros(2)) == -2.0
    assert one.limits.tolist() == [-2.0, -2.0]


def test_what_varies_by_rounding_alone_is_constant() -> None:
    """1e-12 of the mean square: 1 +- 3e-7 is constant, 1 +- 3e-6 is not."""
    y = np.array([1.0, -1.0] * 4)
    for part, chosen in [(3e-7, []), (3e-6, [0])]:
        sums = seen((1.0 + part * y)[:, None], y)
        assert forward(np.arange(1), 1, 0.0, 1.0, sums).chosen.tolist() == chosen


def test_units_are_those_of_the_rows_in_which_a_feature_was_seen() -> None:
    X = np.array([[1.0, np.nan, 7.0, 5.0], [3.0, np.nan, 7.0, np.nan], [np.nan, np.nan, 7.0, 2.0]])
    y = np.array([1.0, 2.0, 6.0])
    rows, means, inverses, products = measure(np.arange(4), seen(X, y))
    assert rows.tolist() == [2.0, 0.0, 3.0, 2.0]
    np.testing.assert_allclose(means, [2.0, 0.0, 7.0, 3.5])
    np.testing.assert_allclose(inverses, [1.0, 0.0, 0.0, 1 / 1.5])  # 0 for what is constant
    # mean of (x - mean) y, in units of both deviations
    np.testing.assert_allclose(products, np.array([0.5, 0.0, 0.0, -3.75 / 1.5]) / y.std())
    # A label that is constant has no products, and no feature explains it.
    assert not measure(np.arange(4), seen(X, np.full(3, 0.1)))[3].any()


def test_at_least_a_twentieth_of_the_label_counts_as_unexplained() -> None:
    """Shares 0.96, 0.03 and 0.01 of 16 rows: the second has 0.48 rows, against gate^2 0.05."""
    sums = seen(SIGNS[:, :2], SIGNS @ np.sqrt([0.96, 0.03, 0.01]))
    for squared, chosen in [(9.5, [0, 1]), (9.7, [0])]:
        assert forward(np.arange(2), 2, math.sqrt(squared), 1e-9, sums).chosen.tolist() == chosen
    # Shares 0.7, 0.2 and 0.1: the second has 3.2 rows, against gate^2 0.3, which was left.
    sums = seen(SIGNS[:, :2], SIGNS @ np.sqrt([0.7, 0.2, 0.1]))
    for squared, chosen in [(10.6, [0, 1]), (10.7, [0])]:
        assert forward(np.arange(2), 2, math.sqrt(squared), 1e-9, sums).chosen.tolist() == chosen


def test_a_feature_of_which_less_than_a_twentieth_is_new_is_passed_over() -> None:
    for part, chosen in [(0.045, [0]), (0.055, [0, 1])]:
        mixed = math.sqrt(1.0 - part) * SIGNS[:, 0] + math.sqrt(part) * SIGNS[:, 1]
        sums = seen(np.column_stack([SIGNS[:, 0], mixed]), 2.0 * SIGNS[:, 0] - 0.3 * SIGNS[:, 1])
        assert forward(np.arange(2), 2, 0.0, 1e-9, sums).chosen.tolist() == chosen


def test_the_answer_stays_between_the_labels() -> None:
    x = np.array([1.0, -1.0] * 5)
    sums = seen(x[:, None], 4.0 * x + 1.0)
    fit = forward(np.arange(1), 1, 0.0, 1e-6, sums)
    assert weigh(np.array([2.0]), fit, sums) == 5.0
    assert weigh(np.array([-2.0]), fit, sums) == -3.0
    far: Fit = fit._replace(w=-fit.w)
    assert weigh(np.array([2.0]), far, sums) == -3.0


# --- VAW and the Newton step where numbers are too large


def test_a_row_too_large_for_vaw_teaches_nothing() -> None:
    Px = np.full(2, 9.0)
    plain = vaw.forward(np.eye(2), np.array([2.0, 3.0]), np.array([1.0, -1.0]), Px)
    assert plain == (-1.0, 3.0)
    assert Px.tolist() == [1.0, -1.0]
    # theta.x overflows: 0. x'Px overflows, or P x is too large: only theta.x is left.
    assert vaw.forward(np.eye(2), np.full(2, 1e200), np.full(2, 1e120), Px) == (0.0, 1.0)
    assert not Px.any()
    assert vaw.forward(np.eye(2), np.array([2.0, 3.0]), np.full(2, 2.0**505), Px) == (
        5.0 * 2.0**505,
        1.0,
    )
    assert not Px.any()
    for large in (1e150, 1e160):
        Px[:] = 9.0
        assert vaw.forward(np.diag([large, 1.0]), np.ones(2), np.ones(2), Px) == (2.0, 1.0)
        assert not Px.any()
    assert vaw.forward(np.eye(2), np.array([1e300, 0.0]), np.ones(2), Px) == (0.0, 1.0)
    # A rounded P may be indefinite: 1 + x'Px of 1/2 or less is no weight of a row.
    for part, s in [(-0.49, 0.51), (-0.5, 1.0), (-3.0, 1.0)]:
        along, found = vaw.forward(part * np.eye(1), np.ones(1), np.ones(1), Px[:1])
        assert along == 1.0
        assert found == pytest.approx(s)
        assert Px[0] == (part if s < 1.0 else 0.0)


def test_a_step_of_vaw_is_the_inverse_with_one_row_more() -> None:
    P, theta, x = np.array([[0.5, 0.1], [0.1, 0.4]]), np.array([1.0, -2.0]), np.array([2.0, 3.0])
    A, b = np.linalg.inv(P), np.linalg.inv(P) @ theta
    state = VAWState(P.copy(), theta.copy(), np.ones((2, 2)), np.ones(2))
    vaw.update(state, x, 1.5)
    np.testing.assert_allclose(state.P, np.linalg.inv(A + np.outer(x, x)), rtol=1e-12)
    np.testing.assert_allclose(state.theta, np.linalg.solve(A + np.outer(x, x), b + 1.5 * x))
    np.testing.assert_array_equal(state.A, 1.0 + np.outer(x, x))
    np.testing.assert_array_equal(state.b, 1.0 + 1.5 * x)


def test_vaw_plays_the_ridge_solution_with_the_row_inside() -> None:
    model, x = VAW(2, 0.5), np.array([1.0, -1.0])
    model.update(np.array([2.0, 1.0]), 3.0)
    A = 0.5 * np.eye(2) + np.outer([2.0, 1.0], [2.0, 1.0]) + np.outer(x, x)
    expected = np.linalg.solve(A, 3.0 * np.array([2.0, 1.0]))
    np.testing.assert_allclose(model.played(x), expected, rtol=1e-12)
    assert model.predict(x) == pytest.approx(float(expected @ x))


def test_without_a_ridge_a_row_twice_as_long_does_not_raise_it() -> None:
    model = VAW(1, 0.0)
    assert not model.P.any()
    for x, ridge in [(0.0, 0.0), (1.0, 1e-6), (2.0, 1e-6), (2.5, 6.25e-6), (1.0, 6.25e-6)]:
        model.update(np.array([x]), 1.0)
        assert model.ridge == pytest.approx(ridge)


def test_after_1024_updates_vaw_is_worked_out_anew_from_its_sums() -> None:
    model = VAW(2, 2.0)
    model.A[:], model.b[:] = [[2.0, 1.0], [1.0, 3.0]], [4.0, 5.0]
    model.count(1023)
    assert not model.theta.any()
    model.count(1)
    P = np.linalg.inv(np.array([[4.0, 1.0], [1.0, 5.0]]))
    np.testing.assert_allclose(model.P, P, rtol=1e-12)
    np.testing.assert_allclose(model.theta, P @ [4.0, 5.0], rtol=1e-12)
    assert model.until_refresh == 1024


def test_a_newton_step_on_a_row_too_large_learns_the_range_alone() -> None:
    for x, P, first in [
        (np.zeros(2), np.eye(2), 1.0),
        (np.full(2, 1e151), np.eye(2), 1.0),
        (np.array([1.0, 0.0]), np.diag([1e150, 1.0]), 1.0),
        (np.array([1.0, 0.0]), np.eye(2), 1e300),
    ]:
        u, A, limits = np.array([first, -2.0]), np.eye(2), np.array([1.0, 2.0])
        before = P.copy()
        prediction = newton.step(u, P, A, limits, x, -4.0)
        assert prediction == min(max(float(u @ x), -1.0), 1.0)
        assert limits.tolist() == [4.0, max(2.0, abs(prediction + 4.0))]
        assert u.tolist() == [first, -2.0]
        np.testing.assert_array_equal(P, before)
        np.testing.assert_array_equal(A, np.eye(2))
    # inf - inf is no prediction.
    limits = np.array([3.0, 0.0])
    assert newton.predict(np.array([1e200, -1e200]), limits, np.full(2, 1e150)) == 0.0
    assert newton.predict(np.array([1e200, 0.0]), limits, np.full(2, 1e150)) == 3.0
    assert newton.predict(np.array([-1e200, 0.0]), limits, np.full(2, 1e150)) == -3.0


def test_a_label_that_was_met_exactly_moves_nothing() -> None:
    u, P, A, limits = np.array([2.0]), np.eye(1), np.eye(1), np.array([5.0, 0.0])
    assert newton.step(u, P, A, limits, np.ones(1), 2.0) == 2.0
    assert u.tolist() == [2.0]
    assert A.tolist() == P.tolist() == [[1.0]]
    assert limits.tolist() == [5.0, 0.0]


# --- Inverses


def test_of_a_stack_only_what_cannot_be_inverted_counts_as_uncorrelated() -> None:
    good, bad = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[4.0, 4.0], [4.0, 4.0]])
    stack = inverse(np.array([good, bad]))
    np.testing.assert_allclose(stack[1], np.diag([0.25, 0.25]))
    np.testing.assert_allclose(inverse(np.array([good, good]))[1], np.linalg.inv(good))
    np.testing.assert_array_equal(inverse(np.zeros((2, 2))), np.zeros((2, 2)))
    np.testing.assert_array_equal(inverse(np.diag([2.0, 0.0])), np.diag([0.5, 0.0]))
    huge = np.array([[1e300, 0.0], [0.0, 1e-300]])
    np.testing.assert_allclose(inverse(huge), np.diag([1e-300, 1e300]))


def test_of_a_solution_what_overflows_is_0() -> None:
    P, b = np.array([[1e200, 0.0], [0.0, 2.0]]), np.array([1e200, 3.0])
    assert solution(P, b).tolist() == [0.0, 6.0]
    assert solution(np.array([P, np.eye(2)]), np.array([b, b])).tolist() == [[0.0, 6.0], b.tolist()]


def test_gauss_and_jordan_invert_in_place() -> None:
    rng = np.random.default_rng(0)
    for v in range(5):
        B = rng.standard_normal((v, v + 3))
        A = B @ B.T
        root = np.sqrt(np.diag(A))
        A = A / np.outer(root, root)
        inverted = A.copy()
        ensembles.invert(inverted)
        np.testing.assert_allclose(inverted, np.linalg.inv(A), rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(inverted, inverted.T)
    copies = np.ones((2, 2))  # the second pivot is 0: 1e-12 stands for it
    ensembles.invert(copies)
    np.testing.assert_allclose(copies, np.array([[1.0, -1.0], [-1.0, 1.0]]) / 1e-12, rtol=1e-9)


def test_a_run_from_a_memory_that_forgets_has_seen_its_rows_with_their_weights() -> None:
    """A = R + sum a_t z_t z_t', b = sum a_t y_t z_t, a_t = exp(-age / tau), with the constant."""
    rng = np.random.default_rng(4)
    X, y, tau = rng.standard_normal((9, 3)), rng.standard_normal(9), 3.0
    kept = memories(3, [np.inf, tau])
    for x, label in zip(X, y.tolist(), strict=True):
        remember(kept, np.arange(3), x[None], np.array([label]))
    weight = np.exp(-np.arange(8, -1, -1) / tau)
    runs, sizes = ensembles.ensemble(1, 3), np.array([0.5, 1.0, 2.0])
    runs.place[0], runs.size[0] = [2, 0, 3], 3
    origin = ensembles.Start(1, sizes, 0.7)
    ensembles.start(runs, 0, np.arange(4), kept, origin)
    Z = np.column_stack([X[:, [2, 0]], np.ones(9)])
    A = np.diag([0.7 * 4.0, 0.7 * 0.25, 1.0]) + (Z.T * weight) @ Z
    np.testing.assert_allclose(runs.P[0], np.linalg.inv(A), rtol=1e-9)
    theta = np.linalg.solve(A, (Z.T * weight) @ y)
    np.testing.assert_allclose(runs.theta[0], theta, rtol=1e-9)
    row, guesses = np.array([0.3, 9.0, -1.0, 1.0]), np.empty(1)
    ensembles.guess(runs, row, guesses)
    z = row[[2, 0, 3]]
    assert guesses[0] == pytest.approx(theta @ z / (1.0 + z @ np.linalg.solve(A, z)))
    ensembles.learn(runs, 2.0)
    more = A + np.outer(z, z)
    np.testing.assert_allclose(runs.P[0], np.linalg.inv(more), rtol=1e-9)
    np.testing.assert_allclose(runs.theta[0], np.linalg.solve(more, A @ theta + 2.0 * z), rtol=1e-9)


# --- Rounds that read the same features every time


@pytest.mark.parametrize("centre", [False, True])
def test_rounds_on_a_fixed_subset_are_vaw_on_filled_rows(centre: bool) -> None:
    """Means of what arrived before stand in for what is absent; centred, they are taken off."""
    rng = np.random.default_rng(3)
    support, d, n = np.array([1, 3]), 5, 12
    X, y = rng.standard_normal((n, d)) + 2.0, rng.standard_normal(n) + 5.0
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0, 1], X[0, 3] = np.nan, 4.0
    X[5, 3] = 1e-200  # too small to be squared: 0
    size = 3 if centre else 2
    model, played = VAW(size, 0.5), VAW(size, 0.5)
    arrived = Arrived(np.zeros(3), np.zeros(3, dtype=np.int64))
    past = Arrived(np.zeros(3), np.zeros(3, dtype=np.int64))
    expected = list[float]()
    for t in range(n):
        values = np.where(np.abs(X[t, support]) < 1e-150, 0.0, X[t, support])
        before = [X[:t, j][~np.isnan(X[:t, j])] for j in support]
        means = np.array([b.mean() if len(b) else 0.0 for b in before])
        x = np.where(np.isnan(values), means, values)
        offset = float(y[:t].mean()) if t else 0.0
        if centre:
            x = np.append(np.where([len(b) > 0 for b in before], x - means, 0.0), 1.0)
        told = offset + model.predict(x) if centre else model.predict(x)
        expected.append(told)
        assert fixed_subset.predict(values, centre, played.arrays(), past) == pytest.approx(
            told, rel=1e-9
        )
        # The first label is its own mean.
        model.update(x, float(y[t]) - ((offset if t else float(y[t])) if centre else 0.0))
        fixed_subset.learn(values, float(y[t]), centre, played.arrays(), past)
    whole = VAW(size, 0.5)
    block = block_of(X, y, 3)
    assert fixed_subset.play(block, support, centre, whole.arrays(), arrived) == n
    np.testing.assert_allclose(block.predictions, expected, rtol=1e-9, atol=1e-12)
    assert block.bought.tolist() == [[1, 3, -1]] * n
    for mine, own in zip(whole.arrays(), played.arrays(), strict=True):
        np.testing.assert_array_equal(mine, own)
    for mine, slow in zip(whole.arrays(), model.arrays(), strict=True):
        np.testing.assert_allclose(mine, slow, rtol=1e-9, atol=1e-10)
    for sums in (arrived, past):
        counts = [*(~np.isnan(X[:, support])).sum(axis=0).tolist(), n]
        assert sums.counts.tolist() == counts
        np.testing.assert_allclose(sums.sums, [*np.nansum(X[:, support], axis=0), y.sum()])


def test_a_block_on_a_fixed_subset_ends_before_what_is_too_large() -> None:
    X, y = np.ones((4, 3)), np.ones(4)
    X[1, 0] = 1e200  # not read
    X[2, 2] = -1e200
    arrived = Arrived(np.zeros(3), np.zeros(3, dtype=np.int64))
    block = block_of(X, y, 2)
    assert fixed_subset.play(block, np.array([1, 2]), False, VAW(2).arrays(), arrived) == 2
    assert arrived.counts.tolist() == [2, 2, 2]


# --- g(S)


def test_one_feature_alone_has_a_residual_and_a_gain() -> None:
    G, c = np.eye(1), np.array([0.6])
    for n, S, left, gain in [(1, [], 1.0, 0.36), (1, [0], 0.64, 0.0), (2, [0, 0], 0.32, 0.0)]:
        assert residual(G, c, 1.0, n, S) == pytest.approx(left)
        np.testing.assert_allclose(marginal_gains(G, c, 1.0, n, S), [gain], atol=1e-15)
    assert greedy(G, c, 1.0, 1, 3)[0].tolist() == [0]
    nothing, left = greedy(G, c, 1.0, 1, 0)
    assert len(nothing) == 0
    assert left == 1.0


def test_a_feature_that_is_new_by_less_than_1e_10_adds_nothing() -> None:
    for part, new in [(0.5e-10, False), (2e-10, True)]:
        # x = (1, 0), z = (1, sqrt part): of z's square, part is new. The label is the new one.
        root = math.sqrt(part)
        G, c = np.array([[1.0, 1.0], [1.0, 1.0 + part]]), np.array([0.0, root])
        gain = marginal_gains(G, c, 1.0, 1, [0])[1]
        assert gain == (pytest.approx(1.0, rel=1e-4) if new else 0.0)


def test_a_feature_that_is_0_throughout_gains_nothing_and_may_be_chosen() -> None:
    G, c = np.diag([1.0, 0.0, 4.0]), np.array([0.5, 0.0, 1.0])
    levels, gains = slot_gains(G, c, 1.0, 1, [1, 2, 0])
    np.testing.assert_allclose(levels, [1.0, 1.0, 0.75])
    np.testing.assert_allclose(gains, [[0.25, 0.0, 0.25], [0.25, 0.0, 0.25], [0.25, 0.0, 0.0]])


def test_rounding_never_makes_a_level_or_gain_negative() -> None:
    levels, gains = slot_gains(np.eye(2), np.array([2.0, 0.1]), 1.0, 1, [0, 1])
    assert levels.tolist() == [1.0, 0.0]
    assert gains.tolist() == [[1.0, pytest.approx(0.01)], [0.0, 0.0]]  # no more than there is
    levels, _ = slot_gains(np.eye(2), np.zeros(2), -1e-9, 1, [0])
    assert levels.tolist() == [0.0]


# --- The k largest


def test_the_k_largest_without_zeros() -> None:
    w = np.array([0.5, 0.0, -2.0, 2.0, 0.0, -0.1])
    for k, S in [
        (0, []),
        (1, [2]),
        (2, [2, 3]),
        (3, [0, 2, 3]),
        (5, [0, 2, 3, 5]),
        (9, [0, 2, 3, 5]),
    ]:
        assert top_k(w, k).tolist() == S
