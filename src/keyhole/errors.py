"""The errors, and the checks of arguments that raise them."""

from __future__ import annotations

import difflib
import functools
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 1e150  # of values and labels, in size: the square of anything larger may overflow
SMALLEST = 1e-150  # values and labels below this in size count as 0: their squares would underflow
MANY_NAMES = 5_000
REAL, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# What a terminal obeys: C0, DEL and C1; marks, separators and overrides of the writing direction.
CONTROL = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"


def printable(text: str) -> str:
    r"""Text without what a terminal would obey: control characters, changes of direction.

    >>> print(printable("tsh\x1b[2J\u202e"))
    tsh\x1b[2J\u202e
    """
    return re.sub(f"[{CONTROL}]", lambda found: repr(found[0])[1:-1], text)


class KeyholeError(Exception):
    """Anything keyhole refuses to do. Whatever raised it left every state as it was."""

    def __str__(self) -> str:
        return printable(super().__str__())  # names of columns and files are what others wrote


class ProblemError(KeyholeError, ValueError):
    """A problem, a parameter or a combination of them that makes no sense."""


class BudgetError(KeyholeError):
    """A ticket that asks for more than the budget, for the same feature twice, or out of range."""


class TicketError(KeyholeError):
    """A ticket that was never issued, or is already closed by a label or a drop."""


class DataError(KeyholeError, ValueError):
    """Values, labels, names or files that cannot be used."""


class StateError(KeyholeError, ValueError):
    """A learner that cannot be saved, merged or corrected, or a file that makes no learner."""


class StoreError(KeyholeError):
    """A store that cannot do what it is asked, or cannot be read or written."""


class UnknownLearnerError(StoreError, LookupError):
    """A name that no learner of the store has."""

    __str__ = KeyholeError.__str__  # that of LookupError may come first, and quotes nothing


class UnknownTicketError(StoreError, TicketError, LookupError):
    """An id that no ticket of the store has, or that cannot be an id: a mistyped one."""

    __str__ = KeyholeError.__str__


class ConflictError(StoreError):
    """What is asked does not go with what the store has: a name that is taken, a second label."""


class DoubtError(ConflictError):
    """Values or labels far beyond what was seen, which somebody has to confirm.

    `by_ticket` has the doubts (`kh.Doubt`) by the id of their ticket, `doubts` all of them.
    """

    def __init__(self, words: str, by_ticket: Mapping[str, tuple[Any, ...]] | None = None) -> None:
        super().__init__(words)
        self.by_ticket = dict(by_ticket or {})

    @property
    def doubts(self) -> tuple[Any, ...]:
        """The doubts of all tickets."""
        return tuple(doubt for doubts in self.by_ticket.values() for doubt in doubts)


class StoreLockedError(StoreError):
    """Other processes were writing to the store for longer than this one would wait."""


class StoreDamagedError(StoreError):
    """What is in the store is not what keyhole wrote there, or does not replay as it happened."""


class MissingExtraError(KeyholeError, ImportError):
    """A package that an optional part of keyhole needs is not installed."""


class ServiceError(KeyholeError):
    """A service that cannot be reached, or refuses what it is asked for."""


class ClusterError(KeyholeError):
    """Workers that cannot be reached, are lost, or are not what this process is."""


def shortened(value: object, most: int = 80) -> str:
    """A value as it is shown in a message: not longer than a line, and always printable.

    >>> shortened("a" * 100), shortened([1, 2])
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", '[1, 2]')
    """
    try:
        text = repr(value)
    except Exception:  # numbers of too many digits, objects with a broken __repr__
        return f"a {type(value).__name__}"
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[3 - half :]}"


