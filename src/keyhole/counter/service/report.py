"""Report of a learner in the store: its log replayed as a run, and an HTML page of it."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from keyhole.analysis.hindsight import Hindsight
from keyhole.analysis.regret import RegretCurve
from keyhole.counter.store import Event, LearnerInfo, Store
from keyhole.counter.store.tables import EVENTS_PER_QUERY, as_corrected
from keyhole.errors import DataError
from keyhole.game import PlayedBlock
from keyhole.game.ledger import Ledger
from keyhole.learners.blocks.auto.advice import Advice
from keyhole.problem import Floats, Indices, Interval, Learner, Problem
from keyhole.problem.sparse_model import sparse_model
from keyhole.report import Baseline, Run, plots
from keyhole.report.number_format import Fact, mean_amount, number, share
from keyhole.report.overview_plots import overview
from keyhole.report.page import LONG_TABLE, inlined, rendered
from keyhole.report.prediction_plots import interval_pictures, prediction_pictures
from keyhole.report.run import LAST, MEAN
from keyhole.report.spending import spending
from keyhole.report.tables import (
    KNOWN,
    MAX_REPORT_ROWS,
    losses,
    money_facts,
    money_page,
    played,
    price_of,
)
from keyhole.report.traces import IntervalTrace, PredictionTrace, RecentLoss, Trace

CHART_BINS = 96
NO_ENDS = -math.inf, math.inf
MAX_REPLAYED_EVENTS = 20_000  # more would keep a processor busy for more than ten seconds
UNKNOWN = "not known: the log has only the values that were bought"


def run_of_log(store: Store, name: str) -> Run:
    """What a learner of the store has done so far, as a report has it.

    A round is a ticket whose label was told, in the order of the labels; tickets that are open or
    were dropped are not among them. What needs values that nobody bought is left out.
    """
    info, now = store.info(name), copy.deepcopy(store.learner(name))
    books = RunFromLog(now.problem, store.corrections(name))
    if info.events <= MAX_REPLAYED_EVENTS:
        for event, learner in store.replay(name):
            books.take(event, learner)
    else:
        for event in _events(store, info):
            books.take(event, NoWeights(now.problem))
    return books.run(info, now)


def _events(store: Store, info: LearnerInfo) -> Iterator[Event]:
    after = 0
    while after < info.events:
        for event in store.history(info.name, after=after, limit=EVENTS_PER_QUERY):
            after = event.seq
            yield event


class NoWeights:
    """In place of a learner that was not looked at meanwhile: no weights."""

    def __init__(self, problem: Problem) -> None:
        self.weights: Floats = np.zeros(problem.d)


@dataclass(slots=True)
class _UntoldTicket:
    """A ticket until its label comes: what was bought, served, and known then."""

    features: Indices
    prediction: float = math.nan
    ends: tuple[float, float] = NO_ENDS
    arrived: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rivals: tuple[float, float] = (0.0, 0.0)


class _Rival:
    """Somebody who reads nothing, played beside the learner."""

    def __init__(self, problem: Problem) -> None:
        self.trace, self._recent = Trace(problem.d, CHART_BINS), RecentLoss()
        self._none, self._first = cast(Learner, NoWeights(problem)), math.nan

    def enter(self, block: PlayedBlock) -> None:
        """Enter some rounds."""
        if math.isnan(self._first):
            self._first = float(block.losses[0])
        self.trace.after_block(block, self._none)
        self._recent.after_block(block, self._none)

    def baseline(self, name: str) -> Baseline:
        """All of them."""
        last = self._recent.last_tenth.mean_loss
        return Baseline(name, 0.0, self.trace.loss, 0.0, self._first, last)


class RunFromLog:
    """What a log says, event by event, in the bins of a report.

    Sums: those of the ledger and of the traces; counts, means and squares of values and labels.
    """

    def __init__(
        self, problem: Problem, corrected: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self._problem, self._corrected = problem, corrected or {}
        self.ledger = Ledger(problem, keep_predictions=False)
        self._trace = Trace(problem.d, CHART_BINS, problem.prices)
        self._predictions, self._recent = PredictionTrace(CHART_BINS), RecentLoss()
        self._rivals = {name: _Rival(problem) for name in (MEAN, LAST)}
        self._intervals = IntervalTrace(math.nan, CHART_BINS)  # of the coverage that is first
        self._open: dict[str, _UntoldTicket] = {}
        self._told_since: list[tuple[_UntoldTicket, float]] = []
        self._values = RunningVariance(problem.d)
        self._labels = RunningVariance(1)
        self._last = 0.0
        self._dropped = self._odd = 0

    def take(self, event: Event, learner: Learner | NoWeights) -> None:
        """Take an event in, and the learner as it is after it."""
        body, id = json.loads(event.body), str(event.ticket)
        right = self._corrected.get(id, {})  # what was corrected is as if it had been right
        if event.kind == "asked":
            self._open[id] = _UntoldTicket(np.array(body["features"], dtype=np.int64))
        elif event.kind == "seen":
            ticket = self._open[id]
            self._seen(ticket, as_corrected(event, body, right, ticket.features.tolist()))
        elif event.kind == "step":
            self._open[id].features = np.array(body["features"], dtype=np.int64)
        elif event.kind == "told":
            y = self._last = float(body["y"] if right.get("y") is None else right["y"])
            self._labels.add(np.zeros(1, dtype=np.int64), np.array([y]))
            self._told_since.append((self._open.pop(id), y))
            if len(self._told_since) == self._trace.room:
                self._enter(cast(Learner, learner))
        elif event.kind == "dropped":
            del self._open[id]
            self._dropped += 1

    def _seen(self, ticket: _UntoldTicket, body: Mapping[str, Any]) -> None:
        ticket.prediction = body["prediction"]
        ticket.rivals = float(self._labels.mean[0]), self._last
        values = np.array(body["values"], dtype=np.float64)
        here = ~np.isnan(values) & ~np.isin(ticket.features, ticket.arrived)
        self._values.add(ticket.features[here], values[here])
        ticket.arrived = np.append(ticket.arrived, ticket.features[here])
        ticket.ends = NO_ENDS
        coverage = body.get("coverage")
        if coverage is None:
            return
        if math.isnan(self._intervals.coverage):
            self._intervals.coverage = coverage
        if coverage != self._intervals.coverage:
            self._odd += 1
        elif body["low"] is not None:
            ticket.ends = body["low"], body["high"]

    def _enter(self, learner: Learner) -> None:
        """Enter the rounds up to the end of a bin, where the learner is looked at."""
        tickets = [ticket for ticket, _ in self._told_since]
        if not tickets:
            return
        y = np.array([y for _, y in self._told_since])
        self._told_since = []
        bought = np.full((len(y), max(len(one.features) for one in tickets)), -1, dtype=np.int32)
        for row, one in zip(bought, tickets, strict=True):
            row[: len(one.features)] = one.features
        first, ends = self.ledger.rounds + 1, np.array([one.ends for one in tickets])
        predicted = np.array([one.prediction for one in tickets])
        block = PlayedBlock(first, np.empty((len(y), 0)), y, predicted, bought, ends)
        self.ledger.add_block(first, bought, y, predicted)
        if not math.isnan(self._intervals.coverage):
            self.ledger.add_intervals(self._intervals.coverage, ends, y)
        for watcher in (self._trace, self._intervals, self._predictions, self._recent):
            watcher.after_block(block, learner)
        rivals = np.array([one.rivals for one in tickets])
        for rival, said in zip(self._rivals.values(), rivals.T, strict=True):
            rival.enter(block._replace(y_hat=said, bought=bought[:, :0]))

    def run(self, info: LearnerInfo, learner: Learner) -> Run:
        """All of it, with the learner as it is now; DataError if no label was told."""
        self._enter(learner)
        if not self.ledger.rounds:
            raise DataError(f"{info.name!r} has no labels yet: there is nothing to report")
        for trace in (self._trace, *(rival.trace for rival in self._rivals.values())):
            trace.close(learner.weights)
        rounds, d = self.ledger.rounds, self._problem.d
        # The best model is not known: all that can be said is what the best constant loses.
        empty, mean = float(self._labels.squares[0]), float(self._labels.mean[0])
        best = Hindsight(rounds, info.k, Interval(0.0, empty, UNKNOWN), np.zeros(d), mean, empty)
        none, models = np.empty(0), self._trace.models.copy()
        models[:, -1] = learner.weights
        advise = getattr(learner, "advice", None)
        advice = advise() if callable(advise) else None
        return Run(
            problem=self._problem,
            title=info.name,
            target="the label",
            learner=info.kind,
            settings={},
            seed=info.seed,
            rounds_per_second=math.nan,
            ledger=self.ledger,
            ends=self._trace.ends,
            loss=self._trace.loss,
            reads=self._trace.reads,
            models=models,
            intercept=float(learner.intercept),
            spread=self._values.deviations(),
            best=best,
            best_with_past=None,
            centred=True,
            regret=RegretCurve(np.empty(0, dtype=np.int64), none, none),
            baselines=tuple(rival.baseline(name) for name, rival in self._rivals.items()),
            diagnosis=None,
            sparse=sparse_model(learner),
            recent=self._recent.last_tenth,
            predictions=self._predictions,
            notes=self._notes(info),
            history=info.history,
            advice=advice if isinstance(advice, Advice) else None,
            spending=spending(learner, self._trace.spent, None, self._problem.names, 0.0),
            intervals=None if math.isnan(self._intervals.coverage) else self._intervals,
        )

    def _notes(self, info: LearnerInfo) -> tuple[str, ...]:
        notes = [
            "There is no comparison with the best model in hindsight, and no regret: those need "
            "every value of every example, and the log has only the values that were bought.",
            "A round is an example whose label was told, in the order in which labels came. The "
            "running mean and the last value are those of the labels told when a prediction was "
            "served.",
        ]
        if self._open or self._dropped:
            notes.append(
                f"Not among the rounds: {len(self._open):,} examples that wait and "
                f"{self._dropped:,} that were dropped; with them {info.spent:,.10g} was "
                f"{'spent' if info.priced else 'bought'}."
            )
        if info.history:
            notes.append(
                f"The learner studied {info.history:,} rows first; nothing of them is in these "
                "figures."
            )
        if info.events > MAX_REPLAYED_EVENTS:
            notes.append(
                f"The life lines of the model are left out: the log has {info.events:,} events, "
                f"and only those of up to {MAX_REPLAYED_EVENTS:,} are played again for a report."
            )
        if self._odd:
            notes.append(
                f"{self._odd:,} intervals of another coverage than the first are left out."
            )
        return tuple(notes)


class RunningVariance:
    """Means and squared deviations of numbers that come one by one, for each of d columns."""

    def __init__(self, d: int) -> None:
        self.count: Indices = np.zeros(d, dtype=np.int64)
        self.mean: Floats = np.zeros(d)
        self.squares: Floats = np.zeros(d)  # about the mean

    def add(self, columns: Indices, values: Floats) -> None:
        """Take a number into each of these columns."""
        self.count[columns] += 1
        apart = values - self.mean[columns]
        self.mean[columns] += apart / self.count[columns]
        self.squares[columns] += apart * (values - self.mean[columns])

    def deviations(self) -> Floats:
        """The standard deviation of each column, 0 where there is nothing."""
        found: Floats = np.sqrt(self.squares / np.maximum(self.count, 1))
        return found


if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT_HEADERS = {
    # The pictures bring their styles with them; nothing else may be loaded or run.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
MAX_PAGES_KEPT = 8  # pages, until their learners go on


class Reports:
    """Reports of the learners of a store, made one at a time, and kept until something happens."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._pages: dict[tuple[str, float, int], str] = {}

    def page(self, name: str) -> str:
        """The report of a learner as it is now."""
        with self._lock:
            info = self._store.info(name)
            known = name, info.created_at.timestamp(), info.events
            if known not in self._pages:
                self._pages[known] = page(run_of_log(self._store, name), info)
                for old in [*self._pages][:-MAX_PAGES_KEPT]:
                    del self._pages[old]
            return self._pages[known]


