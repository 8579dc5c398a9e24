"""Why a prediction is what it is: what each value adds, against what is usual."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.model import SparseModel
from keyhole.service.pages.trace import Trace
from keyhole.service.pages.words import many, number, shown, signed
from keyhole.store.records import StoredTicket


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


def because(ticket: StoredTicket, model: SparseModel | None, trace: Trace) -> Because | None:
    """Take the prediction of a filled ticket apart, by the model as it is now.

    The model says what a value adds; the log says what is usual. What the learner adds beyond its
    model, from other values and earlier labels, is the rest.
    """
    if ticket.values is None or ticket.prediction is None:
        return None
    if model is None or not len(model.weights):
        learnt = f"after {many(trace.labels, 'label')}" if trace.labels else "before the first label"
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
    return Because(_sentence(ticket.prediction, usual, parts, rest), usual, parts, rest)


def _sentence(prediction: float, usual: float, parts: tuple[Part, ...], rest: float) -> str:
    off = prediction - usual
    scale = max(abs(prediction), abs(usual), 1e-300)
    if abs(off) < 0.005 * scale:
        text = f"About what is usual, {number(usual)}."
    else:
        text = f"{number(abs(off))} {'above' if off > 0 else 'below'} the usual {number(usual)}."
    moved = [part for part in parts if abs(part.effect) > 0.005 * scale][:2]
    if moved:
        said = " and ".join(
            f"{shown(part.name)} {number(part.value)} where {number(part.usual)} is usual "
            f"({signed(part.effect)})"
            for part in moved
        )
        text += f" Mostly because of {said}."
    if abs(rest) > max(0.005 * scale, *(abs(part.effect) for part in parts), 0.0):
        text += f" The rest ({signed(rest)}) comes from other values and from labels told before."
    return text
