"""The lasso from correlations, its penalty set by the noise it measures itself."""

from __future__ import annotations

import math

import numpy as np

from keyhole.problem import Floats

TOLERANCE = 1e-6  # in units of standard deviations
SWEEPS = 1000
TINY = 1e-4  # least share of the label's variance that counts as noise
ROUNDS = 20  # of lasso and noise level in turn
RUNAWAY = 1e6  # a step that no coordinate takes while R is positive semidefinite


def lasso(R: Floats, c: Floats, penalty: float, start: Floats | None = None) -> Floats:
    """argmin_w  w'R w / 2 - c.w + penalty |w|_1, by coordinate descent.

    Parameters
    ----------
    R, c
        Correlations of the features, and with the label. R should be positive semidefinite; if it
        is not and the descent runs away, the answer is 0.
    penalty
        At least 0.
    start
        Where to begin; None for 0.

    Guarantee
    ---------
    If R is positive semidefinite: |c_j - (R w)_j| <= penalty + 1e-6 d, with equality up to 1e-6 d
    and the sign of w_j where w_j is not 0, unless 1,000 sweeps were not enough.

    Examples
    --------
    >>> lasso(np.eye(2), np.array([0.5, -0.1]), 0.2)
    array([0.3, 0. ])
    """

    w = np.zeros(len(c)) if start is None else np.array(start)
    descend(R, c, penalty, w, TOLERANCE, SWEEPS)
    # At w = 0 the objective is 0: anything above is no descent. And half the variance of the label,
    # which is 1, is all that correlations of actual rows can take off.
    with np.errstate(over="ignore", invalid="ignore"):
        objective = float(w @ (R @ w)) / 2.0 - float(c @ w) + penalty * float(np.abs(w).sum())
    return w if -1.0 <= objective <= TOLERANCE else np.zeros(len(c))


def scaled_lasso(
    R: Floats, c: Floats, n: float, start: Floats | None = None, *, scale: float = 1.0
) -> tuple[Floats, float]:
    """The lasso whose penalty is scale sigma sqrt(2 log(2 d) / n), sigma its own residual.

        sigma^2 = 1 - 2 c.w + w'R w,   w = lasso(R, c, scale sigma sqrt(2 log(2 d) / n))

    in turn until sigma rests: no noise level is needed (Sun and Zhang 2012, Biometrika 99).

    Parameters
    ----------
    R, c, start
        As in `lasso`.
    n
        How many rows the correlations come from.
    scale
        Of the penalty. 1 keeps pure noise out: its largest correlation is about that much.

    Returns
    -------
    w and sigma, both in units of standard deviations.

    Examples
    --------
    >>> w, sigma = scaled_lasso(np.eye(2), np.array([0.6, 0.01]), 1000)
    >>> w.round(2), round(sigma, 2)
    (array([0.56, 0.  ]), 0.8)
    """
    w = np.zeros(len(c)) if start is None else start
    sigma, unit = 1.0, scale * math.sqrt(2.0 * math.log(2.0 * len(c)) / max(n, 1.0))
    for _ in range(ROUNDS):
        w = lasso(R, c, sigma * unit, w)
        before = sigma
        sigma = math.sqrt(min(max(1.0 - 2.0 * float(c @ w) + float(w @ (R @ w)), TINY), 1.0))
        if abs(sigma - before) <= 1e-3 * before:
            break
    return w, sigma


@np.errstate(all="ignore")
def descend(R: Floats, c: Floats, penalty: float, w: Floats, tolerance: float, sweeps: int) -> int:
    """Minimise w'R w / 2 - c.w + penalty |w|_1 from w on, in place; sweeps made.

    Stops when no coordinate of a sweep moved by more than `tolerance`, or one ran away. After a
    full sweep only the non-zero coordinates are gone through until they rest; then all again.
    """
    left, squares = c - R @ w, np.diag(R)
    usable = squares > 0.0
    full = True
    for made in range(1, sweeps + 1):
        moved, j = 0.0, -1
        while True:
            # The next coordinate that may move: not 0, or pulled away from 0 by what is left.
            movable = w[j + 1 :] != 0.0
            if full:
                movable |= np.abs(left[j + 1 :]) > penalty
            movable &= usable[j + 1 :]
            if not movable.any():
                break
            j += 1 + int(movable.argmax())
            target = float(left[j] + squares[j] * w[j])
            size = max(abs(target) - penalty, 0.0) / float(squares[j])
            step = math.copysign(size, target) - float(w[j])
            w[j] += step
            left -= step * R[j]
            moved = max(moved, abs(step))
        if moved > RUNAWAY or (full and moved <= tolerance):
            return made
        full = moved <= tolerance
    return sweeps
