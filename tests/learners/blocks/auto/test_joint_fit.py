"""What features are worth together: plain least squares where every row is complete."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keyhole.learners.blocks.auto import joint_fit as module
from keyhole.learners.blocks.auto.advice import worths
from keyhole.learners.blocks.auto.joint_fit import (
    Joint,
    joint_fit,
    least_missed,
    lost_without,
    often_read,
)
from keyhole.learners.blocks.sums.memories import Memories, memories, remember
from keyhole.problem import Floats

N = 500


def rows(d: int = 4, n: int = N, seed: int = 0) -> tuple[Floats, Floats]:
    """Features that go together, of different scales; the last has nothing to do with the label."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.6 * rng.standard_normal((n, 1))
    y = 2.0 + X @ np.r_[np.arange(d - 1, 0.0, -1.0), 0.0] + 2.0 * rng.standard_normal(n)
    return X * 10.0 ** np.arange(d), y


def sums(X: Floats, y: Floats, tau: float = math.inf) -> Memories:
    kept = memories(X.shape[1], [tau])
    remember(kept, np.arange(X.shape[1]), X, y)
    return kept


def fitted(X: Floats, y: Floats) -> Joint:
    peaks, reach = np.abs(X - X.mean(axis=0)).max(axis=0), float(np.abs(y - y.mean()).max())
    return joint_fit(sums(X, y), 0, np.arange(X.shape[1]), peaks, reach)


def share_left(X: Floats, y: Floats, features: list[int]) -> float:
    """By plain least squares, with an intercept."""
    A = np.column_stack([np.ones(len(y)), X[:, features]])
    e = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return float(e @ e / ((y - y.mean()) ** 2).sum())


def test_complete_rows_are_plain_least_squares() -> None:
    X, y = rows()
    fit = fitted(X, y)
    A = np.column_stack([X, np.ones(N)])
    assert fit.weights == pytest.approx(np.linalg.lstsq(A, y, rcond=None)[0][:4], rel=1e-6)
    left = share_left(X, y, [0, 1, 2, 3])
    assert fit.left == pytest.approx(left, rel=1e-6)
    noise = left / (1.0 - 5.0 / N)
    assert fit.chance == pytest.approx([noise / N] * 4, rel=1e-6)
    cov = np.linalg.inv(A.T @ A)[:4, :4] * noise * y.var()  # the classical one
    assert fit.errors == pytest.approx(np.sqrt(np.diag(cov)), rel=1e-6)
    for dropped in ([0], [1], [2], [0, 2], [1, 2, 3], [0, 1, 2, 3]):
        others = [i for i in range(4) if i not in dropped]
        raw = share_left(X, y, others) - left
        lost, error = lost_without(fit, dropped)
        assert lost == pytest.approx(raw - len(dropped) * noise / N, rel=1e-5)
        s = min(noise, 1.0 - lost)
        variance = 4.0 * lost * (noise + lost * (1.0 - lost - 2.0 * s)) / N
        variance += 2.0 * len(dropped) * (noise / N) ** 2
        calm = fit._replace(tail=np.zeros(4), label_tail=0.0)
        assert lost_without(calm, dropped)[1] == pytest.approx(math.sqrt(variance), rel=1e-5)
        part = fit.r[dropped] ** 4 / (fit.r[dropped] ** 2).sum() ** 2
        far = float(part @ fit.tail[dropped]) + fit.label_tail
        variance += lost**2 * far / N
        assert error == pytest.approx(math.sqrt(variance), rel=1e-5)
        assert far < 0.5  # of 500 values that are nearly normal: 3.2^4 / 500 = 0.2 each


def test_all_at_once_is_the_classical_error_of_r2() -> None:
    """Up to terms of the size (features + 1) / N = 1 % by which the noise is corrected."""
    X, y = rows()
    fit = fitted(X, y)._replace(tail=np.zeros(4), label_tail=0.0)
    r2, error = lost_without(fit, [0, 1, 2, 3])
    assert error == pytest.approx(2.0 * math.sqrt(r2 / N) * (1.0 - r2), rel=2 * 5 / N)


def test_they_go_in_the_order_in_which_they_are_missed_least() -> None:
    X, y = rows()
    order = least_missed(fitted(X, y))
    left = [0, 1, 2, 3]
    for gone in order:
        missed = {i: share_left(X, y, [j for j in left if j != i]) for i in left}
        assert gone == min(left, key=lambda i: missed[i])
        left.remove(gone)


def test_the_units_of_features_and_label_do_not_matter() -> None:
    X, y = rows()
    one, other = fitted(X, y), fitted(X * [1e-6, 1.0, 1e9, 3.0], 1e5 * y)
    for dropped in ([0], [2], [0, 1]):
        assert lost_without(one, dropped) == pytest.approx(lost_without(other, dropped), rel=1e-6)


def test_nothing_dropped_nothing_lost() -> None:
    assert lost_without(fitted(*rows()), []) == (0.0, 0.0)


