"""kill -9 around save: there is the old file or the new one, whole."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import keyhole as kh

# Kills itself at the given call of the given function, before or after doing its work.
STEPS = """
import os, signal, sys, tempfile
import keyhole as kh
path, step, when = sys.argv[1:]
module, name = {"mkstemp": (tempfile, "mkstemp"), "fdopen": (os, "fdopen"),
                "fsync": (os, "fsync"), "replace": (os, "replace")}[step]
real = getattr(module, name)
def deadly(*args, **kwargs):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*args, **kwargs)
    if step == "fdopen":
        result.write(b"half a file")
        result.flush()
    os.kill(os.getpid(), signal.SIGKILL)
    return result
learner = kh.RunningMean(kh.Problem(4, 1, 2), seed=2)
setattr(module, name, deadly)
kh.save(learner, path)
"""

# Saves one of two learners after the other, for ever.
LOOP = """
import sys
import numpy as np
import keyhole as kh
problem = kh.Problem(60, 2, 20)
learners = [kh.FixedSubset(problem, support=np.arange(20), seed=seed) for seed in (1, 2)]
kh.save(learners[0], sys.argv[1])
print("ready", flush=True)
while True:
    for learner in learners:
        kh.save(learner, sys.argv[1])
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["mkstemp", "fdopen", "fsync", "replace"])
def test_killed_at_every_step(step: str, when: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    kh.save(kh.RunningMean(kh.Problem(4, 1, 2), seed=1), path)
    run = subprocess.run([sys.executable, "-c", STEPS, str(path), step, when])
    assert run.returncode == -signal.SIGKILL
    new = (step, when) == ("replace", "after")
    assert kh.load(path, kh.RunningMean).seed == (2 if new else 1)


def test_killed_at_any_time(tmp_path: Path) -> None:
    path, pick = tmp_path / "a.npz", random.Random(3)
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE, text=True
        ) as saver:
            assert saver.stdout is not None
            assert saver.stdout.readline() == "ready\n"
            for _ in range(pick.randrange(1, 30)):  # meanwhile every look finds a whole file
                assert kh.load(path, kh.FixedSubset).seed in (1, 2)
            saver.kill()
        assert kh.load(path, kh.FixedSubset).seed in (1, 2)
