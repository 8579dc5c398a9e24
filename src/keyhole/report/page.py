"""A run as one HTML page that needs nothing else: no network, no scripts, light and dark."""

from __future__ import annotations

import importlib.resources
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keyhole.optional_imports import extra
from keyhole.problem import DataError, Interval
from keyhole.report import plots
from keyhole.report.advice_table import losses
from keyhole.report.figures import Fact, amount, mean_amount, number, share, span
from keyhole.report.money_tables import money_facts, money_page, price_of
from keyhole.report.run import Run
from keyhole.saving.atomic_file import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the pictures are drawn in, and what the page puts in its place: it knows light and dark.
COLOURS = {
    plots.INK: "currentColor",
    plots.BLUE: "var(--blue)",
    plots.GREEN: "var(--green)",
    plots.PURPLE: "var(--purple)",
    plots.ORANGE: "var(--orange)",
}
ROWS = 100  # of the table of weights


@dataclass(frozen=True, slots=True)
class Cost:
    """A row of the table of losses."""

    who: str
    reads: str
    mean: str
    loss: str
    r2: str
    money: str
    total: str
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Weight:
    """A row of the table of weights."""

    name: str
    weight: str
    best: str
    spread: str
    bought: str
    price: str
    error: str
    share: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with what is to be seen in it."""

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
    5
    >>> folder.cleanup()
    """
    text = page(run).encode("utf-8", "replace")  # half a surrogate pair may stand in a name
    with whole_file(Path(path), DataError) as file:
        file.write(text)


def page(run: Run) -> str:
    """The page of a run as text."""
    jinja = extra("jinja2", "report")
    template = importlib.resources.files("keyhole.report").joinpath("page.html")
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True
    )
    used = _used(run)
    text: str = environment.from_string(template.read_text(encoding="utf-8")).render(
        run=run,
        problem=run.problem,
        facts=_facts(run),
        costs=_costs(run),
        pictures=[_marked(p, jinja.utils.markupsafe.Markup) for p in _pictures(run)],
        losses=[] if run.advice is None else losses(run.advice, run.problem.prices),
        intercepts=(number(run.intercept), number(run.best.intercept)),
        weights=[_weight(run, j) for j in used[:ROWS]],
        weights_left=max(len(used) - ROWS, 0),
        settings=_settings(run),
        money=money_page(run),
        worth=None if run.spending is None else run.spending.worth,
    )
    return text


def inline(svg: str, name: str, title: str) -> str:
    """An SVG file as part of a page: colours of the page, ids of its own, as wide as there is room.

    `title` is what a screen reader says; `name` begins every id.
    """
    svg = svg[svg.index("<svg") :]
    for drawn, colour in COLOURS.items():
        svg = svg.replace(drawn, colour)
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height|xmlns(:\w+)?|version)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{title}">{rest}'


def _facts(run: Run) -> list[Fact]:
    ledger, gap = run.ledger, run.total_regret
    error = number(math.sqrt(ledger.mean_loss))
    better = f"lost beyond the {run.yardstick}"
    if gap.high < 0:
        better = f"below 0: less lost than by the {run.yardstick}"
    reads = f"{number(ledger.mean_reads)} of {run.problem.d:,} read per example"
    return [
        *(money_facts(run) or [Fact("reads saved", f"{run.saved:.0%}", reads)]),
        Fact("mean squared loss", number(ledger.mean_loss), f"typical error {error}"),
        Fact("R²", share(run.r2), f"{run.yardstick} {share(run.best.r2)}"),
        Fact("regret", span(gap), better),
        Fact(
            "rounds",
            f"{ledger.rounds:,}",
            f"played in {number(ledger.rounds / run.rounds_per_second)} s",
        ),
    ]


def _costs(run: Run) -> list[Cost]:
    rounds, empty, prices = run.ledger.rounds, run.best.empty_loss, run.problem.prices
    worth = None if run.spending is None else run.spending.worth

    def cost(
        who: str, reads: float, loss: Interval, money: float | None, ours: bool = False
    ) -> Cost:
        mean = Interval(loss.low / rounds, loss.high / rounds, loss.how)
        r2 = 1.0 - loss.high / empty if empty > 0 else 0.0
        spent = "" if prices is None or money is None else mean_amount(money, prices)
        total = "" if worth is None or money is None else number(worth * mean.high + money)
        return Cost(who, number(reads), span(mean), span(loss), share(r2), spent, total, ours)

    def known(loss: float) -> Interval:
        return Interval(loss, loss, "played")

    others = [cost(b.name, b.reads, known(float(b.loss[-1])), b.cost) for b in run.baselines]
    best = cost(run.yardstick, float(run.best.k), run.best.loss, run.best.cost)
    beside = run.best_with_past
    past = f"{run.yardstick} and the past"
    more = [] if beside is None else [cost(past, float(beside.k), beside.loss, beside.cost)]
    for who, reads, loss, money in _best_for_money(run):
        more.append(cost(who, reads, loss, money))
    spent = run.ledger.spent / rounds
    ours = cost(run.learner, run.ledger.mean_reads, known(run.ledger.loss), spent, ours=True)
    return [ours, best, *more, *others]


