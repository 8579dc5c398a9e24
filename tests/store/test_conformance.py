"""A learner in a store is a learner: the public suites of both, on each database."""

from collections.abc import Callable

import pytest

import keyhole as kh
from tests.helpers.stores import maker

# Thousands of rounds, which a store commits one by one: on a file is enough.
LONG = "stays_small"


@pytest.mark.parametrize("check", kh.testing.LEARNER_CHECKS, ids=lambda check: check.__name__)
def test_every_check_of_learners(check: Callable[..., None], url: str) -> None:
    if check.__name__ == LONG and url.startswith("postgres"):
        return
    with kh.Store(url) as store:
        check(maker(store, "random"))


@pytest.mark.parametrize("check", kh.testing.STORE_CHECKS, ids=lambda check: check.__name__)
def test_every_check_of_stores(check: Callable[..., None], url: str) -> None:
    check(lambda: kh.Store(url))
