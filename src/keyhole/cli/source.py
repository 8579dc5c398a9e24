"""From what was typed to a stream and a problem."""

from __future__ import annotations

import dataclasses

from keyhole import streams
from keyhole.cli.options import FileOptions, ReadOptions, SizeOptions
from keyhole.problem import BlockStream, DataError, Problem, ProblemError


@dataclasses.dataclass(frozen=True)
class Source:
    """A stream, what it is called in front of a person, and the name of its label."""

    stream: BlockStream
    title: str
    target: str
    left_out: int = 0


def open_source(file: FileOptions, reading: ReadOptions) -> Source:
    """The stream of a file, or the clinic if there is none."""
    source = _clinic(file) if file.file is None else _table(file.file, file.target, reading)
    if reading.rounds is None:
        return source
    return dataclasses.replace(source, stream=streams.take(source.stream, reading.rounds))


def _clinic(file: FileOptions) -> Source:
    if file.target is not None:
        raise DataError(f"--target {file.target} is for a file, and none was named")
    return Source(streams.clinic().stream, "the simulated clinic", "days in hospital")


def _table(path: str, target: str | None, reading: ReadOptions) -> Source:
    if target is None:
        raise DataError(f"which column of {path} is to be predicted? Say --target COLUMN")
    table = streams.read(
        path,
        target=target,
        ignore=reading.ignore or (),
        categorical=reading.categorical or (),
        separator=reading.csv.separator,
        decimal=reading.csv.decimal,
        missing=reading.csv.missing or (),
    )
    if not table.rounds:
        raise DataError(f"{path} has no row with a value in {target!r}")
    title = "standard input" if path == "-" else path
    return Source(table, title, target, table.left_out)


def make_problem(source: Source, size: SizeOptions) -> Problem:
    """The problem of a stream; of what is not given 8 features are read, and models have 4."""
    d, budget, sparsity = source.stream.d, size.budget, size.sparsity
    if budget is not None and budget > d:
        raise ProblemError(f"--budget {budget} is more than the {d} features of {source.title}")
    most = min(8, d) if budget is None else budget
    if sparsity is not None and sparsity > most:
        raise ProblemError(
            f"--sparsity {sparsity} is more than --budget {most}: a model of {sparsity} features "
            f"cannot be used when {most} are read"
        )
    k = min(4, most) if sparsity is None else sparsity
    return Problem(d, k, most, source.stream.names)
