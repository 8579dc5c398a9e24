"""The parametric simplex method for the Dantzig program, from any basis.

Start: loosen lam_j and c_j of what the basis violates until it is optimal (s = 1); then let the
loosening shrink to nothing (s = 0). From the empty basis this is the classical homotopy from
lam = infinity; from the basis of a similar problem it is a warm start; from the basis of a
smaller working set it brings in the violated rows and columns.

Between breakpoints everything is linear in s. The next breakpoint is the largest s at which
something that is violated at s = 0 gets violated: on side ROW a row or a weight (then the ratio
test on the dual ray says what enters), on side COLUMN a column or a multiplier (then the one on
the primal ray says what leaves). Loosenings are slightly irregular, so that ties do not meet and
no basis comes twice. See `dantzig_basis` for sides and letters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    GAUGE,
    H0,
    H1,
    LEFT,
    NUMBER,
    PACE,
    ROW,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    T0,
    T1,
    V0,
    V1,
    D,
    State,
    X,
    border,
    ray,
    replace_column,
    replace_row,
    resized,
    unborder,
)
from keyhole.blocks.dantzig.kernels.rows import largest
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart

# How `follow` ended; RAY: nothing stops the dual ray, infeasible below s.
DONE, RAY, STALLED, LIMIT = 0, 1, 3, 4
# What stopped a ray; OTHER_END: it came to the other end of its own bound.
NOTHING, LINE, BASIC, OTHER_END = -1, 0, 1, 2

FEASIBLE = 1e-11  # violations below this (times the size of b, w, u or 1) are rounding
PIVOT = 1e-9  # smaller pivots, relative to the numbers they come from, are rounding


@inner
def next_event(m: int, z: State, size: float) -> tuple[float, int, bool, int]:
    """Largest s > 0 at which the basis stops being optimal: (s, side, joins, which).

    joins: line `which` of `side` gets tight; otherwise a basic value of the other side hits 0.
    which = -1: none. Only what is violated at s = 0 can have an event.
    """
    s, found, joins, which = 0.0, ROW, True, -1
    for side in range(2):
        v0, v1, h0, h1 = z.line[V0 + side], z.line[V1 + side], z.line[H0 + side], z.line[H1 + side]
        place, slack = z.place[side], FEASIBLE * (size if side == ROW else 1.0)
        at = z.line[LEFT]
        for j in range(m):  # without branches: this vectorises
            over = abs(v0[j]) - h0[j]
            rate = h1[j] - (v1[j] if v0[j] > 0 else -v1[j])
            when = over / rate
            when = when if rate > over else 1.0
            at[j] = when if (over > slack) & (place[j] < 0) else 0.0
        for j in range(m):
            if at[j] > s:
                s, found, joins, which = at[j], side, True, j
        index, sign, t0 = z.active[side], z.line[SIGN + side], z.basic[T0 + side]
        small = FEASIBLE * largest(t0, z.active[NUMBER, SIZE])
        for i in range(z.active[NUMBER, SIZE]):
            over = -sign[index[i]] * t0[i]
            if over > small:
                rate = sign[index[i]] * z.basic[T1 + side, i]
                when = over / rate if rate > over else 1.0
                if when > s:
                    s, found, joins, which = when, 1 - side, False, i
    return s, found, joins, which


@inner
def blocking(
    m: int, z: State, side: int, s: float, end: float, hair: float, big: float
) -> tuple[int, int, float]:
    """What stops the ray of `side` first: (NOTHING, LINE, BASIC or OTHER_END; which; its sign).

    A line stops it at its bound, a basic value at 0, the cause itself at its other end. Two passes:
    how far it may go with a hair of tolerance, then the largest pivot within that.
    """
    other, n, gauge = 1 - side, z.active[NUMBER, SIZE], z.basic[GAUGE, 0]
    v0, v1, h0, h1 = z.line[V0 + other], z.line[V1 + other], z.line[H0 + other], z.line[H1 + other]
    d, place = z.line[D + other], z.place[other]
    t0, t1, dt = z.basic[T0 + side], z.basic[T1 + side], z.basic[X + side]
    index, sign = z.active[side], z.line[SIGN + side]
    reach, top, least = end, 0.0, PIVOT * big * gauge
    left, pace = z.line[LEFT], z.line[PACE]
    for j in range(m):  # without branches: this vectorises
        v, a = v0[j] + s * v1[j], abs(d[j])
        room = h0[j] + s * h1[j] - (v if d[j] > 0 else -v)
        stops = (a > least) & (place[j] < 0)
        left[j], pace[j] = (room if stops else np.inf), (a if stops else 0.0)
    for j in range(m):
        room = max(left[j], 0.0) + hair
        if room < reach * pace[j]:  # divisions only where they count
            reach = room / pace[j]
    for i in range(n):
        top = max(top, abs(t0[i] + s * t1[i]))
    for i in range(n):
        a = -sign[index[i]] * dt[i]
        if a > PIVOT * big:
            room = sign[index[i]] * (t0[i] + s * t1[i])
            reach = min(reach, (max(room, 0.0) + 1e-11 * top) / a)
    if reach == end:
        return (OTHER_END if end < np.inf else NOTHING), -1, 0.0
    found, which, to, best = NOTHING, -1, 0.0, 0.0
    for j in range(m):
        if left[j] <= reach * pace[j] and pace[j] > best * gauge:
            found, which, to, best = LINE, j, (1.0 if d[j] > 0 else -1.0), pace[j] / gauge
    for i in range(n):
        a = -sign[index[i]] * dt[i]
        if a > PIVOT * big and a > best and sign[index[i]] * (t0[i] + s * t1[i]) <= reach * a:
            found, which, to, best = BASIC, i, sign[index[i]], a
    return found, which, to


@inner
def move(m: int, z: State, side: int, step0: float, step1: float) -> None:
    """Along the ray of `side`: its basic values and the other side's lines."""
    t0, t1, dt = z.basic[T0 + side], z.basic[T1 + side], z.basic[X + side]
    for i in range(z.active[NUMBER, SIZE]):
        t0[i] += step0 * dt[i]
        t1[i] += step1 * dt[i]
    v0, v1, d = z.line[V0 + 1 - side], z.line[V1 + 1 - side], z.line[D + 1 - side]
    for j in range(len(d)):
        v0[j] += step0 * d[j]
        v1[j] += step1 * d[j]


