"""Block: consecutive rounds that are played in one call of C, with one model if they explore."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
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


@c_function(
    "kh_explore_block",
    "support[k] w[k] means[k] explored[rows,k0] values[rows,k0] asked[d]",
    writes="explored values asked",
    room="2*k0+k",
    long=True,
)
def explore_block(
    block: Block, support: Indices, w: Floats, means: Floats, explored: NDArray[np.int32],
    values: Floats, asked: Indices,
) -> int:  # fmt: skip
    """Draw, read and predict len(X) rounds; X is read at the bought coordinates only.

    Returns how many rounds were played: all of them, or those before the first one whose bought
    values are not all NaN or of a size that can be squared.

    Round t buys a uniform subset of k0 features and the support of the model (support, w, means).
    Row t of `explored` receives those of the subset that did arrive, ascending, then -1, and
    `values` what they are; `asked` counts what was explored, arrived or not; row t of `bought`
    receives the union, ascending, then -1.
    """
    raise NotImplementedError
