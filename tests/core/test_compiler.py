"""The library is built from its sources: whole or not at all, anew when one changes."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole.core import compiler, library

PROGRAM = "long kh_number(void) { return %d; }\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one function in it."""
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "a.c").write_text('__attribute__((visibility("default"))) ' + PROGRAM % 1)
    monkeypatch.setattr(compiler, "SOURCES", folder)
    monkeypatch.setattr(library, "FOLDER", tmp_path / "lib")
    monkeypatch.delenv(compiler.SANITIZE, raising=False)
    return folder


def number(path: Path) -> int:
    return int(ctypes.CDLL(str(path)).kh_number())


def test_a_changed_source_is_compiled_anew(sources: Path) -> None:
    first = library.find()
    assert number(first) == 1
    assert library.find() == first
    (sources / "a.c").write_text('__attribute__((visibility("default"))) ' + PROGRAM % 2)
    second = library.find()
    assert second != first
    assert number(second) == 2
    assert [*library.FOLDER.iterdir()] == [second]  # the stale one is gone


def test_processes_that_build_at_once_get_the_same_library(sources: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: library.find(), range(4)))
    assert len(found) == 1
    assert number(found.pop()) == 1
    assert len([*library.FOLDER.iterdir()]) == 1


def test_an_error_in_a_source_is_shown_and_leaves_nothing(sources: Path) -> None:
    (sources / "a.c").write_text("this is no C\n")
    with pytest.raises(RuntimeError, match=r"a\.c"):
        library.find()
    assert [*library.FOLDER.iterdir()] == []


def test_without_a_compiler_one_sentence(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    with pytest.raises(compiler.NoCompiler, match="install gcc or clang"):
        library.find()


def test_a_checkout_that_cannot_be_written_says_so(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> Path:
        raise PermissionError(folder)

    monkeypatch.setattr(compiler, "build", refused)
    with pytest.raises(ImportError, match="cannot be written: let its owner run"):
        library.find()


def test_ziglang_is_used_where_there_is_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler, "find_spec", lambda name: object())
    assert compiler.compiler()[1:3] == ["-m", "ziglang"]


def test_a_compiler_that_does_not_answer_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, code in (("cc", 1), ("gcc", 0)):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\nexit {code}\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("CC", raising=False)
    assert compiler.compiler() == ["gcc"]


def test_an_installed_package_never_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "SOURCES", tmp_path / "nowhere")
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    with pytest.raises(ImportError, match="reinstall keyhole"):
        library.find()
    here = tmp_path / f"keyhole-0123{compiler.suffix()}"
    here.touch()
    assert library.find() == here
