"""Drifting streams: simulated ones whose weights change with time, with the whole path beside them.

All are agnostic: a fixed model can follow only the mean of the path. Noise is uniform and
|w_t|_1 <= 1 - sqrt(3) noise_sd, so labels stay in [-1, 1].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyhole.problem import Floats, Indices, ProblemError, real_number, whole_number
from keyhole.streams.designs import Design, bounded, rademacher, signs, uniform
from keyhole.streams.simulate import TRUTH, Simulated, Truth, follow, keyed, random_weights, room


def switching(
    d: int,
    k: int,
    n: int,
    *,
    supports: int = 6,
    mean_length: float = 300.0,
    design: Design = rademacher,
    noise_sd: float = 0.05,
    seed: int = 0,
) -> Simulated:
    """Now these k features matter, now those.

    `supports` disjoint sets of k features with weights as in `realizable` take turns. A segment
    lasts a geometric number of rounds; then one of the other sets follows at random.

    Parameters
    ----------
    d, k, n
        Features, those that matter at a time, rows.
    supports
        How many sets there are; supports * k of the d features are used.
    mean_length
        Mean rounds of a segment.
    design, noise_sd, seed
        What draws the rows, the noise, the seed of everything random.

    Examples
    --------
    >>> stream, truth = switching(d=100, k=4, n=3000)
    >>> len(truth.support), max(len(np.flatnonzero(w)) for _, w in truth.path)
    (24, 4)
    """
    d, k, n = whole_number("d", d, 1), whole_number("k", k, 1), whole_number("n", n, 1)
    supports = whole_number("supports", supports, 2)
    mean = real_number("mean_length", mean_length, 1)
    if supports * k > d:
        raise ProblemError(f"d must be at least supports * k = {supports * k}, got {d}")
    rng = keyed(seed, TRUTH)
    used = rng.permutation(d)[: supports * k]
    weights = np.zeros((supports, d))
    for w, features in zip(weights, used.reshape(supports, k), strict=True):
        w[features] = room(noise_sd) * random_weights(k, rng)

    path, first, now = [], 1, 0
    while first <= n:
        path.append((first, weights[now]))
        first += int(rng.geometric(1.0 / mean))
        now = (now + int(rng.integers(1, supports))) % supports
    return _simulated(path, np.sort(used), n, design, noise_sd, seed)


def drifting(
    d: int,
    n: int,
    *,
    periods: Sequence[float] = (4096.0, 8192.0, 16384.0, 262144.0),
    hold: int = 32,
    design: Design = uniform,
    noise_sd: float = 0.05,
    seed: int = 0,
) -> Simulated:
    """A few weights rotate, each at its own pace.

    Weight i is c/m cos(2 pi t / periods[i] + phase_i) on its own random feature, m = len(periods),
    c = 1 - sqrt(3) noise_sd, phases random.

    Parameters
    ----------
    d, n
        Features, rows.
    periods
        Rounds of a full turn, one for each rotating weight. One much longer than n is as good as
        steady.
    hold
        Rounds between two changes; the path has n / hold entries of length d.
    design, noise_sd, seed
        What draws the rows, the noise, the seed of everything random.

    Examples
    --------
    >>> stream, truth = drifting(d=30, n=64, hold=32)
    >>> [first for first, _ in truth.path], len(truth.support)
    ([1, 33], 4)
    """
    d, n, hold = whole_number("d", d, 1), whole_number("n", n, 1), whole_number("hold", hold, 1)
    turns = np.array([real_number("periods", period, 1.0) for period in periods])
    if not 1 <= len(turns) <= d:
        raise ProblemError(f"periods must have 1 to d = {d} entries, got {len(turns)}")
    rng = keyed(seed, TRUTH)
    used = rng.choice(d, len(turns), replace=False)
    phases = rng.uniform(0.0, 2.0 * np.pi, len(turns))
    firsts = np.arange(1, n + 1, hold)
    weights = np.zeros((len(firsts), d))
    angles = 2.0 * np.pi * firsts[:, None] / turns + phases
    weights[:, used] = room(noise_sd) / len(turns) * np.cos(angles)
    path = list(zip(firsts.tolist(), weights, strict=True))
    return _simulated(path, np.sort(used), n, design, noise_sd, seed)


def sign_flips(
    d: int,
    n: int,
    *,
    steady: int = 2,
    flipping: int = 4,
    weak: float = 0.1,
    strong: float = 0.18,
    period: int = 200,
    design: Design = rademacher,
    noise_sd: float = 0.04,
    seed: int = 0,
) -> Simulated:
    """Weak features to rely on, strong ones that change sides.

    `steady` random features have weight +weak or -weak throughout. `flipping` others have weight
    +strong or -strong, each redrawn by a fair coin every `period` rounds: in the long run the best
    fixed model uses the weak ones.

    Parameters
    ----------
    d, n
        Features, rows.
    steady, flipping
        Features of the two kinds.
    weak, strong
        Sizes of their weights; steady * weak + flipping * strong + sqrt(3) noise_sd is at most 1.
    period
        Rounds between redraws.
    design, noise_sd, seed
        What draws the rows, the noise, the seed of everything random.

    Examples
    --------
    >>> stream, truth = sign_flips(d=30, n=1000)
    >>> [first for first, _ in truth.path]
    [1, 201, 401, 601, 801]
    """
    d, n = whole_number("d", d, 1), whole_number("n", n, 1)
    period = whole_number("period", period, 1)
    steady, flipping = whole_number("steady", steady, 0), whole_number("flipping", flipping, 0)
    weak, strong = real_number("weak", weak, 0.0), real_number("strong", strong, 0.0)
    if not 1 <= steady + flipping <= d:
        raise ProblemError(
            f"steady + flipping must be from 1 to d = {d}, got {steady} + {flipping}: "
            "use fewer of them or more features"
        )
    size = steady * weak + flipping * strong
    _check_size("steady * weak + flipping * strong", size, room(noise_sd))
    rng = keyed(seed, TRUTH)
    used = rng.choice(d, steady + flipping, replace=False)
    firsts = range(1, n + 1, period)
    weights = np.zeros((len(firsts), d))
    weights[:, used[:steady]] = weak * signs(steady, rng)
    weights[:, used[steady:]] = strong * signs((len(firsts), flipping), rng)
    path = list(zip(firsts, weights, strict=True))
    return _simulated(path, np.sort(used), n, design, noise_sd, seed)


def leaders(
    d: int,
    n: int,
    *,
    steady: float = 0.35,
    leader: float = 0.55,
    first_phase: int = 64,
    growth: float = 1.6,
    design: Design = rademacher,
    noise_sd: float = 0.05,
    seed: int = 0,
) -> Simulated:
    """One feature is always good, in every phase another is better; phases grow geometrically.

    Parameters
    ----------
    d, n
        Features (at least 3), rows.
    steady, leader
        Weight of the steady feature, and of the one that leads the phase.
    first_phase, growth
        Rounds of the first phase; each later one is longer by this factor.
    design, noise_sd, seed
        What draws the rows, the noise, the seed of everything random.

    Examples
    --------
    >>> stream, truth = leaders(d=10, n=500, first_phase=100)
    >>> [first for first, _ in truth.path]
    [1, 101, 261]
    """
    d, n = whole_number("d", d, 3), whole_number("n", n, 1)
    steady, leader = real_number("steady", steady, 0.0), real_number("leader", leader, 0.0)
    length = float(whole_number("first_phase", first_phase, 1))
    growth = real_number("growth", growth, 1.0)
    _check_size("steady + leader", steady + leader, room(noise_sd))
    rng = keyed(seed, TRUTH)
    order = rng.permutation(d)  # the steady feature, then the candidates
    path, start, now = [], 1.0, 0
    while int(start) <= n:
        w = np.zeros(d)
        w[order[0]], w[order[1 + now]] = steady, leader
        path.append((int(start), w))
        start, length = start + length, length * growth
        now = (now + int(rng.integers(1, d - 1))) % (d - 1)
    return _simulated(path, np.arange(d), n, design, noise_sd, seed)


def _check_size(name: str, size: float, most: float) -> None:
    if size > most + 1e-12:
        raise ProblemError(
            f"{name} must be at most 1 - sqrt(3) noise_sd = {most:.6g} to keep labels in [-1, 1], "
            f"got {size:.6g}: lower the weights or noise_sd"
        )


def _simulated(
    path: Sequence[tuple[int, Floats]],
    support: Indices,
    n: int,
    design: Design,
    noise_sd: float,
    seed: int,
) -> Simulated:
    firsts = np.array([first for first, _ in path])
    lengths = np.diff(firsts, append=n + 1)
    mean = sum(
        (length * w for length, (_, w) in zip(lengths, path, strict=True)),
        np.zeros_like(path[0][1]),
    )
    truth = Truth(mean / n, support, 0.0, float(noise_sd), tuple(path))
    return follow(truth, n, design=design, noise=bounded, seed=seed)
