"""Correcting what was told: what is asked for, checked before anything changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from keyhole.errors import shortened
from keyhole.learners.registry import LEARNERS
from keyhole.problem import DataError, Floats, Indices, StateError, Ticket, TicketError
from keyhole.problem.limits import refuse_beyond
from keyhole.problem.ticket import refuse_unless_ticket

if TYPE_CHECKING:
    from keyhole.learners.base import LearnerBase

RightValues = Mapping[str, float | None] | Mapping[int, float | None]


def correct(
    learner: LearnerBase, ticket: Ticket, y: float | None, values: RightValues | None
) -> None:
    """Let a learner correct a row it was told. An error leaves it as it was."""
    if not learner.CORRECTS:
        refuse_to_correct(type(learner).__name__, "it keeps none of the rows it was told")
    refuse_unless_ticket(ticket)
    if y is None and not values:
        raise DataError(
            "there is nothing to correct: give y=..., the right label, or values={...}, the right "
            "values by feature, None for one that never arrived"
        )
    problem = learner.problem
    label = None if y is None else problem.possible_label(y)
    places, numbers = right_values(ticket, values or {})
    if (
        problem.limits is not None
        and (ends := problem.limits.of(ticket.features[places])) is not None
    ):
        names = [problem.label(j) for j in ticket.features[places].tolist()]
        refuse_beyond(numbers, ends, names, f"in round {ticket.round}")
    if ticket.round > learner.round:
        raise TicketError(
            f"the ticket of round {ticket.round} was never issued: this learner has issued "
            f"{learner.round} so far"
        )
    if any(ticket.round == one.round for one in learner._desk.open):
        raise TicketError(
            f"the ticket of round {ticket.round} waits for its label: nothing was learnt yet; "
            "fill it with the right values and tell it"
        )
    learner._correct(ticket, label, places, numbers)


def right_values(ticket: Ticket, values: RightValues) -> tuple[Indices, Floats]:
    """The places of a ticket's features that are corrected, and their values, NaN for none.

    >>> right_values(Ticket(3, [2, 5], names=("age", "tsh")), {"tsh": 0.4, 2: None})
    (array([1, 0]), array([0.4, nan]))
    """
    if not isinstance(values, Mapping):
        raise DataError(f"values must be right values by feature, got {shortened(values)}")
    given: Mapping[Any, Any] = values
    filled = ticket.fill(given).values
    place_of: dict[object, int] = {j: i for i, j in enumerate(ticket.features.tolist())}
    place_of.update({name: i for i, name in enumerate(ticket.names or ())})
    places = [place_of[key] for key in values]
    if len(set(places)) < len(places):
        raise DataError(f"values names a feature twice: {shortened([*values])}")
    missing = [value is None or value != value for value in values.values()]
    numbers = np.where(missing, np.nan, filled[places]) if places else np.empty(0)
    return np.array(places, dtype=np.int64), numbers


def refuse_to_correct(name: str, why: str) -> NoReturn:
    """The StateError of a learner that cannot take back what it was told."""
    able = ", ".join(row.name for row in LEARNERS.values() if getattr(row.cls, "CORRECTS", False))
    raise StateError(
        f"{name} cannot correct what it was told: {why}. Make it anew and tell it everything "
        f"right, or use a learner that can: {able}"
    )
