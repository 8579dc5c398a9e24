"""Memory that is free, asked before something large is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from keyhole.errors import ProblemError

ALWAYS_ALLOWED_BYTES = 1 << 26  # bytes that nobody is asked about
_CGROUP_FILES = (  # of a container: what it may use, and what it uses
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_memory() -> float:
    """Bytes that could be allocated now; infinite where the system does not say."""
    found = [_of_the_machine()]
    for limit, usage in _CGROUP_FILES:
        most, used = _number(limit), _number(usage)
        if most is not None and used is not None:
            found.append(float(max(most - used, 0)))
    return min(found)


def fits(needed: float) -> bool:
    """Whether so many bytes can be allocated."""
    return needed <= ALWAYS_ALLOWED_BYTES or needed <= available_memory()


def refuse_beyond_memory(what: str, needed: float, remedy: str) -> None:
    """ProblemError, with both numbers, unless so many bytes can be allocated.

    >>> refuse_beyond_memory("a table", 1e30, "make it smaller")
    Traceback (most recent call last):
    keyhole.errors.ProblemError: a table takes about ... of memory, ... free: make it smaller
    """
    if not fits(needed):
        there = in_words(available_memory())
        raise ProblemError(
            f"{what} takes about {in_words(needed)} of memory, {there} free: {remedy}"
        )


def in_words(size: float) -> str:
    """A number of bytes for people.

    >>> in_words(9e9), in_words(5e6)
    ('9.0 GB', '5 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def _of_the_machine() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return float("inf")


def _number(path: str) -> int | None:
    """The number in a file; None if there is no such file, or a word in it, such as `max`."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
