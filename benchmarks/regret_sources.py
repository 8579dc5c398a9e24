"""What code a result hangs on, as a digest: a change elsewhere leaves results standing.

The digest of a module is that of its own syntax tree and those of all modules of keyhole and of
the suite that it names, in functions too, and so on. Comments and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

INSIDE = ("keyhole.", "benchmarks.")
LOBBIES = ("keyhole.public",)  # name everything, do nothing


@cache
def _file(module: str) -> Path | None:
    """Where a module is written down; None for packages (lobbies too) and what does not exist."""
    if not module.startswith(INSIDE) or module in LOBBIES:
        return None
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or spec.submodule_search_locations is not None:
        return None
    return Path(spec.origin)


@cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """The syntax of a module as text, and the modules it names."""
    path = _file(module)
    if path is None:
        return "", ()
    tree = ast.parse(path.read_text())
    named: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named.append(node.module)
            named += [f"{node.module}.{alias.name}" for alias in node.names]
    return ast.dump(tree), tuple(name for name in named if _file(name) is not None)


def modules(starts: Iterable[str]) -> list[str]:
    """The modules, those they name, those these name, ..., sorted."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        module = waiting.pop()
        if module not in found and _file(module) is not None:
            found.add(module)
            waiting += _read(module)[1]
    return sorted(found)


@cache
def digest(*starts: str) -> str:
    """A short name for the code of these modules and all they name."""
    text = "\n".join(f"{module} {_read(module)[0]}" for module in modules(starts))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def made_by(make: Any) -> tuple[str, tuple[str, ...]]:
    """What a factory is, as text ("" for a class), and the modules of what it names."""
    if isinstance(make, type):
        return "", (make.__module__,)
    if isinstance(make, partial):
        inner, named = made_by(make.func)
        return f"{inner} {make.args!r} {sorted(make.keywords.items())!r}", named
    code = make.__code__
    consts = [value for value in code.co_consts if not isinstance(value, CodeType)]
    text = f"{code.co_code.hex()} {code.co_names} {consts!r} {make.__kwdefaults__!r}"
    behind = set(code.co_names)  # what is imported inside is named by its module
    for thing in (make.__globals__.get(name) for name in code.co_names):
        behind.add(str(getattr(thing, "__module__", "")))
        if isinstance(thing, FunctionType) and thing is not make:  # may stand in a lobby
            helper, modules = made_by(thing)
            text, behind = f"{text} {helper}", behind | set(modules)
    return text, tuple(sorted(name for name in behind if name.startswith(INSIDE)))


def file_digest(path: str) -> str:
    """A short name for what is in a file."""
    return _file_digest(path, Path(path).stat().st_mtime_ns)


@cache
def _file_digest(path: str, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
