"""svmlight (libsvm) files as tables of three columns: label, indices, values.

    1.5 3:0.2 17:1 # a comment
    -1 qid:4 1:0.5

Arrow reads a block of lines at once; Python names the line that went wrong. The pairs, 16 bytes
each, are kept: text is not taken apart once more in every pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.errors import shortened
from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams.origin import Origin, readable
from keyhole.streams.tables import Batch, Left
from keyhole.streams.words import PYTHON, Words

LABEL, INDICES, VALUES = "label", "indices", "values"
SUFFIXES = (".svm", ".svmlight", ".libsvm")
OTHERS = (".csv", ".tsv")  # never taken for svmlight, whatever they look like
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LINE = re.compile(rf"{NUMBER}(?:\s+qid:\d+)?(?:\s+\d+:(?:{NUMBER}|nan))*\s*(?:#.*)?")
SAMPLE = 20  # lines that must look like it
BLOCK = 4 << 20  # bytes read at a time


def is_svmlight(origin: Origin, head: bytes) -> bool:
    """Whether a file is named like one, or its first lines look like one and its name allows it."""
    suffixes = [suffix.lower() for suffix in origin.path.suffixes[-2:]]
    if any(suffix in SUFFIXES for suffix in suffixes):
        return True
    if any(suffix in OTHERS for suffix in suffixes):
        return False
    return looks_like_svmlight(head.decode("utf-8", errors="replace"))


def looks_like_svmlight(head: str) -> bool:
    """Whether the first lines of a text are labels and pairs; the last may be cut off.

    >>> looks_like_svmlight("# words\\n1 3:1 9:0.5\\n-1 qid:2 4:1\\n0 1:")
    True
    >>> looks_like_svmlight("departure arrival\\n12:30 14:10\\n")
    False
    """
    lines = head.split("\n")
    whole = [line.strip() for line in (lines[:-1] or lines)]
    told = [line for line in whole if line and not line.startswith("#")][:SAMPLE]
    return any(":" in line for line in told) and all(LINE.fullmatch(line) for line in told)


class SvmlightTable:
    """A svmlight file as a table that Arrow batches are read from.

    Parameters
    ----------
    origin
        The file.
    words
        How options are called in front of the person who reads messages.
    most
        Lines with labels beyond this number are not looked at.
    """

    decimal = "."
    names = (LABEL, INDICES, VALUES)

    def __init__(self, origin: Origin, words: Words = PYTHON, most: int | None = None) -> None:
        self.title, self.words = origin.title, words
        arrow = extra("pyarrow", "files")
        self.types: Mapping[str, Any] = {
            LABEL: arrow.float64(),
            INDICES: arrow.list_(arrow.int64()),
            VALUES: arrow.list_(arrow.float64()),
        }
        self._parts: list[tuple[Any, Any]] = []  # record batches; the line of each of their rows
        rows = 0
        for first, lines in self._lines(origin):
            rest = None if most is None else most - rows
            batch, numbers = self._parsed(first, lines, rest)
            self._parts.append((batch, numbers))
            rows += batch.num_rows
            if most is not None and rows >= most:
                break
        if not rows:
            raise DataError(f"{self.title} has no line with a label")

    def batches(
        self,
        columns: Sequence[str],
        types: Mapping[str, Any],
        rows: int,
        left: Left | None = None,
    ) -> Iterator[Batch]:
        """All rows of some columns, at most `rows` at a time."""
        for batch, lines in self._parts:
            for start in range(0, batch.num_rows, rows):
                place = _Lines(lines[start : start + rows])
                yield Batch(batch.slice(start, rows).select(list(columns)), place)

    def _lines(self, origin: Origin) -> Iterator[tuple[int, list[str]]]:
        """Blocks of whole lines, each with the number of its first."""
        first, rest = 1, b""
        with origin.open() as handle, readable(origin.title, origin.packing):
            while data := handle.read(BLOCK):
                whole, cut, rest = (rest + data).rpartition(b"\n")
                if cut:
                    lines = _text(whole).split("\n")
                    yield first, lines
                    first += len(lines)
        if rest:
            yield first, [_text(rest)]

    def _parsed(self, first: int, lines: list[str], most: int | None) -> tuple[Any, Any]:
        """A record batch of lines, and the number of the line of each row."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        texts = arrow.array(lines, arrow.string())
        if any("#" in line for line in lines):
            texts = compute.replace_substring_regex(texts, "#.*", "")
        texts = compute.utf8_trim_whitespace(texts)
        full = np.flatnonzero(compute.binary_length(texts).to_numpy(zero_copy_only=False))[:most]
        numbers = full + first
        words = compute.utf8_split_whitespace(texts.take(arrow.array(full)))
        try:
            return self._batch(words), numbers
        except (arrow.ArrowInvalid, _Odd):
            for number, line in zip(numbers.tolist(), words.to_pylist(), strict=True):
                self._refuse_line(number, line)
            raise DataError(
                f"{self.title}, lines {first} to {first + len(lines) - 1}: these are not labels "
                "and index:value pairs"
            ) from None

    def _batch(self, words: Any) -> Any:
        """Rows of words as numbers; ArrowInvalid or _Odd if some are no numbers."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        flat, bounds = words.flatten(), words.offsets.to_numpy().astype(np.int64)
        bounds = bounds - (bounds[0] if len(bounds) else 0)
        is_label = np.zeros(len(flat), dtype=bool)
        is_label[bounds[:-1]] = True
        kept = ~is_label & ~compute.starts_with(flat, "qid:").to_numpy(zero_copy_only=False)
        labels = _numbers(flat.filter(arrow.array(is_label)))
        pairs = compute.split_pattern(flat.filter(arrow.array(kept)), ":")
        halves = compute.list_value_length(pairs).to_numpy(zero_copy_only=False)
        if (halves != 2).any():
            raise _Odd
        both = pairs.flatten()
        even = np.arange(0, len(both), 2)
        indices = both.take(arrow.array(even)).cast(arrow.int64())
        values = _numbers(both.take(arrow.array(even + 1)))
        counts = np.concatenate([[0], np.cumsum(kept)])[bounds]
        ends = arrow.array(counts.astype(np.int32))
        lists = [arrow.ListArray.from_arrays(ends, part) for part in (indices, values)]
        return arrow.RecordBatch.from_arrays([labels, *lists], names=list(self.names))

    def _refuse_line(self, number: int, words: list[str]) -> None:
        """DataError if this is the line that went wrong."""
        label, *pairs = words
        if not _is_number(label):
            more = ": one label per line, not several" if "," in label else ""
            raise DataError(
                f"{self.title}, line {number:,}: the label must be a number, got "
                f"{shortened(label)}{more}"
            )
        for pair in pairs:
            index, _, value = pair.partition(":")
            if not pair.startswith("qid:") and not (
                re.fullmatch(r"-?\d{1,18}", index) and _is_number(value)
            ):
                raise DataError(
                    f"{self.title}, line {number:,}: expected index:value, got {shortened(pair)}"
                )


class _Odd(Exception):
    """Some words of a block are no pairs."""


class _Lines:
    """Where row i of a batch is."""

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers

    def __call__(self, i: int) -> str:
        return f"line {int(self._numbers[i]):,}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _numbers(words: Any) -> Any:
    """Words as numbers: Arrow knows no leading plus."""
    compute = extra("pyarrow.compute", "files")
    plain = compute.replace_substring_regex(words, r"^\+(\d|\.)", r"\1")
    return plain.cast(extra("pyarrow", "files").float64())


def _is_number(word: str) -> bool:
    return re.fullmatch(rf"{NUMBER}|[+-]?(?:nan|inf|infinity)", word, re.IGNORECASE) is not None
