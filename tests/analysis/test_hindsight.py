"""Hindsight against enumeration, on prefixes and singular designs; regret of the same rounds."""

import itertools

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, take
from keyhole.streams.designs import toeplitz


def enumerated(X: Floats, y: Floats, k: int) -> float:
    """The loss of the best k-subset, by trying all of them with a least-squares solver."""
    losses = [float(y @ y)]
    for S in itertools.combinations(range(X.shape[1]), k):
        w = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
        losses.append(float(((y - X[:, S] @ w) ** 2).sum()))
    return min(losses)


def awkward(kind: str, n: int, d: int) -> tuple[Floats, Floats]:
    """Designs with correlations, duplicates, one-hot groups; labels with a weak dense signal."""
    rng = np.random.default_rng([n, d])
    X = rng.normal(size=(n, d))
    if kind == "correlated":
        X = X @ np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(range(d), range(d)))).T
    elif kind == "duplicates":
        X[:, d // 2 :] = X[:, : d - d // 2]
    elif kind == "one-hot":
        X[:, : d // 2] = np.eye(d // 2)[rng.integers(0, d // 2, n)]
        X[:, -1] = 1.0
    return X, X @ rng.normal(size=d) / d + rng.normal(size=n)


@pytest.mark.parametrize("kind", ["isotropic", "correlated", "duplicates", "one-hot"])
@pytest.mark.parametrize("d", [2, 5, 9])
def test_exact_for_all_k(kind: str, d: int) -> None:
    X, y = awkward(kind, 60, d)
    for k in range(1, d + 1):
        best = kh.hindsight(ArrayStream(X, y), k, intercept=False)
        truth = enumerated(X, y, k)
        assert best.loss.low == best.loss.high == pytest.approx(truth, rel=1e-9)
        assert np.count_nonzero(best.weights) <= k
        assert ((y - X @ best.weights) ** 2).sum() == pytest.approx(truth, rel=1e-7)
        assert best.empty_loss == pytest.approx(y @ y)


@pytest.mark.parametrize("kind", ["isotropic", "correlated", "duplicates", "one-hot"])
def test_exact_at_d_14(kind: str) -> None:
    X, y = awkward(kind, 80, 14)
    for k in range(1, 15):
        best = kh.hindsight(ArrayStream(X, y), k, intercept=False)
        assert best.loss.width == 0
        assert best.loss.high == pytest.approx(fast_enumeration(X, y, k), rel=1e-8)


def fast_enumeration(X: Floats, y: Floats, k: int) -> float:
    """As `enumerated`, by the pseudo-inverses of all Gram matrices in one call."""
    G, c = X.T @ X, X.T @ y
    S = np.array(list(itertools.combinations(range(X.shape[1]), k)))
    blocks = G[S[:, :, None], S[:, None, :]]
    w = (np.linalg.pinv(blocks, rcond=1e-10, hermitian=True) @ c[S][:, :, None])[:, :, 0]
    return float((y @ y - (w * c[S]).sum(axis=1)).min())


def test_intercept() -> None:
    X, y = awkward("correlated", 100, 6)
    X, y = X + 1e4, y + 1e3
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    for k in (1, 3, 6):
        best = kh.hindsight(ArrayStream(X, y), k, intercept=True)
        assert best.loss.high == pytest.approx(enumerated(Xc, yc, k), rel=1e-6)
        residual = y - best.intercept - X @ best.weights
        assert residual @ residual == pytest.approx(best.loss.high, rel=1e-5)
        assert best.empty_loss == pytest.approx(yc @ yc)
        assert 0 < best.r2 < 1


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.3])
def test_constant_columns(value: float) -> None:
    X, y = awkward("isotropic", 3000, 5)
    X[:, 1] = value
    X[:, 4] = 2 * value
    best = kh.hindsight(ArrayStream(X, y + 5.0), 2, intercept=True)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    Xc[:, [1, 4]] = 0.0
    assert best.loss.low == best.loss.high == pytest.approx(enumerated(Xc, yc, 2), rel=1e-9)
    assert not set(best.support.tolist()) & {1, 4}


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_exact_at_d_60_k_5(rho: float) -> None:
    stream, truth = kh.streams.realizable(60, 5, 4000, design=toeplitz(rho), noise_sd=0.3, seed=2)
    best = kh.hindsight(stream, 5, intercept=False)
    assert best.loss.width == 0, best.loss.how
    X, y = kh.streams.collect(stream)
    planted = np.linalg.lstsq(X[:, truth.support], y, rcond=None)[0]
    assert best.loss.high <= ((y - X[:, truth.support] @ planted) ** 2).sum() * (1 + 1e-12)


def test_a_valid_interval_at_d_500_k_10() -> None:
    stream, truth = kh.streams.realizable(500, 10, 2000, design=toeplitz(0.8), noise_sd=1.0, seed=3)
    best = kh.hindsight(stream, 10, seconds=1.0, intercept=False)
    X, y = kh.streams.collect(stream)
    assert 0 <= best.loss.low <= best.loss.high
    assert np.count_nonzero(best.weights) <= 10
    # The upper end is attained, and the lower end lies below what any 10-sparse model loses.
    assert ((y - X @ best.weights) ** 2).sum() == pytest.approx(best.loss.high, rel=1e-7)
    planted = np.linalg.lstsq(X[:, truth.support], y, rcond=None)[0]
    assert best.loss.low <= ((y - X[:, truth.support] @ planted) ** 2).sum()


