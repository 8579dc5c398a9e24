"""Writer of streams and columns to CSV (also .gz), Parquet and Arrow files, whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import BlockStream, DataError, refuse_unless_stream
from keyhole.problem.atomic_file import whole_file
from keyhole.problem.optional_imports import extra

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".arrow", ".feather")


def write(
    source: BlockStream | Mapping[str, ArrayLike],
    path: str | os.PathLike[str],
    *,
    target: str = "y",
) -> None:
    """Write a stream, or columns by name, to a file whose suffix says the format.

    NaN becomes a missing cell. The file appears under its name when it is complete; if anything
    goes wrong, whatever was there before still is.

    Parameters
    ----------
    source
        A stream, written block by block, or a mapping from names to columns of one length.
    path
        Ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow or .feather.
    target
        What to call the labels of a stream. They are the last column; features that have no names
        are called x0, x1, ...

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> stream = kh.streams.ArrayStream([[1.0, float("nan")], [3.0, 4.5]], [0.5, -1.0])
    >>> folder = tempfile.TemporaryDirectory()
    >>> write(stream, folder.name + "/two.csv")
    >>> print(Path(folder.name, "two.csv").read_text())
    "x0","x1","y"
    1,,0.5
    3,4.5,-1
    <BLANKLINE>
    >>> folder.cleanup()
    """
    goal = Path(path)
    suffix = next((s for s in SUFFIXES if goal.name.lower().endswith(s)), None)
    if suffix is None:
        raise DataError(
            f"cannot tell a format from the name {goal.name}: use {', '.join(SUFFIXES)}"
        )
    tables = _columns(source) if isinstance(source, Mapping) else _stream(source, target)
    first = next(tables)  # what is wrong with the source shows before a file is made
    with _whole(goal) as handle, _writer(handle, suffix, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _columns(columns: Mapping[str, ArrayLike]) -> Iterator[Any]:
    arrays = {str(name): np.asarray(column) for name, column in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays or len(set(shapes.values())) > 1 or any(len(s) != 1 for s in shapes.values()):
        raise DataError(f"columns must be of one length, got shapes {shapes}")
    yield _table(list(arrays), list(arrays.values()))


def _stream(stream: BlockStream, target: str) -> Iterator[Any]:
    refuse_unless_stream(stream, blocks=True)
    features = stream.names or tuple(f"x{i}" for i in range(stream.d))
    if target in features:
        raise DataError(f"target must not be the name of a feature, got {target!r}")
    empty = (np.empty((0, stream.d)), np.empty(0))
    blocks = iter(stream.blocks())
    for X, y in itertools.chain([next(blocks, empty)], blocks):
        yield _table([*features, target], [*X.T, y])


def _table(names: list[str], columns: Iterable[NDArray[Any]]) -> Any:
    arrow = extra("pyarrow", "files")
    # from_pandas: NaN is a missing cell.
    arrays = [arrow.array(np.ascontiguousarray(c), from_pandas=True) for c in columns]
    return arrow.table(arrays, names=names)


def _writer(handle: Any, suffix: str, schema: Any) -> Any:
    if suffix == ".parquet":
        return extra("pyarrow.parquet", "files").ParquetWriter(handle, schema)
    if suffix in (".arrow", ".feather"):
        return extra("pyarrow.ipc", "files").new_file(handle, schema)
    text = extra("pyarrow.csv", "files")
    separator = "\t" if suffix.startswith(".tsv") else ","
    return text.CSVWriter(handle, schema, write_options=text.WriteOptions(delimiter=separator))


@contextlib.contextmanager
def _whole(goal: Path) -> Iterator[Any]:
    """A file that takes the goal's place if all goes well; compressed if its name says so."""
    with whole_file(goal, DataError) as raw:
        if goal.name.lower().endswith(".gz"):
            # No name and no time inside: the same rows give the same bytes.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as handle:
                yield handle
        else:
            yield raw
