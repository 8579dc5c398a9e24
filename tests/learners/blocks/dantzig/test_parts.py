"""The inner parts of the homotopy, each by its definition in dense algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from keyhole.learners.blocks.dantzig import homotopy as engine
from keyhole.learners.blocks.dantzig.path import (
    BOUND,
    BOUND_RATE,
    CENTRE,
    COLUMN,
    DONE,
    GAUGE,
    LARGEST_ENTRY,
    LIMIT,
    MOVE,
    RATE,
    RAY,
    ROW,
    SCALARS,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    WIDER,
    Basis,
    empty,
    rounded,
    with_room,
)
from keyhole.learners.blocks.dantzig.solve import NOWHERE
from keyhole.problem import Floats, Indices
from tests.helpers import dantzig_parts as parts

FOREVER = 1 << 60  # multiply-adds


# --- Sums over rows


def test_lengths_are_rounded_up_to_sixteen() -> None:
    lengths = [rounded(n) for n in (0, 1, 15, 16, 17, 32, 33)]
    assert lengths == [0, 16, 16, 16, 32, 32, 48]


def test_sums_and_maxima_of_any_length() -> None:
    rng = np.random.default_rng(0)
    M, x = rng.normal(size=(20, 40)), rng.normal(size=20)
    for n in range(12):
        for j in range(n):
            peak = x.copy()
            peak[j] = -9.0
            assert parts.largest(peak, n) == 9.0
        assert parts.largest(x, n) == np.abs(x[:n]).max(initial=0.0)
        index, start = rng.integers(0, 20, n), rng.normal(size=7)
        out = start.copy()
        parts.add_rows(M, 7, index, x, n, -2.0, out)
        np.testing.assert_allclose(out, start - 2.0 * x[:n] @ M[index, :7], atol=1e-12)
        single, out = M.astype(np.float32), start.copy()
        parts.add_rows_single(single, 7, index, x, n, -2.0, out)
        other = start.copy()
        parts.add_rows(single.astype(np.float64), 7, index, x, n, -2.0, other)
        assert out.tolist() == other.tolist()
    for first, last, low, high in itertools.product((0, 2), (2, 6, 7, 13), (0, 17), (18, 33)):
        out = np.ones(48)
        parts.combine(np.hstack([M, M]), first, last, x, low, high, out)
        expected = 1.0 + x[first:last] @ np.hstack([M, M])[first:last, low:high]
        np.testing.assert_allclose(out[low:high], expected, atol=1e-12)
    for n in (1, 4, 16, 17):
        inv, y = rng.normal(size=(32, 32)), rng.normal(size=32)
        expected = inv[:n, :n] + np.outer(x[:n], y[:n])
        after = inv[n:].copy()
        parts.rank_one(inv, n, x, y)
        np.testing.assert_allclose(inv[:n, :n], expected)
        np.testing.assert_array_equal(inv[n:], after)


# --- A basis and its inverse


def symmetric(m: int, seed: int) -> Floats:
    A = np.random.default_rng(seed).normal(size=(m, m))
    return np.asarray(A + A.T + 2.0 * np.eye(m))


def with_basis(M: Floats, E: list[int], A: list[int], seed: int = 0) -> Basis:
    """A state with tight rows E and active columns A, signs at random, values recomputed."""
    m, n, rng = len(M), len(E), np.random.default_rng(seed)
    z = empty(m, m, 2)
    z.active[SCALARS, SIZE] = n
    z.line[CENTRE], z.line[BOUND + ROW] = rng.normal(size=m), rng.uniform(0.1, 0.5, m)
    for side, members in ((ROW, E), (COLUMN, A)):
        z.active[side, :n], z.place[side, members] = members, range(n)
        z.line[SIGN + side, members] = rng.choice([-1.0, 1.0], n)
    assert parts.invert(M, z)
    parts.recompute(M, z, 1.0, False)
    return z


def sides(z: Basis) -> tuple[Indices, Indices]:
    n = z.active[SCALARS, SIZE]
    return z.active[ROW, :n], z.active[COLUMN, :n]


BASES = [
    ([], []),
    ([3], [1]),
    ([0, 4], [4, 2]),
    ([1, 2, 5], [0, 2, 5]),
    ([0, 1, 2, 3, 4], [5, 4, 3, 2, 0]),
]


@pytest.mark.parametrize("n", range(10))
def test_basic_solutions_from_the_inverse(n: int) -> None:
    rng = np.random.default_rng(n)
    inv, v = rng.normal(size=(16, 16)), rng.normal(size=16)
    for side, expected in ((ROW, v[:n] @ inv[:n, :n]), (COLUMN, inv[:n, :n] @ v[:n])):
        out = np.full(16, 7.0)
        parts.basic_solution(inv, n, side, v, out)
        np.testing.assert_allclose(out[:n], expected, atol=1e-12)


@pytest.mark.parametrize(("E", "A"), BASES)
def test_a_recomputed_basis_makes_its_lines_tight(E: list[int], A: list[int]) -> None:
    M = symmetric(6, 1)
    z = with_basis(M, E, A)
    u, w = np.zeros(6), np.zeros(6)
    if E:
        B = M[np.ix_(E, A)]
        signs = z.line[SIGN + ROW, E], z.line[SIGN + COLUMN, A]
        w[A] = np.linalg.solve(B, z.line[CENTRE, E] - signs[ROW] * z.line[BOUND + ROW, E])
        u[E] = np.linalg.solve(B.T, signs[COLUMN])
    np.testing.assert_allclose(z.basic[VALUE + ROW, : len(E)], u[E], atol=1e-9)
    np.testing.assert_allclose(z.basic[VALUE + COLUMN, : len(A)], w[A], atol=1e-9)
    np.testing.assert_allclose(z.line[VALUE + ROW], z.line[CENTRE] - M @ w, atol=1e-9)
    np.testing.assert_allclose(z.line[VALUE + COLUMN], M @ u, atol=1e-9)
    # Rates: the bounds alone move.
    z.line[BOUND_RATE + ROW], z.line[BOUND_RATE + COLUMN] = 0.3, 0.7
    assert parts.recompute(M, z, 1.0, True) < 1e-12
    if E:
        w[A] = np.linalg.solve(B, -signs[ROW] * 0.3)
        u[E] = np.linalg.solve(B.T, signs[COLUMN] * 0.7)
    np.testing.assert_allclose(z.line[RATE + ROW], -M @ w, atol=1e-9)
    np.testing.assert_allclose(z.line[RATE + COLUMN], M @ u, atol=1e-9)
    # Lines from the basic values, where they are not in the basis.
    z.basic[VALUE + ROW, 0] += 1.0
    z.basic[RATE + COLUMN, 0] += 1.0
    before = z.line.copy()
    parts.recompute_lines(M, z)
    for value, side in itertools.product((VALUE, RATE), (ROW, COLUMN)):
        members, x = (A, COLUMN) if side == ROW else (E, ROW)
        change = z.basic[value + x, : len(E)] @ M[members] if E else np.zeros(6)
        fresh = (z.line[CENTRE] * (value == VALUE) - change) if side == ROW else change
        off = z.place[side] < 0
        np.testing.assert_allclose(z.line[value + side][off], fresh[off], atol=1e-9)
        np.testing.assert_array_equal(z.line[value + side][~off], before[value + side][~off])


def test_a_wrong_inverse_is_told_and_mended() -> None:
    """Refined once: an inverse that is a little wrong will do, one that is far off is told."""
    M = symmetric(6, 1)
    for error, size, wrong in ((1e-7, 1.0, False), (0.2, 1.0, True), (0.2, 1e13, True)):
        z = with_basis(M, [1, 2, 5], [0, 2, 5])
        right = z.basic[:RATE].copy()
        z.inv[0, 1] += error
        left = parts.recompute(M, z, size, False)
        assert (left > 1e-10) == wrong
        if not wrong:
            np.testing.assert_allclose(z.basic[:RATE], right, atol=1e-10)
        assert parts.start_path(M, z, 1.0, 1e-4, False)
        np.testing.assert_allclose(z.basic[:RATE, :3], right[:, :3], atol=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_what_stays_wrong_is_relative_to_the_size_of_the_problem(size: float) -> None:
    M, E, A = symmetric(6, 1), [1, 2, 5], [0, 2, 5]
    for column in (0, 1, 2):
        z = with_basis(M, E, A)
        z.inv[:, column] *= 1.3
        told = parts.recompute(M, z, size, False)
        u, w = z.basic[VALUE + ROW, :3], z.basic[VALUE + COLUMN, :3]
        rest = z.line[CENTRE, E] - M[np.ix_(E, A)] @ w
        wrong = np.abs(z.line[SIGN + ROW, E] * z.line[BOUND + ROW, E] - rest).max() / size
        off = np.abs(z.line[SIGN + COLUMN, A] - M[np.ix_(A, E)] @ u).max()
        assert told == pytest.approx(max(wrong, off))
        assert told > 1e-6


@pytest.mark.parametrize(("E", "A"), BASES[1:])
def test_rays_keep_the_other_lines_of_the_basis(E: list[int], A: list[int]) -> None:
    """A line joins and all others in the basis stay; or a basic value leaves, and its line goes."""
    M = symmetric(6, 2)
    for side in (ROW, COLUMN):
        members, others = (E, A) if side == ROW else (A, E)
        turn = 1.0 if side == ROW else -1.0
        for joins, sign in itertools.product((True, False), (1.0, -1.0)):
            free = [j for j in range(6) if j not in members] if joins else range(len(E))
            for which in free:
                z = with_basis(M, E, A)
                z.basic[GAUGE, LARGEST_ENTRY] = 0.1
                if not joins:
                    z.line[SIGN + 1 - side, others[which]] = sign
                big = parts.ray(M, z, side, joins, which, sign)
                step, lines = z.basic[MOVE + side, : len(E)], z.line[MOVE + 1 - side]
                point = np.zeros(6)
                point[members] = step
                point[which if joins else 0] += sign if joins else 0.0
                np.testing.assert_allclose(lines, turn * M @ point, atol=1e-9)
                goal = np.zeros(len(E))
                if not joins:
                    goal[which] = -sign
                np.testing.assert_allclose(lines[others], goal, atol=1e-9)
                assert big == pytest.approx(max(np.abs(step).max(), 1.0 if joins else 0.0))
                gauge = np.abs(M[which]).max() if joins else 0.1
                assert z.basic[GAUGE, LARGEST_ENTRY] == pytest.approx(max(0.1, gauge))


def test_the_inverse_follows_every_change() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 17):
        B = rng.normal(size=(n + 1, n + 1)) + 3.0 * np.eye(n + 1)

        def fresh(part: Floats, x: Floats, y: Floats) -> Basis:
            z, m = empty(1, 1, 32), len(part)
            z.active[SCALARS, SIZE], z.inv[:m, :m] = m, np.linalg.inv(part)
            z.basic[MOVE + COLUMN, : len(x)], z.basic[MOVE + ROW, : len(y)] = x, y
            return z

        inv, none = np.linalg.inv(B[:n, :n]), np.zeros(0)
        x, y = inv @ B[:n, n], B[n, :n] @ inv
        z = fresh(B[:n, :n], x, y)
        parts.border(z, B[n, n] - B[n, :n] @ x)
        np.testing.assert_allclose(z.inv[: n + 1, : n + 1], np.linalg.inv(B), atol=1e-9)
        for o in range(n):
            other = B[:n, :n].copy()
            other[o] = B[n, :n]
            z = fresh(B[:n, :n], none, B[n, :n] @ inv)
            parts.replace_row(z, o)
            np.testing.assert_allclose(z.inv[:n, :n], np.linalg.inv(other), atol=1e-8)
            z = fresh(B[:n, :n], inv @ B[n, :n], none)
            parts.replace_column(z, o)
            other = B[:n, :n].copy()
            other[:, o] = B[n, :n]
            np.testing.assert_allclose(z.inv[:n, :n], np.linalg.inv(other), atol=1e-8)
        for p, o in itertools.product(range(n + 1), repeat=2):
            # Column p and row o go; the last ones come to their places.
            left, kept = list(range(n + 1)), list(range(n + 1))
            left[o], kept[p] = n, n
            z = fresh(B, none, none)
            if abs(z.inv[p, o]) < 1e-3:
                continue
            parts.unborder(z, p, o)
            small = B[np.ix_(left[:n], kept[:n])]
            np.testing.assert_allclose(z.inv[:n, :n] @ small, np.eye(n), atol=1e-7)


def test_inverses_afresh() -> None:
    M = symmetric(6, 4)
    M[0, 0] = 0.0  # has to be pivoted
    for E, A in [*BASES, ([0, 3], [0, 5])]:
        z = with_basis(M, E, A)
        n = len(E)
        np.testing.assert_allclose(z.inv[:n, :n] @ M[np.ix_(E, A)], np.eye(n), atol=1e-9)
    for size, fine in ((1e-15, False), (1e-11, True)):
        z = with_basis(symmetric(6, 4), [0, 1], [0, 1])
        assert parts.invert(np.array([[1.0, 1.0], [1.0, 1.0 + size]]), z) == fine
    z = with_basis(M, [0, 1], [2, 3])
    assert not parts.invert(np.zeros((6, 6)), z)


def test_states_grow_and_forget() -> None:
    M = symmetric(6, 5)
    z = with_basis(M, [0, 1, 2, 3], [5, 4, 3, 2])
    z.active[SCALARS, STUCK], z.active[SCALARS, STUCK_SIGN], z.basic[GAUGE, WIDER] = 4, -1, 0.5
    for room in (20, 40):
        more = with_room(z, room)
        assert more.line is z.line
        assert more.place is z.place
        assert more.active.shape[1] == more.inv.shape[0] == 16 * (-(-room // 16))
        np.testing.assert_array_equal(more.active[:, :4], z.active[:, :4])
        np.testing.assert_array_equal(more.basic[:, :4], z.basic[:, :4])
        np.testing.assert_array_equal(more.inv[:4, :4], z.inv[:4, :4])
    wrong = 0
    for side, members in ((ROW, sides(z)[0]), (COLUMN, sides(z)[1])):
        wrong += int((z.line[SIGN + side, members] * z.basic[VALUE + side, :4] < 0.0).sum())
    assert parts.wrong_signs(z) == wrong > 0
    z.basic[VALUE : VALUE + 2] = 0.0  # neither sign is wrong for 0
    assert parts.wrong_signs(z) == 0
    parts.forget(z)
    assert z.active[SCALARS, SIZE] == 0
    assert (z.place == -1).all()
    assert parts.wrong_signs(z) == 0


# --- The start of the path, and the path


def test_irregular_numbers() -> None:
    numbers = [parts.jitter(j) for j in range(2000)]
    assert min(numbers) >= 0.0
    assert max(numbers) < 1.0
    assert len(set(numbers)) == 2000
    # 2000 draws: the mean deviates by 0.29 / sqrt(2000) = 0.0065, five times that is 0.033.
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.033)
    assert np.corrcoef(numbers[1:], numbers[:-1])[0, 1] == pytest.approx(0.0, abs=0.12)


def started(M: Floats, E: list[int], A: list[int], seed: int, how: tuple[float, bool]) -> Basis:
    z = with_basis(M, E, A, seed)
    assert parts.start_path(M, z, 2.0, *how)
    return z


@pytest.mark.parametrize("how", [(1e-4, False), (0.1, True), (0.0, False)])
@pytest.mark.parametrize(("E", "A"), BASES)
def test_a_path_starts_optimal(E: list[int], A: list[int], how: tuple[float, bool]) -> None:
    M = symmetric(6, 6)
    z = started(M, E, A, 7, how)
    optimal_at(z, 1.0)
    for side in (ROW, COLUMN):
        # Lines in the basis stay where they are: their centres move instead.
        expected = np.where(z.place[side] < 0, carried(M, z, side), 0.0)
        np.testing.assert_allclose(z.line[RATE + side], expected, atol=1e-9)
    for side in (ROW, COLUMN):
        off = z.place[side] < 0
        bound, rate = z.line[BOUND + side][off], z.line[BOUND_RATE + side][off]
        over = np.abs(z.line[VALUE + side] + z.line[RATE + side])[off] - bound
        base = np.maximum(bound, 1e-6 * 2.0 if side == ROW else 1.0)
        more = max((over / base).max(initial=0.0), 0.0)
        assert z.basic[GAUGE, WIDER + side] == pytest.approx(more)
        uneven = 0.0 if how[1] and side == ROW else how[0]
        assert (rate >= base * more * (1 - 1e-12)).all()
        assert (rate <= base * (more + (more + 1.0) * uneven) * (1 + 1e-12)).all()
        if uneven > 0.0 and len(base) > 1:
            assert np.ptp(rate / base) > 0.01 * uneven
        assert (z.line[BOUND_RATE + side][~off] == 0.0).all()
        # Basic values of the wrong sign get the size of the worst one, the others stay.
        members = sides(z)[side]
        sign, own = z.line[SIGN + side, members], z.basic[VALUE + side, : len(E)]
        worst = max((-sign * own).max(initial=0.0), 0.0)
        moved = z.basic[RATE + side, : len(E)]
        assert (moved[sign * own >= 0.0] == 0.0).all()
        there = (sign * (own + moved))[sign * own < 0.0]
        assert (there >= worst * (1 - 1e-12)).all()
        assert (there <= worst * (1 + how[0]) * (1 + 1e-12)).all()


def carried(M: Floats, z: Basis, side: int) -> Floats:
    """The rates of the lines of `side` as far as the basic values of the other side make them."""
    other, turn = (COLUMN, -1.0) if side == ROW else (ROW, 1.0)
    point = np.zeros(len(M))
    point[sides(z)[other]] = z.basic[RATE + other, : z.active[SCALARS, SIZE]]
    return np.asarray(turn * M @ point)


def optimal_at(z: Basis, s: float) -> None:
    """At s all lines are within their bounds and all basic values have their signs."""
    for side in (ROW, COLUMN):
        n, members = z.active[SCALARS, SIZE], sides(z)[side]
        line = np.abs(z.line[VALUE + side] + s * z.line[RATE + side])
        bound = z.line[BOUND + side] + s * z.line[BOUND_RATE + side]
        assert (line <= bound + 1e-9 * (1.0 + bound)).all()
        value = z.basic[VALUE + side, :n] + s * z.basic[RATE + side, :n]
        assert (z.line[SIGN + side, members] * value >= -1e-9 * (1.0 + np.abs(value))).all()


def test_newcomers_are_loosened_and_others_left_alone() -> None:
    M = symmetric(6, 6)
    z = started(M, [3], [1], 7, (1e-4, False))
    z.line[BOUND_RATE + ROW, 4] = z.line[BOUND_RATE + COLUMN, 5] = 0.0
    z.line[VALUE + ROW, 4] = z.line[VALUE + COLUMN, 5] = 100.0
    before, more = z.line.copy(), z.basic[GAUGE, WIDER : WIDER + 2].copy()
    parts.loosen(z, 0.25, 2.0, 1e-4, False)
    for side, j in ((ROW, 4), (COLUMN, 5)):
        rates = z.line[BOUND_RATE + side]
        assert np.delete(rates, j).tolist() == np.delete(before[BOUND_RATE + side], j).tolist()
        needed = abs(100.0 + 0.25 * z.line[RATE + side, j]) - z.line[BOUND + side, j]
        assert needed <= 0.25 * rates[j] <= needed * (1 + 1e-3)
        assert z.basic[GAUGE, WIDER + side] == more[side]  # that is of s = 1


def slow_event(z: Basis, s: float) -> float:
    """The largest number below s from which on something that holds at s is violated."""
    grid = np.linspace(s, 0.0, 20_001)
    first = 0.0
    for side in (ROW, COLUMN):
        off = np.flatnonzero(z.place[side] < 0)
        for j in off:
            over = np.abs(z.line[VALUE + side, j] + grid * z.line[RATE + side, j])
            over -= z.line[BOUND + side, j] + grid * z.line[BOUND_RATE + side, j]
            bad = np.flatnonzero(over > 1e-9)
            first = max(first, grid[bad[0]] if bad.size else 0.0)
        n, members = z.active[SCALARS, SIZE], sides(z)[side]
        for i in range(n):
            value = z.basic[VALUE + side, i] + grid * z.basic[RATE + side, i]
            bad = np.flatnonzero(z.line[SIGN + side, members[i]] * value < -1e-9)
            first = max(first, grid[bad[0]] if bad.size else 0.0)
    return float(first)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["plain", "definite", "singular"])
def test_every_pivot_leads_to_an_optimal_basis(kind: str, seed: int) -> None:
    M = symmetric(7, seed)
    if kind == "definite":
        M = M @ M.T / 7
    if kind == "singular":
        M = M[:, :3] @ M[:, :3].T / 3
    E, A = [([], []), ([3], [1]), ([0, 4], [4, 2])][seed % 3]
    z = started(M, E, A, seed, (1e-2, False))
    s, kinds = 1.0, set()
    centres = [z.line[RATE + side] - carried(M, z, side) for side in (ROW, COLUMN)]
    for _ in range(60):
        event, side, joins, which = parts.next_event(z, 2.0)
        assert event == pytest.approx(slow_event(z, s), abs=2e-4)
        if which < 0:
            break
        kinds.add((side, joins))
        before = [set(members.tolist()) for members in sides(z)]
        code, s_next, made = parts.follow(M, z, s, 2.0, 1, FOREVER)
        if code == RAY:
            proves_infeasible(M, z, s_next)
            break
        assert (code, made) in ((LIMIT, 1), (DONE, 1))
        assert s_next <= s
        n, (E_now, A_now) = z.active[SCALARS, SIZE], sides(z)
        np.testing.assert_allclose(z.inv[:n, :n] @ M[np.ix_(E_now, A_now)], np.eye(n), atol=1e-6)
        for side in (ROW, COLUMN):
            expected = np.full(7, -1)
            expected[sides(z)[side]] = range(n)
            assert z.place[side].tolist() == expected.tolist()
        optimal_at(z, s_next)
        for side in (ROW, COLUMN):
            # What has just joined sits on its bound to the last bit.
            new = sorted(set(sides(z)[side].tolist()) - before[side])
            exact = z.line[SIGN + side, new] * z.line[BOUND + side, new]
            assert z.line[VALUE + side, new].tolist() == exact.tolist()
            expected_rates = carried(M, z, side) + centres[side]
            np.testing.assert_allclose(z.line[RATE + side], expected_rates, atol=1e-6)
        values = z.basic[:RATE].copy(), z.line[:RATE].copy()
        parts.recompute(M, z, 2.0, False)
        np.testing.assert_allclose(z.basic[:RATE, :n], values[0][:, :n], atol=1e-7)
        np.testing.assert_allclose(z.line[:RATE], values[1], atol=1e-7)
        s = s_next
    assert kinds


def test_violations_that_are_rounding_are_no_events() -> None:
    """Up to 1e-11, of the size of b for rows, of the largest basic value for signs."""
    for side, j, unit in ((ROW, 0, 4.0), (COLUMN, 1, 1.0)):
        for share, counts in ((0.7, False), (1.6, True)):
            z = empty(2, 2, 2)
            z.line[BOUND + ROW], z.line[BOUND_RATE] = 0.5, 9.0
            z.line[BOUND_RATE + 1] = 9.0
            z.line[VALUE + side, j] = -z.line[BOUND + side, j] - share * 1e-11 * unit
            assert (parts.next_event(z, 4.0)[3] >= 0) == counts
    M = np.diag([1.0, 2.0, 3.0])
    for side in (ROW, COLUMN):
        for share, counts in ((0.7, False), (1.6, True)):
            z = with_basis(M, [0, 2], [0, 2])
            z.line[BOUND + ROW], z.line[BOUND + COLUMN] = 9e9, 9e9
            z.basic[VALUE + side, :2] = z.line[SIGN + side, [0, 2]] * [5.0, -share * 5e-11]
            z.basic[VALUE + 1 - side, :2] = z.line[SIGN + 1 - side, [0, 2]]
            z.basic[RATE + side, 1] = z.line[SIGN + side, 2]
            event, found, joins, which = parts.next_event(z, 4.0)
            assert (which >= 0) == counts
            if counts:
                assert (found, joins, which) == (1 - side, False, 1)
                assert event == pytest.approx(share * 5e-11)


def proves_infeasible(M: Floats, z: Basis, s: float) -> None:
    """The dual ray that nothing stops: M u = 0, and its value falls short of nothing below s."""
    n, u = z.active[SCALARS, SIZE], np.zeros(len(M))
    u[sides(z)[0]] = z.basic[MOVE + ROW, :n]
    if z.active[SCALARS, STUCK] >= 0:
        u[z.active[SCALARS, STUCK]] = z.active[SCALARS, STUCK_SIGN]
    np.testing.assert_allclose(M @ u, 0.0, atol=1e-8)
    assert z.line[CENTRE] @ u > 0.0


def test_rays_that_disagree_make_no_pivot() -> None:
    """The pivot as a row's ray has it and as a column's: a millionth apart is rounding, no more."""
    M = symmetric(6, 1)
    for apart, fine in ((1e-7, True), (-1e-7, True), (1e-5, False), (-1e-5, False)):
        z = with_basis(M, [1, 2], [0, 2])
        row, column = (True, 4, 1.0), (True, 3, -1.0)
        parts.ray(M, z, ROW, *row)
        parts.ray(M, z, COLUMN, *column)
        z.line[MOVE + ROW, 4] *= 1.0 + apart
        assert parts.exchange(z, *row, *column) == fine
        assert z.active[SCALARS, SIZE] == (3 if fine else 2)


def test_the_path_takes_no_more_pivots_than_told() -> None:
    M = symmetric(7, 3)
    M = M @ M.T / 7
    z = started(M, [], [], 3, (1e-4, False))
    code, s, made = parts.follow(M, z, 1.0, 2.0, 2, FOREVER)
    assert (code, made) == (LIMIT, 2)
    assert s == parts.next_event(z, 2.0)[0]
    code, s, more = parts.follow(M, z, s, 2.0, 100, FOREVER)
    assert (code, s) == (DONE, 0.0)
    z = started(M, [], [], 3, (1e-4, False))
    assert parts.follow(M, z, 1.0, 2.0, 100, FOREVER)[2] == more + 2
    # It stops for a while when so much work is done, and goes on from there.
    z, s, pauses = started(M, [], [], 3, (1e-4, False)), 1.0, 0
    while (told := parts.follow(M, z, s, 2.0, 100, 0))[0] == parts.PAUSED:
        assert told[2] == 1
        s, pauses = told[1], pauses + 1
    assert (told[0], pauses) == (DONE, more + 2)


def test_a_basis_outgrows_its_room() -> None:
    M = symmetric(20, 1)
    M = M @ M.T / 20 + np.eye(20)
    b, lam = np.random.default_rng(0).normal(size=20), np.full(20, 1e-6)
    code, made, w, *_ = engine.solve(M, b, lam, NOWHERE, 500, False)
    assert code == DONE
    assert np.count_nonzero(w) == 20 <= made
    np.testing.assert_allclose(np.abs(b - M @ w), 1e-6, rtol=1e-6)
    assert engine.solve(M, b, lam, NOWHERE, made, False)[:2] == (DONE, made)
    assert engine.solve(M, b, lam, NOWHERE, made - 1, False)[:2] == (LIMIT, made - 1)


@pytest.mark.parametrize("seed", range(12))
def test_what_stops_a_ray_first(seed: int) -> None:
    """By the longest step that keeps all lines in their bounds and all basic values' signs."""
    M = symmetric(7, seed)
    M = M @ M.T / 7
    z = started(M, [0, 4, 6], [4, 2, 6], seed, (1e-2, False))
    rng, stops = np.random.default_rng(seed), set()
    for side in (ROW, COLUMN):
        other, n = 1 - side, 3
        for joins, which in [(True, j) for j in range(7) if z.place[side, j] < 0] + [
            (False, i) for i in range(3)
        ]:
            sign = float(rng.choice([-1.0, 1.0]))
            big = parts.ray(M, z, side, joins, which, sign)
            end = float(rng.choice([np.inf, 0.3]))
            d, dt = z.line[MOVE + other], z.basic[MOVE + side, :n]
            lines = z.line[VALUE + other] + z.line[RATE + other]
            bounds = z.line[BOUND + other] + z.line[BOUND_RATE + other]
            steps = {}
            for j in np.flatnonzero((z.place[other] < 0) & (np.abs(d) > 1e-9)):
                room = (np.sign(d[j]) * bounds[j] - lines[j]) / d[j]
                steps[parts.BY_LINE, int(j), float(np.sign(d[j]))] = room
            for i in range(n):
                own = z.line[SIGN + side, z.active[side, i]]
                if own * dt[i] < -1e-9:
                    value = z.basic[VALUE + side, i] + z.basic[RATE + side, i]
                    steps[parts.BY_BASIC, i, own] = -value / dt[i]
            told = parts.blocking(z, side, 1.0, end, 1e-11, big)
            shortest = min(steps.values(), default=np.inf)
            if min(shortest, end) == np.inf:
                assert told[0] == parts.NOTHING
            elif end < shortest:
                assert told[0] == parts.BY_OTHER_END
            else:
                assert steps[told] == pytest.approx(shortest, abs=1e-8)
            stops.add(told[0])
    assert len(stops) > 1


