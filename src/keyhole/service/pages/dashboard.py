"""The first page: all learners, what waits, how they do, and how the store is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from keyhole.service.pages.access import ANY, PageRoute, allow, may, store_of
from keyhole.service.pages.glance import AGE_WORDS, glance
from keyhole.service.pages.notebook import notebook
from keyhole.service.pages.rendering import render
from keyhole.service.pages.words import number
from keyhole.store import Store

SHOWN = 6  # learners with pictures: those that were used last

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def dashboard(request: Request) -> Response:
    """All learners."""
    allow(request, ANY)
    store, notes, now = store_of(request), notebook(request), time.time()
    infos = [info for info in store.learners() if may(request, "read", info.name)]
    glances = [glance(notes, info, now) for info in infos]
    used = sorted(glances, key=lambda g: g.info.asked_at or g.info.created_at, reverse=True)
    return render(
        request,
        "dashboard.html",
        glances=glances,
        shown=used[:SHOWN],
        hidden=max(len(used) - SHOWN, 0),
        ages=AGE_WORDS,
        refused=_facts(getattr(request.app.state, "refused", None)),
        place=store.url,
        facts=_of_the_store(store),
        ready=store.ready,
    )


def _of_the_store(store: Store) -> dict[str, str]:
    """How often the store commits, how much at once, and how long that takes."""
    commits, requests = store.commits
    if not commits:
        return {}
    return {
        "commits since the start": f"{commits:,}",
        "requests per commit": number(requests / commits),
        "the last commit took": f"{number(1e3 * store.last_commit_seconds, 3)} ms",
    }


def _facts(source: Any) -> dict[str, Any]:
    """What the service or the store counts, by name; nothing where it does not."""
    found = source() if callable(source) else source
    if is_dataclass(found) and not isinstance(found, type):
        found = asdict(found)
    return dict(found) if isinstance(found, Mapping) else {}
