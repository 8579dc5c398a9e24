"""What AutoLearner's state tells people: the lines of an explanation, the figures of advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from keyhole.blocks.auto.advice import Fewer, Worth, worths
from keyhole.blocks.auto.beyond import Beyond, beyond
from keyhole.blocks.auto.explanation import Line
from keyhole.blocks.auto.state import LONGEST_MEMORY, ONLY, Batch, Settings, State
from keyhole.blocks.auto.worth import joint_fit
from keyhole.blocks.fit.forward import select
from keyhole.blocks.sums.running import centre
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


def valued(s: Settings, state: State, lead: int, name: Name, cost: Cost | None = None) -> Valued:
    """By the sums of the leading memory, or of the longest while that one has none."""
    source = lead if state.kept.n[lead, -1] > 0.0 else LONGEST_MEMORY
    chosen = select(state.kept, source, s.pool, float(s.thresholds[source])).chosen
    fit = joint_fit(state.kept, source, chosen, state.peaks, reach(state))
    others = beyond(state.kept, source, chosen, state.peaks, fit)
    names = [name(j) for j in chosen.tolist()]
    if cost is None:
        return Valued(chosen, *worths(fit, names), others)
    together = worths(fit, names, lambda some: cost(chosen[list(some)].tolist()))
    return Valued(chosen, *together, others)


def reach(state: State) -> float:
    """The largest distance of a label from its centre so far; 0 before any."""
    far = np.abs(state.mixture.span - centre(state.label, ONLY)).max()
    return float(np.nan_to_num(far))


def bought_lines(
    state: State, batch: Batch, weights: Floats, found: Valued, name: Name, cost: Cost | None = None
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
            weight=float(weights[j]),
            reads=int(state.values.reads[j]),
            lost=None if worth is None else worth.lost,
            error=None if worth is None else worth.error,
            most=found.others.at_most(j) if told else None,
            price=None if cost is None else cost([j]),
        )
        lines.append(line)
    return tuple(lines)