# --- The lasso as a start


def lasso_state(m: int, seed: int) -> tuple[Floats, Basis]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * m, m))
    wide = rounded(m)
    M = np.zeros((m, wide))
    M[:, :m] = X.T @ X / (2 * m)
    z = empty(m, wide, m + 2)
    z.line[CENTRE, :m], z.line[BOUND + ROW, :m] = rng.normal(size=m), rng.uniform(0.2, 0.5, m)
    return M, z


@pytest.mark.parametrize("m", [1, 4, 7, 18])
def test_the_lasso_by_coordinate_descent(m: int) -> None:
    M, z = lasso_state(m, m)
    b, lam = z.line[CENTRE, :m], z.line[BOUND + ROW, :m]
    for rounds in (1, 2, 200):
        w = np.where(np.arange(m) % 2, 1.0, 0.0)
        expected, flips = w.copy(), 1
        for repeat in range(rounds):
            before = np.sign(expected)
            for j in range(m):
                x = b[j] - M[j, :m] @ expected + M[j, j] * expected[j]
                expected[j] = np.sign(x) * max(abs(x) - lam[j], 0.0) / M[j, j]
            flips = int((np.sign(expected) != before).sum())
            if flips == 0 and repeat > 0:
                break
        assert parts.descend(M, z, w, rounds)
        np.testing.assert_allclose(w, expected, atol=1e-12)
        np.testing.assert_allclose(z.line[VALUE + ROW, :m], b - M[:, :m] @ w, atol=1e-12)
    M[0, 0] = 0.0
    assert not parts.descend(M, z, np.zeros(m), 1)


