"""Correcting a row that was told wrong: as if it had been right from the start, in all sums.

Moments are taken around centres, and the centres of a batch are those of all values before its end.
So a wrong value is also in the centres of all batches since. The rows since are in the ring: going
back through it, centres are what the running sums were without them; going forward again, with
the right value, they are what they should have been. What each row added to a sum with the old
centres and adds with the new ones differs only where something changed; that difference is added,
with the weight that the row has by now. All else stays as it is, to the bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.auto.ring import FOLDED, GONE, SEALED, Ring, slots
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, State
from keyhole.learners.blocks.sums.column_stats import Running
from keyhole.learners.blocks.sums.memories import COUNT, LEVEL, PRODUCT, SQUARE, Memories
from keyhole.problem import Floats, Indices, StateError

AT_PEAK = 1.0 - 1e-9  # a value so close to the peak is what raised it

Sums = tuple[float, float, float, float]  # of a `Running`: reference, reads, total, square
NOTHING: Sums = (0.0, 0.0, 0.0, 0.0)


class Rows(NamedTuple):
    """Rows of the ring that are in the sums, in the order they entered them.

    `fold` is the number of the batch each is of, counted from 0; `age` how many rows entered the
    sums after that batch; `when` how many were there once it was. From the row `first` on they are
    those that a correction can change.
    """

    slots: Indices
    features: NDArray[np.int32]
    values: Floats
    labels: Floats
    fold: Indices
    when: Indices
    age: Floats
    first: int


def rows_of(ring: Ring, slot: int) -> Rows:
    """What is known of the row in this slot and of all since; if nothing was sealed, of all."""
    oldest = ring.folds[slot] if ring.next[SEALED] else ring.next[GONE] + 1
    there = slots(ring)
    there = there[ring.folds[there] >= oldest]
    there = there[np.argsort(ring.folds[there], kind="stable")]
    when = ring.folds[there]
    return Rows(
        there,
        ring.features[there],
        ring.values[there],
        ring.labels[there],
        np.unique(when, return_inverse=True)[1],
        when,
        (ring.next[FOLDED] - when).astype(np.float64),
        int(np.searchsorted(when, ring.folds[slot])),
    )


def sums_before(seen: Running, j: int, values: Floats) -> Sums:
    """The sums before these values entered them; exactly none if nothing else arrived."""
    there, reads = values[~np.isnan(values)], float(seen.reads[j])
    if len(there) == reads:
        return NOTHING
    shift = there - seen.reference[j]
    total = float(seen.total[j]) - math.fsum(shift)
    square = max(float(seen.square[j]) - math.fsum(shift * shift), 0.0)
    return float(seen.reference[j]), reads - len(there), total, square


def walk(before: Sums, values: Floats, ends: Indices) -> tuple[Floats, Sums]:
    """The centres after so many of the values (`ends`), and the sums after all: as `kh_centre`."""
    reference, reads, total, square = before
    there = ~np.isnan(values)
    if reads == 0.0:
        reference = float(values[there][0]) if there.any() else 0.0
    shift = np.where(there, values - reference, 0.0)
    n = np.cumsum(np.append(reads, there))
    totals, squares = np.cumsum(np.append(total, shift)), np.cumsum(np.append(square, shift**2))
    after = reference, float(n[-1]), float(totals[-1]), float(squares[-1])
    n, totals, squares = n[ends], totals[ends], squares[ends]
    level = totals / np.maximum(n, 1.0)
    spread = np.maximum(squares - n * level * level, 0.0) / np.maximum(n - 1.0, 1.0)
    spread[n < 2.0] = 0.0
    mean = reference + level
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kept = np.maximum(1.0 - 2.0 * spread / n / mean / mean, 0.0)
    return np.where(mean == 0.0, 0.0, mean * kept), after


class Column(NamedTuple):
    """A feature in the rows: where it was read, its centred values as they were and as they are.

    0 where none arrived; `before` and `now` are the values themselves, `after` the sums with those.
    """

    row: Indices
    cell: Indices
    before: Floats
    now: Floats
    z_before: Floats
    z_now: Floats
    after: Sums


def column(
    rows: Rows,
    seen: Running,
    j: int,
    row: Indices,
    cells: Indices,
    old: Floats,
    new: Floats,
    changed: bool,
) -> Column:
    """A feature, or the label, in these cells of the rows; how it was, and how it is by now."""
    fold = rows.fold[row]
    ends = np.searchsorted(fold, np.arange(rows.fold[-1] + 1), side="right")
    before = sums_before(seen, j, old)
    centres, after = walk(before, old, ends)
    z_old = z_new = np.nan_to_num(old - centres[fold])
    if changed:
        centres, after = walk(before, new, ends)
        z_new = np.nan_to_num(new - centres[fold])
    return Column(row, cells, old, new, z_old, z_new, after)


class Additions:
    """What is to be added to sums, in place; nothing is, unless all of it is finite."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Floats, tuple[Indices, ...], Floats]] = []

    def add(self, sums: Floats, *where: Indices | int, more: Floats | float) -> None:
        """Add numbers to these places, one of which may come several times."""
        numbers = np.atleast_1d(np.asarray(more, dtype=np.float64))
        self._waiting.append((sums, tuple(map(np.atleast_1d, where)), numbers))

    def make(self) -> None:
        """Make all of them."""
        if not all(np.isfinite(numbers).all() for _, _, numbers in self._waiting):
            raise StateError(
                "the row cannot be taken out of the sums again: squares of its values overflow "
                "them; make a new learner, and tell it everything right"
            )
        for sums, where, numbers in self._waiting:
            np.add.at(sums, where, numbers)


