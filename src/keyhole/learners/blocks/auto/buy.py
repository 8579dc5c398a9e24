"""How AutoLearner fills a batch where features have prices: what is kept, what is explored.

These numbers stand in `core/c/auto_shop.c` too.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from keyhole.core.functions import c_function
from keyhole.core.structs import hold
from keyhole.learners.blocks.auto.batch import Batch, narrowed, new_batch
from keyhole.learners.blocks.auto.state import Auto
from keyhole.learners.blocks.auto.till import Till
from keyhole.problem import Indices

ASIDE = 8  # one part in so many of the money explores, or what the cheapest feature costs,
COSTS = 80  # unless that takes more than one part in so many of the gain
SELDOM, BEGINNING, LATER = 4, 64, 64  # then whole batches explore: one in SELDOM at first, and
# while a memory that forgets leads; else those whose number is a square, and one in LATER
HALF = 2  # one part in so many of their money
MORE = 1.01  # times the gain: so much makes choosing by gain alone better than by gain and price
DISPLACE = 0.5  # over the root of the batch's number: the chance that a dear feature comes first
BOLD = 1.0  # standard errors by which its gain may be off
FIRST_RATE, LEAST_RATE = 1e-3, 1e-5  # of the noise, for the whole limit
UNSPENT = 0.8  # share of the money below which the rate falls
OPTIMISM = 0.7  # standard errors, where money has a fixed worth

_Own = Annotated[
    Till,
    "items=own_items needs=own_needs listed=d limit=own_limit horizon=own_horizon "
    "complete=own_complete cheapest=own_cheapest",
]


def buy(auto: Auto, room: Batch, number: int, round: int, size: int) -> Batch:
    """A batch of `size` rounds that begins after `round` rounds, filled within the money.

    It stands in `room`, which has place for as many features as are read at most.
    """
    return narrowed(room, _buy(auto, room, number, round, size))


@c_function("kh_buy", room="room+items")
def _buy(
    auto: Auto, batch: Annotated[Batch, "read=width"], number: int, round: int, size: int
) -> int:
    raise NotImplementedError


def buy_once(auto: Auto, till: Till, number: int) -> Indices:
    """What to buy for one example on terms of its own; nothing is learnt from the terms."""
    S = np.empty(auto.settings.d, dtype=np.int64)
    return S[: _buy_once(auto, till, number, S)].copy()


@c_function("kh_buy_once", "S[d]", writes="S", room="room+own_items")
def _buy_once(auto: Auto, till: _Own, number: int, S: Indices) -> int:
    raise NotImplementedError


def affordable(auto: Auto) -> Indices:
    """What the leading memory would choose with all the money of one example, ascending."""
    S = np.empty(auto.settings.width, dtype=np.int64)
    return np.sort(S[: _affordable(auto, S)])


@c_function("kh_affordable", "S[width]", writes="S", room="room+items")
def _affordable(auto: Auto, S: Indices) -> int:
    raise NotImplementedError


def reopen_bought(auto: Auto, S: Indices) -> Batch:
    """A batch for a ticket that has none: all it read is learnt, the best of it predicts."""
    batch = hold(new_batch(auto.settings, len(S)))
    _reopen_bought(auto, batch, S)
    return batch


@c_function("kh_reopen_bought", "S[read]", room="room+2*read*read+16*read")
def _reopen_bought(auto: Auto, batch: Batch, S: Indices) -> None:
    raise NotImplementedError
