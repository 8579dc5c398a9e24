"""The game: a learner against a stream, with a referee between them and observers beside them."""

from keyhole.game.audit import Audit
from keyhole.game.observer import Observer, PlayedBlock, Progress, ProgressLine
from keyhole.game.playing import RunningGame, play, rounds
from keyhole.game.referee import sell

__all__ = [
    "Audit",
    "Observer",
    "PlayedBlock",
    "Progress",
    "ProgressLine",
    "RunningGame",
    "play",
    "rounds",
    "sell",
]
