"""Sums of a data set in shards: `kh.sums` adds up second moments, on several processes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import nearest
from keyhole.learners.blocks.sums.data_sums import DataSums, Gram, Ranges, Stripe, assembled
from keyhole.problem import BlockStream, DataError, ProblemError, StateError, refuse_unless_stream
from keyhole.problem.atomic_file import whole_file
from keyhole.saving.archive import arrays_from_bytes, arrays_to_bytes
from keyhole.saving.parallel import Call, as_completed, one_thread
from keyhole.streams.arrays import block_rows
from keyhole.streams.csv_table import until_formats_hold
from keyhole.streams.open_table import PartitionFile
from keyhole.streams.read_options import AUTO, ReadArguments
from keyhole.streams.shards import (
    FileScan,
    Shard,
    ShardPlan,
    data_files,
    plan_shards,
    scan_as_json,
    scan_file,
    scan_from_json,
    version_of,
)

STRIPE_FEATURES = 1024  # of more features, a task has so many rows of the table of pairs
READ_OPTIONS = tuple(
    f.name for f in dataclasses.fields(ReadArguments) if f.name not in ("target", "rounds", "known")
)
SavedArrays = dict[str, NDArray[Any]]
ShardProgress = Callable[[int, int], None]


def sums(
    source: BlockStream | str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    target: str | None = None,
    cache: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: ShardProgress | None = None,
    **reading: Any,
) -> DataSums:
    """Counts, means, second moments and products with the label of a data set of any length.

    They are all that `hindsight`, `frontier`, `rip`, `diagnose` and `learner.study` need of the
    rows, and take d^2 numbers however many rows there are. Absent values, columns of text and the
    intercept are as in `hindsight`.

    Parameters
    ----------
    source
        An address, a folder, a pattern, a list of them, as in `streams.read`: the files are added
        up side by side, and long Parquet files in groups of rows. Or a stream, which this process
        reads from its beginning to its end.
    target
        The column to predict; of files only.
    cache
        A folder that keeps the sums of every shard, under its address, version, row groups and the
        way it is read: a second call, or one after a crash, computes what is missing. It is made if
        it is not there.
    jobs
        Processes; -1: one for each core. None: as the joblib backend in force says, so within
        `joblib.parallel_config(backend="dask")` a Dask cluster, and otherwise this process.
    progress
        Called with the number of rows that are done, and that there are.
    reading
        Further arguments of `streams.read`, such as `ignore`, `categorical`, `features`,
        `order_by`; but not `missing="auto"`.

    Guarantee
    ---------
    The result is the same to the last bit on one process, on several and on a cluster of machines
    with the same kind of processor: how the data are cut does not depend on how many workers there
    are, shards are added in their order, and linear algebra uses one thread in each. Memory of a
    worker is for a block of rows and for 1,024 rows of the table of pairs. If files cannot be used,
    all others are added up and kept in `cache`, then a DataError names those that cannot.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=3, n=1000, seed=0)
    >>> known = kh.sums(stream)
    >>> known
    <sums of 1,000 rows, 20 features>
    >>> best = kh.hindsight(known, 3)
    >>> bool((best.support == truth.support).all())
    True
    """
    if not isinstance(source, str | PathLike | list | tuple):
        refuse_unless_stream(source, blocks=True)
        if target is not None or reading:
            given = ["target"] * (target is not None) + list(reading)
            raise ProblemError(
                f"{', '.join(given)}: only for files; a stream already knows its columns"
            )
        return _of_stream(cast(BlockStream, source))
    request = _request(target, reading)
    kept = _Cache(cache)
    found, broken = _looks(data_files(source, request), request, kept, jobs)
    if not found or (broken and cache is None):
        raise DataError(_errors_text(broken, 0, None))
    planned = plan_shards(found, request)
    return _ShardedSum(planned, kept, jobs, progress).total(broken)


def _request(target: str | None, reading: dict[str, Any]) -> ReadArguments:
    for name in reading:
        if name not in READ_OPTIONS:
            raise ProblemError(
                f"sums() has no argument {name!r}{nearest(name, READ_OPTIONS)}: it takes target, "
                "cache, jobs, progress and those of streams.read"
            )
    for name in ("missing", "dates", "ignore", "categorical"):
        if name in reading:
            given = reading[name]
            reading[name] = (given,) if isinstance(given, str) else tuple(given)
    if AUTO in reading.get("missing", ()):
        raise ProblemError(
            "missing='auto' needs all rows at once: list the texts that mean a missing value, and "
            "remove codes such as 9999 beforehand"
        )
    if target is None:
        raise ProblemError("target: which column is to be predicted?")
    return ReadArguments(target, **reading)


def _of_stream(stream: BlockStream) -> DataSums:
    gram, ranges = Gram(stream.d), Ranges(stream.d)
    with one_thread():
        for X, y in stream.blocks():
            ranges.add(X, y)
            gram.add(X, y)
    target = getattr(stream, "target", None)
    out = int(getattr(stream, "left_out", 0))
    names = None if stream.names is None else tuple(stream.names)
    return DataSums(gram, ranges.low, ranges.high, ranges.ends, names, target, out)


class _Cache:
    """A folder of what was computed, by name; without a folder nothing is kept."""

    def __init__(self, folder: str | PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StateError(f"cache: cannot make {self.folder}: {error.strerror}") from None

    def read(self, key: str) -> bytes | None:
        """What is kept under a name; None if nothing is."""
        try:
            return None if self.folder is None else (self.folder / key).read_bytes()
        except OSError:
            return None

    def write(self, key: str, data: bytes) -> None:
        """Keep something; it is there as a whole or not at all."""
        if self.folder is not None:
            with whole_file(self.folder / key, StateError) as file:
                file.write(data)


def _looks(
    places: Sequence[PartitionFile], request: ReadArguments, kept: _Cache, jobs: int | None
) -> tuple[list[FileScan], dict[str, str]]:
    """What a first pass over every file finds, and what is wrong with those that cannot be read."""
    found: dict[int, FileScan] = {}
    broken: dict[str, str] = {}
    keys: dict[int, str] = {}
    for i, place in enumerate(places):
        try:
            keys[i] = _look_key(place, request)
            data = kept.read(keys[i])
            if data is not None:
                found[i] = scan_from_json(place, request, json.loads(data))
        except (StateError, json.JSONDecodeError):
            continue  # damaged: once more
        except DataError as error:
            broken[place.path] = str(error)
    missing = [i for i, place in enumerate(places) if i not in found and place.path not in broken]
    for outcome in as_completed([(scan_file, (places[i], request)) for i in missing], jobs):
        i = missing[outcome.index]
        if isinstance(outcome.error, DataError):
            broken[places[i].path] = str(outcome.error)
            continue
        found[i] = outcome.result
        kept.write(keys[i], json.dumps(scan_as_json(found[i])).encode())
    return [found[i] for i in sorted(found)], broken


def _look_key(place: PartitionFile, request: ReadArguments) -> str:
    how = dataclasses.replace(request, order_by=None)
    said = repr((place.address, version_of(place), place.values, how))
    return f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.json"


class _ShardedSum:
    """The sums of all shards: those that are kept, those that are computed now, in their order."""

    def __init__(
        self, planned: ShardPlan, kept: _Cache, jobs: int | None, progress: ShardProgress | None
    ) -> None:
        self.plan, self.kept, self.jobs = planned, kept, jobs
        self.progress = progress if progress is not None else lambda done, of: None
        self.stripes = stripes_of(len(planned.names))
        self.broken: dict[str, str] = {}
        self._rows = 0

    def total(self, broken: dict[str, str]) -> DataSums:
        """All shards together, or a DataError that names those which cannot be read."""
        self.broken |= broken
        total: DataSums | None = None
        for part in self._in_order():
            total = part if total is None else total + part
        if self.broken:
            raise DataError(_errors_text(self.broken, len(self.plan.shards), self.kept.folder))
        assert total is not None
        return dataclasses.replace(total, left_out=self.plan.left_out)

    def _in_order(self) -> Iterator[DataSums]:
        """The sums of each shard, as soon as those of all before it are known or broken."""
        shards = self.plan.shards
        waiting: dict[int, dict[int, SavedArrays]] = {i: {} for i in range(len(shards))}
        following = 0
        for i, s, arrays in self._arrays():
            if arrays is not None:
                waiting[i][s] = arrays
            while following < len(shards) and (
                len(waiting[following]) == len(self.stripes)
                or shards[following].title in self.broken
            ):
                pieces = waiting.pop(following)
                if len(pieces) == len(self.stripes):
                    yield self._put_together(shards[following], pieces)
                following += 1

    def _arrays(self) -> Iterator[tuple[int, int, SavedArrays | None]]:
        """Shard, stripe and sums, None if it is broken; as they come, those that are kept first."""
        tasks: list[tuple[int, int, str]] = []
        for i, shard in enumerate(self.plan.shards):
            for s, stripe in enumerate(self.stripes):
                key = f"{self.plan.key(shard, stripe=[stripe.start, stripe.stop])}.npz"
                arrays = self._known(key)
                if arrays is None:
                    tasks.append((i, s, key))
                else:
                    self._count(i)
                    yield i, s, arrays
        slim = dataclasses.replace(self.plan, shards=())
        calls: list[Call] = [
            (shard_sums, (slim, self.plan.shards[i], self.stripes[s])) for i, s, _ in tasks
        ]
        for outcome in as_completed(calls, self.jobs, alone=True):
            i, s, key = tasks[outcome.index]
            if isinstance(outcome.error, DataError):
                self.broken[self.plan.shards[i].title] = str(outcome.error)
                if self.kept.folder is None:
                    raise DataError(_errors_text(self.broken, len(self.plan.shards), None))
                yield i, s, None
                continue
            arrays = outcome.result
            self.kept.write(key, arrays_to_bytes(arrays, {"shard": self.plan.shards[i].title}))
            self._count(i)
            yield i, s, arrays

    def _known(self, key: str) -> SavedArrays | None:
        data = self.kept.read(key)
        try:
            return None if data is None else arrays_from_bytes(data)[0]
        except StateError:
            return None  # damaged: once more

    def _count(self, i: int) -> None:
        self._rows += self.plan.shards[i].rows
        many = sum(shard.rows for shard in self.plan.shards)
        self.progress(self._rows // len(self.stripes), many)

    def _put_together(self, shard: Shard, pieces: dict[int, SavedArrays]) -> DataSums:
        parts = [pieces[s] for s in range(len(self.stripes))]
        ends = {name: parts[0].pop(name) for name in ("low", "high", "ends")}
        arrays = parts[0] if len(parts) == 1 else assembled(parts).arrays()
        names, target = self.plan.names, self.plan.request.target
        return DataSums.from_arrays(
            {**arrays, **ends}, names, target, parts=(self.plan.key(shard),)
        )


def stripes_of(d: int) -> list[slice]:
    """The rows of the table of pairs that a task has: all, or `STRIPE_FEATURES` at a time."""
    return [slice(lo, min(lo + STRIPE_FEATURES, d)) for lo in range(0, d, STRIPE_FEATURES)]


def shard_sums(planned: ShardPlan, shard: Shard, stripe: slice) -> SavedArrays:
    """The sums of one shard, of all features or of a stripe of the table of pairs."""
    return until_formats_hold(lambda: _shard_sums(planned, shard, stripe))


def _shard_sums(planned: ShardPlan, shard: Shard, stripe: slice) -> SavedArrays:
    d = len(planned.names)
    width, rows = d - stripe.start, stripe.stop - stripe.start
    whole = rows == d
    stream = planned.stream(shard, None if whole else slice(stripe.start, d))
    gram: Gram | Stripe = Gram(d) if whole else Stripe(width, rows)
    ranges = Ranges(width)
    for X, y in stream.blocks(block_rows(d)):
        if stripe.start == 0:
            ranges.add(X, y)
        gram.add(X, y)
    found = dict(gram.arrays())
    if stripe.start == 0:
        found |= {"low": ranges.low, "high": ranges.high, "ends": np.array(ranges.ends)}
    return found


def _errors_text(broken: dict[str, str], shards: int, folder: Path | None) -> str:
    """What is wrong, in one line."""
    some = list(broken.values())
    more = f" (and {len(some) - 1} more)" if len(some) > 1 else ""
    if folder is None:
        return f"{some[0]}{more}"
    first = next(iter(broken))
    return (
        f"{first} cannot be added up: {some[0]}{more}; all others are, and are kept in {folder}: "
        "fix this one, and only it will be computed"
    )
