"""From what was typed to a stream and a problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keyhole import streams
from keyhole.problem import BlockStream, DataError, Problem, ProblemError


@dataclasses.dataclass(frozen=True)
class Source:
    """A stream, what it is called in front of a person, and the name of its label."""

    stream: BlockStream
    title: str
    target: str
    left_out: int = 0


def open_source(
    file: str | None,
    target: str | None,
    *,
    rounds: int | None = None,
    ignore: Sequence[str] | None = None,
    categorical: Sequence[str] | None = None,
    separator: str | None = None,
    decimal: str = ".",
    missing: Sequence[str] | None = None,
) -> Source:
    """The stream of a file, or the clinic if there is none."""
    if file is None:
        if target is not None:
            raise DataError(f"--target {target} is for a file, and none was named")
        patients, _ = streams.clinic()
        source = Source(patients, "the simulated clinic", "days in hospital")
    elif target is None:
        raise DataError(f"which column of {file} is to be predicted? Say --target COLUMN")
    else:
        table = streams.read(
            file,
            target=target,
            ignore=ignore or (),
            categorical=categorical or (),
            separator=separator,
            decimal=decimal,
            missing=missing or (),
        )
        if not table.rounds:
            raise DataError(f"{file} has no row with a value in {target!r}")
        title = "standard input" if file == "-" else file
        source = Source(table, title, target, table.left_out)
    if rounds is None:
        return source
    return dataclasses.replace(source, stream=streams.take(source.stream, rounds))


def make_problem(source: Source, budget: int | None, sparsity: int | None) -> Problem:
    """The problem of a stream; without a word about them 8 features are read, models have 4."""
    d = source.stream.d
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
