"""The page of one learner: its model, what it buys and why, loss, money, labels, life lines."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.pages.access import PageRoute, allow, has_api, store_of
from keyhole.counter.service.pages.drawing import grouped
from keyhole.counter.service.pages.glance import AGE_WORDS, POINTS, glance
from keyhole.counter.service.pages.notebook import notebook
from keyhole.counter.service.pages.rendering import render
from keyhole.counter.service.pages.trace import Trace
from keyhole.counter.service.pages.words import SPANS
from keyhole.counter.store.records import LearnerInfo

FEATURES = 30  # life lines
ORDER = {"kept": 0, "safety net": 1, "explored": 2}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of lines and the table that it is drawn from: rows of x, then a value per line."""

    name: str
    heading: str
    words: str
    columns: tuple[str, ...]
    rows: list[tuple[float, ...]]


@router.get("/learners/{name}")
def learner(request: Request, name: str) -> Response:
    """Everything about one learner."""
    allow(request, "read", name)
    info, notes = store_of(request).info(name), notebook(request)
    seen = glance(notes, info, time.time(), FEATURES)
    charts: list[Chart] = []
    if seen.insight is not None:
        with notes.trace(info) as trace:
            charts = [chart for chart in _charts(info, trace) if len(chart.rows) > 1]
    return render(
        request,
        "learner.html",
        info=info,
        seen=seen,
        charts=charts,
        lines=_why(seen.insight.explanation if seen.insight else None),
        advice=seen.insight.advice if seen.insight else None,
        ages=AGE_WORDS,
        api=has_api(request),
    )


def _why(explanation: Any) -> list[Any]:
    """What is bought now: what is kept first, and the most useful of it."""
    lines = [] if explanation is None else list(explanation.lines)
    return sorted(lines, key=lambda line: (ORDER.get(line.why, 3), -(line.lost or 0.0)))


def _charts(info: LearnerInfo, trace: Trace) -> list[Chart]:
    told = grouped(trace.told, POINTS)
    each = "Each point is a mean of many, once there are many."
    money = "Cost" if info.priced else "Values"
    waits = [t.waited / t.labels for t in told]
    unit, length = next((s for s in SPANS if max(waits, default=0.0) >= s[1]), SPANS[-1])
    return [
        Chart(
            "loss",
            "Loss over time",
            f"Mean squared error of the predictions served, and of the running mean. {each}",
            ("label", info.name, "running mean"),
            [(t.first + t.labels - 1, t.loss / t.labels, t.rival / t.labels) for t in told],
        ),
        Chart(
            "money",
            "Money over time" if info.priced else "Values bought over time",
            f"{money} per example, and the budget.",
            ("example", f"{money.lower()} per example", "budget"),
            [(a.first + a.rounds - 1, a.spent / a.rounds, info.budget) for a in trace.asked],
        ),
        Chart(
            "delay",
            "How long labels take",
            f"{unit.capitalize()}s from the ticket to its label. {each}",
            ("label", f"{unit}s"),
            [(t.first + t.labels - 1, wait / length) for t, wait in zip(told, waits, strict=True)],
        ),
    ]
