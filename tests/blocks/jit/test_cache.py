"""Machine code on disk is used as long as it is right, and compiled again when it is not.

Each test has a copy of the package to edit, with the cache inside of it.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import keyhole

PACKAGE = Path(keyhole.__file__).parent
# A kernel that calls another one of another file, and one with a constant of another file.
CODE = """
import numpy as np
from keyhole.blocks.greedy.experts_kernels import draw_experts
from keyhole.blocks.greedy.minibatch import first_oversized
j = np.zeros(1, dtype=np.int64)
draw_experts(np.uint64(0), 1, np.array([[0.0, 1.0, 0.0]]), j)
print(j[0], first_oversized(np.ones((2, 1)), np.array([0.5, 7.0]), np.zeros(1, dtype=np.int64)))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, nothing compiled yet."""
    copy = tmp_path / "keyhole"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def run(package: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run CODE with that package, in a process of its own that keeps nothing elsewhere."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    where = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-c", CODE]
    return subprocess.run(
        command, env={**kept, **where}, capture_output=True, text=True, check=True
    )


def edit(file: Path, old: str, new: str) -> None:
    source = file.read_text(encoding="utf-8")
    assert source.count(old) == 1, f"{old!r} in {file.name}"
    file.write_text(source.replace(old, new), encoding="utf-8")


def machine_code(package: Path) -> dict[Path, tuple[int, bytes]]:
    files = [*package.rglob("*.nbi"), *package.rglob("*.nbc")]
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


@pytest.mark.parametrize(
    ("file", "old", "new", "then"),
    [
        ("blocks/draw/keyed.py", "        return i\n", "        return i + 5\n", "6 -1"),
        ("errors.py", "LARGEST = 1e150", "LARGEST = 6.0", "1 1"),
    ],
    ids=["callee", "constant"],
)
def test_an_edit_of_another_file_is_seen(
    package: Path, file: str, old: str, new: str, then: str
) -> None:
    assert run(package).stdout.strip() == "1 -1"
    compiled = machine_code(package)
    assert compiled
    assert run(package).stdout.strip() == "1 -1"
    assert machine_code(package) == compiled, "the second process compiles nothing"
    edit(package / file, old, new)
    assert run(package).stdout.strip() == then
    compiled = machine_code(package)
    assert run(package).stdout.strip() == then
    assert machine_code(package) == compiled, "nor does the second one after an edit"


def test_without_a_folder_to_write_to_it_says_so_once_and_compiles(
    package: Path, tmp_path: Path
) -> None:
    # Permissions do not bind every user; a file where a folder should be does.
    for folder in [package, *package.rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("not a folder")
    nowhere = str(tmp_path / "file" / "folder")
    (tmp_path / "file").write_text("not a folder")
    done = run(package, HOME=nowhere, XDG_CACHE_HOME=nowhere, NUMBA_CACHE_DIR=nowhere)
    assert done.stdout.strip() == "1 -1"
    assert machine_code(tmp_path) == {}
    said = [line for line in done.stderr.splitlines() if "for first use" not in line]
    assert len(said) == 1, done.stderr
    assert said[0].startswith("keyhole: ")
    assert "NUMBA_CACHE_DIR" in said[0]


def test_kernels_use_nothing_from_outside_that_the_digest_leaves_out() -> None:
    """Compiled into a kernel are names of its own family of files, and constants of errors.py."""
    for file in (PACKAGE / "blocks").rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        foreign = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keyhole.")
            if not str(node.module).startswith(("keyhole.blocks.", "keyhole.errors"))
            for alias in node.names
        }
        for kernel in _kernels(tree):
            inside = [node for line in kernel.body for node in ast.walk(line)]
            used = {node.id for node in inside if isinstance(node, ast.Name)}
            assert not used & foreign, f"{kernel.name} in {file.name} uses {used & foreign}"


def _kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    marks = {"kernel", "inner", "part"}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id in marks for mark in node.decorator_list)
    ]