def reports_of(app: Any) -> Reports:
    """The reports of a service."""
    if getattr(app.state, "reports", None) is None:
        app.state.reports = Reports(app.state.store)
    found: Reports = app.state.reports
    return found


def page(run: Run, info: LearnerInfo) -> str:
    """The report as HTML. Needs matplotlib and jinja2: pip install 'keyhole[report]'."""
    return rendered(
        "keyhole.counter.service",
        "report.html",
        run=run,
        info=info,
        facts=_facts(run),
        overview=inlined(overview(run), "o"),
        pictures=inlined(_pictures(run, info)),
        headline=_headline(run, info),
        long=LONG_TABLE,
        who=[(a.who, number(a.reads), number(a.mean.high), share(a.r2)) for a in played(run)],
        money=money_page(run),
        weights=_weights(run),
        left_out=max(len(run.support) - MAX_REPORT_ROWS, 0),
        intercept=number(run.intercept),
        losses=[] if run.advice is None else losses(run.advice, run.problem.prices),
    )


def _headline(run: Run, info: LearnerInfo) -> str:
    """What it costs and how good that is, as one sentence."""
    ours = played(run)[0]
    rival = next(score for score in played(run) if score.who == KNOWN[MEAN])
    each = f"{number(run.ledger.mean_reads)} of {run.problem.d:,} features read per example"
    if run.spending is not None and run.problem.prices is not None:
        paid = mean_amount(run.ledger.spent / run.ledger.rounds, run.problem.prices)
        each = f"{paid} per example, {run.ledger.saved:.0%} less than everything costs"
    if run.ledger.rounds < 2:
        return f"{each}: one label is too few to say how good predictions are."
    off = f"Predictions are typically off by {number(ours.error)}"
    return f"{off}, against {number(rival.error)} for the running mean, for {each}."


