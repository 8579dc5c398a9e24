"""Page of a run: one HTML file without network or scripts, light and dark."""

from __future__ import annotations

import html
import importlib.resources
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keyhole.analysis.diagnosis.page import NO_PROMISE
from keyhole.analysis.diagnosis.page import VERDICT_WORDS as VERDICTS
from keyhole.problem import DataError
from keyhole.problem.atomic_file import whole_file
from keyhole.problem.display import counted
from keyhole.problem.optional_imports import extra
from keyhole.report import curve_plots, plots
from keyhole.report.conclusions import findings, headline
from keyhole.report.number_format import (
    Fact,
    amount,
    brief,
    brief_span,
    doubt,
    mean_amount,
    number,
    plain_name,
    share,
)
from keyhole.report.overview_plots import overview
from keyhole.report.prediction_plots import (
    RELIABILITY_CAPTION,
    interval_pictures,
    prediction_pictures,
    probability_facts,
    reliability,
)
from keyhole.report.run import Run
from keyhole.report.tables import (
    MAX_REPORT_ROWS,
    Score,
    losses,
    money_facts,
    money_page,
    price_of,
    scores,
    sentences,
    step_facts,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the pictures are drawn in, and what the page puts in its place: it knows light and dark.
CSS_COLOURS = {
    plots.INK: "currentColor",
    plots.BLUE: "var(--blue)",
    plots.GREEN: "var(--green)",
    plots.PURPLE: "var(--purple)",
    plots.ORANGE: "var(--orange)",
}


LONG_TABLE = 12  # rows: a longer table is folded
COPES = "good to know"  # the severity of what the learner copes with by itself


class Picture(NamedTuple):
    """A figure as HTML, with what is to be seen in it."""

    heading: str
    words: str
    svg: str


def write(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the page of a run to a file, whole or not at all.

    Needs matplotlib and jinja2: pip install 'keyhole[report]'.

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.realizable(d=5, k=1, n=200, seed=0)
    >>> learner = kh.OnlineGreedyLearner(kh.Problem(d=5, k=1, budget=3), seed=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> write(kh.report.record(learner, stream, seed=0), folder.name + "/out.html")
    >>> Path(folder.name, "out.html").read_text(encoding="utf-8").count("<svg")
    9
    >>> folder.cleanup()
    """
    text = page(run).encode("utf-8", "replace")  # half a surrogate pair may stand in a name
    with whole_file(Path(path), DataError) as file:
        file.write(text)


def page(run: Run) -> str:
    """The page of a run as text."""
    used, found = _used(run), findings(run)
    return rendered(
        "keyhole.report",
        "page.html",
        run=run,
        problem=run.problem,
        facts=_facts(run),
        rows=[_row(run, score) for score in scores(run)],
        headline=headline(run),
        findings=[f for f in found if f.severity != COPES],
        known=[f for f in found if f.severity == COPES],
        long=LONG_TABLE,
        verdicts=VERDICTS,
        no_promise=NO_PROMISE,
        overview=inlined(overview(run), "o"),
        pictures=_pictures(run),
        **_curves(run),
        losses=[] if run.advice is None else losses(run.advice, run.problem.prices),
        advised=[] if run.advice is None else sentences(run.advice, columns=run.columns),
        intercepts=tuple(map(number, (run.sparse.intercept, run.intercept, run.best.intercept))),
        variance=brief(run.best.variance),
        weights=[_weight(run, j) for j in used[:MAX_REPORT_ROWS]],
        weights_left=max(len(used) - MAX_REPORT_ROWS, 0),
        settings=_settings(run),
        money=money_page(run),
        priced=run.problem.prices is not None and not run.columns,
        worth=None if run.spending is None else run.spending.worth,
    )


def rendered(package: str, template: str, **values: Any) -> str:
    """A template of a package with these values; it extends `base.html`, and text is escaped."""
    jinja = extra("jinja2", "report")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(lambda name: _file("keyhole.report", name)),  # base.html
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
    )
    style = markup()(_file("keyhole.report", "page.css"))
    text: str = environment.from_string(_file(package, template)).render(style=style, **values)
    return text


def markup() -> Any:
    """What marks text as HTML that is not escaped."""
    return extra("jinja2", "report").utils.markupsafe.Markup


def _file(package: str, name: str) -> str:
    return importlib.resources.files(package).joinpath(name).read_text(encoding="utf-8")


def inline(svg: str, name: str, title: str) -> str:
    """An SVG file as part of a page: colours of the page, ids of its own, as wide as there is room.

    `title` is what a screen reader says; `name` begins every id.
    """
    svg = svg[svg.index("<svg") :]
    for drawn, colour in CSS_COLOURS.items():
        svg = svg.replace(drawn, colour)
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height|xmlns(:\w+)?|version)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{title}">{rest}'


def _facts(run: Run) -> list[Fact]:
    ledger, gap = run.ledger, run.later_regret
    better = f"lost beyond the {run.yardstick}"
    if gap.high < 0:
        better = f"below 0: less lost than by the {run.yardstick}"
    reads = f"{number(ledger.mean_reads)} of {run.problem.d:,} read per example"
    seconds = ledger.rounds / run.rounds_per_second
    return [
        *(money_facts(run) or [Fact("reads saved", f"{run.saved:.0%}", reads)]),
        *step_facts(run),
        *_scored(run),
        Fact("regret", brief_span(gap), better),
        *_interval_facts(run),
        *_first_round(run),
        Fact("rounds", f"{ledger.rounds:,}", f"played in {number(seconds)} s"),
    ]


def _scored(run: Run) -> list[Fact]:
    """How good predictions are: all rounds but the first, and those of late."""
    if run.probabilities is not None:
        return probability_facts(run.probabilities)
    mean, recent = run.ledger.later_mean_loss, run.recent.mean_loss
    if math.isnan(mean):
        mean, recent = run.ledger.mean_loss, run.ledger.mean_loss
    error, lately = brief(math.sqrt(mean)), brief(math.sqrt(recent))
    late = f"error, last {run.recent.rounds:,} rounds"
    return [
        Fact("typical error", error, f"mean squared loss {brief(mean)}"),
        Fact(late, lately, f"mean squared loss {brief(recent)}"),
        Fact("R²", share(run.later_r2), f"{run.yardstick} {share(run.best.r2)}"),
    ]


def _first_round(run: Run) -> list[Fact]:
    """What was lost in the first round, which no other figure has."""
    if run.ledger.rounds < 2:
        return []
    return [Fact("first round", brief(run.ledger.first_loss), "squared loss, in no other figure")]


def _interval_facts(run: Run) -> list[Fact]:
    ledger = run.ledger
    if ledger.coverage is None or not ledger.bounded:
        return []
    held, wide = f"{ledger.covered_share:.1%}", f"{number(ledger.mean_width)} wide on average"
    return [Fact(f"within {100 * ledger.coverage:g} % intervals", held, wide)]


def _paid(run: Run, each: float | None) -> str:
    """Money or columns per example; nothing where neither is counted."""
    if each is None or run.problem.prices is None:
        return ""
    return number(each) if run.columns else mean_amount(each, run.problem.prices)


def _row(run: Run, score: Score) -> dict[str, object]:
    """A row of the table of scores."""
    money = run.spending
    worth = None if money is None else money.worth
    paid = score.cost
    return {
        "who": score.who,
        "reads": number(score.reads),
        "money": _paid(run, paid),
        "mean": brief_span(score.mean),
        "error": brief(score.error),
        "recent": "" if math.isnan(score.last_tenth) else brief(score.last_tenth),
        "total": "" if worth is None or paid is None else number(worth * score.mean.high + paid),
        "loss": brief_span(score.loss),
        "r2": share(score.r2),
        "ours": score.ours,
    }


def _pictures(run: Run) -> list[Picture]:
    drawn = (
        *prediction_pictures(run),
        *_reliable(run),
        *interval_pictures(run),
        *_losses(run),
        *_money_pictures(run),
        *_features(run),
        *_curve(run),
    )
    return inlined(drawn)


def inlined(drawn: Iterable[tuple[str, str, Figure]], key: str = "p") -> list[Picture]:
    """Pictures of a page from heading, words and figure of each; matplotlib escapes their text."""
    return [
        Picture(heading, words, markup()(_inline(figure, f"{key}{i}", heading)))
        for i, (heading, words, figure) in enumerate(drawn, start=1)
    ]


def _inline(figure: Figure, name: str, title: str) -> str:
    return inline(plots.svg(figure, name), name, html.escape(title))


def _losses(run: Run) -> list[tuple[str, str, Figure]]:
    """Loss and regret over time."""
    best = run.yardstick.removesuffix(" in hindsight")
    exact = bool((run.regret.low == run.regret.high).all())
    effort = "every search was given the same time"
    band = "" if exact else f" The band is what the searches could not rule out; {effort}."
    return [
        (
            "Loss over time",
            "The total loss from the second round on; lower is better. For comparison: the "
            f"{best} for exactly the rounds up to that point, and the baselines.{band}",
            plots.cumulative_loss(run),
        ),
        (
            "Regret",
            f"What the learner lost beyond the {best} for the rounds up to that point, without the "
            "first round. A curve that flattens has learnt; one that falls does better than any "
            f"such model.{'' if exact else ' The line is against the best models found.'}{band}",
            plots.regret(run),
        ),
    ]


def _features(run: Run) -> list[tuple[str, str, Figure]]:
    """What was bought when, and what the models made of it."""
    beside = ""
    if run.spending is not None and not run.columns:
        beside = " Next to each is its price alone, including the fees of its panels."
    other = ""
    if not run.plays_sparse:
        other = " Circles: what is played at the end, which may use everything that is read."
    return [
        (
            "Which features were bought when",
            "One row per feature, those bought most often at the top. Full colour: bought in every "
            f"round; no colour: never.{beside}",
            plots.reads(run),
        ),
        (
            "Life lines of what is played",
            "When each feature had a weight in the predictions, sampled once per column of the "
            "picture above. Thick: positive; thin: negative.",
            plots.supports(run),
        ),
        (
            "Weights",
            "What one standard deviation of a feature adds to the prediction, so that features in "
            f"different units can be compared. Bars: the model of at most {run.problem.k} weights "
            f"that learner.model() returns and the command line prints.{other}",
            plots.weights(run),
        ),
    ]


def _reliable(run: Run) -> list[tuple[str, str, Figure]]:
    """What came of probabilities, where predictions are some."""
    scores = run.probabilities
    return [] if scores is None else [("Reliability", RELIABILITY_CAPTION, reliability(scores))]


def _curve(run: Run) -> list[tuple[str, str, Figure]]:
    """What so many features explain, where sizes were chosen from that."""
    if run.curve is None:
        return []
    looked = f"{run.curve.rows:,} rows, read in full before the game"
    words = (
        f"From {looked}: the share of the label's variance that the best features found explain on "
        f"rows that were not used to choose them. {run.curve.recommendation}"
    )
    what = "columns" if run.columns else "money"
    heading = f"How {'many columns' if run.columns else 'many features'} to buy"
    return [(heading, words, plots.budget_curve(run.curve, what=what))]


def _curves(run: Run) -> dict[str, object]:
    """What the section about shapes shows; nothing where all is straight."""
    found = run.curves
    drawn = [] if found is None else found.features[: curve_plots.MOST_CURVES]
    pairs = () if found is None else found.pairs
    names = [(plain_name(c.name), "", curve_plots.feature_curve(c)) for c in drawn]
    both = [
        (f"{plain_name(p.name)} by {plain_name(p.other)}", "", curve_plots.pair_curves(p))
        for p in pairs
    ]
    return {
        "curves": inlined(names, "c"),
        "pairs": inlined(both, "i"),
        "curve_words": "" if found is None else curve_plots.words(found, run.target),
        "pair_words": "" if found is None else curve_plots.pair_words(found),
        "straight": curve_plots.STRAIGHT,
    }


def _money_pictures(run: Run) -> list[tuple[str, str, Figure]]:
    """The frontier, money over time, the purse: where there are prices."""
    money, prices = run.spending, run.problem.prices
    if money is None or prices is None:
        return []
    found: list[tuple[str, str, Figure]] = []
    if money.frontier is not None:
        rest = "" if money.frontier.complete else " Between its points, it may have more steps."
        words = (
            "The lowest loss of any linear model at each cost per example, chosen in hindsight. "
            "The learner also pays for learning, but may predict with more than one model, so its "
            f"point can lie on either side.{rest}"
        )
        point = run.ledger.spent / run.ledger.rounds, run.ledger.later_loss
        what = "columns" if run.columns else "money"
        drawn = plots.frontier(money.frontier, point, what=what)
        found.append((f"Loss and {what}", words, drawn))
    limit = amount(run.problem.budget, prices)
    if run.columns:
        words = f"How many columns were bought per example, over each stretch; at most {limit}."
        return [*found, ("Columns over time", words, plots.spending(run))]
    words = f"What an example cost, on average over each stretch of rounds; at most {limit}."
    found.append(("Money over time", words, plots.spending(run)))
    if money.left is not None:
        words = "What was left of the money for all examples; the dashed line spends it evenly."
        found.append(("The purse", words, plots.purse(run)))
    return found


def _used(run: Run) -> list[int]:
    """The features with a weight, here or in hindsight, the largest effect first."""
    models = np.abs([plots.sparse_weights(run), run.weights, run.best.weights])
    used, effect = np.flatnonzero(models.any(axis=0)), models.max(axis=0) * run.spread
    # Those of the model that is handed out first.
    order: list[int] = used[np.lexsort((-effect[used], models[0][used] == 0))].tolist()
    return order


def _weight(run: Run, j: int) -> dict[str, str]:
    """A row of the table of weights."""
    sparse = {int(feature): i for i, feature in enumerate(run.sparse.features)}
    errors, shares, i = run.sparse.errors, run.shares, sparse.get(j)

    def shown(weight: float) -> str:
        return number(weight) if weight else ""

    return {
        "name": run.problem.label(j),
        "weight": "" if i is None else number(float(run.sparse.weights[i])),
        "played": shown(float(run.weights[j])),
        "best": shown(float(run.best.weights[j])),
        "spread": number(float(run.spread[j])),
        "bought": f"{run.ledger.reads[j] / run.ledger.rounds:.1%}",
        "price": price_of(run, j),
        "error": "" if errors is None or i is None else doubt(float(errors[i])),
        "share": "" if shares is None else f"{shares[j]:.0%}",
    }


def _settings(run: Run) -> list[tuple[str, str]]:
    p, width = run.problem, int(run.ends[0])
    budget = [("budget, everything read for one example", str(p.budget))]
    if run.columns and p.prices is not None:
        bought = f"{p.budget:g} of {len(p.prices.items)}"
        budget = [("budget, columns bought for one example", bought)]
    elif p.prices is not None:
        everything = amount(p.cost(range(p.d)), p.prices)
        budget = [
            ("budget, money for one example", amount(p.budget, p.prices)),
            ("prices", f"of {len(p.prices.items):,} items, all together {everything}"),
            *_money_settings(run),
        ]
    told = [
        ("stream", run.title),
        ("target", run.target),
        ("rounds", f"{run.ledger.rounds:,}"),
        *([("rows of history studied before", f"{run.history:,}")] if run.history else []),
        ("features", f"{p.d:,}"),
        ("sparsity k", str(p.k)),
        *budget,
        ("learner", run.learner),
        *((name, str(value)) for name, value in run.settings.items()),
        ("seed", "not given" if run.seed is None else str(run.seed)),
        ("hindsight", f"k = {run.best.k}, {'with' if run.centred else 'without'} intercept"),
        ("how the best model was found", run.best.loss.how),
        ("one column of the pictures", counted(width, "round")),
    ]
    return told + [(name, version) for name, version in run.versions.items()]


def _money_settings(run: Run) -> list[tuple[str, str]]:
    money = run.spending
    if money is None:
        return []
    told = {"worth": money.worth, "purse": money.purse, "horizon": money.horizon}
    return [
        (name, f"{value:,.10g}")
        for name, value in told.items()
        if value is not None and name not in run.settings
    ]
