"""Rounds in batches, whose labels may come late: which is being asked, which are not closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from keyhole.saving.serialize import Tree, fit
from keyhole.saving.snapshot import State

Content = TypeVar("Content")

WAITING = 64  # batches that may wait for labels; the oldest is then closed with those it has


@dataclass(slots=True, eq=False)
class Entry(Generic[Content]):
    """A batch: `size` tickets in all, of which `asked` were issued and `closed` are closed."""

    number: int
    size: int
    content: Content
    asked: int = 0
    closed: int = 0


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
        self.current = self._waiting.get(begun, apart)

    def saved(self) -> dict[str, object]:
        """The parts of a state that `put_back` goes on from."""
        return {"begun": self.begun, "waiting": self.waiting, "apart": self.apart}

    def put_back(self, state: State, reopen: Callable[[Tree], Entry[Content]]) -> None:
        """Go on from the parts that `saved` returned; `reopen` makes an entry from its tree."""
        apart = state.part("apart")
        self.restore(
            fit(0, state.part("begun"), "begun"),
            [reopen(tree) for tree in state.part("waiting")],
            None if apart is None else reopen(apart),
        )

    def overdue(self) -> Entry[Content] | None:
        """The oldest batch, taken out, if as many wait as may; else None."""
        if len(self._waiting) < WAITING:
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

    def resume(self, number: int, asked: int, size: int, content: Content) -> None:
        """Go on after batches that were played as a block, the last of them up to `asked`."""
        self.begun = number
        self.current = Entry(number, size, content, asked, asked)
        if asked < size:
            self._waiting[number] = self.current
