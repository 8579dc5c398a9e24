"""The inverse of the Cholesky root of a matrix of sums, with a ridge."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.jit.decorators import kernel
from keyhole.core.functions import c_function
from keyhole.problem import Floats

_TINY = 1e-12  # of a diagonal of 1: what a pivot is at least, should rounding make it less


@c_function(
    "kh_inverse_root",
    "A[v,v] ridge[v] b[v] root[v,v] along[v]",
    writes="root along",
    room="v*v+v",
)
@kernel
def inverse_root(A: Floats, ridge: Floats, b: Floats, root: Floats, along: Floats) -> bool:
    """Write (L^-1)' into root and L^-1 b into along, where L L' = A + diag(ridge).

    Of A the lower triangle is looked at. The leading parts of L^-1 and L^-1 b are those of the
    leading part of A: with the root of many inputs come those of the first few. Returns whether all
    of it is finite, as it is unless the sums overflow or are none.

    >>> A, b, root, along = np.diag([3.0, 8.0]), np.ones(2), np.empty((2, 2)), np.empty(2)
    >>> inverse_root(A, np.ones(2), b, root, along)
    True
    >>> (root @ along).round(3).tolist()  # (A + I)^-1 b
    [0.25, 0.111]
    """
    v = len(b)
    L, unit = np.empty((v, v)), np.empty(v)
    for i in range(v):  # with a diagonal of 1 large sums do not drown the ridge in rounding
        unit[i] = 1.0 / math.sqrt(A[i, i] + ridge[i])
    for i in range(v):
        for j in range(i):
            L[j, i] = A[i, j] * unit[i] * unit[j]
        L[i, i] = 1.0
        along[i] = b[i] * unit[i]
        for j in range(v):
            root[i, j] = 0.0
        root[i, i] = unit[i]
    # One pivot after the other, on L' (rows are columns of L), b and the columns of 1.
    for k in range(v):
        lead = L[k]
        scale = 1.0 / math.sqrt(max(lead[k], _TINY))
        for j in range(k, v):
            lead[j] *= scale
        along[k] *= scale
        for j in range(k + 1):
            root[j, k] *= scale
        for i in range(k + 1, v):
            factor, row = lead[i], L[i]
            for j in range(i, v):
                row[j] -= factor * lead[j]
            along[i] -= factor * along[k]
        for j in range(k + 1):
            row, factor = root[j], root[j, k]
            for i in range(k + 1, v):
                row[i] -= factor * lead[i]
    total = 0.0
    for i in range(v):
        total += along[i]
        for j in range(i, v):
            total += root[i, j]
    return bool(np.isfinite(total))
