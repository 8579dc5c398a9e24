"""What the service logs: as text and as JSON, its server's own lines included, without secrets."""

import json
import logging
import time
import warnings
from collections.abc import Iterator

import pytest

import keyhole as kh
from keyhole.counter.service.logs import LOGGERS, LogFormat, log_to_stderr
from keyhole.counter.service.settings import ServiceSettings
from tests.counter.service.test_connections import connected, what_comes
from tests.helpers.serving import serving

SECRET = "kh_abcdefgh_0123-x_y"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def said_until(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What was logged, as soon as these words were."""
    said, deadline = "", time.monotonic() + 10.0
    while words not in said:
        assert time.monotonic() < deadline, said
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


@pytest.mark.parametrize("form", ["text", "json"])
def test_warnings_of_the_server_go_the_way_of_ours(
    form: LogFormat, store: kh.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr(form)
    with serving(store) as service, connected(service) as one:
        one.sendall(SECRET.encode() + b" \x00\r\n\r\n")
        what_comes(one)
        said = said_until("Invalid HTTP request", capsys)
    if form == "text":
        assert "uvicorn.error: Invalid" in said
    else:
        assert [line["logger"] for line in map(json.loads, said.splitlines())] == ["uvicorn.error"]


def test_a_request_is_an_object_of_json(
    store: kh.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr("json")
    with serving(store, ServiceSettings(port=0, access_log=True)) as service:
        service.get(f"/api/v1/tickets/{SECRET}?key={SECRET}")
        said = said_until("/api/v1/tickets", capsys)
    found = [line for line in map(json.loads, said.splitlines()) if line.get("status") == 404]
    assert SECRET[12:] not in said
    assert [set(line) for line in found] == [
        {"time", "level", "logger", "message"} | {"key", "method", "path", "status", "milliseconds"}
    ]
    assert (found[0]["method"], found[0]["key"]) == ("GET", "-")
    assert found[0]["path"] == "/api/v1/tickets/kh_abcdefgh_..."
    assert found[0]["milliseconds"] >= 0


def test_tracebacks_and_warnings_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("json")
    try:
        raise ValueError(f"two\nlines \x1b[31m {SECRET}")
    except ValueError:
        logging.getLogger("asyncio").exception("it failed")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    said = capsys.readouterr().err
    failed, warned = map(json.loads, said.splitlines())
    assert failed["message"] == "it failed"
    assert "ValueError: two\nlines" in failed["traceback"]
    assert (warned["logger"], warned["level"]) == ("py.warnings", "warning")
    assert SECRET[12:] not in said
    assert "\x1b" not in said
