"""A Bayesian whose posterior is a cloud of particles: sequential Monte Carlo with tempering."""

from __future__ import annotations

import numpy as np

from benchmarks.limit.kernels import fill, judge, rejuvenate
from benchmarks.limit.prior import begin, seeded
from benchmarks.limit.state import COIN, Cloud, Found, Rows, Slots
from keyhole.problem import Floats

EFFECTIVE = 0.5  # share of particles that a step leaves effective
SELDOM = 0.15  # share of sweeps that try another place even where none was found of late


def new_cloud(particles: int, n: int, slots: Slots) -> Cloud:
    """Particles of which nothing is drawn yet."""
    k, segs = slots.base.shape
    groups = int(slots.group.max()) + 1
    return Cloud(
        np.full((particles, k), -1, dtype=np.int64),
        np.ones((particles, k, groups)),
        np.ones((particles, k)),
        np.zeros((particles, k, segs)),
        np.zeros((particles, n)),
        np.zeros((particles, n)),
        np.zeros((particles, n)),
        np.zeros(particles),
    )


def effective(logw: Floats) -> float:
    """Share of the particles that count."""
    w = np.exp(logw - logw.max())
    return float(w.sum() ** 2 / (w @ w)) / len(w)


def step(logw: Floats, gains: Floats, most: float) -> float:
    """The largest power of the label's law, up to `most`, that leaves enough particles effective.

    >>> step(np.zeros(4), np.zeros(4), 0.5)
    0.5
    """
    if effective(logw + most * gains) >= EFFECTIVE:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if effective(logw + middle * gains) >= EFFECTIVE else (low, middle)
        )
    return max(low, 1e-6 * most)


def resample(cloud: Cloud, now: int, rng: np.random.Generator) -> None:
    """Draw the particles anew by their weights, evenly; all weigh the same then."""
    w = np.exp(cloud.logw - cloud.logw.max())
    ends, P = np.cumsum(w) / w.sum(), len(w)
    chosen = np.minimum(np.searchsorted(ends, (np.arange(P) + rng.random()) / P), P - 1)
    for array in cloud[:4]:
        array[:] = array[chosen]
    for array in cloud[4:7]:
        array[:, :now] = array[chosen, :now]
    cloud.logw[:] = 0.0


def follow(rows: Rows, slots: Slots, *, particles: int, sweeps: int, seed: int) -> Found:
    """Predict every label from those before it."""
    d, n = rows.Z.shape
    cloud, new = new_cloud(particles, n, slots), new_cloud(1, n, slots)
    rng, y_hat, expected = np.random.default_rng(seed), np.empty(n), np.empty(n)
    seeded(seed)
    caps = np.zeros(n) if rows.law == COIN else -np.log(2.0 * rows.half)
    cap, m, v = np.append(0.0, np.cumsum(caps)), np.empty(particles), np.empty(particles)
    redrawn = np.array([len(set(groups[groups >= 0])) > 1 for groups in slots.group])
    often = 1.0
    for t in range(n):
        fresh = bool((slots.born == t).any())
        begin(slots, t, d, cloud)
        if t and rows.seg[t] != rows.seg[t - 1] and redrawn.any():
            g = slots.group[redrawn, rows.seg[t]][0]
            shape = cloud.sign[:, redrawn, g].shape
            cloud.sign[:, redrawn, g] = rng.choice([-1.0, 1.0], shape)
            fresh = True
        if fresh:
            often = 1.0
            for p in range(particles):
                fill(slots, p, cloud)
        judge(rows, t, cloud, m, v)
        w = np.exp(cloud.logw - cloud.logw.max())
        w /= w.sum()
        y_hat[t] = w @ m
        expected[t] = w @ (m * m + v) - y_hat[t] ** 2
        power = 0.0
        while power < 1.0:
            more = step(cloud.logw, cloud.L[:, t], 1.0 - power)
            cloud.logw[:] += more * cloud.L[:, t]
            power = min(1.0, power + more)
            if power < 1.0 or effective(cloud.logw) < EFFECTIVE:
                resample(cloud, t + 1, rng)
                rate = rejuvenate(rows, slots, cloud, new, t + 1, power, cap, sweeps, often)
                often = min(1.0, max(SELDOM, 10.0 * rate))
    return Found(y_hat, expected)
