"""What AutoLearner's state tells people: the lines of an explanation, the figures of advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.auto.advice import Advice, Fewer, More, Worth, worths
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.beyond import Beyond, at_least, at_most, beyond
from keyhole.learners.blocks.auto.explanation import Line
from keyhole.learners.blocks.auto.mistrust import LABELS, ROWS
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, ONLY, Settings, State
from keyhole.learners.blocks.auto.worth import joint_fit, often_read
from keyhole.learners.blocks.fit.forward import select
from keyhole.learners.blocks.sums.running import centre
from keyhole.problem import Floats, Indices

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
    far = np.abs(state.mixture.span - centre(state.label, ONLY)).max()
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
) -> Advice:
    """What to say about the budget, and what changed: see `Advice`.

    `lead` is the memory that leads, in words `leader`; `reads` is what the current batch reads, and
    `waiting` how many rounds ago each open ticket was asked.
    """
    labels, studied = int(state.label.reads[ONLY]), int(state.studied[ONLY])
    since = int(state.lead[1]) if lead == int(state.lead[0]) else labels
    recent = state.mixture.recent[s.experts.judges]
    behind = float(recent[LONGEST_MEMORY] - recent[lead])
    return Advice(
        round=round,
        told=labels - studied,
        kept=found.kept,
        fewer=found.fewer,
        searching=0 if reads is None else int((~np.isin(reads, found.chosen)).sum()),
        leader=leader,
        since=max(since - studied, 0),
        ahead=behind / max(float(recent[lead]), 1e-300) if behind > 0.0 else 0.0,
        waiting=len(waiting),
        oldest=waiting[0] if waiting else 0,
        more=larger(found),
        untold=found.untold if labels else 0,
        set_aside=int(state.aside[ROWS]),
        misled=int(state.aside[LABELS] - state.aside[ROWS]),
    )


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