@pytest.mark.parametrize("m", [1, 4, 7, 18])
def test_the_basis_of_the_lasso_and_its_inverse(m: int) -> None:
    M, z = lasso_state(m, m)
    w = np.where(np.arange(m) % 3 != 1, np.random.default_rng(m).normal(size=m), 0.0)
    parts.take_support(z, w)
    S = np.flatnonzero(w)
    n = len(S)
    for side in (ROW, COLUMN):
        assert sides(z)[side].tolist() == S.tolist()
        assert z.place[side, S].tolist() == list(range(n))
        assert z.line[SIGN + side, S].tolist() == np.sign(w[S]).tolist()
    L = np.zeros((rounded(n), rounded(n + 2)))
    assert parts.equal_sides(M, z, L)
    B, sign = M[np.ix_(S, S)], np.sign(w[S])
    right = np.linalg.solve(B, z.line[CENTRE, S] - sign * z.line[BOUND + ROW, S])
    np.testing.assert_allclose(z.basic[VALUE + COLUMN, :n], right, atol=1e-9)
    np.testing.assert_allclose(z.basic[VALUE + ROW, :n], np.linalg.solve(B, sign), atol=1e-9)
    parts.unfold(L, n)
    np.testing.assert_allclose(L[:n, :n], np.linalg.inv(B), atol=1e-9)
    for share, fine in ((1.0 - 1e-5, True), (1.0 - 1e-10, False)):  # all but singular
        M[S[-1], S[-1]] = B[-1, -1] - share / np.linalg.inv(B)[-1, -1]
        assert parts.equal_sides(M, z, L) == (fine or m == 1)
