"""How soon keyhole is ready: CPU seconds of whole processes, from a checkout and from a wheel.

    python -m benchmarks.speed.start [--wheel FILE.whl] [--repeats 3]

Runs from a copy of this checkout, which the first process compiles, and from a wheel if one is
given (`make wheel` leaves one in build/wheel), with the packages of this environment. CPU seconds
of the process, children included: of the first run, and the median and the worst of the later
ones. Nothing is asserted but that all print the same.
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
PLAY = """
import keyhole as kh
stream, truth = kh.streams.realizable(d=30, k=4, n=1000, noise_sd=0.1, seed=0)
print(kh.play(kh.AutoLearner(kh.Problem(d=30, k=4, budget=12)), stream).loss)
"""
TELL = PREDICT + "ticket = learner.ask(); learner.tell(ticket.fill([1.0] * 6), 1.0)\n"
WAYS = {
    "keyhole run": ["-c", RUN, "run"],
    "first prediction": ["-c", PREDICT],
    "a round in Python": ["-c", TELL],
    "1,000 rounds": ["-c", PLAY],
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
        ignored = shutil.ignore_patterns("__pycache__", "lib")
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
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
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
