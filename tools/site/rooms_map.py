"""The map of the rooms: layers from pyproject.toml, lines from the import graph.

A line is drawn where a room imports another and no longer way of imports says so already (the
transitive reduction), so that the picture stays readable.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from html import escape

from tools.rooms import PACKAGE, ROOT, first_line

WIDE, TALL, GAP, ROW = 104, 26, 10, 62  # of a box, between boxes, and from layer to layer
MARGIN = 12


@cache
def layers() -> tuple[tuple[str, ...], ...]:
    """The rooms of every layer, the outermost first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    rows = next(c for c in settings["contracts"] if c["containers"] == ["keyhole"])["layers"]
    found: list[tuple[str, ...]] = []
    for row in rows:
        names = dict.fromkeys(_room(name) for name in re.findall(r"[\w.]+", row))
        seen = {name for layer in found for name in layer}
        names_left = tuple(name for name in names if name not in seen)
        if names_left:
            found.append(names_left)
    return tuple(found)


def _room(module: str) -> str:
    """The room of a module, without the package's own name."""
    return module.removeprefix("keyhole.").partition(".")[0]


@cache
def imports() -> dict[str, frozenset[str]]:
    """Which rooms each room imports."""
    import grimp

    graph = grimp.build_graph("keyhole", cache_dir=None)
    rooms = {name for layer in layers() for name in layer}
    found: dict[str, set[str]] = {name: set() for name in sorted(rooms)}
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            a, b = _room(module), _room(other)
            if a != b and a in rooms and b in rooms:
                found[a].add(b)
    return {name: frozenset(others) for name, others in found.items()}


def reduced() -> list[tuple[str, str]]:
    """Imports from which all others follow: a line goes if its end can be reached without it."""
    left = {name: set(others) for name, others in imports().items()}
    for a, others in imports().items():
        for b in sorted(others):
            left[a].discard(b)
            if b not in _reached(left, a):
                left[a].add(b)
    return sorted((a, b) for a, others in left.items() for b in others)


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that a room imports, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def svg() -> str:
    """The picture."""
    widest = max(len(layer) for layer in layers())
    width = 2 * MARGIN + widest * (WIDE + GAP) - GAP
    height = 2 * MARGIN + (len(layers()) - 1) * ROW + TALL
    place: dict[str, tuple[float, float]] = {}
    for number, layer in enumerate(layers()):
        left = (width - len(layer) * (WIDE + GAP) + GAP) / 2
        for column, name in enumerate(layer):
            place[name] = left + column * (WIDE + GAP), MARGIN + number * ROW
    parts = [
        f'<svg class="picture" viewBox="0 0 {width} {height}" role="img" '
        'xmlns="http://www.w3.org/2000/svg" style="font: 12px sans-serif">',
        "<title>The rooms of keyhole by layer, and which imports which</title>",
    ]
    for a, b in reduced():
        (x1, y1), (x2, y2) = place[a], place[b]
        up = y1 + TALL if y2 > y1 else y1
        down = y2 if y2 > y1 else y2 + TALL
        ends = f'x1="{x1 + WIDE / 2:g}" y1="{up:g}" x2="{x2 + WIDE / 2:g}" y2="{down:g}"'
        parts.append(f'<line {ends} stroke="currentColor" stroke-opacity="0.35"/>')
    for name, (x, y) in place.items():
        room = (PACKAGE / name).is_dir()
        box = f'x="{x:g}" y="{y:g}" width="{WIDE}" height="{TALL}" rx="4"'
        fill = "#dbe7f5" if room else "#f4f4f4"
        parts.append(f'<rect {box} fill="{fill}" stroke="#555"/>')
        size = 12 if len(name) < 16 else 9
        middle = f'x="{x + WIDE / 2:g}" y="{y + 17:g}" text-anchor="middle" font-size="{size}"'
        parts.append(f'<text {middle} fill="#111">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def markdown() -> str:
    """The picture, and a table of what each room is for."""
    lines = ["| room | what it is for | imports |", "|---|---|---|"]
    for layer in layers():
        for name in layer:
            folder = PACKAGE / name
            file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            others = ", ".join(f"`{other}`" for other in sorted(imports()[name])) or "nothing"
            lines.append(f"| `{name}` | {first_line(file).replace('|', '/')} | {others} |")
    return svg() + "\n\n" + "\n".join(lines)
