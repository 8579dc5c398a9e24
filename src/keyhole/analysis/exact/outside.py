"""Models with features outside of a few: what none of them goes below, from how these correlate."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from keyhole.learners.blocks.sums.data_sums import DEPENDENT
from keyhole.problem import Floats, Indices

COPY_ROUNDING = 1e-12  # a correlation of 1 up to this is a copy
COMPARED_AT_ONCE = 256  # features that are compared with all others in one pass


class Outside:
    """The features outside of a few, A, and what models with some of them can lose.

    Every x_j is its projection on the span of A, of length h_j, plus a rest of length g_j^(1/2);
    the projection of y leaves y' with |y'|^2 = Y, the loss of all of A together, and the product of
    y' with the rest of x_j is e_j. All this follows from products of A with all features.

    Guarantee
    ---------
    Let S be features P of A and R outside, |R| = r, and w the weights of R times g^(1/2), t = |w|.
    By Pythagoras the loss of S with these weights is the sum of two parts.

    In the span of A: what P leaves of the projection of y has length s(P), where
    s(P)^2 = RSS(P) - Y >= s^2 := L - Y and L bounds the loss of |P| features of A from below. The
    features of R change it by at most sum |w_j| h_j / g_j^(1/2) <= H t, where H^2 is the sum of
    the r largest h_j^2 / g_j. So this part is at least ((s - H t)+)^2.

    Beside it: Y - 2 sum w_j rho_j + w'C w with rho_j = e_j / g_j^(1/2) and C the correlations of
    the rests, whose least eigenvalue is at least l = 1 - (r - 1) mu when no two of them correlate
    by more than mu (Gershgorin). So it is at least Y - 2 T t + l t^2, with T^2 the sum of the r
    largest rho_j^2.

    The minimum over t >= 0 of both is, for l > 0,

        Y + s^2 - (H s + T)^2 / (l + H^2)   if H T <= l s,   else   Y - T^2 / l,

    a lower bound of the loss of every such S; for r = 1, l = 1 and it is taken feature by feature.

    A feature of which less than 1e-10 of its square is beside A counts as dependent on it
    (H infinite: the bound is Y), and a copy of a feature of A as that feature.
    """

    def __init__(self, g: Floats, c: Floats, yy: float, A: Indices, G: Floats) -> None:
        unit = np.sqrt(g[A])
        values, vectors = np.linalg.eigh(G[:, A] / np.outer(unit, unit))
        solid = values > DEPENDENT
        root = (vectors[:, solid] / np.sqrt(values[solid])) / unit[:, None]
        self._F: Floats = G.T @ root  # coordinates of the projections
        self._of_y = c[A] @ root
        self.Y = max(yy - float(self._of_y @ self._of_y), 0.0)
        outside = g > 0.0
        outside[A] = False
        for row, length in zip(G, unit, strict=True):  # not at once: that is as large as G
            outside &= (1.0 - COPY_ROUNDING) * length * np.sqrt(g) > np.abs(row)
        self.features: Indices = np.flatnonzero(outside)
        own, F = g[outside], self._F[outside]
        self._h = np.sqrt((F * F).sum(axis=1))
        rest = own - self._h**2
        self._free = rest > DEPENDENT * own
        self._root = np.sqrt(np.where(self._free, rest, 1.0))
        e = c[outside] - F @ self._of_y
        most = math.sqrt(self.Y)  # by Cauchy and Schwarz
        self.rho = np.where(self._free, np.clip(e / self._root, -most, most), 0.0)
        self.H = np.where(self._free, self._h / self._root, np.inf)
        self._g, self._c, self._yy = g, c, yy

    def alone(self) -> float:
        """The least loss of one feature outside by itself, which needs no bound."""
        some = self.features
        best = float((self._c[some] ** 2 / self._g[some]).max(initial=0.0))
        return max(self._yy - best, 0.0)

    def least(self, r: int, fewer: float, mu: float) -> float:
        """What no model with r features outside goes below.

        `fewer` bounds the loss of models of all but r features from below; `mu` is the coherence.
        """
        if r > len(self.features):
            return math.inf  # there is no such model
        s2 = max(fewer - self.Y, 0.0)
        if r == 1:
            return max(self.Y + float(minimum(s2, self.H, np.abs(self.rho), 1.0).min()), 0.0)
        left = 1.0 - (r - 1) * mu
        if left <= 0.0:
            return 0.0
        H, T = np.sqrt(np.sort([self.H**2, self.rho**2])[:, -r:].sum(axis=1, keepdims=True))
        return max(self.Y + float(minimum(s2, H, T, left).min()), 0.0)

    def work(self, cells: float) -> float:
        """About how many multiplications it takes to compare all pairs, with data of that size."""
        many = float(len(self.features))
        return many * (cells + many * float(self._F.shape[1]))

    def coherence(self, products: Callable[[Indices], Floats]) -> float:
        """The largest correlation of two of them, beside A; 1 if one depends on A.

        `products` has those of some features with all; it is asked for 256 of them at a time.
        """
        if not self._free.all():
            return 1.0
        largest, outside, F = 0.0, self.features, self._F[self.features] / self._root[:, None]
        for start in range(0, len(outside), COMPARED_AT_ONCE):
            some, place = outside[start : start + COMPARED_AT_ONCE], slice(start, None)
            C = products(some)[:, outside[place]]  # changed in place: there may be many of them
            C /= self._root[place]
            C /= self._root[start : start + len(some), None]
            C -= F[start : start + len(some)] @ F[place].T
            C[np.arange(len(some)), np.arange(len(some))] = 0.0
            largest = max(largest, float(C.max(initial=0.0)), -float(C.min(initial=0.0)))
        return min(largest, 1.0)


def minimum(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """The least ((s - H t)+)^2 - 2 T t + left t^2 over t >= 0, for left > 0, element by element.

    >>> minimum(4.0, np.array([0.0, np.inf]), np.ones(2), 1.0)  # out of reach; all within reach
    array([ 3., -1.])
    """
    s, near = math.sqrt(s2), np.where(np.isinf(H), 0.0, H)
    far = np.isinf(H) | (near * T > left * s)
    found: Floats = np.where(far, -T * T / left, s2 - (near * s + T) ** 2 / (left + near * near))
    return found