@inner
def exchange(
    m: int, z: State,
    row_joins: bool, out: int, out_sign: float, column_joins: bool, into: int, in_sign: float,
) -> bool:  # fmt: skip
    """One pivot, both rays at hand; False if the two rays do not agree on it.

    Row `out` gets tight, or the column at place `out` leaves; column `into` enters, or the row at
    place `into` slackens.
    """
    n, inv = z.active[NUMBER, SIZE], z.inv
    joins, which, sign = (row_joins, column_joins), (out, into), (out_sign, in_sign)
    pivot = (
        z.line[D + ROW, out] if row_joins else z.basic[X + COLUMN, out],
        z.line[D + COLUMN, into] if column_joins else z.basic[X + ROW, into],
    )
    if not abs(abs(pivot[0]) - abs(pivot[1])) <= 1e-6 * abs(pivot[1]):
        return False
    new0, new1 = np.empty(2), np.empty(2)
    for side in range(2):
        other = 1 - side
        j = which[other]
        if joins[other]:
            goal0 = sign[other] * z.line[H0 + other, j] - z.line[V0 + other, j]
            goal1 = sign[other] * z.line[H1 + other, j] - z.line[V1 + other, j]
        else:
            goal0, goal1 = -z.basic[T0 + side, j], -z.basic[T1 + side, j]
        new0[side], new1[side] = goal0 / pivot[other], goal1 / pivot[other]
    for side in range(2):
        move(m, z, side, new0[side], new1[side])
    y, x = z.basic[X + ROW], z.basic[X + COLUMN]
    for i in range(n):
        y[i] *= -out_sign
        x[i] *= -in_sign
    spot = (n, n)  # where the newcomers of E and A go
    if row_joins and column_joins:
        border(inv, n, x, y, out_sign * pivot[COLUMN])
    elif row_joins:
        replace_row(inv, n, y, into)
        spot = (into, n)
    elif column_joins:
        replace_column(inv, n, x, out)
        spot = (n, out)
    else:
        unborder(inv, n, out, into)
    z.active[NUMBER, SIZE] = n + int(row_joins) - int(not column_joins)
    for side in range(2):
        j, place, index = which[1 - side], z.place[side], z.active[side]
        if not joins[1 - side]:  # the basic value of this side at place j goes out
            place[index[j]] = -1
            if not joins[side] and j != n - 1:
                index[j] = index[n - 1]
                place[index[j]] = j
                z.basic[T0 + side, j] = z.basic[T0 + side, n - 1]
                z.basic[T1 + side, j] = z.basic[T1 + side, n - 1]
    for side in range(2):
        if joins[side]:
            j, i = which[side], spot[side]
            z.active[side, i], z.place[side, j], z.line[SIGN + side, j] = j, i, sign[side]
            z.basic[T0 + side, i] = sign[side] * new0[side]
            z.basic[T1 + side, i] = sign[side] * new1[side]
            z.line[V0 + side, j] = sign[side] * z.line[H0 + side, j]
            z.line[V1 + side, j] = sign[side] * z.line[H1 + side, j]
    return True