def whole_number(name: str, value: SupportsIndex, least: int) -> int:
    """`value` as an int that is at least `least`, or a ProblemError that names the argument."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ProblemError(f"{name} must be a whole number, got {shortened(value)}") from None
    if number < least:
        raise ProblemError(f"{name} must be at least {least}, got {shortened(number)}")
    return number


def sparsity(k: SupportsIndex, d: int) -> int:
    """`k` as a whole number from 1 to d, or a ProblemError."""
    number = whole_number("k", k, 1)
    if number > d:
        raise ProblemError(f"k must be at most d = {d}, got {number}")
    return number


def real_number(name: str, value: float, least: float = -math.inf, most: float = math.inf) -> float:
    """`value` as a finite float in [least, most], or a ProblemError that names the argument."""
    try:
        number = _float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{name} must be a number, got {shortened(value)}") from None
    if not (math.isfinite(number) and least <= number <= most):
        limits = f"from {least:g} to {most:g}"
        if most == math.inf:
            limits = "finite" if least == -math.inf else f"at least {least:g} and finite"
        raise ProblemError(f"{name} must be {limits}, got {number:g}")
    return number


def _float(value: SupportsFloat) -> float:
    """`value` as a float; a TypeError for what `float` takes with or without a warning."""
    odd = isinstance(value, complex | str | bytes | np.ma.MaskedArray)
    if odd or getattr(value, "dtype", REAL).kind not in "biuf":
        raise TypeError
    return float(value)


def positive_number(name: str, value: float, hint: str = "") -> float:
    """`value` as a finite float above 0, or a ProblemError that names the argument.

    `hint` says, at the end of its message, what could be given instead.
    """
    if isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} must be a number, got {value}{hint}")
    number = real_number(name, value)
    if number <= 0:
        raise ProblemError(f"{name} must be positive, got {number:g}{hint}")
    return number


def true_or_false(name: str, value: object) -> bool:
    """`value` as a bool if it is one, or a ProblemError that names the argument."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} must be True or False, got {shortened(value)}")
    return bool(value)


def without_password(address: str) -> str:
    """An address as it may be shown, however it is written: nothing before its last @.

    >>> without_password("postgresql://me:se/cr@et@host/db?sslmode=on&password=x")
    'postgresql://...@host/db?sslmode=on&password=...'
    """
    hidden = re.sub(r"(?s)^([a-zA-Z][\w+.-]*:/*)?.*@", r"\1...@", address)
    return re.sub(r"(?i)((?:pass\w*|sslpassword|key|token|secret)=)[^&\s]*", r"\1...", hidden)


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    """`value` if it is one of the known strings, or a ProblemError that names the argument.

    >>> one_of("schedule", "papr", ("adaptive", "paper"))
    Traceback (most recent call last):
    keyhole.errors.ProblemError: schedule must be one of adaptive, paper, got 'papr' (did you ...
    """
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        raise ProblemError(
            f"{name} must be one of {', '.join(names)}, got {value!r}{nearest(value, names)}"
        )
    return value


