"""Every learner plays as it did, to the bit, when its code was last proven right."""

import json

import pytest

from tests.core.transcripts import FILE, GAMES, digest

RECORDED: dict[str, str] = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", GAMES)
def test_the_game_is_as_recorded(name: str) -> None:
    assert digest(GAMES[name]) == RECORDED[name]


def test_every_record_is_of_a_game() -> None:
    assert RECORDED.keys() == GAMES.keys()
