"""The durable counter: learners in a database, asked and told by id, from anywhere."""

from keyhole.store.counter import Store
from keyhole.store.learner import StoredLearner
from keyhole.store.records import Event, LearnerInfo, StoredTicket

__all__ = ["Event", "LearnerInfo", "Store", "StoredLearner", "StoredTicket"]
