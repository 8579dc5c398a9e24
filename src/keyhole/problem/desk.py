"""Desk: issues a learner's tickets, closes each of them once, and packs the open ones into arrays.

Tickets whose memos have the same keys, types and dimensions are packed as a group, a hundred
thousand of them at once. All features of a group stand one after the other in one array, and so
does every entry of the memos:

    {"rounds": [...], "lengths": [...], "features": [...],
     "memo": {"explore": {"shapes": one row each, "values": [...]}, ...}}"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import (
    BudgetError,
    StateError,
    TicketError,
    shortened,
    whole_number,
)
from keyhole.problem.labels import LabelSpan
from keyhole.problem.problem import Problem
from keyhole.problem.step import PLAN, STEP, first_step, made_by, next_features
from keyhole.problem.ticket import (
    Floats,
    Indices,
    Observation,
    Ticket,
    refuse_unfilled,
    refuse_unless_ticket,
)

NO_LABELS: Floats = np.empty(0)


def _refuse_unless_ordered(problem: Problem, number: int, memo: Mapping[str, NDArray[Any]]) -> None:
    """BudgetError unless a ticket on terms of its own says what was ordered and paid."""
    many = problem.d if problem.prices is None else len(problem.prices.items)
    arrays = [memo["ordered"], memo.get("paid", np.empty(0))]
    whole = all(array.dtype == np.int64 and array.ndim == 1 for array in arrays)
    if (
        not whole
        or len(arrays[0]) != len(arrays[1])
        or not all(0 <= item < many for item in arrays[0].tolist())
    ):
        raise BudgetError(f"the ticket of round {number} does not say what was ordered")


def _refuse_unless_planned(
    problem: Problem, number: int, features: Indices, memo: Mapping[str, NDArray[Any]]
) -> None:
    """BudgetError unless a ticket that grows begins with its first step, and can be paid."""
    plan, step = memo[PLAN], memo.get(STEP, np.empty(0))
    whole = plan.dtype == step.dtype == np.int64 and plan.shape == step.shape == (plan.size,)
    if (
        not whole
        or not ((plan >= 0) & (plan < problem.d)).all()
        or not problem.affords(plan)
        or not np.array_equal(first_step(plan, step), features)
    ):
        raise BudgetError(f"the ticket of round {number} does not grow as one of {problem}")


class Desk:
    """Issues tickets in order and closes each of them once. Every learner has one.

    `round` (tickets issued so far), the open tickets and `labels`, the range of the labels told,
    are the whole state: a closed ticket is known by its number, so memory grows with the tickets
    that are open and not with time.

    Examples
    --------
    >>> desk = Desk(Problem(d=5, k=1, budget=2))
    >>> ticket = desk.issue([1, 3])
    >>> seen = ticket.fill([0.5, -0.5])
    >>> desk.settle(seen, 1.0)[1]
    1.0
    >>> desk.settle(seen, 1.0)
    Traceback (most recent call last):
    keyhole.errors.TicketError: the ticket of round 1 is closed: it was told or dropped, and nothing
    more can be done with it
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.round = 0
        self.labels = LabelSpan()
        self._open: dict[int, Ticket] = {}

    @property
    def open(self) -> tuple[Ticket, ...]:
        """The tickets that wait for a label, oldest first."""
        return tuple(self._open.values())

    def issue(self, features: ArrayLike, memo: Mapping[str, NDArray[Any]] | None = None) -> Ticket:
        """Open the ticket of the next round."""
        ticket = self._ticket(self.round + 1, np.asarray(features, dtype=np.int64), memo)
        self.round += 1
        self._open[ticket.round] = ticket
        return ticket

    def issue_again(self, like: Ticket, memo: Mapping[str, NDArray[Any]]) -> Ticket:
        """Open the ticket of the next round, for what another ticket of this desk was for."""
        ticket = like.again(self.round + 1, memo)
        self.round += 1
        self._open[ticket.round] = ticket
        return ticket

    def settle(self, seen: Observation, y: float) -> tuple[Ticket, float]:
        """Close the ticket of `seen` with its label. Any error comes before any change.

        Returns the ticket as it was issued, not as it was handed back: a learner that reads its
        memo there cannot be fed an edited one.
        """
        label = self.problem.possible_label(y)
        refuse_unfilled("tell", seen)
        ticket = self.issued(seen.ticket)
        if ticket is not seen.ticket and ticket.limits is not None:
            Observation(ticket, seen.values)  # the copy may know no limits
        del self._open[ticket.round]
        self.labels.note_one(label)
        return ticket, label

    def drop(self, ticket: Ticket) -> Ticket:
        """Close a ticket whose label will never come; returns it as it was issued."""
        issued = self.issued(ticket)
        del self._open[issued.round]
        return issued

    def take_back(self, ticket: Ticket) -> None:
        """As if the ticket that was issued last had not been."""
        del self._open[ticket.round]
        self.round -= 1

    def issued(self, ticket: Ticket) -> Ticket:
        """The open ticket that this one is, or is a copy of, as it was issued.

        TicketError for anything else: a ticket of another learner, one whose features or memo were
        changed, one that is closed. What is handed out here can be trusted by compiled code.
        """
        refuse_unless_ticket(ticket)
        issued = self._open.get(ticket.round)
        if issued is None:
            if ticket.round <= self.round:
                raise TicketError(
                    f"the ticket of round {ticket.round} is closed: it was told or dropped, and "
                    "nothing more can be done with it"
                )
            raise TicketError(
                f"the ticket of round {ticket.round} was never issued: "
                f"this learner has issued {self.round} so far"
            )
        if issued is not ticket and not issued.says_the_same(ticket):
            if PLAN in issued.memo and (grown := self._grown(issued, ticket)) is not None:
                return grown
            if not np.array_equal(issued.features, ticket.features):
                raise TicketError(
                    f"the ticket of round {ticket.round} asks for features "
                    f"{shortened(ticket.features.tolist())}, it was issued for "
                    f"{shortened(issued.features.tolist())}"
                )
            raise TicketError(
                f"the memo of the ticket of round {ticket.round} is not what was issued: "
                "the ticket was changed, or is another learner's"
            )
        return issued

    def _grown(self, issued: Ticket, ticket: Ticket) -> Ticket | None:
        """The ticket as it is after the steps that a copy of it has made; None if it is none."""
        last = made_by(ticket, issued.memo)
        if last is None:
            return None
        grown = issued.memo[PLAN][issued.memo[STEP] <= last]
        same = self._ticket(issued.round, grown, issued.memo)
        return same if same.says_the_same(ticket) else None

    def next_step(self, ticket: Ticket) -> tuple[Ticket, float] | None:
        """An open ticket with its next step, and what that costs; None if it has none."""
        grown = next_features(ticket)
        if grown is None:
            return None
        prices, more = self.problem.prices, self._ticket(ticket.round, grown, ticket.memo)
        units = self.problem.units(grown) - self.problem.units(ticket.features)
        return more, float(units) if prices is None else prices.money(units)

    def skip(self, rounds: int, labels: Floats = NO_LABELS) -> None:
        """Count rounds that were played as a block, each asked and told at once."""
        self.round += rounds
        self.labels.note(labels)

    def restore(
        self, round: int, tickets: Iterable[tuple[int, Indices, Mapping[str, NDArray[Any]]]]
    ) -> None:
        """Go on from `round` with these tickets open: round, features and memo of each."""
        issued, last = dict[int, Ticket](), 0
        for number, features, memo in tickets:
            if number > round or number <= last:
                raise TicketError(f"a ticket of round {number} cannot be open in round {round}")
            within = (features >= 0) & (features < self.problem.d)
            if not within.all() or not ("ordered" in memo or self.problem.affords(features)):
                raise BudgetError(f"the ticket of round {number} is not one of {self.problem}")
            if "ordered" in memo:
                _refuse_unless_ordered(self.problem, number, memo)
            if PLAN in memo:
                _refuse_unless_planned(self.problem, number, features, memo)
            issued[number] = self._ticket(number, features, memo)
            last = number
        self.round = whole_number("round", round, 0)
        self._open = issued

    def _ticket(
        self, round: int, indices: Indices, memo: Mapping[str, NDArray[Any]] | None
    ) -> Ticket:
        names, prices, limits = self.problem.names, self.problem.prices, self.problem.limits
        bought = None if names is None else tuple(names[j] for j in indices.tolist())
        ends = None if limits is None else limits.of(indices)
        known = memo or {}
        if "ordered" in known:  # on terms of its own
            items = known["ordered"].tolist(), known["paid"].tolist()
            order = tuple(self.problem.item(i) for i in items[0])
            paid = sum(items[1])
            cost = float(paid) if prices is None else prices.money(paid)
        elif prices is None:
            return Ticket(round, indices, bought, known, limits=ends)
        else:
            order, cost = prices.to_order(indices.tolist()), prices.cost(indices)
        return Ticket(round, indices, bought, known, cost, order, ends)


