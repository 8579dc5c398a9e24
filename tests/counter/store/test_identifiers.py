"""Ids on forms: whatever is mistyped in one is noticed."""

import pytest

import keyhole as kh
from keyhole.counter.store.records import ALPHABET, new_id, read_id


def test_ids_are_read_as_they_are_typed() -> None:
    for _ in range(200):
        id = new_id()
        assert read_id(id) == id
        typed = id.lower().replace("-", " ").replace("1", "l").replace("0", "o")
        assert read_id(typed) == id


def test_one_wrong_character_and_two_that_changed_places_are_noticed() -> None:
    id = new_id()
    letters = id.replace("-", "")
    for i, letter in enumerate(letters):
        for other in set(ALPHABET) - {letter}:
            with pytest.raises(kh.UnknownTicketError, match="check character"):
                read_id(letters[:i] + other + letters[i + 1 :])
        for j in range(i + 1, len(letters)):
            if letters[j] != letter:
                swapped = [*letters]
                swapped[i], swapped[j] = swapped[j], swapped[i]
                with pytest.raises(kh.UnknownTicketError, match="check character"):
                    read_id("".join(swapped))


@pytest.mark.parametrize(
    "text", ["", "1234", "0123-4567-89AU", "0123-4567-89AM-0", 7, None, "é" * 12]
)
def test_what_cannot_be_an_id(text: object) -> None:
    with pytest.raises(kh.UnknownTicketError):
        read_id(text)
