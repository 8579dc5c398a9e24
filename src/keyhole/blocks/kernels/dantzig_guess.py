"""From the weights of a similar Dantzig program to a basis of this one.

The lasso min w.Gw/2 - b.w + lam.|w| has the same feasible set as optimality condition,
|b - G w| <= lam with equality on the support, so its support and signs are a basis with equal rows
and columns that satisfies all constraints; only multipliers may have the wrong sign. A few rounds
of coordinate descent from the old weights find it, whatever has moved.
"""

from __future__ import annotations

import numpy as np

from keyhole.blocks.kernels.dantzig_basis import (
    COLUMN,
    H0,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    T0,
    V0,
    B,
    State,
    combine,
)
from keyhole.blocks.kernels.jit import inner
from keyhole.problem import Floats

ROUNDS = 8  # of coordinate descent; signs that have not settled by then are left to the pivots


@inner
def descend(M: Floats, m: int, z: State, w: Floats) -> bool:
    """Coordinate descent for the lasso from w, in place, until no sign changes."""
    r, b, lam = z.line[V0 + ROW], z.line[B], z.line[H0 + ROW]
    for j in range(m):
        r[j] = b[j]
    for i in range(m):
        if w[i] != 0.0:
            a, row = w[i], M[i]
            for j in range(m):
                r[j] -= a * row[j]
    for repeat in range(ROUNDS):
        flips = 0
        for j in range(m):
            row, old, new = M[j], w[j], 0.0
            if not row[j] > 0.0:
                return False
            x = r[j] + row[j] * old
            if abs(x) > lam[j]:
                new = (x - lam[j] if x > 0.0 else x + lam[j]) / row[j]
            if new != old:
                a, w[j] = new - old, new
                for i in range(m):
                    r[i] -= a * row[i]
                flips += int(not new * old > 0.0)
        if flips == 0 and repeat > 0:
            break
    return True


@inner
def take_support(m: int, z: State, w: Floats) -> None:
    """The basis whose rows and columns are the support of w."""
    n = 0
    for j in range(m):
        if w[j] != 0.0:
            for side in range(2):
                z.active[side, n], z.place[side, j] = j, n
                z.line[SIGN + side, j] = 1.0 if w[j] > 0.0 else -1.0
            n += 1
    z.active[NUMBER, SIZE] = n


@inner
def equal_sides(M: Floats, z: State, L: Floats) -> bool:
    """Basic values of a basis with equal rows and columns, without its inverse.

    M[A, A] = L D L^T, the upper triangle of D L^T in L; False if it is not positive definite.
    """
    n, w, u, index = z.active[NUMBER, SIZE], z.basic[T0 + COLUMN], z.basic[T0 + ROW], z.active[ROW]
    share, largest = np.empty(n), 0.0
    for i in range(n):
        j, row, mine = index[i], M[index[i]], L[i]
        sign = z.line[SIGN + ROW, j]
        w[i], u[i] = z.line[B, j] - sign * z.line[H0 + ROW, j], sign
        for e in range(i, n):
            mine[e] = row[index[e]]
        largest = max(largest, mine[i])
        for k in range(i):
            share[k] = -L[k, i] / L[k, k]
            w[i] += share[k] * w[k]
            u[i] += share[k] * u[k]
        combine(L, 0, i, share, i, n, mine)
        if not mine[i] > 1e-8 * largest:
            return False
    for back in range(n):
        k = n - 1 - back
        lead, a, c = L[k], w[k], u[k]
        for i in range(k + 1, n):
            a -= lead[i] * w[i]
            c -= lead[i] * u[i]
        w[k], u[k] = a / lead[k], c / lead[k]
    return True


@inner
def unfold(L: Floats, n: int) -> None:
    """The inverse of L D L^T in place of its factor, in n^3 / 3 multiply-adds."""
    share, x = np.empty(n), np.empty(n)
    for back in range(n):
        k = n - 1 - back
        lead = L[k]
        t = 1.0 / lead[k]
        for i in range(k + 1, n):
            share[i], x[i] = -lead[i] / lead[k], 0.0
        combine(L, k + 1, n, share, k + 1, n, x)
        for i in range(k + 1, n):
            t += share[i] * x[i]
            lead[i], L[i, k] = x[i], x[i]
        lead[k] = t
