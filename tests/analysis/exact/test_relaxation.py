"""The parts of the relaxation by what they are defined to be, on a handful of columns."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from keyhole.analysis.exact.branch_and_bound import IN, OPEN, OUT, Split, States, spread
from keyhole.problem import Floats
from tests.helpers import exact_parts as relaxation
from tests.helpers.exact_parts import at as point_at


def states(*values: int) -> States:
    return np.array(values, dtype=np.int8)


def problem(m: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """G and c in scaled units, and the simplest split: R = G - e I."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * m, m)) + 0.7 * rng.normal(size=(3 * m, 1))
    y = X @ rng.normal(size=m) + rng.normal(size=3 * m)
    X, y = X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y)
    G = X.T @ X
    least = float(np.linalg.eigvalsh(G)[0]) * rng.uniform(0.5, 1.0, m)
    return G, X.T @ y, G - np.diag(least), least


def rss(G: Floats, c: Floats, S: tuple[int, ...]) -> float:
    part = list(S)
    return 1.0 - float(c[part] @ np.linalg.solve(G[np.ix_(part, part)], c[part])) if part else 1.0


def test_a_sweep_of_the_spread_takes_the_best_step_along_each_coordinate() -> None:
    rng = np.random.default_rng(0)
    G = problem(5, 0)[0]
    for mu, least in ((0.05, 0.0), (0.2, 0.0), (0.02, 0.01)):
        delta, weight = np.full(5, max(least, 0.02)), rng.uniform(0.2, 1.0, 5)
        P = np.asarray(np.linalg.inv(G - np.diag(delta)), dtype=np.float64)
        expected = delta.copy()
        for j in range(5):
            # weight_j - mu P_jj(t) = 0, where P_jj(t) = 1 / (1 / P_jj - t)
            now = np.linalg.inv(G - np.diag(expected))[j, j]
            expected[j] = max(expected[j] + 1.0 / now - mu / weight[j], least)
        spread(P, delta, weight, np.array([mu]), least)
        np.testing.assert_allclose(delta, expected, atol=1e-12)
        np.testing.assert_allclose(P, np.linalg.inv(G - np.diag(expected)), rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_of_the_open_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v, state = rng.integers(0, 6, 7) / 4.0, rng.integers(0, 3, 7).astype(np.int8)
    for r in range(1, 7):
        order = [*sorted(v[state == OPEN], reverse=True), *np.zeros(8)]
        assert relaxation.largest(v, state, r) == (sum(order[:r]), order[r - 1], order[r])


def price(q: Floats, e: float, lam: float, state: int) -> Floats:
    """min over 0 < z <= 1 of e q^2 / z + lam z, by a fine grid of z; z = 1 for what is in."""
    if state == IN:
        return np.asarray(e * q**2)
    z = np.linspace(1e-4, 1.0, 4001)
    return np.asarray((e * q[:, None] ** 2 / z + lam * z).min(axis=1))


@pytest.mark.parametrize("state", [OPEN, IN])
@pytest.mark.parametrize("lam", [0.001, 0.02, 0.3])
def test_a_coordinate_goes_where_its_part_of_the_relaxation_is_least(
    lam: float, state: int
) -> None:
    _, c, R, e = problem(4, 1)
    R = R.copy()
    R[3], R[:, 3] = 0.0, 0.0  # a column without any R of its own
    for j, at in itertools.product(range(4), (-0.8, -0.1, 0.0, 0.1, 0.8)):
        for sign in (1.0, -1.0):
            q = np.full(4, 0.05)
            q[j] = at
            kinds = states(*(state if i == j else OUT for i in range(4)))
            g = sign * c - R @ q
            moved = relaxation.sweep(R, e, kinds, lam, q, g, True)
            np.testing.assert_allclose(g, sign * c - R @ q, atol=1e-12)
            assert moved == pytest.approx(abs(q[j] - at) * math.sqrt(e[j]))
            assert np.delete(q, j).tolist() == [0.05] * 3
            b = g[j] + R[j, j] * q[j]
            grid = q[j] + np.linspace(-1.0, 1.0, 401) * (abs(q[j]) + 0.1)
            cost = R[j, j] * grid**2 - 2.0 * b * grid + price(grid, e[j], lam, state)
            here = R[j, j] * q[j] ** 2 - 2.0 * b * q[j]
            here += float(price(np.array([q[j]]), e[j], lam, state)[0])
            assert here <= cost.min() + 1e-6 * (abs(cost).max())


def test_a_sweep_is_one_coordinate_after_the_other() -> None:
    _, c, R, e = problem(6, 2)
    kinds = states(OPEN, IN, OUT, OPEN, OPEN, OPEN)
    start = np.array([0.1, -0.1, 0.3, 0.0, 0.2, 0.0])
    for whole in (True, False):
        q, expected = start.copy(), start.copy()
        g = c - R @ q
        moved = relaxation.sweep(R, e, kinds, 0.001, q, g, whole)
        steps = [0.0]
        for j in range(6):
            if kinds[j] != OUT and (whole or start[j] != 0.0):
                alone = states(*(kinds[i] if i == j else OUT for i in range(6)))
                steps.append(relaxation.sweep(R, e, alone, 0.001, expected, c - R @ expected, True))
        np.testing.assert_allclose(q, expected, atol=1e-12)
        np.testing.assert_allclose(g, c - R @ q, atol=1e-12)
        assert moved == pytest.approx(max(steps))
        assert moved > 0.0
        assert (q[3] != 0.0 or q[5] != 0.0) == whole


def test_both_ends_of_the_dual_bound() -> None:
    _, c, R, e = problem(6, 3)
    kinds, q = states(OPEN, IN, OUT, OPEN, IN, OPEN), np.random.default_rng(3).normal(size=6)
    for r in (1, 2):
        v = np.full(6, np.nan)
        base, bound = relaxation.dual(c, e, kinds, r, q, c - R @ q, v)
        expected = np.where(kinds == OUT, 0.0, (c - R @ q) ** 2 / e)
        np.testing.assert_allclose(v, expected)
        assert base == pytest.approx(1.0 - q @ R @ q)
        open_ones = sorted(expected[kinds == OPEN])[-r:]
        assert bound == pytest.approx(base - expected[kinds == IN].sum() - sum(open_ones))


def test_a_point_far_out_pays_for_rounding() -> None:
    """q'Rq is 0 here; sums of numbers as large as q'q may have lost 1e-15 of them per column."""
    q, nothing = np.array([1e6, -2e6, 0.5e6, 0.0]), np.zeros(4)
    base, bound = relaxation.dual(nothing, np.ones(4), states(0, 1, 2, 0), 1, q, nothing, q.copy())
    assert base == bound == pytest.approx(1.0 - 4e-15 * 3.5e6**2)


def relaxed(c: Floats, R: Floats, e: Floats, kinds: States, r: int) -> float:
    """The relaxation by a general solver: min over z of 1 - c'(R + diag(e / z))^-1 c."""
    some, free = np.flatnonzero(kinds != OUT), np.flatnonzero(kinds == OPEN)

    def value(z: Floats) -> float:
        full = np.ones(len(c))
        full[free] = np.maximum(z, 1e-9)
        inner = R[np.ix_(some, some)] + np.diag(e[some] / full[some])
        return 1.0 - float(c[some] @ np.linalg.solve(inner, c[some]))

    found = minimize(
        value,
        np.full(len(free), r / len(free)),
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * len(free),
        constraints=LinearConstraint(np.ones((1, len(free))), -np.inf, r),
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun)


# Those of 5 and 10 columns overshoot, so that their price has to be bracketed.
HARD = [(5, 2, 1), (5, 21, 1), (5, 23, 1), (5, 21, 4), (5, 35, 4), (5, 36, 4), (10, 24, 2)]


@pytest.mark.parametrize(("m", "seed", "r"), [*HARD, *((7, i, 2 + i % 2) for i in range(8))])
def test_the_relaxation_is_solved_in_a_few_rounds(m: int, seed: int, r: int) -> None:
    G, c, R, e = problem(m, seed)
    state = states(*[OPEN] * m)
    if seed in (6, 7):
        state[1], state[2], state[6] = IN, OUT, IN
    optimum = relaxed(c, R, e, state, r)
    always = tuple(np.flatnonzero(state == IN).tolist())
    free = np.flatnonzero(state == OPEN).tolist()
    best = min(rss(G, c, (*always, *S)) for S in itertools.combinations(free, r))
    assert optimum <= best + 1e-9
    near = 1e-4 if m == 7 else 0.004
    for lam, at, rounds, share in (
        (0.0, 0.0, 60, near),
        (0.0, 0.1, 12, near),
        (0.0, 0.0, 8, 0.005),
        (1.0, 0.0, 12, 0.05),
        (1e-4, 1.0, 12, 0.05),
    ):
        # No subset loses all of y'y: a goal of that settles nothing, there is one relaxation.
        node = point_at(state, np.full(m, at))
        bound, slack, price_of, *_ = relaxation.settle(
            Split(R, e, c), r + len(always), node, lam, 1.0, rounds, np.empty(m, dtype=np.int64)
        )
        q, v = node.q, node.v
        base = slack + float(v[state == IN].sum())
        assert node.state.tolist() == state.tolist()
        assert (q[state == OUT] == 0.0).all()
        again = np.empty(m)
        expected = relaxation.dual(c, e, state, r, q, c - R @ q, again)
        assert (base, bound) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(v, again, atol=1e-12)
        assert price_of > 0.0
        assert bound <= optimum + 1e-9
        assert optimum - bound <= share * (1.0 - optimum)


def test_a_bound_that_is_good_enough_ends_the_relaxation() -> None:
    """Its first round is above the goal: the point is the one of a single round."""
    _, c, R, e = problem(7, 0)
    points = []
    for goal, rounds in ((-10.0, 60), (-10.0, 1), (1.0, 1)):
        node, S = point_at(states(*[0] * 7)), np.empty(2, dtype=np.int64)
        _, slack, lam, *_ = relaxation.settle(Split(R, e, c), 2, node, 0.0, goal, rounds, S)
        points.append((slack, lam, *node.q, *node.v))
    assert points[0] == points[1] == points[2]


@pytest.mark.parametrize("seed", range(30))
def test_what_is_settled_is_what_every_better_subset_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.0, 1.0, 7)
    if seed % 3 == 0:
        v = np.round(4.0 * v) / 4.0  # ties
    state = np.where(rng.random(7) < 0.2, rng.integers(1, 3, 7), OPEN).astype(np.int8)
    free = np.flatnonzero(state == OPEN).tolist()
    r = int(rng.integers(1, max(2, len(free) - 1)))
    slack = 3.0
    sums = {S: slack - sum(v[list(S)]) for S in itertools.combinations(free, r)}
    for share in (0.05, 0.3, 0.7):
        goal = min(sums.values()) * (1.0 - share) + max(sums.values()) * share + 1e-6
        levels = sorted(set(sums.values()))
        if seed % 3 == 0 and len(levels) > 1:  # exactly as good is not better
            goal = levels[1 + int(share * (len(levels) - 2))]
        better = [S for S, bound in sums.items() if bound < goal]
        expected, touched = state.copy(), False
        q = np.where(rng.random(7) < 0.5, 1.0, 0.0)
        kept = q.copy()
        for j in free:
            if not any(j in S for S in better):
                expected[j], kept[j] = OUT, 0.0
                touched |= bool(q[j] != 0.0)
            elif all(j in S for S in better):
                expected[j], touched = IN, True
        now = state.copy()
        assert relaxation.fix(v, now, r, slack, goal, q) == touched
        assert now.tolist() == expected.tolist()
        assert q.tolist() == kept.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_what_is_in_comes_first_then_the_best_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state, score = rng.integers(0, 3, 8).astype(np.int8), rng.integers(0, 4, 8).astype(np.float64)
    ins, free = np.flatnonzero(state == IN).tolist(), np.flatnonzero(state == OPEN).tolist()
    for k in range(max(len(ins), 1), 9):
        S = np.full(8, -5)
        told = relaxation.choose(state, k, score, S)
        best = sorted(free, key=lambda j: -score[j])[: k - len(ins)]
        assert told == (len(ins) + len(best), len(ins), len(free))
        assert S.tolist() == [*ins, *best, *[-5] * (8 - len(ins) - len(best))]


