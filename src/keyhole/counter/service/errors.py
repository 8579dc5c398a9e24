"""Errors of the HTTP service, and the HTTP status of every error."""

from __future__ import annotations

from collections.abc import Mapping

from keyhole.errors import (
    BudgetError,
    ConflictError,
    DataError,
    DoubtError,
    KeyholeError,
    MissingExtraError,
    ProblemError,
    StateError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
    TicketError,
    UnknownLearnerError,
    UnknownTicketError,
)


class NoKeyError(KeyholeError):
    """A request without a key that is known, or with one that has expired or was revoked."""


class NotAllowedError(KeyholeError):
    """A key that may not do this, or a page of another site that tries to."""


class HostError(KeyholeError):
    """A request that was meant for another host."""


class TooLargeError(KeyholeError):
    """A request whose body is larger than the service takes."""


class TooSlowError(KeyholeError):
    """A request whose body did not arrive in time."""


class TooManyError(KeyholeError):
    """More requests, or more open tickets, than a key may have."""


class NotReadyError(KeyholeError):
    """The service is loading its learners, or stopping."""


# The nearest class in an error's ancestry counts; `kind` of an answer is the name of that class.
STATUS: Mapping[type[KeyholeError], int] = {
    HostError: 400,
    NoKeyError: 401,
    NotAllowedError: 403,
    UnknownLearnerError: 404,
    UnknownTicketError: 404,
    TooSlowError: 408,
    ConflictError: 409,
    DoubtError: 409,
    TicketError: 409,
    TooLargeError: 413,
    BudgetError: 422,
    DataError: 422,
    ProblemError: 422,
    StateError: 422,
    MissingExtraError: 422,
    TooManyError: 429,
    NotReadyError: 503,
    StoreLockedError: 503,
    StoreDamagedError: 503,
    StoreError: 503,
}
RETRY_AFTER = {429: "1", 503: "2"}  # seconds
UNEXPECTED_STATUS = 500


def status_of(error: KeyholeError) -> tuple[int, str]:
    """The status code and the kind of an error.

    >>> status_of(UnknownTicketError("?")), status_of(KeyholeError("?"))
    ((404, 'UnknownTicketError'), (422, 'KeyholeError'))
    """
    for ancestor in type(error).__mro__:
        if ancestor in STATUS:
            return STATUS[ancestor], ancestor.__name__
    return 422, "KeyholeError"