UnpackedTicket = tuple[int, Indices, dict[str, NDArray[Any]]]  # round, features, memo
MemoSignature = tuple[tuple[str, str, int], ...]  # of a memo: key, dtype, dimensions


def pack_tickets(tickets: Iterable[Ticket]) -> Any:
    """Open tickets as a tree."""
    groups: dict[MemoSignature, list[Ticket]] = {}
    for ticket in tickets:
        memo = ticket.memo
        signature = tuple((key, memo[key].dtype.str, memo[key].ndim) for key in sorted(memo))
        groups.setdefault(signature, []).append(ticket)
    return [_pack_group(signature, group) for signature, group in groups.items()]


def _pack_group(signature: MemoSignature, tickets: list[Ticket]) -> Any:
    memo = {}
    for key, dtype, ndim in signature:
        arrays = [ticket.memo[key] for ticket in tickets]
        shapes = np.array([array.shape for array in arrays], dtype=np.int64)
        memo[key] = {
            "shapes": shapes.reshape(len(arrays), ndim),
            "values": np.concatenate([array.ravel() for array in arrays]).astype(dtype),
        }
    return {
        "rounds": np.array([ticket.round for ticket in tickets], dtype=np.int64),
        "lengths": np.array([len(ticket.features) for ticket in tickets], dtype=np.int64),
        "features": np.concatenate([ticket.features for ticket in tickets]),
        "memo": memo,
    }


