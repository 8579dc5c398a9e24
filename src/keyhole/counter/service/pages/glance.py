"""A learner at a glance: what the dashboard and the learner's own page say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from keyhole.counter.service.pages.drawing import Cell, grouped, lines, strip
from keyhole.counter.service.pages.notebook import Insight, Notebook
from keyhole.counter.service.pages.trace import Trace
from keyhole.counter.service.pages.words import lasting
from keyhole.counter.store.records import LearnerInfo
from keyhole.errors import KeyholeError
from keyhole.problem import Problem
from keyhole.problem.display import counted

HOUR, DAY = 3600.0, 86400.0
AGES = (HOUR, DAY, 7 * DAY, 30 * DAY)
AGE_WORDS = ("up to an hour", "up to a day", "up to a week", "up to 30 days", "older")
POINTS = 40  # of a line: each is a mean of many labels, once there are many


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
class Bought:
    """How often a feature was bought, and how often nothing came."""

    name: str
    share: float
    first: int
    last: int
    bought: int
    arrived: int
    missing: int
    missed_at: float | None
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Glance:
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
    intercept: float | None = None
    terms: Sequence[Term] = ()
    bought: Sequence[Bought] = ()
    missing: Sequence[Bought] = ()
    changed: str = ""
    behind: int = 0
    insight: Insight | None = field(default=None, repr=False)

    @property
    def better(self) -> float | None:
        """The share of the running mean's loss that is saved."""
        if self.mean_loss is None or not self.rival:
            return None
        return 1.0 - self.mean_loss / self.rival


def glance(notes: Notebook, info: LearnerInfo, now: float, most: int = 6) -> Glance:
    """Look at a learner; one that cannot be looked at says why."""
    try:
        insight = notes.insight(info)
        with notes.trace(info) as trace:
            return _glance(info, insight, trace, now, most)
    except KeyholeError as error:
        return Glance(info, Health("bad", str(error)))


def _glance(info: LearnerInfo, insight: Insight, trace: Trace, now: float, most: int) -> Glance:
    problem, told = insight.problem, grouped(trace.told, POINTS)
    spark = lines([t.loss / t.labels for t in told], [t.rival / t.labels for t in told])
    order = sorted(trace.features, key=lambda j: -trace.features[j].bought)
    missing = [j for j in order if trace.features[j].missing]
    missing.sort(key=lambda j: -trace.features[j].missing)
    model, advice = insight.model, insight.advice
    return Glance(
        info,
        _health(info, trace, now),
        saved=_saved(info, problem),
        ages=trace.ages(now, AGES),
        expired=trace.expired(now),
        delay=trace.delay(),
        mean_loss=trace.loss / trace.labels if trace.labels else None,
        rival=trace.rival / trace.labels if trace.labels else None,
        spark=spark,
        intercept=None if model is None else model.intercept,
        terms=_terms(info, model, trace),
        bought=[_bought(problem, trace, j) for j in order[:most]],
        missing=[_bought(problem, trace, j) for j in missing[:most]],
        changed=advice._change() if advice is not None and advice.changed else "",
        behind=max(info.events - trace.seq, 0),
        insight=insight,
    )


def _saved(info: LearnerInfo, problem: Problem) -> float | None:
    """What was not spent of what everything would have cost, as a share."""
    whole = info.rounds * problem.whole().budget
    return 1.0 - info.spent / whole if whole else None


def _health(info: LearnerInfo, trace: Trace, now: float) -> Health:
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


def _terms(info: LearnerInfo, model: Any, trace: Trace) -> list[Term]:
    """The model's terms, in the order it has them."""
    if model is None:
        return []
    triples = zip(model.features.tolist(), model.names, model.weights.tolist(), strict=True)
    return [
        Term(
            name,
            str(info.units.get(name, "")),
            weight,
            trace.features[j].first if j in trace.features else None,
        )
        for j, name, weight in triples
    ]


def _bought(problem: Problem, trace: Trace, j: int) -> Bought:
    known = trace.features[j]
    return Bought(
        problem.label(j),
        known.bought / max(trace.rounds, 1),
        known.first,
        known.last,
        known.bought,
        known.arrived,
        known.missing,
        known.missed_at,
        strip(trace.asked, j),
    )
