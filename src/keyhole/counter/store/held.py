"""Tickets with all that is known about them, from the log or kept in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from keyhole.counter.store.database import Connection, Row
from keyhole.counter.store.log import TicketRow
from keyhole.counter.store.records import StoredTicket, moment
from keyhole.problem.ticket import Ticket

COLUMNS = ", ".join(f"t.{name}" for name in TicketRow.__slots__)
SELECT = f"""
    SELECT l.name, l.about, a.who, a.body, s.body, c.body, {COLUMNS}
    FROM kh_ticket t
    JOIN kh_learner l ON l.id = t.learner
    JOIN kh_event a ON a.learner = t.learner AND a.seq = t.asked_seq
    LEFT JOIN kh_event s ON s.learner = t.learner AND s.seq = t.filled_seq
    LEFT JOIN kh_event c ON c.learner = t.learner AND c.seq = t.closed_seq
"""


@dataclass(slots=True)
class Held:
    """A ticket: its row, who asked, the order, and what the events after it say."""

    row: TicketRow
    who: str
    order: Ticket
    item_prices: tuple[float, ...]
    seen: Mapping[str, Any] | None = None  # as `events.seen` has it
    label: float | None = None

    def stored(self, learner: str, about: str) -> StoredTicket:
        """The same as users see it."""
        row, seen = self.row, self.seen or {}
        return StoredTicket(
            id=row.id,
            learner=learner,
            state=row.state,  # type: ignore[arg-type]
            who=self.who,
            asked_at=datetime.fromtimestamp(row.asked_at, UTC),
            expires_at=moment(row.expires_at),
            filled_at=moment(row.filled_at),
            closed_at=moment(row.closed_at),
            ticket=self.order,
            item_prices=self.item_prices,
            units=_units(about),
            values=None if self.seen is None else tuple(map(_number, seen["values"])),
            prediction=seen.get("prediction"),
            label=self.label,
            coverage=seen.get("coverage"),
            low=seen.get("low"),
            high=seen.get("high"),
        )


def find(connection: Connection, id: str, learner: int) -> Held | None:
    """A ticket of this learner, if there is one."""
    found = connection.rows(f"{SELECT} WHERE t.id = ? AND t.learner = ?", (id, learner))
    return _held(found[0]) if found else None


def tickets(connection: Connection, rest: str, values: Sequence[Any]) -> list[StoredTicket]:
    """Tickets as users see them; `rest` is what follows in the SELECT."""
    rows = connection.rows(SELECT + rest, values)
    return [_held(row).stored(row[0], row[1]) for row in rows]


def _held(found: Row) -> Held:
    _, _, who, asked, seen, closed, *columns = found
    row = TicketRow(*columns)
    return Held(
        row,
        who,
        Ticket.from_json(asked),
        tuple(json.loads(asked)["item_prices"]),
        None if seen is None else json.loads(seen),
        float(json.loads(closed)["y"]) if row.state == "told" else None,
    )


@lru_cache(maxsize=64)
def _units(about: str) -> Mapping[str, str]:
    found: dict[str, str] = json.loads(about)["units"]
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else value
