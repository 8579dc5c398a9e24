"""Parallel work: calls spread over processes of this machine, or over a Dask cluster.

Everything that can be done side by side is a list of calls; `as_completed` makes them and hands
back what becomes of each as soon as it is there. Where they are made is decided by joblib: `jobs`
processes of this machine, or whatever backend is in force, which `cluster` sets to a Dask cluster
by its address and `joblib.parallel_config(backend="dask")` to one that is at hand.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import platform
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyhole.errors import ClusterError, DataError, ProblemError, shortened, whole_number
from keyhole.problem.optional_imports import extra
from keyhole.streams.source_file import first_line
from keyhole.version import __version__

Call = tuple[Callable[..., Any], tuple[Any, ...]]
SCHEDULER_TIMEOUT = 10.0  # seconds to wait for a scheduler to answer
MAX_WORKERS_LOST = 3  # workers that may be lost one after the other without any result between


@dataclass(frozen=True)
class TaskOutcome:
    """What became of a call: its value, or the error that it raised."""

    index: int
    value: Any = None
    error: BaseException | None = None

    @property
    def result(self) -> Any:
        """The value; raises the error if there is one."""
        if self.error is not None:
            raise self.error
        return self.value


def as_completed(
    calls: Sequence[Call], jobs: int | None = None, *, alone: bool = False
) -> Iterator[TaskOutcome]:
    """Make calls side by side and hand back what becomes of each, in no particular order.

    A call that raises is a `TaskOutcome` with that error: the others go on. A worker that is lost
    costs the calls that it was making, which are made again elsewhere; only if several are lost in
    a row, without any result between, is the work given up, with a `ClusterError`.

    Parameters
    ----------
    calls
        Functions and their arguments. They travel: functions of modules, addresses and no arrays.
    jobs
        Processes; -1: one for each core; 1: this process, whatever backend is in force. None: as
        many as that backend has, and one where none was chosen. A cluster has as many as it has.
    alone
        Let every call have one thread of linear algebra: with more of them sums are added in
        another order, and numbers differ in their last bits.
    """
    if jobs == 0:
        raise ProblemError("jobs must not be 0: 1 for this process, -1: one for each core")
    joblib = extra("joblib", "cluster")
    backend, chosen = joblib.parallel.get_active_backend()
    on_dask = type(backend).__name__ == "DaskDistributedBackend"
    many = _many(jobs, chosen, on_dask)
    far = on_dask and many != 1
    if far:
        refuse_other_versions(backend.client)
    tasks = [(i, function, given, alone, far) for i, (function, given) in enumerate(calls)]
    if many == 1 or (len(tasks) == 1 and not on_dask):
        for task in tasks:
            yield _numbered(*task)
        return
    yield from _spread(joblib, tasks, many, backend)


def _many(jobs: int | None, chosen: int | None, on_dask: bool) -> int:
    if on_dask and jobs != 1:
        return -1
    if jobs is not None:
        return whole_number("jobs", jobs, -(2**20))
    return 1 if chosen is None else chosen


def _spread(joblib: Any, tasks: list[Any], jobs: int, backend: Any) -> Iterator[TaskOutcome]:
    left, lost = dict(enumerate(tasks)), 0
    died = extra("joblib.externals.loky.process_executor", "cluster").TerminatedWorkerError
    kinds: tuple[type[BaseException], ...] = (died, *_dask_losses())
    streaming = "generator_unordered" if backend.supports_return_generator else "list"
    while left:
        parallel = joblib.Parallel(n_jobs=jobs, return_as=streaming, batch_size=1)
        call = joblib.delayed(_numbered)
        found: Any = None
        try:
            # Processes that begin while Ctrl-C is ignored never hear of it: this one stops them.
            with signals_handled(signal.SIG_IGN, signal.SIGINT):
                found = parallel([call(*task) for task in left.values()])
            for outcome in found:
                del left[outcome.index]
                lost = 0
                yield outcome
        except kinds as error:
            lost += 1
            if lost >= MAX_WORKERS_LOST:
                raise ClusterError(
                    f"{lost} workers were lost one after the other, {len(left):,} of "
                    f"{len(tasks):,} pieces of work are not done: are they out of memory? "
                    f"({shortened(str(error))})"
                ) from None
        finally:
            if hasattr(found, "close"):
                found.close()


def _dask_losses() -> tuple[type[BaseException], ...]:
    """What Dask raises when it has lost a worker too often."""
    try:
        distributed = extra("distributed", "cluster")
    except ImportError:
        return ()
    return (distributed.scheduler.KilledWorker,)


def _numbered(
    index: int, function: Callable[..., Any], arguments: tuple[Any, ...], alone: bool, far: bool
) -> TaskOutcome:
    try:
        with one_thread() if alone else contextlib.nullcontext():
            return TaskOutcome(index, function(*arguments))
    except DataError as error:
        where = " (said by a worker: an address must be the same for all of them)" if far else ""
        return TaskOutcome(index, error=type(error)(f"{error}{where}"))
    except Exception as error:
        return TaskOutcome(index, error=_picklable(error))


def _picklable(error: Exception) -> Exception:
    """An error that can travel: itself with where it was raised, or a description of it."""
    where = "".join(traceback.format_exception(error))
    try:
        error.add_note(where)
        copy = pickle.loads(pickle.dumps(error))
        return copy if type(copy) is type(error) else ClusterError(where)
    except Exception:  # whatever pickling an error of others may raise
        return ClusterError(f"{type(error).__name__}: {error}")


def one_thread() -> Any:
    """A context in which NumPy's linear algebra uses one thread."""
    return _libraries().limit(limits=1)


