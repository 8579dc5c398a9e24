"""Linear algebra of least squares: absent values, inverses, an inverse Cholesky root."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices


def filled(values: Floats, means: ArrayLike) -> Floats:
    """The values, with the means in place of those that are absent."""
    return np.where(np.isnan(values), means, values)


def weigh(w: Floats, means: Floats, x: Floats) -> float:
    """sum_i w_i x_i, one after the other; the mean stands in for a value that is absent."""
    total = 0.0
    for weight, mean, value in zip(w.tolist(), means.tolist(), x.tolist(), strict=True):
        total += weight * (mean if math.isnan(value) else value)
    return total


def predict_seen(
    features: Indices, values: Floats, support: Indices, w: Floats, means: Floats
) -> float:
    """`weigh` for a support within the ascending features that were bought."""
    return weigh(w, means, values[features.searchsorted(support)])


def inverse(A: Floats) -> Floats:
    """A^-1; where rows of very different sizes left nothing to invert, that of A's diagonal.

    A is one positive definite matrix or a stack of them. Sums of squares of 1e60 and of 1 are
    singular once rounded: coordinates then count as uncorrelated, and those never seen as 0.

    Examples
    --------
    >>> inverse(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    >>> inverse(np.array([[1e120, 1e120], [1e120, 1e120]]))
    array([[1.e-120, 0.e+000],
           [0.e+000, 1.e-120]])
    """
    try:
        P: Floats = np.linalg.inv(A).astype(np.float64)
    except np.linalg.LinAlgError:
        P = np.full(A.shape, np.nan)
    if np.isfinite(P).all():
        return P
    sizes = np.diagonal(A, axis1=-2, axis2=-1)
    known = sizes > 1.0 / np.finfo(np.float64).max
    inverted = np.where(known, 1.0 / np.where(known, sizes, 1.0), 0.0)
    uncorrelated: Floats = inverted[..., None] * np.eye(A.shape[-1])
    whole = np.asarray(np.isfinite(P).all(axis=(-2, -1)))[..., None, None]
    return np.where(whole, P, uncorrelated)


def solution(P: Floats, b: Floats) -> Floats:
    """P b, with 0 in place of what overflows; stacks of them too.

    >>> solution(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        theta: Floats = (P @ b[..., None])[..., 0].copy() if P.ndim > 2 else P @ b
    return theta if np.isfinite(theta).all() else np.where(np.isfinite(theta), theta, 0.0)


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
