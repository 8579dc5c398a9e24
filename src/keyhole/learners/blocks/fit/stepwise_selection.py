"""Stepwise selection of features from zero-imputed sums: forward while significant, also by price.

Also which features to read in order to learn: those that might gain most, by a random optimism."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.philox import Seed
from keyhole.learners.blocks.fit.purchase import Basket, Market, basket, market
from keyhole.learners.blocks.sums.memories import Memories
from keyhole.problem import Floats, Indices

MIN_READS = 3.99  # a feature read fewer times than 4 (rounding aside) is never significant
MIN_NEW_PART = 0.05  # one of which less than this share is new, given those chosen, adds nothing


class Selection(NamedTuple):
    """What forward selection chose, in order, and what it thinks of everything else, by seat.

    In units in which every feature has mean square 1, and given the chosen features and the
    constant: `r` is the mean product of each feature with what is left of the label, `D` the mean
    square that is left of the feature, `noise` the mean square that is left of the label, `counts`
    how many reads of the feature there were. So r^2/D is the gain in mean square error a feature
    promises; r has the standard error sqrt(noise D / n). `gains` are those of the chosen, at the
    time they were chosen.
    """

    chosen: Annotated[Indices, "picks"]
    gains: Annotated[Floats, "picks"]
    r: Annotated[Floats, "seats"]
    D: Annotated[Floats, "seats"]
    noise: float
    counts: Annotated[Floats, "seats"]


class Selecting(NamedTuple):
    """Where forward selection writes: see `Selection`. `L` and `ready` are to work in."""

    chosen: Annotated[Indices, "picks"]
    gains: Annotated[Floats, "picks"]
    r: Annotated[Floats, "seats"]
    D: Annotated[Floats, "seats"]
    L: Annotated[Floats, "picks+3 seats"]
    ready: Annotated[NDArray[np.bool_], "seats"]


def select(kept: Memories, memory: int, most: int, threshold: float) -> Selection:
    """Choose greedily at most `most` features that are significant, of those that have a seat.

    Feature j is significant if |r_j| exceeds `threshold` standard errors sqrt(noise D_j / n_j) and
    it was read at least 4 times; the one with the largest
    (|r_j| - threshold sqrt(noise D_j/n_j))^2 / D_j comes next. One that is to 95 % a combination
    of those before it is passed over. The constant is projected out first. Features go by the
    numbers of their seats.

    >>> from keyhole.learners.blocks.sums.memories import memories, remember
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 5))
    >>> kept = memories(5, [np.inf])
    >>> remember(kept, np.arange(5), X, 3.0 + 2.0 * X[:, 3] - X[:, 1] + rng.standard_normal(400))
    >>> select(kept, 0, most=5, threshold=3.0).chosen
    array([3, 1])
    """
    d = kept.c.shape[1] - 1
    room = Selecting(
        np.empty(most, dtype=np.int64),
        np.empty(most),
        np.empty(d),
        np.empty(d),
        np.empty((most + 3, d)),
        np.empty(d, dtype=np.bool_),
    )
    shop = market([], [], most)
    size, noise, _ = select_into(kept, memory, threshold, room, shop, basket(shop), most, 0.0)
    counts = kept.n[memory, :d] * kept.scale[memory]
    return Selection(room.chosen[:size], room.gains[:size], room.r, room.D, noise, counts)


@c_function("kh_select_into", room="2*d")
def select_into(
    kept: Memories,
    memory: int,
    threshold: float,
    room: Selecting,
    shop: Market,
    held: Basket,
    money: int,
    rate: float,
) -> tuple[int, float, int]:
    """Fill chosen, gains, r and D, by seat; how many were chosen, what is left of label and money.

    Without a price list each feature costs 1.

    In units in which every feature has mean square 1, with n the counts, feature j and pivot v:
    L_j = (G_vj / sqrt(G_vv G_jj) - earlier steps) / sqrt(D_v), D_j -= L_j^2,
    r_j -= L_j sqrt(n_v/n_j) r_v / sqrt(D_v). Products are taken as if what was not read were 0:
    biased towards independence while few pairs were read together, which errs on the side of
    choosing too much rather than of dividing by noise. The next feature is the one with the largest

        excess_j^2 - rate (what j still costs),
        excess_j = |r_j| / sqrt(D_j) - threshold sqrt(noise / n_j),

    of those that what is left of the money buys, as long as that is positive. An item that several
    features need, and that is not paid for yet, is judged by all of them: members in the order of
    excess^2 per own price, as many as make the sum of excess^2 - rate (fee + own prices) largest;
    the strongest of them is then chosen, and the others are cheaper from there on.
    """
    raise NotImplementedError


OPTIMISM_PURPOSE = 1 << 20  # keeps these draws apart from those of experts (2 i, 2 i + 1)


@c_function("kh_sampled_gains", "score[seats]", writes="score")
def sampled_gains(
    seed: Seed, round: int, selection: Selection, optimism: float, score: Floats
) -> None:
    """Write the gain of every feature were its correlation off by a random standard error.

        (r_j + sqrt(noise D_j / n_j) g_j)^2 / D_j,   g_j normal, sd `optimism`

    Thompson sampling on the residual correlations, keyed by (seed, round). A feature whose reads
    were all the same has shown no r: a standard error of its own is drawn for it too, because a
    rare event may hide there. One that was never read, or is a combination of the chosen features,
    has no gain.

    >>> import numpy as np
    >>> selection = Selection(np.array([0]), np.array([1.0]), np.array([0.0, 0.5, 0.0]),
    ...     np.array([0.0, 1.0, 1.0]), 0.1, np.array([9.0, 99.0, 9.0]))
    >>> score = np.empty(3)
    >>> sampled_gains(np.uint64(0), 1, selection, 1.0, score)
    >>> int(score.argmax())
    1
    """
    raise NotImplementedError
