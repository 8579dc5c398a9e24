"""Questions that cells of a store answer: a function, what it is called with, what names the cell.

A question is answered once. Its name hangs on what the function is called with and on what its
module says, and that of a timed one on the machine too; not on where modules or files lie.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from benchmarks.common import Row
from benchmarks.common.parallel import Progress, in_parallel
from benchmarks.common.sources import digest
from benchmarks.common.store import Store, cell_id
from benchmarks.common.versions import machine, stamp

Run = Callable[..., Row]


@dataclass(frozen=True)
class Question:
    """`run(*arguments)` answers it, `content` names its cell, `about` tells people what it is."""

    run: Run
    arguments: tuple[Any, ...]
    content: Mapping[str, Any]
    about: Mapping[str, Any]

    @cached_property
    def id(self) -> str:
        """The name of its cell."""
        return cell_id(self.content)


def name_of(run: Run) -> str:
    """What people read: the function's name, without "run_"."""
    return run.__name__.removeprefix("run_")


def question(run: Run, arguments: tuple[Any, ...], *, timed: bool = False) -> Question:
    """What `run` makes of plain arguments; of a path, what is in the file counts."""
    task = [file_digest(str(a)) if isinstance(a, Path) else a for a in arguments]
    words = [a.name if isinstance(a, Path) else a for a in arguments]
    content = {"what": name_of(run), "task": task, "code": digest(run.__module__)}
    about: Row = {"cell": name_of(run), "task": words}
    if timed:
        content["machine"], about["timed"] = machine(), True
    return Question(run, arguments, content, about)


def answer(store: Store, questions: Iterable[Question], workers: int, what: str) -> int:
    """Have those answered that are not answered yet; returns how many failed.

    Every answer is stored as it comes: whatever stops this loses what is being worked on alone.
    """
    wanted = list({q.id: q for q in questions if not store.done(q.id)}.values())
    progress, failed, base = Progress(what, len(wanted)), 0, stamp()
    for i, found in in_parallel([(q.run, q.arguments) for q in wanted], workers):
        asked = wanted[i]
        store.add({"id": asked.id, **asked.about, **base, **found})
        if "error" in found:
            failed += 1
            said = [str(word) for key, word in asked.about.items() if key != "cell"]
            where = f"{asked.about['cell']} {', '.join(said)}"
            print(f"{where}: {found['error']}", file=sys.stderr, flush=True)
        progress.count()
    return failed


@dataclass
class Ask:
    """Has questions answered, from the store where it can be; counts the failures.

    With no workers at all (None) what is not in the store is left out.
    """

    store: Store
    workers: int | None
    failed: int = 0

    def __call__(
        self, run: Run, tasks: Iterable[tuple[Any, ...]], *, timed: bool = False
    ) -> list[Row]:
        """The rows `run` makes of the tasks, in their order, without those that failed.

        Timed ones are run one after the other in this process.
        """
        questions = [question(run, task, timed=timed) for task in tasks]
        if self.workers is not None:
            workers = 1 if timed else self.workers
            self.failed += answer(self.store, questions, workers, name_of(run))
        return [self.store.rows[q.id] for q in questions if self.store.done(q.id)]


def file_digest(path: str) -> str:
    """A short name for what is in a file."""
    return _file_digest(path, Path(path).stat().st_mtime_ns)


@cache
def _file_digest(path: str, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
