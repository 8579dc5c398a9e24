"""Isotonic regression on a grid of scores: a higher score never means a lower probability."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.jit.decorators import inner
from keyhole.problem import Floats

LOW, HIGH, BINS = -0.25, 1.25, 48  # the grid; scores for labels 0 and 1 hardly ever leave it
PRIOR = 0.5  # imagined labels in every bin, at the score of its middle
SUREST = 0.01  # how near to 0 and 1 imagined labels are
NO, YES = 0, 1


@inner
def bin_of(score: float) -> int:
    """The bin of a score; the outermost ones take whatever lies beyond the grid."""
    place = (score - LOW) * (BINS / (HIGH - LOW))
    if not place >= 1.0:  # so that whatever is not a number has a bin too
        return 0
    return BINS - 1 if place >= BINS else int(place)


@inner
def isotonic(bins: Floats, b: int) -> float:
    """The probability of a yes in bin b, by pooling neighbours whose shares of yes do not rise.

    `bins` are the labels told so far, no and yes, in each bin. The fit is the least squares fit to
    the shares of yes, weighted by their labels, among all that rise with the score; the imagined
    labels draw it towards the score itself where little was seen.
    """
    share, weight = np.empty(BINS), np.empty(BINS)
    end = np.empty(BINS, dtype=np.int64)
    pools = 0
    for j in range(BINS):
        middle = LOW + (j + 0.5) * ((HIGH - LOW) / BINS)
        imagined = PRIOR * min(max(middle, SUREST), 1.0 - SUREST)
        w = bins[NO, j] + bins[YES, j] + PRIOR
        yes = (bins[YES, j] + imagined) / w
        while pools > 0 and share[pools - 1] >= yes:
            pools -= 1
            yes = (share[pools] * weight[pools] + yes * w) / (weight[pools] + w)
            w += weight[pools]
        share[pools], weight[pools], end[pools] = yes, w, j
        pools += 1
    at = 0
    while end[at] < b:
        at += 1
    return float(share[at])