def _best_for_money(run: Run) -> list[tuple[str, float, Interval, float | None]]:
    """The best of any number of features within the limit, and the best at the rate."""
    found = list[tuple[str, float, Interval, float | None]]()
    money, prices = run.spending, run.problem.prices
    if money is None or prices is None:
        return found
    if money.frontier is not None:
        point = money.frontier.at(money.allowed)
        who = f"best for {money.allowed:,.10g} in hindsight, any number"
        found.append((who, float(len(point.features)), point.loss, point.cost))
    if money.best_total is not None:
        best = money.best_total
        who = "best for what it is worth in hindsight"
        found.append((who, float(len(best.support)), best.loss, best.cost))
    return found


def _pictures(run: Run) -> list[Picture]:
    best, beside = f"best {run.best.k} features", ""
    if run.spending is not None and run.problem.prices is not None:
        best += f" for {amount(run.spending.allowed, run.problem.prices)}"
        beside = " Beside each what it costs alone, the fees of its panels included."
    exact = bool((run.regret.low == run.regret.high).all())
    band = "" if exact else " The band is what the search for the best model left open."
    most = "" if exact else f" The line is the most it can be.{band}"
    drawn = (
        (
            "Loss over time",
            "What was lost in total up to each round. The lower, the better. Beside the learner: "
            f"the {best} for exactly the rounds up to there, and the baselines.{band}",
            plots.cumulative_loss(run),
        ),
        (
            "Regret",
            f"What the learner lost beyond the {best} of the rounds up to there. A "
            "curve that flattens has learnt; one that falls does better than any such "
            f"model.{most}",
            plots.regret(run),
        ),
        (
            "Which features were bought when",
            "A row per feature, those bought most at the top. Full colour: bought in every round; "
            f"none: never.{beside}",
            plots.reads(run),
        ),
        (
            "Life lines of the model",
            "When each feature had a weight, looked at once per column of the picture above. "
            "Thick: positive, thin: negative.",
            plots.supports(run),
        ),
        (
            "Weights",
            "What one standard deviation of a feature adds to the prediction: so features in "
            f"different units can be compared. The final model uses {len(run.support)}.",
            plots.weights(run),
        ),
        *_curve(run),
    )
    drawn = (*drawn[:2], *_money_pictures(run), *drawn[2:])
    return [
        Picture(heading, words, inline(plots.svg(figure, f"p{i}"), f"p{i}", heading))
        for i, (heading, words, figure) in enumerate(drawn, start=1)
    ]


def _curve(run: Run) -> list[tuple[str, str, Figure]]:
    """What so many features explain, where sizes were chosen from that."""
    if run.curve is None:
        return []
    looked = f"{run.curve.rows:,} rows, looked at completely before the game"
    words = (
        f"From {looked}: the share of the label's variance that the best features found explain on "
        f"rows that they were not chosen on. {run.curve.recommendation}"
    )
    return [("How many features to buy", words, plots.budget_curve(run.curve))]


def _money_pictures(run: Run) -> list[tuple[str, str, Figure]]:
    """The frontier, money over time, the purse: where there are prices."""
    money, prices = run.spending, run.problem.prices
    if money is None or prices is None:
        return []
    found: list[tuple[str, str, Figure]] = []
    if money.frontier is not None:
        rest = "" if money.frontier.complete else " It may bend between its points, too."
        words = (
            "The least that any linear model loses that costs so much per example, chosen after "
            "everything was seen. The learner pays for learning from the first round on, and may "
            f"predict by more than one model: it can end up on either side.{rest}"
        )
        point = run.ledger.spent / run.ledger.rounds, run.ledger.loss
        found.append(("Loss and money", words, plots.frontier(money.frontier, point)))
    limit = amount(run.problem.budget, prices)
    words = f"What an example cost, on average over each stretch of rounds; at most {limit}."
    found.append(("Money over time", words, plots.spending(run)))
    if money.left is not None:
        words = "What was left of the money for all examples; the dashed line spends it evenly."
        found.append(("The purse", words, plots.purse(run)))
    return found


def _marked(picture: Picture, markup: type[str]) -> Picture:
    """The same, with an SVG that the template takes as it is: matplotlib has escaped its text."""
    return Picture(picture.heading, picture.words, markup(picture.svg))


def _used(run: Run) -> list[int]:
    """The features with a weight, here or in hindsight, the largest effect first."""
    used = np.union1d(run.support, run.best.support)
    effect = np.maximum(np.abs(run.weights), np.abs(run.best.weights)) * run.spread
    order: list[int] = used[np.argsort(-effect[used], kind="stable")].tolist()
    return order


def _weight(run: Run, j: int) -> Weight:
    return Weight(
        name=run.problem.label(j),
        weight=number(float(run.weights[j])) if run.weights[j] else "",
        best=number(float(run.best.weights[j])) if run.best.weights[j] else "",
        spread=number(float(run.spread[j])),
        bought=f"{run.ledger.reads[j] / run.ledger.rounds:.1%}",
        price=price_of(run, j),
        error="" if run.errors is None or not run.weights[j] else f"{run.errors[j]:.2g}",
        share="" if run.shares is None else f"{run.shares[j]:.0%}",
    )


def _settings(run: Run) -> list[tuple[str, str]]:
    p, width = run.problem, int(run.ends[0])
    budget = [("budget, everything read for one example", str(p.budget))]
    if p.prices is not None:
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
        ("one column of the pictures", f"{width:,} round{'' if width == 1 else 's'}"),
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
