"""Vovk-Azoury-Warmuth: online least squares that looks at x before it predicts; one, or several."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.errors import LARGEST
from keyhole.learners.blocks.fit.linear_algebra import inverse, solution
from keyhole.learners.blocks.sums.memories import Memories
from keyhole.problem import Floats, Indices, real_number
from keyhole.problem.state import Holds

UPDATES_PER_REFRESH = 1024  # updates between two factorisations from the sums
MAX_PRODUCT = 1e300  # beyond this, products overflow
RIDGE_SHARE = 1e-6  # ridge 0 stands for this share of the mean squared coordinate


class VAW:
    """The forward algorithm for square loss on m coordinates, O(m^2) per round.

    Predicts u.x with u = (ridge I + sum_{s<=t} x_s x_s')^-1 sum_{s<t} y_s x_s: ridge regression on
    the past in which the current x already counts, with label 0. By the Sherman-Morrison formula
    that is the ridge prediction divided by 1 + x'Px.

    Sums: `A` (of x x'), `b` (of y x). Derived: `P` = (ridge I + A)^-1 and `theta` = P b, kept by
    rank-1 updates and computed anew from the sums every 1,024 rounds, so rounding cannot pile up.

    Parameters
    ----------
    m
        Number of coordinates.
    ridge
        The lambda of the bound. 0 stands for 1e-6 of the mean squared coordinate of x, the largest
        so far; it is fixed at the first x that is not 0 and raised, with a factorisation from the
        sums, only when a later one is more than twice as long. Multiplying all x by a number then
        multiplies the weights by its inverse and leaves predictions as they are, which no positive
        ridge does.

    Guarantee
    ---------
    For |y| <= Y and every u: regret against u <= ridge |u|^2 + Y^2 sum_i log(1 + lambda_i(A)/ridge)
    (Theorem 11.8 of Cesa-Bianchi and Lugosi 2006, used in `lem:vaw`), with ridge > 0. The term
    ridge |u|^2 is missing from `lem:vaw`, whose u is not bounded: see docs/errata.md.

    Examples
    --------
    >>> vaw = VAW(1)
    >>> vaw.predict(np.array([1.0]))
    0.0
    >>> vaw.update(np.array([1.0]), 3.0)
    >>> vaw.predict(np.array([1.0]))  # (1 + 1 + 1)^-1 * 3
    1.0
    """

    SAVED = ("ridge", "A", "b", "theta", "P", "_updates")

    ridge: Annotated[float, Holds(least=0.0, constant=True)]

    def __init__(self, m: int, ridge: float = 1.0) -> None:
        real_number("ridge", ridge, 0.0)
        self.ridge = ridge  # as it is: files of earlier versions have whole numbers here
        self.A: Floats = np.zeros((m, m))
        self.b: Floats = np.zeros(m)
        self.theta: Floats = np.zeros(m)
        # Without a ridge there is no inverse before the first x; until then nothing was learnt.
        self.P: Floats = np.eye(m) / ridge if ridge > 0 else np.zeros((m, m))
        self._relative = ridge == 0
        self._updates = 0

    @np.errstate(all="ignore")
    def predict(self, x: Floats) -> float:
        """The prediction for x; changes nothing."""
        along, s, _ = self._forward(x)
        return along / s

    def played(self, x: Floats) -> Floats:
        """The weights w the prediction for x is made with: w.x = predict(x). They depend on x."""
        Px = self.P @ x
        w: Floats = self.theta - Px * (float(self.theta @ x) / (1.0 + float(x @ Px)))
        return w

    @np.errstate(all="ignore")
    def update(self, x: Floats, y: float) -> None:
        """Learn the label of x."""
        if self._relative:
            self._raise_ridge(x)
        along, s, Px = self._forward(x)
        self.A += np.outer(x, x)
        self.b += y * x
        self.theta += Px * ((y - along) / s)
        self.P -= np.outer(Px, Px) / s
        due = self.until_refresh == 1
        self._updates += 1
        if due:
            self._refactor()

    @property
    def until_refresh(self) -> int:
        """After how many updates P and theta are computed anew."""
        # While a tiny ridge still matters, rank-1 updates would lose half the digits.
        early = self._relative and self._updates < 4 * len(self.b)
        return 1 if early else UPDATES_PER_REFRESH - self._updates % UPDATES_PER_REFRESH

    def _forward(self, x: Floats) -> tuple[float, float, Floats]:
        """theta.x and 1 + x'Px, whose quotient is the prediction, and Px.

        P is positive definite, but after rows of very different sizes its rounded copy may not be:
        a row for which 1 + x'Px is not above 1/2 then, or which is too large for P, teaches nothing
        (Px and x'Px count as 0), and a theta.x that overflows is 0.
        """
        Px, along = self.P @ x, float(self.theta @ x)
        s, size = 1.0 + float(x @ Px), float(np.abs(Px).max(initial=0.0))
        if not abs(along) < MAX_PRODUCT:
            return 0.0, 1.0, np.zeros(len(x))
        if not (0.5 < s < MAX_PRODUCT and size < LARGEST):
            return along, 1.0, np.zeros(len(x))
        return along, s, Px

    def _raise_ridge(self, x: Floats) -> None:
        # One tiny x must not fix a ridge at which the later, larger ones cannot be inverted.
        size = RIDGE_SHARE * float(x @ x) / max(len(x), 1)
        if size > 4.0 * self.ridge:
            self.ridge = size
            self._refactor()

    def _refactor(self) -> None:
        if self.ridge == 0:
            return  # only zeros so far
        self.P = inverse(self.A + self.ridge * np.eye(len(self.b)))
        self.theta = solution(self.P, self.b)


class Ensemble(NamedTuple):
    """E runs of VAW over x = (the values read, 1): run e uses the places place[e, :size[e]] of x.

    Run e is exactly a VAW that was fed the zero-imputed, discounted rows of its memory and then the
    rows of this batch: A = G[V, V] + R, b = c[V], R diagonal, a multiple of each feature's mean
    square. Derived: `P` = A^-1 and `theta` = A^-1 b by rank-1 updates. `Px`, `along`, `s` are what
    the last guess leaves for learning.
    """

    place: Annotated[Indices, Holds(below="place"), "runs places"]
    size: Annotated[Indices, Holds(most="place"), "runs"]
    P: Annotated[Floats, "runs places places"]
    theta: Annotated[Floats, "runs places"]
    Px: Annotated[Floats, "runs places"]
    along: Annotated[Floats, "runs"]
    s: Annotated[Floats, "runs"]


def ensemble(runs: int, places: int) -> Ensemble:
    """Room for `runs` VAWs on at most `places` places each; all empty, which guesses 0."""
    return Ensemble(
        np.zeros((runs, places), dtype=np.int64),
        np.zeros(runs, dtype=np.int64),
        np.zeros((runs, places, places)),
        np.zeros((runs, places)),
        np.zeros((runs, places)),
        np.zeros(runs),
        np.ones(runs),
    )


@c_function("kh_invert", "A[v,v]", writes="A")
def invert(A: Floats) -> None:
    """A^-1 in place of a positive definite A with a diagonal near 1, by Gauss and Jordan.

    Sums run along rows, with one division a pivot: three fifths of the time Cholesky's way takes.
    """
    raise NotImplementedError


class Start(NamedTuple):
    """What a run starts from: the number of a memory (below 0: nothing) and a ridge.

    The ridge counts examples that show a feature at its size, by its place in x, and 1 round of the
    constant. A feature of size 0, whose units are unknown, keeps the weight 0.
    """

    memory: int
    sizes: Annotated[Floats, "sized"]
    ridge: float


@c_function("kh_start_run", "features[n]", room="places*places+5*places")
def start(runs: Ensemble, e: int, features: Indices, kept: Memories, origin: Start) -> None:
    """Start run e on the places it has. `features[a]` is the feature at place a of x, d for the 1.

    What rests has no products in pairs: they count as 0.
    """
    raise NotImplementedError


@c_function("kh_guess_runs", "x[n] guesses[m]", writes="guesses")
def guess(runs: Ensemble, x: Floats, guesses: Floats) -> None:
    """VAW's prediction of every run: theta.x / (1 + x'Px).

    Where rounding has left x'Px < 0, or it overflows, P says nothing about x: it counts as 0, and
    the label of x is not learnt. Otherwise P would grow beyond all bounds.
    """
    raise NotImplementedError


@c_function("kh_learn_runs")
def learn(runs: Ensemble, y: float) -> None:
    """The rank-1 update of every run with the label of the x it guessed last."""
    raise NotImplementedError
