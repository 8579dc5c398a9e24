"""Online Newton step: follow the gradient of square loss in the metric of all gradients so far."""

from __future__ import annotations

import math

import numpy as np

from keyhole.errors import LARGEST
from keyhole.learners.blocks.fit.inverse import inverse
from keyhole.problem import Floats, whole_number

LABEL, WORST = range(2)  # of `limits`: the largest |y| so far, the largest |y_hat - y| so far
HUGE = 1e300  # beyond this, products overflow


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
        return predicted(self.weights, self.limits, x)

    @np.errstate(all="ignore")
    def step(self, x: Floats, y: float) -> float:
        """The prediction for x, from whose label u then learns.

        With g = 2 (y_hat - y) x and rho = 1/(2 M^2) the matrix A grows by rho g g', which is
        c x x' with c = 2 ((y_hat - y)/M)^2: no square of a large number is needed.
        """
        v, limits = self.v, self.limits
        u, P, A = self.u[:v], self.P[:v, :v], self.A[:v, :v]
        prediction = predicted(u, limits, x)
        error = prediction - y
        limits[:] = np.maximum(limits, (abs(y), abs(error)))
        Px, along = P @ x, float(u @ x)
        s, size = float(x @ Px), float(np.abs(Px).max(initial=0.0))
        # x = 0, or too large for P: nothing to learn
        if not (0.0 < s < HUGE and size < LARGEST and abs(along) < HUGE):
            return prediction
        c = 2.0 * float(error / limits[WORST]) ** 2 if error else 0.0
        # First the projection in the norm of A on the w with w.x = y_hat, then the step from there.
        u += ((prediction - along) / s - 2.0 * error / (1.0 + c * s)) * Px
        A += c * np.outer(x, x)
        P -= c / (1.0 + c * s) * np.outer(Px, Px)
        return prediction

    def note(self, y: float) -> None:
        """A label from which nothing but the range of labels is learnt."""
        self.limits[LABEL] = max(self.label, math.fabs(y))


@np.errstate(all="ignore")
def predicted(u: Floats, limits: Floats, x: Floats) -> float:
    """u.x, kept within the largest label so far; 0 for terms that overflow."""
    along, most = float((u * x).sum()), float(limits[LABEL])
    return 0.0 if math.isnan(along) else min(max(along, -most), most)
