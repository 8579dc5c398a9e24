"""A learner of a store that has seen enough to doubt what is far out."""

import math
import uuid

import keyhole as kh

NAMES = ("age", "crp", "tsh")
PROBLEM = kh.Problem(3, 1, 3, NAMES)


def values_for(ticket: kh.StoredTicket) -> dict[str, float]:
    """Values from 1 to 3, by the round of a ticket."""
    return {name: 2.0 + math.sin(3.0 * ticket.round + i) for i, name in enumerate(ticket.names)}


def learnt(
    store: kh.Store, problem: kh.Problem = PROBLEM, kind: str = "auto", yes_no: bool = False
) -> str:
    """The name of a learner that was told forty labels: of what it bought, the sum."""
    name = f"learnt-{uuid.uuid4().hex}"
    store.create(name, problem, kind, yes_no=yes_no)
    for ticket in store.ask(name, 40):
        values = [2.0 + math.sin(3.0 * ticket.round + i) for i in range(len(ticket.names))]
        store.fill(ticket.id, values)
        label = sum(values)
        store.tell(ticket.id, float(label > 6.0) if yes_no else label)
    return name
