"""Mutants of C: a source with one small bug in it, for every operator and number in a function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.planting import Mutant

TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*|\s+
        |"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>\.?\d(?:[\w.]|[eE][+-])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><<=?|>>=?|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
SIGNS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%": "*",
}  # fmt: skip
NAMES = {"i_min": "i_max", "i_max": "i_min", "f_min": "f_max", "f_max": "f_min"}
NAMES |= {"true": "false", "false": "true"}


def c_mutants(file: Path) -> list[Mutant]:
    """All mutants of a file; some of them cannot be compiled."""
    text, found = file.read_text(), []
    lines = text.splitlines()
    for begin, end, new in _changes(text):
        number = text.count("\n", 0, begin) + 1
        first = text.rfind("\n", 0, begin) + 1
        last = text.find("\n", end)
        after = (text[first:begin] + new + text[end:last]).strip()
        source = text[:begin] + new + text[end:]
        found.append(Mutant(file, number, number, lines[number - 1].strip(), after, source))
    return found


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a change begins and ends, and what stands there instead; functions' bodies alone."""
    depth, before = 0, ""
    for token in TOKEN.finditer(text):
        word, kind = token.group(), token.lastgroup
        if kind == "skip":
            continue
        depth += (word == "{") - (word == "}")
        if depth > 0:
            for new in _instead(word, kind or "", before):
                yield token.start(), token.end(), new
        before = word


def _instead(word: str, kind: str, before: str) -> Iterator[str]:
    binary = (
        before in (")", "]") or before[-1:].isalnum()
    )  # otherwise - and + are signs of a number
    if kind == "number" and word.isdigit():
        yield str(2 * int(word) + 1)
    elif kind == "number" and not word.lower().startswith("0x"):
        yield f"(2 * {word} + 1)"
    elif kind == "name" and word in NAMES:
        yield NAMES[word]
    elif kind == "name" and word == "if":
        yield "if (0) if"
    elif word == "!":
        yield ""
    elif kind == "sign" and word in SIGNS and (binary or word not in "+-"):
        yield SIGNS[word]
