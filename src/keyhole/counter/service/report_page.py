"""The report of a learner of the store: one page that can be saved and opened anywhere."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from keyhole.counter.service.report_of_log import REPLAYED, run_of_log
from keyhole.counter.store import LearnerInfo, Store
from keyhole.report import Run, plots
from keyhole.report.advice_table import losses
from keyhole.report.figures import Fact, number, share
from keyhole.report.interval_plots import interval_pictures
from keyhole.report.money_tables import money_facts, money_page, price_of
from keyhole.report.page import inline, markup, rendered
from keyhole.report.prediction_plots import prediction_pictures
from keyhole.report.scores import played

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADERS = {
    # The pictures bring their styles with them; nothing else may be loaded or run.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
KEPT = 8  # pages, until their learners go on
ROWS = 100  # of the table of weights


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
                for old in [*self._pages][:-KEPT]:
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
    pictures = [
        (heading, words, markup()(inline(plots.svg(figure, f"p{i}"), f"p{i}", heading)))
        for i, (heading, words, figure) in enumerate(_pictures(run, info), start=1)
    ]
    return rendered(
        "keyhole.counter.service",
        "report.html",
        run=run,
        info=info,
        facts=_facts(run),
        pictures=pictures,
        who=_who(run),
        money=money_page(run),
        weights=_weights(run),
        left_out=max(len(run.support) - ROWS, 0),
        intercept=number(run.intercept),
        losses=[] if run.advice is None else losses(run.advice, run.problem.prices),
    )


def _facts(run: Run) -> list[Fact]:
    ledger, ours = run.ledger, played(run)[0]
    reads = f"{number(ledger.mean_reads)} of {run.problem.d:,} read per example"
    facts = [
        *(money_facts(run) or [Fact("reads saved", f"{run.saved:.0%}", reads)]),
        Fact(
            "mean squared loss",
            number(ours.mean.high),
            f"typical error {number(ours.error)}",
        ),
        Fact("R²", share(ours.r2), "of the variance of the label"),
        Fact("first round", number(ledger.first_loss), "squared loss, in no other figure"),
    ]
    if ledger.coverage is not None and ledger.bounded:
        wide = f"{number(ledger.mean_width)} wide on average"
        held = f"{ledger.covered_share:.1%}"
        facts.append(Fact(f"within {100 * ledger.coverage:g} % intervals", held, wide))
    return [*facts, Fact("rounds", f"{ledger.rounds:,}", "labels told")]


def _who(run: Run) -> list[tuple[str, str, str, str]]:
    """Rows of the table of losses: who, reads, mean loss, R²."""
    return [
        (one.who, number(one.reads), number(one.mean.high), share(one.r2)) for one in played(run)
    ]


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
        for j in order[:ROWS]
    ]


def _pictures(run: Run, info: LearnerInfo) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each."""
    drawn = [
        (
            "Loss over time",
            "What was lost in total up to each label. The lower, the better.",
            _loss(run),
        ),
        *prediction_pictures(run),
        *interval_pictures(run),
    ]
    if run.spending is not None:
        words = "What an example cost, on average over each stretch of rounds."
        drawn.append(("Money over time", words, plots.spending(run)))
    words = "A row per feature, those bought most at the top. Full colour: bought in every round."
    drawn.append(("Which features were bought when", words, plots.reads(run)))
    if info.events <= REPLAYED:
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
            (other.loss, *plots.STYLES[other.name], other.name) for other in run.baselines
        ]
        lines.append((run.loss, plots.BLUE, "-", plots.shown(run.learner)))
        for loss, colour, dashes, label in lines:
            axes.plot([0, *run.ends], [0.0, *loss], color=colour, ls=dashes, label=label)
        axes.set_xlim(0, int(run.ends[-1]))
        axes.set_ylim(bottom=0)
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
