"""The first page: all learners, what waits, how they do, and how the store is."""

from __future__ import annotations

import math
import time
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.pages.access import ANY, PageRoute, allow, may, may_all, store_of
from keyhole.counter.service.pages.glance import AGE_WORDS, glance
from keyhole.counter.service.pages.notebook import notebook
from keyhole.counter.service.pages.rendering import render
from keyhole.counter.service.pages.words import number
from keyhole.counter.store import Store

SHOWN = 6  # learners with pictures: those that were used last
KEYS = 50  # of which refused requests are shown

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def dashboard(request: Request) -> Response:
    """All learners."""
    allow(request, ANY)
    store, notes, now = store_of(request), notebook(request), time.time()
    infos = [info for info in store.learners() if may(request, "read", info.name)]
    glances = [glance(notes, info, now) for info in infos]
    kept = store.snapshots()
    used = sorted(glances, key=lambda g: g.info.asked_at or g.info.created_at, reverse=True)
    return render(
        request,
        "dashboard.html",
        glances=glances,
        shown=used[:SHOWN],
        hidden=max(len(used) - SHOWN, 0),
        ages=AGE_WORDS,
        refused=_refused(request),
        snapshots={g.info.name: kept[g.info.name] for g in glances if g.info.name in kept},
        place=store.url,
        facts=_of_the_store(store),
        ready=getattr(request.app.state, "ready", lambda: True)(),
    )


def _of_the_store(store: Store) -> dict[str, str]:
    """How often the store commits, how much at once, and how long that takes."""
    commits, recent = store.commits[0], store.recent_commits
    if not recent:
        return {}
    took = sorted(1e3 * commit.seconds for commit in recent)
    slow = took[min(len(took) - 1, math.ceil(0.99 * len(took)) - 1)]
    requests = sum(commit.requests for commit in recent)
    return {
        "commits since the start": f"{commits:,}",
        "requests per commit": number(requests / len(recent)),
        "half of the commits took up to": f"{number(took[(len(took) - 1) // 2], 3)} ms",
        "99 of 100 up to": f"{number(slow, 3)} ms",
    }


def _refused(request: Request) -> list[tuple[str, int, str]]:
    """Keys whose requests were refused: the id, how many, and for what; for administrators."""
    source = getattr(request.app.state, "refused", None)
    if source is None or not may_all(request, "admin"):
        return []
    found: dict[str, dict[int, int]] = source()
    return [
        (
            key,
            sum(counts.values()),
            ", ".join(f"{_phrase(status)} {count:,}" for status, count in counts.items()),
        )
        for key, counts in [*found.items()][:KEYS]
    ]


def _phrase(status: int) -> str:
    """What a status says, in words.

    >>> _phrase(404), _phrase(599)
    ('not found', '599')
    """
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return str(status)
