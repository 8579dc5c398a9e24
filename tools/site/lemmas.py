"""Lemma by lemma: the tests in tests/paper, each with the label it checks and what it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tools.rooms import ROOT

FOLDER = ROOT / "tests" / "paper"


def markdown() -> str:
    """One section for every file of tests/paper: what it is about, and its tests."""
    return "\n\n".join(_section(file) for file in sorted(FOLDER.glob("test_*.py")))


def _section(file: Path) -> str:
    tree = ast.parse(file.read_text())
    doc = _prose((ast.get_docstring(tree) or "").strip())
    tests = [
        node.name.removeprefix("test_").replace("_", " ")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    title = file.stem.removeprefix("test_").replace("_", " ").capitalize()
    lines = [f"## {title}", doc, f"`{file.relative_to(ROOT).as_posix()}` checks:"]
    return "\n\n".join([*lines, "\n".join(f"- {test}" for test in tests)])


def _prose(doc: str) -> str:
    """A docstring as Markdown: w* is a letter here, and no emphasis."""
    lines = []
    for line in doc.splitlines():
        parts = re.split(r"(`[^`]*`)", line)
        lines.append(
            line
            if line.startswith("    ")
            else "".join(p if p.startswith("`") else p.replace("*", "\\*") for p in parts)
        )
    return "\n".join(lines)
