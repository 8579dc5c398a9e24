"""Budgeted prediction with expert advice (BEXP): play one of d experts, see the losses of a few.

Made of parts that fit together: a *scheme* (`schemes.py`) draws who is played and read and
says how much a read loss must count to be unbiased; a *rate* is a function of the sums (`anytime`,
`known_horizon`, `second_order`); `implicit` tempers the weights of a draw; and what is fed, losses
or negative gains, is the caller's. `BEXP` holds the sums.

All of it is a bank of n runs over the same experts, because Algorithm 2 needs k1 of them; n = 1 is
the plain algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from keyhole.core.numbers import log
from keyhole.learners.blocks.greedy import experts_kernels as kernels
from keyhole.learners.blocks.greedy.schemes import Draw, Scheme
from keyhole.problem import Floats, whole_number
from keyhole.problem.fields import AT_LEAST_0, MAY_OVERFLOW


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What a rate may look at. `fed`: rounds fed; the rest has one entry per run.

    `squares` is the sum of sum_j p_j l_hat_j^2, `largest` the largest |loss| so far.
    """

    d: int
    fed: int
    spread: Floats
    squares: Floats
    largest: Floats


Rate = Callable[[Tally], Floats]


def anytime(tally: Tally) -> Floats:
    """eta_t = sqrt(log d / (spread t)) for losses in [0, 1]: sqrt(M log d / (t d)) for M-subsets.

    Larger losses are divided by the largest so far.
    """
    unit = np.maximum(1.0, tally.largest)
    eta: Floats = np.sqrt(log(tally.d) / (tally.spread * (tally.fed + 1))) / unit
    return eta


def known_horizon(T: int) -> Rate:
    """The fixed eta = sqrt(2 log d / (spread T)): regret sqrt(2 spread T log d) over T rounds."""
    T = whole_number("T", T, 1)

    def rate(tally: Tally) -> Floats:
        unit = np.maximum(1.0, tally.largest)
        eta: Floats = np.sqrt(2.0 * log(tally.d) / (tally.spread * T)) / unit
        return eta

    return rate


def second_order(tally: Tally) -> Floats:
    """eta = sqrt(log d / (spread largest^2 + squares)): as fast as the losses seen so far allow.

    Multiplying all losses by a number divides eta by it, so no bound of the losses is needed.
    """
    with np.errstate(over="ignore"):  # losses too large to be squared: the rate is 0
        seen = tally.spread * tally.largest**2 + tally.squares
    eta: Floats = np.sqrt(log(tally.d) / np.where(seen > 0.0, seen, 1.0))
    return eta


def implicit(draw: Draw, gamma: Floats) -> Draw:
    """The draw with 1/(q + gamma) for 1/q (Neu 2015): a little bias for much lighter tails.

    gamma = eta / 2, one per run, is the usual choice.
    """
    return replace(draw, weight=draw.weight / (1.0 + gamma[:, None] * draw.weight))


class BEXP:
    """A bank of n budgeted exponential-weights algorithms over d experts.

    Run i plays j with probability p_ij proportional to exp(-eta_i L_ij), L the sums of estimated
    losses. Only differences of L enter, so nothing overflows, however long it runs.

    Sums: `L`, `squares`, `fed`; a maximum: `largest`. Derived: the probabilities.

    Parameters
    ----------
    scheme
        Who reads what.
    rate
        The learning rate, a function of the sums.
    seed
        Of the draws, which are keyed by it and the round: any round can be drawn again.

    Guarantee
    ---------
    `theorem:bexp`: with `OwnSubsets` or `OwnBins` and `anytime`, for losses in [0, 1] that do not
    depend on the draws, the expected regret of a run after T rounds is at most
    2 sqrt(spread T log d): 2 sqrt(d log(d) T / M) for M-subsets. With losses in [-1, 0] (gains)
    the constant doubles, provided eta weight <= 1.

    Examples
    --------
    >>> from keyhole.learners.blocks.greedy.schemes import OwnSubsets
    >>> bexp = BEXP(OwnSubsets(4, np.array([2])), seed=0)
    >>> for t in range(1, 400):
    ...     draw = bexp.draw(t)
    ...     bexp.feed(draw, np.array([[0.9, 0.9, 0.1, 0.9]])[:, draw.S])
    >>> bexp.probabilities().round(2)
    array([[0., 0., 1., 0.]])

    References
    ----------
    Amin, Kale, Tesauro, Turaga (2015), Budgeted prediction with expert advice.
    Seldin, Bartlett, Crammer, Abbasi-Yadkori (2014), Prediction with limited advice and multiarmed
    bandits with paid observations.
    Neu (2015), Explore no more.
    """

    SAVED = ("L", "squares", "largest", "fed")

    squares: Annotated[Floats, MAY_OVERFLOW]
    largest: Annotated[Floats, AT_LEAST_0]

    def __init__(self, scheme: Scheme, *, seed: int, rate: Rate = anytime) -> None:
        self.scheme = scheme
        self.seed = seed
        self.rate = rate
        self.L: Floats = np.zeros((scheme.n, scheme.d))
        self.squares = np.zeros(scheme.n)
        self.largest = np.zeros(scheme.n)
        self.fed = 0
        self._spread = scheme.spread

    def eta(self) -> Floats:
        """The learning rate of every run."""
        tally = Tally(self.scheme.d, self.fed, self._spread, self.squares, self.largest)
        return self.rate(tally)

    def probabilities(self) -> Floats:
        """p, n x d."""
        p = np.empty_like(self.L)
        kernels.probabilities(self.L, self.eta(), p)
        return p

    def draw(self, round: int) -> Draw:
        """Who is played and read in a round, given what was fed so far."""
        return self.scheme.draw(self.seed, round, self.probabilities())

    def feed(self, draw: Draw, losses: NDArray[np.floating]) -> None:
        """Learn the losses (n x len(draw.S)) of a draw; draws may be fed late and in any order.

        A loss whose weight is 0 is not looked at.
        """
        told = np.ascontiguousarray(losses, dtype=np.float64)
        sums = (self.L, self.squares, self.largest)
        kernels.feed(draw.S, draw.p, draw.weight, told, *sums)
        self.fed += 1
