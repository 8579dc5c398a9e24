"""A block of rounds to be played, and how a compiled round reads its row: where it buys only."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner
from keyhole.core.functions import c_function
from keyhole.errors import LARGEST, SMALLEST
from keyhole.problem import Floats, Indices


class Block(NamedTuple):
    """Rounds to be played in one call: what is given, what is written, room to draw with.

    Given are the seed, the number of the first round, the rows X and their labels y. A kernel that
    plays them writes to row t of `bought` what round t read (ascending, then -1) and to
    `predictions[t]` what it predicted; of X[t] it may look at what it bought, and y[t] it may look
    at after the prediction. `space` is for `draw.keyed.subset`. It returns how many rounds it
    played: all of them, or those before the first one with a value that is too large.
    """

    seed: np.uint64
    first_round: int
    X: Annotated[NDArray[np.floating], "rows d"]
    y: Annotated[Floats, "rows"]
    bought: Annotated[NDArray[np.int32], "rows width"]
    predictions: Annotated[Floats, "rows"]
    space: Annotated[Indices, "3 d+4"]


@inner
def taken(value: float) -> float:
    """The value as it counts: 0 if it is too small to be squared, as in an `Observation`."""
    return 0.0 if abs(value) < SMALLEST else value


@c_function("kh_read", "row[d] features[m] values[n] bought[width]", writes="values bought")
@inner
def read(
    row: NDArray[np.floating], features: Indices, values: Floats, bought: NDArray[np.int32]
) -> bool:
    """Whether the values at the features, written to `values`, can all be squared or are absent.

    `bought` receives the features, then -1.
    """
    for a in range(len(features)):
        values[a] = row[features[a]]
        if abs(values[a]) > LARGEST:  # NaN is absent and passes
            return False
        values[a] = taken(values[a])
        bought[a] = features[a]
    bought[len(features) :] = -1
    return True
