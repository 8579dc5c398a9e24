"""The type checker sees through the decorators: a kernel called wrongly is refused."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = """
import numpy as np
from keyhole.blocks.fit.linear import weigh
from keyhole.blocks.sums.running import ad  # a misspelt kernel
from keyhole.blocks.sums.running import add, running

add(running(1), 0, 1.0)  # right
add(running(1), 0)  # an argument is missing
add(running(1), "0", 1.0)  # one is of the wrong type
words: str = weigh(np.zeros(2), np.zeros(2), np.zeros(2))  # the result is a number
"""


def test_a_kernel_called_wrongly_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(CODE)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(tmp_path / "wrong.py")],
        cwd=ROOT,  # with the settings of the project, and its cache
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = {int(line.split(":")[1]): line.rsplit("[", 1)[1].rstrip("]") for line in errors}
    expected = {4: "attr-defined", 8: "call-arg", 9: "arg-type", 10: "assignment"}
    assert found == expected, done.stdout + done.stderr
