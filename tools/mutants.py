"""Plant small bugs, one at a time, and see whether the tests notice.

    make mutants FILES="src/keyhole/game/ledger.py src/keyhole/core/c/auto_buy.c" [MOST=40] [SEED=0]

Each mutant is one change of one expression (a comparison, a sign, a constant, min for max, a
statement left out), made in a copy of the project. The tests that run the changed line are run,
the quickest first, until one fails or hangs: then the bug is noticed. A mutant that no test notices
survives. Survivors that cannot be noticed, because they compute the same, are listed with the
reason in tools/equivalent_mutants.txt and do not count.

Which tests run which lines is found out by running them once (`tools/touched.py`; lines of C with
gcov), without those that take longer than `--slow` seconds; tests are those of the room and those
that mention it, or `--tests`. Recorded games notice every change, right or wrong, and are left out.
"""

from __future__ import annotations

import argparse
import ast
import functools
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.library import Library, compiles
from tools.planting import ROOT, Mutant, equivalents, mutants
from tools.planting_c import c_mutants
from tools.runner import Runner

COPIED = ("src", "tests", "benchmarks", "tools", "docs", "examples")
FAR = ("e2e", "report", "benchmarks")  # tests that are slow, and of something else
RECORDED = "tests/core/test_transcripts.py"
PATIENCE = 6.0  # times what the tests take without a bug, and then some seconds, until one hangs


@dataclass(frozen=True)
class Test:
    """A test: its name for pytest, what it takes, and the lines of each file it runs."""

    name: str
    seconds: float
    lines: dict[str, list[int]]


def room_of(file: Path) -> Path:
    """The folder of a file, or the file itself where it is a room of its own."""
    folder = file.resolve().parent
    return file.resolve() if folder == ROOT / "src" / "keyhole" else folder


def tests_of(file: Path) -> list[str]:
    """Files of tests that may concern a file: its room's, and those that mention it.

    Who mentions a class that is made of the file, a learner for instance, means the file too. C is
    run by the tests of blocks and learners, those with the first word of its name before others.
    """
    if file.suffix == ".c":
        near = [*sorted((ROOT / "tests").rglob("test_*.py"))]
        folders = [ROOT / "tests" / name for name in ("blocks", "core", "learners", "paper")]
        near = [test for test in near if any(test.is_relative_to(f) for f in folders)]
        found = [str(test.relative_to(ROOT)) for test in near]
        return [test for test in found if test != RECORDED]
    room = room_of(file).relative_to(ROOT / "src" / "keyhole").with_suffix("")
    module = ".".join(file.resolve().relative_to(ROOT / "src").with_suffix("").parts)
    users = [f for f in (ROOT / "src").rglob("*.py") if f"from {module} import" in f.read_text()]
    classes = [name for f in (file, *users) for name in _classes(f)]
    words = (module, ".".join(("keyhole", *room.parts)), f"kh.{room.name}", *classes)
    found = [str(file.resolve().relative_to(ROOT))]
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        text, path = test.read_text(), test.relative_to(ROOT / "tests")
        named = test.stem.removeprefix("test_") in (file.stem, room.name)
        if path.parts[0] in FAR:
            continue
        if named or path.is_relative_to(room) or any(word in text for word in words):
            found.append(str(test.relative_to(ROOT)))
    return found


@functools.cache
def _classes(file: Path) -> list[str]:
    return [n.name for n in ast.parse(file.read_text()).body if isinstance(n, ast.ClassDef)]


class Workshop:
    """A copy of the project to plant bugs in."""

    def __init__(self, place: Path, options: argparse.Namespace) -> None:
        self.place, self.options = place, options
        ignored = shutil.ignore_patterns("*.svg", "results")
        for part in COPIED:
            shutil.copytree(ROOT / part, place / part, ignore=ignored)
        for part in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / part, place / part)
        os.environ["PYTHONPATH"] = f"{place / 'src'}:{place}"
        self.runner = Runner(place)
        self.library = Library(place)

    def touched(self, files: Sequence[Path], tests: Sequence[str]) -> list[Test]:
        """Which tests run which lines of these files, the quickest first."""
        names = [str(file.resolve().relative_to(ROOT)) for file in files]
        wish = {
            "files": names,
            "seconds": self.options.slow,
            "total": self.options.survey,
            "out": "touched.json",
        }
        with self.library.watched([name for name in names if name.endswith(".c")]) as watched:
            (self.place / "touch.json").write_text(json.dumps(wish | watched))
            self.runner.passes(["-p", "tools.touched", *tests], None, bug=False)
        written = self.place / "touched.json"
        found = json.loads(written.read_text()) if written.exists() else {}  # none could be run
        return sorted((Test(k, **v) for k, v in found.items()), key=lambda test: test.seconds)

    def survives(self, mutant: Mutant, tests: Sequence[Test]) -> bool:
        """Whether these tests pass with this bug planted."""
        target = self.place / mutant.name
        before, times = target.read_text(), target.stat()
        patience = PATIENCE * sum(test.seconds for test in tests) + 15.0
        try:
            target.write_text(mutant.source)
            if target.suffix == ".c":
                self.library.build(target)
            return self.runner.passes(["-x", *(t.name for t in tests)], patience, bug=True)
        finally:
            target.write_text(before)
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))

    def choose(self, mutant: Mutant, tests: Sequence[Test]) -> list[Test]:
        """The tests to run: those of the changed lines, or of the file if no test runs them."""
        lines = range(mutant.line, mutant.last + 1)
        touching = [test for test in tests if mutant.name in test.lines]
        exact = [t for t in touching if not set(lines).isdisjoint(t.lines[mutant.name])]
        if not exact and not _when_imported(mutant):
            return []  # nothing runs it
        return self.affordable(exact or touching)

    def affordable(self, tests: Sequence[Test]) -> list[Test]:
        """The first tests, as many as the time for one mutant allows."""
        spent = itertools.accumulate(test.seconds for test in tests)
        return [t for t, s in zip(tests, spent, strict=True) if s <= self.options.seconds]


