"""The parametric simplex method for the Dantzig program, from any basis.

Start: loosen lam_j and c_j of what the basis violates until it is optimal (s = 1); then let the
loosening shrink to nothing (s = 0). From the empty basis this is the classical homotopy from
lam = infinity; from the basis of a similar problem it is a warm start; from the basis of a
smaller working set it brings in the violated rows and columns.

Between breakpoints everything is linear in s. The next breakpoint is the largest s at which
something that is violated at s = 0 gets violated: on side ROW a row or a weight (then the ratio
test on the dual ray says what enters), on side COLUMN a column or a multiplier (then the one on
the primal ray says what leaves). Loosenings are slightly irregular, so that ties do not meet and
no basis comes twice. See `basis.py` for sides and rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    BOUND_RATE,
    COLUMN,
    GAUGE,
    LARGEST,
    LEFT,
    MOVE,
    NUMBER,
    PACE,
    RATE,
    ROW,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    Change,
    State,
    ray,
    resized,
)
from keyhole.blocks.dantzig.kernels.inverse import border, replace_column, replace_row, unborder
from keyhole.blocks.dantzig.kernels.rows import largest
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart

# How `follow` ended; RAY: nothing stops the dual ray, infeasible below s.
DONE, RAY, STALLED, LIMIT = 0, 1, 3, 4
# What stops a ray; BY_OTHER_END: it comes to the other end of its own bound.
NOTHING, BY_LINE, BY_BASIC, BY_OTHER_END = -1, 0, 1, 2

FEASIBLE = 1e-11  # violations below this (times the size of b, w, u or 1) are rounding
PIVOT = 1e-9  # smaller pivots, relative to the numbers they come from, are rounding


@inner
def next_event(z: State, size: float) -> tuple[float, int, bool, int]:
    """Largest s > 0 at which the basis stops being optimal: (s, side, joins, which).

    joins: line `which` of `side` gets tight; otherwise a basic value of the other side hits 0.
    which = -1: none. Only what is violated at s = 0 can have an event.
    """
    m, s, found, joins, which = z.place.shape[1], 0.0, ROW, True, -1
    for side in range(2):
        v0, v1 = z.line[VALUE + side], z.line[RATE + side]
        h0, h1 = z.line[BOUND + side], z.line[BOUND_RATE + side]
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
        index, sign, t0 = z.active[side], z.line[SIGN + side], z.basic[VALUE + side]
        small = FEASIBLE * largest(t0, z.active[NUMBER, SIZE])
        for i in range(z.active[NUMBER, SIZE]):
            over = -sign[index[i]] * t0[i]
            if over > small:
                rate = sign[index[i]] * z.basic[RATE + side, i]
                when = over / rate if rate > over else 1.0
                if when > s:
                    s, found, joins, which = when, 1 - side, False, i
    return s, found, joins, which


@inner
def blocking(
    z: State, side: int, s: float, end: float, hair: float, big: float
) -> tuple[int, int, float]:
    """What stops the ray of `side` first: (how it is stopped, by which one, its sign).

    A line stops it at its bound, a basic value at 0, the cause itself at its other end. Two passes:
    how far it may go with a hair of tolerance, then the largest pivot within that.
    """
    other, n, m = 1 - side, z.active[NUMBER, SIZE], z.place.shape[1]
    gauge = z.basic[GAUGE, LARGEST]
    v0, v1 = z.line[VALUE + other], z.line[RATE + other]
    h0, h1 = z.line[BOUND + other], z.line[BOUND_RATE + other]
    d, place = z.line[MOVE + other], z.place[other]
    t0, t1, dt = z.basic[VALUE + side], z.basic[RATE + side], z.basic[MOVE + side]
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
        return (BY_OTHER_END if end < np.inf else NOTHING), -1, 0.0
    found, which, to, best = NOTHING, -1, 0.0, 0.0
    for j in range(m):
        if left[j] <= reach * pace[j] and pace[j] > best * gauge:
            found, which, to, best = BY_LINE, j, (1.0 if d[j] > 0 else -1.0), pace[j] / gauge
    for i in range(n):
        a = -sign[index[i]] * dt[i]
        if a > PIVOT * big and a > best and sign[index[i]] * (t0[i] + s * t1[i]) <= reach * a:
            found, which, to, best = BY_BASIC, i, sign[index[i]], a
    return found, which, to


@inner
def move(z: State, side: int, step: float, step_rate: float) -> None:
    """Along the ray of `side`: its basic values and the other side's lines."""
    t0, t1, dt = z.basic[VALUE + side], z.basic[RATE + side], z.basic[MOVE + side]
    for i in range(z.active[NUMBER, SIZE]):
        t0[i] += step * dt[i]
        t1[i] += step_rate * dt[i]
    v0, v1, d = z.line[VALUE + 1 - side], z.line[RATE + 1 - side], z.line[MOVE + 1 - side]
    for j in range(len(d)):
        v0[j] += step * d[j]
        v1[j] += step_rate * d[j]


@inner
def change_inverse(z: State, row: Change, column: Change, pivot: float) -> tuple[int, int]:
    """The inverse after a pivot, and the places in E and A where newcomers go."""
    n, y, x = z.active[NUMBER, SIZE], z.basic[MOVE + ROW], z.basic[MOVE + COLUMN]
    for i in range(n):
        y[i] *= -row.sign
        x[i] *= -column.sign
    if row.joins and column.joins:
        border(z.inv, n, x, y, row.sign * pivot)
        return n, n
    if row.joins:
        replace_row(z.inv, n, y, column.which)
        return column.which, n
    if column.joins:
        replace_column(z.inv, n, x, row.which)
        return n, row.which
    unborder(z.inv, n, row.which, column.which)
    return n, n


