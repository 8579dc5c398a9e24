"""The working set, the table of the repair and the certificate, each by definition.

As in `test_parts.py`, this is for the Python form of kernels that only kernels call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from keyhole.blocks.dantzig.kernels import engine, grow, lasso, repair, rows, table, warm_start
from keyhole.blocks.dantzig.kernels import working_set as working
from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    BOUND_RATE,
    CENTRE,
    COLUMN,
    GAUGE,
    LARGEST,
    MOVE,
    NUMBER,
    RATE,
    ROW,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    State,
    new_state,
)
from keyhole.blocks.dantzig.kernels.inverse import invert
from keyhole.blocks.dantzig.kernels.path_start import recompute
from keyhole.blocks.dantzig.kernels.program import Guess, Lines, Program
from keyhole.blocks.dantzig.kernels.table import (
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
    Rounding,
)
from keyhole.blocks.dantzig.kernels.working_set import WorkingSet
from keyhole.blocks.jit.mode import compiles
from keyhole.problem import Floats, Indices

pytestmark = pytest.mark.skipif(compiles(), reason="inner kernels have no way in from Python")


@pytest.fixture(autouse=True)
def _in_silence() -> Iterator[None]:
    """Machine code overflows and divides by zero in silence."""
    with np.errstate(all="ignore"):
        yield


def asked(d: int, seed: int) -> Program:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * d, d)) + 0.5 * rng.normal(size=(2 * d, 1))
    b = rng.normal(size=d)
    return Program(X.T @ X / (2 * d), b, rng.uniform(0.1, 0.3, d), float(np.abs(b).max()))


def empty(d: int) -> Lines:
    return Lines(np.full(d, np.nan), np.full(d, np.nan))


def on(
    program: Program, members: list[int], E: list[int], A: list[int]
) -> tuple[WorkingSet, State]:
    """A working set in this order with rows E and columns A (places in it) in the basis."""
    d, m, n = len(program.b), len(members), len(E)
    W, member = np.full(d, -9), np.zeros(d, dtype=np.bool_)
    assert working.join(W, 0, member, np.array(members, dtype=np.int64)) == m
    M = working.gather(program.G, W, 0, m, np.full((16, 16), np.nan))
    z = new_state(m, rows.rounded(m), m + 2)
    working.fill(z, program, W, 0)
    rng = np.random.default_rng(n)
    z.active[NUMBER, SIZE] = n
    for side, places in ((ROW, E), (COLUMN, A)):
        z.active[side, :n], z.place[side, places] = places, range(n)
        z.line[SIGN + side, places] = rng.choice([-1.0, 1.0], n)
    assert invert(M, z)
    recompute(M, z, program.size, 0)
    return WorkingSet(W, member, M), z


def copied(z: State) -> State:
    return State(z.line.copy(), z.place.copy(), z.basic.copy(), z.active.copy(), z.inv.copy())


NOTHING = Guess(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


# --- The working set


def test_members_join_once_and_bring_their_entries() -> None:
    program = asked(30, 0)
    W, member = np.full(30, -9), np.zeros(30, dtype=np.bool_)
    assert working.join(W, 0, member, np.array([7, 3, 7])) == 2
    assert working.join(W, 2, member, np.array([3, 20, 0])) == 4
    assert W[:4].tolist() == [7, 3, 20, 0]
    assert np.flatnonzero(member).tolist() == [0, 3, 7, 20]
    M = working.gather(program.G, W, 0, 4, np.full((16, 16), np.nan))
    np.testing.assert_array_equal(M[:4, :4], program.G[np.ix_(W[:4], W[:4])])
    assert (M[:4, 4:16] == 0.0).all()
    held, z = WorkingSet(W, member, M), new_state(4, 16, 6)
    working.fill(z, program, W, 0)
    for new in ([5, 3, 6], [], list(range(8, 26))):
        before = z.line.copy()
        old = z.place.shape[1]
        held, z = working.widened(program, held, z, np.array(new, dtype=np.int64))
        m = z.place.shape[1]
        now = held.W[:m]
        assert now[:old].tolist() == W[:old].tolist()
        assert set(now.tolist()) == set(W[:old].tolist()) | set(new)
        assert m == len(set(now.tolist()))
        np.testing.assert_array_equal(held.M[:m, :m], program.G[np.ix_(now, now)])
        assert (held.M[:m, m : rows.rounded(m)] == 0.0).all()
        assert held.M.shape[0] == held.M.shape[1] >= rows.rounded(m)
        np.testing.assert_array_equal(z.line[CENTRE, :m], program.b[now])
        np.testing.assert_array_equal(z.line[BOUND + ROW, :m], program.lam[now])
        np.testing.assert_array_equal(z.line[:13, :old], before[:13, :old])
    assert m == 23


def test_many_members_at_once_get_room() -> None:
    program, W = asked(60, 0), np.arange(60)[::-1].copy()
    for old, m in ((0, 50), (10, 17), (16, 33), (16, 60)):
        M = np.full((16, 16), np.nan)
        working.gather(program.G, W, 0, min(old, 16), M)
        M = working.gather(program.G, W, old, m, M)
        np.testing.assert_array_equal(M[:m, :m], program.G[np.ix_(W[:m], W[:m])])
        assert M.shape[1] >= rows.rounded(m)
        assert (M[:m, m : rows.rounded(m)] == 0.0).all()


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
        working.products(program, held.W, z, s, lines)
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
            assert working.holds(program, Lines(r, q)) == fine
            assert working.feasible(program, r) == (fine or side == "q")
            load = working.loads(program, Lines(r, q), 0.0, 0.0)
            assert (load.max() <= 1.0) == fine  # what holds does not join


def test_loads_are_shares_of_bounds() -> None:
    program = Program(np.eye(4), np.full(4, 2.0), np.array([0.5, 0.0, 1.0, 0.25]), 2.0)
    lines = Lines(np.array([0.25, 0.0, -3.0, 0.1]), np.array([-0.2, 0.5, 0.1, -4.0]))
    plain = working.loads(program, lines, 0.0, 0.0)
    assert plain == pytest.approx([0.5, 0.5, 3.0, 4.0])
    wider = working.loads(program, lines, 3.0, 1.0)
    assert wider == pytest.approx([0.125, 0.25, 0.75, 2.0])
    tiny = Lines(np.full(4, 1e-6), np.zeros(4))  # a bound of 0 is widened as if it were 2e-6
    assert working.loads(program, tiny, 3.0, 1.0)[1] == pytest.approx(1 / 6, rel=1e-4)


def test_newcomers_are_the_worst_outside() -> None:
    rng = np.random.default_rng(0)
    load, member = np.exp(rng.normal(size=40)), rng.random(40) < 0.3
    near = [j for j in range(40) if load[j] > 0.9 and not member[j]]
    assert working.newcomers(load.copy(), member, 40, 0.9, False).tolist() == near
    assert working.newcomers(load.copy(), member, len(near), 0.9, False).tolist() == near
    for quota in range(1, len(near)):
        some = working.newcomers(load.copy(), member, quota, 0.9, False).tolist()
        assert 1 <= len(some) <= quota
        assert set(some) <= set(near)
        left = [load[j] for j in near if j not in some]
        # The bins are 1/64 of the range of logarithms wide.
        width = (max(load[near]) / 0.9) ** (1 / 64)
        assert max(left) <= min(load[some]) * width
        assert len(some) >= min(quota, sum(load[near] > width * max(left)))
    calm = np.minimum(load, 1.0)
    assert working.newcomers(calm.copy(), member, 40, 0.9, False).tolist() == []
    assert working.newcomers(calm.copy(), member, 40, 0.9, True).tolist() == near
    assert working.newcomers(np.full(3, 0.9), np.zeros(3, np.bool_), 9, 0.9, True).tolist() == []
    same = working.newcomers(np.full(9, 2.0), np.zeros(9, np.bool_), 4, 0.9, False)
    assert same.tolist() == [0, 1, 2, 3]  # all are alike: the first ones


def test_columns_that_stop_a_ray() -> None:
    program = asked(12, 3)
    program.G[:, 11] = program.G[11] = 0.0  # this one never does
    held, z = on(program, [4, 2, 9, 0], [3, 2], [2, 1])
    outside = np.array([j for j in range(12) if j not in (4, 2, 9, 0)])
    for stuck, sign, steps in ((-1, 1, [0.5, -2.0]), (0, 1, [0.5, -2.0]), (1, -1, [0.5, 0.25])):
        z.basic[MOVE + ROW, :2] = steps
        z.active[NUMBER, STUCK], z.active[NUMBER, STUCK_SIGN] = stuck, sign
        u = np.zeros(12)
        u[[0, 9]] = steps
        if stuck >= 0:
            u[held.W[stuck]] = sign
        moves = np.abs(program.G @ u)[outside]
        for least in (1e-6, float(np.median(moves))):  # in units of the largest step
            z.basic[GAUGE, LARGEST] = least / (1e-9 * np.abs(u).max())
            expected = outside[moves > least]
            assert working.stopping(program.G, held, z, 12).tolist() == expected.tolist()
            assert 11 not in expected
    z.basic[GAUGE, LARGEST] = 1e12  # then all of that is rounding
    assert working.stopping(program.G, held, z, 12).tolist() == []
    program.G[:] = 0.0  # one column moves, by as much as rounding may
    program.G[4, 5] = program.G[5, 4] = 1e-9 * 4.0
    z.basic[MOVE + ROW, :2] = 0.0
    z.active[NUMBER, STUCK], z.active[NUMBER, STUCK_SIGN] = 0, 1
    for largest, moved in ((4.0, list[int]()), (2.0, [5])):
        z.basic[GAUGE, LARGEST] = largest
        assert working.stopping(program.G, held, z, 12).tolist() == moved


def test_the_state_over_all_coordinates() -> None:
    program = asked(9, 4)
    held, z = on(program, [4, 2, 8, 0], [0, 2], [2, 1])
    z.line[BOUND_RATE, :4], z.line[BOUND_RATE + 1, :4] = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    z.line[RATE, :4], z.line[RATE + 1, :4] = [1.5, 2.5, 3.5, 4.5], [5.5, 6.5, 7.5, 8.5]
    small = copied(z)
    full = grow.over_all_coordinates(z, program, held)
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


def lasso_like(m: int, S: list[int], seed: int) -> tuple[Program, WorkingSet, State, Lines]:
    """A basis with equal rows and columns S and equal signs; all of G is the working set."""
    program = asked(m, seed)
    held, z = on(program, list(range(m)), S, S)
    z.line[SIGN + COLUMN, S] = z.line[SIGN + ROW, S]
    recompute(held.M, z, program.size, 0)
    lines = empty(m)
    working.products(program, held.W, z, 0.0, lines)
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
    t = table.tabulate(held, z, lines, ROUNDING, 6)
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
                out = np.full(rows.rounded(m), 7.0)
                table.line_of(held.M, z, t, way, at, made, out)
                np.testing.assert_allclose(out[:m], right, atol=1e-7)
        p, c = (int(x) for x in rng.integers(0, m, 2))
        while abs(T[p, c]) < 0.1:
            p, c = (int(x) for x in rng.integers(0, m, 2))
        table.line_of(held.M, z, t, DOWN, c, made, t.products[DOWN, made])
        table.line_of(held.M, z, t, ACROSS, p, made, t.products[ACROSS, made])
        long, lengths = edge[LENGTH, c], edge[LENGTH].copy()
        table.exchange(t, made, p, c, 0.25)
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
    table.take_basis(z, t, places, columns)
    size = z.active[NUMBER, SIZE]
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
    table.take_inverse(z, t, 6, places, columns)
    part = program.G[np.ix_(E, A)]
    np.testing.assert_allclose(z.inv[:size, :size] @ part, np.eye(size), atol=1e-6)


def test_the_steepest_column_is_the_worst_by_its_length() -> None:
    edge = np.zeros((15, 16))
    edge[LENGTH], edge[LEAST], edge[MOST], edge[SLIGHT] = 1.0, -1.0, 1.0, 1e-11
    assert repair.steepest(5, edge) == -1
    edge[DUAL, 1] = 1.0 + 1e-12
    assert repair.steepest(5, edge) == -1  # rounding
    edge[DUAL, :5] = [0.5, 3.0, -4.0, 1.5, 0.0]
    assert repair.steepest(5, edge) == 2
    edge[LENGTH, 2] = 9.0  # 3^2 / 9 is less than 2^2
    assert repair.steepest(5, edge) == 1
    assert repair.steepest(1, edge) == -1


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
            p, step = repair.nearest(m, edge, ray, way, end)
            if end < steps.min():
                assert (p, step) == (-1, end)
            else:
                assert p == int(np.argmin(steps))
                assert step == pytest.approx(steps.min())
    ray[:] = 0.0
    assert repair.nearest(m, edge, ray, 1.0, np.inf) == (-1, np.inf)
    # Of two that stop it together, the one with the larger pivot.
    edge[PRIMAL, :m], edge[HIGH, 2:4], ray[2:4] = 0.0, [0.5, 1.0], [1.0, 2.0]
    assert repair.nearest(m, edge, ray, 1.0, np.inf) == (3, 0.5)
    edge[HIGH, 0], ray[0] = 0.25, 1.0
    assert repair.nearest(m, edge, ray, 1.0, np.inf) == (0, 0.25)
    edge[PRIMAL, 2] = 0.6  # beyond its bound: at once
    assert repair.nearest(m, edge, ray, 1.0, np.inf) == (2, 0.0)


def test_what_a_repair_begins_and_ends_with() -> None:
    program, held, z, lines = lasso_like(8, [0, 3, 5], 1)
    size = program.size
    assert repair.tight(z, held.W, lines, size)
    for member, amount in itertools.product((0, 3, 5), (2e-10, -2e-10)):
        for array, unit in ((lines.r, size), (lines.q, 1.0)):
            before = array[member]
            array[member] += 0.4 * amount * unit
            assert repair.tight(z, held.W, lines, size)
            array[member] = before + amount * unit
            assert not repair.tight(z, held.W, lines, size)
            array[member] = before
    lines.r[1], lines.q[1] = 99.0, 99.0  # not in the basis
    assert repair.tight(z, held.W, lines, size)
    fine = program.lam * np.array([1.0, -1.0] * 4)
    z.line[SIGN + COLUMN, [0, 3, 5]] = np.sign(z.basic[VALUE + COLUMN, :3])
    assert repair.fits(z, held.W, fine, size)
    assert repair.fits(z, held.W, program.lam + 1e-11 * size, size)  # up to rounding, and no more
    for j in range(8):
        wrong = fine.copy()
        wrong[j] *= 1.0 + 1e-6
        assert not repair.fits(z, held.W, wrong, size)
    z.line[SIGN + COLUMN, 3] *= -1.0
    assert not repair.fits(z, held.W, fine, size)


def after_lasso(program: Program) -> tuple[WorkingSet, State, Lines]:
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
    recompute(held.M, z, program.size, 0)
    lines = empty(m)
    working.products(program, held.W, z, 0.0, lines)
    z.basic[RATE : RATE + 2] = 3.0  # of another path: they are not to be looked at
    return held, z, lines


@pytest.mark.parametrize("seed", range(12))
def test_a_repair_takes_as_many_pivots_in_any_order_of_coordinates(seed: int) -> None:
    m, program, counts = 9, asked(9, 100 + seed), set()
    for shift in range(m):
        index = np.roll(np.arange(m), shift)
        turned = Program(
            np.ascontiguousarray(program.G[np.ix_(index, index)]),
            program.b[index], program.lam[index], program.size,
        )  # fmt: skip
        held, z, lines = after_lasso(turned)
        made, _, solved = repair.repair(turned, held, z, lines, 30)
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
        made, looked, solved = repair.repair(program, held, again, told, pivots)
        size = again.active[NUMBER, SIZE]
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
        assert engine.excess(x, y) == (np.abs(x) - y).max()
        for j in range(n):
            peak = x.copy()
            peak[j] = -9.0
            assert engine.excess(peak, y) == 9.0 - y[j]


def guess(n: int, **changed: Floats) -> Guess:
    whole, real = np.arange(n), np.ones(n)
    fields = {"columns": whole, "column_signs": real, "rows": whole, "row_signs": real}
    return Guess(**{**fields, "weights": real, **changed})  # type: ignore[arg-type]


def test_what_is_refused_before_anything_is_solved() -> None:
    b, lam = np.array([1.0, -3.0, 2.0]), np.array([0.5, np.inf, 2.0])
    size, over, full = engine.thresholds(b, lam, guess(0))
    assert (size, bool(over), full.tolist()) == (3.0, True, [0.5, 1e30, 2.0])
    assert not engine.thresholds(b, np.array([3.0]), guess(2))[1]
    assert engine.thresholds(b, np.array([2.9]), guess(2))[2].tolist() == [2.9] * 3
    assert engine.thresholds(b, lam, guess(3))[0] == 3.0
    assert engine.thresholds(b, lam, guess(3, weights=np.zeros(0)))[0] == 3.0
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
        assert engine.thresholds(b, lam, guess(3, **wrong))[0] == -1.0
    for bad in (np.inf, -np.inf, np.nan):
        assert engine.thresholds(np.array([1.0, bad, 0.0]), lam, guess(0))[0] == -1.0
    for bad in (-1e-9, np.nan):
        assert engine.thresholds(b, np.array([bad]), guess(0))[0] == -1.0
    assert engine.thresholds(b, np.zeros(1), guess(0))[0] == 3.0


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
    given = (NOTHING.columns, NOTHING.weights, NOTHING.rows, NOTHING.weights, NOTHING.weights)
    for lam in (1.0, 1.5):
        wide = np.array([lam])
        for told in (
            engine.solve(G, b, wide, given, 9, False),
            engine.solve_sparse(G.astype(np.float32), b, wide, given, 9),
        ):
            assert told[:2] == (0, 0)
            assert not told[2].any()
            assert told[5] == (1.0 - lam, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0)


def test_a_basis_is_taken_over() -> None:
    program = asked(9, 5)
    held, z = on(program, [4, 2, 8, 0], [], [])
    known = Guess(
        np.array([8, 4]),
        np.array([1.0, -1.0]),
        np.array([0, 8]),
        np.array([-1.0, 1.0]),
        np.zeros(0),
    )
    warm_start.adopt(z, known, held.W)
    assert z.active[NUMBER, SIZE] == 2
    assert z.active[COLUMN, :2].tolist() == [2, 0]
    assert z.active[ROW, :2].tolist() == [3, 2]
    assert z.place[COLUMN].tolist() == [1, -1, 0, -1]
    assert z.place[ROW].tolist() == [-1, -1, 1, 0]
    assert z.line[SIGN + COLUMN, [2, 0]].tolist() == [1.0, -1.0]
    assert z.line[SIGN + ROW, [3, 2]].tolist() == [-1.0, 1.0]


def test_a_look_around_finds_what_is_violated() -> None:
    program = asked(20, 6)
    held, z = on(program, [4, 2, 8, 0], [], [])
    w, lines = np.array([0.5, 0.0, -0.3, 0.0]), empty(20)
    held, z = warm_start.look_around(program, held, z, w, lines, 20)
    r = program.b - program.G[:, [4, 8]] @ [0.5, -0.3]
    np.testing.assert_allclose(lines.r, r, atol=1e-12)
    assert (lines.q == 0.0).all()
    soon = np.flatnonzero(np.abs(r) > 0.87 * program.lam * (1 + 1e-9)).tolist()
    assert set(np.flatnonzero(held.member).tolist()) == {4, 2, 8, 0} | set(soon)


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


def points(z: State, W: Indices, d: int) -> tuple[Floats, Floats]:
    n, w, u = z.active[NUMBER, SIZE], np.zeros(d), np.zeros(d)
    w[W[z.active[COLUMN, :n]]] = z.basic[VALUE + COLUMN, :n]
    u[W[z.active[ROW, :n]]] = z.basic[VALUE + ROW, :n]
    return w, u


def is_answer(program: Program, z: State, W: Indices, lines: Lines) -> None:
    """Feasible on both sides with equal values, and the lines are those of this very point."""
    w, u = points(z, W, len(program.b))
    np.testing.assert_allclose(lines.r, program.b - program.G @ w, atol=1e-9)
    np.testing.assert_allclose(lines.q, program.G @ u, atol=1e-9)
    assert (np.abs(lines.r) <= program.lam + 1e-9).all()
    assert np.abs(lines.q).max() <= 1.0 + 1e-9
    value = program.b @ u - program.lam @ np.abs(u)
    assert np.abs(w).sum() == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("kind", ["plain", "chain", "pairs"])
@pytest.mark.parametrize("seed", range(3))
def test_a_working_set_grows_to_the_answer(seed: int, kind: str) -> None:
    program = sparse_program(seed, kind)
    d, lines = 70, empty(70)
    code, s, _, z, held = grow.grow(program, NOTHING, lines, 500)
    assert (code, s) == (0, 0.0)
    is_answer(program, z, held.W, lines)
    n, m = z.active[NUMBER, SIZE], z.place.shape[1]
    assert held.member.sum() == m <= d // 2
    E, A = z.active[ROW, :n], z.active[COLUMN, :n]
    signs = z.line[SIGN + COLUMN, A], z.line[SIGN + ROW, E]
    here = z.basic[VALUE + COLUMN, :n].copy()
    known = Guess(held.W[A], signs[0], held.W[E], signs[1], here)
    equal = set(known.columns) == set(known.rows)
    rng = np.random.default_rng(seed)
    for weights, far in (
        (here, False),
        (np.zeros(0), False),
        (here * rng.uniform(0.9, 1.1, n), False),
        (-here, True),
        (np.full(n, np.nan), True),
    ):
        guess = known._replace(weights=weights)
        fresh = empty(d)
        start = warm_start.first_basis(program, guess, fresh, 500)
        size, members = start.z.active[NUMBER, SIZE], start.working.W[: start.z.place.shape[1]]
        assert set(known.columns) | set(known.rows) <= set(members.tolist())
        np.testing.assert_array_equal(
            start.working.M[: len(members), : len(members)], program.G[np.ix_(members, members)]
        )
        w, _ = points(start.z, start.working.W, d)
        if start.looked:
            np.testing.assert_allclose(fresh.r, program.b - program.G @ w, atol=1e-9)
        if start.solved:
            is_answer(program, start.z, start.working.W, fresh)
        elif size and not far:
            rows_now = members[start.z.active[ROW, :size]]
            columns_now = members[start.z.active[COLUMN, :size]]
            part = program.G[np.ix_(rows_now, columns_now)]
            inv = start.z.inv[:size, :size]
            np.testing.assert_allclose(inv @ part, np.eye(size), atol=1e-6)
        if not len(weights):
            assert (start.solved, start.pivots) == (False, 0)
            np.testing.assert_allclose(w[known.columns], here, atol=1e-9)
        if weights is here and equal:
            assert start.solved
            assert start.pivots == 0
        fresh = empty(d)
        code, s, made, z, held = grow.grow(program, guess, fresh, 500)
        assert (code, s) == (0, 0.0)
        is_answer(program, z, held.W, fresh)
        if not len(weights) or (weights is here and equal):
            assert made == 0


def test_a_working_set_that_gets_too_large_is_given_up() -> None:
    program = sparse_program(0, "plain", 30)
    tight = program._replace(lam=0.02 * program.lam)
    code, s, _, z, _ = grow.grow(tight, NOTHING, empty(30), 500)
    assert code == grow.WIDE
    assert 2 * z.place.shape[1] > 30
    assert 0.0 < s <= 1.0
    code, _, made, _, _ = grow.grow(program, NOTHING, empty(30), 0)
    assert made == 0
    assert code != 0


def test_a_start_from_a_larger_threshold_saves_pivots() -> None:
    """The lasso's basis is repaired: columns have joined, and rows are not always columns."""
    made, repaired = [0, 0], 0
    for seed, kind in itertools.product(range(10), ("chain", "pairs")):
        program = sparse_program(seed, kind, 130)
        program, wider = program._replace(lam=0.7 * program.lam), program
        _, _, _, z, held = grow.grow(wider, NOTHING, empty(130), 500)
        n = z.active[NUMBER, SIZE]
        E, A = z.active[ROW, :n], z.active[COLUMN, :n]
        signs = z.line[SIGN + COLUMN, A], z.line[SIGN + ROW, E]
        start = Guess(held.W[A], signs[0], held.W[E], signs[1], z.basic[VALUE + COLUMN, :n].copy())
        for i, guess in enumerate((NOTHING, start)):
            lines = empty(130)
            code, _, pivots, z, held = grow.grow(program, guess, lines, 500)
            assert code == 0
            is_answer(program, z, held.W, lines)
            made[i] += pivots
        lines = empty(130)
        told = warm_start.first_basis(program, start, lines, 500)
        repaired += told.solved and told.pivots > 0
    assert repaired > 0
    assert made[1] < made[0] / 2


