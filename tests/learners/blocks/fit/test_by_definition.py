"""Kernels of fitting against their formulas, written out row by row on inputs of a few numbers.

Small enough to run as plain Python, where `tools.mutants` plants its bugs.
"""

import math

import numpy as np
import pytest

from keyhole.learners.blocks.draw.philox import words
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.blocks.fit import vaw as ensembles
from keyhole.learners.blocks.fit.linear_algebra import inverse, solution
from keyhole.learners.blocks.fit.set_function import greedy, marginal_gains, residual, slot_gains
from keyhole.learners.blocks.fit.stepwise_selection import (
    OPTIMISM_PURPOSE,
    Selection,
    sampled_gains,
    select,
)
from keyhole.learners.blocks.fit.vaw import VAW
from keyhole.learners.blocks.sums.memories import memories, remember

# Three columns of signs, each orthogonal to the others and to the constant.
SIGNS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]] * 4)


# --- Optimism: the normal numbers are those of Box and Muller


def test_optimism_is_drawn_by_box_and_muller() -> None:
    """(r + sqrt(noise D / n) g)^2 / D with r so large that its sign is known gives g."""
    d, t, seed = 10, 7, np.uint64(3)
    normals = list[float]()
    for block in range(3):
        u = [float(w) / 2.0**32 for w in words(seed, t, OPTIMISM_PURPOSE, block)]
        for radius, angle in ((u[0], u[1]), (u[2], u[3])):
            size = math.sqrt(-2 * math.log(1 - radius))
            normals += [size * math.cos(2 * math.pi * angle), size * math.sin(2 * math.pi * angle)]
    g, n = 0.5 * np.array(normals[:d]), np.arange(1.0, d + 1)
    none, score = np.empty(0), np.empty(d)
    r, D = np.full(d, 40.0), np.linspace(0.2, 1.0, d)
    found = Selection(none.astype(np.int64), none, r, D, 3.0, n)
    sampled_gains(seed, t, found, 0.5, score)
    np.testing.assert_allclose(score, (40.0 + np.sqrt(3.0 * D / n) * g) ** 2 / D, rtol=1e-12)
    constant = found._replace(r=0.0 * r, D=0.0 * D)
    sampled_gains(seed, t, constant, 0.5, score)
    np.testing.assert_allclose(score, 3.0 * (np.array(normals[:d]) ** 2 + g**2) / n, rtol=1e-12)
    sampled_gains(seed, t, constant._replace(counts=0.0 * n), 0.5, score)  # all forgotten
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


def test_four_reads_less_rounding_are_enough() -> None:
    kept = memories(1, [np.inf])
    remember(kept, np.array([0]), SIGNS[:4, :1], SIGNS[:4, 0])
    for reads, chosen in [(3.98, []), (3.99, [0]), (4.0, [0])]:
        kept.scale[0] = reads / 4.0
        assert select(kept, 0, most=1, threshold=0.0).chosen.tolist() == chosen


# --- VAW where numbers are too large


def vaw_of(P: list[list[float]], theta: list[float]) -> VAW:
    model = VAW(len(theta))
    model.P[:], model.theta[:] = P, theta
    return model


def test_a_row_too_large_for_vaw_teaches_nothing() -> None:
    """The prediction is theta.x / (1 + x'Px); what teaches nothing is added to the sums alone."""
    one = [[1.0, 0.0], [0.0, 1.0]]
    assert vaw_of(one, [2.0, 3.0]).predict(np.array([1.0, -1.0])) == -1.0 / 3.0
    for P, theta, x, prediction in [
        # theta.x overflows: 0. x'Px overflows, or P x is too large: only theta.x is left.
        (one, [1e200, 1e200], [1e120, 1e120], 0.0),
        (one, [2.0, 3.0], [2.0**505, 2.0**505], 5.0 * 2.0**505),
        ([[1e150, 0.0], [0.0, 1.0]], [1.0, 1.0], [1.0, 1.0], 2.0),
        ([[1e160, 0.0], [0.0, 1.0]], [1.0, 1.0], [1.0, 1.0], 2.0),
        (one, [1e300, 0.0], [1.0, 1.0], 0.0),
        # A rounded P may be indefinite: 1 + x'Px of 1/2 or less is no weight of a row.
        ([[-0.5]], [1.0], [1.0], 1.0),
        ([[-3.0]], [1.0], [1.0], 1.0),
    ]:
        model = vaw_of(P, theta)
        assert model.predict(np.array(x)) == prediction
        model.update(np.array(x), 1.0)
        assert model.P.tolist() == P
        assert model.theta.tolist() == theta
        np.testing.assert_array_equal(model.A, np.outer(x, x))
        np.testing.assert_array_equal(model.b, x)
    model = vaw_of([[-0.49]], [1.0])
    assert model.predict(np.ones(1)) == pytest.approx(1.0 / 0.51)


def test_a_step_of_vaw_is_the_inverse_with_one_row_more() -> None:
    P, theta, x = [[0.5, 0.1], [0.1, 0.4]], [1.0, -2.0], np.array([2.0, 3.0])
    A, b = np.linalg.inv(P), np.linalg.inv(P) @ theta
    model = vaw_of(P, theta)
    model.A[:], model.b[:] = 1.0, 1.0
    model.update(x, 1.5)
    np.testing.assert_allclose(model.P, np.linalg.inv(A + np.outer(x, x)), rtol=1e-12)
    np.testing.assert_allclose(model.theta, np.linalg.solve(A + np.outer(x, x), b + 1.5 * x))
    np.testing.assert_array_equal(model.A, 1.0 + np.outer(x, x))
    np.testing.assert_array_equal(model.b, 1.0 + 1.5 * x)


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
    for _ in range(1023):
        model.update(np.zeros(2), 1.0)
    assert not model.theta.any()
    model.update(np.zeros(2), 1.0)
    P = np.linalg.inv(np.array([[4.0, 1.0], [1.0, 5.0]]))
    np.testing.assert_allclose(model.P, P, rtol=1e-12)
    np.testing.assert_allclose(model.theta, P @ [4.0, 5.0], rtol=1e-12)
    assert model.until_refresh == 1024


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
