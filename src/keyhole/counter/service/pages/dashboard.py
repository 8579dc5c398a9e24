"""Dashboard page: all learners at a glance, and a page for each: model, costs, loss, labels."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from keyhole.counter.service.access_control import ANY_ROLE
from keyhole.counter.service.pages.formatting import DAY, HOUR, SPANS, lasting, number
from keyhole.counter.service.pages.log_summary import (
    AskedRounds,
    Insight,
    LogSummary,
    PageCache,
    ToldLabels,
    page_cache,
)
from keyhole.counter.service.pages.page_route import (
    PageRoute,
    authorize,
    has_api,
    may,
    render,
    store_of,
)
from keyhole.counter.store import LearnerInfo, Store
from keyhole.errors import KeyholeError
from keyhole.problem import Problem
from keyhole.problem.display import counted
from keyhole.report.chart_scale import Scale, scale_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)

LEARNERS_WITH_CHARTS = 6  # those that were used last
MAX_KEYS_SHOWN = 50  # of which refused requests are shown


@router.get("/")
def dashboard(request: Request) -> Response:
    """All learners."""
    authorize(request, ANY_ROLE)
    store, notes, now = store_of(request), page_cache(request), time.time()
    seen = [info for info in store.learners() if may(request, ANY_ROLE, info.name)]
    infos = [info for info in seen if may(request, "read", info.name)]
    glances = [overview(notes, info, now) for info in infos]
    kept = store.snapshots()
    used = sorted(glances, key=lambda g: g.info.asked_at or g.info.created_at, reverse=True)
    return render(
        request,
        "dashboard.html",
        glances=glances,
        others=[info for info in seen if info not in infos],
        damaged=[w for name, w in store.damaged().items() if may(request, "read", name)],
        shown=used[:LEARNERS_WITH_CHARTS],
        hidden=max(len(used) - LEARNERS_WITH_CHARTS, 0),
        ages=AGE_WORDS,
        refused=_refused(request),
        snapshots={g.info.name: kept[g.info.name] for g in glances if g.info.name in kept},
        place=store.url if may(request, "admin", all_learners=True) else "",
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
    if source is None or not may(request, "admin", all_learners=True):
        return []
    found: dict[str, dict[int, int]] = source()
    rows = []
    for key, counts in [*found.items()][:MAX_KEYS_SHOWN]:
        words = ", ".join(f"{_phrase(status)} {count:,}" for status, count in counts.items())
        rows.append((key, sum(counts.values()), words))
    return rows


def _phrase(status: int) -> str:
    """What a status says, in words.

    >>> _phrase(404), _phrase(599)
    ('not found', '599')
    """
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return str(status)


MAX_FEATURES_ON_PAGE = 30  # life lines
ROLE_ORDER = {"kept": 0, "safety net": 1, "explored": 2}


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of lines and the table that it is drawn from: rows of x, then a value per line."""

    name: str
    heading: str
    words: str
    columns: tuple[str, ...]
    rows: list[tuple[float, ...]]

    @property
    def scale(self) -> Scale:
        """Where its scale ends, and what is beyond."""
        return scale_of(*[*zip(*self.rows, strict=True)][1:])


@router.get("/learners/{name}")
def learner(request: Request, name: str) -> Response:
    """Everything about one learner."""
    authorize(request, "read", name)
    info, notes = store_of(request).info(name), page_cache(request)
    seen = overview(notes, info, time.time(), MAX_FEATURES_ON_PAGE)
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
    return sorted(lines, key=lambda line: (ROLE_ORDER.get(line.why, 3), -(line.lost or 0.0)))


