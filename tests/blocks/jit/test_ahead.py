"""Kernels that were compiled ahead of time compute the same bits, and nothing gets past the door.

A copy of the package is given machine code for three small kernels: one takes a tuple with a class,
one returns one, one takes numbers and arrays.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole
from keyhole.blocks.jit import ahead
from keyhole.blocks.jit.forms import Entry, way_in

PACKAGE = Path(keyhole.__file__).parent
ROOT = Path(__file__).parents[3]
KERNELS = [
    "keyhole.blocks.draw.keyed:subset",
    "keyhole.blocks.auto.state:room_for",
    "keyhole.blocks.conformal.rounds:issue",
]
# What comes out, which kernels numba had to compile for it, and whether numba was imported.
CODE = """
import json, sys
import numpy as np
from keyhole.blocks.auto.state import room_for
from keyhole.blocks.conformal.rounds import issue
from keyhole.blocks.conformal.trackers import NOTE, new_trackers
from keyhole.blocks.draw.keyed import subset
from keyhole.blocks.jit import lazy
from keyhole.blocks.jit.mode import mode

said = {}
def note(name, value):
    said[name] = [value, sorted(lazy.fallbacks), "numba" in sys.modules]
    lazy.fallbacks.clear()
def flat(parts):
    return [flat(p) if isinstance(p, tuple) else [str(p.dtype), p.shape, p.tolist()] for p in parts]
def drawn(out, t=7, seed=np.uint64(3)):
    subset(seed, t, 0, 40, out, space)
    return out.tolist()

space = np.zeros((3, 44), dtype=np.int64)
space[0] = np.arange(44)
batch = room_for(3, 4, longest=5, slots=2)
note("returned", [type(batch).__name__, type(batch.runs).__name__, flat(batch)])
rng, notes, edges = np.random.default_rng(0), np.zeros((2, NOTE)), np.zeros((2, 2))
trackers = new_trackers([0.5, 0.9])
for array in trackers:
    if array.dtype == float:
        array[...] = rng.uniform(0.5, 1.5, array.shape)
issue(trackers, np.arange(2), 1.5, notes, edges)
note("taken", [notes.tobytes().hex(), edges.tobytes().hex()])
note("drawn", drawn(np.zeros(5, dtype=np.int64)))
note("numbers of numpy", drawn(np.zeros(5, dtype=np.int64), t=np.int64(7)))
if len(sys.argv) > 1:  # arguments that the machine code was not made for
    note("int32", drawn(np.zeros(5, dtype=np.int32)))
    note("every other", drawn(np.zeros(10, dtype=np.int64)[::2]))
