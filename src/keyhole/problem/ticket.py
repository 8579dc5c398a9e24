"""Ticket, the order for one example, and Observation, what came back for it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import (
    LARGEST,
    SMALLEST,
    BudgetError,
    DataError,
    ProblemError,
    TicketError,
    nearest,
    real_number,
    real_numbers,
    shortened,
    whole_number,
)
from keyhole.problem.display import few, html_table
from keyhole.problem.limits import refuse_beyond

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def _refuse_order(features: Indices) -> NoReturn:
    for j in features[features < 0]:
        raise BudgetError(f"features are numbered from 0, the ticket asks for feature {j}")
    for a, b in itertools.pairwise(features.tolist()):
        if a == b:
            raise BudgetError(f"the ticket asks for feature {a} twice")
    raise BudgetError(
        f"the features of a ticket must be in ascending order, got {features.tolist()}"
    )


def _frozen(values: ArrayLike) -> NDArray[Any]:
    """A read-only copy, or the array itself if it is read-only already and owns its memory."""
    # Only of plain arrays: a subclass can say anything about itself.
    if type(values) is np.ndarray and values.base is None and not values.flags.writeable:
        return values
    array = np.array(values)
    array.flags.writeable = False
    return array


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _written(values: Any) -> Any:
    """The values of an array as JSON has them: None for NaN, which `np.array` reads as NaN."""
    if isinstance(values, list):
        return [_written(value) for value in values]
    return None if values != values else values


def _ends(written: Any) -> Floats:
    """Limits as `to_json` writes them: two rows, None for an end that is not there."""
    low, high = (np.array(row, dtype=np.float64) for row in written)
    return np.array([np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)])


def _number_type(name: str) -> np.dtype[Any]:
    """The type of a memo's array; names can stand for types of any size, and few are ours."""
    if name not in ("bool", "int8", "int16", "int32", "int64", "uint32", "uint64", "float64"):
        raise ValueError(f"no array of a ticket has the type {shortened(name)}")
    return np.dtype(name)


def with_levels(values: Mapping[Any, Any], names: Sequence[str]) -> dict[Any, Any]:
    """Values by key, a level of a column as 1 and the column's other levels as 0.

    >>> with_levels({"age": 31, "ward": "north"}, ["age", "ward=north", "ward=south"])
    {'age': 31, 'ward=north': 1.0, 'ward=south': 0.0}
    >>> with_levels({"ward": "nord"}, ["age", "ward=north", "ward=south"])
    Traceback (most recent call last):
    keyhole.errors.DataError: 'ward' must be one of north, south, got 'nord' (did you mean 'north'?)
    """
    found: dict[Any, Any] = {}
    for key, value in values.items():
        known = [] if not isinstance(key, str) or key in names else levels_of(key, names)
        if not known:
            found[key] = value
        elif value is not None and value == value:  # neither nothing nor NaN
            text = value if isinstance(value, str) else f"{value:g}"
            same = [one for one in known if one.strip().lower() == text.strip().lower()]
            if not same:
                hint = nearest(text, known)
                some = ", ".join(known)
                raise DataError(f"{key!r} must be one of {some}, got {shortened(text)}{hint}")
            level = text if text in known else same[0]
            found.update({f"{key}={one}": float(one == level) for one in known})
    return found


