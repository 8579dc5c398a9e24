"""From what was typed to a stream and a problem."""

from __future__ import annotations

import dataclasses

from keyhole import streams
from keyhole.cli.options import FileOptions, PriceOptions, ReadOptions, SizeOptions
from keyhole.cli.shop import Shop, open_shop
from keyhole.problem import BlockStream, DataError, Problem, ProblemError


@dataclasses.dataclass(frozen=True)
class Source:
    """A stream, what it is called in front of a person, and the name of its label."""

    stream: BlockStream
    title: str
    target: str
    left_out: int = 0
    shop: Shop | None = None
    answers: streams.Answers | None = None  # of a target that is yes or no


def open_source(
    file: FileOptions, reading: ReadOptions, money: PriceOptions | None = None
) -> Source:
    """The stream of a file, or the clinic if there is none; with prices if there are some."""
    source = _clinic(file) if file.file is None else _table(file.file, file.target, reading)
    if money is not None and money.prices is not None:
        away = [*(reading.ignore or ()), *([file.target] if file.target else ())]
        shop = open_shop(money.prices, source.stream, away)
        source = dataclasses.replace(source, shop=shop)
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
        positive=reading.answers.positive,
        yes_no=reading.answers.yes_no,
    )
    if not table.rounds:
        raise DataError(f"{path} has no row with a value in {target!r}")
    title = "standard input" if path == "-" else path
    return Source(table, title, target, table.left_out, answers=table.answers)


def make_problem(source: Source, size: SizeOptions) -> Problem:
    """The problem of a stream; of what is not given 8 features are read, and models have 4."""
    if source.shop is not None:
        return _priced(source.shop, source, size)
    d, sparsity = source.stream.d, size.sparsity
    budget = None if size.budget is None else _whole(size.budget)
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


def _whole(budget: float) -> int:
    """A budget that counts features."""
    if not float(budget).is_integer() or budget < 1:
        raise ProblemError(
            f"--budget {budget:g}: without --prices a budget is a number of features, at least 1"
        )
    return int(budget)


def _priced(shop: Shop, source: Source, size: SizeOptions) -> Problem:
    """The problem with prices; of what is not given everything may be bought, and models have 4."""
    budget = shop.everything if size.budget is None else size.budget
    problem = Problem(source.stream.d, 1, budget, source.stream.names, shop.prices)
    k = min(4, problem.width) if size.sparsity is None else size.sparsity
    if k > problem.width:
        raise ProblemError(
            f"--sparsity {k} is more than {problem.width}, the most features that a budget of "
            f"{problem.budget:g} can buy at these prices"
        )
    return problem.replace(k=k)