print(json.dumps({"mode": mode(), **said}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with machine code for KERNELS."""
    copy = tmp_path_factory.mktemp("installed") / "keyhole"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "_ahead.*"))
    build(copy, "--kernels", *KERNELS)
    return copy


def build(package: Path, *arguments: str) -> None:
    into = ("--into", str(package / "blocks" / "jit"))
    done = python(package, "-m", "tools.build_kernels", *into, *arguments)
    assert done.returncode == 0, done.stderr


def python(package: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with that package, and the tools beside it."""
    unset = {"NUMBA_CACHE_DIR", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "KEYHOLE_COMPILE"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    paths = os.pathsep.join([str(package.parent), str(ROOT)])
    where = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**kept, **where},
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def played(package: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    done = python(package, "-c", CODE, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def values(found: dict[str, Any]) -> dict[str, Any]:
    return {name: row[0] for name, row in found.items() if name != "mode"}


def test_the_same_bits_without_numba(package: Path) -> None:
    """And what the machine code was not made for goes to numba, and comes out right."""
    fast, compiled = played(package, "wrong"), played(package, "wrong", KEYHOLE_COMPILE="jit")
    assert (fast.pop("mode"), compiled.pop("mode")) == ("aot", "jit")
    assert values(fast) == values(compiled)
    assert fast["int32"][0] == fast["every other"][0] == fast["drawn"][0]
    assert fast["returned"][0][:2] == ["Batch", "Ensemble"]
    fitting = ["returned", "taken", "drawn", "numbers of numpy"]
    assert [fast[name][1:] for name in fitting] == [[[], False]] * 4
    assert [fast[name][1] for name in ("int32", "every other")] == [KERNELS[:1]] * 2


def test_stale_machine_code_is_not_used(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "keyhole"
    shutil.copytree(package, copy)
    with (copy / "blocks" / "fit" / "linear.py").open("a") as file:
        file.write("# an edit\n")
    ask = ("-c", "from keyhole.blocks.jit.mode import mode; print(mode())")
    assert python(copy, *ask).stdout.strip() == "jit"
    insisted = python(copy, *ask, KEYHOLE_COMPILE="aot")
    assert "KEYHOLE_COMPILE=aot, but the kernels compiled ahead of time were" in insisted.stderr
    assert "KEYHOLE_COMPILE must be jit or aot" in python(copy, *ask, KEYHOLE_COMPILE="x").stderr
    assert python(package, *ask).stdout.strip() == "aot"
    assert python(package, *ask, NUMBA_DISABLE_JIT="1").stdout.strip() == "python"
    # Nor what was made for another processor.
    ask = ("-c", f"from keyhole.blocks.jit import ahead; ahead._FLAGS |= {{'x'}}; {ask[1]}")
    expected = "aot" if ahead.target() == ahead.ANY else "jit"
    assert python(package, *ask).stdout.strip() == expected


@pytest.mark.slow
def test_all_learners_and_solvers_compute_the_same_bits(tmp_path: Path) -> None:
    """With all that a wheel has: nothing that is played when it is built goes to numba."""
    copy = tmp_path / "keyhole"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "_ahead.*"))
    build(copy)
    digests = "-m", "tests.helpers.kernel_digests"
    fast, compiled = (
        json.loads(python(copy, *digests, KEYHOLE_COMPILE=way).stdout) for way in ("aot", "jit")
    )
    assert fast == compiled
    code = """
from keyhole.warming import AHEAD, warm
from keyhole.blocks.jit import lazy
import sys
for part in AHEAD: warm(part)
print(lazy.fallbacks, "numba" in sys.modules)
"""
    assert python(copy, "-c", code).stdout.strip() == "set() False"


def told(way: Any, *arguments: Any) -> str:
    found: str = way(*arguments)
    return found


def test_the_door_looks_at_everything() -> None:
    """Each argument that differs in one thing only goes the other way."""

    def kernel(n: int, x: float, A: Any, pair: Any, flag: bool = False) -> None:
        """Its parameters are what counts."""

    forms: list[Any] = ["int64", "float64", ["array", "float64", 2, True]]
    pair = ["tuple", "", [["array", "int64", 1, False], "uint64"]]
    entry = Entry("kernel_0", [*forms, pair, "bool"], None)
    way = way_in(kernel, entry, lambda *a: f"{len(a)} leaves", lambda *a: "numba")
    A, S, seed = np.zeros((2, 3)), np.arange(3), np.uint64(1)
    frozen, frozen_S = A.copy(), S.copy()
    frozen.flags.writeable = frozen_S.flags.writeable = False
    odd = np.frombuffer(bytearray(6 * 8 + 1), dtype=np.uint8)[1:].view(np.float64).reshape(2, 3)
    for right in (
        (1, 1.0, A, (S, seed)),
        (np.int64(1), np.float64(1), A, (S, seed), np.True_),
        (1, 1.0, A[:1], (frozen_S, seed), True),
        (1, 1.0, np.zeros((0, 3)), (S[1:], seed)),
    ):
        assert told(way, *right) == "6 leaves"
    for wrong in (
        (1.0, 1.0, A, (S, seed)),
        (True, 1.0, A, (S, seed)),
        (1, 1, A, (S, seed)),
        (1, np.float32(1), A, (S, seed)),
        (1, 1.0, A.astype(np.float32), (S, seed)),
        (1, 1.0, A.astype(">f8"), (S, seed)),
        (1, 1.0, A.view(np.int64), (S, seed)),
        (1, 1.0, A[0], (S, seed)),
        (1, 1.0, A[:, :2], (S, seed)),
        (1, 1.0, np.asfortranarray(A), (S, seed)),
        (1, 1.0, frozen, (S, seed)),
        (1, 1.0, odd, (S, seed)),
        (1, 1.0, A.tolist(), (S, seed)),
        (1, 1.0, np.ma.masked_array(A), (S, seed)),
        (1, 1.0, A, [S, seed]),
        (1, 1.0, A, (S,)),
        (1, 1.0, A, (S, 1)),
        (1, 1.0, A, (S[::2], seed)),
        (1, 1.0, A, (S, seed), 1),
        (1, 1.0, A, (S, seed), None),
    ):
        assert told(way, *wrong) == "numba", wrong
