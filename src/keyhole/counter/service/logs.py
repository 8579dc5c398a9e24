"""Log of the HTTP service: what it, its server and its loop say, as text or as JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal

from keyhole.counter.service.access_control import redacted
from keyhole.errors import printable

LogFormat = Literal["text", "json"]
LOGGERS = ("keyhole", "uvicorn", "asyncio", "py.warnings")  # each would write lines of its own
REQUEST_FIELDS = ("key", "method", "path", "status", "milliseconds")


class RedactingFormatter(logging.Formatter):
    """One line per record, and its traceback if there is one; nothing that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without secrets."""
        lines = super().format(record).splitlines()
        return redacted("\n".join(map(printable, lines)))


class JsonFormatter(logging.Formatter):
    """One object of JSON per record, on one line, its traceback in a field."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without secrets."""
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redacted(record.getMessage()),
        }
        for name in REQUEST_FIELDS:
            if name in record.__dict__:
                value = record.__dict__[name]
                said[name] = redacted(value) if isinstance(value, str) else value
        if record.exc_info:
            said["traceback"] = redacted(self.formatException(record.exc_info))
        return json.dumps(said)


def log_to_stderr(form: LogFormat = "text") -> None:
    """Write everything that is logged to standard error."""
    handler = logging.StreamHandler()
    text = RedactingFormatter("%(asctime)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if form == "json" else text)
    logging.captureWarnings(True)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("keyhole").setLevel(logging.INFO)
