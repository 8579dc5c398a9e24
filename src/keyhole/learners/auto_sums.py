"""What AutoLearner takes over from the sums of a history, without its rows."""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.auto.mixture import Mixture
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, State
from keyhole.learners.blocks.sums.column_stats import Running, centres
from keyhole.learners.blocks.sums.data_sums import DataSums, Gram
from keyhole.learners.blocks.sums.memories import Known, Memories, admit
from keyhole.learners.blocks.sums.reach import extend
from keyhole.problem import Floats


def add_to_auto(state: State, judge: Mixture | None, history: DataSums) -> None:
    """What AutoLearner takes over: centres and scales, peaks, the longest memory, label ranges.

    Its memories of about 1,024 and 64 rounds stay as they are, as with rows. Experts, their mixture
    and the last layer have been judged by nothing.
    """
    gram, ends = history.gram, history.ends
    _add_running(state.values, gram, None)
    _add_running(state.label, gram, ends)
    a, b = centres(state.values), float(centres(state.label)[0])
    seen = gram.counts > 0
    for end in (history.low, history.high):
        state.peaks[seen] = np.maximum(state.peaks[seen], np.abs(end - a)[seen])
    about = gram.about(a, b).arrays()
    y, yy, _ = about["scalars"].tolist()
    n = float(gram.n)
    remember_products(
        state.kept,
        LONGEST_MEMORY,
        np.block([[about["xx"], about["x"][:, None]], [about["x"][None, :], np.full((1, 1), n)]]),
        np.append(about["xy"], y),
        np.append(gram.counts, n),
        yy,
    )
    low, high = np.append(history.low, ends[0]), np.append(history.high, ends[1])
    extend(state.reach, low, high, np.append(gram.counts, n))
    for mixture in (state.mixture, judge):
        if mixture is not None:
            mixture.span[:] = np.fmin(mixture.span[0], ends[0]), np.fmax(mixture.span[1], ends[1])
    state.studied[0] += gram.n


def remember_products(
    kept: Memories, memory: int, G: Floats, c: Floats, n: Floats, yy: float
) -> None:
    """Add products of centred rows, the constant in the last place, to one of the memories.

    G = sum z z', c = sum z v, n the number of rows in which each has a value, yy = sum v^2. Seats
    that are empty are given to the features most strongly related to the label.
    """
    _fill_seats(kept, G, c)
    more, there = 1.0 / kept.scale[memory], np.flatnonzero(kept.who >= 0)
    seats, features = np.append(there, len(kept.who)), np.append(kept.who[there], len(kept.seat))
    kept.G[memory][np.ix_(seats, seats)] += G[np.ix_(features, features)] * more
    kept.c[memory, seats] += c[features] * more
    kept.n[memory, seats] += n[features] * more
    kept.yy[memory] += yy * more
    if kept.rest.shape[1]:
        away = np.flatnonzero(kept.seat < 0)
        sums = np.stack([np.diag(G), G[-1], c, n], axis=-1)  # as `Memories.rest` has them
        kept.rest[memory, away] += sums[away] * more


def _fill_seats(kept: Memories, G: Floats, c: Floats) -> None:
    empty = int((kept.who < 0).sum())
    if not empty:
        return
    square = np.diag(G)[:-1]
    strength = np.where(kept.seat < 0, c[:-1] ** 2 / np.maximum(square, 1e-300), -1.0)
    strongest = np.sort(np.argsort(-strength, kind="stable")[:empty])
    nothing = Known(np.zeros((len(kept.tau), len(kept.who))), np.zeros(len(kept.who)))
    admit(kept, strongest, nothing)


def _add_running(seen: Running, gram: Gram, ends: tuple[float, float] | None) -> None:
    """Add the features, or with the ends of its range the label, to sums about a reference."""
    arrays = gram.arrays()
    y, yy, b = arrays["scalars"].tolist()
    if ends is None:
        count, origin, total = gram.counts, arrays["origin"], arrays["x"]
        square = np.diag(arrays["xx"])
    else:
        count, origin = np.array([float(gram.n)]), np.array([b])
        total, square = np.array([y]), np.array([yy])
    new = seen.reads == 0.0
    seen.reference[new] = (origin + total / np.maximum(count, 1.0))[new]
    shift = origin - seen.reference
    seen.reads[:] += count
    seen.total[:] += total + count * shift
    seen.square[:] += np.maximum(square + 2.0 * shift * total + count * shift**2, 0.0)
