"""Problem: what may be read, at what price; Round, Learner, Stream: who plays it, and on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, SupportsFloat, SupportsIndex, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import (
    DataError,
    KeyholeError,
    ProblemError,
    feature_names,
    finite_label,
    nearest,
    refuse_labels,
    refuse_unless_stream,
    shortened,
    whole_number,
)
from keyhole.problem.display import MAX_NAMES_SHOWN, HtmlCell, few, html_table
from keyhole.problem.limits import LimitList, Limits, limits_of
from keyhole.problem.prices import (
    Derived,
    Money,
    Panels,
    PriceList,
    Prices,
    PriceTable,
    feature_finder,
    money,
    price_list,
)
from keyhole.problem.ticket import Floats, Indices, Observation, Ticket


@dataclass(frozen=True, slots=True, init=False)
class Problem:
    """What may be read and what is compared with: d features, sparsity k, budget, prices.

    Parameters
    ----------
    d
        How many features an example has.
    k
        Sparsity of the linear models the learner is compared with.
    budget
        How many features may be read per example in all: the paper's k0 + k. With prices it is
        money: what may be spent on one example.
    names
        One name per feature; None for features known by number only.
    prices
        What each feature costs, one number per feature or by name; 0 is free. None: every feature
        costs 1, and `budget` counts them. Amounts are kept as they are written, to the last cent.
        A `PriceTable`, such as `read_prices` reads, has panels and derived features in it.
    panels
        Features that are bought together: by name, a fee that is paid once and the features that
        need it, which cost their own price beside it, if they have one.
    derived
        Features that are computed from others: by feature, those it needs.
    limits
        What a feature can be: by name or number, the least and the largest value, both included,
        None where there is no such end. Any other value is a mistake: wherever it enters it is a
        DataError that names it. A price list has them in its columns `low` and `high`.
    label_limits
        The same of the label.

    Examples
    --------
    >>> Problem(d=64, k=4, budget=12)
    Problem(d=64, k=4, budget=12, names=None)
    >>> Problem(d=3, k=1, budget=4)
    Traceback (most recent call last):
    keyhole.errors.ProblemError: budget must be at most d = 3, got 4
    >>> priced = Problem(d=3, k=1, budget=4, names=("age", "crp", "alb"),
    ...                  prices={"age": 0, "crp": 0.5}, panels={"blood": (4, ["crp", "alb"])})
    >>> priced.cost([0, 2]), priced.cost([0, 1, 2]), priced.affords([0, 2]), priced.width
    (4.0, 4.5, True, 2)
    >>> limited = Problem(d=2, k=1, budget=1, names=("age", "crp"), limits={"crp": (0, 600)},
    ...                   label_limits=(0, None))
    >>> limited.limits
    Limits(features=(1,), low=(0.0,), high=(600.0,), label=(0.0, inf))
    """

    d: int
    k: int
    budget: float
    names: tuple[str, ...] | None = None
    prices: Prices | None = None
    limits: Limits | None = None
    _limit: int = field(default=0, compare=False)
    _reads: int = field(default=0, compare=False)
    _width: int = field(default=0, compare=False)
    _counted: bool = field(default=True, compare=False)

    def __init__(
        self,
        d: SupportsIndex,
        k: SupportsIndex,
        budget: SupportsIndex | Money,
        names: Sequence[str] | None = None,
        prices: PriceList | PriceTable | Prices | None = None,
        panels: Panels | None = None,
        derived: Derived | None = None,
        limits: LimitList | Limits | None = None,
        label_limits: Sequence[float | None] | None = None,
    ) -> None:
        d = whole_number("d", d, 1)
        k = whole_number("k", k, 1)
        known = feature_names(names, d)
        for name, value in (("d", d), ("k", k), ("names", known)):
            object.__setattr__(self, name, value)
        if prices is None and panels is None and derived is None:
            object.__setattr__(self, "prices", None)
            self._count(cast(SupportsIndex, budget))
        else:
            if isinstance(prices, PriceTable):
                limits = prices.all_limits(known, limits)
                prices, panels, derived = prices.parts(known, panels, derived)
            whole = prices
            if not isinstance(whole, Prices):
                whole = price_list(d, known, whole, panels, derived)
            elif type(whole) is not Prices or len(whole.needs) != d or panels or derived:
                raise ProblemError(
                    f"prices of another problem fit if it has d = {d} features, and panels and "
                    f"derived come with them; got those of {len(whole.needs)}: give a price list"
                )
            object.__setattr__(self, "prices", whole)
            self._pay(cast(Money, budget))
        ends = limits_of(limits, label_limits, d, feature_finder(d, known))
        object.__setattr__(self, "limits", ends)

    def _count(self, budget: SupportsIndex) -> None:
        """Take a budget that counts features."""
        many = whole_number("budget", budget, 1)
        if many > self.d:
            raise ProblemError(f"budget must be at most d = {self.d}, got {many}")
        if self.k > many:
            raise ProblemError(
                f"k must be at most budget = {many}, got {self.k}: a model of {self.k} features "
                f"cannot be used when only {many} are read"
            )
        for name in ("budget", "_limit", "_reads", "_width"):
            object.__setattr__(self, name, many)
        object.__setattr__(self, "_counted", True)

    def _pay(self, budget: Money) -> None:
        """Take a budget of money."""
        prices = cast(Prices, self.prices)
        object.__setattr__(self, "budget", float(money("budget", budget)))
        limit = prices.limit(self.budget)
        object.__setattr__(self, "_limit", limit)
        cheapest = min(range(self.d), key=lambda j: prices.count([j]))
        if prices.count([cheapest]) > limit:
            raise ProblemError(
                f"a budget of {self.budget:g} buys nothing: {self.label(cheapest)} is the cheapest "
                f"and costs {prices.cost([cheapest]):g}; raise the budget"
            )
        object.__setattr__(self, "_reads", prices.affordable(limit))
        object.__setattr__(self, "_width", prices.widest(limit))
        object.__setattr__(self, "_counted", prices.alike)
        if self.k > self.width:
            raise ProblemError(
                f"k must be at most {self.width}, what a budget of {self.budget:g} can buy at "
                f"these prices, got {self.k}"
            )

    def __repr__(self) -> str:
        names = self.names
        if names is not None and len(names) > MAX_NAMES_SHOWN:
            shown = f"({', '.join(map(repr, names[:MAX_NAMES_SHOWN]))}, ...)"
        else:
            shown = repr(names)
        about = f"d={self.d}, k={self.k}, budget={self.budget}, names={shown}"
        return f"Problem({about})" if self.prices is None else f"Problem({about}, prices=...)"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, HtmlCell]] = [
            ("features", self.d),
            ("features of a model (k)", self.k),
            ("budget of one example", self.budget),
        ]
        if self.names is not None:
            rows.append(("names", few(self.names)))
        return html_table("Problem", rows)

    def __deepcopy__(self, memo: dict[int, Any]) -> Problem:
        return self  # nothing in a problem can change

    @property
    def limit(self) -> int:
        """The budget in whole units of the prices; without prices, a number of features."""
        return self._limit

    @property
    def counted(self) -> bool:
        """Whether the budget is a number of features: no prices, or one price for each of them.

        >>> Problem(d=3, k=1, budget=1.5, prices=[0.5, 0.5, 0.5]).counted
        True
        """
        return self._counted

    @property
    def reads(self) -> int:
        """How many features may be read of an example, whichever they are.

        Without prices that is the budget. With prices it is what is left to a learner that knows
        nothing of them; 0 if one feature alone costs more than the budget.
        """
        return self._reads

    @property
    def width(self) -> int:
        """At least as many as any set of features that the budget can buy."""
        return self._width

    def cost(self, features: ArrayLike) -> float:
        """What reading these features of one example costs: their number, if there are no prices.

        By number, or where there are prices by name.

        >>> Problem(d=3, k=1, budget=2).cost([0, 2])
        2.0
        """
        units = self.units(features)
        return float(units) if self.prices is None else self.prices.money(units)

    def affords(self, features: ArrayLike) -> bool:
        """Whether the budget buys these features of one example: exactly, to the last cent."""
        return self.units(features) <= self._limit

    def units(self, features: ArrayLike) -> int:
        """What features cost, in units of the prices; without prices, how many there are.

        A ProblemError for what is none, where there are prices.
        """
        prices, given = self.prices, np.asarray(features)
        if prices is None:
            return int(np.size(given))
        numbers = given.ravel().tolist()
        if given.size and (
            given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= self.d
        ):
            find = feature_finder(self.d, self.names)
            numbers = [find(j, "what is bought") for j in numbers]
        return prices.count(numbers)

    def too_dear(self, bought: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which rows of features, -1 for none, the budget does not buy; exactly."""
        if self.prices is None:
            return np.asarray((bought >= 0).sum(axis=1) > self._limit)
        return np.asarray(self.prices.count_rows(bought) > self._limit)

    def replace(self, **changes: Any) -> Problem:
        """The same problem with other numbers or names: `problem.replace(budget=12)`."""
        known = {name: getattr(self, name) for name in ("d", "k", "budget", "names", "limits")}
        own = self.limits
        if own is not None and isinstance(changes.get("limits"), Mapping):
            known["label_limits"] = own.label
        for name in changes.keys() - {*known, "prices", "panels", "derived", "label_limits"}:
            raise ProblemError(f"a problem has no {name!r}{nearest(name, [*known, 'prices'])}")
        return Problem(**{**known, "prices": self.prices, **changes})

    def whole(self) -> Problem:
        """The same problem with a budget that buys all features.

        >>> Problem(d=3, k=1, budget=2).whole().budget
        3
        """
        return self.replace(budget=self.d if self.prices is None else self.cost(range(self.d)))

    @property
    def exploration(self) -> int:
        """What is left to explore with when k features are played: budget - k, the paper's k0.

        With budget = d everything is read anyway, and all d features explore.
        """
        return self.d if self.reads == self.d else self.reads - self.k

    def possible_label(self, y: SupportsFloat) -> float:
        """The label as a finite float; DataError for what is none, or beyond its limits."""
        label = finite_label(y)
        if self.limits is not None:
            self.limits.refuse_label(label)
        return label

    def refuse_labels(self, y: Floats) -> None:
        """The same for the first of these labels that cannot be learnt from, if any."""
        refuse_labels(y)
        if self.limits is not None:
            self.limits.refuse_labels(y)

    def item(self, number: int) -> str:
        """What to order, by number: an item of the prices, or a feature if there are none."""
        return self.label(number) if self.prices is None else self.prices.items[number]

    def label(self, feature: int) -> str:
        """What to call a feature in front of a person: its name, or 'feature 7'."""
        return f"feature {feature}" if self.names is None else self.names[feature]