def levels_of(column: str, names: Sequence[str]) -> list[str]:
    """The levels of a column among names of features such as ward=north."""
    return [name[len(column) + 1 :] for name in names if name.startswith(f"{column}=")]


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """The order for one example: which features to buy, and what to remember until the label comes.

    Parameters
    ----------
    round
        Number of the round, from 1.
    features
        Indices of the features to buy, ascending, each once.
    names
        Their names, in the same order, when the problem has names.
    memo
        Arrays the learner will want when the label arrives (exploration set, inclusion
        probabilities, ...). Labels may come late, so nothing else of this round is remembered.
    cost
        What these features cost, in money; if it is not said, 1 each.
    order
        What to order for them where prices have panels: a panel is one item, not its members.
    limits
        The least and the largest value of each feature, two rows, where the problem has limits: a
        value beyond them is a DataError of `fill`.

    Examples
    --------
    >>> ticket = Ticket(round=1, features=[2, 5], names=("age", "tsh"))
    >>> ticket.fill([61.0, 0.4]).values
    array([61. ,  0.4])
    >>> ticket.fill({"tsh": 0.4}).values
    array([nan, 0.4])
    >>> ticket.cost, ticket.items
    (2.0, ('age', 'tsh'))
    >>> Ticket.from_json(ticket.to_json()) == ticket
    True
    """

    round: int
    features: Indices
    names: tuple[str, ...] | None = None
    memo: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    cost: float = math.nan
    order: tuple[str, ...] | None = None
    limits: Floats | None = None

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.features)
            if given.size and given.dtype.kind not in "iu":  # 0.7, "3" and True would be converted
                raise TypeError
            features = np.array(given, dtype=np.int64, ndmin=1)
        except (TypeError, ValueError, OverflowError):
            raise BudgetError(
                f"features must be whole numbers, got {shortened(self.features)}"
            ) from None
        if features.ndim != 1:
            raise BudgetError(f"features must be a flat list, got shape {features.shape}")
        if features.size and (features[0] < 0 or np.count_nonzero(features[1:] <= features[:-1])):
            _refuse_order(features)
        features.flags.writeable = False
        object.__setattr__(self, "round", whole_number("round", self.round, 1))
        object.__setattr__(self, "features", features)
        memo = {key: _frozen(array) for key, array in self.memo.items()}
        object.__setattr__(self, "memo", MappingProxyType(memo))
        if self.limits is not None:
            ends = _frozen(np.asarray(self.limits, dtype=np.float64))
            if ends.shape != (2, len(features)) or not (ends[0] <= ends[1]).all():
                raise BudgetError(
                    f"limits must be the least and the largest value of {len(features)} features, "
                    f"got {shortened(self.limits)}"
                )
            object.__setattr__(self, "limits", ends)
        if math.isnan(self.cost):
            object.__setattr__(self, "cost", float(len(features)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ticket):
            return NotImplemented
        return self._agrees(other, np.array_equal)

    def again(self, round: int, memo: Mapping[str, NDArray[Any]]) -> Ticket:
        """The order of the same features, at the same cost, for another example."""
        new = object.__new__(Ticket)
        for name in ("features", "names", "cost", "order", "limits"):
            object.__setattr__(new, name, getattr(self, name))
        frozen = {key: _frozen(array) for key, array in memo.items()}
        object.__setattr__(new, "round", round)
        object.__setattr__(new, "memo", MappingProxyType(frozen))
        return new

    def says_the_same(self, other: Ticket) -> bool:
        """Whether two tickets are copies of each other, to the last bit; names aside."""
        return self is other or self._agrees(other, _same_bits)

    def _agrees(self, other: Ticket, same: Callable[[Any, Any], bool]) -> bool:
        return (
            self.round == other.round
            and same(self.features, other.features)
            and self.memo.keys() == other.memo.keys()
            and all(same(array, other.memo[key]) for key, array in self.memo.items())
        )

    def __hash__(self) -> int:
        return hash((self.round, self.features.tobytes()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Ticket:
        return self  # nothing in a ticket can change

    def __repr__(self) -> str:
        return f"<Ticket of round {self.round:,}: buy {few(self._labels())}, for {self.cost:,.10g}>"

    def _repr_html_(self) -> str:
        rows = zip(self.features.tolist(), self._labels(), strict=True)
        title = f"Ticket of round {self.round:,}, for {self.cost:,.10g}"
        return html_table(title, rows, ("feature", "name"))

    def _labels(self) -> tuple[str, ...]:
        return self.names or tuple(f"feature {j}" for j in self.features.tolist())

    @property
    def items(self) -> tuple[str, ...]:
        """What to order: items of a price list, or the features themselves where there is none."""
        return self._labels() if self.order is None else self.order

    @property
    def known(self) -> dict[int, float]:
        """By feature, values that were in hand when the ticket was asked: they need no buying."""
        values = self.memo.get("known", np.empty(0)).tolist()
        pairs = zip(self.features.tolist(), values, strict=False)
        return {j: value for j, value in pairs if value == value}

    def fill(self, values: ArrayLike | Mapping[str, Any] | Mapping[int, Any]) -> Observation:
        """What came back for this ticket, as an Observation.

        `values` is an array in ticket order, or a mapping by name or by feature index; where
        ward=north and ward=south are features, ward may be "north", and no other then. NaN, None
        or a missing key mean that the value was bought and did not arrive. What was known when the
        ticket was asked may be left out: of a mapping, or of an array as NaN.
        """
        if type(values) is np.ndarray and values.dtype == np.float64:
            return self._observed(np.array(values))
        if not isinstance(values, np.ndarray) and isinstance(values, Mapping):
            return self._observed(self._by_key(values))
        try:
            array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
            if array.dtype.kind == "O":
                return self._observed(np.array(array, dtype=np.float64))
            if array.dtype.kind in "biuf":  # strings would be converted without a word
                return self._observed(np.array(real_numbers("values", array), dtype=np.float64))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
        raise DataError(f"values must be numbers, one per feature, got {shortened(values)}")

    def _observed(self, values: Floats) -> Observation:
        known = self.memo.get("known")
        if known is not None and values.shape == known.shape:
            values = np.where(np.isnan(values), known, values)
        return Observation(self, values)

    def _by_key(self, values: Mapping[Any, Any]) -> Floats:
        place: dict[object, int] = {int(j): i for i, j in enumerate(self.features)}
        if self.names is not None:
            place.update({name: i for i, name in enumerate(self.names)})
        filled = np.full(len(self.features), np.nan)
        given: dict[int, object] = {}
        for key, value in with_levels(values, self.names or ()).items():
            if key not in place:
                hint = nearest(key, self.names or ())
                raise DataError(f"{key!r} was not bought in round {self.round}{hint}")
            if given.setdefault(place[key], key) is not key:
                raise DataError(
                    f"{given[place[key]]!r} and {key!r} are the same feature: give one value for it"
                )
            if value is None:
                continue
            if isinstance(value, str | bytes):
                raise DataError(f"the value of {key!r} must be a number, got {shortened(value)}")
            try:
                filled[place[key]] = float(value)
            except (TypeError, ValueError, OverflowError):
                raise DataError(
                    f"the value of {key!r} must be a number, got {shortened(value)}"
                ) from None
        return filled

    def to_json(self) -> str:
        """The whole ticket as one line of JSON, to be kept until the label comes."""
        memo = {
            key: {array.dtype.name: _written(array.tolist())} for key, array in self.memo.items()
        }
        parts = {"round": self.round, "features": self.features.tolist(), "names": self.names}
        paid: dict[str, Any] = {"cost": self.cost, "order": self.order}
        if self.limits is not None:  # None for an end that is not there: JSON has no infinity
            ends = [[end if math.isfinite(end) else None for end in row] for row in self.limits]
            paid["limits"] = ends
        return json.dumps({**parts, **paid, "memo": memo}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Ticket:
        """The ticket that `to_json` wrote."""
        try:
            parts = json.loads(text)
            names, order, ends = parts["names"], parts.get("order"), parts.get("limits")
            memo = {
                str(key): np.array(values, dtype=_number_type(dtype))
                for key, typed in parts["memo"].items()
                for dtype, values in typed.items()
            }
            return cls(
                round=parts["round"],
                features=parts["features"],
                names=None if names is None else tuple(map(str, names)),
                memo=memo,
                cost=float(parts.get("cost", math.nan)),
                order=None if order is None else tuple(map(str, order)),
                limits=None if ends is None else _ends(ends),
            )
        except (
            *(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
            *(BudgetError, ProblemError),
        ) as error:
            raise DataError(
                f"not a ticket written by to_json: {shortened(str(error))}; got {shortened(text)}"
            ) from None


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What was seen of one example: the values of a ticket's features, NaN where one is absent.

    A value above 1e150 in size is a DataError, one below 1e-150 is 0: neither can be squared. So is
    one beyond the limits of its feature, if the problem has limits.

    `prediction` is what a learner last predicted from it, None before: `predict` sets it, and
    `tell` hands it to the calibration behind `learner.interval`. If you recreate an observation for
    a late label, you can set what was predicted at the time.
    """

    ticket: Ticket
    values: Floats
    prediction: float | None = None

    def __post_init__(self) -> None:
        if self.prediction is not None:
            predicted = real_number("prediction", self.prediction, -LARGEST, LARGEST)
            object.__setattr__(self, "prediction", predicted)
        if not isinstance(self.ticket, Ticket):
            raise DataError(f"an observation needs a Ticket, got {shortened(self.ticket)}")
        features = self.ticket.features
        if type(self.values) is not np.ndarray or self.values.dtype != np.float64:
            values = real_numbers("values", self.values).astype(np.float64)
            object.__setattr__(self, "values", values)
        if self.values.shape != features.shape:
            raise DataError(
                f"the ticket of round {self.ticket.round} has {len(features)} features, "
                f"got values of shape {self.values.shape}"
            )
        sizes = np.abs(self.values)
        too_large = sizes > LARGEST
        if np.count_nonzero(too_large):
            raise DataError(
                f"feature {features[too_large][0]} is {self.values[too_large][0]:g} in round "
                f"{self.ticket.round}: values are at most {LARGEST:g} in size, NaN for absent"
            )
        too_small = sizes < SMALLEST
        if np.count_nonzero(too_small):
            object.__setattr__(self, "values", np.where(too_small, 0.0, self.values))
        self.values.flags.writeable = False
        if self.ticket.limits is not None:
            names, where = self.ticket._labels(), f"in round {self.ticket.round}"
            refuse_beyond(self.values, self.ticket.limits, names, where)

    def __repr__(self) -> str:
        pairs = zip(self.ticket._labels(), self.values.tolist(), strict=True)
        return f"<Observation of round {self.round:,}: {few([f'{n}={v:.6g}' for n, v in pairs])}>"

    def _repr_html_(self) -> str:
        rows = zip(self.ticket._labels(), self.values.tolist(), strict=True)
        return html_table(f"Observation of round {self.round:,}", rows, ("feature", "value"))

    @property
    def round(self) -> int:
        """The round the ticket was issued in."""
        return self.ticket.round

    @property
    def awaited(self) -> tuple[str, ...]:
        """What was bought and has not arrived yet: names, or `feature 7` where there are none."""
        pairs = zip(self.ticket._labels(), np.isnan(self.values).tolist(), strict=True)
        return tuple(label for label, absent in pairs if absent)

    def fill(self, values: ArrayLike | Mapping[str, Any] | Mapping[int, Any]) -> Observation:
        """What is known once these values have arrived too, in any order; each comes once.

        As `Ticket.fill` takes them; the same value once more changes nothing.

        >>> seen = Ticket(round=1, features=[2, 5], names=("age", "tsh")).fill({"tsh": 0.4})
        >>> seen.awaited, seen.fill({"age": 61.0}).values
        (('age',), array([61. ,  0.4]))
        """
        more = self.ticket.fill(values)
        before, now = self.values, more.values
        other = ~(np.isnan(before) | np.isnan(now) | (before == now))
        for at in np.flatnonzero(other)[:1].tolist():
            raise DataError(
                f"{self.ticket._labels()[at]} was {before[at]:g} before, and now is {now[at]:g}: "
                "each value comes once; to change one, fill the ticket anew with ticket.fill(...)"
            )
        return Observation(self.ticket, np.where(np.isnan(now), before, now))

    def arrived(self) -> tuple[Indices, Floats]:
        """Indices and values of the features that were bought and did arrive."""
        here = ~np.isnan(self.values)
        if here.all():
            return self.ticket.features, self.values
        return self.ticket.features[here], self.values[here]

    def at(self, features: Indices) -> Floats:
        """Values of the given features, NaN for those absent or never bought."""
        bought = self.ticket.features
        result = np.full(len(features), np.nan)
        if len(bought):
            place = np.minimum(np.searchsorted(bought, features), len(bought) - 1)
            hit = bought[place] == features
            result[hit] = self.values[place[hit]]
        return result


def refuse_unless_ticket(ticket: object) -> None:
    """TicketError unless it is a Ticket."""
    if not isinstance(ticket, Ticket):
        raise TicketError(f"a ticket is what ask() returns, got a {type(ticket).__name__}")


def refuse_unfilled(verb: str, seen: object) -> None:
    """DataError unless `verb` was given an Observation."""
    if not isinstance(seen, Observation):
        raise DataError(f"{verb} takes what ticket.fill(...) returns, got a {type(seen).__name__}")
