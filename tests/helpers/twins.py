"""Broken twins that several tests use: each has one fault, which a test must notice."""

import keyhole as kh
from tests.helpers.one_by_one import OneByOne


class Deaf(OneByOne):
    """Plays as the learner it is given would, and never hears a label."""

    def __init__(self, learner: kh.Learner) -> None:
        super().__init__(learner)
        self.tell = self._drop_in_place_of_telling

    def _drop_in_place_of_telling(self, seen: kh.Observation, y: float) -> None:
        self.drop(seen.ticket)