@dataclass(frozen=True, slots=True)
class Round:
    """One played round as nature saw it: what was bought, the label, the prediction.

    `plan`: where it was bought step by step, all that its steps would have bought; else None.
    """

    round: int
    features: Indices
    y: float
    y_hat: float
    plan: Indices | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was bought step by step, and enough was known before the last step."""
        return self.plan is not None and len(self.plan) > len(self.features)

    @property
    def loss(self) -> float:
        """Squared error of the round."""
        error = self.y - self.y_hat
        # Not `** 2`: Python's power may be off by a last bit where block play multiplies.
        return error * error


@dataclass(frozen=True, slots=True)
class Interval:
    """A number known to lie between two others, and how that is known.

    >>> Interval(1.0, 1.5, "branch and bound, stopped after 10 s")
    Interval(low=1.0, high=1.5, how='branch and bound, stopped after 10 s')
    >>> 1.25 in Interval(1.0, 1.5, "search")
    True
    >>> 10.0 - Interval(1.0, 1.5, "search")
    Interval(low=8.5, high=9.0, how='search')
    """

    low: float
    high: float
    how: str

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ProblemError(f"an interval needs low <= high, got [{self.low}, {self.high}]")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __rsub__(self, value: float) -> Interval:
        return Interval(value - self.high, value - self.low, self.how)

    @property
    def width(self) -> float:
        """high - low; 0 when the number is known."""
        return 0.0 if self.low == self.high else self.high - self.low  # both may be infinite

    def __str__(self) -> str:
        if self.width == 0:
            return f"{self.low:.6g}"
        return f"[{self.low:.6g}, {self.high:.6g}]"


class Learner(Protocol):
    """A player of the game. Any class with these members is one; there is no base class.

    `predict` must not change anything. `tell` and `drop` close a ticket; closing one that is
    unknown or closed is a TicketError, a label that is not finite a DataError, and an error leaves
    the learner as it was. Several tickets may be open and may be closed in any order.
    """

    @property
    def problem(self) -> Problem:
        """The problem the learner was made for."""

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""

    @property
    def weights(self) -> Floats:
        """The current linear model, length d, in the units of the features."""

    @property
    def intercept(self) -> float:
        """What the current model adds to the weighted sum."""

    def ask(self) -> Ticket:
        """The ticket of the next round. The example is not seen yet."""

    def predict(self, seen: Observation) -> float:
        """The predicted label; changes nothing."""

    def tell(self, seen: Observation, y: float) -> None:
        """Learn from the label of a ticket and close it."""

    def drop(self, ticket: Ticket) -> None:
        """Close a ticket whose label will never come."""


class BlockLearner(Learner, Protocol):
    """A learner that can also play a block of rounds in one call, for instance in compiled code."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds of ask, predict, tell in one go and return the predictions.

        The transcript is the one that single rounds would give, bit for bit, and a row of X is
        read at the bought features only. A row that cannot be played is a DataError, and the
        rounds before it stand, as they would in single rounds. `bought`, of shape (len(y), width),
        receives what was bought: ascending indices, then -1; that is what the referee audits.
        """


class Described(Protocol):
    """Something about rows whose features are known: a stream, or sums over one."""

    @property
    def d(self) -> int:
        """How many features a row has."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Their names, or None."""


