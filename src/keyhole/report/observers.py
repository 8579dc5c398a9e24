"""Who watches while a learner plays: its rivals, and the sums that hindsight is worked out from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from keyhole.blocks.sums.gram import Gram
from keyhole.game import Game, Observer, PlayedBlock
from keyhole.hindsight import Prefix
from keyhole.ledger import Ledger
from keyhole.problem import Learner
from keyhole.report.trace import Trace


class Rival(Observer):
    """Another learner that plays the same rounds in the same pass, with books of its own.

    Parameters
    ----------
    learner
        The rival.
    bins
        Most bins of its trace.
    most_rounds
        Where it gives up: beyond that `gave_up` is true, and the books mean nothing.
    """

    def __init__(self, learner: Learner, bins: int, most_rounds: float = math.inf) -> None:
        self.trace = Trace(learner.problem.d, bins)
        self.gave_up = False
        self._most_rounds = most_rounds
        self._game = Game(learner, [self.trace], keep_predictions=False)

    @property
    def ledger(self) -> Ledger:
        """The books so far."""
        return self._game.ledger

    @property
    def room(self) -> int:
        """Up to the end of a bin, so that the books are never far behind."""
        return self.trace.room

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Play the same rows."""
        self.gave_up = self.gave_up or self.ledger.rounds + len(played.y) > self._most_rounds
        if not self.gave_up:
            self._game.play_block(played.X, played.y)

    def finish(self, learner: Learner) -> None:
        """Close the books."""
        self._game.finish()


class PrefixObserver(Observer):
    """Second moments of everything that was played, and as they were after given rounds.

    Parameters
    ----------
    d
        Features.
    ends
        After which rounds, ascending. Each takes O(d^2) memory.
    intercept
        Whether models in hindsight may add a constant.
    """

    def __init__(self, d: int, ends: Sequence[int] = (), *, intercept: bool) -> None:
        self.prefixes: list[Prefix] = []
        self._gram = Gram(d)
        self._waiting = sorted(ends, reverse=True)
        self._intercept = intercept

    @property
    def room(self) -> int | None:
        """Up to the next of the ends."""
        return self._waiting[-1] - self._gram.n if self._waiting else None

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Add the rows, and keep a copy of the sums where one is wanted."""
        self._gram.add(played.X, played.y)
        if self._waiting and self._waiting[-1] == self._gram.n:
            self._waiting.pop()
            self._keep()

    def finish(self, learner: Learner) -> None:
        """Keep the sums over everything."""
        if self._gram.n and (not self.prefixes or self.prefixes[-1].rounds < self._gram.n):
            self._keep()

    def _keep(self) -> None:
        self.prefixes.append(Prefix.of(self._gram, self._intercept))
