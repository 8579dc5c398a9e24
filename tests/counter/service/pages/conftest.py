"""Stores for the tests of pages, in memory where the system can."""

from collections.abc import Iterator

import pytest

import keyhole as kh
from tests.helpers.stores import quick_folder


@pytest.fixture
def store() -> Iterator[kh.Store]:
    """An empty store."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        yield store
