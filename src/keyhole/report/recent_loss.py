"""What was lost lately: in the last tenth of a game, beside the whole of it."""

from __future__ import annotations

import math
from typing import NamedTuple

from keyhole.game import Observer, PlayedBlock
from keyhole.problem import Learner
from keyhole.report.folding_sums import FoldingSums

BINS = 1024  # of the game: where its last tenth begins is known to a thousandth of it
TENTH = 0.1


class Recent(NamedTuple):
    """The last rounds of a game: how many, and their squared loss per round."""

    rounds: int
    mean_loss: float


class RecentLoss(Observer):
    """Keeps the losses of a game by stretches, so that those of its end are known whenever it ends.

    Examples
    --------
    >>> import numpy as np
    >>> import keyhole as kh
    >>> stream = kh.streams.ArrayStream(np.zeros((30, 1)), [1.0] * 27 + [3.0, 3.0, 6.0])
    >>> recent = RecentLoss()
    >>> zero = kh.FixedSubset(kh.Problem(d=1, k=1, budget=1), support=[], intercept=False)
    >>> ledger = kh.play(zero, stream, observers=[recent])
    >>> recent.last_tenth
    Recent(rounds=3, mean_loss=18.0)
    """

    def __init__(self) -> None:
        self._losses = FoldingSums(1, BINS)

    @property
    def last_tenth(self) -> Recent:
        """The last tenth of the rounds, at least one and never the first round of all."""
        rounds, width = self._losses.rounds, self._losses.width
        last = max(1, round(TENTH * rounds / width))  # so many bins, of which one may be shorter
        ends = self._losses.ends
        first = max(len(ends) - last, 1)
        if first >= len(ends):
            return Recent(0, math.nan)
        many = rounds - int(ends[first - 1])
        return Recent(many, float(self._losses.totals[0, first:].sum()) / many)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter the losses of some rounds."""
        self._losses.add(played.losses[None])