def correct_sums(state: State, slot: int, values: Floats, label: float) -> None:
    """Have the row in this slot of the ring, which is in the sums, with these values and label."""
    ring, rows = state.ring, rows_of(state.ring, slot)
    here = int(np.flatnonzero(rows.slots == slot)[0])
    right, labels = rows.values.copy(), rows.labels.copy()
    right[here], labels[here] = values, label
    old, new = rows.values[here], right[here]
    differs = (old != new) & ~(np.isnan(old) & np.isnan(new))
    changed = rows.features[here][differs].tolist()
    every = np.arange(len(rows.labels))
    relabelled = bool(labels[here] != rows.labels[here])
    y = column(rows, state.label, 0, every, every, rows.labels, labels, relabelled)
    columns = _columns(rows, state.values, right, changed)
    z_before, z_now = np.zeros(right.shape), np.zeros(right.shape)
    for one in columns.values():
        z_before.ravel()[one.cell], z_now.ravel()[one.cell] = one.z_before, one.z_now
    found = Additions()
    _add_labels(found, state.kept, rows, y, z_before, z_now)
    for j in changed:
        _add_feature(found, state, rows, columns, j, z_before, z_now, changed)
    found.make()
    if relabelled:
        put(state.label, 0, y.after)
    np.maximum(state.kept.yy, 0.0, out=state.kept.yy)
    for j in changed:
        put(state.values, j, columns[j].after)
        tidy_sums(state.kept, j, nothing=columns[j].after[1] == 0.0)
        state.peaks[j] = peak(state, rows, columns[j], j)
    ring.values[slot], ring.labels[slot] = values, label


