"""Build a wheel and try it where there is no compiler; `--cross` builds those of other platforms.

python -m tools.wheel            # this platform: built, installed into an empty environment, run
python -m tools.wheel --cross    # by zig, for Linux, macOS and Windows: linked, not run
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path("build/wheel")
GAME = """
import pathlib, keyhole as kh
from keyhole.core import compiler, library
assert not compiler.SOURCES.exists(), "a wheel has no sources"
stream, truth = kh.streams.realizable(d=30, k=2, n=2048, noise_sd=0.1, seed=0)
ledger = kh.play(kh.AutoLearner(kh.Problem(d=30, k=2, budget=8), seed=0), stream)
best = kh.hindsight(stream, 2)
print(f"{library.find().name}: 2,048 rounds, regret {kh.regret(ledger, best)}")
"""


def main() -> None:
    """Build, and try what can be tried here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cross", action="store_true", help="for other platforms, by zig")
    shutil.rmtree(FOLDER, ignore_errors=True)
    if parser.parse_args().cross:
        for target in re.findall(r'^    "(.+)": \("', Path("hatch_build.py").read_text(), re.M):
            say(f"{build(target).name}: linked, not run")
    else:
        wheel = build()
        say(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        try_out(wheel)


def say(line: str) -> None:
    """A line for whoever waits."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def build(target: str = "") -> Path:
    """The wheel for a target of zig's, or for this platform."""
    start, folder = time.perf_counter(), FOLDER / (target or "here")
    command = [sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", str(folder)]
    environment = {**os.environ, "KEYHOLE_TARGET": target} if target else None
    subprocess.run(command, check=True, env=environment)
    say(f"built in {time.perf_counter() - start:.0f} s")
    [wheel] = folder.glob("*.whl")
    return wheel


def try_out(wheel: Path) -> None:
    """Install it into an environment of its own, and play a game with nothing on PATH."""
    python = (FOLDER / "environment/bin/python").absolute()
    subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
    subprocess.run(["sh", "tools/install.sh", str(python), str(wheel)], check=True)
    empty = {"PATH": "", "HOME": str(FOLDER.absolute())}
    subprocess.run([str(python), "-I", "-c", GAME], check=True, env=empty, cwd=FOLDER)


if __name__ == "__main__":
    main()
