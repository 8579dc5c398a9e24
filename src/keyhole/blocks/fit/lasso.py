"""The lasso from correlations, its penalty set by the noise it measures itself."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats

TOLERANCE = 1e-6  # in units of standard deviations
SWEEPS = 1000
TINY = 1e-4  # least share of the label's variance that counts as noise
ROUNDS = 20  # of lasso and noise level in turn


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


RUNAWAY = 1e6


@kernel
def descend(R: Floats, c: Floats, penalty: float, w: Floats, tolerance: float, sweeps: int) -> int:
    """Minimise w'R w / 2 - c.w + penalty |w|_1 from w on, in place; sweeps made.

    Stops when no coordinate of a sweep moved by more than `tolerance`, or one moved by more than
    any does while R is positive semidefinite. After a full sweep only the
    non-zero coordinates are gone through until they rest; then all again.
    """
    d = len(c)
    left = c - R @ w
    full, made = True, 0
    while made < sweeps:
        made += 1
        moved = 0.0
        for j in range(d):
            if not full and w[j] == 0.0:
                continue
            if not R[j, j] > 0.0:
                continue
            target = left[j] + R[j, j] * w[j]
            size = max(abs(target) - penalty, 0.0) / R[j, j]
            step = (size if target > 0.0 else -size) - w[j]
            if step != 0.0:
                w[j] += step
                for i in range(d):
                    left[i] -= step * R[j, i]
                moved = max(moved, abs(step))
        if moved > RUNAWAY:
            break
        if moved <= tolerance:
            if full:
                break
            full = True
        else:
            full = False
    return made


class Model(NamedTuple):
    """A linear model: weights, what absent values count as, intercept."""

    w: Floats
    means: Floats
    intercept: float


@kernel
def predict(model: Model, x: Floats) -> float:
    """intercept + w.x, one after the other; the mean stands in for a value that is absent."""
    w, means, total = model
    for j in range(len(w)):
        if w[j] != 0.0:
            total += w[j] * (means[j] if np.isnan(x[j]) else x[j])
    return total


@kernel
def play(block: Block, model: Model) -> int:
    """Rounds that read everything and predict by one model; how many, see `Block`."""
    d = len(model.w)
    everything, x = np.arange(d), np.empty(d)
    for t in range(len(block.y)):
        if not read(block.X[t], everything, x, block.bought[t]):
            return t
        block.predictions[t] = predict(model, x)
    return len(block.y)
