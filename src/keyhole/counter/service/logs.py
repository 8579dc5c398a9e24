"""The log: lines on standard error, without the secrets of keys."""

from __future__ import annotations

import logging

from keyhole.counter.service.keys import scrubbed
from keyhole.errors import printable


class Plain(logging.Formatter):
    """One line per record, and its traceback if there is one; nothing that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without secrets."""
        lines = super().format(record).splitlines()
        return scrubbed("\n".join(map(printable, lines)))


def log_to_stderr() -> None:
    """Log what the service and its server say."""
    handler = logging.StreamHandler()
    handler.setFormatter(Plain("%(asctime)s %(name)s: %(message)s"))
    for name in ("keyhole", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("keyhole").setLevel(logging.INFO)
