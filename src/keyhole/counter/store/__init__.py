"""The store: learners in a database, asked and told by ticket id, from any process."""

from keyhole.counter.store.learner import StoredLearner
from keyhole.counter.store.records import Commit, Event, LearnerInfo, Snapshot, StoredTicket
from keyhole.counter.store.store import Store

__all__ = [
    "Commit",
    "Event",
    "LearnerInfo",
    "Snapshot",
    "Store",
    "StoredLearner",
    "StoredTicket",
]
