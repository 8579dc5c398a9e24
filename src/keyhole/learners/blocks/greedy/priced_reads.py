"""Priced reads of budgeted experts: drawn in turn, within the money, without bias.

`paid` are the items paid so far, `left` the money; amounts are whole units. `filled` is what each
bin pays beside what is paid already, bins x items, `bin_of` the bin of each feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.philox import Seed
from keyhole.learners.blocks.fit.purchase import Market, Paid, nothing_paid
from keyhole.learners.blocks.greedy.budgeted_experts import Draw
from keyhole.problem import Floats, Indices, ProblemError

Bins = NDArray[np.bool_]


@c_function("kh_chances", "p[listed] paid[items] out[listed]", writes="out")
def chances(p: Floats, shop: Market, paid: Paid, left: int, out: Floats) -> None:
    """p over the features that the money left buys; all of them alike if it has no weight there."""
    raise NotImplementedError


def pack(shop: Market, paid: Paid, left: int) -> tuple[Indices, Bins]:
    """The bin of each feature that the money left buys, -1 for the others, and what bins pay.

    Dearest first, each into the bin where it adds least, the first of those; into a new one if it
    fits into none.
    """
    bin_of, filled = np.empty(len(shop.barred), dtype=np.int64), no_bins(shop)
    many = _pack_into(shop, paid, left, bin_of, filled)
    return bin_of, filled[:many]


def no_bins(shop: Market) -> Bins:
    """Room for as many bins as there can be: one for each feature."""
    return np.empty((len(shop.barred), len(shop.units)), dtype=np.bool_)


@c_function(
    "kh_pack",
    "paid[items] bin_of[listed] filled[listed,items]",
    writes="bin_of filled",
    room="4*listed",
)
def _pack_into(shop: Market, paid: Paid, left: int, bin_of: Indices, filled: Bins) -> int:
    raise NotImplementedError


@c_function(
    "kh_take_turn",
    "paid[items] bin_of[listed] filled[bins,items] after[items]",
    writes="after",
)
def take_turn(
    j: int, explores: bool, shop: Market, paid: Paid, bin_of: Indices, filled: Bins, after: Paid
) -> None:
    """What is paid once a run has played j, and explored or not."""
    raise NotImplementedError


@c_function(
    "kh_weigh_turn",
    "p[listed] before[items] after[items] bin_of[listed] filled[bins,items] out[listed]",
    writes="out",
)
def weigh_turn(
    p: Floats,
    shop: Market,
    before: Paid,
    after: Paid,
    bin_of: Indices,
    filled: Bins,
    explores: float,
    out: Floats,
) -> None:
    """What the losses of what a run has paid for count; 0 for what it did not see or could not
    have played.
    """
    raise NotImplementedError


@c_function(
    "kh_draw_in_turn",
    "p[n,listed] j[n] chance[n,listed] weight[n,listed] S[width] filled[listed,items]",
    writes="j chance weight S filled",
    room="2*items + 5*listed",
)
def draw_in_turn(
    seed: Seed,
    round: int,
    p: Floats,
    shop: Market,
    share: float,
    j: Indices,
    chance: Floats,
    weight: Floats,
    S: Indices,
    filled: Bins,
) -> int:
    """Who is played, with what chances, what losses count, and all that is read, ascending: the
    first numbers of S, of which as many are returned. `filled` is room, from `no_bins`.

    Run i draws from the purposes 2 i (its expert) and 2 i + 1 (whether it explores); what is left
    is spent by the purpose 2 n. In a round a run explores with probability `share`, each alike.
    """
    raise NotImplementedError


EXPLORING_SHARE = 1 / 4  # of the rounds, in which one run spends all the money left on learning


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
        _, filled = pack(self.shop, none, self.shop.limit)
        return np.full(self.n, len(filled) * self.n / EXPLORING_SHARE)

    def draw(self, seed: int, round: int, p: Floats) -> Draw:
        """The draw of a round."""
        shape = (self.n, self.d)
        j, S = np.empty(self.n, dtype=np.int64), np.empty(self.width, dtype=np.int64)
        chance, weight, bins = np.empty(shape), np.empty(shape), no_bins(self.shop)
        many = draw_in_turn(seed, round, p, self.shop, EXPLORING_SHARE, j, chance, weight, S, bins)
        read = S[:many].copy()
        return Draw(j, read, chance.take(read, axis=1), weight.take(read, axis=1))