def nearest(name: object, names: Sequence[str]) -> str:
    """The hint ' (did you mean ...?)' for a misspelt name, or an empty string.

    Of more than MANY_NAMES only those that begin alike are compared: all would take seconds.

    >>> nearest("crp_gm", ["age", "crp_mg"]), nearest("g77777x", [f"g{j}" for j in range(100_000)])
    (" (did you mean 'crp_mg'?)", " (did you mean 'g77777'?)")
    """
    given = str(name)
    if len(names) > MANY_NAMES:
        start = given[: -(-len(given) // 2)]
        names = [other for other in names if other.startswith(start)][:MANY_NAMES]
    close = difflib.get_close_matches(given, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


class FeatureNames(tuple[str, ...]):
    """Different, non-empty names: those of a million features are not looked through again.

    A tuple in everything; `feature_names` makes them.
    """

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """The number of each feature, by its name."""
        return {name: j for j, name in enumerate(self)}

    def __deepcopy__(self, memo: dict[int, object]) -> FeatureNames:
        return self  # nothing in it can change

    def __getstate__(self) -> None:
        return None  # `places` can be found again


def feature_names(names: Sequence[str] | None, d: int) -> FeatureNames | None:
    """`names` as a tuple of d different non-empty strings, or a ProblemError."""
    if names is None:
        return None
    if isinstance(names, str):
        raise ProblemError(f"names must be a sequence of {d} strings, got the string {names!r}")
    known = names if type(names) is FeatureNames else FeatureNames(names)
    if len(known) != d:
        raise ProblemError(
            f"names must have one entry per feature: {d} features, {len(known)} names"
        )
    if known is not names:
        _refuse_odd_names(known)
    return known


def _refuse_odd_names(names: FeatureNames) -> None:
    if set(map(type, names)) == {str} and len({*names, ""}) == len(names) + 1:
        return
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise ProblemError(f"names must be non-empty strings, got {name!r}")
        if name in seen:
            raise ProblemError(f"names must be different from each other, {name!r} comes twice")
        seen.add(name)


def real_numbers(name: str, values: ArrayLike) -> NDArray[np.floating]:
    """`values` as a plain array of float32 or float64 in native byte order, or a DataError.

    These two are taken as they are, without a copy; any other real numbers become float64. Text,
    complex numbers, objects and masked arrays are refused, and so is what float64 cannot hold.

    >>> real_numbers("X", np.array([1, 2], dtype=">f2"))
    array([1., 2.])
    >>> real_numbers("X", ["1", "2"])
    Traceback (most recent call last):
    keyhole.errors.DataError: X must be numbers, got <U1
    """
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{name} is a masked array: fill it first, {name}.filled(np.nan)")
    try:
        array = np.asarray(values)  # never a subclass: those can say anything about themselves
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{name} must be numbers: {shortened(str(error))}") from None
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must be numbers, got {array.dtype}")
    if array.dtype in (REAL, SINGLE):  # native: other byte orders compare unequal
        return array
    with np.errstate(over="ignore"):
        result = array.astype(np.float64)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        lost = np.isinf(result) & np.isfinite(array)
        if lost.any():
            raise DataError(f"{name} holds {array[lost][0]}, which is beyond float64")
    return result


def refuse_unless_stream(stream: object, *, blocks: bool = False, name: str = "stream") -> None:
    """ProblemError unless this has the members of a stream, and of one of blocks if asked for.

    `name` is that of the argument.
    """
    members = ("names", "rounds", "__iter__", *(("blocks",) if blocks else ()))
    d = getattr(stream, "d", None)
    if not isinstance(d, int | np.integer) or not all(hasattr(stream, m) for m in members):
        raise ProblemError(
            f"{name} must be a stream of examples{' in blocks' if blocks else ''}, got a "
            f"{type(stream).__name__}: make one with kh.streams.ArrayStream(X, y), or with "
            "kh.streams.read(frame, target=...) from a dataframe or a file"
        )


def rows_and_labels(
    X: ArrayLike, y: ArrayLike, d: int
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """X and y as arrays of numbers, d features per row and a label for each, or a DataError."""
    rows, labels = real_numbers("X", X), real_numbers("y", y).astype(np.float64, copy=False)
    if labels.ndim != 1 or rows.shape != (len(labels), d):
        raise DataError(
            f"a block needs {d} features per row and one label for each, "
            f"got X of shape {rows.shape} and y of shape {labels.shape}"
        )
    return rows, labels


def refuse_labels(y: NDArray[np.float64]) -> None:
    """The DataError of `finite_label` for the first label that cannot be learnt from, if any."""
    usable = np.abs(y) <= LARGEST
    if not usable.all():
        finite_label(y[~usable][0])


def refuse_round(round: int) -> NoReturn:
    """The DataError of block play that meets a value it cannot use."""
    raise DataError(f"round {round}: values are at most {LARGEST:g} in size, NaN for absent")


def finite_label(y: SupportsFloat) -> float:
    """The label as a finite float, or a DataError."""
    if type(y) is float and SMALLEST <= abs(y) <= LARGEST:
        return y
    try:
        label = _float(y)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"the label must be a number, got {shortened(y)}") from None
    if not abs(label) <= LARGEST:
        raise DataError(
            f"the label must be a finite number of at most {LARGEST:g} in size, got {label}; "
            "drop the ticket if it never comes"
        )
    return 0.0 if abs(label) < SMALLEST else label
