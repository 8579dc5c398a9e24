"""A block of rounds that play one sparse model and explore uniformly: read and predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.reading import Block
from keyhole.problem import Floats, Indices


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
