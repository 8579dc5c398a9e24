"""A ridge regression of what a prediction missed on columns of curves."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.shapes.seats import COLUMNS
from keyhole.problem import Floats, Indices
from keyhole.problem.state import Holds


class Ridge(NamedTuple):
    """Columns in blocks of 8, one for each curve, and last the constant and the prediction.

    Sums: `A` = sum z z' (blocks on the diagonal and below), `c` = sum z (y - p). `level`: the
    centre and the size that predictions are measured with. Derived, as of the last `solve`: `used`
    lists the `size` columns that are not all 0; of those, `root` (its first size^2 numbers) has
    L', A + I = L L', the inverse of each pivot on the diagonal, and `along` is L^-1 c.
    """

    A: Annotated[Floats, "8*curves+8 8*curves+8"]
    c: Annotated[Floats, "8*curves+8"]
    level: Annotated[Floats, "2"]
    root: Annotated[Floats, "8*curves+8 8*curves+8"]
    along: Annotated[Floats, "8*curves+8"]
    used: Annotated[Indices, Holds(below="A"), "8*curves+8"]
    size: Annotated[Indices, Holds(most="A"), "1"]


def empty_ridge(curves: int) -> Ridge:
    """Sums of nothing."""
    P = COLUMNS * (curves + 1)
    return Ridge(
        np.zeros((P, P)),
        np.zeros(P),
        np.zeros(2),
        np.zeros((P, P)),
        np.zeros(P),
        np.zeros(P, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@c_function("kh_add_columns", "z[8*curves+8] fresh[.]")
def add(ridge: Ridge, z: Floats, fresh: NDArray[np.bool_], missed: float) -> None:
    """Add a row to the sums; if `fresh` is not empty, only to the blocks in it and across them."""
    raise NotImplementedError


@c_function("kh_solve_ridge")
def solve(ridge: Ridge) -> None:
    """Learn what the sums know by now."""
    raise NotImplementedError


@c_function("kh_guess_ridge", "z[8*curves+8]", room="8*curves+8")
def guess(ridge: Ridge, z: Floats) -> float:
    """What is missed at z: z'M^-1 c / (1 + z'M^-1 z) with M = A + I, as VAW has it."""
    raise NotImplementedError
