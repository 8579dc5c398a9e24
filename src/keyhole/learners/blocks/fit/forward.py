"""Forward selection from zero-imputed sums, with a significance stop."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.memories import Memories
from keyhole.problem import Floats, Indices

READS = 3.99  # a feature read fewer times than 4 (rounding aside) is never significant
NEW = 0.05  # one of which less than this share is new, given those chosen, adds nothing


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
    size, noise = select_into(kept, memory, most, threshold, room)
    counts = kept.n[memory, :d] * kept.scale[memory]
    return Selection(room.chosen[:size], room.gains[:size], room.r, room.D, noise, counts)


@c_function("kh_select_into")
def select_into(
    kept: Memories, memory: int, most: int, threshold: float, room: Selecting
) -> tuple[int, float]:
    """Fill chosen, gains, r and D; returns how many were chosen and what is left of the label.

    In units in which every feature has mean square 1, with n the counts, feature j and pivot v:
    L_j = (G_vj / sqrt(G_vv G_jj) - earlier steps) / sqrt(D_v), D_j -= L_j^2,
    r_j -= L_j sqrt(n_v/n_j) r_v / sqrt(D_v). Products are taken as if what was not read were 0:
    biased towards independence while few pairs were read together, which errs on the side of
    choosing too much rather than of dividing by noise.
    """
    raise NotImplementedError
