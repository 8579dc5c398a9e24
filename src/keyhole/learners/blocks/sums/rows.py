"""Partially seen rows in flat arrays, and their entries gathered feature by feature."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats


class Rows(NamedTuple):
    """Rows of which only some features were seen.

    Row t has the entries offsets[t], ..., offsets[t + 1] - 1 of `features`, which are ascending
    within it, and of `x`, their values. Its label is y[t].
    """

    offsets: Annotated[NDArray[np.int32], "rows+1"]
    features: Annotated[NDArray[np.int32], "entries"]
    x: Annotated[Floats, "entries"]
    y: Annotated[Floats, "rows"]


class Gathered(NamedTuple):
    """Room for the entries of rows in the order of their features."""

    start: Annotated[NDArray[np.int32], "d+1"]
    order: Annotated[NDArray[np.int32], "2 entries"]
