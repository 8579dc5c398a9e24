"""How budgeted experts draw when features have prices: in turn, within the money, without bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.fit.market import Market
from keyhole.learners.blocks.fit.purchase import nothing_paid
from keyhole.learners.blocks.greedy import priced_kernels as kernels
from keyhole.learners.blocks.greedy.schemes import Draw
from keyhole.problem import Floats, ProblemError

SHARE = 1 / 4  # of the rounds, in which one run spends all the money left on learning


@dataclass(frozen=True, slots=True, eq=False)
class PricedReads:
    """Runs draw in turn from what the money left still buys; one of them explores with all of it.

    With `paid` the items that the runs before i have paid, run i can play any expert of
    A_i = {e: what e still needs costs at most the money left}, and plays j_i = e with probability

        p_ie / sum of p_i over A_i.

    In a quarter of the rounds one run *explores*, each run with the same chance: A_i is packed
    into bins that the money left buys, and run i pays for the bin that j_i lies in instead of for
    j_i alone. The runs after it play what is paid for or still fits. Whatever has all its items
    paid is read, and the money left at the end buys features in a random order, which help to
    predict.

    Given j_1, ..., j_{i-1} and that none of them has explored, run i explores with a chance h, so

        q_ie = h Pr(bin of j_i pays for e) + (1 - h) Pr(j_i pays for e),   1 if e is paid already,

    is the probability that run i gets to see e, and 1/q_ie is what the loss of e counts if it does.
    That has the mean 1 for all of A_i, exactly; experts that run i could not play learn nothing.
    The runs after one that has explored learn nothing either: what they play was not their choice.

    Bins are filled first fit decreasing, with shared items where they are paid already if that is
    cheaper: any two of them cost more than the money left, so there are few.

    Parameters
    ----------
    shop
        The prices, and the limit in units, which no draw exceeds.
    width
        At least as many as any set that the limit buys.
    n
        How many runs there are.

    Examples
    --------
    >>> from keyhole.learners.blocks.fit.purchase import shop_of
    >>> from keyhole.problem import Problem
    >>> problem = Problem(4, 1, 5, prices=[0, 2, 3, 5])
    >>> scheme = PricedReads(shop_of(problem), problem.width, n=2)
    >>> draw = scheme.draw(0, 1, np.full((2, 4), 1 / 4))
    >>> draw.j, draw.S, problem.cost(draw.S)
    (array([3, 0]), array([0, 3]), 5.0)
    """

    shop: Market
    width: int
    n: int

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.width:
            raise ProblemError(f"1 <= runs <= {self.width} is needed, got {self.n}")

    @property
    def d(self) -> int:
        """How many experts there are."""
        return len(self.shop.first) - 1

    @property
    def spread(self) -> Floats:
        """The number of bins of the first run over the chance that it explores.

        A bound for the first run; the others have less money, for whom it is a guess.
        """
        none = nothing_paid(self.shop)
        _, filled = kernels.pack(self.shop, none, self.shop.limit)
        return np.full(self.n, len(filled) * self.n / SHARE)

    def draw(self, seed: int, round: int, p: Floats) -> Draw:
        """The draw of a round."""
        shape = (self.n, self.d)
        j, S = np.empty(self.n, dtype=np.int64), np.empty(self.width, dtype=np.int64)
        chance, weight, bins = np.empty(shape), np.empty(shape), kernels.no_bins(self.shop)
        many = kernels.draw_in_turn(seed, round, p, self.shop, SHARE, j, chance, weight, S, bins)
        read = S[:many].copy()
        return Draw(j, read, chance.take(read, axis=1), weight.take(read, axis=1))
