"""Trees and archives at their edges: what is just allowed, and what is just not."""

import io
import json
import math
import zipfile
from typing import Any, NamedTuple

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.desk import Desk, pack_tickets, unpack_tickets
from keyhole.problem.state import LearnerState, fit, pack, unpack
from keyhole.saving import archive
from keyhole.saving.archive import decode, encode

PROBLEM = kh.Problem(5, 2, 3)


def state_of(**parts: Any) -> LearnerState:
    return LearnerState("Nobody", PROBLEM, 4, {"seed": 3}, parts)


def members_of(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return file.namelist()


def test_arrays_of_up_to_64_numbers_are_in_the_header() -> None:
    arrays = {
        "small": np.arange(64.0),
        "large": np.arange(65.0),
        "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "odd": np.array([math.nan, -math.inf, 0.1]),
        "none": np.zeros((0, 3)),
        "one": np.array(True),
    }
    content = encode(state_of(**arrays), "1")
    assert members_of(content) == ["header.json", "large.npy", "turned.npy"]
    again = decode(content)
    for name, array in arrays.items():
        assert again.parts[name].dtype == array.dtype
        np.testing.assert_array_equal(again.parts[name], array, strict=True)


def test_numbers_and_words_come_back_as_they_were() -> None:
    parts = {"a": [1, 0.1, "é", None, True], "b": {"c": [math.inf, {}]}, "d": []}
    again = decode(encode(state_of(**parts), "1"))
    assert again.parts == parts
    assert (again.learner, again.problem, again.round) == ("Nobody", PROBLEM, 4)
    assert again.settings == {"seed": 3}


@pytest.mark.parametrize("version", [1, 2])
def test_all_formats_so_far_are_read(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    assert archive.LEARNER_FORMAT == 2
    monkeypatch.setattr(archive, "LEARNER_FORMAT", version)
    content = encode(state_of(), "0.9")
    monkeypatch.undo()
    assert decode(content).round == 4


@pytest.mark.parametrize(
    ("version", "said"),
    [(0, "not a number"), (-1, "not a number"), (3, "newer .* written by keyhole 9.9, upgrade")],
)
def test_other_formats_are_refused(
    monkeypatch: pytest.MonkeyPatch, version: int, said: str
) -> None:
    monkeypatch.setattr(archive, "LEARNER_FORMAT", version)
    content = encode(state_of(), "9.9")
    monkeypatch.undo()
    with pytest.raises(kh.StateError, match=f"^its format .*{said}"):
        decode(content)


def test_what_is_no_archive_is_told_from_one_that_was_cut_off() -> None:
    content = encode(state_of(), "1")
    with pytest.raises(kh.StateError, match="cut off"):
        decode(content[:-1])
    with pytest.raises(kh.StateError, match=r"save$"):
        decode(b"some text")
    with pytest.raises(kh.StateError, match="checksum"):
        decode(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(kh.StateError, match="checksum"):
        decode(bytes([content[0] ^ 1]) + content[1:])


def test_a_header_has_no_words_that_are_not_json() -> None:
    content = encode(state_of(x=math.nan, y=np.array([math.inf])), "1")
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        header = json.loads(file.read("header.json"), parse_constant=pytest.fail)
    assert header["parts"]["x"] == {"is": "float", "of": "nan"}
    assert header["parts"]["y"]["of"] == ["inf"]


def old_desk(*tickets: Any, **more: Any) -> dict[str, Any]:
    """As files of format 1 have it."""
    return {"round": 9, "open": list(tickets), **more}


def test_tickets_one_by_one_as_in_format_1() -> None:
    memo = {"is": "dict", "of": [["p", np.array([0.5])]]}
    tree = old_desk([3, np.array([0, 4]), memo], [9, np.array([], dtype=np.int64), memo])
    desk = fit(Desk(PROBLEM), tree, "desk")
    assert desk.round == 9
    assert [ticket.round for ticket in desk.open] == [3, 9]
    assert [ticket.features.tolist() for ticket in desk.open] == [[0, 4], []]
    assert desk.open[0].memo["p"].tolist() == [0.5]
    assert desk.labels.ends.tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize(
    "ticket",
    [
        [3, np.array([[0, 4]]), {"is": "dict", "of": []}],
        [3, np.array(4), {"is": "dict", "of": []}],
        [3, np.array([0.0, 4.0]), {"is": "dict", "of": []}],
        [3, [0, 4], {"is": "dict", "of": []}],
        [3.0, np.array([0, 4]), {"is": "dict", "of": []}],
        [3, np.array([0, 4]), {"is": "dict", "of": [["p", np.zeros(1)], ["q", 0.5]]}],
        [3, np.array([0, 4])],
        [3, np.array([0, 4]), []],
    ],
)
def test_other_tickets_one_by_one_are_refused(ticket: list[Any]) -> None:
    fine = [1, np.array([0, 4]), {"is": "dict", "of": []}]
    for tickets in ([ticket], [fine, ticket]):
        with pytest.raises(kh.StateError, match=r"^desk\.open must be tickets"):
            fit(Desk(PROBLEM), old_desk(*tickets), "desk")


@pytest.mark.parametrize("more", [{"labels": np.array([2.0, 1.0])}, {"labels": 3}, {"other": 3}])
def test_a_desk_that_cannot_be_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(kh.StateError, match=r"^desk"):
        fit(Desk(PROBLEM), old_desk(**more), "desk")


def test_tickets_come_back_the_oldest_first() -> None:
    desk = Desk(PROBLEM)
    for i in range(4):
        desk.issue([i], {"p": np.arange(float(i)).reshape(1, i)} if i % 2 else {"q": np.array(i)})
    found = unpack_tickets(pack_tickets(desk.open), "open")
    assert [number for number, _, _ in found] == [1, 2, 3, 4]
    assert [features.tolist() for _, features, _ in found] == [[0], [1], [2], [3]]
    assert [memo["p"].tolist() for *_, memo in found[1::2]] == [[[0.0]], [[0.0, 1.0, 2.0]]]
    assert [memo["q"].tolist() for *_, memo in found[::2]] == [0, 2]
    assert unpack_tickets([], "open") == []


class Pair(NamedTuple):
    a: int
    b: Any = None


def test_records_are_made_of_the_kinds_that_are_known() -> None:
    tree = pack(Pair(1, (2, [3.5])), "it")
    assert tree == {"is": "Pair", "a": 1, "b": {"is": "tuple", "of": [2, [3.5]]}}
    assert unpack(tree, "it", [Pair]) == Pair(1, (2, [3.5]))
    assert fit(None, [tree], "it", kinds=[Pair]) == [Pair(1, (2, [3.5]))]
    with pytest.raises(kh.StateError, match=r"^it must be something that can be there"):
        unpack(tree, "it")
    with pytest.raises(kh.StateError, match=r"^it is not a Pair"):
        unpack({"is": "Pair", "c": 1}, "it", [Pair])


def test_arrays_of_other_lengths_only_where_that_is_loose() -> None:
    like = np.zeros((2, 2))
    assert fit(like, np.ones((3, 1)), "it", loose=True).tolist() == [[1.0]] * 3
    for tree, loose in [(np.ones((3, 1)), False), (np.ones(4), True), (np.ones((2, 2), int), True)]:
        with pytest.raises(kh.StateError, match=r"^it must be an array float64"):
            fit(like, tree, "it", loose=loose)
    assert fit([], [1, 2], "it", loose=True) == [1, 2]
    for wrong in (1.0, True, None, "1"):
        with pytest.raises(kh.StateError, match=r"^it must be a int"):
            fit(1, wrong, "it")


@pytest.mark.parametrize("loose", [False, True])
def test_names_of_features_are_saved_as_a_tuple(loose: bool) -> None:
    """A learner may keep those of its problem, which are a little more than one."""
    names = kh.Problem(2, 1, 1, ["a", "b"]).names
    tree = pack(names, "names")
    assert tree == pack(("a", "b"), "names")
    again = fit(names, tree, "names", loose=loose)
    assert (again, type(again)) == (("a", "b"), tuple)  # not looked through: it may be forged
    with pytest.raises(kh.StateError):
        fit(names, pack(["a", "b"], "names"), "names", loose=loose)


@pytest.mark.parametrize("order", ["C", "F"])
def test_members_are_what_numpy_writes(order: Any) -> None:
    array = np.array(np.arange(120.0).reshape(10, 12), order=order)
    for kept in (array, array[::2], array[:0, ::2]):
        written = io.BytesIO()
        np.lib.format.write_array(written, kept, allow_pickle=False)
        content = encode(state_of(it=kept), "1")
        if "it.npy" in members_of(content):
            with zipfile.ZipFile(io.BytesIO(content)) as file:
                assert file.read("it.npy") == written.getvalue()
        assert decode(content).parts["it"].tolist() == kept.tolist()
