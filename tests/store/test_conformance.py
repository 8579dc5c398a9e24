"""A learner in a store is a learner: the public suite, on a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import keyhole as kh
from tests.helpers.stores import counting, quick_folder


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


@pytest.mark.parametrize("check", kh.testing.LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", ["random", "explore-commit"])
def test_every_check(kind: str, check: Callable[..., None], folder: Path) -> None:
    with kh.Store(folder / f"{kind}-{check.__name__}.db") as store:
        check(counting(store, kind))
