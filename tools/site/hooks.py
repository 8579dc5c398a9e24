"""The Sphinx extension: fills in what is generated, and reads docstrings as plain text.

A page says `<!-- generated: NAME -->` where the Markdown of `GENERATORS[NAME]` is to stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.site import accessible, commands, http_api, learner_table, lemmas, rooms_map

GENERATORS: dict[str, Callable[[], str]] = {
    "commands": commands.markdown,
    "http": http_api.markdown,
    "learners": learner_table.markdown,
    "lemmas": lemmas.markdown,
    "rooms": rooms_map.markdown,
}
MARK = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)


def filled(text: str) -> str:
    """A page with what is generated in the places of its marks."""
    return MARK.sub(lambda found: GENERATORS[found[1]](), text)


def plain(line: str) -> str:
    """A line of a docstring with the signs escaped that reStructuredText would take for markup.

    Docstrings here are plain text: only `code` between backticks and **bold** mean anything.

    >>> plain("|r| of w_ and `a|b`, *args and **bold**")
    '\\\\|r\\\\| of w\\\\_ and `a|b`, \\\\*args and **bold**'
    """
    if line.lstrip().startswith((">>>", "...", "..")):
        return line
    line = re.sub(r"`(\w+)`(?=\w)", r"`\1`\\ ", line)  # `fit`s: markup has to end before a letter
    parts = re.split(r"(`[^`]*`(?:\\ )?)", line)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|")
    text = re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)
    return re.sub(r"(?<!\*)\*(?!\*)", r"\\*", text)


def _fill_in(app: Any, page: str, source: list[str]) -> None:
    source[0] = filled(source[0])


def _as_plain_text(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape prose, and leave what a doctest prints as it is."""
    shown = False
    for number, line in enumerate(lines):
        shown = bool(line.strip()) and (shown or line.lstrip().startswith(">>>"))
        if not shown:
            lines[number] = plain(line)


def _short_types(app: Any, what: str, name: str, obj: Any, options: Any, *signature: Any) -> Any:
    """Aliases of types by their own names: ArrayLike, Floats, Money."""
    alias = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
    return tuple(None if part is None else alias.sub(r"\1", part) for part in signature)


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for its metadata routing."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _mend(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        accessible.mend(Path(app.outdir))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _fill_in)
    app.connect("build-finished", _mend)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _short_types)
    app.connect("autodoc-process-docstring", _as_plain_text, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