@inner
def pivot(
    M: NDArray[np.floating], m: int, z: State, s: float, size: float,
    side: int, joins: bool, which: int,
) -> int:  # fmt: skip
    """Answer an event: find what stops its ray and exchange the two, or go to the other end."""
    other, end, j = 1 - side, np.inf, which
    if joins:
        sign = 1.0 if z.line[V0 + side, which] > 0 else -1.0
    else:
        j = z.active[other, which]
        sign = z.line[SIGN + other, j]
        end = 2.0 * (z.line[H0 + other, j] + s * z.line[H1 + other, j])
    hair = 1e-11 * (size if side == COLUMN else 1.0)
    big = ray(M, m, z, side, joins, which, sign)
    found, stopper, to = blocking(m, z, side, s, end, hair, big)
    if found == OTHER_END:
        move(m, z, side, 2.0 * z.line[H0 + other, j], 2.0 * z.line[H1 + other, j])
        z.line[SIGN + other, j] = -sign
        return DONE
    if found == NOTHING:
        z.active[NUMBER, STUCK] = which if joins else -1
        z.active[NUMBER, STUCK_SIGN] = int(sign)
        # A primal ray without end would let |w|_1 fall for ever: rounding.
        return RAY if side == ROW else STALLED
    ray(M, m, z, other, found == LINE, stopper, to)
    if side == ROW:
        good = exchange(m, z, joins, which, sign, found == LINE, stopper, to)
    else:
        good = exchange(m, z, found == LINE, stopper, to, joins, which, sign)
    return DONE if good else STALLED


@inner
def follow(
    M: NDArray[np.floating], m: int, z: State, s: float, size: float, pivots: int
) -> tuple[int, float, int, State]:
    """Follow the path from s down to 0: (how it ended, s reached, pivots made, state).

    LIMIT: after `pivots` pivots; s is then the next breakpoint. The basis is optimal for the s
    that is returned in any case.
    """
    apart()
    made, waiting = 0, 0
    while True:
        at, side, joins, which = next_event(m, z, size)
        if which < 0:
            return DONE, 0.0, made, z
        if made == pivots:
            return LIMIT, min(s, at), made, z
        room = z.active.shape[1]
        if z.active[NUMBER, SIZE] == room:
            z = resized(z, m, m, min(m + 1, 2 * room))
        waiting = 0 if at < s * (1.0 - 1e-13) else waiting + 1
        s = min(s, at)
        code = pivot(M, m, z, s, size, side, joins, which)
        if code != DONE or waiting > 50 + z.active[NUMBER, SIZE]:
            return (code if code != DONE else STALLED), s, made, z
        made += 1
