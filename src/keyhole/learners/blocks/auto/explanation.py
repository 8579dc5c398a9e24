"""Explanation of AutoLearner: what it buys and why, and what each feature is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.auto.advice import (
    CLEAR,
    Advice,
    Fewer,
    More,
    StepLine,
    Worth,
    worths,
)
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.engine import LABELS, ROWS
from keyhole.learners.blocks.auto.joint_fit import (
    Beyond,
    at_least,
    at_most,
    beyond,
    contradicts,
    joint_fit,
    often_read,
    selected,
)
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, Settings, State
from keyhole.learners.blocks.fit.stepwise_selection import select
from keyhole.learners.blocks.sums.column_stats import centre
from keyhole.problem import Floats, Indices
from keyhole.problem.display import counted, few, html_table
from keyhole.problem.sparse_model import not_known

WORTH_SAYING = 0.02  # of the squared error; less may be chance
NOTHING_SAID = 0.5  # an error of which two are all there is


@dataclass(frozen=True, slots=True)
class Line:
    """One feature that is bought now.

    Of a feature that the leading memory finds worth keeping, `lost` is the share of the label's
    variance that is no longer explained without it, the other ones fitted anew, and `error` the
    standard error of that: the figures of `Advice.kept`. Of any other, both are None, and `most` is
    the share that it would add to those at most (two standard errors); None if too little was read
    of it to say. `weight` is that which is played, in the user's units, `weight_error` its standard
    error, and `share` the share of the rounds in which the feature was in the model; None where
    they are not known. `reads` counts the feature's values so far. `price` is what it costs alone,
    fees of panels included; None without prices.
    """

    name: str
    why: str
    weight: float
    reads: int
    lost: float | None = None
    error: float | None = None
    most: float | None = None
    price: float | None = None
    weight_error: float | None = None
    share: float | None = None

    @property
    def known(self) -> bool:
        """Whether enough was read to say what is lost without it."""
        return self.lost is not None and self.error is not None and self.error < NOTHING_SAID


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is bought now and why, and whom the mixture listens to.

    `layer` are the shares of what the last layer mixes: the mixture's prediction as it is, bent,
    and with the past. `past` is what a unit of each input of the past adds to the prediction;
    `past_saves` the share of the squared error of late that a layer without the past would have
    had more. `cost` is what an example costs now; None without prices. `explained` is the share of
    the label's variance that all features worth keeping explain together, and `explained_error` its
    standard error; None if there are none. `shapes` are the shares of that prediction as it is,
    with curves, and with trees in what is predicted; `shapes_save` the share of the squared error
    of late that the better of both saves. `steps` are those of examples that are bought step by
    step (`ask(steps=True)`), in order; empty if the current batch is not.

    Examples
    --------
    >>> lines = Line("age", "kept", 0.5, 120, 0.31, 0.02), Line("bmi", "explored", 0.0, 9)
    >>> together = {"explained": 0.31, "explained_error": 0.02}
    >>> print(Explanation(200, lines, {"memory of all rounds": 1.0}, 0.0, **together))
    after 200 rounds, bought for every example:
      kept        age    weight +0.5   31.0 % ± 2.0 % of the variance is lost without it   120 reads
      explored    bmi    too few reads to say what it would add   9 reads
    what is worth keeping explains 31.0 % ± 2.0 % of the variance together
    listens to: memory of all rounds 100 %
    """

    round: int
    lines: tuple[Line, ...]
    shares: Mapping[str, float]
    bound: float
    layer: Mapping[str, float] = field(default_factory=dict)
    past: Mapping[str, float] = field(default_factory=dict)
    past_saves: float = 0.0
    cost: float | None = None
    explained: float | None = None
    explained_error: float | None = None
    shapes: Mapping[str, float] = field(default_factory=dict)
    shapes_save: float = 0.0
    steps: tuple[StepLine, ...] = ()

    def __repr__(self) -> str:
        kept = [line.name for line in sorted(self.lines, key=_rank) if line.why == "kept"]
        return f"<Explanation after {counted(self.round, 'round')}: kept are {few(kept)}>"

    def _repr_html_(self) -> str:
        rows = [
            (line.name, line.why, _weight(line), line.reads, _promise(line))
            for line in sorted(self.lines, key=_rank)
        ]
        head = ("feature", "why", "weight", "reads", "what it is worth")
        return html_table(f"Bought after {counted(self.round, 'round')}", rows, head)

    def __str__(self) -> str:
        if not self.lines:
            return "nothing was asked yet, so nothing is bought"
        wide = max(len(line.name) for line in self.lines)
        money = "" if self.cost is None else f" for {self.cost:,.10g} together"
        text = [f"after {self.round} rounds, bought for every example{money}:"]
        text += [_sentence(line, wide) for line in sorted(self.lines, key=_rank)]
        if self.explained is not None and self.explained_error is not None:
            known = _doubted(self.explained, self.explained_error)
            if known:
                text.append(f"what is worth keeping explains {known} of the variance together")
        if self.steps:
            text.append("step by step:")
            text += [f"  {number:>2}  {step}" for number, step in enumerate(self.steps, start=1)]
        text.append(f"listens to: {_percents(self.shares)}")
        if self.layer:
            text.append(f"last layer: {_percents(self.layer)}")
        if self.past:
            text.append(_of_the_past(self.past, self.past_saves))
        if self.shapes:
            text.append(_of_shapes(self.shapes, self.shapes_save))
        return "\n".join(text)


