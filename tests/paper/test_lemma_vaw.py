"""`lem:vaw`: within a batch, VAW loses O(k1 log B) more than the best model on its features.

With |x|_inf <= 1, |y| <= 1 and a ridge of lambda the bound behind it is

    loss - B g(V) <= lambda |u|^2 + sum_i log(1 + lambda_i / lambda),

at most lambda |u|^2 + k1 log(1 + B/lambda), with u the best model; the lemma leaves out
lambda |u|^2, which its assumptions do not bound.
"""

import math

import numpy as np
import pytest

from keyhole.learners.blocks.fit.set_function import residual
from keyhole.learners.blocks.fit.vaw import VAW
from keyhole.learners.blocks.greedy.minibatch import MiniBatch, RunningTotals
from keyhole.problem import Floats

B, K1 = 120, 3


def batch(kind: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (B, K1))
    labels = {
        "random": rng.choice([-1.0, 1.0], B),
        "alternating": np.where(np.arange(B) % 2, 1.0, -1.0),
        "linear": np.clip(X @ np.array([0.5, -0.3, 0.2]), -1, 1),
        "turncoat": np.sign(X[:, 0]) * np.where(np.arange(B) < B // 2, 1.0, -1.0),
    }
    if kind == "growing":
        return X * np.geomspace(1e-3, 1.0, B)[:, None], labels["alternating"]
    return X, labels[kind]


def vaw_loss(X: Floats, y: Floats, ridge: float) -> float:
    vaw, loss = VAW(X.shape[1], ridge), 0.0
    for x, label in zip(X, y, strict=True):
        loss += (label - vaw.predict(x)) ** 2
        vaw.update(x, label)
    return loss


def regret_and_norm(X: Floats, y: Floats, loss: float) -> tuple[float, float]:
    u = np.linalg.lstsq(X, y, rcond=None)[0]
    g = residual(X.T @ X, X.T @ y, float(y @ y), len(y), np.arange(X.shape[1]))
    return loss - len(y) * g, float(u @ u)


KINDS = ["random", "alternating", "linear", "turncoat", "growing"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
def test_the_bound_with_its_ridge_term(kind: str, ridge: float) -> None:
    X, y = batch(kind)
    regret, norm = regret_and_norm(X, y, vaw_loss(X, y, ridge))
    logs = float(np.log1p(np.linalg.eigvalsh(X.T @ X).clip(0) / ridge).sum())
    assert logs <= K1 * math.log1p(B / ridge)
    assert regret <= ridge * norm + logs + 1e-9


def test_the_mini_batch_plays_vaw() -> None:
    """What the learner runs, compiled, is the same algorithm."""
    X, y = batch("random")
    V = np.arange(K1)
    mini, history = (
        MiniBatch(V, V, np.eye(K1)[None], np.zeros((1, K1)), False),
        RunningTotals(K1, 1),
    )
    predictions = np.empty(B)
    mini.play(X, y, history, predictions)
    vaw = VAW(K1, 1.0)
    for x, label, prediction in zip(X, y, predictions, strict=True):
        assert prediction == pytest.approx(vaw.predict(x), abs=1e-12)
        vaw.update(x, label)


def test_without_the_ridge_term_the_lemma_is_false() -> None:
    """Small features, large u: the regret is almost B, for any constant in O(k1 log B) below 8.

    x = 0.001 s, y = s with signs s: u = 1000, and VAW with ridge 1 hardly moves from 0. Without a
    ridge (a tiny relative one) the regret is a constant.
    """
    s = np.random.default_rng(0).choice([-1.0, 1.0], B)
    X, y = 1e-3 * s[:, None], s
    regret, norm = regret_and_norm(X, y, vaw_loss(X, y, 1.0))
    assert regret > 8 * math.log(B) * 1
    assert regret <= norm + math.log1p(B * 1e-6)
    assert regret_and_norm(X, y, vaw_loss(X, y, 0.0))[0] <= 8 * math.log(B)


def test_online_ridge_regression_is_a_broken_twin() -> None:
    """Predicting without x_t inside the matrix: each x, larger than all before, costs too much."""
    ridge, x = 1e-4, np.geomspace(1e-3, 1.0, 40)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    A, b, loss = ridge, 0.0, 0.0
    for value, label in zip(x, y, strict=True):
        loss += (label - b / A * value) ** 2
        A, b = A + value**2, b + label * value
    logs = math.log1p(float(x @ x) / ridge)
    regret, norm = regret_and_norm(x[:, None], y, loss)
    assert regret > ridge * norm + logs
    ours, _ = regret_and_norm(x[:, None], y, vaw_loss(x[:, None], y, ridge))
    assert ours <= ridge * norm + logs
