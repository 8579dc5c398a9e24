"""Addresses of stores: a file, and a server of PostgreSQL where that is installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.postgres import programs, server
from tests.helpers.stores import quick_folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server that runs for all tests."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: initdb was not found")
    with server() as url:
        yield url


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for stores."""
    with quick_folder() as path:
        yield path


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a store, on each database in turn."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres")
    else:
        with quick_folder() as path:
            yield str(path / "keyhole.db")
