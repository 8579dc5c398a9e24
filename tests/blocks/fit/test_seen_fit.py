"""Models from the sums of what was seen: VAW where rows are complete, tame where they are not."""

import numpy as np
import pytest

from keyhole.blocks.fit.seen_fit import Sums, forward, natural, tell, weigh
from keyhole.blocks.fit.set_function import greedy
from keyhole.blocks.fit.vaw import VAW
from keyhole.blocks.literature.commit import select
from keyhole.blocks.literature.screening import screen
from keyhole.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats, Indices


def told(X: Floats, y: Floats) -> Sums:
    """The sums of rows in which NaN was not seen."""
    sums = SeenSums(X.shape[1])
    arrays = Sums(*sums.arrays(), np.zeros(2))
    for x, label in zip(X, y.tolist(), strict=True):
        tell(np.arange(X.shape[1]), x.copy(), label, arrays)
    return arrays


def rows(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 3.0 + rng.normal(0, 20, d)
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n)


def test_tell_adds_what_seen_sums_adds_to_the_bit() -> None:
    X, y = rows(40, 5)
    X[np.random.default_rng(1).random(X.shape) < 0.4] = np.nan
    pairs, singles, totals, limits = told(X, y)
    sums = SeenSums(5)
    for x, label in zip(X, y.tolist(), strict=True):
        sums.add(np.arange(5), x, label)
    assert np.array_equal(pairs, sums.pairs)
    assert np.array_equal(singles, sums.singles)
    assert np.array_equal(totals, sums.totals)
    assert limits.tolist() == [y.min(), y.max()]


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
def test_on_complete_rows_it_is_vaw_on_standardised_ones(ridge: float) -> None:
    X, y = rows(60, 4)
    Z, u = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    vaw, sums = VAW(4, ridge), told(X, y)
    for z, label in zip(Z, u.tolist(), strict=True):
        vaw.update(z, label)
    fit = forward(np.arange(4), 4, 0.0, ridge, sums)
    assert len(fit[0]) == 4
    for x, z in zip(X, Z, strict=True):
        expected = float(np.clip(y.mean() + y.std() * vaw.predict(z), y.min(), y.max()))
        assert weigh(x.copy(), fit, sums) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    weights = np.zeros(4)
    intercept = natural(np.arange(4), fit, sums, weights)
    np.testing.assert_allclose(weights, vaw.theta * y.std() / X.std(axis=0), rtol=1e-9)
    assert intercept == pytest.approx(y.mean() - weights @ X.mean(axis=0), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_on_complete_rows_it_selects_what_greedy_selects(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 12)) + 0.5 * rng.standard_normal((200, 1))
    y = X @ rng.standard_normal(12) + rng.standard_normal(200)
    Z, u = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    expected, _ = greedy(Z.T @ Z, Z.T @ u, float(u @ u), 200, 4)
    assert select(12, 4, 1e-9, told(X, y)).tolist() == sorted(expected.tolist())


def test_correlations_that_contradict_each_other_do_not_blow_up() -> None:
    # Three features that are seen in pairs, each pair with correlation -0.9: no three variables can
    # be like that, and the least squares solution of the indefinite matrix would be anything.
    rng = np.random.default_rng(0)
    sums = SeenSums(3)
    arrays = Sums(*sums.arrays(), np.zeros(2))
    for t in range(3000):
        S: Indices = np.delete(np.arange(3), t % 3)
        x = rng.multivariate_normal([0.0, 0.0], [[1.0, -0.9], [-0.9, 1.0]])
        tell(S, x, float(x[0] - x[1] + rng.standard_normal()), arrays)
    R = np.full((3, 3), -0.9) + 1.9 * np.eye(3)
    assert np.linalg.eigvalsh(R)[0] < 0.0
    chosen, w, _, _ = forward(np.arange(3), 3, 0.0, 1.0, arrays)
    assert len(chosen) == 2
    assert np.abs(w).max() < 5.0


def test_constant_and_unseen_features_are_never_chosen() -> None:
    X, y = rows(50, 4)
    X[:, 1], X[:, 2] = 7.0, np.nan
    assert select(4, 4, 1.0, told(X, y)).tolist() == [0, 3]
    assert select(4, 4, 1.0, told(X, np.full(50, 3.0))).tolist() == []


def test_screening_takes_the_largest_correlations() -> None:
    X, y = rows(80, 9)
    size = np.abs([np.corrcoef(x, y)[0, 1] for x in X.T])
    for k in (1, 3, 9, 12):
        top = np.sort(np.argsort(-size)[:k])
        assert screen(np.arange(9), k, 1.0, told(X, y)).tolist() == top.tolist()


def test_a_correlation_from_few_rows_counts_less() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    X[:, 1] = np.nan
    X[:2, 1] = y[:2]
    assert screen(np.arange(2), 1, 2.0, told(X, y)).tolist() == [0]
