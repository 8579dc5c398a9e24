"""Correcting what AutoLearner was told: which row it is, and where that is."""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.ring import GONE, SEALED, TOLD, Ring, slots
from keyhole.problem import Floats, StateError, Ticket, TicketError


def find_row(ring: Ring, ticket: Ticket, round: int) -> tuple[int, int]:
    """The slot of the row of a ticket, and how many rows were told after it."""
    there = slots(ring)
    places = np.flatnonzero(ring.rounds[there] == ticket.round)
    if not len(places):
        _refuse_unknown(ring, ticket, round)
    place = int(places[-1])
    slot = int(there[place])
    read, batch = ring.features[slot], ticket.memo.get("batch")
    if not np.array_equal(read[read >= 0], ticket.features) or (
        batch is not None and int(batch) != ring.batches[slot]
    ):
        raise TicketError(
            f"the ticket of round {ticket.round} is not the one that was told: it was changed, or "
            "is another learner's"
        )
    age = len(there) - 1 - place
    if ring.next[TOLD] - age <= ring.next[SEALED]:
        raise StateError(
            f"the ticket of round {ticket.round} was told before history was studied or set "
            "aside, which changed what had been learnt: it can be corrected no more"
        )
    if 0 < ring.folds[slot] <= ring.next[GONE]:
        raise _too_old(ring, ticket, round)
    return slot, age


def row_in(ring: Ring, slot: int, batch: Batch) -> int:
    """The row of a batch that is not in the sums yet."""
    there = slots(ring)
    same = there[(ring.batches[there] == ring.batches[slot]) & (ring.folds[there] == 0)]
    row = int(batch.rows[0]) - len(same) + int(np.flatnonzero(same == slot)[0])
    if row < 0:
        raise StateError(f"ring.batches has more rows than batch {ring.batches[slot]}")
    return row


def correct_open(ring: Ring, slot: int, batch: Batch, values: Floats, label: float) -> None:
    """Have a row that is not in the sums yet with these values and this label."""
    row = row_in(ring, slot, batch)
    batch.values[row], batch.labels[row] = values[: batch.values.shape[1]], label
    ring.values[slot], ring.labels[slot] = values, label


def _refuse_unknown(ring: Ring, ticket: Ticket, round: int) -> None:
    length = len(ring.labels)
    if not length:
        raise StateError(
            "this AutoLearner keeps no rows to correct (ring=0): make it anew with "
            "AutoParts(ring=2048)"
        )
    if ring.next[TOLD] <= length:
        raise TicketError(
            f"the ticket of round {ticket.round} was never told: it was dropped, or told before "
            "this learner kept its rows, in a file of an earlier version"
        )
    raise _too_old(ring, ticket, round)


def _too_old(ring: Ring, ticket: Ticket, round: int) -> TicketError:
    return TicketError(
        f"the ticket of round {ticket.round} is {round - ticket.round:,} rounds old, and "
        f"AutoLearner keeps the last {len(ring.labels):,} rows it was told: it can be corrected "
        "no more"
    )
