"""The inner parts of the homotopy, each by its definition in dense algebra.

Compiled, they can be called by other kernels only: these tests are for their Python form, which
`tests/blocks/jit/test_python_form.py` runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from keyhole.blocks.dantzig.kernels import basis, homotopy, inverse, lasso, path_start, rows
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
    WIDER,
    Change,
    State,
)
from keyhole.blocks.dantzig.kernels.path_start import Loosening
from keyhole.blocks.jit.mode import compiles
from keyhole.problem import Floats, Indices

pytestmark = pytest.mark.skipif(compiles(), reason="inner kernels have no way in from Python")


@pytest.fixture(autouse=True)
def _in_silence() -> Iterator[None]:
    """Machine code overflows and divides by zero in silence."""
    with np.errstate(all="ignore"):
        yield


# --- Sums over rows


def test_lengths_are_rounded_up_to_sixteen() -> None:
    lengths = [rows.rounded(n) for n in (0, 1, 15, 16, 17, 32, 33)]
    assert lengths == [0, 16, 16, 16, 32, 32, 48]


def test_sums_and_maxima_of_any_length() -> None:
    rng = np.random.default_rng(0)
    M, x = rng.normal(size=(20, 40)), rng.normal(size=20)
    for n in range(12):
        for j in range(n):
            peak = x.copy()
            peak[j] = -9.0
            assert rows.largest(peak, n) == 9.0
        assert rows.largest(x, n) == np.abs(x[:n]).max(initial=0.0)
        index, start = rng.integers(0, 20, n), rng.normal(size=7)
        out = start.copy()
        rows.add_rows(M, 7, index, x, n, -2.0, out)
        np.testing.assert_allclose(out, start - 2.0 * x[:n] @ M[index, :7], atol=1e-12)
    for first, last, low, high in itertools.product((0, 2), (2, 6, 7, 13), (0, 17), (18, 33)):
        out = np.ones(48)
        rows.combine(np.hstack([M, M]), first, last, x, low, high, out)
        expected = 1.0 + x[first:last] @ np.hstack([M, M])[first:last, low:high]
        np.testing.assert_allclose(out[low:high], expected, atol=1e-12)
    for n in (1, 4, 16, 17):
        inv, y = rng.normal(size=(32, 32)), rng.normal(size=32)
        expected = inv[:n, :n] + np.outer(x[:n], y[:n])
        after = inv[n:].copy()
        rows.rank_one(inv, n, x, y)
        np.testing.assert_allclose(inv[:n, :n], expected)
        np.testing.assert_array_equal(inv[n:], after)


# --- A basis and its inverse


def symmetric(m: int, seed: int) -> Floats:
    A = np.random.default_rng(seed).normal(size=(m, m))
    return np.asarray(A + A.T + 2.0 * np.eye(m))


def with_basis(M: Floats, E: list[int], A: list[int], seed: int = 0) -> State:
    """A state with tight rows E and active columns A, signs at random, values recomputed."""
    m, n, rng = len(M), len(E), np.random.default_rng(seed)
    z = basis.new_state(m, m, 2)
    z.active[NUMBER, SIZE] = n
    z.line[CENTRE], z.line[BOUND + ROW] = rng.normal(size=m), rng.uniform(0.1, 0.5, m)
    for side, members in ((ROW, E), (COLUMN, A)):
        z.active[side, :n], z.place[side, members] = members, range(n)
        z.line[SIGN + side, members] = rng.choice([-1.0, 1.0], n)
    assert inverse.invert(M, z)
    path_start.recompute(M, z, 1.0, 0)
    return z


def sides(z: State) -> tuple[Indices, Indices]:
    n = z.active[NUMBER, SIZE]
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
        basis.basic_solution(inv, n, side, v, out)
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
    assert path_start.recompute(M, z, 1.0, 1) < 1e-12
    if E:
        w[A] = np.linalg.solve(B, -signs[ROW] * 0.3)
        u[E] = np.linalg.solve(B.T, signs[COLUMN] * 0.7)
    np.testing.assert_allclose(z.line[RATE + ROW], -M @ w, atol=1e-9)
    np.testing.assert_allclose(z.line[RATE + COLUMN], M @ u, atol=1e-9)
    # Lines from the basic values, where they are not in the basis.
    z.basic[VALUE + ROW, 0] += 1.0
    z.basic[RATE + COLUMN, 0] += 1.0
    before = z.line.copy()
    path_start.recompute_lines(M, z)
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
        left = path_start.recompute(M, z, size, 0)
        assert (left > 1e-10) == wrong
        if not wrong:
            np.testing.assert_allclose(z.basic[:RATE], right, atol=1e-10)
        assert path_start.start_path(M, z, 1.0, Loosening(1e-4, False))
        np.testing.assert_allclose(z.basic[:RATE, :3], right[:, :3], atol=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_what_stays_wrong_is_relative_to_the_size_of_the_problem(size: float) -> None:
    M, E, A = symmetric(6, 1), [1, 2, 5], [0, 2, 5]
    for column in (0, 1, 2):
        z = with_basis(M, E, A)
        z.inv[:, column] *= 1.3
        told = path_start.recompute(M, z, size, 0)
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
                z.basic[GAUGE, LARGEST] = 0.1
                if not joins:
                    z.line[SIGN + 1 - side, others[which]] = sign
                big = basis.ray(M, z, side, Change(joins, which, sign))
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
                assert z.basic[GAUGE, LARGEST] == pytest.approx(max(0.1, gauge))


def test_the_inverse_follows_every_change() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 17):
        B = rng.normal(size=(n + 1, n + 1)) + 3.0 * np.eye(n + 1)
        wide = np.zeros((32, 32))

        def fresh(part: Floats, wide: Floats = wide) -> Floats:
            wide[:] = 0.0
            wide[: len(part), : len(part)] = np.linalg.inv(part)
            return wide

        def longer(v: Floats) -> Floats:
            return np.concatenate([v, np.zeros(32 - len(v))])

        inv = fresh(B[:n, :n])
        x, y = inv[:n, :n] @ B[:n, n], B[n, :n] @ inv[:n, :n]
        pivot = B[n, n] - B[n, :n] @ x
        inverse.border(inv, n, longer(x), longer(y), pivot)
        np.testing.assert_allclose(inv[: n + 1, : n + 1], np.linalg.inv(B), atol=1e-9)
        for o in range(n):
            other = B[:n, :n].copy()
            other[o] = B[n, :n]
            inv = fresh(B[:n, :n])
            inverse.replace_row(inv, n, longer(B[n, :n] @ inv[:n, :n]), o)
            np.testing.assert_allclose(inv[:n, :n], np.linalg.inv(other), atol=1e-8)
            inv = fresh(B[:n, :n])
            inverse.replace_column(inv, n, longer(inv[:n, :n] @ B[n, :n]), o)
            other = B[:n, :n].copy()
            other[:, o] = B[n, :n]
            np.testing.assert_allclose(inv[:n, :n], np.linalg.inv(other), atol=1e-8)
        for p, o in itertools.product(range(n + 1), repeat=2):
            # Column p and row o go; the last ones come to their places.
            left, kept = list(range(n + 1)), list(range(n + 1))
            left[o], kept[p] = n, n
            inv = fresh(B)
            if abs(inv[p, o]) < 1e-3:
                continue
            inverse.unborder(inv, n + 1, p, o)
            small = B[np.ix_(left[:n], kept[:n])]
            np.testing.assert_allclose(inv[:n, :n] @ small, np.eye(n), atol=1e-7)


def test_inverses_afresh() -> None:
    M = symmetric(6, 4)
    M[0, 0] = 0.0  # has to be pivoted
    for E, A in [*BASES, ([0, 3], [0, 5])]:
        z = with_basis(M, E, A)
        n = len(E)
        np.testing.assert_allclose(z.inv[:n, :n] @ M[np.ix_(E, A)], np.eye(n), atol=1e-9)
    for size, fine in ((1e-15, False), (1e-11, True)):
        z = with_basis(symmetric(6, 4), [0, 1], [0, 1])
        assert inverse.invert(np.array([[1.0, 1.0], [1.0, 1.0 + size]]), z) == fine
    z = with_basis(M, [0, 1], [2, 3])
    assert not inverse.invert(np.zeros((6, 6)), z)


def test_states_grow_and_forget() -> None:
    M = symmetric(6, 5)
    z = with_basis(M, [0, 1, 2, 3], [5, 4, 3, 2])
    z.active[NUMBER, STUCK], z.active[NUMBER, STUCK_SIGN], z.basic[GAUGE, WIDER] = 4, -1, 0.5
    for m, room in ((6, 20), (9, 3), (20, 40)):
        more = basis.resized(z, m, room)
        old = z.place.shape[1]
        assert more.line.shape == (15, 16 * (-(-m // 16)) if m > 6 else 6)
        assert more.active.shape[1] == more.inv.shape[0] == max(16, 16 * (-(-room // 16)))
        np.testing.assert_array_equal(more.place[:, :old], z.place)
        assert (more.place[:, old:] == -1).all()
        np.testing.assert_array_equal(more.line[:13, :old], z.line[:13])
        assert (more.line[BOUND + COLUMN, :m] == 1.0).all()
        np.testing.assert_array_equal(more.active[:, :4], z.active[:, :4])
        np.testing.assert_array_equal(more.basic[:, :4], z.basic[:, :4])
        np.testing.assert_array_equal(more.inv[:4, :4], z.inv[:4, :4])
    wrong = 0
    for side, members in ((ROW, sides(z)[0]), (COLUMN, sides(z)[1])):
        wrong += int((z.line[SIGN + side, members] * z.basic[VALUE + side, :4] < 0.0).sum())
    assert basis.wrong_signs(z) == wrong > 0
    z.basic[VALUE : VALUE + 2] = 0.0  # neither sign is wrong for 0
    assert basis.wrong_signs(z) == 0
    basis.forget(z)
    assert z.active[NUMBER, SIZE] == 0
    assert (z.place == -1).all()
    assert basis.wrong_signs(z) == 0


# --- The start of the path, and the path


def test_irregular_numbers() -> None:
    numbers = [path_start.jitter(j) for j in range(2000)]
    assert min(numbers) >= 0.0
    assert max(numbers) < 1.0
    assert len(set(numbers)) == 2000
    # 2000 draws: the mean deviates by 0.29 / sqrt(2000) = 0.0065, five times that is 0.033.
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.033)
    assert np.corrcoef(numbers[1:], numbers[:-1])[0, 1] == pytest.approx(0.0, abs=0.12)


def started(M: Floats, E: list[int], A: list[int], seed: int, how: Loosening) -> State:
    z = with_basis(M, E, A, seed)
    assert path_start.start_path(M, z, 2.0, how)
    return z


@pytest.mark.parametrize(
    "how", [Loosening(1e-4, False), Loosening(0.1, True), Loosening(0.0, False)]
)
@pytest.mark.parametrize(("E", "A"), BASES)
def test_a_path_starts_optimal(E: list[int], A: list[int], how: Loosening) -> None:
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
        uneven = 0.0 if how.straight and side == ROW else how.spread
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
        assert (there <= worst * (1 + how.spread) * (1 + 1e-12)).all()


def carried(M: Floats, z: State, side: int) -> Floats:
    """The rates of the lines of `side` as far as the basic values of the other side make them."""
    other, turn = (COLUMN, -1.0) if side == ROW else (ROW, 1.0)
    point = np.zeros(len(M))
    point[sides(z)[other]] = z.basic[RATE + other, : z.active[NUMBER, SIZE]]
    return np.asarray(turn * M @ point)


def optimal_at(z: State, s: float) -> None:
    """At s all lines are within their bounds and all basic values have their signs."""
    for side in (ROW, COLUMN):
        n, members = z.active[NUMBER, SIZE], sides(z)[side]
        line = np.abs(z.line[VALUE + side] + s * z.line[RATE + side])
        bound = z.line[BOUND + side] + s * z.line[BOUND_RATE + side]
        assert (line <= bound + 1e-9 * (1.0 + bound)).all()
        value = z.basic[VALUE + side, :n] + s * z.basic[RATE + side, :n]
        assert (z.line[SIGN + side, members] * value >= -1e-9 * (1.0 + np.abs(value))).all()


def test_newcomers_are_loosened_and_others_left_alone() -> None:
    M = symmetric(6, 6)
    z = started(M, [3], [1], 7, Loosening(1e-4, False))
    z.line[BOUND_RATE + ROW, 4] = z.line[BOUND_RATE + COLUMN, 5] = 0.0
    z.line[VALUE + ROW, 4] = z.line[VALUE + COLUMN, 5] = 100.0
    before, more = z.line.copy(), z.basic[GAUGE, WIDER : WIDER + 2].copy()
    path_start.loosen(z, 0.25, 2.0, Loosening(1e-4, False))
    for side, j in ((ROW, 4), (COLUMN, 5)):
        rates = z.line[BOUND_RATE + side]
        assert np.delete(rates, j).tolist() == np.delete(before[BOUND_RATE + side], j).tolist()
        needed = abs(100.0 + 0.25 * z.line[RATE + side, j]) - z.line[BOUND + side, j]
        assert needed <= 0.25 * rates[j] <= needed * (1 + 1e-3)
        assert z.basic[GAUGE, WIDER + side] == more[side]  # that is of s = 1


def slow_event(z: State, s: float) -> float:
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
        n, members = z.active[NUMBER, SIZE], sides(z)[side]
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
    z = started(M, E, A, seed, Loosening(1e-2, False))
    s, kinds = 1.0, set()
    centres = [z.line[RATE + side] - carried(M, z, side) for side in (ROW, COLUMN)]
    for _ in range(60):
        event, side, joins, which = homotopy.next_event(z, 2.0)
        assert event == pytest.approx(slow_event(z, s), abs=2e-4)
        if which < 0:
            break
        kinds.add((side, joins))
        before = [set(members.tolist()) for members in sides(z)]
        code, s_next, made, z = homotopy.follow(M, z, s, 2.0, 1)
        if code == homotopy.RAY:
            proves_infeasible(M, z, s_next)
            break
        assert (code, made) in ((homotopy.LIMIT, 1), (homotopy.DONE, 1))
        assert s_next <= s
        n, (E_now, A_now) = z.active[NUMBER, SIZE], sides(z)
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
        path_start.recompute(M, z, 2.0, 0)
        np.testing.assert_allclose(z.basic[:RATE, :n], values[0][:, :n], atol=1e-7)
        np.testing.assert_allclose(z.line[:RATE], values[1], atol=1e-7)
        s = s_next
    assert kinds


def test_violations_that_are_rounding_are_no_events() -> None:
    """Up to 1e-11, of the size of b for rows, of the largest basic value for signs."""
    for side, j, unit in ((ROW, 0, 4.0), (COLUMN, 1, 1.0)):
        for share, counts in ((0.7, False), (1.6, True)):
            z = basis.new_state(2, 2, 2)
            z.line[BOUND + ROW], z.line[BOUND_RATE] = 0.5, 9.0
            z.line[BOUND_RATE + 1] = 9.0
            z.line[VALUE + side, j] = -z.line[BOUND + side, j] - share * 1e-11 * unit
            assert (homotopy.next_event(z, 4.0)[3] >= 0) == counts
    M = np.diag([1.0, 2.0, 3.0])
    for side in (ROW, COLUMN):
        for share, counts in ((0.7, False), (1.6, True)):
            z = with_basis(M, [0, 2], [0, 2])
            z.line[BOUND + ROW], z.line[BOUND + COLUMN] = 9e9, 9e9
            z.basic[VALUE + side, :2] = z.line[SIGN + side, [0, 2]] * [5.0, -share * 5e-11]
            z.basic[VALUE + 1 - side, :2] = z.line[SIGN + 1 - side, [0, 2]]
            z.basic[RATE + side, 1] = z.line[SIGN + side, 2]
            event, found, joins, which = homotopy.next_event(z, 4.0)
            assert (which >= 0) == counts
            if counts:
                assert (found, joins, which) == (1 - side, False, 1)
                assert event == pytest.approx(share * 5e-11)


def proves_infeasible(M: Floats, z: State, s: float) -> None:
    """The dual ray that nothing stops: M u = 0, and its value falls short of nothing below s."""
    n, u = z.active[NUMBER, SIZE], np.zeros(len(M))
    u[sides(z)[0]] = z.basic[MOVE + ROW, :n]
    if z.active[NUMBER, STUCK] >= 0:
        u[z.active[NUMBER, STUCK]] = z.active[NUMBER, STUCK_SIGN]
    np.testing.assert_allclose(M @ u, 0.0, atol=1e-8)
    assert z.line[CENTRE] @ u > 0.0


def test_rays_that_disagree_make_no_pivot() -> None:
    """The pivot as a row's ray has it and as a column's: a millionth apart is rounding, no more."""
    M = symmetric(6, 1)
    for apart, fine in ((1e-7, True), (-1e-7, True), (1e-5, False), (-1e-5, False)):
        z = with_basis(M, [1, 2], [0, 2])
        row, column = Change(True, 4, 1.0), Change(True, 3, -1.0)
        basis.ray(M, z, ROW, row)
        basis.ray(M, z, COLUMN, column)
        z.line[MOVE + ROW, 4] *= 1.0 + apart
        assert homotopy.exchange(z, row, column) == fine
        assert z.active[NUMBER, SIZE] == (3 if fine else 2)


def test_the_path_takes_no_more_pivots_than_told() -> None:
    M = symmetric(7, 3)
    M = M @ M.T / 7
    z = started(M, [], [], 3, Loosening(1e-4, False))
    code, s, made, z = homotopy.follow(M, z, 1.0, 2.0, 2)
    assert (code, made) == (homotopy.LIMIT, 2)
    assert s == homotopy.next_event(z, 2.0)[0]
    code, s, more, z = path_start.follow_to_end(M, z, s, 2.0, 100, Loosening(1e-4, False))
    assert (code, s) == (homotopy.DONE, 0.0)
    z = started(M, [], [], 3, Loosening(1e-4, False))
    assert path_start.follow_to_end(M, z, 1.0, 2.0, 100, Loosening(1e-4, False))[2] == more + 2
    z = started(M, [], [], 3, Loosening(1e-4, False))
    assert (
        path_start.follow_to_end(M, z, 1.0, 2.0, 1, Loosening(1e-4, False))[::2][0]
        == homotopy.LIMIT
    )


def test_a_basis_outgrows_its_room() -> None:
    M = symmetric(20, 1)
    M = M @ M.T / 20 + np.eye(20)
    z = with_basis(M, [], [])
    z.line[BOUND + ROW] = 1e-6
    assert path_start.start_path(M, z, 2.0, Loosening(1e-4, False))
    code, _, made, z = path_start.follow_to_end(M, z, 1.0, 2.0, 500, Loosening(1e-4, False))
    assert code == homotopy.DONE
    assert z.active[NUMBER, SIZE] == 20 <= made
    w = np.zeros(20)
    w[sides(z)[COLUMN]] = z.basic[VALUE + COLUMN, :20]
    np.testing.assert_allclose(np.abs(z.line[CENTRE] - M @ w), 1e-6, rtol=1e-6)
    assert z.inv.shape == (32, 32)


@pytest.mark.parametrize("seed", range(12))
def test_what_stops_a_ray_first(seed: int) -> None:
    """By the longest step that keeps all lines in their bounds and all basic values' signs."""
    M = symmetric(7, seed)
    M = M @ M.T / 7
    z = started(M, [0, 4, 6], [4, 2, 6], seed, Loosening(1e-2, False))
    rng, stops = np.random.default_rng(seed), set()
    for side in (ROW, COLUMN):
        other, n = 1 - side, 3
        for joins, which in [(True, j) for j in range(7) if z.place[side, j] < 0] + [
            (False, i) for i in range(3)
        ]:
            sign = float(rng.choice([-1.0, 1.0]))
            big = basis.ray(M, z, side, Change(joins, which, sign))
            end = float(rng.choice([np.inf, 0.3]))
            d, dt = z.line[MOVE + other], z.basic[MOVE + side, :n]
            lines = z.line[VALUE + other] + z.line[RATE + other]
            bounds = z.line[BOUND + other] + z.line[BOUND_RATE + other]
            steps = {}
            for j in np.flatnonzero((z.place[other] < 0) & (np.abs(d) > 1e-9)):
                room = (np.sign(d[j]) * bounds[j] - lines[j]) / d[j]
                steps[homotopy.BY_LINE, int(j), float(np.sign(d[j]))] = room
            for i in range(n):
                own = z.line[SIGN + side, z.active[side, i]]
                if own * dt[i] < -1e-9:
                    value = z.basic[VALUE + side, i] + z.basic[RATE + side, i]
                    steps[homotopy.BY_BASIC, i, own] = -value / dt[i]
            told = homotopy.blocking(z, side, 1.0, end, 1e-11, big)
            shortest = min(steps.values(), default=np.inf)
            if min(shortest, end) == np.inf:
                assert told[0] == homotopy.NOTHING
            elif end < shortest:
                assert told[0] == homotopy.BY_OTHER_END
            else:
                assert steps[told] == pytest.approx(shortest, abs=1e-8)
            stops.add(told[0])
    assert len(stops) > 1


