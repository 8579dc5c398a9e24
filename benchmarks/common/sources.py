"""What code a result hangs on, as a digest: what the code says counts, not where it stands.

A module is its syntax, without comments, docstrings and layout. Where it names something of keyhole
or of the benchmarks, what the module says in which that is written stands in place of the module's
name. The digest of modules is that of all that can be reached from them, in functions too. So to
move or rename a module changes no digest, and to change a constant in a callee does.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import keyhole

# They name every learner and do nothing: a result hangs on those it names itself.
LOBBIES = ("keyhole", "keyhole.learners.registry")
_MODULE = re.compile("<<(.*?)>>")


def short(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Target(NamedTuple):
    """What a name stands for: a module, or something that is written in a module."""

    module: str
    name: str | None = None


class Sources:
    """Packages on disk, by name: what their modules say, and which others they name."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self.roots = dict(roots)
        self._read: dict[str, tuple[str, frozenset[str]]] = {}
        self._tables: dict[str, dict[str, Target]] = {}
        self._digests: dict[tuple[str, ...], str] = {}

    def inside(self, module: str) -> bool:
        """Whether a module, if it exists, is one of these packages'."""
        return module.partition(".")[0] in self.roots

    def file(self, module: str) -> Path | None:
        """Where a module is written down; of a package, its table of names if it has one."""
        top, *rest = module.split(".")
        if top not in self.roots:
            return None
        path = self.roots[top].joinpath(*rest)
        places = path.with_suffix(".py"), path / "__init__.pyi", path / "__init__.py"
        return next((place for place in places if place.is_file()), None)

    def target(self, module: str, name: str) -> Target:
        """What a name of a module stands for; packages hand on what they import."""
        if self.file(f"{module}.{name}") is not None:
            return Target(f"{module}.{name}")
        return self._handed_on(module).get(name, Target(module, name))

    def _handed_on(self, package: str) -> dict[str, Target]:
        """What a package imports; nothing, if it is a module."""
        if package not in self._tables:
            body = _parse(self.file(package)).body if self._package(package) else []
            self._tables[package] = dict(self.imports(body))
        return self._tables[package]

    def _package(self, module: str) -> bool:
        path = self.file(module)
        return path is not None and path.stem == "__init__"

    def imports(self, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Target]]:
        """The names that import statements bind to something of these packages."""
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in (alias for alias in node.names if self.inside(alias.name)):
                    top = alias.name.partition(".")[0]
                    yield alias.asname or top, Target(alias.name if alias.asname else top)
            elif isinstance(node, ast.ImportFrom) and self.inside(node.module or ""):
                for alias in node.names:
                    yield alias.asname or alias.name, self.target(node.module or "", alias.name)

    def normal(self, tree: ast.AST) -> tuple[str, frozenset[str]]:
        """A tree as text, modules in << >>, and all modules that it names."""
        aliases = dict(self.imports(ast.walk(tree)))
        text = ast.dump(_Normal(self, aliases).visit(tree))
        named = set(_MODULE.findall(text))
        # Unused names count too, but of a package only what is taken from it.
        named |= {target.module for target in aliases.values() if not self._package(target.module)}
        return text, frozenset(name for name in named if self._counts(name))

    def _counts(self, module: str) -> bool:
        return module not in LOBBIES and self.file(module) is not None

    def _of(self, module: str) -> tuple[str, frozenset[str]]:
        if module not in self._read:
            self._read[module] = self.normal(_parse(self.file(module)))
        return self._read[module]

    def _own(self, module: str) -> str:
        """A module by what it says itself, whatever those that it names say."""
        return short(_MODULE.sub("", self._of(module)[0])) if self._counts(module) else ""

    def said(self, text: str) -> str:
        """A text with modules in << >>, with what they say in place of their names."""
        return _MODULE.sub(lambda found: self._own(found[1]), text)

    def modules(self, starts: Iterable[str]) -> list[str]:
        """The modules, those they name, those these name, ..., sorted."""
        found: set[str] = set()
        waiting = [module for module in starts if self._counts(module)]
        while waiting:
            module = waiting.pop()
            if module not in found:
                found.add(module)
                waiting += self._of(module)[1]
        return sorted(found)

    def digest(self, *starts: str) -> str:
        """A short name for what these modules and all that they name say."""
        if starts not in self._digests:
            said = {self.said(self._of(module)[0]) for module in self.modules(starts)}
            self._digests[starts] = short("\n".join(sorted(said)))
        return self._digests[starts]


class _Normal(ast.NodeTransformer):
    """Takes docstrings and imports of `sources` away, and names what was imported by its module."""

    def __init__(self, sources: Sources, aliases: Mapping[str, Target]) -> None:
        self.sources, self.aliases = sources, aliases

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Leave strings out that nobody uses: they are documentation."""
        said = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if said else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        """Leave out what is ours."""
        node.names = [alias for alias in node.names if not self.sources.inside(alias.name)]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Leave out what is ours."""
        return None if self.sources.inside(node.module or "") else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """What was imported, by its module."""
        target = self.aliases.get(node.id)
        return node if target is None else _named(target)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`package.module.name` too."""
        target = self._target(node)
        return self.generic_visit(node) if target is None else _named(target)

    def _target(self, node: ast.expr) -> Target | None:
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        outer = self._target(node.value)
        if outer is None or outer.name is not None:
            return None
        return self.sources.target(outer.module, node.attr)


def _parse(path: Path | None) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8") if path is not None else "")


def _named(target: Target) -> ast.Name:
    return ast.Name(f"<<{target.module}>>{target.name or ''}", ast.Load())


HERE = Sources({
    "keyhole": Path(keyhole.__file__).parent,
    "benchmarks": Path(__file__).parents[1],
})  # fmt: skip
modules, digest = HERE.modules, HERE.digest
