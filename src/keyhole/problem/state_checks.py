"""State checks: that a restored state is valid, by what its fields are declared to hold.

Kernels trust what they are given: an index out of range there is a crash of the process. So before
a learner from a file plays, every number of it is checked against the `Holds` of its field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import StateError
from keyhole.problem.desk import Desk, pack_tickets
from keyhole.problem.state import (
    ANYTHING_FINITE,
    MAX_WHOLE_NUMBER,
    FieldRule,
    Holds,
    KeepsArrays,
    SizeOrName,
    field_names,
    field_rules,
    key_of,
    saved_names,
)
from keyhole.problem.ticket import Indices

CHUNK_ROWS = 1 << 14  # rows that are looked at together
KnownSizes = Mapping[str, Any]  # numbers, or arrays with one number for each of several parts


def prove(thing: object, where: str, sizes: KnownSizes, rule: Holds = ANYTHING_FINITE) -> None:
    """StateError, which names the field, unless everything in `thing` is as declared."""
    if thing is None or isinstance(thing, str | bool | Desk):
        return  # the tickets of a desk: `prove_tickets`
    if isinstance(thing, np.ndarray):
        _Column(thing.ravel(), np.array([thing.shape], dtype=np.int64), where).prove(rule, sizes)
    elif isinstance(thing, int | float | np.number):
        prove(np.array(thing), where, sizes, rule)
    elif isinstance(thing, KeepsArrays):  # after what is common: asking a protocol takes long
        prove(thing.arrays(), where, sizes, rule)
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            prove(value, f"{where}.{key}", sizes, rule)
    elif field_names(thing) is None and isinstance(thing, Sequence):
        for i, value in enumerate(thing):
            prove(value, f"{where}[{i}]", sizes, rule)
    else:
        _prove_record(thing, where, sizes)


def prove_tickets(desk: Desk, memos: Sequence[type], sizes: KnownSizes) -> None:
    """StateError unless the memo of every open ticket is one of these kinds, and as declared.

    All tickets of a kind are looked at together.
    """
    for group in pack_tickets(desk.open):
        entries = group["memo"]
        kind = next((kind for kind in memos if _memo_names(kind) == set(entries)), None)
        if kind is None and (memos or entries):
            raise StateError(f"desk.open: no ticket of this learner has the memo {[*entries]}")
        n, declared = len(group["rounds"]), {} if kind is None else field_rules(kind)
        known = {**sizes, "features": group["lengths"]}
        lists = {"features": (group["features"], np.repeat(np.arange(n), group["lengths"]))}
        columns = {}
        for name, entry in entries.items():
            shapes = entry["shapes"]
            column = _Column(entry["values"], shapes, f"desk.open.memo.{name}", lists)
            known[name] = shapes[:, -1] if shapes.shape[1] else entry["values"]
            columns[name] = column
        for name, column in columns.items():
            _refuse_other_kinds(column.flat, declared[name], column.where)
            column.prove(declared[name].holds, known)


def refuse_another_model(desk: Desk, key: str, number: int, support: Indices) -> None:
    """StateError unless the tickets whose memo says `number` under `key` have this support."""
    for ticket in desk.open:
        memo = ticket.memo
        if key in memo and memo[key] == number and not np.array_equal(memo["support"], support):
            raise StateError(
                f"the ticket of round {ticket.round} has another support than its model"
            )


def _prove_record(thing: object, where: str, sizes: KnownSizes) -> None:
    names = field_names(thing) or saved_names(thing)
    kind: type = type(thing)
    declared = field_rules(kind)
    values = {name: getattr(thing, name) for name in names}
    own = {key_of(name): size for name in names if (size := _size_of(values[name])) is not None}
    for name, value in values.items():
        field = declared.get(name, FieldRule())
        inside = f"{where}.{key_of(name)}" if where else key_of(name)
        _refuse_other_kinds(value, field, inside)
        prove(value, inside, {**sizes, **own}, field.holds)


def _refuse_other_kinds(value: object, field: FieldRule, where: str) -> None:
    """Where a new learner has None, nothing was there to compare with when it was put back."""
    wanted: object = None
    if isinstance(value, np.ndarray) and field.dtype is not None and value.dtype != field.dtype:
        wanted = field.dtype
    elif value is not None and field.record is not None and not isinstance(value, field.record):
        wanted = field.record.__name__
    if wanted is not None:
        raise StateError(f"{where} must be {wanted}, the state has {type(value).__name__}")


def _size_of(value: object) -> int | None:
    if isinstance(value, np.ndarray):
        return value.shape[-1] if value.ndim else int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _memo_names(kind: type) -> set[str]:
    """What a memo of that kind has: all its fields but the features, which the ticket has."""
    return set(field_rules(kind)) - {"features"}


class _Column:
    """Arrays of one field, one after the other, with a row of `shapes` for each."""

    def __init__(
        self,
        flat: NDArray[Any],
        shapes: NDArray[np.int64],
        where: str,
        lists: Mapping[str, tuple[NDArray[Any], NDArray[np.int64]]] | None = None,
    ) -> None:
        self.flat, self.shapes, self.where, self.lists = flat, shapes, where, lists or {}
        self.dtype = flat.dtype
        self.counts = shapes.prod(axis=1)

    def prove(self, rule: Holds, sizes: KnownSizes) -> None:
        """StateError unless all of them are as the rule says."""
        self._prove_shape(rule, sizes)
        if self.dtype.kind not in "if" or not self.flat.size:
            return
        self._prove_numbers(rule)
        for bound, strictly in ((rule.most, False), (rule.below, True)):
            if bound is not None:
                high = self._per_number(_known(bound, sizes))
                too_large = self.flat >= high if strictly else self.flat > high
                self._refuse(too_large, f"{'below' if strictly else 'at most'} {bound}")
        if rule.ascending:
            down = np.diff(self.flat, prepend=self.flat[:1] - 1) <= 0
            down[np.cumsum(self.counts)[:-1][self.counts[1:] > 0]] = False  # another begins
            self._refuse(down, "ascending, each once")
        if rule.distinct and len(np.unique(self.flat)) < len(self.flat):
            raise StateError(f"{self.where} must have each number once")
        if rule.among is not None:
            self._prove_among(rule.among)

    def _prove_shape(self, rule: Holds, sizes: KnownSizes) -> None:
        if rule.shape is not None:
            fits = self.shapes.shape[1] == len(rule.shape)
            for axis, size in enumerate(rule.shape if fits else ()):
                fits = fits and bool((self.shapes[:, axis] == _known(size, sizes)).all())
            if not fits:
                wanted = ", ".join(map(str, rule.shape))
                raise StateError(f"{self.where} must have the shape ({wanted})")
        if rule.longest is not None:
            flat = self.shapes.shape[1] == 1
            if not flat or (self.shapes[:, 0] > _known(rule.longest, sizes)).any():
                raise StateError(f"{self.where} must be at most {rule.longest} long")

    def _prove_numbers(self, rule: Holds) -> None:
        if self.dtype.kind == "f":
            if not all(np.isfinite(part).all() for part in _chunks(self.flat)):
                nan, infinite = np.isnan(self.flat), np.isinf(self.flat)
                self._refuse(nan & (not rule.nan) | infinite & (not rule.infinite), "finite")
            if rule.least is not None:
                self._prove_least(rule.least)
            return
        least = int(rule.least) if isinstance(rule.least, int | float) else 0
        if self.flat.min() < least or self.flat.max() > MAX_WHOLE_NUMBER:
            self._refuse(
                (self.flat < least) | (self.flat > MAX_WHOLE_NUMBER), f"from {least} to 2^53"
            )

    def _prove_least(self, least: float | tuple[float, ...]) -> None:
        # One bound for each place of the last dimension, or one for all.
        rows = self.flat.reshape(-1, len(least) if isinstance(least, tuple) else 1)
        # Written out: numpy takes long over rows of four numbers.
        bounds = np.full((min(len(rows), CHUNK_ROWS), rows.shape[1]), least)
        if any((part < bounds[: len(part)]).any() for part in _chunks(rows)):
            self._refuse((rows < np.array(least)).ravel(), f"at least {least}")

    def _prove_among(self, name: str) -> None:
        """By pairs (part, number): the part's own list must have it."""
        known, part = self.lists[name]
        top = int(known.max(initial=0)) + 2
        mine = np.repeat(np.arange(len(self.counts)), self.counts)
        inside = (self.flat >= 0) & (self.flat < top)
        found = inside & np.isin(mine * top + self.flat, part * top + known)
        self._refuse(~found, f"among the {name} of the ticket")

    def _per_number(self, size: Any) -> Any:
        return np.repeat(size, self.counts) if isinstance(size, np.ndarray) else size

    def _refuse(self, wrong: NDArray[np.bool_], wanted: str) -> None:
        if wrong.any():
            found = self.flat[wrong.argmax()]
            raise StateError(f"{self.where} must be {wanted}, the state has {found}")


def _chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The array piece by piece, so that what is worked out of each stays in the cache."""
    return (array[begin : begin + CHUNK_ROWS] for begin in range(0, len(array), CHUNK_ROWS))


def _known(size: SizeOrName, sizes: KnownSizes) -> Any:
    if not isinstance(size, str):
        return size
    name, _, more = size.partition("+")
    return sizes[name] + int(more or 0)
