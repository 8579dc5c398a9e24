"""Data sets in shards: files, and groups of rows of Parquet files, that can be read elsewhere.

Three steps, of which the first and the last can be taken by other processes: `look` goes through a
file once, `plan` puts together what was found in all of them, `Shard.stream` reads a part. What
travels between processes is small: addresses, levels of text columns, counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keyhole.problem import DataError, StateError
from keyhole.problem.optional_imports import extra
from keyhole.streams.answers import Answers
from keyhole.streams.columns import Column
from keyhole.streams.csv_text import Withdrawn
from keyhole.streams.files import FileStream, columns_of, roles_of
from keyhole.streams.opening import Opened, first_value, open_place, places_of
from keyhole.streams.origin import Origin
from keyhole.streams.partitions import Place
from keyhole.streams.request import Request
from keyhole.streams.several import refuse_other_columns
from keyhole.streams.survey import Sightings, Survey, Wanted, restored, sight
from keyhole.streams.units import Rewrite

CELLS = 1 << 26  # of a shard: rows times columns; a second or more of work


@dataclass(frozen=True)
class Look:
    """What a first pass over a file found: everything that the other files need to know of it."""

    place: Place
    version: str
    names: tuple[str, ...]
    sightings: Sightings
    group_rows: tuple[int, ...] = ()  # of a Parquet file
    rewrites: dict[str, Rewrite] = field(default_factory=dict)  # of a text file

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return self.sightings.rows


def found_places(source: object, request: Request) -> list[Place]:
    """The files of a data set, in their order."""
    found = places_of(source)
    if found is None:
        raise DataError(f"source must be a path or an address, got a {type(source).__name__}")
    if request.order_by is not None:
        found = sorted(found, key=lambda place: first_value(place, request))
    return found


def version_of(place: Place) -> str:
    """What tells this version of a file from others."""
    return Origin(place.path).version


def look(place: Place, request: Request) -> Look:
    """Go through a file once: what its columns hold, levels of text, how many rows there are."""
    opened = open_place(place, request)
    table = opened.table
    roles, _ = roles_of(table, request)
    most = request.most_levels if request.features is None else None
    while True:
        try:
            sightings = sight(table, roles, most)
            break
        except Withdrawn:  # a column is not what its first cells look like: once more
            continue
    parquet = opened.parquet
    return Look(
        place,
        version_of(place),
        table.names,
        sightings,
        () if parquet is None else tuple(parquet.group_rows),
        {name: rewrite for text in opened.texts for name, rewrite in text.rewrites.items()},
    )


@dataclass(frozen=True)
class Shard:
    """A part of a data set: a file, or some row groups of one."""

    place: Place
    version: str
    rows: int
    groups: tuple[int, int] | None = None  # the first, and the one after the last
    rewrites: dict[str, Rewrite] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What to call it in front of a person."""
        if self.groups is None:
            return self.place.path
        return f"{self.place.path}, row groups {self.groups[0]} to {self.groups[1] - 1}"


@dataclass(frozen=True)
class Plan:
    """How all shards of a data set are read alike: features, levels, types, meaning of the target.

    `left_out` is how many rows have no target.
    """

    request: Request
    names: tuple[str, ...]
    spread: dict[str, tuple[str, ...] | None]
    text_types: dict[str, str]
    answers: Answers | None
    left_out: int
    shards: tuple[Shard, ...]

    def key(self, shard: Shard, **settings: Any) -> str:
        """A name for what is computed from a shard: the same only if it is bound to be the same."""
        request = self.request
        how = {
            name: getattr(request, name)
            for name in request.__dataclass_fields__
            if name not in ("words", "positive", "yes_no", "known", "order_by", "most_levels")
        }
        said = {
            "address": shard.place.address,
            "values": shard.place.values,
            "version": shard.version,
            "groups": shard.groups,
            "request": {name: _plain(value) for name, value in how.items()},
            "spread": self.spread,
            "types": self.text_types,
            "answers": None if self.answers is None else str(self.answers),
            "settings": settings,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]

    def stream(self, shard: Shard, features: slice | None = None) -> FileStream:
        """The rows of a shard; of all features, or of some of them that follow one another."""
        opened = open_place(shard.place, self.request)
        table = opened.table
        if version_of(shard.place) != shard.version:
            raise DataError(f"{table.title} was changed while it was in use: start again")
        for text in opened.texts:
            text.rewrites = dict(shard.rewrites)
        if opened.parquet is not None and shard.groups is not None:
            opened.parquet.row_groups = range(*shard.groups)
        columns, names = columns_of(table, self.spread, replace(self.request, features=self.names))
        if features is not None:
            columns, names = _some(columns, names, features)
        found = Survey(self.spread, self._types(opened), shard.rows, 0, self.answers)
        stream = FileStream(table, columns, names, self.request.target, found)
        stream.order = "F"
        return stream

    def _types(self, opened: Opened) -> dict[str, Any]:
        if opened.table.types:
            return dict(opened.table.types)
        arrow = extra("pyarrow", "files")
        kinds = {"string": arrow.string(), "bool": arrow.bool_(), "double": arrow.float64()}
        return {name: kinds[kind] for name, kind in self.text_types.items()}