class Stream(Described, Protocol):
    """Examples that can be gone through again and again: iterate for (x, y), one row at a time."""

    @property
    def rounds(self) -> int | None:
        """How many rows there are, None when that is not known beforehand."""

    def __iter__(self) -> Iterator[tuple[Floats, float]]: ...


class BlockStream(Stream, Protocol):
    """A stream that also hands out blocks of rows."""

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.floating], Floats]]:
        """The same rows as (X, y) blocks of at most `rows` rows (None: a size that suits d)."""


def plays_blocks(learner: Learner) -> TypeGuard[BlockLearner]:
    """Whether a learner offers `advance`."""
    return hasattr(learner, "advance")


def has_blocks(stream: Stream) -> TypeGuard[BlockStream]:
    """Whether a stream offers `blocks`."""
    return hasattr(stream, "blocks")


def refuse_other_features(problem: Problem, stream: Stream) -> None:
    """ProblemError unless the problem is about the features of the stream."""
    refuse_unless_stream(stream)
    refuse_other_names(problem, stream)


def refuse_other_names(problem: Problem, stream: Described, name: str = "stream") -> None:
    """ProblemError unless the problem is about the features of a stream, or of its sums.

    `name` is that of the argument.
    """
    if stream.d != problem.d:
        raise ProblemError(f"the learner's problem has {problem.d} features, the {name} {stream.d}")
    if problem.names is not None and stream.names is not None and problem.names != stream.names:
        ours, theirs = next(
            (a, b) for a, b in zip(problem.names, stream.names, strict=True) if a != b
        )
        raise ProblemError(
            f"the learner's problem and the {name} name their features differently: "
            f"{ours!r} against {theirs!r}"
        )


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """What JSON can hold of a problem, which is all of it.

    >>> problem_to_dict(Problem(d=2, k=1, budget=1))
    {'d': 2, 'k': 1, 'budget': 1, 'names': None, 'prices': None}
    """
    ends = problem.limits
    more = {} if ends is None else {"limits": ends.as_dict()}  # most have none, older files too
    return {
        "d": problem.d,
        "k": problem.k,
        "budget": problem.budget,
        "names": None if problem.names is None else list(problem.names),
        "prices": None if problem.prices is None else asdict(problem.prices),
        **more,
    }


def problem_from_dict(parts: Mapping[str, Any]) -> Problem:
    """The problem that `problem_to_dict` described, or a DataError.

    >>> priced = Problem(d=2, k=1, budget="1.50", prices=["0.10", "1.40"])
    >>> problem_from_dict(problem_to_dict(priced)) == priced
    True
    """
    try:
        sizes = {name: parts[name] for name in ("d", "k", "budget", "names")}
        prices = None if parts["prices"] is None else Prices.from_dict(parts["prices"])
        return Problem(**sizes, prices=prices, limits=limits_from(parts.get("limits"), sizes["d"]))
    except (KeyholeError, TypeError, ValueError, KeyError) as error:
        raise DataError(f"not a problem: {shortened(str(error))}") from None


def limits_from(parts: Mapping[str, Any] | None, d: int) -> Limits | None:
    """The limits of a problem that was written; None if it had none."""
    return None if parts is None else Limits.from_dict(parts, d)
