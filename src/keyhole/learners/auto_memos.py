"""What the tickets of AutoLearner remember until their labels come."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.learners.blocks.auto.layer import PAST, recalled
from keyhole.learners.blocks.sums.past import LABELS
from keyhole.problem import Floats, Indices, Ticket
from keyhole.problem.fields import Holds


class Memo(NamedTuple):
    """What a ticket remembers: the number of its batch, 0 if it is on terms of its own."""

    batch: Annotated[Indices, Holds(most="begun", shape=())]


class PastMemo(NamedTuple):
    """The same, and what the past said when the ticket was asked (see `noted`)."""

    batch: Annotated[Indices, Holds(most="begun", shape=())]
    past: Annotated[Floats, Holds(shape=(PAST,))]
    told: Annotated[Indices, Holds(most=LABELS, shape=(2,))]


class OwnMemo(NamedTuple):
    """Of a ticket on terms of its own: the values in hand, the items ordered, what each cost."""

    batch: Annotated[Indices, Holds(most=0, shape=())]
    known: Annotated[Floats, Holds(shape=("features",), nan=True)]
    ordered: Annotated[Indices, Holds(below="items")]
    paid: Annotated[Indices, Holds(shape=("ordered",))]


class OwnPastMemo(NamedTuple):
    """The same, and what the past said."""

    batch: Annotated[Indices, Holds(most=0, shape=())]
    past: Annotated[Floats, Holds(shape=(PAST,))]
    told: Annotated[Indices, Holds(most=LABELS, shape=(2,))]
    known: Annotated[Floats, Holds(shape=("features",), nan=True)]
    ordered: Annotated[Indices, Holds(below="items")]
    paid: Annotated[Indices, Holds(shape=("ordered",))]


MEMOS = (Memo, PastMemo, OwnMemo, OwnPastMemo)


def past_of(ticket: Ticket) -> Floats:
    """What the past said when this ticket was asked; nothing if it was not looked at."""
    memo = ticket.memo
    return recalled(memo["past"], memo["told"]) if "past" in memo else np.empty(0)
