"""What the practical Algorithm 1 is put together from, each step of its ladder a field."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.blocks.practical_dantzig.selection import USUAL, Thresholds
from keyhole.errors import LARGEST
from keyhole.problem import real_number, whole_number


@dataclass(frozen=True, slots=True)
class Parts:
    """What the practical Algorithm 1 is put together from.

    The defaults are all of it. Every field can be changed by itself: benchmarks/dantzig_data.py
    does, and docs/algorithms/dantzig.md shows what each is worth.

    Parameters
    ----------
    growth, least
        The program is solved again when the round has grown by this factor, and by this many.
    thresholds
        How those of the program are set.
    shrink
        Whether off-diagonal correlations are shrunk.
    played
        Whether what is read on the played support counts in the moments.
    refit
        Whether the weights on the support are least squares, not the program's.
    adapt
        Whether VAW goes on from these weights on every row.
    fill
        Whether slots of the prediction that stay empty read the best candidates.
    reweight
        Whether old rows weigh less when the prediction error falls.
    """

    growth: float = 1.1
    least: int = 4
    thresholds: Thresholds = USUAL
    shrink: bool = True
    played: bool = True
    refit: bool = True
    adapt: bool = True
    fill: bool = True
    reweight: bool = True

    def __post_init__(self) -> None:
        real_number("growth", self.growth, 1.0, LARGEST)
        whole_number("least", self.least, 1)

    def next_solve(self, t: int) -> int:
        """The round before which the program is solved next, when it was before round t.

        >>> Parts().next_solve(1), Parts().next_solve(1000)
        (5, 1100)
        """
        return max(t + self.least, math.ceil(t * self.growth))


PRACTICAL = Parts()
