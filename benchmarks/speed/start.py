"""How soon keyhole is ready: the first `keyhole run` of a new environment, the second, and Python.

    python -m benchmarks.speed.start [--wheel FILE.whl] [--repeats 3]

Plays from this checkout, where numba compiles, and from a wheel if one is given (`pip wheel .
--no-deps` makes it), each in a folder of its own where nothing has been compiled, with the packages
of this environment. CPU seconds of the whole process, children included: of the first run, and the
median and the worst of the later ones. Ways are measured in order in one folder: only the first
of them begins with nothing compiled. Nothing is asserted but that all print the same.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).parents[2] / "src" / "keyhole"
RUN = "from keyhole.cli import main; main()"
PREDICT = """
import keyhole as kh
learner = kh.AutoLearner(kh.Problem(d=20, k=3, budget=6))
print(learner.predict(learner.ask().fill([0.0] * 6)))
"""
TELL = PREDICT + "ticket = learner.ask(); learner.tell(ticket.fill([1.0] * 6), 1.0)\n"
WAYS = {
    "keyhole run": ["-c", RUN, "run"],
    "first prediction": ["-c", PREDICT],
    "a round in Python": ["-c", TELL],
    "import keyhole": ["-c", "import keyhole"],
    "import numpy": ["-c", "import numpy"],
    "keyhole run, prices": ["-c", RUN, "run", "--prices", "clinic", "--budget", "30"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path, help="what `pip wheel . --no-deps` made")
    parser.add_argument("--repeats", type=int, default=3, help="later runs")
    options = parser.parse_args(arguments)
    printed: dict[str, set[str]] = {way: set() for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        places = {"source": Path(folder) / "source"}
        ignored = shutil.ignore_patterns("__pycache__", "_ahead.*")
        shutil.copytree(SOURCE, places["source"] / "keyhole", ignore=ignored)
        if options.wheel is not None:
            places["wheel"] = Path(folder) / "wheel"
            install = ["pip", "install", "--quiet", "--no-deps", "--target", str(places["wheel"])]
            subprocess.run([sys.executable, "-m", *install, str(options.wheel)], check=True)
        print(f"{'CPU seconds':22}{'':8}{'first':>8}{'median':>8}{'worst':>8}  of the later ones")
        for way, command in WAYS.items():
            for name, place in places.items():
                spent = []
                for _ in range(1 + options.repeats):
                    seconds, output = run(command, place)
                    spent.append(seconds)
                    printed[way].add(output)
                first, later = spent[0], spent[1:]
                figures = f"{first:8.2f}{median(later):8.2f}{max(later):8.2f}"
                print(f"{way:22}{name:8}{figures}", flush=True)
    differ = [way for way, outputs in printed.items() if len(outputs) > 1]
    print("all print the same" if not differ else f"outputs differ: {', '.join(differ)}")
    return len(differ)


def run(command: Sequence[str], place: Path) -> tuple[float, str]:
    """CPU seconds of a process with the package at that place, and what it prints."""
    unset = {"PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR", "KEYHOLE_COMPILE"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command],
        env={**kept, "PYTHONPATH": str(place)},
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout


if __name__ == "__main__":
    sys.exit(main())
