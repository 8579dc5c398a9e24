"""The seal: the same bytes however they are written, and nothing of a file is kept."""

import gc
import os
import sys
import threading
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.registry import make_learner
from keyhole.problem.state import LearnerState
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import decode, encode
from keyhole.saving.checksum import (
    CHECKSUM_PLACEHOLDER,
    THREAD_FROM_BYTES,
    ChecksummedWriter,
    verify_checksum,
)

WIDE = kh.Problem(
    THREAD_FROM_BYTES // 4, 2, 5
)  # arrays of twice as many bytes as are hashed by a thread


def a_state() -> LearnerState:
    return LearnerState(
        "X", WIDE, 0, {}, {"a": np.arange(float(THREAD_FROM_BYTES)), "b": np.ones(100)}
    )


def test_the_file_is_what_to_bytes_says(tmp_path: Path) -> None:
    learner = make_learner("iht", WIDE, 1)
    kh.save(learner, tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == to_bytes(learner)


def test_where_no_thread_can_be_started_the_bytes_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_thread = encode(a_state(), "1")

    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert encode(a_state(), "1") == with_thread


def test_a_disk_that_is_full_leaves_the_old_file_and_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "a.npz", threading.active_count()
    kh.save(make_learner("mean", WIDE, 1), path)
    old, fdopen = path.read_bytes(), os.fdopen

    def full(data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    def opened(*args: Any) -> Any:
        file = fdopen(*args)
        monkeypatch.setattr(file, "write", full, raising=False)
        return file

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", opened)
        with pytest.raises(kh.StateError, match=r"cannot write .*: No space left on device"):
            kh.save(make_learner("iht", WIDE, 1), path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]
    assert threading.active_count() == before


def test_an_error_on_the_way_seals_nothing() -> None:
    pieces, before = list[memoryview](), threading.active_count()

    def stop_half_way() -> None:
        with ChecksummedWriter(pieces.append) as file:
            file.write(bytes(THREAD_FROM_BYTES))
            file.seek(THREAD_FROM_BYTES)
            raise KeyError

    with pytest.raises(KeyError):
        stop_half_way()
    assert [len(piece) for piece in pieces] == [THREAD_FROM_BYTES]
    assert threading.active_count() == before


def test_what_is_settled_is_not_written_over() -> None:
    pieces = list[memoryview]()
    with ChecksummedWriter(pieces.append) as file:
        file.write(b"abc")
        file.seek(3)
        file.seek(0)
        with pytest.raises(ValueError, match="settled"):
            file.write(b"xyz")
        file.seek(3)
        file.write(CHECKSUM_PLACEHOLDER)
    verify_checksum(b"".join(pieces))


@pytest.mark.parametrize("name", sorted(kh.LEARNERS))
def test_a_learner_keeps_nothing_of_the_bytes_it_is_made_from(name: str) -> None:
    problem, rng = kh.Problem(12, 3, 7), np.random.default_rng(0)
    learner = make_learner(name, problem, 1)
    for _ in range(40):
        ticket = learner.ask()
        seen = ticket.fill(rng.normal(size=len(ticket.features)))
        learner.tell(seen, rng.normal())
    learner.ask()
    data = to_bytes(learner)
    before = sys.getrefcount(data)
    gc.freeze()  # what is older need not be looked at
    again = from_bytes(data)
    gc.collect()
    gc.unfreeze()
    assert sys.getrefcount(data) == before
    assert to_bytes(again) == data


class Keeps(kh.RunningMean):
    """A learner that keeps the arrays of its state as they are."""

    kept: Any = None

    @classmethod
    def from_state(cls, state: LearnerState) -> Self:
        learner = cls(state.problem)
        learner.kept = state.part("a")
        return learner


def test_a_learner_of_ones_own_may_keep_the_arrays_of_its_state() -> None:
    state = a_state()
    data = encode(LearnerState("Keeps", state.problem, 0, {}, state.parts), "1")
    kept, other = from_bytes(data, Keeps).kept, decode(data).parts["a"]
    for array in (kept, other):
        assert array.flags.writeable
        assert array.flags.aligned
        array += 1.0
    assert from_bytes(data, Keeps).kept[0] == 0.0
