"""A mini-batch against its definition: VAWs solved anew each round, sums row by row."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.greedy.minibatch import (
    MiniBatch,
    Restart,
    RestartAndCarry,
    RunningTotals,
    aggregate,
)
from keyhole.problem import Floats


class Slow:
    """The rounds of a batch, literally: everything is kept, every VAW is solved from its rows."""

    def __init__(self, d: int, V: list[int], S: list[int], A: Floats, b: Floats) -> None:
        self.V, self.S, self.A, self.b = V, S, A, b
        self.filled = list[Floats]()  # rows with means in place of what is absent
        self.y = list[float]()
        self.losses, self.reach = np.zeros(len(A)), 0.0
        self.arrived: dict[int, list[float]] = {j: [] for j in range(d)}

    def round(self, row: Floats, y: float) -> float:
        """The prediction for a row of all features; then its label is learnt."""
        means = {j: float(np.mean(a)) if a else 0.0 for j, a in self.arrived.items()}
        x = np.array([means[j] if math.isnan(v) else v for j, v in enumerate(row.tolist())])
        guesses = []
        for A, b in zip(self.A, self.b, strict=True):
            A_t = A + sum((np.outer(z[self.V], z[self.V]) for z in [*self.filled, x]), 0.0 * A)
            b_t = b + sum(
                (label * z[self.V] for z, label in zip(self.filled, self.y, strict=True)), 0.0 * b
            )
            guess = float(np.linalg.solve(A_t, b_t) @ x[self.V])
            several = len(self.A) > 1
            guesses.append(min(max(guess, -self.reach), self.reach) if several else guess)
        prediction = self.mixed(guesses)
        self.losses += (y - np.array(guesses)) ** 2
        self.filled.append(x)
        self.y.append(y)
        self.reach = max(self.reach, abs(y))
        for j in self.S:
            if not math.isnan(row[j]):
                self.arrived[j].append(float(row[j]))
        return prediction

    def mixed(self, guesses: list[float]) -> float:
        """(g(-Y) - g(Y)) / (4 Y), g(v) = -2 Y^2 log sum exp(-(L_e + (v - guess_e)^2) / (2 Y^2))."""
        if len(guesses) == 1:
            return guesses[0]
        Y = self.reach
        if Y == 0.0:
            return 0.0

        def g(v: float) -> float:
            parts = np.exp(-(self.losses + (v - np.array(guesses)) ** 2) / (2 * Y * Y))
            return -2 * Y * Y * math.log(float(parts.sum()))

        return (g(-Y) - g(Y)) / (4 * Y)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_a_batch_is_its_definition(seed: int, several: bool, all_pairs: bool) -> None:
    rng = np.random.default_rng(seed)
    d, S = 6, np.array([0, 2, 3, 5])
    V = rng.choice(S, 2, replace=False)
    experts = 2 if several else 1
    A = np.array([np.eye(2) * (e + 0.5) + 0.1 for e in range(experts)])
    b = rng.standard_normal((experts, 2))
    X, y = rng.standard_normal((12, d)) + 1.0, rng.standard_normal(12) - 1.0  # mostly below 0
    X[rng.random(X.shape) < 0.2] = np.nan
    batch, history = MiniBatch(V, S, A, b, all_pairs), RunningTotals(d, experts)
    slow = Slow(d, V.tolist(), S.tolist(), A, b)
    predictions = np.empty(12)
    assert batch.play(X, y, history, predictions) == 12
    expected = [slow.round(row, label) for row, label in zip(X, y.tolist(), strict=True)]
    np.testing.assert_allclose(predictions, expected, rtol=1e-8, atol=1e-10)
    assert history.reach == np.abs(y).max()
    np.testing.assert_allclose(history.losses, slow.losses, rtol=1e-8)
    assert history.count.tolist() == [len(slow.arrived[j]) for j in range(d)]
    np.testing.assert_allclose(history.total, [sum(slow.arrived[j]) for j in range(d)], atol=1e-12)
    order = [*V.tolist(), *(j for j in S.tolist() if j not in V)]
    Z = np.array(slow.filled)[:, order]
    whole = np.triu(Z.T @ Z)
    if not all_pairs:
        whole[2:, 2:] = np.diag(np.diag(whole)[2:])
    np.testing.assert_allclose(batch.G, whole, atol=1e-10)
    np.testing.assert_allclose(batch.c, Z.T @ y, atol=1e-10)
    assert batch.yy == pytest.approx(float(y @ y))
    assert batch.n == 12
    single, past = MiniBatch(V, S, A, b, all_pairs), RunningTotals(d, experts)
    for row, label, told in zip(X, y.tolist(), predictions, strict=True):
        assert single.predict(row[S], past) == told
        single.add(row[S], label, past)
    np.testing.assert_array_equal(single.G, batch.G)
    assert past.reach == history.reach


def test_the_reach_is_of_labels_of_either_sign() -> None:
    batch = MiniBatch(np.array([0]), np.array([0]), np.eye(1)[None], np.zeros((1, 1)), False)
    history = RunningTotals(1, 1)
    for y, reach in [(-3.0, 3.0), (2.0, 3.0), (-3.5, 3.5), (4.0, 4.0)]:
        batch.add(np.array([1.0]), y, history)
        assert history.reach == reach


def test_shares_are_by_loss_in_units_of_the_reach() -> None:
    history = RunningTotals(1, 3)
    history.losses[:], history.reach = [1.0, 3.0, 9.0], 3.0
    weight = np.exp(-np.array([1.0, 3.0, 9.0]) / 18.0)
    np.testing.assert_allclose(history.shares(), weight / weight.sum())
    history.reach = 0.0  # no label but 0 so far
    weight = np.exp(-np.array([1.0, 3.0, 9.0]))
    np.testing.assert_allclose(history.shares(), weight / weight.sum())


def test_without_labels_but_0_the_aggregate_of_several_is_0() -> None:
    assert aggregate(np.array([1.0, 2.0]), np.zeros(2), 0.0) == 0.0
    assert aggregate(np.array([7.0]), np.ones(1), 0.0) == 7.0


@pytest.mark.parametrize("column", [1, 4])
def test_rows_too_large_to_square_end_the_batch(column: int) -> None:
    S = np.array([1, 4])
    batch = MiniBatch(S[:1], S, np.eye(1)[None], np.zeros((1, 1)), False)
    X, y = np.ones((5, 6)), np.ones(5)
    X[2, 0] = 1e200  # not read
    X[3, column] = -1e200
    assert batch.play(X, y, RunningTotals(6, 1), np.empty(5)) == 3
    assert batch.n == 3
    y[1] = -1e200
    assert batch.play(X, y, RunningTotals(6, 1), np.empty(5)) == 1


def test_memories_of_batches_are_sums_over_all_rows() -> None:
    """Two batches; then both VAWs start from R and from R + sums, with 0 for what was not read."""
    rng = np.random.default_rng(0)
    memory, history, d = RestartAndCarry(5, 0.5), RunningTotals(5, 2), 5
    G, c, reads = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for S, V in [([0, 1, 3], [3, 0]), ([1, 3, 4], [1])]:
        batch = MiniBatch(np.array(V), np.array(S), *memory.start(np.array(V)), memory.all_pairs)
        X, y = rng.standard_normal((7, d)), rng.standard_normal(7)
        batch.play(X, y, history, np.empty(7))
        memory.keep(batch)
        Z = np.zeros((7, d))
        Z[:, S] = X[:, S]
        G, c = G + Z.T @ Z, c + Z.T @ y
        reads[S] += 7
    np.testing.assert_allclose(memory.G, np.triu(G), atol=1e-12)
    np.testing.assert_allclose(memory.c, c, atol=1e-12)
    assert memory.reads.tolist() == reads.tolist()
    others = np.array([3, 2, 0])  # 2 was never read
    A, b = memory.start(others)
    R = 0.5 * np.diag([G[3, 3] / 14, 1.0, G[0, 0] / 7])
    np.testing.assert_allclose(A, [R, R + G[np.ix_(others, others)]], atol=1e-12)
    np.testing.assert_allclose(b, [np.zeros(3), c[others]], atol=1e-12)
    A, b = Restart(5, 0.25).start(others)
    np.testing.assert_array_equal(A, [0.25 * np.eye(3)])
    assert not b.any()