def test_a_repair_that_may_make_no_pivot_hands_over_a_basis_with_lines() -> None:
    program, held, z, lines = lasso_like(9, [0, 3, 5, 6], 2)
    S = [0, 3, 5, 6]
    # Signs that fit, and other rows so loose that they hold: as the lasso leaves it.
    z.line[SIGN + COLUMN, S] = z.line[SIGN + ROW, S] = np.sign(z.basic[VALUE + COLUMN, :4])
    recompute(held.M, z, program.size, 0)
    assert (z.line[SIGN + COLUMN, S] * z.basic[VALUE + COLUMN, :4] >= 0.0).all()
    loose = program._replace(lam=program.lam.copy())
    loose.lam[[1, 2, 4, 7, 8]] = 50.0
    z.line[BOUND + ROW, :9] = loose.lam
    assert lasso.equal_sides(held.M, z, z.inv)
    working.products(loose, held.W, z, 0.0, lines)
    z.line[VALUE : VALUE + 2] = np.nan
    told = warm_start.repaired(loose, held, z, lines, 0, 0)
    assert told.pivots == 0
    assert not told.solved
    w, u = points(told.z, held.W, 9)
    np.testing.assert_allclose(told.z.inv[:4, :4], np.linalg.inv(program.G[np.ix_(S, S)]))
    np.testing.assert_allclose(told.z.line[VALUE + ROW, :9], program.b - program.G @ w, atol=1e-9)
    np.testing.assert_allclose(told.z.line[VALUE + COLUMN, :9], program.G @ u, atol=1e-9)
