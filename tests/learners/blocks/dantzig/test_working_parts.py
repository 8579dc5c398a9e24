"""The working set, the table of the repair and the certificate, each by definition."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

from keyhole.learners.blocks.dantzig import homotopy as engine
from keyhole.learners.blocks.dantzig.path import (
    BOUND,
    BOUND_RATE,
    CENTRE,
    COLUMN,
    GAUGE,
    LARGEST_ENTRY,
    MOVE,
    RATE,
    ROW,
    SCALARS,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    TOO_WIDE,
    VALUE,
    Basis,
    rounded,
)
from keyhole.learners.blocks.dantzig.path import empty as new_basis
from keyhole.learners.blocks.dantzig.solve import NOWHERE
from keyhole.problem import Floats, Indices
from tests.helpers import dantzig_parts as parts
from tests.helpers.dantzig_parts import (
    ACROSS,
    DOWN,
    DUAL,
    HIGH,
    LEAST,
    LENGTH,
    LOW,
    MOST,
    PRIMAL,
    SLIGHT,
    TINY,
    Lines,
    Program,
    Rounding,
    WorkingSet,
)


def asked(d: int, seed: int) -> Program:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * d, d)) + 0.5 * rng.normal(size=(2 * d, 1))
    b = rng.normal(size=d)
    return Program(X.T @ X / (2 * d), b, rng.uniform(0.1, 0.3, d), float(np.abs(b).max()))


def empty(d: int) -> Lines:
    return Lines(np.full(d, np.nan), np.full(d, np.nan))


def gathered(program: Program, W: Indices, m: int) -> Floats:
    M = np.full((rounded(m), rounded(m)), np.nan)
    parts.gather(program.G, W, 0, m, M)
    return M


def multiplied(program: Program, held: WorkingSet, z: Basis, s: float, lines: Lines) -> None:
    parts.products(*program, held.W, z, s, *lines)


def loaded(program: Program, lines: Lines, wider_r: float, wider_q: float) -> Floats:
    load = np.empty(len(program.b))
    parts.loads(*program, *lines, wider_r, wider_q, load)
    return load


def newcomers(load: Floats, member: parts.Bools, quota: int, near: float, eager: bool) -> Any:
    found = np.empty(len(load), np.int64)
    return found[: parts.newcomers(load.copy(), member, quota, near, eager, found)].tolist()


def stopping(G: Floats, held: WorkingSet, z: Basis, quota: int) -> Any:
    found = np.empty(len(G), np.int64)
    return found[: parts.stopping(G, held.W, held.member, z, quota, found)].tolist()


def on(
    program: Program, members: list[int], E: list[int], A: list[int]
) -> tuple[WorkingSet, Basis]:
    """A working set in this order with rows E and columns A (places in it) in the basis."""
    d, m, n = len(program.b), len(members), len(E)
    W, member = np.full(d, -9), np.zeros(d, dtype=np.bool_)
    assert parts.join(W, 0, member, np.array(members, dtype=np.int64)) == m
    M = gathered(program, W, m)
    z = new_basis(m, rounded(m), m + 2)
    parts.fill(z, *program, W, 0)
    rng = np.random.default_rng(n)
    z.active[SCALARS, SIZE] = n
    for side, places in ((ROW, E), (COLUMN, A)):
        z.active[side, :n], z.place[side, places] = places, range(n)
        z.line[SIGN + side, places] = rng.choice([-1.0, 1.0], n)
    assert parts.invert(M, z)
    parts.recompute(M, z, program.size, False)
    return WorkingSet(W, member, M), z


def copied(z: Basis) -> Basis:
    return copy.deepcopy(z)


# --- The working set


def test_members_join_once_and_bring_their_entries() -> None:
    program = asked(30, 0)
    W, member = np.full(30, -9), np.zeros(30, dtype=np.bool_)
    assert parts.join(W, 0, member, np.array([7, 3, 7])) == 2
    assert parts.join(W, 2, member, np.array([3, 20, 0])) == 4
    assert W[:4].tolist() == [7, 3, 20, 0]
    assert np.flatnonzero(member).tolist() == [0, 3, 7, 20]
    M = gathered(program, W, 4)
    np.testing.assert_array_equal(M[:4, :4], program.G[np.ix_(W[:4], W[:4])])
    assert (M[:4, 4:16] == 0.0).all()
    held, z = WorkingSet(W, member, M), new_basis(4, 16, 6)
    parts.fill(z, *program, W, 0)
    for new in ([5, 3, 6], [], list(range(8, 26))):
        before = z.line.copy()
        old = z.place.shape[1]
        held, z = parts.widened(program, held, z, np.array(new, dtype=np.int64))
        m = z.place.shape[1]
        now = held.W[:m]
        assert now[:old].tolist() == W[:old].tolist()
        assert set(now.tolist()) == set(W[:old].tolist()) | set(new)
        assert m == len(set(now.tolist()))
        np.testing.assert_array_equal(held.M[:m, :m], program.G[np.ix_(now, now)])
        assert (held.M[:m, m : rounded(m)] == 0.0).all()
        assert held.M.shape[0] == held.M.shape[1] >= rounded(m)
        np.testing.assert_array_equal(z.line[CENTRE, :m], program.b[now])
        np.testing.assert_array_equal(z.line[BOUND + ROW, :m], program.lam[now])
        np.testing.assert_array_equal(z.line[:13, :old], before[:13, :old])
        assert (z.line[BOUND + COLUMN, :m] == 1.0).all()
        assert (z.place == -1).all()
    assert m == 23


def test_many_members_at_once_get_room() -> None:
    program = asked(60, 0)
    for old, m in ((0, 50), (10, 17), (16, 33), (16, 60)):
        held, z = on(program, list(range(60))[::-1][:old], [], [])
        new = np.arange(60)[::-1][old:m].copy()
        held, z = parts.widened(program, held, z, new)
        W = held.W[:m]
        assert W.tolist() == list(range(60))[::-1][:m]
        np.testing.assert_array_equal(held.M[:m, :m], program.G[np.ix_(W, W)])
        assert (held.M[:m, m : rounded(m)] == 0.0).all()


@pytest.mark.parametrize("n", [0, 1, 3, 5, 9])
def test_both_products_at_any_place_of_the_path(n: int) -> None:
    program, rng = asked(20, n), np.random.default_rng(n)
    members = rng.permutation(20)[:12].tolist()
    E, A = rng.permutation(12)[:n].tolist(), rng.permutation(12)[:n].tolist()
    held, z = on(program, members, E, A)
    z.basic[RATE : RATE + 2, :n] = rng.normal(size=(2, n))
    for s in (0.0, 0.4):
        w, u = np.zeros(20), np.zeros(20)
        u[held.W[E]] = z.basic[VALUE + ROW, :n] + s * z.basic[RATE + ROW, :n]
        w[held.W[A]] = z.basic[VALUE + COLUMN, :n] + s * z.basic[RATE + COLUMN, :n]
        lines = empty(20)
        multiplied(program, held, z, s, lines)
        np.testing.assert_allclose(lines.r, program.b - program.G @ w, atol=1e-10)
        np.testing.assert_allclose(lines.q, program.G @ u, atol=1e-10)


def test_what_holds_up_to_rounding() -> None:
    program = Program(np.eye(3), np.full(3, 2.0), np.array([0.5, 0.0, 1.0]), 2.0)
    slack = 1e-11 * 2.0
    for j, sign, side in itertools.product(range(3), (1.0, -1.0), ("r", "q")):
        for share, fine in ((0.9, True), (1.0, True), (1.1, False)):
            r, q = np.zeros(3), np.zeros(3)
            if side == "r":
                r[j] = sign * (program.lam[j] + share * slack)
            else:
                q[j] = sign * (1.0 + share * 1e-11)
            assert parts.holds(*program, r, q) == fine
            assert parts.feasible(*program, r) == (fine or side == "q")
            load = loaded(program, Lines(r, q), 0.0, 0.0)
            assert (load.max() <= 1.0) == fine  # what holds does not join


def test_loads_are_shares_of_bounds() -> None:
    program = Program(np.eye(4), np.full(4, 2.0), np.array([0.5, 0.0, 1.0, 0.25]), 2.0)
    lines = Lines(np.array([0.25, 0.0, -3.0, 0.1]), np.array([-0.2, 0.5, 0.1, -4.0]))
    plain = loaded(program, lines, 0.0, 0.0)
    assert plain == pytest.approx([0.5, 0.5, 3.0, 4.0])
    wider = loaded(program, lines, 3.0, 1.0)
    assert wider == pytest.approx([0.125, 0.25, 0.75, 2.0])
    tiny = Lines(np.full(4, 1e-6), np.zeros(4))  # a bound of 0 is widened as if it were 2e-6
    assert loaded(program, tiny, 3.0, 1.0)[1] == pytest.approx(1 / 6, rel=1e-4)


def test_newcomers_are_the_worst_outside() -> None:
    rng = np.random.default_rng(0)
    load, member = np.exp(rng.normal(size=40)), rng.random(40) < 0.3
    near = [j for j in range(40) if load[j] > 0.9 and not member[j]]
    assert newcomers(load, member, 40, 0.9, False) == near
    assert newcomers(load, member, len(near), 0.9, False) == near
    for quota in range(1, len(near)):
        some = newcomers(load, member, quota, 0.9, False)
        assert 1 <= len(some) <= quota
        assert set(some) <= set(near)
        left = [load[j] for j in near if j not in some]
        # The bins are 1/64 of the range of logarithms wide.
        width = (max(load[near]) / 0.9) ** (1 / 64)
        assert max(left) <= min(load[some]) * width
        assert len(some) >= min(quota, sum(load[near] > width * max(left)))
    calm = np.minimum(load, 1.0)
    assert newcomers(calm, member, 40, 0.9, False) == []
    assert newcomers(calm, member, 40, 0.9, True) == near
    assert newcomers(np.full(3, 0.9), np.zeros(3, np.bool_), 9, 0.9, True) == []
    same = newcomers(np.full(9, 2.0), np.zeros(9, np.bool_), 4, 0.9, False)
    assert same == [0, 1, 2, 3]  # all are alike: the first ones


def test_columns_that_stop_a_ray() -> None:
    program = asked(12, 3)
    program.G[:, 11] = program.G[11] = 0.0  # this one never does
    held, z = on(program, [4, 2, 9, 0], [3, 2], [2, 1])
    outside = np.array([j for j in range(12) if j not in (4, 2, 9, 0)])
    for stuck, sign, steps in ((-1, 1, [0.5, -2.0]), (0, 1, [0.5, -2.0]), (1, -1, [0.5, 0.25])):
        z.basic[MOVE + ROW, :2] = steps
        z.active[SCALARS, STUCK], z.active[SCALARS, STUCK_SIGN] = stuck, sign
        u = np.zeros(12)
        u[[0, 9]] = steps
        if stuck >= 0:
            u[held.W[stuck]] = sign
        moves = np.abs(program.G @ u)[outside]
        for least in (1e-6, float(np.median(moves))):  # in units of the largest step
            z.basic[GAUGE, LARGEST_ENTRY] = least / (1e-9 * np.abs(u).max())
            expected = outside[moves > least]
            assert stopping(program.G, held, z, 12) == expected.tolist()
            assert 11 not in expected
    z.basic[GAUGE, LARGEST_ENTRY] = 1e12  # then all of that is rounding
    assert stopping(program.G, held, z, 12) == []
    program.G[:] = 0.0  # one column moves, by as much as rounding may
    program.G[4, 5] = program.G[5, 4] = 1e-9 * 4.0
    z.basic[MOVE + ROW, :2] = 0.0
    z.active[SCALARS, STUCK], z.active[SCALARS, STUCK_SIGN] = 0, 1
    for largest, moved in ((4.0, list[int]()), (2.0, [5])):
        z.basic[GAUGE, LARGEST_ENTRY] = largest
        assert stopping(program.G, held, z, 12) == moved


def test_the_state_over_all_coordinates() -> None:
    program = asked(9, 4)
    held, z = on(program, [4, 2, 8, 0], [0, 2], [2, 1])
    z.line[BOUND_RATE, :4], z.line[BOUND_RATE + 1, :4] = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    z.line[RATE, :4], z.line[RATE + 1, :4] = [1.5, 2.5, 3.5, 4.5], [5.5, 6.5, 7.5, 8.5]
    small = copied(z)
    full = new_basis(9, 9, z.active.shape[1])
    parts.over_all(*program, held.W, z, full)
    W = held.W[:4]
    np.testing.assert_array_equal(full.line[CENTRE], program.b)
    np.testing.assert_array_equal(full.line[BOUND + ROW], program.lam)
    for i in (VALUE, RATE, BOUND_RATE, SIGN):
        for side in (ROW, COLUMN):
            np.testing.assert_array_equal(full.line[i + side, W], small.line[i + side, :4])
    for side in (ROW, COLUMN):
        assert full.active[side, :2].tolist() == W[small.active[side, :2]].tolist()
        assert full.place[side, W].tolist() == small.place[side].tolist()
        assert (np.delete(full.place[side], W) == -1).all()
    np.testing.assert_array_equal(full.inv, small.inv)


# --- The table


def lasso_like(m: int, S: list[int], seed: int) -> tuple[Program, WorkingSet, Basis, Lines]:
    """A basis with equal rows and columns S and equal signs; all of G is the working set."""
    program = asked(m, seed)
    held, z = on(program, list(range(m)), S, S)
    z.line[SIGN + COLUMN, S] = z.line[SIGN + ROW, S]
    parts.recompute(held.M, z, program.size, False)
    lines = empty(m)
    multiplied(program, held, z, 0.0, lines)
    return program, held, z, lines


def dense(G: Floats, S: list[int]) -> Floats:
    """The table: derivatives of w on S and b - G w off S by w off S and b - G w on S."""
    N = [j for j in range(len(G)) if j not in S]
    inv = np.linalg.inv(G[np.ix_(S, S)])
    X = inv @ G[np.ix_(S, N)]
    Y = G[np.ix_(N, N)] - G[np.ix_(N, S)] @ X
    return np.block([[-X, -inv], [-Y, X.T]])


def exchanged(T: Floats, p: int, c: int) -> Floats:
    """Row p and column c change places: solve row p for what column c stands for."""
    out = T - np.outer(T[:, c], T[p]) / T[p, c]
    out[p], out[:, c] = -T[p] / T[p, c], T[:, c] / T[p, c]
    out[p, c] = 1.0 / T[p, c]
    return np.asarray(out)


ROUNDING = Rounding(1e-10, 2e-10, 3e-10)


@pytest.mark.parametrize("S", [[2], [0, 3, 5], [1, 2, 4, 6, 7]])
def test_the_table_and_its_pivots(S: list[int]) -> None:
    m = 8
    program, held, z, lines = lasso_like(m, S, len(S))
    n, N = len(S), [j for j in range(m) if j not in S]
    k = m - n
    t = parts.tabulate(held, z, lines, ROUNDING, 6)
    assert t.who[DOWN].tolist() == [*S, *(m + j for j in N)]
    assert t.who[ACROSS].tolist() == [*N, *(m + j for j in S)]
    w, sign = z.basic[VALUE + COLUMN, :n], z.line[SIGN + ROW, S]
    edge = t.edge[:, :m]
    np.testing.assert_allclose(edge[PRIMAL], [*w, *lines.r[N]])
    low = [*np.where(sign > 0, 0.0, -np.inf), *-program.lam[N]]
    high = [*np.where(sign > 0, np.inf, 0.0), *program.lam[N]]
    assert edge[LOW].tolist() == low
    assert edge[HIGH].tolist() == high
    assert edge[TINY].tolist() == [2e-10] * n + [1e-10] * k
    np.testing.assert_allclose(edge[DUAL], [*lines.q[N], *z.basic[VALUE + ROW, :n]])
    assert edge[LEAST].tolist() == [*[-1.0] * k, *np.where(sign > 0, 0.0, -np.inf)]
    assert edge[MOST].tolist() == [*[1.0] * k, *np.where(sign > 0, np.inf, 0.0)]
    assert edge[SLIGHT].tolist() == [1e-11] * k + [3e-10] * n
    inv = z.inv[:n, :n]
    expected = [*(1.0 + (program.G[np.ix_(S, N)] ** 2).sum(axis=0)), *(1.0 + (inv**2).sum(axis=0))]
    np.testing.assert_allclose(edge[LENGTH], expected)
    T, rng, dual = (
        dense(np.asarray(program.G, dtype=np.float64), S),
        np.random.default_rng(n),
        edge[DUAL].copy(),
    )
    for made in range(6):
        for at in range(m):
            for way, right in ((DOWN, T[:, at]), (ACROSS, T[at])):
                out = np.full(rounded(m), 7.0)
                parts.line_of(held.M, z, t, way, at, made, out)
                np.testing.assert_allclose(out[:m], right, atol=1e-7)
        p, c = (int(x) for x in rng.integers(0, m, 2))
        while abs(T[p, c]) < 0.1:
            p, c = (int(x) for x in rng.integers(0, m, 2))
        parts.line_of(held.M, z, t, DOWN, c, made, t.products[DOWN, made])
        parts.line_of(held.M, z, t, ACROSS, p, made, t.products[ACROSS, made])
        long, lengths = edge[LENGTH, c], edge[LENGTH].copy()
        parts.swap(t, made, p, c, 0.25)
        dual -= 0.25 * T[p]
        np.testing.assert_allclose(edge[DUAL], dual, atol=1e-7)
        longer = np.maximum(lengths, (T[p] / T[p, c]) ** 2 * long)
        longer[c] = max(long / T[p, c] ** 2, 1.0)
        np.testing.assert_allclose(edge[LENGTH], longer, rtol=1e-6)
        T = exchanged(T, p, c)
        t.who[DOWN, p], t.who[ACROSS, c] = t.who[ACROSS, c], t.who[DOWN, p]
    # The basis that is left: columns are the weights that follow, rows those that are set.
    places, columns = np.empty(m, np.int64), np.empty(m, np.int64)
    t.edge[PRIMAL, :m], t.edge[DUAL, :m] = rng.normal(size=(2, m))
    t.edge[LOW, :m], t.edge[LEAST, :m] = rng.choice([0.0, -np.inf], (2, m))
    parts.take_basis(z, t, places, columns)
    size = z.active[SCALARS, SIZE]
    A = [j for j in t.who[DOWN].tolist() if j < m]
    E = [j - m for j in t.who[ACROSS].tolist() if j >= m]
    for side, own, names, value, bound, way in (
        (COLUMN, A, places, PRIMAL, LOW, DOWN),
        (ROW, E, columns, DUAL, LEAST, ACROSS),
    ):
        assert z.active[side, :size].tolist() == own
        assert z.place[side, own].tolist() == list(range(size))
        assert (np.delete(z.place[side], own) == -1).all()
        spots = names[:size]
        assert (t.who[way, spots] % m).tolist() == own
        np.testing.assert_array_equal(z.basic[VALUE + side, :size], t.edge[value, spots])
        signs = np.where(t.edge[bound, spots] == 0.0, 1.0, -1.0)
        assert z.line[SIGN + side, own].tolist() == signs.tolist()
    parts.take_inverse(z, t, 6, places, columns)
    part = program.G[np.ix_(E, A)]
    np.testing.assert_allclose(z.inv[:size, :size] @ part, np.eye(size), atol=1e-6)


def test_the_steepest_column_is_the_worst_by_its_length() -> None:
    edge = np.zeros((15, 16))
    edge[LENGTH], edge[LEAST], edge[MOST], edge[SLIGHT] = 1.0, -1.0, 1.0, 1e-11
    assert parts.steepest(edge, 5) == -1
    edge[DUAL, 1] = 1.0 + 1e-12
    assert parts.steepest(edge, 5) == -1  # rounding
    edge[DUAL, :5] = [0.5, 3.0, -4.0, 1.5, 0.0]
    assert parts.steepest(edge, 5) == 2
    edge[LENGTH, 2] = 9.0  # 3^2 / 9 is less than 2^2
    assert parts.steepest(edge, 5) == 1
    assert parts.steepest(edge, 1) == -1


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_row_stops_a_ray(seed: int) -> None:
    rng, m = np.random.default_rng(seed), 6
    edge, ray = np.zeros((15, 16)), np.zeros(16)
    edge[LOW, :m], edge[HIGH, :m] = -rng.uniform(0.5, 1.0, m), rng.uniform(0.5, 1.0, m)
    edge[LOW, 0], edge[HIGH, 1], edge[TINY, :m] = -np.inf, np.inf, 1e-11
    edge[PRIMAL, :m], ray[:m] = rng.uniform(-0.4, 0.4, m), rng.normal(size=m)
    ray[5] = 1e-12  # too small to stop anything
    for way in (1.0, -1.0):
        room = np.where(way * ray[:m] > 0, edge[HIGH, :m], edge[LOW, :m]) - edge[PRIMAL, :m]
        steps = room[:5] / (way * ray[:5])
        for end in (np.inf, 0.01):
            p, step = parts.nearest(edge, m, ray, way, end)
            if end < steps.min():
                assert (p, step) == (-1, end)
            else:
                assert p == int(np.argmin(steps))
                assert step == pytest.approx(steps.min())
    ray[:] = 0.0
    assert parts.nearest(edge, m, ray, 1.0, np.inf) == (-1, np.inf)
    # Of two that stop it together, the one with the larger pivot.
    edge[PRIMAL, :m], edge[HIGH, 2:4], ray[2:4] = 0.0, [0.5, 1.0], [1.0, 2.0]
    assert parts.nearest(edge, m, ray, 1.0, np.inf) == (3, 0.5)
    edge[HIGH, 0], ray[0] = 0.25, 1.0
    assert parts.nearest(edge, m, ray, 1.0, np.inf) == (0, 0.25)
    edge[PRIMAL, 2] = 0.6  # beyond its bound: at once
    assert parts.nearest(edge, m, ray, 1.0, np.inf) == (2, 0.0)


def test_what_a_repair_begins_and_ends_with() -> None:
    program, held, z, lines = lasso_like(8, [0, 3, 5], 1)
    size = program.size
    assert parts.tight(z, held.W, *lines, size)
    for member, amount in itertools.product((0, 3, 5), (2e-10, -2e-10)):
        for array, unit in ((lines.r, size), (lines.q, 1.0)):
            before = array[member]
            array[member] += 0.4 * amount * unit
            assert parts.tight(z, held.W, *lines, size)
            array[member] = before + amount * unit
            assert not parts.tight(z, held.W, *lines, size)
            array[member] = before
    lines.r[1], lines.q[1] = 99.0, 99.0  # not in the basis
    assert parts.tight(z, held.W, *lines, size)
    fine = program.lam * np.array([1.0, -1.0] * 4)
    z.line[SIGN + COLUMN, [0, 3, 5]] = np.sign(z.basic[VALUE + COLUMN, :3])
    assert parts.fits(z, held.W, fine, size)
    assert parts.fits(z, held.W, program.lam + 1e-11 * size, size)  # up to rounding, and no more
    for j in range(8):
        wrong = fine.copy()
        wrong[j] *= 1.0 + 1e-6
        assert not parts.fits(z, held.W, wrong, size)
    z.line[SIGN + COLUMN, 3] *= -1.0
    assert not parts.fits(z, held.W, fine, size)


def after_lasso(program: Program) -> tuple[WorkingSet, Basis, Lines]:
    """The basis of the lasso, which satisfies all constraints."""
    m, w = len(program.b), np.zeros(len(program.b))
    for _ in range(500):
        for j in range(m):
            x = program.b[j] - program.G[j] @ w + program.G[j, j] * w[j]
            w[j] = np.sign(x) * max(abs(x) - program.lam[j], 0.0) / program.G[j, j]
    S = np.flatnonzero(np.abs(w) > 1e-9).tolist()
    held, z = on(program, list(range(m)), S, S)
    for side in (ROW, COLUMN):
        z.line[SIGN + side, S] = np.sign(w[S])
    parts.recompute(held.M, z, program.size, False)
    lines = empty(m)
    multiplied(program, held, z, 0.0, lines)
    z.basic[RATE : RATE + 2] = 3.0  # of another path: they are not to be looked at
    return held, z, lines


@pytest.mark.parametrize("seed", range(5))
def test_a_repair_takes_as_many_pivots_in_any_order_of_coordinates(seed: int) -> None:
    m, program, counts = 9, asked(9, 100 + seed), set()
    for shift in range(m):
        index = np.roll(np.arange(m), shift)
        turned = Program(
            np.ascontiguousarray(program.G[np.ix_(index, index)]),
            program.b[index], program.lam[index], program.size,
        )  # fmt: skip
        held, z, lines = after_lasso(turned)
        made, _, solved = parts.repair(*turned, held.W, held.M, z, *lines, 30)
        assert solved
        is_answer(turned, z, held.W, lines)
        counts.add(made)
    assert len(counts) == 1


@pytest.mark.parametrize("seed", range(12))
def test_a_repair_ends_at_the_answer_or_at_a_sound_basis(seed: int) -> None:
    m = 9
    program = asked(m, 100 + seed)
    held, z, lines = after_lasso(program)
    for pivots in (0, 1, 30):
        again = copied(z)
        told = Lines(lines.r.copy(), lines.q.copy())
        made, looked, solved = parts.repair(*program, held.W, held.M, again, *told, pivots)
        size = again.active[SCALARS, SIZE]
        E, A = again.active[ROW, :size], again.active[COLUMN, :size]
        v, u = np.zeros(m), np.zeros(m)
        v[A], u[E] = again.basic[VALUE + COLUMN, :size], again.basic[VALUE + ROW, :size]
        assert (np.abs(program.b - program.G @ v) <= program.lam + 1e-8).all()
        assert made <= 2 * pivots
        if looked:
            np.testing.assert_allclose(told.r, program.b - program.G @ v, atol=1e-9)
            np.testing.assert_allclose(told.q, program.G @ u, atol=1e-9)
        if solved:
            assert np.abs(told.q).max() <= 1.0 + 1e-9
            gap = np.abs(v).sum() - (program.b @ u - program.lam @ np.abs(u))
            assert gap == pytest.approx(0.0, abs=1e-8)
        else:
            part = program.G[np.ix_(E, A)]
            np.testing.assert_allclose(again.inv[:size, :size] @ part, np.eye(size), atol=1e-7)
        if pivots == 30:
            assert solved


# --- The certificate and what comes before it


def test_the_excess_over_bounds_of_any_length() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 12):
        x, y = rng.normal(size=n), rng.uniform(size=n)
        assert parts.excess(x, y) == (np.abs(x) - y).max()
        for j in range(n):
            peak = x.copy()
            peak[j] = -9.0
            assert parts.excess(peak, y) == 9.0 - y[j]


def guess(n: int, **changed: Floats) -> Any:
    whole, real = np.arange(n), np.ones(n)
    fields = {"columns": whole, "column_signs": real, "rows": whole, "row_signs": real}
    return tuple({**fields, "weights": real, **changed}.values())


def test_what_is_refused_before_anything_is_solved() -> None:
    def told(b: Floats, lam: Floats, start: Any) -> engine.Outcome:
        return engine.solve(np.eye(3), b, lam, start, 50, False)

    b, lam = np.array([1.0, -3.0, 2.0]), np.array([0.5, np.inf, 2.0])
    code, _, w, _, _, proof = told(b, lam, guess(0))
    assert (code, w.tolist(), proof[-1]) == (0, [0.5, 0.0, 0.0], 3.0)
    code, made, w, *_ = told(b, np.array([3.0]), guess(2))
    assert (code, made, w.tolist()) == (0, 0, [0.0, 0.0, 0.0])
    assert told(b, np.array([2.5]), guess(2))[2] == pytest.approx([0.0, -0.5, 0.0])
    for start in (guess(3), guess(3, weights=np.zeros(0)), guess(3, weights=np.full(3, np.nan))):
        assert told(b, lam, start)[0] == 0
    for wrong in (
        {"weights": np.ones(2)},
        {"rows": np.arange(2)},
        {"column_signs": np.ones(2)},
        {"row_signs": np.ones(4)},
        {"columns": np.array([0, 1, 3])},
        {"columns": np.array([0, 1, -1])},
        {"rows": np.array([0, 3, 1])},
        {"rows": np.array([-1, 2, 1])},
    ):
        assert told(b, lam, guess(3, **wrong))[0] == engine.REFUSED
    assert told(b, lam, guess(4, columns=np.zeros(4, np.int64)))[0] == engine.REFUSED
    for bad in (np.inf, -np.inf, np.nan):
        assert told(np.array([1.0, bad, 0.0]), lam, guess(0))[0] == engine.REFUSED
    for bad in (-1e-9, np.nan):
        assert told(b, np.array([bad]), guess(0))[0] == engine.REFUSED
    assert told(b, np.zeros(1), guess(0))[0] == 0


def test_what_a_certificate_needs() -> None:
    rng = np.random.default_rng(2)
    G = rng.normal(size=(5, 5))
    G, b, lam = G + G.T, rng.normal(size=5), np.array([0.2, 0.0, 0.5, 0.1, 0.3])
    A, E = np.array([3, 0]), np.array([1, 4, 2])
    w, u = rng.normal(size=2), rng.normal(size=3)
    r, q = b - G[:, A] @ w, G[:, E] @ u
    over, top, objective, value, scale, gap, size = engine.certify(G, b, lam, A, w, E, u)
    assert over == pytest.approx((np.abs(r) - lam).max())
    assert top == pytest.approx(np.abs(q).max())
    assert objective == pytest.approx(np.abs(w).sum())
    assert value == pytest.approx(b[E] @ u - lam[E] @ np.abs(u))
    assert scale == pytest.approx((np.abs(r) / np.where(lam > 0, lam, np.inf)).max())
    assert gap == pytest.approx(abs(objective - value) / objective)
    assert size == np.abs(b).max()
    # Within rounding of its bounds a point needs no other scale.
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    inside = engine.certify(G, b, np.abs(b), none, nothing, none, nothing)
    assert inside == (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, size)
    # Where w is next to nothing, the gap is relative to a millionth of the terms of b.u.
    small = engine.certify(G, b, lam, A, 1e-9 * w, E, u)
    terms = max(np.abs(b[E] * u).max(), 2e-9 * np.abs(w).sum() - value)
    assert small[5] == pytest.approx(abs(1e-9 * objective - value) / (1e-6 * terms))


def test_weights_of_0_are_certified_as_well() -> None:
    """Nothing is violated, nothing is solved, and the lines are computed all the same."""
    G, b = 2.0 * np.eye(60), np.linspace(-1.0, 0.5, 60)
    for lam in (1.0, 1.5):
        wide = np.array([lam])
        for told in (
            engine.solve(G, b, wide, NOWHERE, 9, False),
            engine.solve_sparse(G.astype(np.float32), b, wide, NOWHERE, 9),
        ):
            assert told[:2] == (0, 0)
            assert not told[2].any()
            assert told[5] == (1.0 - lam, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0)


def test_a_basis_is_taken_over() -> None:
    program = asked(9, 5)
    held, z = on(program, [4, 2, 8, 0], [], [])
    signs = np.array([1.0, -1.0]), np.array([-1.0, 1.0])
    parts.adopt(z, np.array([8, 4]), signs[0], np.array([0, 8]), signs[1], held.W)
    assert z.active[SCALARS, SIZE] == 2
    assert z.active[COLUMN, :2].tolist() == [2, 0]
    assert z.active[ROW, :2].tolist() == [3, 2]
    assert z.place[COLUMN].tolist() == [1, -1, 0, -1]
    assert z.place[ROW].tolist() == [-1, -1, 1, 0]
    assert z.line[SIGN + COLUMN, [2, 0]].tolist() == [1.0, -1.0]
    assert z.line[SIGN + ROW, [3, 2]].tolist() == [-1.0, 1.0]


# --- Starts and growing working sets


def sparse_program(seed: int, kind: str, d: int = 70) -> Program:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * d, d))
    if kind == "chain":
        for j in range(1, d):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    y = X[:, :5] @ rng.normal(size=5) + 0.3 * rng.normal(size=2 * d)
    if kind == "pairs":
        X *= rng.random(X.shape) < 0.7
    b = X.T @ y / (2 * d)
    top = float(np.abs(b).max())
    lam = rng.choice([0.25, 0.45]) * top * rng.uniform(0.8, 1.0, d)
    return Program(X.T @ X / (2 * d), b, lam, top)


def points(z: Basis, W: Indices, d: int) -> tuple[Floats, Floats]:
    n, w, u = z.active[SCALARS, SIZE], np.zeros(d), np.zeros(d)
    w[W[z.active[COLUMN, :n]]] = z.basic[VALUE + COLUMN, :n]
    u[W[z.active[ROW, :n]]] = z.basic[VALUE + ROW, :n]
    return w, u


def is_answer(program: Program, z: Basis, W: Indices, lines: Lines) -> None:
    """Feasible on both sides with equal values, and the lines are those of this very point."""
    w, u = points(z, W, len(program.b))
    np.testing.assert_allclose(lines.r, program.b - program.G @ w, atol=1e-9)
    np.testing.assert_allclose(lines.q, program.G @ u, atol=1e-9)
    assert (np.abs(lines.r) <= program.lam + 1e-9).all()
    assert np.abs(lines.q).max() <= 1.0 + 1e-9
    value = program.b @ u - program.lam @ np.abs(u)
    assert np.abs(w).sum() == pytest.approx(value, abs=1e-8)


def on_a_set(program: Program, start: Any = NOWHERE, pivots: int = 500) -> engine.Outcome:
    """The program on a working set; an answer is feasible on both sides with equal values."""
    told = engine.solve_sparse(program.G, program.b, program.lam, start, pivots)
    code, _, w, u, (columns, column_signs, rows, row_signs, weights), _ = told
    assert w[columns].tolist() == weights.tolist()
    if code == 0:
        lines = Lines(program.b - program.G @ w, program.G @ u)
        assert (np.abs(lines.r) <= program.lam + 1e-9).all()
        assert np.abs(lines.q).max() <= 1.0 + 1e-9
        np.testing.assert_allclose(lines.r[rows], row_signs * program.lam[rows], atol=1e-9)
        np.testing.assert_allclose(lines.q[columns], column_signs, atol=1e-9)
        value = program.b @ u - program.lam @ np.abs(u)
        assert np.abs(w).sum() == pytest.approx(value, abs=1e-8)
    return told


@pytest.mark.parametrize("kind", ["plain", "chain", "pairs"])
@pytest.mark.parametrize("seed", range(3))
def test_a_working_set_grows_to_the_answer(seed: int, kind: str) -> None:
    program = sparse_program(seed, kind)
    code, _, w, _, basis, _ = on_a_set(program)
    assert code == 0
    columns, _, rows, _, here = basis
    equal = set(columns.tolist()) == set(rows.tolist())
    rng = np.random.default_rng(seed)
    for weights in (
        here,
        np.zeros(0),
        here * rng.uniform(0.9, 1.1, len(here)),
        -here,
        np.full(len(here), np.nan),
    ):
        start = (*basis[:4], weights)
        code, made, again, *_ = on_a_set(program, start)
        assert code == 0
        np.testing.assert_allclose(again, w, atol=1e-9)
        if not len(weights) or (weights is here and equal):
            assert made == 0
        if weights is here and equal:
            assert on_a_set(program, start, 0)[0] == 0  # the start is the answer: no path at all
    # What is new is found from fewer weights, too.
    fewer = tuple(array[:-1] for array in basis)
    np.testing.assert_allclose(on_a_set(program, fewer)[2], w, atol=1e-9)


def test_a_working_set_that_gets_too_large_is_given_up() -> None:
    program = sparse_program(0, "plain", 30)
    tight = program._replace(lam=0.02 * program.lam)
    assert on_a_set(tight)[0] == TOO_WIDE
    code, made, *_ = on_a_set(program, NOWHERE, 0)
    assert made == 0
    assert code != 0


def test_a_start_from_a_larger_threshold_saves_pivots() -> None:
    """The lasso's basis is repaired: columns have joined, and rows are not always columns."""
    made, repaired = [0, 0], 0
    for seed, kind in itertools.product(range(10), ("chain", "pairs")):
        program = sparse_program(seed, kind, 130)
        program, wider = program._replace(lam=0.7 * program.lam), program
        start = on_a_set(wider)[4]
        for i, given in enumerate((NOWHERE, start)):
            code, pivots, _, _, (columns, _, rows, _, _), _ = on_a_set(program, given)
            assert code == 0
            made[i] += pivots
        repaired += pivots > 0 and set(columns.tolist()) != set(rows.tolist())
    assert repaired > 0
    assert made[1] < made[0] / 2


