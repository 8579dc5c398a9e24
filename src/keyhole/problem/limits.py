"""Limits: what a feature and the label can be; anything else is a mistake and refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import DataError, ProblemError, real_number, shortened

Ends = tuple[float | None, float | None]  # least and largest; None where there is no such end
LimitList = Mapping[str, Sequence[float | None]] | Mapping[int, Sequence[float | None]]
ANYTHING = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the largest value of some features, and of the label, both included.

    Parameters
    ----------
    features
        The features that have limits, ascending.
    low, high
        Of each of them; infinite where there is no such end.
    label
        Of the label.

    Examples
    --------
    >>> limits = limits_of({1: (0, 600)}, (0, None), 3, lambda key, what: key)
    >>> limits.rows_beyond(np.array([[9.0, 601.0, 9.0], [9.0, 600.0, 9.0]]))
    array([ True, False])
    >>> limits.absent(np.array([[9.0, 601.0, 9.0]]))
    array([[ 9., nan,  9.]])
    >>> limits.refuse_label(-2.0)
    Traceback (most recent call last):
    keyhole.errors.DataError: the label is -2: its limits are at least 0; correct it, or drop the
    ticket if it is not known
    """

    features: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    label: tuple[float, float] = ANYTHING
    _numbers: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", np.array(self.features, dtype=np.int64))

    def of(self, features: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """The least and the largest value of each of these, two rows; None: they have no limits."""
        if not self.features:
            return None
        places = np.searchsorted(self._numbers, features).clip(max=len(self.features) - 1)
        limited = self._numbers[places] == features
        if not limited.any():
            return None
        ends = np.repeat(np.array([ANYTHING]).T, len(features), axis=1)
        for side, all_ends in enumerate((self.low, self.high)):
            ends[side, limited] = [all_ends[place] for place in places[limited].tolist()]
        return ends

    def rows_beyond(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which rows have a value beyond its limits, bought or not."""
        found = np.zeros(len(X), dtype=np.bool_)
        for j, low, high in zip(self.features, self.low, self.high, strict=True):
            column = np.asarray(X[:, j])
            found |= (column < low) | (column > high)
        return found

    def absent(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Rows with NaN in place of every value beyond its limits, for data that are what they are.

        With `ArrayStream(problem.limits.absent(X), y)`, what cannot be right counts as not arrived.
        """
        values = np.array(X, dtype=np.float64)
        for j, low, high in zip(self.features, self.low, self.high, strict=True):
            values[(values[:, j] < low) | (values[:, j] > high), j] = np.nan
        return values

    def refuse_label(self, y: float) -> None:
        """DataError for a label beyond its limits."""
        low, high = self.label
        if not low <= y <= high:
            raise DataError(
                f"the label is {y:.12g}: its limits are {written_ends(low, high)}; correct it, or "
                "drop the ticket if it is not known"
            )

    def refuse_labels(self, y: NDArray[np.float64]) -> None:
        """The same for the first of these labels that is beyond them."""
        low, high = self.label
        for label in y[(y < low) | (y > high)][:1].tolist():
            self.refuse_label(label)

    def refuse_rows(
        self,
        X: NDArray[np.floating],
        label: Callable[[int], str],
        where: str,
        first: int | None = None,
    ) -> None:
        """DataError for the first of these complete rows that has a value beyond its limits.

        `label` says what features are called; `first`, how many rows there were before.
        """
        for t in np.flatnonzero(self.rows_beyond(X))[:1].tolist():
            row = where if first is None else f"{where}, row {first + t + 1:,}"
            limited = np.array(self.features)
            ends, names = np.array([self.low, self.high]), [label(j) for j in self.features]
            refuse_beyond(X[t, limited], ends, names, row)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: None for an end that is not there."""
        return {
            "features": list(self.features),
            "low": [_written(end) for end in self.low],
            "high": [_written(end) for end in self.high],
            "label": [_written(end) for end in self.label],
        }

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any], d: int) -> Limits:
        """The limits that `as_dict` described, or a ProblemError."""
        features = [*parts["features"]]
        if any(type(j) is not int for j in features) or sorted({*features}) != features:
            raise ProblemError(f"limits: features must be ascending, got {shortened(features)}")
        pairs = dict(zip(features, zip(parts["low"], parts["high"], strict=True), strict=True))

        def find(key: object, what: str) -> int:
            if not isinstance(key, int) or not 0 <= key < d:
                raise ProblemError(f"limits: there is no feature {shortened(key)}")
            return key

        return limits_of(pairs, parts["label"], d, find) or cls()


def limits_of(
    given: LimitList | Limits | None,
    label: Sequence[float | None] | None,
    d: int,
    find: Callable[[Any, str], int],
) -> Limits | None:
    """The limits of a problem; None where nothing is limited. ProblemError for what makes none."""
    known: Mapping[Any, Sequence[float | None]] = {}
    last = ANYTHING
    if isinstance(given, Limits):
        if given.features and given.features[-1] >= d:
            raise ProblemError(
                f"limits of another problem: they have feature {given.features[-1]}, there are {d}"
            )
        pairs = zip(given.features, zip(given.low, given.high, strict=True), strict=True)
        ends, last = dict(pairs), given.label
    elif given is None or isinstance(given, Mapping):
        known, ends = given or {}, {}
    else:
        raise ProblemError(
            'limits must be pairs by feature, such as {"crp": (0, 600)}, got ' + shortened(given)
        )
    for key, pair in known.items():
        j = find(key, "limits")
        if j in ends:
            raise ProblemError(f"limits: {shortened(key)} is given twice: give one pair for it")
        ends[j] = _ends(f"limits of {shortened(key)}", pair)
    if label is not None:
        last = _ends("label_limits", label)
    limited = {j: ends[j] for j in sorted(ends) if ends[j] != ANYTHING}
    if not limited and last == ANYTHING:
        return None
    lows, highs = (tuple(pair[side] for pair in limited.values()) for side in (0, 1))
    return Limits(tuple(limited), lows, highs, last)


def refuse_beyond(
    values: NDArray[np.floating], ends: NDArray[np.float64], names: Sequence[str], where: str
) -> None:
    """DataError for the first of these values that is beyond its ends; NaN is beyond none."""
    beyond = np.flatnonzero((values < ends[0]) | (values > ends[1]))
    for i in beyond[:1].tolist():
        low, high = ends[:, i].tolist()
        raise DataError(
            f"{names[i]} is {float(values[i]):.12g} {where}: its limits are "
            f"{written_ends(low, high)}; correct it, or leave it out if it did not arrive"
        )


def written_ends(low: float, high: float) -> str:
    """Limits in words.

    >>> written_ends(0.0, 600.0), written_ends(-math.inf, 5.0)
    ('0 to 600', 'at most 5')
    """
    if high == math.inf:
        return f"at least {low:.12g}"
    return f"at most {high:.12g}" if low == -math.inf else f"{low:.12g} to {high:.12g}"


def _ends(what: str, pair: object) -> tuple[float, float]:
    """Two numbers, infinite for None; or a ProblemError."""
    if isinstance(pair, str | bytes | Mapping) or not isinstance(pair, Sequence | np.ndarray):
        _refuse_pair(what, pair)
    if len(pair) != 2:
        _refuse_pair(what, pair)
    low, high = (
        end if each is None or each == end else real_number(what, each)
        for each, end in zip(pair, ANYTHING, strict=True)
    )
    if not low <= high:
        raise ProblemError(f"{what} must be the least first, got {low:g} and {high:g}")
    return low, high


def _refuse_pair(what: str, pair: object) -> NoReturn:
    raise ProblemError(
        f"{what} must be the least and the largest, such as (0, 600), None where there is no such "
        f"end, got {shortened(pair)}"
    )


def _written(end: float) -> float | None:
    return end if math.isfinite(end) else None