def members(state: States, kind: int) -> set[int]:
    return set(np.flatnonzero(state == kind).tolist())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("usable", [True, False])
def test_a_settled_node_has_lost_no_better_subset(seed: int, usable: bool) -> None:
    m, k, rng = 7, 3, np.random.default_rng(seed)
    G, c, R, e = problem(m, seed)
    begun = np.where(rng.random(m) < 0.15, rng.integers(1, 3, m), OPEN).astype(np.int8)
    begun[np.flatnonzero(begun == IN)[k - 1 :]] = OPEN
    inside = [
        S
        for S in itertools.combinations(range(m), k)
        if members(begun, IN) <= set(S) and not set(S) & members(begun, OUT)
    ]
    values = {S: rss(G, c, S) for S in inside}
    best, worst = min(values.values()), max(values.values())
    low = relaxed(c, R, e, begun, k - len(members(begun, IN))) if usable else 0.0
    for goal in (best - 1e-9, best + 1e-4, 0.9 * worst, 0.9 * low):
        node, S = point_at(begun), np.full(k, -1)
        split = Split(R, e if usable else 0.0 * e, c)
        bound, slack, lam, branch, size = relaxation.settle(split, k, node, 0.0, goal, 60, S)
        state, q, v = node.state, node.q, node.v
        chosen = set(S[:size].tolist())
        assert len(chosen) == size == k
        assert members(begun, IN) <= chosen
        better = [T for T, value in values.items() if value < goal]
        if bound == math.inf:
            assert branch == -1
            assert all(set(T) == chosen for T in better)
            continue
        assert not (usable and goal < low)  # the relaxation alone would do
        assert low - 0.005 * (1.0 - low) <= bound <= best + 1e-9
        for T, value in values.items():
            if members(state, IN) <= set(T) and not members(state, OUT) & set(T):
                free = [j for j in T if state[j] == OPEN]
                assert value >= slack - v[free].sum() - 1e-9
            else:
                assert value >= goal  # so that nothing is lost
        if usable:  # slack and v alone bound as well as the relaxation does
            r = k - len(members(state, IN))
            alone = slack - sum(sorted(v[state == OPEN])[-r:])
            assert alone >= low - 0.005 * (1.0 - low)
        z = np.minimum(1.0, np.abs(q) * np.sqrt(e / lam)) if usable else np.zeros(m)
        width = np.where(state == OPEN, z * (1.0 - z) + 1e-9 * c**2, -1.0)
        assert branch == int(np.argmax(width))
        if not usable:
            assert (bound, slack) == (0.0, 0.0)


@pytest.mark.parametrize("kinds", [(1, 2, 0, 2, 1, 2), (1, 0, 1, 0, 2, 1), (2, 0, 0, 2, 2, 0)])
def test_a_node_with_a_single_subset_is_done(kinds: tuple[int, ...]) -> None:
    """All places are taken, or there are no more candidates than places."""
    _, c, R, e = problem(6, 0)
    state, S = states(*kinds), np.full(3, -1)
    told = relaxation.settle(Split(R, e, c), 3, point_at(state), 0.0, 1.0, 60, S)
    only = np.flatnonzero(state == IN)
    if len(only) < 3:
        only = np.flatnonzero(state != OUT)
    assert (told[0], told[3], told[4]) == (math.inf, -1, 3)
    assert sorted(S.tolist()) == only.tolist()