@functools.cache
def _libraries() -> Any:
    import numpy  # noqa: F401  (its library must be there to be found)

    return extra("threadpoolctl", "cluster").ThreadpoolController()


@contextlib.contextmanager
def signals_handled(handler: Any, *numbers: int) -> Iterator[None]:
    """Within: these signals are for this handler; only in the main thread, which they belong to."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


@contextlib.contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Within: work is spread over the Dask cluster of that scheduler; None changes nothing.

    ClusterError if it does not answer, has no workers, or has others than this one would have.
    """
    if address is None:
        yield
        return
    distributed, joblib = extra("distributed", "cluster"), extra("joblib", "cluster")
    try:
        client = distributed.Client(address, timeout=SCHEDULER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}: {first_line(error)}; start one with `dask "
            "scheduler`, and name the address that it prints"
        ) from None
    try:
        refuse_other_versions(client)
        with joblib.parallel_config(backend="dask", client=client):
            yield
    finally:
        client.close()


def versions() -> dict[str, str]:
    """What must be the same here and on every worker, or results are not."""
    import numpy

    python = ".".join(platform.python_version_tuple()[:2])
    return {"keyhole": __version__, "Python": python, "numpy": numpy.__version__}


def refuse_other_versions(client: Any) -> None:
    """ClusterError unless there are workers, and all of them have the versions of this process."""

    def there() -> dict[str, str]:  # within: so it travels as it is, and says what is missing there
        from keyhole.saving.parallel import versions

        return versions()

    found = client.run(there, on_error="return")
    if not found:
        raise ClusterError(
            "the Dask cluster has no workers: start some with `dask worker ADDRESS`, on machines "
            "where keyhole is installed"
        )
    here = versions()
    for worker, its in sorted(found.items()):
        if isinstance(its, BaseException):
            raise ClusterError(
                f"worker {worker} cannot import keyhole ({first_line(its)}): install keyhole "
                f"{__version__} there"
            )
        for name, version in here.items():
            if its.get(name) != version:
                raise ClusterError(
                    f"worker {worker} has {name} {its.get(name)}, and this process {version}: "
                    "install the same on both, or results would differ"
                )
