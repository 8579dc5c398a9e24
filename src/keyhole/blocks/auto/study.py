"""History: rows whose values are all known, taken in before or between rounds."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.auto.buy import buy
from keyhole.blocks.auto.choose import choose
from keyhole.blocks.auto.evidence import weigh_reads
from keyhole.blocks.auto.layer import Layer
from keyhole.blocks.auto.mistrust import begin_trial
from keyhole.blocks.auto.rounds import learn_rows
from keyhole.blocks.auto.state import LONGEST_MEMORY, ONLY, Batch, Settings, State
from keyhole.blocks.auto.till import Till
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.memories import fold_row
from keyhole.blocks.sums.running import add, centre
from keyhole.problem import Floats

FIRST = 2**40  # batches of history are numbered from here on: their draws are no one else's


@kernel
def study_rows(
    s: Settings,
    state: State,
    last: Layer,
    till: Till,
    batch: Batch,
    X: Floats,
    y: Floats,
    keep: float,
) -> None:
    """Take in complete rows, one after the other; before each, older sums count `keep` times.

    Each row is first played as a round of its own would be: so experts, their mixture and the last
    layer are judged on rows they had not seen, and know by the first round how good they are. Then
    all of its values go into the longest memory. The memories that forget stay as they are: if the
    world has changed since, they find out.

    What experts lose here is charged to no one: history may mislead, and what the mixture promises
    is about rounds. `batch` is room to work in.
    """
    now, label, prediction = np.empty((0, 0)), np.empty(1), np.empty(1)
    for t in range(len(y)):
        losses, judged = state.mixture.losses.copy(), last.judge.losses.copy()
        number = FIRST + state.studied[ONLY]
        if len(till.shop.barred) > 0:
            batch = buy(s, state, last, till, number, till.complete, 1)
        else:
            choose(s, state, last, batch, number)
        values, columns = np.empty((1, len(batch.S))), np.arange(len(batch.S))
        for a in range(len(batch.S)):
            values[0, a] = X[t, batch.S[a]]
        label[0] = y[t]
        learn_rows(s, state, last, batch, values, label, columns, prediction, now)
        state.mixture.losses[:] = losses
        last.judge.losses[:] = judged
        _take_in(s, state, batch, X[t], y[t], keep)


@inner
def _take_in(s: Settings, state: State, batch: Batch, x: Floats, y: float, keep: float) -> None:
    z, seen = np.zeros(s.d + 1), np.zeros(s.d + 1)
    add(state.label, ONLY, y)
    for j in range(s.d):
        if not np.isnan(x[j]):
            add(state.values, j, x[j])
            z[j] = x[j] - centre(state.values, j)
            seen[j] = 1.0
            state.peaks[j] = max(state.peaks[j], abs(z[j]))
    z[s.d], seen[s.d] = 1.0, 1.0
    fold_row(state.kept, LONGEST_MEMORY, keep, z, seen, y - centre(state.label, ONLY))
    if s.seats < s.d:
        row = np.empty((1, s.d))
        for j in range(s.d):
            row[0, j] = z[j] if seen[j] > 0.0 else np.nan
        weigh_reads(s, state, batch, np.arange(s.d), row)
    state.studied[ONLY] += 1
    begin_trial(s, state)
