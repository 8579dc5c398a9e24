"""What a learner wrote on a ticket, before compiled code is trusted with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import StateError, Ticket, TicketError
from keyhole.tickets import Desk

Arrays = Mapping[str, NDArray[Any]]


def written(ticket: Ticket, like: Arrays) -> Arrays:
    """The memo of a ticket if its arrays are called, shaped and typed as in `like`.

    >>> ticket = Ticket(round=3, features=[1], memo={"played": np.array([0.5])})
    >>> written(ticket, {"played": np.zeros(1)})["played"]
    array([0.5])
    >>> written(ticket, {"played": np.zeros(2)})
    Traceback (most recent call last):
    keyhole.errors.TicketError: the ticket of round 3 is not one of this learner's
    """
    memo = ticket.memo
    if memo.keys() != like.keys() or any(
        memo[key].shape != part.shape or memo[key].dtype != part.dtype for key, part in like.items()
    ):
        raise TicketError(f"the ticket of round {ticket.round} is not one of this learner's")
    return memo


def writable(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Copies: kernels are compiled anew for read-only arrays, and what tickets hold is that."""
    return {key: np.array(array) for key, array in arrays.items()}


def refuse_foreign(desk: Desk, like: Callable[[Ticket], Arrays]) -> None:
    """StateError if the memo of an open ticket is not `like` what the learner writes on it."""
    for ticket in desk.open:
        try:
            written(ticket, like(ticket))
        except TicketError as error:
            raise StateError(str(error)) from None
