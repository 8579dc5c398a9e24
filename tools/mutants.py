"""Plant small bugs, one at a time, and see whether the tests notice.

    make mutants FILES="src/keyhole/ledger.py" [MOST=40] [SEED=0]

Each mutant is one change of one expression (a comparison, a sign, a constant, min for max, a
statement left out), made in a copy of the project; then the tests that concern the file are run.
A mutant that no test notices survives. Survivors that cannot be noticed, because they compute the
same, are listed with the reason in tools/equivalent_mutants.txt and do not count.

Tests of a file: `--tests`, or those of the same name and those that import its module.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"
COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax"}


@dataclass(frozen=True)
class Mutant:
    """One change: where, what the line said, what the expression becomes."""

    file: Path
    line: int
    before: str
    after: str
    source: str  # of the whole file, changed

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """The ways to change one node, each as a new node."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in COMPARE:
        new.ops[0] = COMPARE[type(new.ops[0])]()
        yield new
    elif isinstance(new, ast.BinOp | ast.AugAssign) and type(new.op) in ARITHMETIC:
        new.op = ARITHMETIC[type(new.op)]()
        yield new
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        yield new
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not | ast.USub):
        yield new.operand
    elif isinstance(new, ast.Name) and new.id in NAMES:
        new.id = NAMES[new.id]
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        new.value = not new.value
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, int | float):
        new.value = 2 * new.value + 1
        yield new
    elif isinstance(new, ast.Expr) and isinstance(new.value, ast.Call):
        yield ast.Pass()
    elif isinstance(new, ast.If):
        new.test = ast.Constant(False)
        yield new


def _sites(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Parent, field and place in it of every node that may be changed."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            if isinstance(parent, ast.JoinedStr | ast.FormattedValue):
                continue
            if isinstance(parent, ast.ClassDef) and name != "body":
                continue
            if isinstance(value, ast.AST):
                yield parent, name, None
            elif isinstance(value, list):
                yield from (
                    (parent, name, i) for i, x in enumerate(value) if isinstance(x, ast.AST)
                )


def mutants(file: Path) -> list[Mutant]:
    """All mutants of a file."""
    text = file.read_text()
    tree, lines, found = ast.parse(text), text.splitlines(), []
    raised = {id(n) for r in ast.walk(tree) if isinstance(r, ast.Raise) for n in ast.walk(r)}
    for parent, name, i in list(_sites(tree)):
        node = getattr(parent, name) if i is None else getattr(parent, name)[i]
        if id(node) in raised or not hasattr(node, "lineno"):
            continue
        for new in _changed(node):
            ast.copy_location(new, node)
            _put(parent, name, i, new)
            source = ast.unparse(ast.fix_missing_locations(tree))
            what = ast.unparse(new).splitlines()[0]
            found.append(
                Mutant(file, node.lineno, lines[node.lineno - 1].strip(), what, source + "\n")
            )
            _put(parent, name, i, node)
    return found


def _put(parent: ast.AST, name: str, i: int | None, node: ast.AST) -> None:
    if i is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[i] = node


def tests_of(file: Path) -> list[str]:
    """The test files of a module: of the same name, or importing it; its own doctests."""
    module = ".".join(file.resolve().relative_to(ROOT / "src").with_suffix("").parts)
    parent, _, leaf = module.rpartition(".")
    found = {str(file)}
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        text = test.read_text()
        imported = f"from {module} import" in text or f"from {parent} import {leaf}" in text
        if imported or test.stem == f"test_{leaf}":
            found.add(str(test.relative_to(ROOT)))
    return sorted(found)


def equivalents() -> set[str]:
    """Mutants that compute the same: `file: before  ->  after  # reason`, one to a line."""
    if not EQUIVALENT.exists():
        return set()
    lines = EQUIVALENT.read_text().splitlines()
    return {line.partition("  # ")[0].strip() for line in lines if line.strip()}


class Workshop:
    """A few copies of the project to plant bugs in."""

    def __init__(self, folder: Path, copies: int, options: argparse.Namespace) -> None:
        self.options = options
        self._free: Queue[Path] = Queue()
        for i in range(copies):
            place = folder / str(i)
            for part in ("src", "tests", "benchmarks", "tools", "docs", "examples"):
                ignored = shutil.ignore_patterns("__pycache__", "*.svg", "results")
                shutil.copytree(ROOT / part, place / part, ignore=ignored)
            for part in ("pyproject.toml", "README.md", "CHANGELOG.md"):
                shutil.copy(ROOT / part, place / part)
            self._free.put(place)

    def survives(self, mutant: Mutant | None, tests: Sequence[str]) -> bool:
        """Whether all tests pass with this bug planted (None: without any)."""
        place = self._free.get()
        target = None if mutant is None else place / mutant.file.resolve().relative_to(ROOT)
        before = None if target is None else target.read_text()
        environment = {**os.environ, "PYTHONPATH": f"{place / 'src'}:{place}"}
        if self.options.interpreted:
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        if self.options.k:
            command += ["-k", self.options.k]
        try:
            if target is not None and mutant is not None:
                target.write_text(mutant.source)
            ran = subprocess.run(
                command,
                cwd=place,
                env=environment,
                capture_output=True,
                timeout=self.options.seconds,
                check=False,
            )
            return ran.returncode == 0
        except subprocess.TimeoutExpired:
            return False  # a bug that hangs is noticed
        finally:
            if target is not None and before is not None:
                target.write_text(before)
            self._free.put(place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit code is 1 if the score is below --least."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="*", default=None, help="test files, for all FILES")
    parser.add_argument("-k", default="", help="only tests whose name matches, as pytest -k")
    parser.add_argument("--most", type=int, default=40, help="mutants to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300.0, help="for the tests of one mutant")
    parser.add_argument("--least", type=float, default=0.9, help="the score that is good enough")
    parser.add_argument("--interpreted", action="store_true", help="kernels as plain Python")
    options = parser.parse_args(arguments)
    known = equivalents()
    everything = [m for file in options.files for m in mutants(file)]
    some = [m for m in everything if _key(m) not in known]
    random.Random(options.seed).shuffle(some)
    some = some[: options.most]
    survivors: list[Mutant] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), options.jobs, options)
        tests = {file: options.tests or tests_of(file) for file in options.files}
        for file, its in tests.items():
            if not workshop.survives(None, its):
                sys.stderr.write(f"{file}: its tests fail without any bug: {' '.join(its)}\n")
                return 2
        with ThreadPoolExecutor(options.jobs) as pool:
            ran = pool.map(lambda m: (m, workshop.survives(m, tests[m.file])), some)
            for i, (mutant, survived) in enumerate(ran, 1):
                if survived:
                    survivors.append(mutant)
                word = "SURVIVED" if survived else "killed"
                sys.stdout.write(f"[{i}/{len(some)}] {word:8} {mutant}\n")
                sys.stdout.flush()
    score = 1 - len(survivors) / len(some) if some else 1.0
    sys.stdout.write(
        f"{len(some) - len(survivors)} of {len(some)} mutants killed ({score:.0%}), "
        f"{len(everything)} possible, {time.monotonic() - began:.0f} s\n"
    )
    return 0 if score >= options.least else 1


def _key(mutant: Mutant) -> str:
    return f"{mutant.file}: {mutant.before}  ->  {mutant.after}"


if __name__ == "__main__":
    sys.exit(main())
