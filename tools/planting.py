"""Mutants of Python: a source with one small bug, for every place where one can be planted."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
TYPES = ("annotation", "returns", "decorator_list", "type_params")  # fields that compute nothing


@dataclass(frozen=True)
class Mutant:
    """One change: where, what the line said, what the expression becomes."""

    file: Path
    line: int
    last: int  # line of the statement that is changed, which begins before or at `line`
    before: str
    after: str
    source: str  # of the whole file, changed

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.before}  ->  {self.after}"

    @property
    def name(self) -> str:
        """The file, from the root of the project."""
        return str(self.file.resolve().relative_to(ROOT))

    @property
    def key(self) -> str:
        """How tools/equivalent_mutants.txt calls it."""
        return f"{self.name}: {self.before}  ->  {self.after}"


def mutants(file: Path) -> list[Mutant]:
    """All mutants of a file."""
    text = file.read_text()
    tree, lines, found = ast.parse(text), text.splitlines(), []
    tables = _tables(lines)
    skipped = {id(n) for node in _idle(tree) for n in ast.walk(node)}
    for parent, name, i in list(_sites(tree)):
        node = getattr(parent, name) if i is None else getattr(parent, name)[i]
        if id(node) in skipped or not isinstance(node, ast.stmt | ast.expr):
            continue
        if node.lineno in tables:
            continue
        for new in _changed(node):
            ast.copy_location(new, node)
            _put(parent, name, i, new)
            source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            what, before = ast.unparse(new).splitlines()[0], lines[node.lineno - 1].strip()
            last = node.test.end_lineno if isinstance(node, ast.If) else node.end_lineno
            found.append(Mutant(file, node.lineno, last or node.lineno, before, what, source))
            _put(parent, name, i, node)
    return found


def equivalents() -> set[str]:
    """Keys of mutants that compute the same: `file: before  ->  after  # reason`, one to a line."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return {line.rpartition("  # ")[0].strip() for line in lines if line.strip()}


def _tables(lines: list[str]) -> set[int]:
    """The lines of tables of made-up data, which stand between `fmt: off` and `fmt: on`."""
    found, inside = set[int](), False
    for number, line in enumerate(lines, start=1):
        inside = (inside or "# fmt: off" in line) and "# fmt: on" not in line
        if inside:
            found.add(number)
    return found


def _idle(tree: ast.AST) -> Iterator[ast.AST]:
    """What computes nothing: errors that are raised, decorators, annotations, types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node
        for name in TYPES:
            value = getattr(node, name, None)
            yield from value if isinstance(value, list) else [value] if value else []


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


def _put(parent: ast.AST, name: str, i: int | None, node: ast.AST) -> None:
    if i is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[i] = node
