"""Files that are whole or not there: leftovers, modes, links, and what is not a file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.problem import StateError
from keyhole.problem.atomic_file import whole_file

KILLED = """
import os, signal, sys
from pathlib import Path
from keyhole.problem import StateError
from keyhole.problem.atomic_file import whole_file
with whole_file(Path(sys.argv[1]), StateError) as file:
    file.write(b"half")
    file.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
    file.write(b" and half")
"""


def write(path: Path, data: bytes = b"whole") -> None:
    with whole_file(path, StateError) as file:
        file.write(data)


def test_what_a_killed_process_left_is_removed_by_the_next_save_of_that_name(
    tmp_path: Path,
) -> None:
    goal, other = tmp_path / "a.npz", tmp_path / ".b.npz.12345678.new"
    other.write_bytes(b"of another name")
    for _ in range(3):
        killed = subprocess.run([sys.executable, "-c", KILLED, str(goal), "kill"], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert len(list(tmp_path.glob(".a.npz.*"))) == 1, "each removes the one before"
    write(goal)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([other.name, "a.npz"])


def test_a_file_that_is_being_written_is_not_taken_for_a_leftover(tmp_path: Path) -> None:
    goal = tmp_path / "a.npz"
    command = [sys.executable, "-c", KILLED, str(goal), "wait"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as slow:
        assert slow.stdout is not None
        assert slow.stdout.readline() == "writing\n"
        write(goal, b"in between")
        assert goal.read_bytes() == b"in between"
        slow.communicate("")
    assert slow.returncode == 0
    assert goal.read_bytes() == b"half and half"


def test_the_mode_is_kept_and_a_link_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    write(real)
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    learner = kh.Zero(kh.Problem(2, 1, 1))
    for name in ("fifo", "."):
        with pytest.raises(StateError, match="is not a regular file"):
            kh.save(learner, tmp_path / name)
    for bad in (tmp_path / "no" / "folder.npz", str(tmp_path) + "/a\0b"):
        with pytest.raises(StateError, match="cannot write"):
            kh.save(learner, bad)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]