def _charts(info: LearnerInfo, trace: LogSummary) -> list[Chart]:
    told = grouped(trace.told, MAX_CHART_POINTS)
    each = "Each point is a mean of many, once there are many."
    money = "Cost" if info.priced else "Values"
    waits = [t.waited / t.labels for t in told]
    unit, length = next((s for s in SPANS if max(waits, default=0.0) >= s[1]), SPANS[-1])
    return [
        Chart(
            "loss",
            "Loss over time",
            f"Mean squared error of the predictions served since a label was known, and of the "
            f"running mean. {each}",
            ("label", info.name, "running mean"),
            [
                (t.first + t.labels - 1, t.loss / t.judged, t.rival / t.judged)
                for t in told
                if t.judged
            ],
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


CHART_WIDTH, CHART_HEIGHT = 240, 48  # of a small picture, in its own units
SHADES = 8  # shades of a strip


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a strip in one shade, from 0 to 1."""

    x: float
    width: float
    shade: float


def grouped(bins: Sequence[ToldLabels], most: int) -> list[ToldLabels]:
    """The same labels in fewer bins, so that each is a mean of many."""
    size = math.ceil(len(bins) / most) if bins else 1
    joined = []
    for start in range(0, len(bins), size):
        whole = ToldLabels(bins[start].first)
        for part in bins[start : start + size]:
            whole.add(part)
        joined.append(whole)
    return joined


def lines(*series: Sequence[float]) -> list[str]:
    """Points of SVG polylines on a common scale that begins at 0; far values are cut off.

    >>> lines([0.0, 1.0], [2.0, 1.0])
    ['0,46 240,24', '0,2 240,24']
    """
    high = scale_of(*series).high or 1.0
    drawn = []
    for one in series:
        step = CHART_WIDTH / max(len(one) - 1, 1)
        shares = (min(max(value / high, 0.0), 1.0) for value in one)
        heights = [CHART_HEIGHT - 2 - (CHART_HEIGHT - 4) * share for share in shares]
        drawn.append(" ".join(f"{i * step:g},{y:.4g}" for i, y in enumerate(heights)))
    return drawn


def strip(bins: Sequence[AskedRounds], feature: int) -> list[Cell]:
    """How often a feature was bought, over time: equal neighbours are one cell, blanks are none."""
    rounds = sum(one.rounds for one in bins) or 1
    cells: list[Cell] = []
    x = 0.0
    for one in bins:
        width = CHART_WIDTH * one.rounds / rounds
        share = one.reads[feature] / one.rounds if one.rounds else 0.0
        shade = math.ceil(SHADES * share) / SHADES
        if cells and cells[-1].shade == shade:
            cells[-1] = Cell(cells[-1].x, cells[-1].width + width, shade)
        else:
            cells.append(Cell(x, width, shade))
        x += width
    return [Cell(round(c.x, 2), round(c.width, 2), c.shade) for c in cells if c.shade > 0.0]


AGES = (HOUR, DAY, 7 * DAY, 30 * DAY)
AGE_WORDS = ("up to an hour", "up to a day", "up to a week", "up to 30 days", "older")
MAX_CHART_POINTS = 40  # of a line: each is a mean of many labels, once there are many


@dataclass(frozen=True, slots=True)
class Health:
    """How a learner is: "good", "note" or "bad", and why."""

    level: str
    words: str


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the model; `since` is the round in which the feature was first bought."""

    name: str
    unit: str
    weight: float
    since: int | None


@dataclass(frozen=True, slots=True)
class FeaturePurchases:
    """How often a feature was bought, and how often nothing came."""

    name: str
    share: float
    first: int
    last: int
    arrived: int
    missing: int
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything about one learner that needs no table of its own."""

    info: LearnerInfo
    health: Health
    saved: float | None = None
    ages: Sequence[int] = ()
    expired: int = 0
    delay: tuple[float | None, float | None] = (None, None)
    mean_loss: float | None = None
    rival: float | None = None
    spark: Sequence[str] = ("", "")
    cut: str = ""
    intercept: float | None = None
    terms: Sequence[Term] = ()
    bought: Sequence[FeaturePurchases] = ()
    missing: Sequence[FeaturePurchases] = ()
    changed: str = ""
    behind: int = 0
    insight: Insight | None = field(default=None, repr=False)

    @property
    def better(self) -> float | None:
        """The share of the running mean's loss that is saved."""
        if self.mean_loss is None or not self.rival:
            return None
        return 1.0 - self.mean_loss / self.rival


def overview(notes: PageCache, info: LearnerInfo, now: float, most: int = 6) -> Overview:
    """Look at a learner; one that cannot be looked at says why."""
    try:
        insight = notes.insight(info)
        with notes.trace(info) as trace:
            return _glance(info, insight, trace, now, most)
    except KeyholeError as error:
        return Overview(info, Health("bad", str(error)))


def _glance(
    info: LearnerInfo, insight: Insight, trace: LogSummary, now: float, most: int
) -> Overview:
    problem, told = insight.problem, grouped(trace.told, MAX_CHART_POINTS)
    judged = [t for t in told if t.judged]
    losses = [t.loss / t.judged for t in judged], [t.rival / t.judged for t in judged]
    order = sorted(trace.features, key=lambda j: -trace.features[j].bought)
    missing = [j for j in order if trace.features[j].missing]
    missing.sort(key=lambda j: -trace.features[j].missing)
    model, advice = insight.model, insight.advice
    whole = info.rounds * problem.whole().budget  # what everything would have cost
    return Overview(
        info,
        _health(info, trace, now),
        saved=1.0 - info.spent / whole if whole else None,
        ages=trace.ages(now, AGES),
        expired=trace.expired(now),
        delay=trace.delay(),
        mean_loss=trace.loss / trace.judged if trace.judged else None,
        rival=trace.rival / trace.judged if trace.judged else None,
        spark=lines(*losses),
        cut=scale_of(*losses).words(),
        intercept=None if model is None else model.intercept,
        terms=_terms(info, model, trace),
        bought=[_bought(problem, trace, j) for j in order[:most]],
        missing=[_bought(problem, trace, j) for j in missing[:most]],
        changed=advice._change() if advice is not None and advice.changed else "",
        behind=max(info.events - trace.seq, 0),
        insight=insight,
    )


def _health(info: LearnerInfo, trace: LogSummary, now: float) -> Health:
    if not info.rounds:
        return Health("note", "waits for its first example")
    if expired := trace.expired(now):
        return Health("note", f"{counted(expired, 'ticket')} past due")
    late = max((now - t.asked_at for t in trace.open.values()), default=0.0)
    usual = trace.delay()[1]
    if usual is not None and late > 3 * max(usual, HOUR):
        return Health("note", f"a label is missing for {lasting(late)}")
    recent = grouped(trace.told, 8)[-1:]
    if recent and trace.labels >= 64 and recent[0].loss > recent[0].rival:
        return Health("bad", "of late no better than the running mean")
    return Health("good", "well" if trace.labels else "waits for its first label")


def _terms(info: LearnerInfo, model: Any, trace: LogSummary) -> list[Term]:
    """The model's terms, in the order it has them."""
    if model is None:
        return []
    triples = zip(model.features.tolist(), model.names, model.weights.tolist(), strict=True)
    since = {j: feature.first for j, feature in trace.features.items()}
    return [
        Term(name, str(info.units.get(name, "")), weight, since.get(j))
        for j, name, weight in triples
    ]


def _bought(problem: Problem, trace: LogSummary, j: int) -> FeaturePurchases:
    known = trace.features[j]
    share, cells = known.bought / max(trace.rounds, 1), strip(trace.asked, j)
    counts = known.first, known.last, known.arrived, known.missing
    return FeaturePurchases(problem.label(j), share, *counts, cells)
