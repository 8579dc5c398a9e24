"""The lists of files in the README of every room of the package, from the files themselves.

    python -m tools.rooms            writes them anew
    python -m tools.rooms --check    says which are not up to date

The text above the list is written by hand.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "keyhole"
START, END = "<!-- files -->", "<!-- end of files -->"


def first_line(file: Path) -> str:
    """What a module says about itself, in one line."""
    text = file.read_text()
    if file.suffix == ".c":
        return " ".join(text.removeprefix("/* ").partition(" */")[0].split())
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def listed(folder: Path) -> list[str]:
    """One line for every module of a folder, and for every room in it."""
    files = [file for file in sorted(folder.glob("*.py")) if file.name != "__init__.py"]
    lines = [f"- `{file.name}`: {first_line(file)}" for file in files]
    lines += [f"- `c/{file.name}`: {first_line(file)}" for file in sorted(folder.glob("c/*.c"))]
    for room in sorted(folder.glob("*/__init__.py")):
        lines.append(f"- `{room.parent.name}/`: {first_line(room)}")
    return lines


def between(text: str, lines: list[str]) -> str:
    """The text with the lines in the place between the two marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return "\n".join([before + START, "", *lines, "", END + after])


def rooms() -> list[Path]:
    """The READMEs of all rooms; a folder of modules without one is an error."""
    folders = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
    missing = [str(f.relative_to(ROOT)) for f in folders if not (f / "README.md").exists()]
    if missing:
        raise SystemExit(f"no README.md in {', '.join(missing)}")
    return [folder / "README.md" for folder in folders]


def wanted() -> dict[Path, str]:
    """What every file with a list should say."""
    return {readme: between(readme.read_text(), listed(readme.parent)) for readme in rooms()}


def stale() -> list[Path]:
    """Files whose list is not what it should be."""
    return [path for path, text in wanted().items() if path.read_text() != text]


def main() -> int:
    """Write the lists, or with --check say which are stale."""
    files = stale()
    if "--check" in sys.argv[1:]:
        for file in files:
            sys.stdout.write(f"{file.relative_to(ROOT)} is out of date: python -m tools.rooms\n")
        return int(bool(files))
    for file, text in wanted().items():
        if file in files:
            file.write_text(text)
            sys.stdout.write(f"{file.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
