"""Records that the store returns: tickets, learners and events; ticket ids, checked names."""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from keyhole.errors import CONTROL, ProblemError, UnknownTicketError, real_number, shortened
from keyhole.problem.step import PLAN
from keyhole.problem.ticket import Ticket

State = Literal["asked", "filled", "told", "dropped"]
EventKind = Literal["created", "asked", "seen", "interval", "step", "told", "dropped", "corrected"]
# What can be asked for: a state, or both of those that wait, or both of those that do not.
STATES: Mapping[str, tuple[State, ...]] = {
    "asked": ("asked",),
    "filled": ("filled",),
    "told": ("told",),
    "dropped": ("dropped",),
    "open": ("asked", "filled"),
    "closed": ("told", "dropped"),
}


def moment(seconds: float | None) -> datetime | None:
    """A time as the database has it, in seconds since 1970."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _written(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _written_fields(record: object, *names: str) -> dict[str, Any]:
    return {name: _written(getattr(record, name)) for name in names}


@dataclass(frozen=True, slots=True)
class NextStep:
    """What `next` said of a ticket: what to buy now, or that enough is known; then it is false.

    Parameters
    ----------
    features
        The features to buy now, by name or 'feature 7'.
    items, item_prices
        What to order for them, and what each costs.
    cost
        What this step costs beside what was paid.
    reason
        Why to go on, or why not, in words.
    """

    features: tuple[str, ...]
    items: tuple[str, ...]
    item_prices: tuple[float, ...]
    cost: float
    reason: str

    def __bool__(self) -> bool:
        return bool(self.features)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "enough": not self,
            "features": list(self.features),
            "items": _priced_items(self.items, self.item_prices),
            "cost": self.cost,
            "reason": self.reason,
        }


def _priced_items(items: Sequence[str], prices: Sequence[float]) -> list[dict[str, Any]]:
    return [{"item": item, "price": price} for item, price in zip(items, prices, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class StoredTicket:
    """A ticket and all that has happened to it.

    Parameters
    ----------
    id
        Its id, unique in the store and fit for a form.
    learner
        The name of the learner that issued it.
    state
        "asked", "filled", "told" or "dropped".
    who
        Who asked.
    asked_at, expires_at, filled_at, closed_at
        When; None for what has not happened. `expires_at` is a note: labels that come later count.
        `filled_at` is when values came for the last time.
    ticket
        The order itself; if it is bought step by step, all that was ordered so far.
    item_prices
        What each of `items` costs, in the same order.
    units
        The unit of each feature by name, for those that have one.
    values
        What came back, in the order of the features, NaN for what did not; None before `fill`.
    prediction
        What was predicted from the values that are there, and served.
    coverage, low, high
        The interval that was served with it: the label lies between low and high in a share
        `coverage` of rounds. None where there was none, low and high before the first label too.
    label
        The label that was told.
    corrected_at
        When values or label were corrected for the last time: they are those of the correction.
    yes_no
        Whether labels are 0 or 1, and what is predicted is the probability of 1.
    step
        What `next` said last, until values of it come; None if it was not asked since.
    """

    id: str
    learner: str
    state: State
    who: str
    asked_at: datetime
    expires_at: datetime | None
    filled_at: datetime | None
    closed_at: datetime | None
    ticket: Ticket
    item_prices: tuple[float, ...]
    units: Mapping[str, str]
    values: tuple[float, ...] | None
    prediction: float | None
    label: float | None
    coverage: float | None = None
    low: float | None = None
    high: float | None = None
    corrected_at: datetime | None = None
    yes_no: bool = False
    step: NextStep | None = None

    def __eq__(self, other: object) -> bool:
        """Whether it says the same; what did not arrive is the same as what did not arrive."""
        if not isinstance(other, StoredTicket):
            return NotImplemented
        same = self.ticket.says_the_same(other.ticket)
        return same and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def round(self) -> int:
        """The learner's round."""
        return self.ticket.round

    @property
    def cost(self) -> float:
        """What it costs in all."""
        return self.ticket.cost

    @property
    def items(self) -> tuple[str, ...]:
        """What to order."""
        return self.ticket.items

    @property
    def names(self) -> tuple[str, ...]:
        """What to call the features: their names, or 'feature 7'."""
        if self.ticket.names is not None:
            return self.ticket.names
        return tuple(f"feature {j}" for j in self.ticket.features.tolist())

    @property
    def open(self) -> bool:
        """Whether it still waits: for values, or for its label."""
        return self.state in STATES["open"]

    @property
    def stepwise(self) -> bool:
        """Whether it was asked step by step, by a learner that goes on with it."""
        return PLAN in self.ticket.memo

    @property
    def awaited(self) -> tuple[str, ...]:
        """The features whose values have not come yet; none once it is closed."""
        if not self.open:
            return ()
        values = self.values or tuple(
            self.ticket.known.get(j, math.nan) for j in self.ticket.features.tolist()
        )
        pairs = zip(self.names, values, strict=True)
        return tuple(name for name, value in pairs if math.isnan(value))

    @property
    def probability(self) -> float | None:
        """The probability of a yes, where labels are yes or no."""
        return self.prediction if self.yes_no else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: times as ISO 8601, values by name, null for what did not arrive."""
        values = None
        if self.values is not None:
            pairs = zip(self.names, self.values, strict=True)
            values = {name: None if math.isnan(value) else value for name, value in pairs}
        names = self.names
        return {
            **_written_fields(self, "id", "learner", "round", "state"),
            "features": list(names),
            "numbers": self.ticket.features.tolist(),
            "units": {name: self.units[name] for name in names if name in self.units},
            "items": _priced_items(self.items, self.item_prices),
            **_written_fields(self, "cost", "who"),
            **_written_fields(self, "asked_at", "expires_at", "filled_at", "closed_at"),
            **_written_fields(self, "corrected_at"),
            "values": values,
            "awaited": list(self.awaited),
            **_written_fields(self, "prediction", "probability", "coverage", "low", "high"),
            **_written_fields(self, "label"),
            "step": None if self.step is None else self.step.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class LearnerInfo:
    """What there is to say about a learner without loading it.

    Parameters
    ----------
    name, kind, seed
        Its name in the store, its name in `kh.LEARNERS`, its seed.
    d, k, budget, names, priced
        Its problem; `priced` says whether the budget is money.
    units
        The unit of each feature by name, for those that have one.
    history
        How many rows it studied before its first round.
    rounds, waiting, filled, told, dropped
        Tickets issued; of these those that wait for values, for a label, have one, or were dropped.
    spent
        What all tickets cost.
    loss
        The sum of squared errors of the predictions that were served.
    created_at, asked_at, told_at
        When it was made, was asked last, was told a label last.
    events
        Length of its log.
    yes_no
        Whether labels are 0 or 1 and predictions probabilities; then the loss is the Brier score.
    """

    name: str
    kind: str
    seed: int
    d: int
    k: int
    budget: float
    names: tuple[str, ...] | None
    priced: bool
    units: Mapping[str, str]
    history: int
    rounds: int
    waiting: int
    filled: int
    told: int
    dropped: int
    spent: float
    loss: float
    created_at: datetime
    asked_at: datetime | None
    told_at: datetime | None
    events: int
    yes_no: bool = False

    @property
    def open(self) -> int:
        """Tickets that wait for values or for a label."""
        return self.waiting + self.filled

    @property
    def mean_loss(self) -> float | None:
        """Mean squared error of the predictions that were served; None before the first label."""
        return self.loss / self.told if self.told else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = None if self.names is None else list(self.names)
        written = _written_fields(self, *self.__slots__, "open", "mean_loss")
        return {**written, "names": names, "units": dict(self.units)}


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction that was committed: how many requests were in it, and how long that took."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The last snapshot of a learner: when it was taken, and how many events came since."""

    at: datetime
    tail: int


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a learner's log.

    Parameters
    ----------
    seq
        Its number, from 1.
    kind
        "created", "asked", "seen" (values came, a prediction was served), "interval" (one more was
        served for them, of another coverage), "step" (what is bought next, or that enough is
        known), "told", "dropped" or "corrected" (values or label were wrong; what they `was` is
        there too).
    ticket
        The id of the ticket, None for "created", and for "interval", whose body names it.
    who, at
        Who did it, and when, in seconds since 1970.
    body
        What happened, as JSON.
    digest
        Of this line and all before it.
    """

    seq: int
    kind: EventKind
    ticket: str | None
    who: str
    at: float
    body: str
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        about = _written_fields(self, "seq", "kind", "ticket", "who")
        return {**about, "at": _written(moment(self.at)), "body": json.loads(self.body)}


# Crockford's base 32: no I, L, O, U. The first three are taken for 1, 1 and 0 when they are typed.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LETTER_VALUES = {letter: value for value, letter in enumerate(ALPHABET)} | {"I": 1, "L": 1, "O": 0}
RANDOM_LETTERS = 11  # 55 random bits: a million tickets share an id with probability 1e-5
ID_LENGTH = RANDOM_LETTERS + 1


def new_id() -> str:
    """A new id: 11 random characters and one to check them, in groups of four.

    >>> len(new_id()), read_id(new_id().lower()) == ""
    (14, False)
    """
    bits = secrets.randbits(5 * RANDOM_LETTERS)
    drawn = [bits >> 5 * place & 31 for place in range(RANDOM_LETTERS)]
    return _grouped([*drawn, _check(drawn)])


def read_id(text: object) -> str:
    """The id that was typed, as `new_id` writes it; UnknownTicketError if it cannot be one.

    >>> read_id("0123 4567-89am")
    '0123-4567-89AM'
    >>> read_id("0123-4567-98AM")
    Traceback (most recent call last):
    keyhole.errors.UnknownTicketError: '0123-4567-98AM' is not a ticket: its check character is
    wrong, so something in it was mistyped
    """
    if not isinstance(text, str):
        raise UnknownTicketError(f"a ticket's id is text such as 0123-4567-89AM, got {text!r}")
    letters = [letter for letter in text.upper() if letter not in "- \t\n"]
    if len(letters) != ID_LENGTH or not all(letter in LETTER_VALUES for letter in letters):
        raise UnknownTicketError(
            f"{shortened(text)} is not a ticket: an id has {ID_LENGTH} letters and digits, such as "
            "0123-4567-89AM, and no U"
        )
    values = [LETTER_VALUES[letter] for letter in letters]
    if _check(values[:-1]) != values[-1]:
        raise UnknownTicketError(
            f"{shortened(text)} is not a ticket: its check character is wrong, so something in "
            "it was mistyped"
        )
    return _grouped(values)


def _grouped(values: list[int]) -> str:
    letters = "".join(ALPHABET[value] for value in values)
    return "-".join(letters[first : first + 4] for first in range(0, ID_LENGTH, 4))


def _check(values: list[int]) -> int:
    """The sum of a^i x_i over the field of 32 elements, whose powers of a differ for i < 31.

    So one wrong character changes it, and so do two that have changed places, wherever they stand.
    """
    total = 0
    for value in values:
        total = _times_a(total ^ value)
    return total


def _times_a(x: int) -> int:
    x <<= 1
    return x ^ 0b100101 if x & 32 else x  # a^5 = a^2 + 1


MAX_LINE_LENGTH = 200  # characters


def is_name(name: object) -> bool:
    """Whether a learner could be called that."""
    return isinstance(name, str) and re.fullmatch(r"[^\W_][\w.-]{0,99}", name) is not None


def checked_name(name: str) -> str:
    """The name of a learner, or a ProblemError."""
    if not is_name(name):
        raise ProblemError(
            "name must be at most 100 letters, digits, '.', '-' and '_', the first a letter or a "
            f"digit, got {shortened(name)}"
        )
    return name


def checked_who(who: object) -> str:
    """Who did it: a line of text, or a ProblemError."""
    return _line("who", who)


def checked_why(why: object) -> str:
    """Why: a line of text, or a ProblemError."""
    return _line("why", why)


def checked_key(key: object) -> str | None:
    """An idempotency key, or a ProblemError."""
    if key is None or _line("key", key):
        return None if key is None else str(key)
    raise ProblemError("key must not be empty: leave it out if there is none")


def seconds(name: str, value: timedelta | float | None) -> float | None:
    """A span of time in seconds, or a ProblemError."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return None if value is None else real_number(name, value, least=0.0, most=1e10)


def _line(name: str, text: object) -> str:
    if not isinstance(text, str) or len(text) > MAX_LINE_LENGTH or re.search(f"[{CONTROL}]", text):
        raise ProblemError(
            f"{name} must be text of at most {MAX_LINE_LENGTH} characters in one line, "
            f"got {shortened(text)}"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProblemError(f"{name} is not text that can be written: {shortened(text)}") from None
    return text
