"""What AutoLearner explores: all features are looked at, or a part where there are too many."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.auto.selecting import mark
from keyhole.blocks.auto.state import (
    EXPLORED,
    LONGEST_MEMORY,
    ONLY,
    UNREAD,
    Settings,
    State,
)
from keyhole.blocks.draw.keyed import words
from keyhole.blocks.draw.sorting import largest
from keyhole.blocks.fit.forward import Selection
from keyhole.blocks.fit.optimism import PURPOSE, sampled_gain, sampled_gains
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.sums.memories import COUNT, LEVEL, PRODUCT, SQUARE
from keyhole.problem import Floats

SUBSET = PURPOSE + 2  # the purpose of draws of features to look at
_STEPS = 1048576.0  # 2^20, to which logarithms of likelihoods are rounded
_LEAST = -1e300  # of a feature that may be explored, but no value of it ever arrived
_HALF, _TAKEN = np.uint64(32), -2  # _TAKEN marks what was drawn already


@inner
def explore(s: Settings, state: State, number: int, lead: int) -> None:
    """Mark what is explored, until `width` features are read."""
    if s.seats < s.d:
        _explore_some(s, state, number, lead)
    else:
        _explore_all(s, state, number, lead)
    space, j = state.space, 0
    while space.many[0] < s.width:  # too few candidates: only after a file that says odd things
        mark(space, j, EXPLORED)
        j += 1


@inner
def _explore_all(s: Settings, state: State, number: int, lead: int) -> None:
    # All have a seat: those that promise most, half to the longest memory, half to the leader.
    space, free = state.space, s.width - state.space.many[0]
    for half in range(2):
        m = LONGEST_MEMORY if half == 0 else lead
        many = free // 2 if half == 0 else free - free // 2
        if many == 0:
            continue
        score = space.score[: s.d]
        judge_all(s, state, 2 * number + half, m, s.optimism, score)
        for j in range(s.d):
            if space.why[j] != UNREAD:
                score[j] = -1.0
        out = np.empty(min(many, s.d), dtype=np.int64)
        largest(score, out)
        for j in out:
            mark(space, j, EXPLORED)


@inner
def _explore_some(s: Settings, state: State, number: int, lead: int) -> None:
    # What was never read, then the likeliest to add something of those that are looked at. While a
    # memory that forgets leads, things change: half is then what it expects to gain most from.
    space = state.space
    _look_for_unread(s, state, s.width - space.many[0])
    count, free = draw_candidates(s, state, number), s.width - space.many[0]
    score = space.score[:count]
    by_evidence = free if lead == LONGEST_MEMORY else free // 2
    if by_evidence > 0:
        _weigh_candidates(state, score)
        _mark_best(state, score, by_evidence)
    if free > by_evidence:
        judge_candidates(s, state, 2 * number + 1, lead, s.optimism, score)
        _mark_best(state, score, free - by_evidence)


@inner
def _mark_best(state: State, score: Floats, many: int) -> None:
    # Of the candidates, those with the best scores that are not read yet.
    space = state.space
    for i in range(len(score)):
        if space.why[space.candidates[i]] != UNREAD:
            score[i] = -np.inf
    out = np.empty(min(many, len(score)), dtype=np.int64)
    largest(score, out)
    for best in out:
        mark(space, space.candidates[best], EXPLORED)


@inner
def judge_all(s: Settings, state: State, key: int, m: int, optimism: float, score: Floats) -> None:
    """What each feature promises to memory m, where all have a seat."""
    space = state.space
    counts = state.kept.n[m, : s.d] * state.kept.scale[m]
    found = Selection(
        space.chosen[m], space.gains[m], space.r[m], space.D[m], space.noise[m], counts
    )
    sampled_gains(s.seed, key, found, state.values.reads, optimism, score)
    for j in range(s.d):
        if not score[j] >= 0.0:
            score[j] = 0.0  # sums that are no sums, from a file


@inner
def unread_at(s: Settings, state: State, i: int) -> int:
    """The feature that comes up i places from here, in a fixed order; -1 if it has values."""
    j = (s.first + (state.walk[ONLY] + i) % s.d * s.stride) % s.d
    return int(j) if state.values.reads[j] == 0.0 else -1


@inner
def _look_for_unread(s: Settings, state: State, most: int) -> None:
    # Mark up to `most` features of which no value ever arrived, of the next `width` that come up.
    # One of which none arrives then is not asked for again before all others came up.
    found = i = 0
    while i < s.width and found < most:
        j = unread_at(s, state, i)
        if j >= 0 and mark(state.space, j, EXPLORED):
            found += 1
        i += 1
    state.walk[ONLY] = (state.walk[ONLY] + i) % s.d


@inner
def draw_candidates(s: Settings, state: State, number: int) -> int:
    """List what is looked at: `drawn` features without a seat at random, then those with one."""
    space, kept, count, d = state.space, state.kept, 0, np.uint64(s.d)
    for block in range((s.drawn + 3) // 4):
        four = words(s.seed, number, SUBSET, block)
        for i in range(min(4, s.drawn - 4 * block)):
            j = np.int64((four[i] * d) >> _HALF)
            if kept.seat[j] < 0 and space.why[j] == UNREAD:
                space.candidates[count] = j
                space.why[j] = _TAKEN
                count += 1
    for i in range(count):
        space.why[space.candidates[i]] = UNREAD
    for a in range(s.seats):
        if kept.who[a] >= 0:
            space.candidates[count] = kept.who[a]
            count += 1
    return count


@inner
def _sums(state: State, m: int, count: int) -> Floats:
    # r, D and reads of each candidate in memory m: given what was chosen if it has a seat, given
    # the constant alone if it rests. One call for all: a state is long, and handing it on costs.
    kept, candidates, sums = state.kept, state.space.candidates, np.zeros((count, 3))
    seat, rest, n, scale = kept.seat, kept.rest[m], kept.n[m], kept.scale[m]
    r, D, total = state.space.r[m], state.space.D[m], n[-1]
    level = kept.c[m, -1] / total if total > 0.0 else 0.0
    for i in range(count):
        j = candidates[i]
        a = seat[j]
        if a >= 0:
            sums[i, 0], sums[i, 1], sums[i, 2] = r[a], D[a], n[a] * scale
            continue
        square, reads = rest[j, SQUARE], rest[j, COUNT]
        sums[i, 2] = reads * scale
        if square > 0.0 and reads > 0.0 and total > 0.0:
            size, along = math.sqrt(square), rest[j, LEVEL]
            sums[i, 0] = (rest[j, PRODUCT] - along * level) / size / math.sqrt(reads)
            sums[i, 1] = 1.0 - along / size * (along / size) / total
    return sums


@inner
def judge_candidates(
    s: Settings, state: State, key: int, m: int, optimism: float, score: Floats
) -> None:
    """What each candidate promises to memory m; 0 if no value of it ever arrived."""
    seed, noise, reads = s.seed, state.space.noise[m], state.values.reads
    candidates, sums = state.space.candidates, _sums(state, m, len(score))
    for i in range(len(score)):
        j, score[i] = candidates[i], 0.0
        if reads[j] > 0.0:
            known = sums[i, 0], sums[i, 1], sums[i, 2]
            gain = sampled_gain(seed, key, j, known, noise, optimism)
            if gain >= 0.0:  # not for sums that are no sums, from a file
                score[i] = gain


@inner
def _weigh_candidates(state: State, score: Floats) -> None:
    # How much likelier what was read of a feature is if it adds something than if it does not. By
    # gains, one that had bad luck with its first reads would have to wait until all others were
    # read so often that they seem to gain less than it did.
    for i in range(len(score)):
        j, score[i] = state.space.candidates[i], _LEAST
        if state.values.reads[j] > 0.0:
            # What is alike but for rounding is alike: after few rounds many features are.
            odds = np.floor(_STEPS * _log_odds(state.evidence[j]) + 0.5) / _STEPS
            score[i] = max(odds, _LEAST)


@inner
def _log_odds(evidence: Floats) -> float:
    # Either sign is as likely as the other.
    most, least = max(evidence[0], evidence[1]), min(evidence[0], evidence[1])
    return float(most + math.log(0.5 + 0.5 * math.exp(least - most)))