def _when_imported(mutant: Mutant) -> bool:
    """Whether a line stands outside of functions, or in the head of one."""
    if mutant.file.suffix == ".c":
        return mutant.before.startswith("enum")
    tree = ast.parse(mutant.file.read_text())
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = (b[0].lineno <= mutant.line and mutant.last <= (b[-1].end_lineno or 0) for b in bodies)
    return not any(inside)


def nearest_first(files: Sequence[Path]) -> list[str]:
    """The tests of files, those of their own rooms first: there may be no time for others."""
    rooms = [room_of(file).relative_to(ROOT / "src" / "keyhole").with_suffix("") for file in files]
    folders = tuple({f"tests/{room}/" for room in rooms})
    names = {f"test_{name}" for name in (*(f.stem for f in files), *(r.name for r in rooms))}
    families = {file.stem.partition("_")[0] for file in files if file.suffix == ".c"}

    def far(test: str) -> int:
        if Path(test).stem in names:
            return 0
        return 1 if test.startswith(folders) or any(name in test for name in families) else 2

    found = {test for file in files for test in tests_of(file)}
    return sorted(found, key=lambda test: (far(test), test))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted((*path.rglob("*.py"), *path.rglob("*.c"))) if path.is_dir() else [path]


def possible(mutant: Mutant) -> bool:
    """Whether it is a program at all."""
    return mutant.file.suffix != ".c" or compiles(mutant.source, mutant.file.parent)


def mutants_of(file: Path) -> list[Mutant]:
    """All mutants of a file, Python or C."""
    return c_mutants(file) if file.suffix == ".c" else mutants(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit code is 1 if the score is below --least."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, help="files, or folders of them")
    parser.add_argument("--tests", nargs="*", default=None, help="test files, for all FILES")
    parser.add_argument(
        "--only", type=Path, help="a file with the mutants to try: what an earlier run printed"
    )
    parser.add_argument("--most", type=int, default=40, help="mutants to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--slow", type=float, default=4.0, help="tests that take longer are left out"
    )
    parser.add_argument(
        "--survey", type=float, default=150.0, help="seconds to find tests of lines"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests, for each mutant")
    parser.add_argument("--least", type=float, default=0.9, help="the score that is good enough")
    options = parser.parse_args(arguments)
    known, files = equivalents(), list(_files(options.files))
    everything = [m for file in files for m in mutants_of(file)]
    some = [m for m in everything if m.key not in known]
    names, keys = {m.name for m in everything}, {m.key for m in everything}
    for key in sorted(known - keys):
        if key.partition(":")[0] in names:
            sys.stderr.write(f"no longer a mutant, see tools/equivalent_mutants.txt: {key}\n")
    random.Random(options.seed).shuffle(some)
    if options.only:
        listed = options.only.read_text()
        some = [m for m in some if str(m) in listed]
    some = list(itertools.islice(filter(possible, some), options.most))
    some_files = sorted({m.file for m in some})
    wanted = options.tests or nearest_first(some_files)
    survivors, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), options)
        tests = workshop.touched(some_files, wanted)
        say = f"{len(tests)} tests run these files, {time.monotonic() - began:.0f} s\n"
        sys.stdout.write(say)
        sample = [test.name for test in workshop.affordable(tests)]
        if not sample:
            sys.stderr.write("no test was found in time: try a longer --survey, or name --tests\n")
            return 2
        if not workshop.runner.passes(["-x", *sample], None, bug=False):
            sys.stderr.write("the tests fail without any bug\n")
            return 2
        for i, mutant in enumerate(some, 1):
            chosen = workshop.choose(mutant, tests)
            survived = workshop.survives(mutant, chosen) if chosen else True
            survivors += survived
            word = f"SURVIVED {len(chosen)} tests" if survived else "killed"
            sys.stdout.write(f"[{i}/{len(some)}] {word} {mutant}\n")
            sys.stdout.flush()
    score = 1 - survivors / len(some) if some else 1.0
    sys.stdout.write(
        f"{len(some) - survivors} of {len(some)} mutants killed ({score:.0%}), "
        f"{len(everything)} possible, {time.monotonic() - began:.0f} s\n"
    )
    return 0 if score >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
