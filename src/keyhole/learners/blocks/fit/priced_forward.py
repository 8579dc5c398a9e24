"""Forward selection under a price list: what promises more than it costs, within a limit."""

from __future__ import annotations

from keyhole.core.functions import c_function
from keyhole.learners.blocks.fit.forward import Selecting
from keyhole.learners.blocks.fit.market import Basket, Market
from keyhole.learners.blocks.sums.memories import Memories


@c_function("kh_select_priced_into", room="2*d")
def select_priced_into(
    kept: Memories,
    memory: int,
    threshold: float,
    room: Selecting,
    shop: Market,
    held: Basket,
    money: int,
    rate: float,
) -> tuple[int, float, int, bool]:
    """Fill chosen, gains, r and D, by seat; how many were chosen, what is left of label and money.

    Also whether a feature that `shop.limit` could pay for, and with a positive score, was left
    because the money did not reach.

    As `select_into`, but feature j must fit into what is left of the money, and the next is the one
    with the largest score

        excess_j^2 - rate (what j still costs),
        excess_j = |r_j| / sqrt(D_j) - threshold sqrt(noise / n_j),

    as long as that is positive. An item that several features need, and that is not paid for yet,
    is judged by all of them: members in the order of excess^2 per own price, as many as make the
    sum of excess^2 - rate (fee + own prices) largest; the strongest of them is then chosen, and
    the others are cheaper from there on.
    """
    raise NotImplementedError