def test_a_constant_feature_is_worth_nothing() -> None:
    X, y = rows(3)
    X[:, 1] = 5.0
    X -= [0.0, 5.0, 0.0]
    fit = fitted(X, y)
    assert lost_without(fit, [1])[0] == 0.0
    assert fit.weights[1] == 0.0
    assert lost_without(fit, [0])[0] == pytest.approx(
        1.0 - share_left(X, y, [0, 2]) - (1.0 - share_left(X, y, [2])) - fit.chance[0], rel=1e-5
    )


def test_of_two_copies_one_can_go_and_not_both() -> None:
    X, y = rows(3)
    X[:, 1] = -2.0 * X[:, 0]
    fit = fitted(X, y)
    for i in (0, 1):
        lost, error = lost_without(fit, [i])
        assert lost <= 2.0 * error
    lost, error = lost_without(fit, [0, 1])
    assert lost > 10.0 * error
    assert np.isfinite(fit.weights).all()


def test_one_feature_alone() -> None:
    X, y = rows(2)
    kept, fewer = worths(fitted(X[:, :1], y), ["a"])
    assert [worth.name for worth in kept] == ["a"]
    assert [one.features for one in fewer] == [("a",), ()]
    assert fewer[0].explained == kept[0].lost > 0.0
    assert (fewer[0].error, fewer[1].explained) == (0.0, 0.0)
    assert fewer[1].error == kept[0].error


def test_no_features() -> None:
    none = np.empty(0)
    empty = Joint(none, none, np.empty((0, 0)), none, 1.0, 1.0, none, none, none, 0.0)
    assert worths(empty, []) == ((), ())


def test_a_label_that_never_changes() -> None:
    X, _ = rows(3)
    fit = joint_fit(sums(X, np.zeros(N)), 0, np.arange(3), np.ones(3), 0.0)
    assert [lost_without(fit, [i])[0] for i in range(3)] == [0.0] * 3
    assert (fit.weights == 0.0).all()


@pytest.mark.parametrize("n", [1, 2, 4])
def test_hardly_any_rounds(n: int) -> None:
    X, y = rows(3)
    fit = joint_fit(sums(X[:n], y[:n]), 0, np.arange(3), np.full(3, 3.0), 3.0)
    for dropped in ([0], [1, 2], [0, 1, 2]):
        lost, error = lost_without(fit, dropped)
        assert 0.0 <= lost <= 1.0
        assert 0.0 <= error <= 1.0


def test_a_feature_that_was_never_read() -> None:
    X, y = rows(3)
    X[:, 1] = np.nan
    fit = joint_fit(sums(X, y), 0, np.arange(3), np.full(3, 3.0), 3.0)
    assert lost_without(fit, [1])[0] == 0.0
    assert np.isfinite(fit.weights).all()


def test_rounds_of_a_memory_that_forgets() -> None:
    """The weights are exp(-age/tau): (sum a)^2 / sum a^2 rounds, but for their discreteness."""
    X, y = rows(3, n=2000)
    kept, tau = memories(3, [50.0]), 50.0
    for t in range(2000):
        remember(kept, np.arange(3), X[t : t + 1], y[t : t + 1])
    fit = joint_fit(kept, 0, np.arange(3), np.full(3, 3.0), 3.0)
    a = np.exp(-np.arange(2000) / tau)
    assert 1.0 / fit.per == pytest.approx([a.sum() ** 2 / (a**2).sum()] * 3, rel=0.03)


def test_common_reads_of_features_read_late() -> None:
    """Each is read in a fifth of the rounds at first, in all from some round on.

    Were products taken over the reads of the rarer feature, the correlations of features that
    begin later than half of the rounds would be too small by the share of reads that are not
    common; the estimate of them is right on the average. Margin: 4,000 rounds know a correlation
    of 0.5 to (1 - 0.25)/sqrt(1,200) = 0.022 over the 1,200 common ones; three of that.
    """
    rng, n, d = np.random.default_rng(5), 4000, 12
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))  # correlations 1/2
    y = X[:, 0] + rng.standard_normal(n)
    starts = np.r_[3000, 3000, np.full(d - 2, n)]
    unread = (np.arange(n)[:, np.newaxis] < starts) & (rng.random((n, d)) > 0.2)
    fit = joint_fit(sums(np.where(unread, np.nan, X), y), 0, np.arange(2), np.ones(2), 1.0)
    assert fit.R[0, 1] == pytest.approx(0.5, abs=3 * 0.022)
    rarer = 0.5 * (1000 + 0.04 * 3000) / (1000 + 0.2 * 3000)  # the broken twin's
    assert abs(rarer - 0.5) > 3 * 0.022


SIMULATED = 120  # memories of 640 rounds, in batches of 16 that read the same features