def plan(looks: Sequence[Look], request: Request) -> Plan:
    """What was found in all files of a data set, in their order, put together.

    `looks` are used up: what was seen in the others is added to the first.
    """
    first = looks[0]
    for other in looks[1:]:
        refuse_other_columns(first.place.path, first.names, other.place.path, other.names)
    whole = first.sightings
    if len(looks) > 1:
        whole.call_it(f"{len(looks)} files")
    rows = [one.rows for one in looks]
    for other in looks[1:]:
        whole.include(other.sightings)
    given = request.positive
    known = given if isinstance(given, Answers) else None
    found = whole.settled(
        Wanted(None if isinstance(given, Answers) else given, request.yes_no, known)
    )
    opened = open_place(first.place, request)
    _, spread = roles_of(opened.table, request)
    levels = dict(found.levels if spread is None else spread)
    _, names = columns_of(opened.table, levels, request)
    text_types = {} if opened.table.types else {n: str(t) for n, t in found.types.items()}
    shards = [
        shard for one, n in zip(looks, rows, strict=True) for shard in cut(one, n, len(first.names))
    ]
    return Plan(
        request,
        tuple(names),
        levels,
        text_types,
        found.answers,
        found.without_target,
        tuple(shards),
    )


def cut(found: Look, rows: int, columns: int) -> list[Shard]:
    """The shards of a file: of Parquet, as many row groups each as make a second of work.

    The rule knows nothing of how many workers there are: results must not depend on that.
    """
    place, version = found.place, found.version
    if len(found.group_rows) < 2 or rows * columns <= CELLS:
        return [Shard(place, version, rows, None, found.rewrites)]
    shards, start, size = list[Shard](), 0, 0
    for i, group in enumerate(found.group_rows):
        size += group
        if size * columns >= CELLS or i + 1 == len(found.group_rows):
            shards.append(Shard(place, version, size, (start, i + 1)))
            start, size = i + 1, 0
    return shards


def _some(
    columns: Sequence[Column], names: Sequence[str], part: slice
) -> tuple[list[Column], Sequence[str]]:
    """Only some features: the columns that they come from, and of their levels only these."""
    start, stop, found = part.start, part.stop, []
    for column in columns:
        here = (column.places >= start) & (column.places < stop)
        if here.any():
            levels = column.levels
            if levels is not None:
                levels = tuple(level for level, one in zip(levels, here, strict=True) if one)
            found.append(replace(column, levels=levels, places=column.places[here] - start))
    return found, names[part]


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def look_as_json(found: Look) -> dict[str, Any]:
    """A look as plain values, to be kept in a file."""
    seen = {name: sighting.as_json() for name, sighting in found.sightings.seen.items()}
    rewrites = {n: [r.unit, r.thousands, r.decimal] for n, r in found.rewrites.items()}
    return {
        "version": found.version,
        "names": list(found.names),
        "rows": found.rows,
        "seen": seen,
        "group_rows": list(found.group_rows),
        "rewrites": rewrites,
    }


def look_from_json(place: Place, request: Request, kept: dict[str, Any]) -> Look:
    """The look that was kept, for a file that has not changed since."""
    try:
        opened = open_place(place, request)
        roles, _ = roles_of(opened.table, request)
        most = request.most_levels if request.features is None else None
        sightings = restored(opened.table, roles, most, kept["rows"], kept["seen"])
        rewrites = {name: Rewrite(*said) for name, said in kept["rewrites"].items()}
        names, groups = tuple(kept["names"]), tuple(kept["group_rows"])
        return Look(place, kept["version"], names, sightings, groups, rewrites)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"what was kept of {place.path} cannot be used: {error}") from None
