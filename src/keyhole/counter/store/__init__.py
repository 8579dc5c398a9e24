"""The durable counter: learners in a database, asked and told by id, from anywhere."""

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
