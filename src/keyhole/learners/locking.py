"""Threads: several may use one learner, one call at a time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Locked")


def locked(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """The method, for one thread at a time; it may call others of the same object."""

    @functools.wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Locked:
    """An object with a lock, for calls that must wait for each other.

    Without it, a label that one thread brings while another asks could be lost. The lock is not a
    part of the object: copies have one of their own, and no file holds it.
    """

    _lock: threading.RLock

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """A new object, with its lock."""
        new = object.__new__(cls)
        new._lock = threading.RLock()
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}
