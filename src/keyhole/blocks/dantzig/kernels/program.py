"""What is asked, what is known beforehand, and the two sides of the program at a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats, Indices


class Program(NamedTuple):
    """min |w|_1 s.t. |b - G w| <= lam, in d coordinates."""

    G: NDArray[np.floating]  # symmetric, C order
    b: Floats
    lam: Floats  # one for each coordinate, finite
    size: float  # max|b|


class Guess(NamedTuple):
    """A basis to start from; `weights` of its columns, or empty if they are not known."""

    columns: Indices
    column_signs: Floats
    rows: Indices
    row_signs: Floats
    weights: Floats


PlainGuess = tuple[Indices, Floats, Indices, Floats, Floats]  # the same, to and from Python


class Lines(NamedTuple):
    """What the bounds of the program and of its dual are about, on all d coordinates."""

    r: Floats  # b - G w, bounded by lam
    q: Floats  # G u, bounded by 1
