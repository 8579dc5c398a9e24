"""Inner loops of `priced_reads.py`: who is affordable, the bins, what a read loss counts.

`paid` are the items paid so far, `left` the money; amounts are whole units. `filled` is what each
bin pays beside what is paid already, bins x items, `bin_of` the bin of each feature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.keyed import Seed
from keyhole.learners.blocks.fit.market import Market
from keyhole.learners.blocks.fit.purchase import Paid
from keyhole.problem import Floats, Indices

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
