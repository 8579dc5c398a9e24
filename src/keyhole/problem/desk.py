"""The desk where a learner issues tickets and takes them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import (
    BudgetError,
    DataError,
    TicketError,
    finite_label,
    shortened,
    whole_number,
)
from keyhole.problem.label_span import LabelSpan
from keyhole.problem.problem import Problem
from keyhole.problem.ticket import Floats, Indices, Observation, Ticket

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
        label = finite_label(y)
        if not isinstance(seen, Observation):
            raise DataError(
                f"tell takes what ticket.fill(...) returns, got a {type(seen).__name__}"
            )
        ticket = self.issued(seen.ticket)
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
        if not isinstance(ticket, Ticket):
            raise TicketError(f"a ticket is what ask() returns, got a {type(ticket).__name__}")
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
            issued[number] = self._ticket(number, features, memo)
            last = number
        self.round = whole_number("round", round, 0)
        self._open = issued

    def _ticket(
        self, round: int, indices: Indices, memo: Mapping[str, NDArray[Any]] | None
    ) -> Ticket:
        names, prices = self.problem.names, self.problem.prices
        bought = None if names is None else tuple(names[j] for j in indices.tolist())
        known = memo or {}
        if "ordered" in known:  # on terms of its own
            items = known["ordered"].tolist(), known["paid"].tolist()
            order = tuple(self.problem.item(i) for i in items[0])
            paid = sum(items[1])
            cost = float(paid) if prices is None else prices.money(paid)
        elif prices is None:
            return Ticket(round, indices, bought, known)
        else:
            order, cost = prices.to_order(indices.tolist()), prices.cost(indices)
        return Ticket(round, indices, bought, known, cost, order)
