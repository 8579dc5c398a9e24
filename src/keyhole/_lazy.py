"""Public names that are loaded when they are first used.

The table of names is the package's stub, `__init__.pyi`: type checkers and editors read it, and so
does this file. So there is one list, and `import keyhole` loads next to nothing.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """Where a public name comes from: an object of a module, or (with no name) the module."""

    module: str
    name: str | None


def read_table(stub: Path, package: str = "keyhole") -> dict[str, Origin]:
    """The names that a stub imports: `from package.module import name as name`, or a module."""
    table = {}
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            for alias in statement.names:
                whole = statement.module == package  # `from keyhole import streams as streams`
                origin = f"{statement.module}.{alias.name}" if whole else statement.module
                table[alias.name] = Origin(origin, None if whole else alias.name)
    return table


def load_names_on_first_use(package: str, file: str) -> list[str]:
    """Have a package look its public names up in its stub; returns the names."""
    table = read_table(Path(file).with_suffix(".pyi"), package)

    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name not in table:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            origin, inner = table[name]
            module = importlib.import_module(origin)
            if inner is None:
                return module
            if not hasattr(module, inner):  # a module of a package
                return importlib.import_module(f"{origin}.{inner}")
            return getattr(module, inner)

        def __setattr__(self, name: str, value: object) -> None:
            # Importing a module sets it on its package; but `keyhole.hindsight` is the function.
            if name in table and table[name].name is not None and isinstance(value, ModuleType):
                return
            super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*vars(self), *table})

    sys.modules[package].__class__ = Lazy
    return sorted(table)
