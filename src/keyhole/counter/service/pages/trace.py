"""What a learner's log tells, in little room: read once, then only what is new.

Rounds are put into bins; when there are too many, two neighbours become one. So a log of any length
takes the room of a picture.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from keyhole.counter.store.records import Event

BINS = 96  # at most; a picture of them is still sharp
RECENT = 1000  # delays of labels that are kept


@dataclass(slots=True)
class Asked:
    """Some rounds, one after the other: what was bought and what that cost."""

    first: int
    rounds: int = 0
    spent: float = 0.0
    reads: Counter[int] = field(default_factory=Counter)

    def add(self, other: Asked) -> None:
        """Take over what comes right after."""
        self.rounds += other.rounds
        self.spent += other.spent
        self.reads.update(other.reads)


@dataclass(slots=True)
class Told:
    """Some labels, one after the other: what was lost, and what the running mean would have."""

    first: int
    labels: int = 0
    loss: float = 0.0
    rival: float = 0.0
    waited: float = 0.0

    def add(self, other: Told) -> None:
        """Take over what comes right after."""
        self.labels += other.labels
        self.loss += other.loss
        self.rival += other.rival
        self.waited += other.waited


@dataclass(slots=True)
class Feature:
    """What the log tells about a feature."""

    first: int
    last: int
    bought: int = 0
    arrived: int = 0
    missing: int = 0
    mean: float = 0.0
    missed_at: float | None = None


@dataclass(slots=True)
class Waiting:
    """A ticket that is open."""

    asked_at: float
    expires_at: float | None
    features: Sequence[int]
    round: int
    prediction: float | None = None
    rival: float = 0.0


@dataclass(slots=True)
class Trace:
    """A learner's log, folded. `seq` is the last event that is in it."""

    seq: int = 0
    rounds: int = 0
    asked: list[Asked] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    asked_size: int = 1
    told_size: int = 1
    labels: int = 0
    mean: float = 0.0
    loss: float = 0.0
    rival: float = 0.0
    features: dict[int, Feature] = field(default_factory=dict)
    open: dict[str, Waiting] = field(default_factory=dict)
    delays: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, event: Event) -> None:
        """Take in the next event."""
        body: dict[str, Any] = json.loads(event.body)
        self.seq = event.seq
        if event.ticket is None:
            return
        if event.kind == "asked":
            self._asked(event, body)
        elif event.kind == "seen":
            self._seen(event, body)
        elif event.kind == "told":
            self._told(event, float(body["y"]))
        elif event.kind == "dropped":
            self.open.pop(event.ticket, None)

    def _asked(self, event: Event, body: dict[str, Any]) -> None:
        number, features = int(body["round"]), [int(j) for j in body["features"]]
        self.rounds += 1
        expires = body.get("expires_at")
        self.open[str(event.ticket)] = Waiting(event.at, expires, features, number)
        for j in features:
            known = self.features.setdefault(j, Feature(number, number))
            known.bought += 1
            known.last = number
        if not self.asked or self.asked[-1].rounds >= self.asked_size:
            self.asked.append(Asked(self.rounds))
            self.asked_size = _halved(self.asked, self.asked_size)
        self.asked[-1].add(Asked(number, 1, float(body["cost"]), Counter(features)))

    def _seen(self, event: Event, body: dict[str, Any]) -> None:
        ticket = self.open.get(str(event.ticket))
        if ticket is None:
            return
        ticket.prediction, ticket.rival = float(body["prediction"]), self.mean
        for j, value in zip(ticket.features, body["values"], strict=True):
            known = self.features[j]
            if value is None:
                known.missing += 1
                known.missed_at = event.at
            else:
                known.arrived += 1
                known.mean += (float(value) - known.mean) / known.arrived

    def _told(self, event: Event, y: float) -> None:
        ticket = self.open.pop(str(event.ticket), None)
        if ticket is None or ticket.prediction is None:
            return
        waited = max(event.at - ticket.asked_at, 0.0)
        loss, rival = _squared(y - ticket.prediction), _squared(y - ticket.rival)
        self.labels += 1
        self.mean += (y - self.mean) / self.labels
        self.loss += loss
        self.rival += rival
        self.delays.append(waited)
        if not self.told or self.told[-1].labels >= self.told_size:
            self.told.append(Told(self.labels))
            self.told_size = _halved(self.told, self.told_size)
        self.told[-1].add(Told(self.labels, 1, loss, rival, waited))

    def delay(self) -> tuple[float | None, float | None]:
        """How long labels took of late: the median, and nine of ten; None before the first."""
        if not self.delays:
            return None, None
        if len(self.delays) == 1:
            return self.delays[0], self.delays[0]
        cuts = quantiles(self.delays, n=10, method="inclusive")
        return cuts[4], cuts[8]

    def expired(self, now: float) -> int:
        """How many open tickets are past the time that was set for them."""
        return sum(t.expires_at is not None and t.expires_at < now for t in self.open.values())

    def ages(self, now: float, limits: Sequence[float]) -> list[int]:
        """How many open tickets are younger than each limit, and how many are older than all."""
        counts = [0] * (len(limits) + 1)
        for ticket in self.open.values():
            age = now - ticket.asked_at
            counts[sum(age >= limit for limit in limits)] += 1
        return counts


def _squared(error: float) -> float:
    return error * error if math.isfinite(error) else 0.0


def _halved(bins: list[Any], size: int) -> int:
    """Join neighbours if there are too many bins; how many rounds a bin has from now on."""
    if len(bins) <= BINS:
        return size
    last = bins.pop()  # new and empty: it stays the one that is filled
    for i in range(0, len(bins) - 1, 2):
        bins[i].add(bins[i + 1])
    del bins[1::2]
    bins.append(last)
    return 2 * size
