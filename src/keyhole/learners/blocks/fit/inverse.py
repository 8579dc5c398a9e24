"""Inverses of positive definite matrices, whatever the sizes of their entries."""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats


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