def test_a_start_that_may_make_no_pivot_hands_over_the_basis_of_the_lasso() -> None:
    handed = 0
    for seed in range(20):
        program = sparse_program(seed, "chain", 130)
        program, wider = program._replace(lam=0.7 * program.lam), program
        code, made, w, u, (columns, _, rows, signs, _), _ = on_a_set(program, on_a_set(wider)[4], 0)
        if code == 0 or not len(columns):
            continue
        handed += 1
        assert made == 0
        assert columns.tolist() == rows.tolist()
        assert np.sign(w[columns]).tolist() == signs.tolist()
        r, q = program.b - program.G @ w, program.G @ u
        np.testing.assert_allclose(r[rows], signs * program.lam[rows], atol=1e-9)
        np.testing.assert_allclose(q[rows], signs, atol=1e-9)
    assert handed > 0


def test_little_memory_and_many_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solve begins anew when it has too little memory, and goes on after a pause."""
    programs = [sparse_program(3, "chain", 130), sparse_program(0, "plain", 30), asked(40, 2)]
    starts: list[Any] = [NOWHERE]
    for program in programs:
        tight = program._replace(lam=0.1 * program.lam)
        for start, single in itertools.product(starts, (False, True)):
            G = tight.G.astype(np.float32) if single else tight.G
            told = []
            for work in (engine.WORK_PER_CALL, 0):
                with monkeypatch.context() as patched:
                    patched.setattr(engine, "WORK_PER_CALL", work)
                    patched.setattr(engine, "_rooms", engine._Rooms())
                    if work == 0:
                        patched.setattr(engine, "_MIN_MEMORY", 0)
                    solve = engine.solve_sparse if single else engine.solve
                    more = () if single else (False,)
                    told.append(solve(G, tight.b, tight.lam, start, 5000, *more))
            for first, second in zip(*told, strict=True):
                np.testing.assert_equal(first, second)