def test_prefixes() -> None:
    X, y = awkward("correlated", 300, 8)
    stream = ArrayStream(X, y)
    lengths = [1, 7, 100, 101, 300]
    models = kh.hindsight_curve(stream, 2, lengths, intercept=False)
    assert [m.rounds for m in models] == lengths
    for n, model in zip(lengths, models, strict=True):
        assert model.loss.high == pytest.approx(enumerated(X[:n], y[:n], 2), rel=1e-7, abs=1e-9)


def test_regret_and_its_curve() -> None:
    X, y = awkward("isotropic", 200, 6)
    stream = ArrayStream(X, y)
    ledger = kh.play(kh.RunningMean(kh.Problem(6, 2, 3)), stream)
    best = kh.hindsight(stream, 2, intercept=False)
    gap = kh.regret(ledger, best)
    assert gap.low == gap.high == pytest.approx(ledger.loss - enumerated(X, y, 2))
    curve = kh.regret_curve(ledger, stream, 2, intercept=False)
    assert curve.rounds.tolist() == [c.round for c in ledger.checkpoints]
    for c, low, high in zip(ledger.checkpoints, curve.low, curve.high, strict=True):
        expected = c.loss - enumerated(X[: c.round], y[: c.round], 2)
        assert low == high == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_what_cannot_be_compared_is_refused() -> None:
    X, y = awkward("isotropic", 20, 4)
    stream = ArrayStream(X, y)
    learner = kh.RunningMean(kh.Problem(4, 1, 2))
    first = kh.play(learner, take(stream, 5))
    with pytest.raises(kh.DataError, match="rounds 1 to 5, the model in hindsight rounds 1 to 20"):
        kh.regret(first, kh.hindsight(stream, 1, intercept=False))
    later = kh.play(learner, take(stream, 5))
    with pytest.raises(kh.DataError, match="rounds 6 to 10, the model in hindsight rounds 1 to 5"):
        kh.regret(
            later, kh.hindsight(take(stream, 5), 1, intercept=False)
        )  # as many rounds, but others
    with pytest.raises(kh.DataError, match="begins at round 1, the ledger at round 6"):
        kh.regret_curve(later, stream, 1, intercept=False)
    with pytest.raises(kh.ProblemError, match="k must be at most d = 4, got 5"):
        kh.hindsight(stream, 5, intercept=False)
    with pytest.raises(kh.DataError, match="the stream is empty"):
        kh.hindsight(take(stream, 0), 1, intercept=False)
    with pytest.raises(kh.DataError, match="20 rounds, a prefix of 21"):
        kh.hindsight_curve(stream, 1, [3, 21], intercept=False)
    with pytest.raises(kh.ProblemError, match="ascending"):
        kh.hindsight_curve(stream, 1, [3, 3], intercept=False)


def test_the_yardstick_is_the_one_of_reports_and_commands() -> None:
    X, y = awkward("correlated", 300, 6)
    stream = ArrayStream(X, y + 1e3)
    learner = kh.RunningMean(kh.Problem(d=6, k=2, budget=2))
    run = kh.report.record(learner, stream, diagnosed=False, full=False)
    best = kh.hindsight(stream, 2)
    assert best.loss.high == pytest.approx(run.best.loss.high, rel=1e-12)
    assert best.intercept == pytest.approx(run.best.intercept, rel=1e-12)
    assert best.empty_loss == pytest.approx(300 * float(np.var(y)))
    # The paper's models have none: with labels about 1000, they explain next to nothing about it.
    assert kh.hindsight(stream, 2, intercept=False).loss.high > 100 * best.loss.high


def test_every_r2_has_one_denominator() -> None:
    X, y = awkward("correlated", 300, 6)
    best = kh.hindsight(ArrayStream(X, y), 2)
    assert best.variance == pytest.approx(float(np.var(y)))
    assert best.r2_of(best.variance) == 0.0
    assert best.r2_of(best.loss.high / 300) == best.r2
    flat = kh.hindsight(ArrayStream(X, np.full(300, 3.0)), 2)
    assert flat.r2_of(5.0) == 0.0


def test_the_oracle_plays_the_best_support_in_hindsight() -> None:
    problem, rng = kh.Problem(d=10, k=2, budget=4), np.random.default_rng(4)
    X = rng.standard_normal((500, 10)) + 3.0
    X[:, 8] = X[:, 1] + X[:, 2] + 0.3 * X[:, 8]  # what a greedy choice takes first
    stream = kh.streams.ArrayStream(X, X[:, 1] + X[:, 2] + 7.0 + 0.1 * rng.standard_normal(500))
    learner = kh.oracle(stream, problem)
    best = kh.hindsight(stream, 2, intercept=True)
    assert learner.ask().features.tolist() == best.support.tolist() == [1, 2]
    assert learner.problem == problem
    expected = kh.play(kh.FixedSubset(problem, support=[1, 2]), stream)
    assert kh.play(kh.oracle(stream, problem), stream).loss == expected.loss
    with pytest.raises(kh.ProblemError, match="the stream has 10 features, the problem d = 11"):
        kh.oracle(stream, kh.Problem(11, 2, 4))
