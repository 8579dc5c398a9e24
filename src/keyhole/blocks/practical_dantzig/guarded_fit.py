"""Least squares from estimated correlations, guarded against what they cannot bear."""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats

MOST = 1.5  # share of the label's variance that a fit may claim to explain
SHARES = (1.0, 0.5, 0.25, 0.0)  # of the off-diagonal correlations, tried in this order
LEAST = 0.05  # eigenvalue of a correlation matrix that is used as a precision


def guarded_fit(R: Floats, c: Floats, pairs: float) -> Floats:
    """w = (R + I / pairs)^-1 c, with correlations halved while that makes no sense.

    Estimated from different rows, R may be indefinite, and w then be anything. It is accepted if
    R + I / pairs is positive definite and the variance it claims to explain, 2 w.c - w'R w, is
    between 0 and 1.5 of the label's; otherwise the off-diagonal of R is multiplied by 1/2, 1/4,
    and at last 0.

    Parameters
    ----------
    R, c
        Correlations of a few features with each other, and with the label.
    pairs
        The least number of rows that one of them rests on.

    Examples
    --------
    >>> guarded_fit(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.6, 0.3]), pairs=1e12).round(3)
    array([0.6, 0. ])
    >>> guarded_fit(np.array([[1.0, 1.2], [1.2, 1.0]]), np.array([0.6, 0.3]), pairs=9.0).round(3)
    array([ 0.556, -0.03 ])
    """
    ridge = 1.0 / max(pairs, 1.0)
    own = np.eye(len(c))
    for share in SHARES:
        S = share * R + (1.0 - share) * own
        try:
            root = np.linalg.cholesky(S + ridge * own)
        except np.linalg.LinAlgError:  # never for the last share
            continue
        w: Floats = np.linalg.solve(root.T, np.linalg.solve(root, c)).astype(np.float64)
        explained = 2.0 * float(w @ c) - float(w @ S @ w)
        if 0.0 <= explained <= MOST:
            break
    return w


def precision(R: Floats, counts: Floats) -> Floats:
    """R_ij sqrt(N_i N_j), made positive definite: what VAW may start from.

    Eigenvalues of R below 0.05 are lifted to that.
    """
    values, vectors = np.linalg.eigh(R)
    lifted = (vectors * np.maximum(values, LEAST)) @ vectors.T
    size = np.sqrt(counts)
    A: Floats = size[:, None] * lifted * size
    return (A + A.T) / 2.0
