"""The assertion of the conformance suite."""

from __future__ import annotations


def require(kept: bool, promise: str) -> None:
    """Raise AssertionError with the promise unless it was kept."""
    if not kept:  # not an assert statement: those vanish under python -O
        raise AssertionError(promise)