def _facts(run: Run) -> list[Fact]:
    ledger, ours = run.ledger, played(run)[0]
    reads = f"{number(ledger.mean_reads)} of {run.problem.d:,} read per example"
    facts = [
        *(money_facts(run) or [Fact("reads saved", f"{run.saved:.0%}", reads)]),
        Fact("mean squared loss", number(ours.mean.high), f"typical error {number(ours.error)}"),
        Fact("R²", share(ours.r2), "of the variance of the label"),
        Fact("first round", number(ledger.first_loss), "squared loss, in no other figure"),
    ]
    if ledger.coverage is not None and ledger.bounded:
        wide, held = f"{number(ledger.mean_width)} wide on average", f"{ledger.covered_share:.1%}"
        facts.append(Fact(f"within {100 * ledger.coverage:g} % intervals", held, wide))
    return [*facts, Fact("rounds", f"{ledger.rounds:,}", "labels told")]


def _weights(run: Run) -> list[dict[str, str]]:
    effects = abs(run.weights * run.spread)
    order = sorted(run.support.tolist(), key=lambda j: -effects[j])
    return [
        {
            "name": run.problem.label(j),
            "weight": number(float(run.weights[j])),
            "spread": number(float(run.spread[j])),
            "bought": f"{run.ledger.reads[j] / run.ledger.rounds:.1%}",
            "price": price_of(run, j),
        }
        for j in order[:MAX_REPORT_ROWS]
    ]


