"""What was corrected is believed: how far values and labels reach without the wrong one."""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.auto.ring import slots
from keyhole.learners.blocks.auto.state import State
from keyhole.learners.blocks.sums.reach import COUNT, DOUBT, ENDS, HIGH, LOW, NEXT_HIGH, NEXT_LOW
from keyhole.problem import Floats

HALF = 0.5  # of a range: a wrong number that made up more is taken out of it


def believe_value(state: State, j: int, before: float, now: float) -> None:
    """A value of feature j was corrected, or said again. The ring has the right one by now."""
    ring, there = state.ring, slots(state.ring)
    read = (ring.features[there] == j) & ~np.isnan(ring.values[there])
    folded = np.count_nonzero(read[ring.folds[there] > 0])
    reconsider(
        state.reach[j], before, now, ring.values[there][read], bool(folded == state.values.reads[j])
    )


def believe_label(state: State, before: float, now: float) -> tuple[Floats, bool]:
    """A label was corrected. Returns those in the ring that stand, and whether they are all."""
    ring, there, reach = state.ring, slots(state.ring), state.reach[-1]
    all_there = bool(np.count_nonzero(ring.folds[there]) == state.label.reads[0])
    reconsider(reach, before, now, ring.labels[there], all_there)
    return within(reach, ring.labels[there]), all_there


def reconsider(reach: Floats, before: float, now: float, values: Floats, all_there: bool) -> None:
    """The right number is within the reach and not taken back, and no doubt is left.

    What the wrong one added to the reach goes, as from a range.
    """
    if reach[COUNT] == 0.0:
        return
    if reach[DOUBT] != 0.0:  # -0 stays: what changes nothing changes no bit
        reach[DOUBT] = 0.0
    if now < reach[LOW]:
        reach[[LOW, NEXT_LOW]] = now
    if now > reach[HIGH]:
        reach[[HIGH, NEXT_HIGH]] = now
    ends = ends_without(reach, before, within(reach, values), all_there)
    if ends is not None:
        reach[:ENDS] = np.clip(reach[:ENDS], *ends)


def within(reach: Floats, values: Floats) -> Floats:
    """Those of the values that were not taken back as wild."""
    found: Floats = values[(reach[LOW] <= values) & (values <= reach[HIGH])]
    return found


def ends_without(
    span: Floats, before: float, kept: Floats, all_there: bool
) -> tuple[float, float] | None:
    """A range without the wrong number, if that made up more than half of it.

    `kept` are the numbers in the ring, which has the right one by now. If they are all, the range
    is theirs; else only the side beyond them where the wrong one was is cut off, and only if that
    explains most of it: older ones may have lain there. None: the range stays, at most widened.
    """
    low, high = float(span[LOW]), float(span[HIGH])
    if not (low <= before <= high and len(kept)):
        return None
    least, most = float(kept.min()), float(kept.max())
    if all_there:
        ends = least, most
    elif before > most:
        ends = low, most if before - most > HALF * (high - most) else high
    else:
        ends = least if least - before > HALF * (least - low) else low, high
    return ends if ends[1] - ends[0] < HALF * (high - low) else None
