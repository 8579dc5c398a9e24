"""Bayesians that look at every hypothesis there is: `iid`, `geo`, `nonlin`."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np

from benchmarks.limit.kernels import consider
from benchmarks.limit.played import Played
from benchmarks.limit.state import SIGNS, SMOOTH, Found, Rows, rows_of
from benchmarks.limit.unread import independent, neighbours
from keyhole.problem import Floats, Indices
from keyhole.streams.simulate import TRUTH, keyed, room

GRID = 48  # values of the first of two weights, equally likely
UNREAD_SIGN = 1.0  # variance of a sign


def pairs(d: int, grid: int = GRID) -> tuple[Indices, Floats]:
    """All pairs of features, with two weights of `random_weights`, equally likely."""
    u = (np.arange(400) + 0.5) / 400 + 0.5
    share = np.quantile(u[:, None] / (u[:, None] + u), (np.arange(grid) + 0.5) / grid)
    first, second = np.triu_indices(d, 1)
    place = np.column_stack([first, second]).astype(np.int64)
    sizes = np.column_stack([share, 1.0 - share])
    signs = np.array([(a, b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    c = (signs[:, None, :] * sizes).reshape(-1, 2)
    return np.repeat(place, len(c), axis=0), np.tile(c, (len(place), 1))[:, :, None]


def two_signs(rows: Rows, grid: int = GRID) -> Found:
    """Two features matter, all are signs; rows as `rows_of` makes them."""
    place, c = pairs(len(rows.Z), grid)
    return Found(*consider(rows, 0, len(rows.y), place, c, np.zeros(len(place))))


def iid(played: Played) -> tuple[Found, Floats, Floats]:
    """Told nothing but the law."""
    Z, V = independent(played.X, played.bought, UNREAD_SIGN)
    half = math.sqrt(3.0) * played.truth.noise_sd
    found = two_signs(rows_of(played.y, half, Z, V, played.bought, SIGNS, unread=UNREAD_SIGN))
    w = played.truth.weights
    return found, Z @ w, played.X @ w


def geo(played: Played) -> tuple[Found, Floats, Floats]:
    """Told nothing but the law, of which the rounds at which the leader changes are part."""
    Z, V = independent(played.X, played.bought, UNREAD_SIGN)
    half, path = math.sqrt(3.0) * played.truth.noise_sd, played.truth.path
    rows = rows_of(played.y, half, Z, V, played.bought, SIGNS, unread=UNREAD_SIGN)
    place = np.array(list(permutations(range(played.d), 2)), dtype=np.int64)
    c = np.tile(np.sort(path[0][1])[-2:], (len(place), 1))[:, :, None]
    logw, parts = np.zeros(len(place)), []
    ends = [first - 1 for first, _ in path[1:]] + [played.n]
    for (first, _), end in zip(path, ends, strict=True):
        parts.append(consider(rows, first - 1, end, place, c, logw))
        p = np.exp(logw - logw.max())
        same = place[:, None, 0] == place[:, 0]
        other = place[:, None, 1] != place[:, 1]
        logw = np.log(np.maximum((same & other) @ p, 1e-300))  # any other leader, equally likely
    y_hat, expected = (np.concatenate(part) for part in zip(*parts, strict=True))
    w = played.weights()
    return Found(y_hat, expected), (Z * w).sum(axis=1), (played.X * w).sum(axis=1)


def nonlin(played: Played) -> tuple[Found, Floats, Floats]:
    """Told which three features the curved part is of, and their values before every prediction."""
    X, d, scale = played.X, played.d, room(played.truth.noise_sd)
    a, b, c, e, f = told = keyed(played.seed, TRUTH).choice(d, 5, replace=False)  # as `nonlinear`
    curved = scale * (0.2 * X[:, c] * X[:, e] + 0.1 * (2.0 * np.abs(X[:, f]) - 1.0))
    known = np.column_stack([played.bought, np.tile(told[2:], (played.n, 1))])
    tanh = neighbours(X, known, 0.5, lambda x: scale * 0.4 * np.tanh(3.0 * x))
    sine = neighbours(X, known, 0.5, lambda x: scale * 0.3 * np.sin(0.5 * np.pi * x))
    Z, V = (np.hstack(both) for both in zip(tanh, sine, strict=True))
    half = math.sqrt(3.0) * played.truth.noise_sd
    rows = rows_of(played.y - curved, half, Z, V, played.bought, SMOOTH, unread=1.0 / 3.0)
    free = [j for j in range(d) if j not in told[2:]]
    place = np.array([(i, d + j) for i, j in permutations(free, 2)], dtype=np.int64)
    ones = np.ones((len(place), 2, 1))
    found = Found(*consider(rows, 0, played.n, place, ones, np.zeros(len(place))))
    steep = scale * (0.4 * np.tanh(3.0 * X[:, a]) + 0.3 * np.sin(0.5 * np.pi * X[:, b]))
    rule = curved + Z[:, a] + Z[:, d + b]
    return Found(curved + found.y_hat, found.expected), rule, curved + steep
