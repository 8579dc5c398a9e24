"""Online Newton step: follow the gradient of square loss in the metric of all gradients so far."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keyhole.blocks.fit.inverse import inverse
from keyhole.blocks.fit.vaw import HUGE
from keyhole.blocks.jit.decorators import kernel
from keyhole.errors import LARGEST
from keyhole.problem import Floats, whole_number

LABEL, WORST = range(2)  # of `limits`: the largest |y| so far, the largest |y_hat - y| so far


class Newton(NamedTuple):
    """A `NewtonStep` as kernels take it: its arrays, as far as they are in use."""

    u: Floats
    P: Floats
    A: Floats
    limits: Floats


class NewtonStep:
    """The online Newton step on up to k coordinates, O(k^2) per round.

    When x is there, u is projected, in the norm of A, on the w with |w.x| <= Y; that w predicts;
    then, with g = 2 (w.x - y) x,

        A <- A + rho g g',  u <- w - A^-1 g,  rho = 1 / (2 M^2).

    Y is the largest |y| so far and M the largest |w.x - y| since the start: square loss satisfies
    loss(v) >= loss(w) + g.(v - w) + (rho/2) (g.(v - w))^2 whenever |w.x - y| <= M.

    Sums: `A`. Maxima: Y and M in `limits`. Derived: `P` = A^-1, kept by rank-1 updates and anew by
    `refresh`; `u`. The arrays have room for k coordinates, of which the first `v` are in use; who
    restores one says how many (`v` is not saved: a learner knows its support).

    Parameters
    ----------
    k
        The largest number of coordinates.

    Guarantee
    ---------
    Against every v with |v.x| at most the Y of each round: regret at most
    (v - u_1)'A_0 (v - u_1)/2 + M^2 log(det A_T/det A_0), with the last M (Hazan, Agarwal, Kale
    2007; with this projection Luo, Agarwal, Cesa-Bianchi, Langford 2016).

    Examples
    --------
    >>> newton = NewtonStep(2)
    >>> newton.start(np.zeros(2), np.ones(2))
    >>> for _ in range(50):
    ...     prediction = newton.step(np.array([1.0, 0.0]), 3.0)
    >>> round(prediction, 3), newton.weights.round(3)
    (3.0, array([3., 0.]))
    """

    SAVED = ("u", "A", "P", "limits")

    def __init__(self, k: int) -> None:
        k = whole_number("k", k, 1)
        self.u: Floats = np.zeros(k)
        self.A: Floats = np.zeros((k, k))
        self.P: Floats = np.zeros((k, k))
        self.limits: Floats = np.zeros(2)
        self.v = 0

    @property
    def weights(self) -> Floats:
        """u, as far as it is in use."""
        return self.u[: self.v]

    @property
    def inverse(self) -> Floats:
        """A^-1, as far as it is in use."""
        return self.P[: self.v, : self.v]

    @property
    def label(self) -> float:
        """The largest |y| so far, which no prediction exceeds."""
        return float(self.limits[LABEL])

    def start(self, u: Floats, diagonal: Floats, worst: float = 0.0) -> None:
        """Begin anew from u with A = diag(diagonal); `worst` is a bound for |w.x - y| known before.

        The range of the labels is not forgotten.
        """
        self.v = v = len(u)
        for array in (self.u, self.A, self.P):
            array[:] = 0.0
        self.u[:v] = u
        self.A[range(v), range(v)] = diagonal
        self.limits[WORST] = worst
        self.refresh()

    def refresh(self) -> None:
        """P anew from A, so that no rounding piles up."""
        v = self.v
        P = inverse(self.A[:v, :v])
        self.P[:v, :v] = (P + P.T) / 2.0

    def predict(self, x: Floats) -> float:
        """The prediction for x; changes nothing."""
        return float(predict(self.weights, self.limits, x))

    def step(self, x: Floats, y: float) -> float:
        """The prediction for x, from whose label u then learns."""
        return float(step(*self.arrays(), x, y))

    def note(self, y: float) -> None:
        """A label from which nothing but the range of labels is learnt."""
        self.limits[LABEL] = max(self.label, math.fabs(y))

    def arrays(self) -> Newton:
        """What a kernel learns into."""
        v = self.v
        return Newton(self.u[:v], self.P[:v, :v], self.A[:v, :v], self.limits)


@kernel
def clipped(along: float, limits: Floats) -> float:
    """The prediction: u.x, kept within the largest label so far."""
    if np.isnan(along):  # of terms that overflow
        return 0.0
    return float(min(max(along, -limits[LABEL]), limits[LABEL]))


@kernel
def predict(u: Floats, limits: Floats, x: Floats) -> float:
    """The prediction for x."""
    along = 0.0
    for a in range(len(u)):
        along += u[a] * x[a]
    return clipped(along, limits)


@kernel
def step(u: Floats, P: Floats, A: Floats, limits: Floats, x: Floats, y: float) -> float:
    """Project on x, predict, and learn the label; the prediction.

    With g = 2 (y_hat - y) x and rho = 1/(2 WORST^2) the matrix A grows by rho g g', which is
    c x x' with c = 2 ((y_hat - y)/WORST)^2: no square of a large number is needed.
    """
    v, along, s, size = len(u), 0.0, 0.0, 0.0
    Px = np.zeros(v)
    for a in range(v):
        along += u[a] * x[a]
        for b in range(v):
            Px[a] += P[a, b] * x[b]
        s += x[a] * Px[a]
        size = max(size, abs(Px[a]))
    prediction = clipped(along, limits)
    error = prediction - y
    limits[LABEL] = max(limits[LABEL], abs(y))
    limits[WORST] = max(limits[WORST], abs(error))
    # x = 0, or too large for P: nothing to learn
    if not (0.0 < s < HUGE and size < LARGEST and abs(along) < HUGE):
        return prediction
    share = error / limits[WORST] if error != 0.0 else 0.0
    c = 2.0 * (share * share)
    # First the projection in the norm of A on the w with w.x = y_hat, then the step from there.
    along_Px = (prediction - along) / s - 2.0 * error / (1.0 + c * s)
    for a in range(v):
        u[a] += along_Px * Px[a]
        for b in range(v):
            A[a, b] += c * x[a] * x[b]
            P[a, b] -= c * Px[a] * Px[b] / (1.0 + c * s)
    return prediction
