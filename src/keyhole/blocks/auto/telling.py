"""What AutoLearner's state tells people: the lines of an explanation, the figures of advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from keyhole.blocks.auto.advice import Fewer, Worth, worths
from keyhole.blocks.auto.explanation import Line
from keyhole.blocks.auto.state import LONGEST_MEMORY, ONLY, Batch, Settings, State
from keyhole.blocks.auto.worth import joint_fit
from keyhole.blocks.fit.forward import select
from keyhole.blocks.sums.running import centre
from keyhole.problem import Floats, Indices

Name = Callable[[int], str]
Cost = Callable[[Sequence[int]], float]  # of features together; None where there are no prices


def bought_lines(
    s: Settings,
    state: State,
    lead: int,
    batch: Batch,
    weights: Floats,
    name: Name,
    cost: Cost | None = None,
) -> tuple[Line, ...]:
    """Every feature that a batch buys: why, at what price, and what the leading memory thinks."""
    found = select(state.kept, lead, s.pool, float(s.thresholds[lead]))
    whole = max(float(state.kept.yy[lead] / state.kept.n[lead, -1]), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.nan_to_num(found.r**2 / found.D, posinf=0.0)
        gain[found.chosen] = found.gains
        spread = np.nan_to_num(found.noise / found.counts, posinf=whole)
    error = np.where(gain > 0.0, 2.0 * np.sqrt(gain * spread), spread)
    lines = []
    for a, j in enumerate(batch.S.tolist()):
        why = ("kept", "safety net", "explored")[batch.why[a]]
        share, doubt = float(gain[j]) / whole, float(error[j]) / whole
        reads = int(state.values.reads[j])
        price = None if cost is None else cost([j])
        lines.append(Line(name(j), why, float(weights[j]), share, doubt, reads, price))
    return tuple(lines)


class Valued(NamedTuple):
    """The features that are found significant, what each is worth, and what fewer would do."""

    chosen: Indices
    kept: tuple[Worth, ...]
    fewer: tuple[Fewer, ...]


def valued(s: Settings, state: State, lead: int, name: Name, cost: Cost | None = None) -> Valued:
    """By the sums of the leading memory, or of the longest while that one has none."""
    source = lead if state.kept.n[lead, -1] > 0.0 else LONGEST_MEMORY
    chosen = select(state.kept, source, s.pool, float(s.thresholds[source])).chosen
    if not len(chosen):
        return Valued(chosen, (), ())
    reach = float(np.abs(state.mixture.span - centre(state.label, ONLY)).max())
    fit = joint_fit(state.kept, source, chosen, state.peaks, reach)
    names = [name(j) for j in chosen.tolist()]
    if cost is None:
        return Valued(chosen, *worths(fit, names))
    return Valued(chosen, *worths(fit, names, lambda some: cost(chosen[list(some)].tolist())))
