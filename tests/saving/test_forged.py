"""Files made by hand whose checksum is right: what they hold is checked all the same."""

import copy
import functools
import hashlib
import io
import operator
import os
import stat
import tracemalloc
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.desk import unpack_tickets
from keyhole.problem.state import LearnerState, fit
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


def refused(state: LearnerState, path: Sequence[Any], value: object) -> None:
    """What is loaded is a StateError after the part at the path has been set."""
    parts = copy.deepcopy(state.parts)
    *above, last = path
    place: Any = functools.reduce(operator.getitem, above, parts)
    place[last] = value
    with pytest.raises(kh.StateError):
        api.from_bytes(encode(replace(state, parts=parts), "1"))


def test_arrays_of_another_shape_or_type_are_refused() -> None:
    learner = kh.DantzigLearner(kh.Problem(8, 2, 6), seed=1, noise_sd=0.1)
    X = np.random.default_rng(0).uniform(-1, 1, (40, 8))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 0]))
    state = decode(api.to_bytes(learner))
    asked = state.parts["asked"]
    for other in (asked[:-1], asked.astype(np.float64), asked[np.newaxis], asked.tolist(), None):
        refused(state, ["asked"], other)
    with pytest.raises(kh.StateError, match="has 3 where a name should be"):
        decode(encode(replace(state, learner=3), "1"))  # type: ignore[arg-type]


def test_groups_of_tickets_that_make_no_sense_are_refused() -> None:
    state = decode(api.to_bytes(waiting()))
    group = state.parts["desk"]["open"][0]
    for bad in (7, [7], [{**group, "more": 1}], [{**group, "memo": 3}], [{"rounds": [1]}]):
        refused(state, ["desk", "open"], bad)
    for key in ("rounds", "lengths", "features"):
        array = group[key]
        for wrong in (array.astype(np.float64), array[np.newaxis], array.tolist(), array[:0]):
            refused(state, ["desk", "open", 0, key], wrong)
        for wrong in (-1 - array, array + (1 << 41)):
            refused(state, ["desk", "open", 0, key], wrong)
    for name, entry in group["memo"].items():
        for key, array in entry.items():
            for wrong in (array[:0], array.tolist(), array[np.newaxis]):
                refused(state, ["desk", "open", 0, "memo", name, key], wrong)


def test_a_member_that_holds_less_than_its_shape_says_is_refused() -> None:
    learner = kh.DantzigLearner(kh.Problem(30, 2, 6), seed=1, noise_sd=0.1)
    content = api.to_bytes(learner)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith(".npy"))
    for change in (members[name][:-8], members[name] + bytes(8)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for each, data in members.items():
                archive.writestr(each, change if each == name else data)
        with pytest.raises(kh.StateError):
            api.from_bytes(packed(buffer.getvalue(), zipfile.ZIP_STORED))


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_may_be_written_as_numpy_writes_them(version: tuple[int, int], order: str) -> None:
    """Either version of the header, either order, either end first: the same learner."""
    learner = kh.DantzigLearner(kh.Problem(30, 2, 6), seed=1, noise_sd=0.1)
    X = np.random.default_rng(0).uniform(-1, 1, (40, 30))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 0]))
    content, buffer = api.to_bytes(learner), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".npy"):
                array, again = np.load(io.BytesIO(data)), io.BytesIO()
                turned = np.array(array, dtype=array.dtype.newbyteorder(">"), order=order)  # type: ignore[call-overload]
                np.lib.format.write_array(again, turned, version=version)
                data = again.getvalue()
            new.writestr(name, data)
    loaded = api.from_bytes(packed(buffer.getvalue(), zipfile.ZIP_STORED))
    assert api.to_bytes(loaded) == content


def test_dictionaries_must_be_pairs_of_names_and_values() -> None:
    good = {"is": "dict", "of": [["a", 1], [2, 3.0]]}
    assert fit({"a": 0, 2: 0.0}, good, "it") == {"a": 1, 2: 3.0}
    wrong: list[Any] = [[["a", 1], [2]], [["a", 1], 5], [["a", 1], [2.5, 3.0]], [["a", 1]], {}]
    for pairs in wrong:
        with pytest.raises(kh.StateError):
            fit({"a": 0, 2: 0.0}, {"is": "dict", "of": pairs}, "it")
    with pytest.raises(kh.StateError):
        fit((1, 2), {"is": "tuple", "of": [1, 2, 3]}, "it")
    assert fit((1, 2), {"is": "tuple", "of": [3, 4]}, "it") == (3, 4)
    assert fit([1, 2], [3, 4], "it") == [3, 4]
    wrong = [
        {"is": "dict", "of": [1, 2]},
        {"is": "tuple", "of": 3},
        {"is": "tuple", "of": [1, 2], "more": 3},
        {"is": "tuple"},
        ["is", "of"],
        [1, 2],
    ]
    for tree in wrong:
        with pytest.raises(kh.StateError, match="it must be"):
            fit((1, 2), tree, "it")
    with pytest.raises(kh.StateError):
        fit([1, 2], {"is": "tuple", "of": [3, 4]}, "it", loose=True)


def test_refusals_say_what_was_found() -> None:
    for tree, found in [
        (np.zeros((2, 1)), r"an array float64\[2, 1\]"),
        ({"a": 1, "b": 2}, "entries a, b"),
        ("text", "str"),
    ]:
        with pytest.raises(kh.StateError, match=f"^it must be .*, the state has {found}$"):
            fit(np.zeros(3), tree, "it")
    group = decode(api.to_bytes(waiting())).parts["desk"]["open"][0]
    with pytest.raises(kh.StateError, match=r"\.memo is not a memo"):
        unpack_tickets([{**group, "memo": 3}], "open")


def test_a_file_and_its_folder_are_both_on_disk_when_save_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = list[bool](), os.fsync

    def noted(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    kh.save(waiting(), tmp_path / "a.npz")
    assert synced == [False, True]  # the bytes first, then the name


def test_a_member_that_is_not_where_it_is_said_to_be_is_refused() -> None:
    state = LearnerState("X", kh.Problem(8, 2, 5), 0, {}, {"a": np.arange(100.0)})
    content = bytearray(encode(state, "1"))
    assert decode(bytes(content)).parts["a"].tolist() == list(range(100))
    for change in (content.index(b"PK\x03\x04", 4), content.index(b"PK\x03\x04", 4) + 27):
        other = content.copy()
        other[change] = 0xFF  # no header there; a name of 65,000 letters
        other[-64:] = hashlib.sha256(other[:-64]).hexdigest().encode()
        with pytest.raises(kh.StateError, match=r"a\.npy is not there"):
            decode(bytes(other))


def test_large_states_are_not_copied_again_and_again() -> None:
    state = LearnerState(
        "X", kh.Problem(8, 2, 5), 0, {}, {"a": np.zeros(10**6), "b": np.zeros(10**6)}
    )
    content, size = encode(state, "1"), 16e6
    for work, most in ((lambda: encode(state, "1"), 1.1), (lambda: decode(content), 1.1)):
        tracemalloc.start()
        try:
            kept = work()
            assert tracemalloc.get_traced_memory()[1] < most * size
        finally:
            tracemalloc.stop()
        del kept
