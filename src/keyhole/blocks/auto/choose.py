"""How AutoLearner fills a batch: what is kept, what the safety net reads, what is explored."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.auto.experts import (
    LEADING,
    ON_BEST,
    ON_EVERYTHING,
    ON_KEPT,
    ON_NET,
    ON_NOTHING,
)
from keyhole.blocks.auto.explore import explore
from keyhole.blocks.auto.layer import Layer, begin
from keyhole.blocks.auto.mistrust import set_aside_if_misled, trusts_history
from keyhole.blocks.auto.selecting import clear, mark, seat, select_all
from keyhole.blocks.auto.state import (
    EXPLORED,
    KEPT,
    LONGEST_MEMORY,
    NET,
    ONLY,
    UNREAD,
    Batch,
    Settings,
    State,
)
from keyhole.blocks.draw.sorting import largest
from keyhole.blocks.fit.ensemble import Start, start
from keyhole.blocks.greedy.experts_kernels import draw_shared, shared_weights
from keyhole.blocks.greedy.odds import chance, draw_by
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.memories import COUNT, SQUARE, Memories
from keyhole.blocks.sums.running import centre, spread
from keyhole.problem import Floats, Indices

LOOK_OUT = 16  # of so many batches one has a net and explores, once history was studied


@inner
def _place(S: Indices, j: int) -> int:
    """Where j stands in S, ascending, or would."""
    low, high = 0, len(S)
    while low < high:
        middle = (low + high) // 2
        if S[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def leader(judges: Indices, recent: Floats) -> int:
    """The memory whose kept features predicted best of late, by the losses of its judge."""
    best = 0
    for m in range(1, len(judges)):
        if recent[judges[m]] < recent[judges[best]]:
            best = m
    return best


@inner
def note_leader(s: Settings, state: State) -> int:
    """The leader, and since when it is."""
    lead = leader(s.experts.judges, state.mixture.recent)
    if lead != state.lead[0]:
        state.lead[0], state.lead[1] = lead, np.int64(state.label.reads[ONLY])
    return lead


@inner
def _keep(s: Settings, state: State, most: int) -> None:
    # By rank; at the same rank the memory that did best of late comes first.
    space, memories = state.space, len(state.kept.tau)
    order = np.empty(memories, dtype=np.int64)
    largest(-state.mixture.recent[s.experts.judges], order)
    select_all(s, state, most)
    clear(space)
    if most > s.pool:  # nothing else needs the room: the leader comes first altogether
        for rank in range(space.picked[order[0]]):
            mark(space, space.chosen[order[0], rank], KEPT)
    for rank in range(most):
        for q in range(memories):
            m = order[q]
            if rank < space.picked[m] and space.many[0] < most:
                mark(space, space.chosen[m, rank], KEPT)


@inner
def _cast_net(s: Settings, state: State, batch: Batch, number: int) -> tuple[Indices, int]:
    # The features the net reads, kept ones among them; and how many different ones it plays.
    net = state.net
    eta = np.empty(s.slots)
    f0 = _filled(s, s.slots)
    spread = 1.0 / (f0 + (1.0 - f0) / s.d)
    for i in range(s.slots):
        seen = spread * net.largest[i] * net.largest[i] + net.squares[i]
        eta[i] = math.sqrt(math.log(s.d) / seen) if seen > 0.0 else 1.0
    draw_by(s.seed, number, net.L, eta, state.space.odds, batch.slots)
    return draw_shared(s.seed, number, s.d, batch.slots, s.net)


@inner
def _filled(s: Settings, played: int) -> float:
    # The chance of a feature that is not played to be read by the net all the same.
    return 1.0 if s.net == s.d else (s.net - played) / (s.d - played)


@inner
def _may_keep(s: Settings, state: State, number: int) -> int:
    # What may be kept at most. Who has studied rows that were known in full knows every feature:
    # net and exploration, which look out for changes, then have one batch of LOOK_OUT.
    if trusts_history(state) and number % LOOK_OUT != 0:
        return s.width
    # With a budget of 1 and something to choose from, every other batch explores.
    return 0 if s.width == 1 and s.d > 1 and number % 2 == 0 else s.pool


@kernel
def choose(s: Settings, state: State, last: Layer, batch: Batch, number: int) -> None:
    """Fill the batch: what is read and why, centres, VAWs at their start."""
    set_aside_if_misled(s, state, last)
    space, lead = state.space, note_leader(s, state)
    most = _may_keep(s, state, number)
    _keep(s, state, most)
    played, net = 0, np.empty(0, dtype=np.int64)
    if s.slots > 0 and most <= s.pool:
        net, played = _cast_net(s, state, batch, number)
        for i in range(len(net)):
            mark(space, net[i], NET)
    explore(s, state, number, lead)
    batch.S[:] = np.sort(space.marked[: s.width])
    seat(state, batch.S)
    _begin(state, batch)
    if len(net) > 0:
        _weigh(s, state, batch, net, played)
    else:
        _leave_net(batch)
    _start_runs(s, state, batch, lead, most, space.square)
    begin(last, spread(state.label, ONLY))


@inner
def fill(s: Settings, state: State, batch: Batch, lead: int, square: Floats) -> None:
    """Begin a batch without a net whose features S are marked in `why`; square: room to work in."""
    _begin(state, batch)
    _leave_net(batch)
    _start_runs(s, state, batch, lead, s.pool, square)


@kernel
def reopen(s: Settings, state: State, batch: Batch, S: Indices) -> None:
    """A batch for a ticket whose own is closed: what it read is learnt, the net is not told."""
    _keep(s, state, s.pool)
    batch.S[:] = S
    space = state.space
    for j in S:
        mark(space, j, EXPLORED)
    _begin(state, batch)
    _leave_net(batch)
    for i in range(space.many[0]):  # only what was read can be used
        j = space.marked[i]
        a = _place(S, j)
        if a == len(S) or S[a] != j:
            space.why[j] = UNREAD
    lead = leader(s.experts.judges, state.mixture.recent)
    _start_runs(s, state, batch, lead, s.pool, state.space.square)


@inner
def _begin(state: State, batch: Batch) -> None:
    for a in range(len(batch.S)):
        j = batch.S[a]
        batch.why[a] = state.space.why[j]
        batch.peak[a] = state.peaks[j]
        batch.centre[a] = centre(state.values, j) if state.values.reads[j] > 0.0 else np.nan
    batch.label[ONLY] = centre(state.label, ONLY) if state.label.reads[ONLY] > 0.0 else np.nan
    batch.rows[ONLY] = 0


@inner
def _weigh(s: Settings, state: State, batch: Batch, net: Indices, played: int) -> None:
    # What a loss counts: kept features are read for certain (1), those of the net as in
    # `SharedReads`, explored ones by a rule with unknown chances (0).
    L, odds = state.net.L, state.space.odds
    p, weight = np.empty((s.slots, len(net))), np.empty((s.slots, len(net)))
    for i in range(s.slots):
        for a in range(len(net)):
            p[i, a] = chance(odds, L, i, net[a])
    place = np.empty(s.slots, dtype=np.int64)
    for i in range(s.slots):
        place[i] = _place(net, batch.slots[i])
    shared_weights(p, place, _filled(s, s.slots), _filled(s, played), weight)
    for a in range(len(batch.S)):
        in_net = _place(net, batch.S[a])
        for i in range(s.slots):
            batch.p[i, a] = chance(odds, L, i, batch.S[a])
            batch.weight[i, a] = 1.0 if batch.why[a] == KEPT else 0.0
            if batch.why[a] == NET:
                batch.weight[i, a] = weight[i, in_net]
    for i in range(s.slots):
        batch.slots[i] = _place(batch.S, batch.slots[i])


@inner
def _leave_net(batch: Batch) -> None:
    # Nothing was drawn for the net, and it is not told of what is read.
    batch.weight[:] = 0.0
    batch.slots[:] = 0


@inner
def _start_runs(
    s: Settings, state: State, batch: Batch, lead: int, pool: int, square: Floats
) -> None:
    kept, runs, space, experts, S = state.kept, batch.runs, state.space, s.experts, batch.S
    typical, b = typical_sizes(kept, S), len(S)  # peaks by place are those of the batch
    features = np.empty(b + 1, dtype=np.int64)
    features[:b] = S
    features[b] = s.d
    for e in range(len(runs.size)):
        on, place, v = experts.features[e], runs.place[e], 0
        m = lead if experts.memory[e] == LEADING else experts.memory[e]
        if on in (ON_KEPT, ON_BEST):
            # In proper mode all memories share the support that is played, that of the leader; and
            # who leads is found with k features each.
            source = lead if m < 0 or (s.proper and on == ON_BEST) else m
            most = s.k if s.proper or on == ON_BEST else pool
            chosen = space.chosen[source, : min(most, space.picked[source])]
            v = _places_of_kept(chosen, space.why, S, place)
        elif on == ON_NET:
            v = _different(batch.slots, place)
        elif on == ON_EVERYTHING:
            for q in range(len(place)):  # all of them: a slice takes seconds to compile
                place[q] = q
            v = b
        if on != ON_NOTHING:  # nothing: the label's centre alone, without the constant
            place[v] = b
            v += 1
        runs.size[e] = v
        sizes = batch.peak if experts.by_peak[e] else typical
        start(runs, e, features, kept, Start(m, sizes, experts.ridge[e]), square)


@inner
def typical_sizes(kept: Memories, S: Indices) -> Floats:
    """The root mean square of each of the features S; 0 where nothing was read."""
    n, G, rest = kept.n[LONGEST_MEMORY], kept.G[LONGEST_MEMORY], kept.rest[LONGEST_MEMORY]
    sizes = np.zeros(len(S))
    for i in range(len(S)):
        a = kept.seat[S[i]]
        if a >= 0:
            square, count = G[a, a], n[a]
        else:
            square, count = rest[S[i], SQUARE], rest[S[i], COUNT]
        if count > 0.0:
            sizes[i] = math.sqrt(square / count)
    return sizes


@inner
def _places_of_kept(chosen: Indices, why: NDArray[np.int8], S: Indices, place: Indices) -> int:
    v = 0
    for j in chosen:
        if why[j] == KEPT:
            place[v] = _place(S, j)
            v += 1
    return v


@inner
def _different(slots: Indices, place: Indices) -> int:
    v = 0
    for played in slots:
        new = True
        for q in range(v):
            new = new and place[q] != played
        if new:
            place[v] = played
            v += 1
    return v
