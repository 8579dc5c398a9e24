"""A learner in a store is a learner: the public suites of both, on each database."""

from collections.abc import Callable
from pathlib import Path

import pytest

import keyhole as kh
from tests.helpers.stores import maker

# Thousands of rounds, each committed by itself: on a file is enough.
SHORT = ("refuses_without_a_trace", "takes_labels_in_any_order")
# About the numbers of a learner, which are the same in memory: `plays_as_in_memory`.
NUMBERS = ("intervals_hold", "sees_only_what_it_bought")


def checks(names: tuple[str, ...] | None = None) -> list[Callable[..., None]]:
    every = [check for check in kh.testing.LEARNER_CHECKS if check.__name__ not in NUMBERS]
    return [check for check in every if not names or check.__name__ in names]


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.__name__)
def test_every_check_of_learners(check: Callable[..., None], folder: Path) -> None:
    with kh.Store(folder / "keyhole.db") as store:
        check(maker(store, "random"))


@pytest.mark.parametrize("check", checks(SHORT), ids=lambda check: check.__name__)
def test_short_checks_of_learners_on_a_server(check: Callable[..., None], postgres: str) -> None:
    with kh.Store(postgres) as store:
        check(maker(store, "random"))


@pytest.mark.parametrize("check", kh.testing.STORE_CHECKS, ids=lambda check: check.__name__)
def test_every_check_of_stores(check: Callable[..., None], url: str) -> None:
    check(lambda: kh.Store(url))
