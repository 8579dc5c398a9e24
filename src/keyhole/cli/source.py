"""From what was typed to a stream and a problem."""

from __future__ import annotations

import dataclasses

from keyhole import streams
from keyhole.cli.options import FileOptions, PriceOptions, ReadOptions, SizeOptions
from keyhole.cli.reading import read_files, whole_request
from keyhole.cli.shop import Shop, column_shop, open_shop
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
    source = _table(file, reading) if file.files else _clinic(file)
    if money is not None and money.prices is not None:
        away = [*(reading.ignore or ()), *([file.target] if file.target else ())]
        shop = open_shop(money.prices, source.stream, away)
        source = dataclasses.replace(source, shop=shop)
    elif money is not None:
        source = dataclasses.replace(source, shop=column_shop(source.stream))
    if reading.rounds is None or file.files:
        return source
    return dataclasses.replace(source, stream=streams.take(source.stream, reading.rounds))


def _clinic(file: FileOptions) -> Source:
    if file.target is not None:
        raise DataError(f"--target {file.target} needs a file: name one before it")
    return Source(streams.clinic().stream, "the simulated clinic", "days in hospital")


def _table(file: FileOptions, reading: ReadOptions) -> Source:
    if file.target is None:
        raise DataError(f"which column of {file.title} is to be predicted? Use --target COLUMN")
    table = read_files(file.files, whole_request(reading, file.target), file.title)
    if not table.rounds:
        raise DataError(f"{file.title} has no row with a value in {file.target!r}")
    return Source(table, file.title, file.target, table.left_out, answers=table.answers)


def make_problem(source: Source, size: SizeOptions) -> Problem:
    """The problem of a stream; of what is not given 8 features are read, and models have 4."""
    if source.shop is not None and source.shop.columns:
        return _counted(source.shop, source, size)
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


def _counted(shop: Shop, source: Source, size: SizeOptions) -> Problem:
    """The problem of a file some of whose columns are several features: columns are counted.

    A model of k columns may have all features of the k largest.
    """
    all_of_them, sparsity = len(shop.prices.items), size.sparsity
    budget = min(8, all_of_them) if size.budget is None else _whole(size.budget)
    if budget > all_of_them:
        raise ProblemError(
            f"--budget {budget} is more than the {all_of_them} columns of {source.title}"
        )
    if sparsity is not None and sparsity > budget:
        raise ProblemError(
            f"--sparsity {sparsity} is more than --budget {budget}: a model of {sparsity} columns "
            f"cannot be used when {budget} are read"
        )
    k = shop.widest(min(4, budget) if sparsity is None else sparsity)
    return Problem(source.stream.d, k, budget, source.stream.names, shop.prices)


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
