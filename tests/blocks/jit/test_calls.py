"""Commands reach kernels with one kind of arguments, and with those that a wheel has compiled."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keyhole.optional_imports import extra
from tools.kernel_calls import accepts

ROOT = Path(__file__).parents[3]
NAMES = ["a", "b", "c", "y"]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each command calls, by the name it has in `tests.helpers.recorded_calls`."""
    folder = tmp_path_factory.mktemp("rows")
    rows = np.random.default_rng(0).normal(size=(30, 4))
    rows[:, 3] += rows[:, 0]
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows.tolist())]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    answers = [
        lines[0],
        *(line.rsplit(",", 1)[0] + f",{i % 2}" for i, line in enumerate(lines[1:])),
    ]
    (folder / "answers.csv").write_text("\n".join(answers) + "\n")
    arrow, parquet = extra("pyarrow", "files"), extra("pyarrow.parquet", "files")
    for name, dtype in (("rows", np.float64), ("float32", np.float32)):
        table = arrow.table(dict(zip(NAMES, rows.T.astype(dtype), strict=True)))
        parquet.write_table(table, folder / f"{name}.parquet")
    (folder / "prices.csv").write_text("feature,price\na,1\nb,2\nc,1\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.recorded_calls", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def test_no_command_and_no_kind_of_file_has_a_kernel_compiled_twice(
    calls: dict[str, list[Any]],
) -> None:
    seen: dict[str, set[str]] = {}
    for command, called in calls.items():
        if command != "ahead":
            for kernel, forms in called:
                seen.setdefault(kernel, set()).add(json.dumps(forms))
    assert len(seen) > 20
    assert {kernel: forms for kernel, forms in seen.items() if len(forms) > 1} == {}


def test_a_wheel_has_compiled_all_that_commands_call(calls: dict[str, list[Any]]) -> None:
    ahead = calls.pop("ahead")
    missing = {
        (command, kernel)
        for command, called in calls.items()
        for kernel, forms in called
        if not any(
            name == kernel and all(accepts(*pair) for pair in zip(wanted, forms, strict=True))
            for name, wanted in ahead
        )
    }
    assert missing == set()
