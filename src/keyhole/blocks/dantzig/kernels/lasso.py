"""From the weights of a similar Dantzig program to a basis of this one, by way of the lasso.

The lasso min w.Gw/2 - b.w + lam.|w| has the same feasible set as optimality condition,
|b - G w| <= lam with equality on the support, so its support and signs are a basis with equal rows
and columns that satisfies all constraints; only multipliers may have the wrong sign. A few rounds
of coordinate descent from the old weights find it, whatever has moved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    CENTRE,
    COLUMN,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    VALUE,
    State,
)
from keyhole.blocks.dantzig.kernels.rows import combine, rounded
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats

ROUNDS = 8  # of coordinate descent; signs that have not settled by then are left to the pivots


@inner
def descend(M: NDArray[np.floating], z: State, w: Floats, rounds: int) -> bool:
    """Coordinate descent for the lasso from w, in place, until no sign changes."""
    apart()
    r, b, lam = z.line[VALUE + ROW], z.line[CENTRE], z.line[BOUND + ROW]
    m, wide = z.place.shape[1], len(r)  # a round number, as in M
    for j in range(wide):
        r[j] = b[j]
    for i in range(m):
        if w[i] != 0.0:
            a, row = w[i], M[i]
            for j in range(wide):
                r[j] -= a * row[j]
    for repeat in range(rounds):
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
                for i in range(wide):
                    r[i] -= a * row[i]
                flips += int(not new * old > 0.0)
        if flips == 0 and repeat > 0:
            break
    return True


@inner
def take_support(z: State, w: Floats) -> None:
    """The basis whose rows and columns are the support of w."""
    n = 0
    for j in range(z.place.shape[1]):
        if w[j] != 0.0:
            for side in range(2):
                z.active[side, n], z.place[side, j] = j, n
                z.line[SIGN + side, j] = 1.0 if w[j] > 0.0 else -1.0
            n += 1
    z.active[NUMBER, SIZE] = n


@inner
def equal_sides(M: NDArray[np.floating], z: State, L: Floats) -> bool:
    """Basic values of a basis with equal rows and columns, without its inverse.

    M[A, A] = L D L^T, the upper triangle of D L^T in L, which needs room for two more columns: the
    right-hand sides, eliminated together with the rows. False if it is not positive definite.
    """
    apart()
    n, index = z.active[NUMBER, SIZE], z.active[ROW]
    w, u = z.basic[VALUE + COLUMN], z.basic[VALUE + ROW]
    share, turned, top = np.empty(n), np.empty(n), 0.0
    for i in range(n):
        j, row, mine = index[i], M[index[i]], L[i]
        sign = z.line[SIGN + ROW, j]
        for e in range(i, n):
            mine[e] = row[index[e]]
        mine[n], mine[n + 1] = z.line[CENTRE, j] - sign * z.line[BOUND + ROW, j], sign
        top = max(top, mine[i])
        for k in range(i):
            share[k] = L[k, i] * turned[k]
        combine(L, n - n, i, share, i, n + 2, mine)
        if not mine[i] > 1e-8 * top:
            return False
        turned[i] = -1.0 / mine[i]
    for back in range(n):
        k = n - 1 - back
        lead, w0, w1, u0, u1, i = L[k], 0.0, 0.0, 0.0, 0.0, k + 1
        while i + 2 <= n:
            w0 += lead[i] * w[i]
            u0 += lead[i] * u[i]
            w1 += lead[i + 1] * w[i + 1]
            u1 += lead[i + 1] * u[i + 1]
            i += 2
        if i < n:
            w0 += lead[i] * w[i]
            u0 += lead[i] * u[i]
        w[k], u[k] = (w0 + w1 - lead[n]) * turned[k], (u0 + u1 - lead[n + 1]) * turned[k]
    return True


@inner
def unfold(L: Floats, n: int) -> None:
    """The inverse of L D L^T in place of its factor, in n^3 / 3 multiply-adds."""
    apart()
    share, x = np.empty(n), np.zeros(rounded(n))
    for back in range(n):
        k = n - 1 - back
        lead = L[k]
        t0, t1, i = 1.0 / lead[k], 0.0, k + 1
        for e in range(k + 1, n):
            share[e], x[e] = -lead[e] * t0, 0.0
        combine(L, k + 1, n, share, k + 1, n, x)
        while i + 2 <= n:
            t0 += share[i] * x[i]
            t1 += share[i + 1] * x[i + 1]
            i += 2
        if i < n:
            t0 += share[i] * x[i]
        for e in range(k + 1, n):
            lead[e], L[e, k] = x[e], x[e]
        lead[k] = t0 + t1
