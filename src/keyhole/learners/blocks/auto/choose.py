"""How AutoLearner fills a batch: what is kept, what the safety net reads, what is explored."""

from __future__ import annotations

from typing import Annotated

from keyhole.core.functions import c_function
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.state import Auto
from keyhole.problem import Floats, Indices

LOOK_OUT = 16  # of so many batches one has a net and explores, once history was studied


def leader(judges: Indices, recent: Floats) -> int:
    """The memory whose kept features predicted best of late, by the losses of its judge."""
    late = recent[judges].tolist()
    return min(range(len(late)), key=late.__getitem__)


@c_function("kh_choose", room="room")
def choose(auto: Auto, batch: Annotated[Batch, "read=width"], number: int) -> None:
    """Fill the batch: what is read and why, centres, VAWs at their start.

    What memories find significant is kept, by rank; at the same rank that of the memory that did
    best of late comes first. Then the net is cast, and what is left of the budget explores.
    """
    raise NotImplementedError


@c_function("kh_reopen", "S[width]", room="room")
def reopen(auto: Auto, batch: Annotated[Batch, "read=width"], S: Indices) -> None:
    """A batch for a ticket whose own is closed: what it read is learnt, the net is not told."""
    raise NotImplementedError
