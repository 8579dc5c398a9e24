"""What pages remember from one request to the next: traces of logs, and what learners say."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fastapi import Request

from keyhole.counter.service.pages.trace import Trace
from keyhole.counter.store.counter import Store
from keyhole.counter.store.records import LearnerInfo
from keyhole.errors import KeyholeError
from keyhole.problem import Problem
from keyhole.problem.sparse_model import SparseModel, sparse_model

AT_ONCE = 20_000  # events that one request reads at most: the next one goes on
PAGE = 2_000
FORMS = 1_000  # that are remembered


@dataclass(frozen=True, slots=True)
class Insight:
    """What a learner says about itself after so many events; None where it says nothing."""

    events: int
    problem: Problem
    model: SparseModel | None = None
    explanation: Any = None
    advice: Any = None


@dataclass(slots=True)
class _Notes:
    trace: Trace = field(default_factory=Trace)
    insight: Insight | None = None
    created: float = 0.0
    lock: Lock = field(default_factory=Lock)


class Notebook:
    """Traces and insights by learner, renewed when its log has grown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._notes: dict[str, _Notes] = {}
        self._lock = Lock()
        self._sent: deque[str] = deque(maxlen=FORMS)

    def sent(self, key: str) -> None:
        """Remember that a form was done: of forms that the store keeps no keys of."""
        self._sent.append(key)

    def was_sent(self, key: str) -> bool:
        """Whether that form was done before."""
        return key in self._sent

    @contextmanager
    def trace(self, info: LearnerInfo) -> Iterator[Trace]:
        """The log of a learner, folded; a long one that is new to us up to where we got.

        Nobody else reads or renews it meanwhile.
        """
        notes = self._of(info)
        with notes.lock:
            most = notes.trace.seq + AT_ONCE
            while (after := notes.trace.seq) < min(info.events, most):
                for event in self._store.history(info.name, after=after, limit=PAGE):
                    notes.trace.add(event)
                if notes.trace.seq == after:
                    break
            yield notes.trace

    def insight(self, info: LearnerInfo) -> Insight:
        """What a learner says now."""
        notes = self._of(info)
        with notes.lock:
            if notes.insight is None or notes.insight.events != info.events:
                notes.insight = _look(self._store, info)
            return notes.insight

    def _of(self, info: LearnerInfo) -> _Notes:
        """The notes on a learner, new ones if there is another of its name now."""
        with self._lock:
            notes, created = self._notes.get(info.name), info.created_at.timestamp()
            if notes is None or notes.created != created or notes.trace.seq > info.events:
                notes = self._notes[info.name] = _Notes(created=created)
            return notes


def notebook(request: Request) -> Notebook:
    """The notebook of the store that is served."""
    state = request.app.state
    if getattr(state, "notebook", None) is None:
        state.notebook = Notebook(state.store)
    found: Notebook = state.notebook
    return found


def _look(store: Store, info: LearnerInfo) -> Insight:
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
