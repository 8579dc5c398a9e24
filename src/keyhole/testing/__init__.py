"""A public conformance suite: what every learner, stream and store must keep to.

    kh.testing.check_learner(lambda problem: MyLearner(problem, seed=0), prices="by price")
    kh.testing.check_stream(lambda: MyStream("readings.bin"))
    kh.testing.check_store(lambda: MyStore("counter.db"))

Each property is a function of its own in `learner_checks(...)`, STREAM_CHECKS and STORE_CHECKS, so
that a test runner can show them one by one. A broken promise raises AssertionError with the round
where it broke.
"""

from keyhole.testing.prices import on_prices, with_prices
from keyhole.testing.stores import STORE_CHECKS, check_store
from keyhole.testing.streams import STREAM_CHECKS, check_stream
from keyhole.testing.suite import (
    LEARNER_CHECKS,
    check_learner,
    easy_stream,
    learner_checks,
    learns_an_easy_stream,
)
from keyhole.testing.yes_no import on_yes_no

__all__ = [
    "LEARNER_CHECKS",
    "STORE_CHECKS",
    "STREAM_CHECKS",
    "check_learner",
    "check_store",
    "check_stream",
    "easy_stream",
    "learner_checks",
    "learns_an_easy_stream",
    "on_prices",
    "on_yes_no",
    "with_prices",
]