def played(seed: int, w: Floats, noise: float, fitted: int, q: float, learnt: int) -> Floats:
    """z = (weight - truth) / error of the first `fitted` of 8 features.

    Features 0 and 1 correlate by .8. Every batch reads a feature with the chance q; after `learnt`
    of 40 batches those fitted are always read.
    """
    rng, kept, C = np.random.default_rng(seed), memories(8, [math.inf]), np.eye(8)
    C[0, 1] = C[1, 0] = 0.8
    for batch in range(40):
        X = rng.standard_normal((16, 8)) @ np.linalg.cholesky(C).T
        read = (rng.random(8) < q) | ((batch >= learnt) & (np.arange(8) < fitted))
        S = np.flatnonzero(read)
        remember(kept, S, X[:, S], X @ w + noise * rng.standard_normal(16))
    fit = joint_fit(kept, 0, np.arange(fitted), np.full(8, 4.0), 6.0)
    best = np.linalg.solve(C[:fitted, :fitted], C[:fitted] @ w)
    return np.asarray((fit.weights - best) / fit.errors)


def root_mean_square(*how: float) -> float:
    noise, features, q, learnt = how
    w = np.array([1.0, -0.7 * (features > 1), 0, 0, 0, 0, 0, 0])
    z = [played(seed, w, noise, int(features), q, int(learnt)) for seed in range(SIMULATED)]
    return float(np.sqrt(np.mean(np.square(z))))


@pytest.mark.parametrize("noise", [0.3, 0.8])
@pytest.mark.parametrize("learnt", [10, 20])
def test_errors_allow_for_reads_that_were_not_counted(
    noise: float, learnt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of z^2 over 120 memories, were both features of one right or wrong together, has the
    standard deviation sqrt(2/120) = .13: 4.75 of it (1e-6) above 1 are 1.61, a root of 1.27, below
    0.38. The twin takes the guess of how often both were read for a count.
    """
    assert 0.62 < root_mean_square(noise, 2, 0.3, learnt) < 1.27
    monkeypatch.setattr(module, "guessed", lambda n, V, pairs, scale: 0.0 * pairs)
    assert root_mean_square(noise, 2, 0.3, learnt) > 1.8


def test_errors_allow_for_noise_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """One feature, read in a seventh of the rounds, explains 99 %; the margin is as above.

    The twin believes what is left over: labels of all rounds, less values of some.
    """
    assert 0.62 < root_mean_square(0.1, 1, 0.15, 40) < 1.27
    monkeypatch.setattr(math, "hypot", lambda noise, unsure: noise)
    assert root_mean_square(0.1, 1, 0.15, 40) > 1.8


def test_correlations_that_do_not_fit_together_are_mended() -> None:
    kept = memories(3, [math.inf])
    kept.n[:] = 100.0
    kept.G[0] = 100.0 * np.array([[1, 0.9, -0.9, 0], [0.9, 1, 0.9, 0], [-0.9, 0.9, 1, 0], [0] * 4])
    kept.c[0], kept.yy[0] = [90.0, 90.0, 90.0, 0.0], 100.0
    fit = joint_fit(kept, 0, np.arange(3), np.ones(3), 1.0)
    assert np.linalg.eigvalsh(fit.R)[0] > 0.0
    assert 0.0 <= fit.left <= 1.0
    assert all(0.0 <= lost_without(fit, [i])[0] <= 1.0 for i in range(3))


def test_a_value_far_out_widens_the_error() -> None:
    X, y = rows()
    X[0, 0] = 40.0
    calm = fitted(X, y)._replace(tail=np.zeros(4), label_tail=0.0)
    assert lost_without(fitted(X, y), [0])[1] > 1.5 * lost_without(calm, [0])[1]


def test_members_of_a_panel_are_read_together() -> None:
    """Their correlation is that of the rounds that read both, not one beyond 1."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, 4)) + 0.6 * rng.standard_normal((N, 1)) + 1.0
    y = X @ np.array([1.0, 1.0, 0.5, 0.0]) + rng.standard_normal(N)
    kept, panel, rest = memories(4, [math.inf]), slice(0, 60), slice(60, N)
    remember(kept, np.arange(3), X[panel, :3], y[panel])
    remember(kept, np.array([0, 3]), X[rest][:, [0, 3]], y[rest])
    fit = joint_fit(kept, 0, np.arange(3), np.abs(X - 1.0).max(axis=0), 9.0)
    together = np.corrcoef(X[panel, 1], X[panel, 2])[0, 1]
    assert fit.R[1, 2] == pytest.approx(together, abs=0.05)
    assert np.isfinite(fit.errors).all()
    assert (fit.errors < 1.0).all()


def test_features_that_were_hardly_read_are_not_fitted() -> None:
    X, y = rows()
    kept = memories(4, [math.inf])
    remember(kept, np.arange(4), X[:11], y[:11])
    remember(kept, np.arange(3), X[11:13, :3], y[11:13])
    remember(kept, np.array([0, 1]), X[13:, :2], y[13:])
    # 4 features want 12 reads: the last has 11. Then 3 want 10: the third has 13.
    assert often_read(kept, 0, np.arange(4)).tolist() == [0, 1, 2]
    assert often_read(kept, 0, np.array([3])).tolist() == [3]
    assert often_read(kept, 0, np.array([], dtype=np.int64)).tolist() == []
