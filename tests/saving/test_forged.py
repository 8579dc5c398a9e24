"""Files made by hand whose checksum is right: what they hold is checked all the same."""

import copy
import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.saving import api
from keyhole.saving.archive import decode, encode


def packed(content: bytes, compression: int) -> bytes:
    """The same members in an archive of another compression, sealed as `keyhole.save` seals."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", compression) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
        new.comment = b"keyhole state, SHA-256 " + b"-" * 64
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def waiting() -> kh.OnlineGreedyLearner:
    learner = kh.OnlineGreedyLearner(kh.Problem(8, 2, 5), seed=1)
    X = np.random.default_rng(0).uniform(-1, 1, (40, 8))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 0]))
    for _ in range(2):
        learner.ask()
    return learner


def test_a_compressed_archive_with_the_right_seal_is_refused() -> None:
    content = api.to_bytes(waiting())
    assert api.from_bytes(packed(content, zipfile.ZIP_STORED)).round == 42
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        with pytest.raises(kh.StateError, match="it is compressed"):
            api.from_bytes(packed(content, compression))


def test_a_file_that_has_a_ticket_twice_is_refused() -> None:
    state = decode(api.to_bytes(waiting()))
    api.from_bytes(encode(state, "1"))
    groups = state.parts["desk"]["open"]
    assert sum(len(group["rounds"]) for group in groups) == 2
    twice = copy.deepcopy(state.parts)
    twice["desk"]["open"] = [*groups, groups[0]]
    with pytest.raises(kh.StateError, match="cannot be open"):
        api.from_bytes(encode(replace(state, parts=twice), "1"))
    for group in groups:
        again = copy.deepcopy(state.parts)
        place = groups.index(group)
        again["desk"]["open"][place]["rounds"][:] = 42
        if len(group["rounds"]) > 1:
            with pytest.raises(kh.StateError, match="cannot be open"):
                api.from_bytes(encode(replace(state, parts=again), "1"))


def test_tickets_without_features_are_saved_too() -> None:
    learner = kh.Zero(kh.Problem(4, 1, 2))
    tickets = [learner.ask() for _ in range(3)]
    again = api.from_bytes(api.to_bytes(learner))
    assert again.round == 3
    for ticket in tickets:
        again.tell(ticket.fill([]), 1.0)
    with pytest.raises(kh.TicketError, match="round 2 is closed"):
        again.tell(tickets[1].fill([]), 1.0)