# --- The lasso as a start


def lasso_state(m: int, seed: int) -> tuple[Floats, State]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * m, m))
    wide = rows.rounded(m)
    M = np.zeros((m, wide))
    M[:, :m] = X.T @ X / (2 * m)
    z = basis.new_state(m, wide, m + 2)
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
        assert lasso.descend(M, z, w, rounds)
        np.testing.assert_allclose(w, expected, atol=1e-12)
        np.testing.assert_allclose(z.line[VALUE + ROW, :m], b - M[:, :m] @ w, atol=1e-12)
    M[0, 0] = 0.0
    assert not lasso.descend(M, z, np.zeros(m), 1)


@pytest.mark.parametrize("m", [1, 4, 7, 18])
def test_the_basis_of_the_lasso_and_its_inverse(m: int) -> None:
    M, z = lasso_state(m, m)
    w = np.where(np.arange(m) % 3 != 1, np.random.default_rng(m).normal(size=m), 0.0)
    lasso.take_support(z, w)
    S = np.flatnonzero(w)
    n = len(S)
    for side in (ROW, COLUMN):
        assert sides(z)[side].tolist() == S.tolist()
        assert z.place[side, S].tolist() == list(range(n))
        assert z.line[SIGN + side, S].tolist() == np.sign(w[S]).tolist()
    L = np.zeros((rows.rounded(n), rows.rounded(n + 2)))
    assert lasso.equal_sides(M, z, L)
    B, sign = M[np.ix_(S, S)], np.sign(w[S])
    right = np.linalg.solve(B, z.line[CENTRE, S] - sign * z.line[BOUND + ROW, S])
    np.testing.assert_allclose(z.basic[VALUE + COLUMN, :n], right, atol=1e-9)
    np.testing.assert_allclose(z.basic[VALUE + ROW, :n], np.linalg.solve(B, sign), atol=1e-9)
    lasso.unfold(L, n)
    np.testing.assert_allclose(L[:n, :n], np.linalg.inv(B), atol=1e-9)
    for share, fine in ((1.0 - 1e-5, True), (1.0 - 1e-10, False)):  # all but singular
        M[S[-1], S[-1]] = B[-1, -1] - share / np.linalg.inv(B)[-1, -1]
        assert lasso.equal_sides(M, z, L) == (fine or m == 1)
