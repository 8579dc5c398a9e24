"""The inverse of the Cholesky root of a matrix of sums, with a ridge."""

from __future__ import annotations

from keyhole.core.functions import c_function
from keyhole.problem import Floats


@c_function(
    "kh_inverse_root",
    "A[v,v] ridge[v] b[v] root[v,v] along[v]",
    writes="root along",
    room="v*v+v",
)
def inverse_root(A: Floats, ridge: Floats, b: Floats, root: Floats, along: Floats) -> bool:
    """Write (L^-1)' into root and L^-1 b into along, where L L' = A + diag(ridge).

    Of A the lower triangle is looked at. The leading parts of L^-1 and L^-1 b are those of the
    leading part of A: with the root of many inputs come those of the first few. Returns whether all
    of it is finite, as it is unless the sums overflow or are none.

    >>> import numpy as np
    >>> A, b, root, along = np.diag([3.0, 8.0]), np.ones(2), np.empty((2, 2)), np.empty(2)
    >>> inverse_root(A, np.ones(2), b, root, along)
    True
    >>> (root @ along).round(3).tolist()  # (A + I)^-1 b
    [0.25, 0.111]
    """
    raise NotImplementedError
