"""Rounds in batches, whose labels may come late: which is being asked, which are not closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Generic, TypeVar

import numpy as np

from keyhole.problem import Indices, StateError
from keyhole.problem.desk import Desk
from keyhole.problem.state import MAX_WHOLE_NUMBER, Holds, LearnerState, Tree, fit

Content = TypeVar("Content")

# batches that may wait for labels; the oldest is then closed with those it has
MAX_WAITING_BATCHES = 64


@dataclass(slots=True, eq=False)
class Entry(Generic[Content]):
    """A batch: `size` tickets in all, of which `asked` were issued and `closed` are closed."""

    number: Annotated[int, Holds(least=1, most="begun")]
    size: Annotated[int, Holds(least=1, most="longest_batch")]
    content: Content
    asked: Annotated[int, Holds(most="size")] = 0
    closed: Annotated[int, Holds(most="asked")] = 0


class Batches(Generic[Content]):
    """The batch that is being asked, and those that wait for labels, the oldest first.

    Examples
    --------
    >>> batches = Batches[str]()
    >>> first = batches.begin(2, "a")
    >>> batches.asking is first, batches.close(first, 1), batches.close(first, 1), batches.find(1)
    (True, False, True, None)
    """

    def __init__(self) -> None:
        self.begun = 0
        self.current: Entry[Content] | None = None
        self._waiting: dict[int, Entry[Content]] = {}

    def __len__(self) -> int:
        """How many batches are not closed yet."""
        return len(self._waiting)

    @property
    def asking(self) -> Entry[Content] | None:
        """The batch that the next ticket belongs to, None if a new one must begin."""
        current = self.current
        return None if current is None or current.asked == current.size else current

    @property
    def waiting(self) -> list[Entry[Content]]:
        """The batches that are not closed, the oldest first."""
        return list(self._waiting.values())

    @property
    def apart(self) -> Entry[Content] | None:
        """The current batch if it is closed already."""
        closed = self.current is not None and self.current.number not in self._waiting
        return self.current if closed else None

    def restore(
        self, begun: int, waiting: list[Entry[Content]], apart: Entry[Content] | None
    ) -> None:
        """Go on from where another was: its `begun`, `waiting`, `apart`."""
        self.begun = begun
        self._waiting = {entry.number: entry for entry in waiting}
        if len(self._waiting) != len(waiting):
            raise StateError("waiting: a batch is there twice")
        self.current = self._waiting.get(begun, apart)

    def saved(self, tidy: Callable[[Content], Content] | None = None) -> dict[str, object]:
        """The parts of a state that `put_back` goes on from; `tidy` sees to the contents."""
        if tidy is None:
            return {"begun": self.begun, "waiting": self.waiting, "apart": self.apart}
        waiting = [replace(entry, content=tidy(entry.content)) for entry in self.waiting]
        apart = self.apart and replace(self.apart, content=tidy(self.apart.content))
        return {"begun": self.begun, "waiting": waiting, "apart": apart}

    def put_back(self, state: LearnerState, reopen: Callable[[Tree], Entry[Content]]) -> None:
        """Go on from the parts that `saved` returned; `reopen` makes an entry from its tree."""
        apart = state.part("apart")
        self.restore(
            fit(0, state.part("begun"), "begun"),
            [reopen(tree) for tree in state.part("waiting")],
            None if apart is None else reopen(apart),
        )

    def sizes(self, longest: int = MAX_WHOLE_NUMBER) -> dict[str, int]:
        """What entries and tickets are held to: see `Holds`."""
        return {"begun": self.begun, "longest_batch": longest}

    def refuse_unless_of(self, desk: Desk, features: Callable[[Content], Indices]) -> None:
        """StateError unless the open tickets of every batch are as many, and for its features."""
        missing = {entry.number: entry.asked - entry.closed for entry in self.waiting}
        if len(missing) > MAX_WAITING_BATCHES or [*missing] != sorted(missing):
            raise StateError(f"waiting: {len(missing)} batches cannot wait, or not in this order")
        for ticket in desk.open:
            entry = self.find(int(ticket.memo["batch"]))
            if entry is None:
                continue
            missing[entry.number] -= 1
            bought = ticket.memo.get("plan", ticket.features)  # one that grows has more in the end
            if not np.array_equal(bought, features(entry.content)):
                raise StateError(
                    f"the ticket of round {ticket.round} is not of batch {entry.number}"
                )
        for number, more in missing.items():
            if more:
                raise StateError(f"waiting: batch {number} has {more} open tickets too few")

    def overdue(self) -> Entry[Content] | None:
        """The oldest batch, taken out, if as many wait as may; else None."""
        if len(self._waiting) < MAX_WAITING_BATCHES:
            return None
        return self._waiting.pop(next(iter(self._waiting)))

    def begin(self, size: int, content: Content) -> Entry[Content]:
        """A new batch, the current one from now on."""
        self.begun += 1
        self.current = self._waiting[self.begun] = Entry(self.begun, size, content)
        return self.current

    def find(self, number: int) -> Entry[Content] | None:
        """The batch of that number if it is not closed yet."""
        return self._waiting.get(number)

    def close(self, entry: Entry[Content], tickets: int) -> bool:
        """Count closed tickets; whether they were the last, which closes the batch."""
        entry.closed += tickets
        if entry.closed < entry.size:
            return False
        self._waiting.pop(entry.number, None)  # one of a late ticket's own does not wait
        return True

    def cut(self) -> Entry[Content] | None:
        """No more tickets of the current batch; the batch, if that closes it."""
        entry = self.asking
        if entry is None:
            return None
        entry.size = entry.asked
        return entry if self.close(entry, 0) else None

    def resume(self, number: int, asked: int, size: int, content: Content) -> None:
        """Go on after batches that were played as a block, the last of them up to `asked`."""
        self.begun = number
        self.current = Entry(number, size, content, asked, asked)
        if asked < size:
            self._waiting[number] = self.current
