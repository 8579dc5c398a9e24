"""The durable counter: learners in a database, asked and told by id, from anywhere."""

from keyhole.store.counter import Store
from keyhole.store.learner import StoredLearner
from keyhole.store.records import Commit, Event, LearnerInfo, Snapshot, StoredTicket

__all__ = [
    "Commit",
    "Event",
    "LearnerInfo",
    "Snapshot",
    "Store",
    "StoredLearner",
    "StoredTicket",
]