@inner
def exchange(z: State, row: Change, column: Change) -> bool:
    """One pivot, both rays at hand; False if the two rays do not agree on it.

    The row gets tight, or the column at that place leaves; the column enters, or the row at that
    place slackens.
    """
    n, joins = z.active[NUMBER, SIZE], (row.joins, column.joins)
    which, sign = (row.which, column.which), (row.sign, column.sign)
    pivot = (
        z.line[MOVE + ROW, row.which] if row.joins else z.basic[MOVE + COLUMN, row.which],
        z.line[MOVE + COLUMN, column.which] if column.joins else z.basic[MOVE + ROW, column.which],
    )
    if not abs(abs(pivot[ROW]) - abs(pivot[COLUMN])) <= 1e-6 * abs(pivot[COLUMN]):
        return False
    step, step_rate = np.empty(2), np.empty(2)
    for side in range(2):
        other = 1 - side
        j = which[other]
        if joins[other]:
            goal = sign[other] * z.line[BOUND + other, j] - z.line[VALUE + other, j]
            goal_rate = sign[other] * z.line[BOUND_RATE + other, j] - z.line[RATE + other, j]
        else:
            goal, goal_rate = -z.basic[VALUE + side, j], -z.basic[RATE + side, j]
        step[side], step_rate[side] = goal / pivot[other], goal_rate / pivot[other]
    for side in range(2):
        move(z, side, step[side], step_rate[side])
    spot = change_inverse(z, row, column, pivot[COLUMN])
    z.active[NUMBER, SIZE] = n + int(row.joins) - int(not column.joins)
    for side in range(2):
        j, place, index = which[1 - side], z.place[side], z.active[side]
        if not joins[1 - side]:  # the basic value of this side at place j goes out
            place[index[j]] = -1
            if not joins[side] and j != n - 1:
                index[j] = index[n - 1]
                place[index[j]] = j
                z.basic[VALUE + side, j] = z.basic[VALUE + side, n - 1]
                z.basic[RATE + side, j] = z.basic[RATE + side, n - 1]
    for side in range(2):
        if joins[side]:
            j, i = which[side], spot[side]
            z.active[side, i], z.place[side, j], z.line[SIGN + side, j] = j, i, sign[side]
            z.basic[VALUE + side, i] = sign[side] * step[side]
            z.basic[RATE + side, i] = sign[side] * step_rate[side]
            z.line[VALUE + side, j] = sign[side] * z.line[BOUND + side, j]
            z.line[RATE + side, j] = sign[side] * z.line[BOUND_RATE + side, j]
    return True


@inner
def pivot(
    M: NDArray[np.floating], z: State, s: float, size: float, side: int, joins: bool, which: int
) -> int:
    """Answer an event: find what stops its ray and exchange the two, or go to the other end."""
    other, end, j = 1 - side, np.inf, which
    if joins:
        sign = 1.0 if z.line[VALUE + side, which] > 0 else -1.0
    else:
        j = z.active[other, which]
        sign = z.line[SIGN + other, j]
        end = 2.0 * (z.line[BOUND + other, j] + s * z.line[BOUND_RATE + other, j])
    cause = Change(joins, which, sign)
    hair = 1e-11 * (size if side == COLUMN else 1.0)
    big = ray(M, z, side, cause)
    found, which, to = blocking(z, side, s, end, hair, big)
    if found == BY_OTHER_END:
        move(z, side, 2.0 * z.line[BOUND + other, j], 2.0 * z.line[BOUND_RATE + other, j])
        z.line[SIGN + other, j] = -sign
        return DONE
    if found == NOTHING:
        z.active[NUMBER, STUCK] = cause.which if joins else -1
        z.active[NUMBER, STUCK_SIGN] = int(sign)
        # A primal ray without end would let |w|_1 fall for ever: rounding.
        return RAY if side == ROW else STALLED
    answer = Change(found == BY_LINE, which, to)
    ray(M, z, other, answer)
    row, column = (cause, answer) if side == ROW else (answer, cause)
    return DONE if exchange(z, row, column) else STALLED


@inner
def follow(
    M: NDArray[np.floating], z: State, s: float, size: float, pivots: int
) -> tuple[int, float, int, State]:
    """Follow the path from s down to 0: (how it ended, s reached, pivots made, state).

    LIMIT: after `pivots` pivots; s is then the next breakpoint. The basis is optimal for the s
    that is returned in any case.
    """
    apart()
    made, waiting, m = 0, 0, z.place.shape[1]
    while True:
        at, side, joins, which = next_event(z, size)
        if which < 0:
            return DONE, 0.0, made, z
        if made == pivots:
            return LIMIT, min(s, at), made, z
        room = z.active.shape[1]
        if z.active[NUMBER, SIZE] == room:
            z = resized(z, m, min(m + 1, 2 * room))
        waiting = 0 if at < s * (1.0 - 1e-13) else waiting + 1
        s = min(s, at)
        code = pivot(M, z, s, size, side, joins, which)
        if code != DONE or waiting > 50 + z.active[NUMBER, SIZE]:
            return (code if code != DONE else STALLED), s, made, z
        made += 1
