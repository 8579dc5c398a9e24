"""Bayesians with more hypotheses than can be listed: the other seven streams."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmarks.limit.cloud import follow
from benchmarks.limit.played import Played
from benchmarks.limit.state import (
    COIN,
    FIXED,
    PHASE,
    SIGNS,
    SIMPLEX,
    SMOOTH,
    Found,
    Rows,
    Slots,
    rows_of,
)
from benchmarks.limit.unread import independent, neighbours
from keyhole.problem import Floats, Indices
from keyhole.streams.designs import toeplitz
from keyhole.streams.simulate import CHUNK, DESIGN, EXAMPLES, Truth, keyed, room

PARTICLES, FEWER, SWEEPS = 256, 128, 3  # fewer where a move costs most
THIRD = 1.0 / 3.0  # variance of a feature uniform on [-1, 1]
Limits = tuple[Found, Floats, Floats]


def slots_of(
    kind: int, base: Floats, *, group: Indices | None = None, block: Indices | None = None,
    born: Indices | None = None, turn: Floats | None = None, crowded: bool = False,
) -> Slots:  # fmt: skip
    """Weights that count from the first round on, all in one block, each with one sign."""
    none = np.zeros(base.shape, dtype=np.int64)
    first = np.zeros(len(base), dtype=np.int64)
    return Slots(
        kind,
        none if group is None else group,
        first if block is None else block,
        first if born is None else born,
        base,
        np.zeros(base.shape) if turn is None else turn,
        crowded,
    )


def simplex(k: int, size: float = 1.0) -> Slots:
    """k weights as `random_weights` draws them, times a size."""
    return slots_of(SIMPLEX, np.full((k, 1), size))


def _signs(played: Played, seg: Indices) -> Rows:
    Z, V = independent(played.X, played.bought, 1.0)
    half = math.sqrt(3.0) * played.truth.noise_sd
    return rows_of(played.y, half, Z, V, played.bought, SIGNS, unread=1.0, seg=seg)


def _uniform(played: Played, seg: Indices | None = None) -> Rows:
    Z, V = independent(played.X, played.bought, THIRD)
    half = math.sqrt(3.0) * played.truth.noise_sd
    return rows_of(played.y, half, Z, V, played.bought, SMOOTH, unread=THIRD, seg=seg)


def _limits(played: Played, rows: Rows, slots: Slots, **how: int) -> Limits:
    found = follow(
        rows, slots, **{"particles": PARTICLES, "sweeps": SWEEPS, "seed": played.seed, **how}
    )
    w = played.weights()
    return found, (rows.ask.T * w).sum(axis=1), (played.X * w).sum(axis=1)


def iid300(played: Played) -> Limits:
    """Told nothing but the law."""
    Z, V = neighbours(played.X, played.bought, 0.5)
    half = math.sqrt(3.0) * played.truth.noise_sd
    rows = rows_of(played.y, half, Z, V, played.bought, SMOOTH, unread=THIRD)
    return _limits(played, rows, simplex(len(played.truth.support)))


def needle(played: Played) -> Limits:
    """Told nothing but the law, of which the sizes of the weights are part."""
    Z, V = independent(played.X, played.bought, 1.0)
    rows = rows_of(played.y, math.sqrt(3.0), Z, V, played.bought, COIN, unread=0.0)
    return _limits(played, rows, slots_of(FIXED, _sizes(played)))


def dense(played: Played) -> Limits:
    """Told nothing but the law, of which the sizes of the weights are part."""
    slots = slots_of(FIXED, _sizes(played), crowded=True)
    return _limits(played, _uniform(played), slots, particles=FEWER)


def _sizes(played: Played) -> Floats:
    w = np.abs(played.truth.weights[played.truth.support])
    return np.sort(w)[::-1, None].copy()


def drift(played: Played) -> Limits:
    """Told nothing but the law, of which periods and amplitude are part."""
    periods = np.array([4096.0, 8192.0, 16384.0, 262144.0])  # as `drifting` has them
    firsts = np.array([first for first, _ in played.truth.path])
    turn = 2.0 * np.pi * firsts / periods[:, None]
    base = np.full(turn.shape, room(played.truth.noise_sd) / len(periods))
    rows = _uniform(played, played.stretches())
    return _limits(played, rows, slots_of(PHASE, base, turn=turn))


def flip(played: Played) -> Limits:
    """Told nothing but the law, of which sizes and the rounds of redraws are part."""
    seg, segs = played.stretches(), len(played.truth.path)
    base = np.repeat([[0.1], [0.1], [0.18], [0.18], [0.18], [0.18]], segs, axis=1)
    group = np.where(base > 0.15, np.arange(segs), 0)
    return _limits(played, _signs(played, seg), slots_of(FIXED, base, group=group))


def switch(played: Played) -> Limits:
    """Told the features that ever matter, when their set changes, and which of the six comes."""
    played = among(played, played.truth.support)
    seg, path = played.stretches(), played.truth.path
    sets = [tuple(np.flatnonzero(w)) for _, w in path]
    order = list(dict.fromkeys(sets))
    k = len(order[0])
    block = np.repeat(np.arange(len(order)), k)
    on = block[:, None] == np.array([order.index(s) for s in sets])
    born = np.array([path[sets.index(order[b])][0] - 1 for b in block])
    base = np.full(on.shape, room(played.truth.noise_sd))
    group = np.where(on, 0, -1)
    slots = slots_of(SIMPLEX, base, group=group, block=block, born=born)
    return _limits(played, _signs(played, seg), slots)


def among(played: Played, used: Indices) -> Played:
    """The same game as if there were only some features; -1 is bought in place of the others."""
    number = np.full(played.d, -1)
    number[used] = np.arange(len(used))
    old = played.truth
    path = tuple((first, w[used]) for first, w in old.path)
    truth = Truth(old.weights[used], number[old.support], 0.0, old.noise_sd, path)
    return replace(played, X=played.X[:, used], bought=number[played.bought], truth=truth)


def depn(played: Played) -> Limits:
    """Told, after every label, all features of that round, and the label before it was cut off.

    With z_t that label and r_t = z_t - 0.15 y_{t-1}, r_t - 0.7 r_{t-1} is linear in w but for a
    shock that is uniform, and independent of all before.
    """
    X, y, n = played.X, played.y, played.n
    starts = np.arange(n) % CHUNK == 0  # where the recursions begin anew
    before = np.where(starts, 0.0, np.roll(y, 1))
    whole = uncut(played)
    left = whole - 0.15 * before
    offset = 0.15 * before + np.where(starts, 0.0, 0.7 * np.roll(left, 1))
    lag = np.where(starts[:, None], 0.0, 0.7 * np.roll(X, 1, axis=0))
    mean, gap = neighbours(X, played.bought, 0.5)
    everything = np.tile(np.arange(played.d), (n, 1))
    half = 0.18 * (0.3 + np.abs(X[:, 0]))
    Z = X - lag
    rows = rows_of(whole - offset, half, Z, np.zeros_like(Z), everything, SMOOTH, unread=0.0)
    rows = rows._replace(ask=np.ascontiguousarray((mean - lag).T), gap=np.ascontiguousarray(gap.T))
    found, rule, _ = _limits(played, rows, simplex(len(played.truth.support), 1.25))
    true_mean = cut_mean(offset + Z @ played.truth.weights, half)
    y_hat, rule = cut_mean(offset + found.y_hat, half), cut_mean(offset + rule, half)
    return Found(y_hat, found.expected), rule, true_mean


def uncut(played: Played) -> Floats:
    """The labels of `dependent` before they are cut off: where they were, made again."""
    X, y = played.X, played.y
    whole, rows = y.copy(), toeplitz(0.5)(played.d, keyed(played.seed, DESIGN))
    for start in range(0, played.n, CHUNK):
        rng, size = keyed(played.seed, EXAMPLES, start // CHUNK), min(CHUNK, played.n - start)
        rows(CHUNK, rng)
        u = rng.uniform(-1.0, 1.0, CHUNK)[:size]
        part = slice(start, start + size)
        means = X[part] @ played.truth.weights
        shocks = 0.3 * u * (0.3 + np.abs(X[part, 0]))
        e = last = 0.0
        for t in range(size):
            e = 0.7 * e + shocks[t]
            whole[start + t] = means[t] + 0.15 * last + 0.6 * e
            last = y[start + t]
    assert np.allclose(np.clip(whole, -1.0, 1.0), y)
    return whole


def cut_mean(mean: Floats, half: Floats) -> Floats:
    """Mean of a uniform variable on [mean - half, mean + half] that is cut off at -1 and 1."""

    def over(mean: Floats) -> Floats:
        top = np.clip(mean - 1.0 + half, 0.0, None)
        inside: Floats = np.where(mean - 1.0 >= half, mean - 1.0, top * top / (4.0 * half))
        return inside

    return mean - over(mean) + over(-mean)
