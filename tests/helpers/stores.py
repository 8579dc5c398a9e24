"""Stores for tests: in memory where the system can, learners under names of their own."""

import contextlib
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import keyhole as kh


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder for stores that no test pulls the plug of: a file system in memory, if there is."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="keyhole-", dir=place) as name:
        yield Path(name)


def maker(store: kh.Store, kind: str) -> Callable[[kh.Problem], kh.Learner]:
    """A factory of new learners in one store."""

    def make(problem: kh.Problem) -> kh.Learner:
        name = f"{kind}-{uuid.uuid4().hex}"
        store.create(name, problem, kind)
        return store.learner(name, confirm=True)  # there are wild values in what is played

    return make
