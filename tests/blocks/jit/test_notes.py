"""Compiling for longer than a second is said once, on standard error; loading from disk is not."""

import os
import subprocess
import sys
from pathlib import Path

CODE = """
from keyhole.blocks.jit import notes
notes.PATIENCE = {patience}
from keyhole.blocks.draw.sampling import uniform_subset
from keyhole.blocks.fit.vaw import VAW
uniform_subset(0, 1, 10, 3)
uniform_subset(0, 2, 10, 3)
"""


def stderr(cache: Path, patience: float) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", CODE.format(patience=patience)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return run.stderr


def test_the_note(tmp_path: Path) -> None:
    first = stderr(tmp_path, patience=0.0)
    assert first.count("compiling its kernels for first use") == 1
    assert stderr(tmp_path, patience=0.0) == "", "the second process finds them on disk"


def test_no_note_while_it_is_quick(tmp_path: Path) -> None:
    assert stderr(tmp_path, patience=600.0) == ""
