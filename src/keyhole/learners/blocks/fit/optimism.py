"""Which features to read in order to learn: those that might gain most, by a random optimism."""

from __future__ import annotations

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.keyed import Seed
from keyhole.learners.blocks.fit.forward import Selection
from keyhole.problem import Floats

PURPOSE = 1 << 20  # keeps these draws apart from those of experts (2 i, 2 i + 1)


@c_function("kh_sampled_gains", "reads[seats] score[seats]", writes="score")
def sampled_gains(
    seed: Seed, round: int, selection: Selection, reads: Floats, optimism: float, score: Floats
) -> None:
    """Write the gain of every feature were its correlation off by a random standard error.

        (r_j + sqrt(noise D_j / n_j) g_j)^2 / D_j,   g_j normal, sd `optimism`

    Thompson sampling on the residual correlations, keyed by (seed, round). A feature never read
    comes before all others, in random order. One whose reads were all the same has shown no r: a
    standard error of its own is drawn for it too, because a rare event may hide there. One that is
    a combination of the chosen features has no gain.

    >>> import numpy as np
    >>> selection = Selection(np.array([0]), np.array([1.0]), np.array([0.0, 0.5, 0.0]),
    ...     np.array([0.0, 1.0, 1.0]), 0.1, np.array([9.0, 9.0, 9.0]))
    >>> score = np.empty(3)
    >>> sampled_gains(np.uint64(0), 1, selection, np.array([9.0, 9.0, 0.0]), 1.0, score)
    >>> int(score.argmax())
    2
    """
    raise NotImplementedError
