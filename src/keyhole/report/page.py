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
class Fact:
    """One of the large numbers at the top."""

    name: str
    number: str
    note: str


@dataclass(frozen=True, slots=True)
class Cost:
    """A row of the table of losses."""

    who: str
    reads: str
    mean: str
    loss: str
    r2: str
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Weight:
    """A row of the table of weights."""

    name: str
    weight: str
    best: str
    spread: str
    bought: str


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
        losses=[] if run.advice is None else losses(run.advice),
        intercepts=(number(run.intercept), number(run.best.intercept)),
        weights=[_weight(run, j) for j in used[:ROWS]],
        weights_left=max(len(used) - ROWS, 0),
        settings=_settings(run),
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


def number(value: float) -> str:
    """A number for people: four digits, thousands apart, a true minus.

    >>> number(14569.2), number(-0.01234567), number(float("inf"))
    ('14,569', '−0.01235', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def share(value: float) -> str:
    """A share for people: three decimals, a true minus."""
    return f"{value:.3f}".replace("-", "−")


def span(interval: Interval) -> str:
    """An interval for people: one number if it is known.

    >>> span(Interval(1.0, 1.0, "")), span(Interval(1.0, 2.5, ""))
    ('1', '1 to 2.5')
    """
    low, high = number(interval.low), number(interval.high)
    return low if low == high else f"{low} to {high}"


def _facts(run: Run) -> list[Fact]:
    ledger, gap = run.ledger, run.total_regret
    error = number(math.sqrt(ledger.mean_loss))
    better = f"lost beyond the best {run.best.k} in hindsight"
    if gap.high < 0:
        better = f"below 0: less lost than by the best {run.best.k} in hindsight"
    reads = f"{number(ledger.mean_reads)} of {run.problem.d:,} read per example"
    return [
        Fact("reads saved", f"{run.saved:.0%}", reads),
        Fact("mean squared loss", number(ledger.mean_loss), f"typical error {error}"),
        Fact("R²", share(run.r2), f"best {run.best.k} in hindsight {share(run.best.r2)}"),
        Fact("regret", span(gap), better),
        Fact(
            "rounds",
            f"{ledger.rounds:,}",
            f"played in {number(ledger.rounds / run.rounds_per_second)} s",
        ),
    ]


def _costs(run: Run) -> list[Cost]:
    rounds, empty = run.ledger.rounds, run.best.empty_loss

    def cost(who: str, reads: float, loss: Interval, ours: bool = False) -> Cost:
        mean = Interval(loss.low / rounds, loss.high / rounds, loss.how)
        r2 = 1.0 - loss.high / empty if empty > 0 else 0.0
        return Cost(who, number(reads), span(mean), span(loss), share(r2), ours)

    def known(loss: float) -> Interval:
        return Interval(loss, loss, "played")

    others = [cost(b.name, b.reads, known(float(b.loss[-1]))) for b in run.baselines]
    best = cost(f"best {run.best.k} in hindsight", float(run.best.k), run.best.loss)
    beside = run.best_with_past
    past = f"best {run.best.k} in hindsight and the past"
    more = [] if beside is None else [cost(past, float(beside.k), beside.loss)]
    ours = cost(run.learner, run.ledger.mean_reads, known(run.ledger.loss), ours=True)
    return [ours, best, *more, *others]


def _pictures(run: Run) -> list[Picture]:
    k = run.best.k
    exact = bool((run.regret.low == run.regret.high).all())
    band = "" if exact else " The band is what the search for the best model left open."
    most = "" if exact else f" The line is the most it can be.{band}"
    drawn = (
        (
            "Loss over time",
            "What was lost in total up to each round. The lower, the better. Beside the learner: "
            f"the best {k} features for exactly the rounds up to there, and the baselines.{band}",
            plots.cumulative_loss(run),
        ),
        (
            "Regret",
            f"What the learner lost beyond the best {k} features of the rounds up to there. A "
            "curve that flattens has learnt; one that falls does better than any such "
            f"model.{most}",
            plots.regret(run),
        ),
        (
            "Which features were bought when",
            "A row per feature, those bought most at the top. Full colour: bought in every round; "
            "none: never.",
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
    )


def _settings(run: Run) -> list[tuple[str, str]]:
    p, width = run.problem, int(run.ends[0])
    told = [
        ("stream", run.title),
        ("target", run.target),
        ("rounds", f"{run.ledger.rounds:,}"),
        *([("rows of history studied before", f"{run.history:,}")] if run.history else []),
        ("features", f"{p.d:,}"),
        ("sparsity k", str(p.k)),
        ("budget, everything read for one example", str(p.budget)),
        ("learner", run.learner),
        *((name, str(value)) for name, value in run.settings.items()),
        ("seed", "not given" if run.seed is None else str(run.seed)),
        ("hindsight", f"k = {run.best.k}, {'with' if run.centred else 'without'} intercept"),
        ("how the best model was found", run.best.loss.how),
        ("one column of the pictures", f"{width:,} round{'' if width == 1 else 's'}"),
    ]
    return told + [(name, version) for name, version in run.versions.items()]