def _pictures(run: Run, info: LearnerInfo) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each."""
    words = "What was lost in total up to each label. The lower, the better."
    drawn = [
        ("Loss over time", words, _loss(run)),
        *prediction_pictures(run),
        *interval_pictures(run),
    ]
    if run.spending is not None:
        words = "What an example cost, on average over each stretch of rounds."
        drawn.append(("Money over time", words, plots.spending(run)))
    words = "A row per feature, those bought most at the top. Full colour: bought in every round."
    drawn.append(("Which features were bought when", words, plots.reads(run)))
    if info.events <= MAX_REPLAYED_EVENTS:
        words = (
            "When each feature had a weight, looked at once per column of the picture above. "
            "Thick: positive, thin: negative."
        )
        drawn.append(("Life lines of the model", words, _alone(plots.supports(run))))
    words = (
        "What one standard deviation of a feature, of its values that were bought, adds to the "
        f"prediction. The model uses {len(run.support)} now."
    )
    drawn.append(("Weights", words, _alone(plots.weights(run))))
    return drawn


def _loss(run: Run) -> Figure:
    with plots.style():
        figure, axes = plots.new_figure(3.4)
        lines: list[tuple[Any, str, Any, str]] = [
            (other.loss, *plots.BASELINE_STYLES[other.name], other.name) for other in run.baselines
        ]
        lines.append((run.loss, plots.BLUE, "-", plots.shown(run.learner)))
        for loss, colour, dashes, label in lines:
            axes.plot([0, *run.ends], [0.0, *loss], color=colour, ls=dashes, label=label)
        axes.set_xlim(0, int(run.ends[-1]))
        axes.set_ylim(bottom=0)
        plots.begin_later(axes, int(run.ends[-1]))
        axes.set_ylabel("cumulative squared loss")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=3)
        return figure


def _alone(figure: Figure) -> Figure:
    """The same without what its legend says about hindsight: there is none."""
    with plots.style():
        for legend in figure.legends:
            legend.remove()
        pairs = zip(*figure.axes[0].get_legend_handles_labels(), strict=True)
        kept = [(handle, label) for handle, label in pairs if "hindsight" not in label]
        handles, labels = [handle for handle, _ in kept], [label for _, label in kept]
        figure.legend(handles, labels, loc="outside upper left", ncols=3)
        return figure
