"""Metrics of the HTTP service, in the text format of Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from keyhole.counter.service.middleware import RequestCounts
from keyhole.counter.store import Store

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def prometheus_text(counts: RequestCounts, store: Store) -> str:
    """All figures."""
    requests, seconds = counts.so_far()
    lines = _family("requests_total", "counter", "Requests by route and status.")
    for (method, route, status), count in sorted(requests.items()):
        labels = {"method": method, "route": route, "status": str(status)}
        lines.append(_line("requests_total", labels, count))
    lines += _family("request_seconds_total", "counter", "Time spent on requests, by route.")
    lines += [_line("request_seconds_total", {"route": r}, s) for r, s in seconds.items()]
    lines += _family("refused_total", "counter", "Requests refused, by key and status.")
    for key, by_status in counts.refused().items():
        for status, count in by_status.items():
            lines.append(_line("refused_total", {"key": key, "status": str(status)}, count))
    return "\n".join([*lines, *_of_learners(store), *_of_the_store(store), ""])


def _of_learners(store: Store) -> Iterable[str]:
    learners = store.learners()
    families = {
        "rounds_total": ("counter", "Tickets issued.", "rounds"),
        "labels_total": ("counter", "Labels told.", "told"),
        "dropped_total": ("counter", "Tickets dropped.", "dropped"),
        "waiting_tickets": ("gauge", "Tickets that wait for values.", "waiting"),
        "filled_tickets": ("gauge", "Tickets that wait for their label.", "filled"),
        "open_tickets": ("gauge", "Tickets that wait for values or for their label.", "open"),
        "spent_total": ("counter", "What all tickets cost.", "spent"),
        "squared_loss_total": ("counter", "Squared errors of predictions served.", "loss"),
    }
    for name, (kind, about, field) in families.items():
        yield from _family(name, kind, about)
        for info in learners:
            yield _line(name, {"learner": info.name}, getattr(info, field))


def _of_the_store(store: Store) -> Iterable[str]:
    commits, requests = store.commits
    figures = {
        "store_commits_total": ("counter", "Transactions that were committed.", commits),
        "store_committed_requests_total": ("counter", "Requests in them.", requests),
        "store_last_commit_seconds": ("gauge", "The last commit took.", store.last_commit_seconds),
    }
    for name, (kind, about, value) in figures.items():
        yield from _family(name, kind, about)
        yield _line(name, {}, value)


def _family(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP keyhole_{name} {about}", f"# TYPE keyhole_{name} {kind}"]


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"keyhole_{name}{{{inside}}} {value!r}" if inside else f"keyhole_{name} {value!r}"


def _escaped(text: str) -> str:
    return re.sub(r'[\\"\n]', lambda found: {"\n": r"\n"}.get(found[0], "\\" + found[0]), text)