def _rank(line: Line) -> tuple[int, float, float]:
    order = {"kept": 0, "safety net": 1, "explored": 2}
    return order[line.why], -(line.lost or 0.0), -(line.most or 0.0)


def _percents(shares: Mapping[str, float]) -> str:
    heard = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in heard if share >= 0.01)


def _of_the_past(weights: Mapping[str, float], saved: float) -> str:
    if saved < WORTH_SAYING:
        return "the past: says nothing of late that is not known without it"
    largest = sorted(weights.items(), key=lambda item: -abs(item[1]))[:3]
    adds = ", ".join(f"{weight:+.2g} × {name}" for name, weight in largest)
    return f"the past: saves {100 * saved:.0f} % of the squared error of late; adds {adds}, ..."


def _of_shapes(heard: Mapping[str, float], saved: float) -> str:
    if saved < WORTH_SAYING:
        return "shapes: curves and trees say nothing of late that is not known without them"
    return f"shapes: save {100 * saved:.0f} % of the squared error of late: {_percents(heard)}"


def _doubted(share: float, error: float) -> str:
    """A share with its error, or nothing if it could be anything."""
    return "" if error >= NOTHING_SAID else f"{100.0 * share:.1f} % ± {100.0 * error:.1f} %"


def _weight(line: Line) -> str:
    doubt = ""
    if line.weight_error is not None:
        doubt = f" ± {line.weight_error:.2g}{not_known(line.weight, line.weight_error)}"
    long = "" if line.share is None else f", in the model {line.share:.0%} of the time"
    return f"{line.weight:+.4g}{doubt}{long}"


def _promise(line: Line) -> str:
    if line.lost is not None and line.error is not None:
        known = _doubted(line.lost, line.error)
        if known:
            return f"{known} of the variance is lost without it"
        return "too few reads to say what is lost without it"
    if line.most is not None:
        return f"would add at most {100.0 * line.most:.1f} % of the variance"
    return "too few reads to say what it would add"


def _sentence(line: Line, wide: int) -> str:
    weight = "" if line.lost is None or line.error is None else f"weight {_weight(line)}   "
    promise = f"{weight}{_promise(line)}"
    about = f"  {line.why:<11} {line.name:<{wide}}    {promise}   {line.reads} reads"
    if line.price is None:
        return about
    return f"{about}   {f'costs {line.price:,.10g}' if line.price else 'free'}"


Name = Callable[[int], str]
Cost = Callable[[Sequence[int]], float]  # of features together; None where there are no prices


class Valued(NamedTuple):
    """The features that are found significant, what each is worth, and what fewer would do.

    `others` is what the other features would add.
    """

    chosen: Indices
    kept: tuple[Worth, ...]
    fewer: tuple[Fewer, ...]
    others: Beyond

    @property
    def together(self) -> tuple[float | None, float | None]:
        """What all of them explain, and its error; None if there are none."""
        return (self.fewer[0].explained, self.fewer[-1].error) if self.fewer else (None, None)

    @property
    def untold(self) -> int:
        """Of how many features that are not kept nothing can be said."""
        return len(self.others.told) - len(self.chosen) - int(self.others.told.sum())