def unpack_tickets(tree: Any, where: str) -> list[UnpackedTicket]:
    """Round, features and memo of each ticket, the oldest first; a StateError if that fails."""
    if not isinstance(tree, list):
        raise StateError(f"{where} must be groups of tickets, the state has {type(tree).__name__}")
    found = [
        ticket for i, group in enumerate(tree) for ticket in _unpack_group(group, f"{where}[{i}]")
    ]
    return sorted(found, key=lambda ticket: ticket[0])


def _unpack_group(tree: Any, where: str) -> Iterator[UnpackedTicket]:
    if not isinstance(tree, dict) or set(tree) != {"rounds", "lengths", "features", "memo"}:
        raise StateError(f"{where} is not a group of tickets")
    rounds = _checked_sizes(tree["rounds"], f"{where}.rounds")
    features = _split(tree["features"], _checked_sizes(tree["lengths"], f"{where}.lengths"), where)
    if len(features) != len(rounds) or tree["features"].dtype != np.int64:
        raise StateError(f"{where} has {len(rounds)} rounds and features of {len(features)}")
    memos: list[dict[str, NDArray[Any]]] = [{} for _ in rounds]
    if not isinstance(tree["memo"], Mapping):
        raise StateError(f"{where}.memo is not a memo")
    for key, entry in tree["memo"].items():
        arrays = _unpack_memo_entry(entry, len(rounds), f"{where}.{key}")
        for memo, array in zip(memos, arrays, strict=True):
            memo[key] = array
    yield from zip(rounds.tolist(), features, memos, strict=True)


def _unpack_memo_entry(tree: Any, n: int, where: str) -> list[NDArray[Any]]:
    if not isinstance(tree, dict) or set(tree) != {"shapes", "values"}:
        raise StateError(f"{where} is not an entry of memos")
    shapes = _checked_sizes(tree["shapes"], f"{where}.shapes", ndim=2)
    if len(shapes) != n:
        raise StateError(f"{where} has {len(shapes)} shapes for {n} tickets")
    parts = _split(tree["values"], shapes.prod(axis=1), where)
    return [part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True)]


def _checked_sizes(array: Any, where: str, ndim: int = 1) -> Indices:
    """An array of sizes: whole numbers, none of them negative or absurdly large."""
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.int64
        or array.ndim != ndim
        or ((array < 0) | (array > 1 << 40)).any()
    ):
        raise StateError(f"{where} must be whole numbers from 0 on")
    return array


def _split(flat: Any, lengths: Indices, where: str) -> list[NDArray[Any]]:
    """A flat array in parts of these lengths."""
    if not isinstance(flat, np.ndarray) or flat.ndim != 1 or lengths.sum() != len(flat):
        raise StateError(f"{where}: the lengths of its parts do not add up")
    return np.split(flat, np.cumsum(lengths)[:-1]) if len(lengths) else []
