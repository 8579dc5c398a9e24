"""A block of rounds to be played."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
