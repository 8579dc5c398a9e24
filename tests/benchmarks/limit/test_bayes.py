"""The Bayesians of the information limit, against each other and against obvious computations."""

import math

import numpy as np

from benchmarks.limit.cloud import follow
from benchmarks.limit.clouds import cut_mean, simplex
from benchmarks.limit.kernels import box, log_label
from benchmarks.limit.lists import two_signs
from benchmarks.limit.state import SIGNS, Rows, rows_of
from benchmarks.limit.unread import bridge, independent
from keyhole.problem import Floats
from keyhole.streams import collect
from keyhole.streams.designs import bounded
from keyhole.streams.synthetic import realizable

D, N, BUDGET, SEEDS = 8, 40, 3, 40
FEW = 20  # rounds, over which the posterior is still wide


def game(seed: int, n: int = N) -> tuple[Rows, Floats]:
    """Two of eight signs matter, three random ones are read; and the means of the labels."""
    stream, truth = realizable(D, 2, n, noise=bounded, noise_sd=0.2, seed=seed)
    rows, y = collect(stream)
    X = np.asarray(rows, dtype=np.float64)
    rng = np.random.default_rng(seed)
    bought = np.array([rng.permutation(D)[:BUDGET] for _ in range(n)])
    Z, V = independent(X, bought, 1.0)
    half = 0.2 * math.sqrt(3.0)
    return rows_of(y, half, Z, V, bought, SIGNS, unread=1.0), X @ truth.weights


def blind(rows: Rows) -> Rows:
    """The broken twin: unread features are taken for 0, as if they could not blur a label."""
    return rows._replace(V=np.zeros_like(rows.V))


def test_the_cloud_agrees_with_the_list() -> None:
    """16 values of the weight are enough; particles that never move are a broken twin.

    The squared distance of predictions is that of a mean of 64 particles, half of them effective:
    1/32 of the posterior variance, and as much again for moves that have not mixed.
    """
    away, spread = np.zeros(2), 0.0
    for seed in range(2):
        rows, _ = game(seed, FEW)
        exact = two_signs(rows, grid=16)
        for i, sweeps in enumerate((2, 0)):
            found = follow(rows, simplex(2), particles=64, sweeps=sweeps, seed=seed)
            away[i] += float(((found.y_hat - exact.y_hat) ** 2).sum())
        spread += float(exact.expected.sum())
    assert away[0] < spread / 16 < away[1]


def test_it_loses_what_it_expects_and_less_than_who_ignores_the_unread() -> None:
    """The broken twin loses more.

    By 5 standard errors of the mean over 40 games each: false alarm below 1e-6 were they Gaussian.
    """
    lost, expected, twin = [], [], []
    for seed in range(SEEDS):
        rows, mean = game(seed)
        found, other = two_signs(rows, grid=4), two_signs(blind(rows), grid=4)
        lost.append(float(((found.y_hat - mean) ** 2).sum()))
        expected.append(float(found.expected.sum()))
        twin.append(float(((other.y_hat - mean) ** 2).sum()))
    gaps, extra = np.subtract(lost, expected), np.subtract(twin, lost)
    error = float(gaps.std(ddof=1)) / math.sqrt(SEEDS)
    assert abs(float(gaps.mean())) < 5.0 * error
    assert float(extra.mean()) > 5.0 * float(extra.std(ddof=1)) / math.sqrt(SEEDS)


def test_the_law_of_a_label_adds_up_to_1() -> None:
    r = np.linspace(-4.0, 4.0, 40_001)
    assert abs(sum(box(x, 0.3, 0.01) for x in r) * (r[1] - r[0]) - 1.0) < 1e-6
    rows, _ = game(0)
    place, c = np.array([6, 7]), np.array([[0.7], [-0.3]])
    V = np.zeros_like(rows.V)
    V[6:, 0] = 1.0  # both unread: the label is noise around 0.4, -0.4, 1 and -1
    total = 0.0
    for x in r[::10]:
        one = rows._replace(V=V, y=np.full(N, x))
        total += math.exp(log_label(one, 0, 0.0, 0.58, place, c))
    assert abs(total * (r[10] - r[0]) - 1.0) < 1e-4


def test_neighbours_tell_of_what_was_not_read() -> None:
    """Against the usual formula for Gaussians."""
    rng = np.random.default_rng(0)
    z, read = rng.standard_normal((5, 7)), rng.random((5, 7)) < 0.4
    C = 0.5 ** np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    mean, variance = bridge(z, read, 0.5)
    for t in range(5):
        S = np.flatnonzero(read[t])
        A = C[:, S] @ np.linalg.inv(C[np.ix_(S, S)])
        assert np.allclose(mean[t], A @ z[t, S])
        assert np.allclose(variance[t], 1.0 - (A * C[:, S]).sum(axis=1))


def test_labels_that_are_cut_off() -> None:
    mean, half = np.array([0.0, 0.9, -0.95, 1.5]), np.full(4, 0.3)
    u = np.linspace(-1.0, 1.0, 20_001)
    slow = [np.clip(m + 0.3 * u, -1.0, 1.0).mean() for m in mean]
    assert np.allclose(cut_mean(mean, half), slow, atol=1e-4)
