"""Vovk-Azoury-Warmuth: online least squares that looks at x before it predicts."""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats, ProblemError

REFRESH = 1024  # updates between two factorisations from the sums


class VAW:
    """The forward algorithm for square loss on m coordinates, O(m^2) per round.

    Predicts u.x with u = (ridge I + sum_{s<=t} x_s x_s')^-1 sum_{s<t} y_s x_s: ridge regression on
    the past in which the current x already counts, with label 0. By the Sherman-Morrison formula
    that is the ridge prediction divided by 1 + x'Px.

    Sums: `A` (of x x'), `b` (of y x). Derived: `_P` = (ridge I + A)^-1 and `theta` = P b, kept by
    rank-1 updates and computed anew from the sums every 1,024 rounds, so rounding cannot pile up.

    Parameters
    ----------
    m
        Number of coordinates.
    ridge
        The lambda of the bound; positive.

    Guarantee
    ---------
    For |y| <= Y and every u: regret against u <= ridge |u|^2 + Y^2 sum_i log(1 + lambda_i(A)/ridge)
    (Theorem 11.8 of Cesa-Bianchi and Lugosi 2006, used in `lem:vaw`).

    Examples
    --------
    >>> vaw = VAW(1)
    >>> vaw.predict(np.array([1.0]))
    0.0
    >>> vaw.update(np.array([1.0]), 3.0)
    >>> vaw.predict(np.array([1.0]))  # (1 + 1 + 1)^-1 * 3
    1.0
    """

    def __init__(self, m: int, ridge: float = 1.0) -> None:
        if not 0 < ridge < np.inf:
            raise ProblemError(f"ridge must be positive and finite, got {ridge}")
        self.ridge = ridge
        self.A: Floats = np.zeros((m, m))
        self.b: Floats = np.zeros(m)
        self.theta: Floats = np.zeros(m)
        self._P: Floats = np.eye(m) / ridge
        self._updates = 0

    def predict(self, x: Floats) -> float:
        """The prediction for x; changes nothing."""
        return float(self.theta @ x) / (1.0 + float(x @ self._P @ x))

    def update(self, x: Floats, y: float) -> None:
        """Learn the label of x."""
        self.A += np.outer(x, x)
        self.b += y * x
        self._updates += 1
        if self._updates % REFRESH == 0:
            self._P = np.linalg.inv(self.A + self.ridge * np.eye(len(x))).astype(np.float64)
            self.theta = self._P @ self.b
            return
        Px = self._P @ x
        s = 1.0 + float(x @ Px)
        self.theta = self.theta + Px * ((y - float(self.theta @ x)) / s)
        self._P -= np.outer(Px, Px) / s
