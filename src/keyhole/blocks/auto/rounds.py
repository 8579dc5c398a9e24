"""AutoLearner's rounds: predict, learn, and close a batch; and many of them in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.auto.buy import buy
from keyhole.blocks.auto.choose import choose, leader
from keyhole.blocks.auto.evidence import weigh_reads
from keyhole.blocks.auto.experts import ON_BEST
from keyhole.blocks.auto.layer import Layer, correct, foresee
from keyhole.blocks.auto.mistrust import note_labels
from keyhole.blocks.auto.mixture import HIGH, LOW, step_rows
from keyhole.blocks.auto.mixture import learn as charge
from keyhole.blocks.auto.mixture import predict as mix
from keyhole.blocks.auto.selecting import seat, select_all
from keyhole.blocks.auto.state import (
    ONLY,
    Batch,
    Clock,
    Settings,
    State,
    batch_size,
)
from keyhole.blocks.auto.till import Till
from keyhole.blocks.draw.reading import Block, taken
from keyhole.blocks.fit.ensemble import guess, guess_part, learn_part
from keyhole.blocks.fit.market import cost_of
from keyhole.blocks.fit.set_function import sweep
from keyhole.blocks.greedy.experts_kernels import feed
from keyhole.blocks.greedy.minibatch import first_oversized
from keyhole.blocks.greedy.odds import renew
from keyhole.blocks.jit.decorators import inner, kernel, part
from keyhole.blocks.sums.memories import fold, products
from keyhole.blocks.sums.running import add, centre
from keyhole.blocks.sums.seats import all_seated
from keyhole.problem import Floats, Indices

_size = kernel(batch_size)


@part
def _gather(
    X: NDArray[np.floating],
    t: int,
    columns: Indices,
    centre: Floats,
    peak: Floats,
    far: float,
    x: Floats,
) -> None:
    # Centred values; 0 where absent, or where there is no centre yet; cut off far beyond the peak.
    b = len(centre)
    for a in range(b):
        x[a] = taken(np.float64(X[t, columns[a]])) - centre[a]
        if np.isnan(x[a]):
            x[a] = 0.0
        if peak[a] > 0.0:
            x[a] = min(max(x[a], -far * peak[a]), far * peak[a])
    x[b] = 1.0


@kernel
def played_shares(s: Settings, state: State, batch: Batch, shares: Floats) -> None:
    """Proper mode: what each expert's weights count in the model that is played.

    Those of v weights from n rounds are taken n / (n + v) times, about what VAW makes of them in
    the mean; VAW itself looks at x first.
    """
    kept, memory, size = state.kept, s.experts.memory, batch.runs.size
    belief = state.mixture.belief
    for e in range(len(shares)):
        shares[e] = 0.0
        for i in range(len(belief)):  # as belief.sum(axis=0) does, which takes seconds to compile
            shares[e] += belief[i, e]
        m = memory[e]
        if m >= 0 and size[e] > 0:
            n = kept.n[m, -1] * kept.scale[m]
            shares[e] *= n / (n + size[e])


@inner
def _play_properly(s: Settings, state: State, batch: Batch, label: float, along: Floats) -> float:
    # The best k of the leading memory, weighted by all memories: a linear model fixed before x.
    value, shares = label, np.empty(len(along))
    played_shares(s, state, batch, shares)
    for e in range(len(shares)):
        value += shares[e] * along[e]
    return float(min(max(value, state.mixture.span[LOW]), state.mixture.span[HIGH]))


@kernel
def predict_row(
    s: Settings, state: State, last: Layer, batch: Batch, values: Floats, past: Floats
) -> float:
    """The prediction for the values of S, given what the past said then; nothing is learnt."""
    X, columns = values.reshape(1, -1), np.arange(len(values))
    x, guesses = np.empty(len(values) + 1), np.empty(len(state.mixture.losses))
    _gather(X, 0, columns, batch.centre, batch.peak, s.far, x)
    middle = batch.label[ONLY]
    guess(batch.runs, x, guesses)
    if not np.isnan(middle):
        for e in range(len(batch.runs.size)):
            guesses[e] += middle
    prediction = mix(state.mixture, guesses)
    if np.isnan(middle):
        return prediction
    if s.proper:
        prediction = _play_properly(s, state, batch, middle, batch.runs.along)
    return foresee(last, prediction, middle, past) if len(last.b) > 0 else prediction


@inner
def _guess_rows(
    far: float,
    batch: Batch,
    X: NDArray[np.floating],
    y: Floats,
    columns: Indices,
    guesses: Floats,
    along: Floats,
) -> None:
    # All rows through the experts, which learn row by row and do not hang on what is predicted.
    b, runs, values, centre, peak = len(batch.S), batch.runs, batch.values, batch.centre, batch.peak
    x, label = np.empty(b + 1), batch.label[ONLY]
    for t in range(len(y)):
        _gather(X, t, columns, centre, peak, far, x)
        guess_part(runs, x, guesses[t])
        for e in range(len(runs.size)):
            along[t, e] = runs.along[e]
            if not np.isnan(label):
                guesses[t, e] += label
        if np.isnan(label):
            label = batch.label[ONLY] = y[t]
        row = batch.rows[ONLY]
        for a in range(b):
            value = taken(np.float64(X[t, columns[a]]))
            values[row, a] = value
            if np.isnan(centre[a]):
                centre[a] = value
        batch.labels[row] = y[t]
        batch.rows[ONLY] = row + 1
        learn_part(runs, y[t] - label)


@kernel
def learn_rows(
    s: Settings,
    state: State,
    last: Layer,
    batch: Batch,
    X: NDArray[np.floating],
    y: Floats,
    columns: Indices,
    predictions: Floats,
    pasts: Floats,
) -> None:
    """Predict and learn rows one after the other; X holds feature S[a] in column columns[a].

    `pasts` is what the past said when each row was asked; without rows, it is what it says now.
    """
    n, mixture, before = len(y), state.mixture, batch.label[ONLY]
    guesses, along = np.empty((n, len(mixture.losses))), np.empty((n, len(mixture.recent)))
    _guess_rows(s.far, batch, X, y, columns, guesses, along)
    if s.proper:
        for t in range(n):
            predictions[t] = mix(mixture, guesses[t])
            label = batch.label[ONLY] if t > 0 else before
            if not np.isnan(label):
                predictions[t] = _play_properly(s, state, batch, label, along[t])
            charge(mixture, guesses[t], y[t])
    else:
        step_rows(mixture, guesses, y, predictions)
    if len(last.b) > 0:
        correct(last, s.fade, before, pasts, y, predictions)
    note_labels(state.trial, y)


@kernel
def finish(s: Settings, state: State, batch: Batch) -> None:
    """Take a batch into all sums: centres first, then moments around them, then the net."""
    rows, b = batch.rows[ONLY], len(batch.S)
    if rows == 0:
        return
    for t in range(rows):
        add(state.label, ONLY, batch.labels[t])
        for a in range(b):
            add(state.values, batch.S[a], batch.values[t, a])
    values, labels = np.empty((rows, b)), np.empty(rows)
    middle = centre(state.label, ONLY)
    for a in range(b):
        offset = centre(state.values, batch.S[a])
        for t in range(rows):
            values[t, a] = batch.values[t, a] - offset
            if abs(values[t, a]) > state.peaks[batch.S[a]]:  # not if NaN
                state.peaks[batch.S[a]] = abs(values[t, a])
    for t in range(rows):
        labels[t] = batch.labels[t] - middle
    if not all_seated(state.kept, batch.S):  # others came in between, with labels that are late
        select_all(s, state, s.pool)
        seat(state, batch.S)
    G, c, count, yy = products(values, labels, rows)
    fold(state.kept, batch.S, G, c, count, yy, rows)
    if s.seats < s.d:
        weigh_reads(s, state, batch, batch.S, values)
    _note_model(s, state, batch)
    if s.slots > 0:
        _judge(state, batch, G, c, yy, rows)


@inner
def _note_model(s: Settings, state: State, batch: Batch) -> None:
    # The model as people are shown it: the best k of the memory that leads, when the batch ends.
    lead, runs, rows = leader(s.experts.judges, state.mixture.recent), batch.runs, batch.rows[ONLY]
    for e in range(len(runs.size)):
        if s.experts.features[e] == ON_BEST and s.experts.memory[e] == lead:
            for q in range(runs.size[e]):
                if runs.place[e, q] < len(batch.S):  # not the constant
                    state.played[batch.S[runs.place[e, q]]] += rows
            break
    state.played[s.d] += rows


@inner
def _judge(state: State, batch: Batch, G: Floats, c: Floats, yy: float, rows: int) -> None:
    # The gains of Algorithm 2 within the batch, the batch's own means taken out.
    b, k1 = len(batch.S), len(batch.slots)
    for a in range(b):
        c[a] -= G[a, b] * c[b] / rows
        for q in range(a, b):
            G[a, q] -= G[a, b] * G[q, b] / rows
    levels, gains = np.empty(k1), np.empty((k1, b))
    sweep(G[:b, :b], c[:b], max(yy - c[b] * c[b] / rows, 0.0), batch.slots, levels, gains)
    for i in range(k1):
        for a in range(b):
            gains[i, a] = -gains[i, a] / rows
    net = state.net
    feed(batch.S, batch.p, batch.weight, gains, net.L, net.squares, net.largest)
    renew(state.space.odds, net.L, batch.S, batch.weight)


@kernel
def play(
    s: Settings, state: State, last: Layer, till: Till, batch: Batch, clock: Clock, block: Block
) -> tuple[int, Clock, Batch]:
    """Rounds of a block, batch by batch: how many before one too large; the clock; the last batch.

    The current batch is gone on with, and taken into the sums once all its rounds are closed. If
    some of those asked before are still open, the block must not go beyond its end.
    """
    X, y, bought, predictions = block.X, block.y, block.bought, block.predictions
    round, number, size, asked, closed = clock
    t, n = 0, len(y)
    while t < n:
        if asked == size:
            number += 1
            size, asked, closed = _size(s, round), 0, 0
            if len(till.shop.barred) > 0:
                batch = buy(s, state, last, till, number, round, size)
            else:
                choose(s, state, last, batch, number)
        many = min(n - t, size - asked)
        fault = first_oversized(X[t : t + many], y[t : t + many], batch.S)
        played = many if fault < 0 else fault
        stop = t + played
        now = np.empty((0, 0))
        learn_rows(s, state, last, batch, X[t:stop], y[t:stop], batch.S, predictions[t:stop], now)
        for i in range(t, stop):
            for a in range(bought.shape[1]):
                bought[i, a] = batch.S[a] if a < len(batch.S) else -1
        if till.horizon > 0:
            state.purse[ONLY] -= played * cost_of(till.shop, batch.S)
        round, asked, closed, t = round + played, asked + played, closed + played, stop
        if fault >= 0:
            break
        if closed == size:
            finish(s, state, batch)
    return t, Clock(round, number, size, asked, closed), batch