def valued(s: Settings, state: State, lead: int, name: Name, cost: Cost | None = None) -> Valued:
    """By the sums of the leading memory, or of the longest while that one has none."""
    source = lead if state.kept.n[lead, -1] > 0.0 else LONGEST_MEMORY
    seats = select(state.kept, source, s.pool, float(s.thresholds[source])).chosen
    found = state.kept.who[seats]
    chosen = often_read(state.kept, source, found)
    fit = joint_fit(state.kept, source, chosen, state.peaks, reach(state))
    others = beyond(state.kept, source, chosen, state.peaks, fit)
    names = [name(j) for j in chosen.tolist()]
    if cost is None:
        return Valued(chosen, *worths(fit, names), others)
    together = worths(fit, names, lambda some: cost(chosen[list(some)].tolist()))
    return Valued(chosen, *together, others)


def larger(found: Valued) -> tuple[More, ...]:
    """What 1, 2, 4, ... more features would add, up to as many as are kept; see `Advice.more`."""
    least, told = at_least(found.others), int(found.others.told.sum())
    more, count = list[More](), 1
    while count <= min(max(len(found.kept), 1), told):
        bound = at_most(found.others, count)
        if bound >= found.others.left:
            break
        more.append(More(count, min(least, bound), bound))
        count *= 2
    return tuple(more)


def reach(state: State) -> float:
    """The largest distance of a label from its centre so far; 0 before any."""
    far = np.abs(state.mixture.span - centre(state.label, 0)).max()
    return float(np.nan_to_num(far))


def advised(
    s: Settings,
    state: State,
    found: Valued,
    lead: int,
    leader: str,
    round: int,
    reads: Indices | None,
    waiting: Sequence[int],
    told_before: int,
    budget: float | None,
    steps: tuple[StepLine, ...],
) -> Advice:
    """What to say about the budget, and what changed: see `Advice`.

    `lead` is the memory that leads, in words `leader`; `reads` is what the current batch reads, and
    `waiting` how many rounds ago each open ticket was asked; `told_before` labels had been told
    when the history that was set aside was studied; `budget` is money, None without prices.
    `steps` are those of the current batch.
    """
    labels, studied = int(state.label.reads[0]), int(state.studied[0])
    since = int(state.lead[1]) if lead == int(state.lead[0]) else labels
    recent = state.mixture.recent[s.experts.judges]
    behind = float(recent[LONGEST_MEMORY] - recent[lead])
    ahead = behind / max(float(recent[lead]), 1e-300) if behind > 0.0 else 0.0
    return Advice(
        round=round,
        told=labels - studied,
        kept=found.kept,
        fewer=found.fewer,
        searching=0 if reads is None else int((~np.isin(reads, found.chosen)).sum()),
        leader=leader,
        since=max(since - studied, 0),
        ahead=ahead,
        waiting=len(waiting),
        oldest=waiting[0] if waiting else 0,
        more=larger(found),
        untold=found.untold if labels else 0,
        set_aside=int(state.aside[ROWS]),
        misled=int(state.aside[LABELS] - state.aside[ROWS]) - told_before,
        contradicted=ahead > CLEAR and _contradicted(s, state, found, lead),
        steps=steps,
        budget=budget,
    )


def _contradicted(s: Settings, state: State, found: Valued, lead: int) -> bool:
    """Whether the leading memory says something else of what either of the two selects."""
    if not state.kept.n[lead, -1] > 0.0:
        return False
    both = np.union1d(found.chosen, selected(s, state.kept, LONGEST_MEMORY))
    return contradicts(state.kept, lead, both, state.peaks)


class Played(NamedTuple):
    """The weights that are played, their errors, and how long features were in the model."""

    weights: Floats
    errors: Floats
    shares: Floats | None


def bought_lines(
    state: State, batch: Batch, played: Played, found: Valued, name: Name, cost: Cost | None = None
) -> tuple[Line, ...]:
    """Every feature that a batch buys: why, at what price, and what the leading memory thinks.

    What is lost without a feature is what advice says of it: it is one computation.
    """
    known = {worth.name: worth for worth in found.kept}
    lines = []
    for a, j in enumerate(batch.S.tolist()):
        worth, told = known.get(name(j)), bool(found.others.told[j])
        line = Line(
            name(j),
            why=("kept", "safety net", "explored")[batch.why[a]],
            weight=float(played.weights[j]),
            weight_error=float(played.errors[j]),
            share=None if played.shares is None else float(played.shares[j]),
            reads=int(state.values.reads[j]),
            lost=None if worth is None else worth.lost,
            error=None if worth is None else worth.error,
            most=found.others.at_most(j) if told else None,
            price=None if cost is None else cost([j]),
        )
        lines.append(line)
    return tuple(lines)
