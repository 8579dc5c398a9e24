"""A store with a cheap learner, and services on it."""

from collections.abc import Iterator

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder

NAMES = ("age", "crp", "tsh")
PROBLEM = kh.Problem(d=3, k=1, budget=2, names=NAMES)


@pytest.fixture
def store() -> Iterator[kh.Store]:
    """A store with a learner that buys at random."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as made:
        made.create("clinic", PROBLEM, learner="random", units={"crp": "mg/l"})
        yield made


@pytest.fixture
def service(store: kh.Store) -> Iterator[Service]:
    """A service without keys."""
    with serving(store) as running:
        yield running


@pytest.fixture
def keys(store: kh.Store) -> ApiKeys:
    """The keys of the store; the service on it closes them."""
    return ApiKeys(store.url)