def _columns(rows: Rows, seen: Running, right: Floats, changed: list[int]) -> dict[int, Column]:
    """The features that were read since the row to correct was."""
    flat = rows.features.ravel()
    order = np.argsort(flat, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(flat[order])) + 1)
    wide, old, new = right.shape[1], rows.values.ravel(), right.ravel()
    return {
        j: column(rows, seen, j, cells // wide, cells, old[cells], new[cells], j in changed)
        for cells in parts
        if (j := int(flat[cells[0]])) >= 0 and cells[-1] >= rows.first * wide
    }


def put(seen: Running, j: int, sums: Sums) -> None:
    """Have these sums of quantity j; all 0 if nothing arrived."""
    sums = sums if sums[1] > 0.0 else NOTHING
    seen.reference[j], seen.reads[j], seen.total[j], seen.square[j] = sums


def _weights(kept: Memories, m: int, rows: Rows) -> Floats:
    """What each row counts in memory m by now, in the units of its sums."""
    weights: Floats = np.exp(-rows.age / kept.tau[m]) / kept.scale[m]
    return weights


def _add_labels(
    found: Additions, kept: Memories, rows: Rows, y: Column, z_before: Floats, z_now: Floats
) -> None:
    """Products with the label, of all features and of the constant, and its squares."""
    change = z_now * y.z_now[:, None] - z_before * y.z_before[:, None]
    row, place = np.nonzero(change)
    j, change = rows.features[row, place].astype(np.int64), change[row, place]
    seat = kept.seat[j]
    sits = seat >= 0
    for m in range(len(kept.tau)):
        weights = _weights(kept, m, rows)
        found.add(kept.yy, m, more=math.fsum(weights * (y.z_now**2 - y.z_before**2)))
        found.add(kept.c, m, len(kept.who), more=math.fsum(weights * (y.z_now - y.z_before)))
        found.add(kept.c, m, seat[sits], more=(weights[row] * change)[sits])
        found.add(kept.rest, m, j[~sits], PRODUCT, more=(weights[row] * change)[~sits])


def _add_feature(
    found: Additions,
    state: State,
    rows: Rows,
    columns: dict[int, Column],
    j: int,
    z_before: Floats,
    z_now: Floats,
    changed: list[int],
) -> None:
    """All of a feature but its products with the label. Pairs of corrected features come once."""
    kept, one = state.kept, columns[j]
    seat, last = int(kept.seat[j]), len(kept.who)
    there = (~np.isnan(one.now)).astype(float) - (~np.isnan(one.before)).astype(float)
    level, square = one.z_now - one.z_before, one.z_now**2 - one.z_before**2
    pairs = one.z_now[:, None] * z_now[one.row] - one.z_before[:, None] * z_before[one.row]
    others = rows.features[one.row]
    known = (others != j) & ~np.isin(others, changed[: changed.index(j)])
    known &= rows.when[one.row][:, None] > np.maximum(taken(state, j), taken(state, others))
    row, place = np.nonzero(known & (pairs != 0.0))
    partner, pairs = kept.seat[others[row, place]], pairs[row, place]
    for m in range(len(kept.tau)):
        weights = _weights(kept, m, rows)[one.row]
        sums = math.fsum(weights * square), math.fsum(weights * level), math.fsum(weights * there)
        if seat < 0:
            for place_of, more in zip((SQUARE, LEVEL, COUNT), sums, strict=True):
                found.add(kept.rest, m, j, place_of, more=more)
            continue
        found.add(kept.G, m, seat, seat, more=sums[0])
        found.add(kept.G, m, seat, last, more=sums[1])
        found.add(kept.G, m, last, seat, more=sums[1])
        found.add(kept.n, m, seat, more=sums[2])
        found.add(kept.G, m, seat, partner, more=weights[row] * pairs)
        found.add(kept.G, m, partner, seat, more=weights[row] * pairs)


def taken(state: State, j: int | NDArray[np.int32]) -> NDArray[np.float64]:
    """After how many rows in the sums features took their seats; never, where they have none."""
    seat = state.kept.seat[j]
    if not len(state.ring.since):
        return np.zeros(np.shape(seat))
    since: Floats = np.where(seat >= 0, state.ring.since[seat], np.inf)
    return since


def tidy_sums(kept: Memories, j: int, *, nothing: bool) -> None:
    """Squares and counts of a feature not below 0 by rounding; all of it 0 if nothing arrived."""
    seat = int(kept.seat[j])
    if seat < 0:
        sums = kept.rest[:, j]
        sums[:, [SQUARE, COUNT]] = np.maximum(sums[:, [SQUARE, COUNT]], 0.0)
        if nothing:
            sums[:] = 0.0
        return
    kept.G[:, seat, seat] = np.maximum(kept.G[:, seat, seat], 0.0)
    kept.n[:, seat] = np.maximum(kept.n[:, seat], 0.0)
    if nothing:
        kept.G[:, seat, :] = kept.G[:, :, seat] = kept.c[:, [seat]] = kept.n[:, [seat]] = 0.0


def peak(state: State, rows: Rows, one: Column, j: int) -> float:
    """The largest centred value of a feature, as well as it is known without the wrong one.

    Exactly, if all that arrived is in the ring, or if the wrong value was not the largest. Else it
    is that of the ring, and at least the root mean square of all.
    """
    reads, since = one.after[1], one.row >= rows.first
    before = float(np.abs(one.z_before[since]).max(initial=0.0))
    now = float(np.abs(one.z_now).max(initial=0.0))
    if np.count_nonzero(~np.isnan(one.now)) == reads:
        return now
    if before < AT_PEAK * state.peaks[j]:
        return max(float(state.peaks[j]), float(np.abs(one.z_now[since]).max(initial=0.0)))
    seat, m = int(state.kept.seat[j]), LONGEST_MEMORY
    if seat >= 0:
        square, count = state.kept.G[m, seat, seat], state.kept.n[m, seat]
    else:
        square, count = state.kept.rest[m, j, SQUARE], state.kept.rest[m, j, COUNT]
    return max(now, math.sqrt(square / count) if count > 0.0 else 0.0)
