"""The Dantzig program seen from a basis with equal rows and columns S: a table, not written down.

It is a table of derivatives of what follows (its rows) by what is set (its columns):

                      w off S    b - M w on S
    w on S              -X           -inv          X = inv M[S, N],  N: all but S
    b - M w off S       -Y            X^T          Y = M[N, N] - M[N, S] X

A column is a ray of w, a row (up to sign) a ray of the dual, u on S and M u off S. A pivot lets a
row and a column of the table change places; for the rest it adds an outer product. Few pivots are
to be made, so the table is never written down: a pivot asks for one column and one row, which come
from the inverse and from the outer products so far, and the inverse stays that of S until the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    COLUMN,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    VALUE,
    State,
)
from keyhole.blocks.dantzig.kernels.homotopy import FEASIBLE
from keyhole.blocks.dantzig.kernels.program import Lines
from keyhole.blocks.dantzig.kernels.rows import combine, rank_one, rounded
from keyhole.blocks.dantzig.kernels.working_set import WorkingSet
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices

# Rows of Table.edge. For what follows: its value, its bounds, what of it is rounding. For what is
# set: the same of the dual value that belongs to it, and about the square of its ray's length; the
# rest is scratch.
PRIMAL, LOW, HIGH, TINY, DUAL, LEAST, MOST, SLIGHT, LENGTH = 0, 1, 2, 3, 4, 5, 6, 7, 8
ROOM, PACE, NEXT, INSIDE, OUTSIDE, SHARE = 9, 10, 11, 12, 13, 14
# The two ways through the table, also rows of Table.who and Table.since, and of Table.products.
DOWN, ACROSS = 0, 1


class Rounding(NamedTuple):
    """What is rounding in a row of the problem, in a weight, in a multiplier."""

    row: float
    weight: float
    multiplier: float


class Table(NamedTuple):
    """The table, as described above; its rows: S, then N, its columns: N, then S."""

    A: Floats  # M[S, N]
    N: Indices
    edge: Floats  # (15, m or more)
    who: Indices  # (2, m): the weight w_j (as j) or the row (as m + j) that follows, that is set
    since: Indices  # (2, m): how many pivots when it came, 0 if it always was there
    products: Floats  # (2, pivots, m or more): the two factors of each outer product
    where: Indices  # (2, pivots): row and column of each pivot


@inner
def follows(
    edge: Floats, i: int, value: float, weight: bool, sign: float, lam: float, rounding: Rounding
) -> None:
    """Row i of the table is a weight of this sign, or a row of the problem between its bounds."""
    edge[PRIMAL, i], edge[TINY, i] = value, rounding.weight if weight else rounding.row
    edge[LOW, i] = (0.0 if sign > 0.0 else -np.inf) if weight else -lam
    edge[HIGH, i] = (np.inf if sign > 0.0 else 0.0) if weight else lam


@inner
def is_set(
    edge: Floats, c: int, dual: float, weight: bool, sign: float, rounding: Rounding
) -> None:
    """Column c of the table is a weight at 0, or a row of the problem at its bound of this sign."""
    edge[DUAL, c], edge[SLIGHT, c] = dual, FEASIBLE if weight else rounding.multiplier
    edge[LEAST, c] = -1.0 if weight else (0.0 if sign > 0.0 else -np.inf)
    edge[MOST, c] = 1.0 if weight else (np.inf if sign > 0.0 else 0.0)


@inner
def tabulate(working: WorkingSet, z: State, lines: Lines, rounding: Rounding, pivots: int) -> Table:
    """The table of a basis with equal rows and columns; its lines are given."""
    apart()
    W, M, m = working.W, working.M, z.place.shape[1]
    n, inv, S, wide = z.active[NUMBER, SIZE], z.inv, z.active[ROW], rounded(m)
    k, a = m - n, 0
    A, N, edge = np.zeros((n, rounded(k))), np.empty(k, np.int64), np.zeros((15, wide))
    who, since = np.empty((2, m), np.int64), np.zeros((2, m), np.int64)
    length, square = edge[LENGTH], edge[SHARE]
    for c in range(wide):
        length[c] = 1.0
    for j in range(m):
        if z.place[ROW, j] < 0:
            N[a], who[DOWN, n + a], who[ACROSS, a] = j, m + j, j
            follows(edge, n + a, lines.r[W[j]], False, 1.0, z.line[BOUND + ROW, j], rounding)
            is_set(edge, a, lines.q[W[j]], True, 1.0, rounding)
            a += 1
    for e in range(n):
        j, row, mine, other = S[e], M[S[e]], A[e], inv[e]
        who[DOWN, e], who[ACROSS, k + e] = j, m + j
        sign = z.line[SIGN + ROW, j]
        follows(edge, e, z.basic[VALUE + COLUMN, e], True, sign, 0.0, rounding)
        is_set(edge, k + e, z.basic[VALUE + ROW, e], False, sign, rounding)
        for a in range(k):
            mine[a] = row[N[a]]
        for a in range(len(mine)):
            length[a] += mine[a] * mine[a]  # about that of X
        for o in range(n):
            square[o] += other[o] * other[o]
    for e in range(n):
        length[k + e] += square[e]
    products, where = np.empty((2, pivots, wide)), np.empty((2, pivots), np.int64)
    return Table(A, N, edge, who, since, products, where)


@inner
def line_of(
    M: NDArray[np.floating], z: State, t: Table, way: int, at: int, made: int, out: Floats
) -> None:
    """Column (way DOWN) or row (way ACROSS) `at` of the table after `made` pivots."""
    apart()
    n, S, since = z.active[NUMBER, SIZE], z.active[ROW], t.since[1 - way, at]
    k, none = len(t.N), n - n
    for i in range(len(out)):
        out[i] = 0.0
    if since == 0:
        first, second, v = t.edge[INSIDE], t.edge[OUTSIDE], t.edge[SHARE]
        for i in range(len(out)):
            first[i], second[i] = 0.0, 0.0
        inside = at >= k if way == DOWN else at < n
        if inside:
            g = z.inv[at - k if way == DOWN else at]
            combine(t.A, none, n, g, none, k, second)
        else:
            g, row = first, M[t.N[at if way == DOWN else at - n]]
            for e in range(n):
                v[e] = row[S[e]]
            combine(z.inv, none, n, v, none, n, first)
            for e in range(n):
                v[e] = -first[e]
            combine(t.A, none, n, v, none, k, second)
            for a in range(k):
                second[a] += row[t.N[a]]
        one = -1.0 if way == DOWN or inside else 1.0
        two = -1.0 if way == ACROSS or not inside else 1.0
        i, j = (none, n) if way == DOWN else (k, none)
        for e in range(n):
            out[i + e] = one * g[e]
        for a in range(k):
            out[j + a] = two * second[a]
    for step in range(max(since - 1, 0), made):
        out[t.where[way, step]] = 0.0
        factor, product = t.products[1 - way, step, at], t.products[way, step]
        for i in range(len(out)):
            out[i] += factor * product[i]


@inner
def exchange(t: Table, made: int, p: int, c: int, kappa: float) -> None:
    """Row p and column c of the table change places; `kappa`: step of the dual values by row p.

    The column and the row are where the two factors of the outer product will be.
    """
    ray, mine = t.products[DOWN, made], t.products[ACROSS, made]
    pivot, dual, length, long = ray[p], t.edge[DUAL], t.edge[LENGTH], t.edge[LENGTH, c]
    for o in range(len(mine)):
        dual[o] -= kappa * mine[o]
        mine[o] /= pivot
        square = mine[o] * mine[o] * long
        length[o] = length[o] if length[o] > square else square
        ray[o] = -ray[o]
    length[c] = max(long / (pivot * pivot), 1.0)
    ray[p], mine[c] = -1.0, -1.0 / pivot
    t.where[DOWN, made], t.where[ACROSS, made] = p, c
    t.since[DOWN, p], t.since[ACROSS, c] = made + 1, made + 1


@inner
def take_basis(z: State, t: Table, rows: Indices, columns: Indices) -> None:
    """The basis of the table with its basic values; rows, columns: where it is in the table."""
    n, number, m = z.active[NUMBER, SIZE], 0, z.place.shape[1]
    for side in range(2):
        for i in range(n):
            z.place[side, z.active[side, i]] = -1
    n = 0
    for i in range(m):
        j = t.who[DOWN, i]
        if j < m:
            rows[n], z.active[COLUMN, n], z.place[COLUMN, j] = i, j, n
            z.basic[VALUE + COLUMN, n] = t.edge[PRIMAL, i]
            z.line[SIGN + COLUMN, j] = 1.0 if t.edge[LOW, i] == 0.0 else -1.0
            n += 1
        j = t.who[ACROSS, i] - m
        if j >= 0:
            columns[number], z.active[ROW, number], z.place[ROW, j] = i, j, number
            z.basic[VALUE + ROW, number] = t.edge[DUAL, i]
            z.line[SIGN + ROW, j] = 1.0 if t.edge[LEAST, i] == 0.0 else -1.0
            number += 1
    z.active[NUMBER, SIZE] = n


@inner
def take_inverse(z: State, t: Table, made: int, rows: Indices, columns: Indices) -> None:
    """The inverse of the table's basis in place of that of S, in n^2 multiply-adds per pivot."""
    apart()
    n, old = z.active[NUMBER, SIZE], len(t.A)
    k, inv = len(t.N), np.zeros((n, rounded(n)))
    x, y = np.empty(n), np.zeros(rounded(n))
    for p in range(n):
        if rows[p] < old:
            row, mine = z.inv[rows[p]], inv[p]
            for o in range(n):
                mine[o] = -row[columns[o] - k] if columns[o] >= k else 0.0
    for step in range(made):
        for p in range(n):
            x[p] = t.products[DOWN, step, rows[p]]
            y[p] = t.products[ACROSS, step, columns[p]]
            if rows[p] == t.where[DOWN, step]:
                for o in range(n):
                    inv[p, o] = 0.0
            if columns[p] == t.where[ACROSS, step]:
                for o in range(n):
                    inv[o, p] = 0.0
        rank_one(inv, n, x, y)
    for p in range(n):
        for o in range(n):
            z.inv[p, o] = -inv[p, o]
