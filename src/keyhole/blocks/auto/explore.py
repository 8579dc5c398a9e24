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
from keyhole.blocks.fit.forward import NEW, Selection
from keyhole.blocks.fit.optimism import PURPOSE, sampled_gain, sampled_gains
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.sums.memories import COUNT, LEVEL, PRODUCT, SQUARE
from keyhole.problem import Floats

HOPED = 2.0  # over k: the share of the noise that a feature worth finding gains
SUBSET = PURPOSE + 2  # the purpose of draws of features to look at
_STEPS = 1048576.0  # 2^20, to which logarithms of likelihoods are rounded
_HALF, _TAKEN = np.uint64(32), -2  # _TAKEN marks what was drawn already


@inner
def explore(s: Settings, state: State, number: int, lead: int) -> None:
    """Mark what is explored, until `width` features are read."""
    space, count = state.space, s.d
    if s.seats < s.d:
        _look_for_unread(s, state, s.width - space.many[0])
        count = draw_candidates(s, state, number)
    free = s.width - space.many[0]
    for half in range(2):
        m = LONGEST_MEMORY if half == 0 else lead
        many = free // 2 if half == 0 else free - free // 2
        if many == 0:
            continue
        score = space.score[:count]
        if s.seats < s.d and half == 0:
            _weigh_candidates(s, state, score)
        elif s.seats < s.d:
            judge_candidates(s, state, 2 * number + half, m, s.optimism, score)
        else:
            judge_all(s, state, 2 * number + half, m, s.optimism, score)
        for i in range(count):
            if space.why[space.candidates[i] if s.seats < s.d else i] != UNREAD:
                score[i] = -1.0
        out = np.empty(min(many, count), dtype=np.int64)
        largest(score, out)
        for i in range(len(out)):
            mark(space, space.candidates[out[i]] if s.seats < s.d else out[i], EXPLORED)
    j = 0
    while space.many[0] < s.width:  # too few candidates: only after a file that says odd things
        mark(space, j, EXPLORED)
        j += 1


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
    """List what is looked at: features with a seat, and `drawn` others at random; how many."""
    space, kept, count = state.space, state.kept, 0
    for a in range(s.seats):
        if kept.who[a] >= 0:
            space.candidates[count] = kept.who[a]
            count += 1
    seated, d = count, np.uint64(s.d)
    for block in range((s.drawn + 3) // 4):
        four = words(s.seed, number, SUBSET, block)
        for i in range(min(4, s.drawn - 4 * block)):
            j = np.int64((four[i] * d) >> _HALF)
            if kept.seat[j] < 0 and space.why[j] == UNREAD:
                space.candidates[count] = j
                space.why[j] = _TAKEN
                count += 1
    for i in range(seated, count):
        space.why[space.candidates[i]] = UNREAD
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
def _weigh_candidates(s: Settings, state: State, score: Floats) -> None:
    # How much likelier what was read of a feature is if it gains HOPED / k of the noise than if it
    # gains nothing. By gains alone, one that had bad luck with its first reads would have to wait
    # until all others were read so often that they seem to gain less than it did.
    noise, gain, arrived = state.space.noise[LONGEST_MEMORY], HOPED / s.k, state.values.reads
    candidates, sums = state.space.candidates, _sums(state, LONGEST_MEMORY, len(score))
    for i in range(len(score)):
        score[i], r, D, reads = 0.0, sums[i, 0], sums[i, 1], sums[i, 2]
        if D > NEW and reads > 0.0 and noise > 0.0 and arrived[candidates[i]] > 0.0:
            size = math.sqrt(gain) * abs(r) / math.sqrt(noise * D)
            # What is alike but for rounding is alike: after few rounds many features are.
            steps = np.floor(_STEPS * min(reads * (size - 0.5 * gain), 600.0) + 0.5)
            likelier = math.exp(steps / _STEPS)
            score[i] = likelier if likelier >= 0.0 else 0.0
