"""Summaries of learners' logs for pages, kept from one request to the next.

A log is read once, then only what is new. Rounds are put into bins; when there are too many, two
neighbours become one: a log of any length takes the room of a chart.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import quantiles
from threading import Lock
from typing import Any

from fastapi import Request

from keyhole.counter.store.records import Event, LearnerInfo
from keyhole.counter.store.store import Store
from keyhole.counter.store.tables import EVENTS_PER_QUERY, as_corrected, damage_of
from keyhole.errors import KeyholeError
from keyhole.problem import Problem
from keyhole.problem.sparse_model import SparseModel, sparse_model

MAX_BINS = 96  # at most; a picture of them is still sharp
MAX_DELAYS_KEPT = 1000  # delays of labels that are kept


@dataclass(slots=True)
class AskedRounds:
    """Some rounds, one after the other: what was bought and what that cost."""

    first: int
    rounds: int = 0
    spent: float = 0.0
    reads: Counter[int] = field(default_factory=Counter)

    def add(self, other: AskedRounds) -> None:
        """Take over what comes right after."""
        self.rounds += other.rounds
        self.spent += other.spent
        self.reads.update(other.reads)


@dataclass(slots=True)
class ToldLabels:
    """Some labels, one after the other: what was lost, and what the running mean would have.

    Both are of the `judged` ones: those predicted when a label was known, so that there was a mean.
    """

    first: int
    labels: int = 0
    judged: int = 0
    loss: float = 0.0
    rival: float = 0.0
    waited: float = 0.0

    def add(self, other: ToldLabels) -> None:
        """Take over what comes right after."""
        self.labels += other.labels
        self.judged += other.judged
        self.loss += other.loss
        self.rival += other.rival
        self.waited += other.waited


@dataclass(slots=True)
class FeatureSummary:
    """What the log tells about a feature."""

    first: int
    last: int
    bought: int = 0
    arrived: int = 0
    missing: int = 0
    mean: float = 0.0


@dataclass(slots=True)
class OpenTicket:
    """A ticket that is open."""

    asked_at: float
    expires_at: float | None
    features: Sequence[int]
    round: int
    prediction: float | None = None
    rival: float | None = None
    counted: dict[int, bool] = field(default_factory=dict)  # by feature, whether it has come


@dataclass(slots=True)
class LogSummary:
    """A learner's log, folded. `seq` is the last event that is in it.

    `corrected` has the corrections that are known, by ticket: what they say counts from the start.
    `stale`: there was one since. `loss` and `rival` are of the labels that are `judged`, see
    `ToldLabels`; `first_loss` is what was lost before.
    """

    corrected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stale: bool = False
    seq: int = 0
    rounds: int = 0
    asked: list[AskedRounds] = field(default_factory=list)
    told: list[ToldLabels] = field(default_factory=list)
    asked_size: int = 1
    told_size: int = 1
    labels: int = 0
    judged: int = 0
    mean: float = 0.0
    loss: float = 0.0
    rival: float = 0.0
    first_loss: float = 0.0
    features: dict[int, FeatureSummary] = field(default_factory=dict)
    open: dict[str, OpenTicket] = field(default_factory=dict)
    delays: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_DELAYS_KEPT))

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
        elif event.kind == "step":
            self._step(event, body)
        elif event.kind == "told":
            right = self.corrected.get(event.ticket, {}).get("y")
            self._told(event, float(body["y"] if right is None else right))
        elif event.kind == "dropped":
            self.open.pop(event.ticket, None)
        elif event.kind == "corrected":
            known = self.corrected.get(event.ticket)
            self.stale = self.stale or known is None or event.seq > known["seq"]

    def _asked(self, event: Event, body: dict[str, Any]) -> None:
        number, features = int(body["round"]), [int(j) for j in body["features"]]
        self.rounds += 1
        expires = body.get("expires_at")
        self.open[str(event.ticket)] = OpenTicket(event.at, expires, features, number)
        self._bought(features, number)
        if not self.asked or self.asked[-1].rounds >= self.asked_size:
            self.asked.append(AskedRounds(self.rounds))
            self.asked_size = _halved(self.asked, self.asked_size)
        self.asked[-1].add(AskedRounds(number, 1, float(body["cost"]), Counter(features)))

    def _bought(self, features: Iterable[int], number: int) -> None:
        for j in features:
            known = self.features.setdefault(j, FeatureSummary(number, number))
            known.bought += 1
            known.last = number

    def _step(self, event: Event, body: dict[str, Any]) -> None:
        ticket = self.open.get(str(event.ticket))
        if ticket is None:
            return
        now = [int(j) for j in body["step"]["features"]]
        self._bought(now, ticket.round)
        ticket.features = [int(j) for j in body["features"]]
        cost = float(body["step"]["cost"])
        self.asked[-1].add(AskedRounds(ticket.round, 0, cost, Counter(now)))

    def _seen(self, event: Event, body: dict[str, Any]) -> None:
        ticket, id = self.open.get(str(event.ticket)), str(event.ticket)
        if ticket is None:
            return
        right = as_corrected(event, body, self.corrected.get(id, {}), ticket.features)
        ticket.prediction = float(right["prediction"])
        ticket.rival = self.mean if self.labels else None
        for j, value in zip(ticket.features, right["values"], strict=True):
            known, before = self.features[j], ticket.counted.get(j)
            if before or (before is not None and value is None):
                continue
            ticket.counted[j] = value is not None
            if value is None:
                known.missing += 1
                continue
            known.missing -= before is not None  # it was out until now
            known.arrived += 1
            known.mean += (float(value) - known.mean) / known.arrived

    def _told(self, event: Event, y: float) -> None:
        ticket = self.open.pop(str(event.ticket), None)
        if ticket is None or ticket.prediction is None:
            return
        waited = max(event.at - ticket.asked_at, 0.0)
        judged, loss, rival = int(ticket.rival is not None), _squared(y - ticket.prediction), 0.0
        if ticket.rival is None:  # there is nothing to compare it with
            self.first_loss += loss
            loss = 0.0
        else:
            rival = _squared(y - ticket.rival)
        self.labels += 1
        self.judged += judged
        self.mean += (y - self.mean) / self.labels
        self.loss += loss
        self.rival += rival
        self.delays.append(waited)
        if not self.told or self.told[-1].labels >= self.told_size:
            self.told.append(ToldLabels(self.labels))
            self.told_size = _halved(self.told, self.told_size)
        self.told[-1].add(ToldLabels(self.labels, 1, judged, loss, rival, waited))

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
    if len(bins) <= MAX_BINS:
        return size
    last = bins.pop()  # new and empty: it stays the one that is filled
    for i in range(0, len(bins) - 1, 2):
        bins[i].add(bins[i + 1])
    del bins[1::2]
    bins.append(last)
    return 2 * size


MAX_EVENTS_PER_REQUEST = 20_000  # events that one request reads at most: the next one goes on
MAX_FORMS_REMEMBERED = 1_000  # that are remembered


@dataclass(frozen=True, slots=True)
class Insight:
    """What a learner says about itself after so many events; None where it says nothing."""

    events: int
    problem: Problem
    model: SparseModel | None = None
    explanation: Any = None
    advice: Any = None


@dataclass(slots=True)
class _CacheEntry:
    trace: LogSummary = field(default_factory=LogSummary)
    insight: Insight | None = None
    created: float = 0.0
    lock: Lock = field(default_factory=Lock)


class PageCache:
    """Traces and insights by learner, renewed when its log has grown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._notes: dict[str, _CacheEntry] = {}
        self._lock = Lock()
        self._sent: deque[str] = deque(maxlen=MAX_FORMS_REMEMBERED)

    def sent(self, key: str) -> None:
        """Remember that a form was done: of forms that the store keeps no keys of."""
        self._sent.append(key)

    def was_sent(self, key: str) -> bool:
        """Whether that form was done before."""
        return key in self._sent

    @contextmanager
    def trace(self, info: LearnerInfo) -> Iterator[LogSummary]:
        """The log of a learner, folded; a long one that is new to us up to where we got.

        Nobody else reads or renews it meanwhile.
        """
        notes = self._of(info)
        with notes.lock:
            self._read(info, notes.trace)
            if notes.trace.stale and notes.trace.seq >= info.events:  # from the start, then
                notes.trace = LogSummary(corrected=self._store.corrections(info.name))
                self._read(info, notes.trace)
            yield notes.trace

    def _read(self, info: LearnerInfo, trace: LogSummary) -> None:
        most = trace.seq + MAX_EVENTS_PER_REQUEST
        while (after := trace.seq) < min(info.events, most):
            for event in self._store.history(info.name, after=after, limit=EVENTS_PER_QUERY):
                with damage_of(f"event {event.seq} of {info.name!r}"):
                    trace.add(event)
            if trace.seq == after:
                break

    def insight(self, info: LearnerInfo) -> Insight:
        """What a learner says now."""
        notes = self._of(info)
        with notes.lock:
            if notes.insight is None or notes.insight.events != info.events:
                notes.insight = _insight_of(self._store, info)
            return notes.insight

    def _of(self, info: LearnerInfo) -> _CacheEntry:
        """The notes on a learner, new ones if there is another of its name now."""
        with self._lock:
            notes, created = self._notes.get(info.name), info.created_at.timestamp()
            if notes is None or notes.created != created or notes.trace.seq > info.events:
                notes = self._notes[info.name] = _CacheEntry(created=created)
            return notes


def page_cache(request: Request) -> PageCache:
    """The cache of the store that is served."""
    state = request.app.state
    if getattr(state, "page_cache", None) is None:
        state.page_cache = PageCache(state.store)
    found: PageCache = state.page_cache
    return found


def _insight_of(store: Store, info: LearnerInfo) -> Insight:
    learner = store.learner(info.name)
    said: dict[str, Any] = {}
    for name, call in (
        ("model", lambda: sparse_model(learner)),
        ("explanation", lambda: learner.explain()),
        ("advice", lambda: learner.advice()),
    ):
        try:
            said[name] = call()
        except (AttributeError, NotImplementedError, KeyholeError):
            said[name] = None
    return Insight(info.events, learner.problem, **said)
