"""New learner of the counter: its features, its problem and its history, from what was typed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from keyhole import streams
from keyhole.cli.options import HistoryOptions, PriceOptions, ReadOptions, SizeOptions
from keyhole.cli.sizes import ChosenSizes, choose_sizes, make_problem
from keyhole.cli.source import (
    Pricing,
    Source,
    check_half_life,
    column_pricing,
    open_pricing,
    read_examples,
    read_files,
    source_of,
    table_for,
    whole_request,
)
from keyhole.cli.ticket_files import FeatureList, read_features
from keyhole.errors import DataError, ProblemError, nearest
from keyhole.problem import BlockStream
from keyhole.problem.prices import price_list
from keyhole.streams.files import ReadStream
from keyhole.streams.open_table import open_table

NO_PLAIN_TEXT = (
    *(".parquet", ".arrow", ".feather", ".jsonl", ".ndjson", ".json", ".xlsx", ".xls", ".ods"),
    *(".gz", ".bz2", ".xz", ".zst", ".zip"),
)


@dataclass(frozen=True)
class NewLearner:
    """What a learner is made of: where its features come from, its problem, what it studies."""

    source: Source
    sizes: ChosenSizes
    history: BlockStream | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    yes_no: bool = False  # whether its labels are yes or no


def prepared(
    features: str | None,
    target: str | None,
    size: SizeOptions,
    pricing: PriceOptions,
    history: HistoryOptions,
    reading: ReadOptions,
) -> NewLearner:
    """All that a learner is made of, or an error about what is missing or does not fit."""
    _check(features, target, size, history)
    listed = None if features is None else _listed(features, target, reading)
    units = {} if listed is None else listed.units
    if history.history is not None and target is not None:
        old = _history(history.history, target, listed, reading)
        source = source_of(old, history.history, reading, target)
        source = dataclasses.replace(source, pricing=_pricing(pricing, old, source.ignored))
        sizes = choose_sizes(source, size, old)
        return NewLearner(source, sizes, old, units, source.answers is not None)
    assert features is not None
    assert listed is not None
    source = _of_features(features, target, listed, reading, pricing)
    sizes = ChosenSizes(make_problem(source, size), "")
    return NewLearner(source, sizes, None, units, bool(reading.answers.yes_no))


def _check(
    features: str | None, target: str | None, size: SizeOptions, history: HistoryOptions
) -> None:
    """What is missing."""
    if features is None and history.history is None:
        raise DataError("name the features with --features FILE, or give --history FILE")
    if history.history is not None and target is None:
        raise DataError(f"which column of {history.history} is the label? Use --target COLUMN")
    check_half_life(history)
    if history.history is None and size.budget is None:
        raise ProblemError("--budget is missing: it can only be chosen where there is --history")


def _listed(path: str, target: str | None, reading: ReadOptions) -> FeatureList:
    """The names in a file of features; of one that is no plain text, its columns."""
    if Path(path).suffix.lower() in NO_PLAIN_TEXT:
        names = open_table(path, whole_request(reading, None)).table.names
        return FeatureList(tuple(name for name in names if name != target), {}, rows=True)
    return read_features(path, target, reading.csv.separator)


def _history(
    path: str, target: str, listed: FeatureList | None, reading: ReadOptions
) -> ReadStream:
    """The history, with the features that were listed, in their order; or with all it has."""
    title = "standard input" if path == "-" else path
    if listed is None:
        return read_examples([path], reading, target, title)
    request = whole_request(reading, target)
    columns = open_table(path, request).table.names
    if not {*listed.names} <= {*columns}:  # levels such as ward=north, or names that are not there
        exact = dataclasses.replace(request, features=listed.names, ignore=(), categorical=())
        return read_files([path], exact, title)
    others = [name for name in columns if name not in listed.names and name != target]
    rest = dataclasses.replace(reading, ignore=others, keep_columns=list(listed.names))
    old = read_examples([path], rest, target, title)
    names = [name for column in listed.names for name in old.groups[column]]
    if names == list(old.names or ()):
        return old
    return read_files([path], dataclasses.replace(request, ignore=(), features=names), title)


def _of_features(
    path: str, target: str | None, listed: FeatureList, reading: ReadOptions, pricing: PriceOptions
) -> Source:
    """The features alone: those of a table with their levels, as far as its rows show them."""
    if listed.rows:
        columns = open_table(path, whole_request(reading, None)).table.names
        if target is not None and target not in columns:
            raise DataError(f"--target: {path} has no column {target!r}{nearest(target, columns)}")
        table = read_examples([path], reading, target, path)
        source = source_of(table, path, reading, target)
        return dataclasses.replace(source, pricing=_pricing(pricing, table, source.ignored))
    d = len(listed.names)
    alone = streams.ArrayStream(np.empty((0, d)), np.empty(0), listed.names)
    prices = None
    if pricing.prices is not None:
        prices = _pricing_of(pricing.prices, listed.names)
    return Source(alone, path, target or "", pricing=prices)


def _pricing_of(path: str, names: tuple[str, ...]) -> Pricing:
    """The price list of these features, and the limits of their values in it."""
    fitted = table_for(path, names)
    prices = price_list(len(names), names, fitted.prices, fitted.panels, fitted.derived)
    return Pricing(path, prices, limits=fitted.limits)


def _pricing(pricing: PriceOptions, stream: BlockStream, ignored: Sequence[str]) -> Pricing | None:
    if pricing.prices is None:
        return column_pricing(stream)
    return open_pricing(pricing.prices, stream, ignored)
