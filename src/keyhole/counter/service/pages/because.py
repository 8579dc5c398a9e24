"""Why a prediction is what it is: what each value adds, against what is usual."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.counter.service.pages.trace import Trace
from keyhole.counter.service.pages.words import decimals_for, fixed, number, shown
from keyhole.counter.store.records import StoredTicket
from keyhole.problem.display import counted
from keyhole.problem.sparse_model import SparseModel


@dataclass(frozen=True, slots=True)
class Part:
    """What one value adds to the prediction, beyond a usual value."""

    name: str
    unit: str
    value: float
    usual: float
    effect: float
    bar: float  # its size, as a share of the largest


@dataclass(frozen=True, slots=True)
class Because:
    """A prediction taken apart: usual + the effects + the rest."""

    sentence: str
    usual: float
    parts: tuple[Part, ...]
    rest: float
    decimals: int | None = None


def because(ticket: StoredTicket, model: SparseModel | None, trace: Trace) -> Because | None:
    """Take the prediction of a filled ticket apart, by the model as it is now.

    The model says what a value adds; the log says what is usual. What the learner adds beyond its
    model, from other values and earlier labels, is the rest.
    """
    if ticket.values is None or ticket.prediction is None:
        return None
    if model is None or not len(model.weights):
        learnt = (
            f"after {counted(trace.labels, 'label')}" if trace.labels else "before the first label"
        )
        return Because(
            f"The learner relies on no value yet, {learnt}: it goes by the labels it was told.",
            ticket.prediction,
            (),
            0.0,
        )
    came = dict(zip(ticket.ticket.features.tolist(), ticket.values, strict=True))
    usual, found = model.intercept, []
    for j, name, weight in zip(
        model.features.tolist(), model.names, model.weights.tolist(), strict=True
    ):
        known = trace.features.get(j)
        mean = known.mean if known is not None else 0.0
        usual += weight * mean
        value = came.get(j, math.nan)
        if not math.isnan(value):
            found.append((name, value, mean, weight * (value - mean)))
    found.sort(key=lambda part: -abs(part[3]))
    largest = max((abs(part[3]) for part in found), default=0.0) or 1.0
    units = ticket.units
    parts = tuple(Part(p[0], str(units.get(p[0], "")), *p[1:], abs(p[3]) / largest) for p in found)
    rest = ticket.prediction - usual - sum(part.effect for part in parts)
    decimals = decimals_for(max(abs(ticket.prediction), abs(usual)))
    words = _sentence(ticket.prediction - usual, usual, parts, rest, decimals)
    return Because(words, usual, parts, rest, decimals)


def _sentence(
    off: float, usual: float, parts: tuple[Part, ...], rest: float, decimals: int | None
) -> str:
    """What moved the prediction most, and what pulled the other way."""
    moved = [
        (part.effect, f"{shown(part.name)} {number(part.value)}, usually {number(part.usual)}")
        for part in parts
    ]
    moved.append((rest, "other values and labels told before"))
    moved.sort(key=lambda one: -abs(one[0]))
    largest = abs(moved[0][0])
    along = [one for one in moved if one[0] * off > 0 and abs(one[0]) > 0.1 * largest][:2]
    against = [one for one in moved if one[0] * off < 0 and abs(one[0]) > 0.3 * largest][:1]
    size = fixed(abs(off), decimals)
    if not along or not float(size.replace(",", "") if decimals is not None else 1.0):
        return f"As usual: {fixed(usual, decimals)}."
    where = "above" if off > 0 else "below"
    text = f"{size} {where} the usual {fixed(usual, decimals)}, because of "
    text += " and ".join(f"{words} ({fixed(by, decimals, sign=True)})" for by, words in along) + "."
    for by, words in against:
        text += f" The other way: {words} ({fixed(by, decimals, sign=True)})."
    return text
