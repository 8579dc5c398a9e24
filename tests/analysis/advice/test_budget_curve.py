"""The curve: by an obvious slow computation, with errors that cover, whatever the units."""

import itertools

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.advice.estimate import STRETCHES, BlockedKFold, ModelPath, _unsettled
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, GeneratedStream


def rows(n: int, d: int, seed: int, noise: float = 0.5) -> tuple[Floats, Floats]:
    """Rows of which three features matter, in different units, about different means."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    y = 1.0 * Z[:, 0] - 0.6 * Z[:, 1] + 0.3 * Z[:, 2] + noise * rng.normal(size=n)
    return Z * 10.0 ** (np.arange(d) % 3) + 5.0, y + 7.0


def slow(X: Floats, y: Floats, folds: int, length: int, k: int) -> tuple[Floats, Floats]:
    """Out-of-fold squared errors by enumeration and lstsq, and the weights of each fold's model.

    Absent cells are means of training.
    """
    fold = np.arange(len(y)) // length % folds
    lost, weights = np.empty(len(y)), np.zeros((folds, X.shape[1]))
    for f in range(folds):
        old, new = fold != f, fold == f
        centre = np.nanmean(X[old], axis=0)
        Z = np.where(np.isnan(X), centre, X) - centre
        mean = y[old].mean()

        def model(
            S: tuple[int, ...], Z: Floats = Z, old: Floats = old, mean: float = mean
        ) -> tuple[float, Floats]:
            w = np.linalg.lstsq(Z[old][:, S], y[old] - mean, rcond=None)[0]
            return float(((y[old] - mean - Z[old][:, S] @ w) ** 2).sum()), w

        S = min(itertools.combinations(range(X.shape[1]), k), key=lambda S: model(S)[0])
        weights[f, S] = model(S)[1]
        predicted = np.clip(mean + Z[new] @ weights[f], y[old].min(), y[old].max())
        lost[new] = (y[new] - predicted) ** 2
    return lost, weights


def by_model(X: Floats, weights: Floats) -> float:
    """The standard deviation of a model's mean loss by the jackknife: sqrt(2 tr((VC)^2))."""
    J, Z = len(weights), np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    V = np.cov(Z.T, bias=True)
    C = (J - 1) ** 2 / J * np.cov(weights.T)  # of J models that share all but one fold
    return float(np.sqrt(2.0 * np.trace(V @ C @ V @ C)))


@pytest.mark.parametrize(("absent", "far"), [(0.0, 1.0), (0.1, 1.0), (0.0, 40.0)])
def test_by_definition(absent: float, far: float) -> None:
    """With cells that are absent, and with one so far out that its prediction is cut off."""
    X, y = rows(130, 4, seed=1)
    X[np.random.default_rng(2).random(X.shape) < absent] = np.nan
    X[50, 0] *= far
    curve = kh.budget_curve(ArrayStream(X, y))
    deal = BlockedKFold.of(130, 4)
    assert (deal.folds, deal.length) == (20, 3)
    fitted = [slow(X, y, 20, 3, k) for k in range(5)]
    lost = np.stack([found[0] for found in fitted], axis=1)
    empty = lost[:, 0].sum()
    expected = 1 - lost.sum(axis=0) / empty
    np.testing.assert_allclose(curve.explained, expected, atol=1e-9)
    stretches = np.add.reduceat(lost, np.arange(0, 130, 3))
    m = len(stretches)
    off = stretches - np.outer(stretches[:, 0], 1 - expected)
    by_rows = np.sqrt(m / (m - 1) * (off**2).sum(axis=0)) / empty
    by_models = np.array([by_model(X, weights) for _, weights in fitted]) * 130 / empty
    error = np.hypot(by_rows, np.minimum(by_models, by_rows))
    np.testing.assert_allclose(curve.error, error, atol=1e-9)
    best = int(expected.argmax())
    paired = stretches - stretches[:, [best]] - np.outer(stretches[:, 0], expected[best] - expected)
    error = np.sqrt(m / (m - 1) * (paired**2).sum(axis=0)) / empty
    np.testing.assert_allclose(curve.behind_error, error, atol=1e-9)


def test_in_sample_is_the_best_in_hindsight() -> None:
    X, y = rows(300, 6, seed=3)
    curve = kh.budget_curve(ArrayStream(X, y))
    for k in range(1, 7):
        best = kh.hindsight(ArrayStream(X, y), k, intercept=True)
        assert curve.in_sample[k] == pytest.approx(best.r2, abs=1e-9)
        assert sorted(curve.features[k]) == best.support.tolist()
    assert curve.features[3] == (0, 1, 2)  # the most useful first
    assert curve.explained[0] == curve.error[0] == curve.in_sample[0] == 0


@pytest.fixture(scope="module")
def statements() -> Floats:
    """200 statements on what 8 of 40 features explain, from 80 rows: off by, error, twin off by.

    The truth is what the model of those rows explains of 1,000 others.
    """
    found = []
    for seed in range(200):
        X, y = rows(1080, 40, seed, noise=1.5)
        curve = kh.budget_curve(ArrayStream(X[:80], y[:80]), most=8)
        A = np.column_stack([np.ones(1080), X[:, list(curve.features[3])]])
        w = np.linalg.lstsq(A[:80], y[:80], rcond=None)[0]
        left = ((y[80:] - A[80:] @ w) ** 2).sum() / ((y[80:] - y[:80].mean()) ** 2).sum()
        off, off_in_sample = curve.explained[8] - 1 + left, curve.in_sample[8] - 1 + left
        found.append((off, curve.error[8], off_in_sample))
    return np.array(found).T


def test_errors_cover(statements: Floats) -> None:
    # Were each of 200 independent statements true with chance 0.95, fewer than 170 would be true
    # with chance below 1e-7 (6.5 standard deviations of a binomial).
    off, error, _ = statements
    assert (np.abs(off) <= 2 * error).mean() >= 0.85
    # Nor are they as wide as all get out: half of one error is too little for that.
    assert (np.abs(off) <= 0.5 * error).mean() < 0.85


def test_the_in_sample_optimum_does_not_cover(statements: Floats) -> None:
    """The broken twin: the share explained of the rows that the features were chosen on."""
    _, error, off_in_sample = statements
    assert (np.abs(off_in_sample) <= 2 * error).mean() < 0.85


def test_units_and_blocks_do_not_matter() -> None:
    X, y = rows(400, 8, seed=4)
    curve = kh.budget_curve(ArrayStream(X, y))
    scaled = kh.budget_curve(ArrayStream(X * 2.0 ** np.arange(8) + 3, 1e4 * y))
    pieces = [(X[i : i + 37], y[i : i + 37]) for i in range(0, 400, 37)]
    cut = kh.budget_curve(GeneratedStream(8, None, lambda: pieces))
    for other in (scaled, cut):
        np.testing.assert_allclose(other.explained, curve.explained, atol=1e-9)
        np.testing.assert_allclose(other.error, curve.error, atol=1e-9)
        assert other.features == curve.features


def test_neighbours_stay_together() -> None:
    """Every row comes five times in a row, and a stretch has five rows: nothing can be remembered.

    The twin: the same copies far apart, which no rule can know for what they are.
    """
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 50)), rng.normal(size=60)
    curve = kh.budget_curve(ArrayStream(np.repeat(X, 5, axis=0), np.repeat(y, 5)), most=20)
    assert BlockedKFold.of(300, 50).length == 5
    assert curve.explained[20] < 0
    apart = kh.budget_curve(ArrayStream(np.tile(X, (5, 1)), np.tile(y, 5)), most=20)
    assert apart.explained[20] > 0.5


def test_stretches_are_dealt_out_in_turn() -> None:
    X, y = rows(47, 3, seed=0)
    deal = BlockedKFold(folds=3, length=5)
    pieces = list(deal.pieces(GeneratedStream(3, None, lambda: [(X[:7], y[:7]), (X[7:], y[7:])])))
    assert [(s, len(labels)) for s, _, labels in pieces][:4] == [(0, 5), (1, 2), (1, 3), (2, 5)]
    np.testing.assert_array_equal(np.concatenate([p[1] for p in pieces]), X)
    assert sum(len(p[2]) for p in pieces if p[0] == 9) == 2
    for n, d, folds in ((10_000, 400, 20), (10_000, 401, 10), (10_000, 1001, 5)):
        deal = BlockedKFold.of(n, d)
        assert deal.folds == folds
        assert -(-n // deal.length) <= STRETCHES * folds


def test_a_label_that_never_changes() -> None:
    X, _ = rows(60, 3, seed=0)
    curve = kh.budget_curve(ArrayStream(X, np.ones(60)))
    assert curve.sparsity == curve.budget == curve.knee == 0
    for nothing in (curve.explained, curve.error, curve.in_sample, curve.behind_error):
        assert nothing.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("n", "d", "most"), [(125, 30, 24), (119, 30, 23), (300, 3, 3), (20, 9, 4)]
)
def test_the_largest_model_has_five_rows_for_each_feature(n: int, d: int, most: int) -> None:
    curve = kh.budget_curve(ArrayStream(*rows(n, d, seed=0)))
    assert curve.k.tolist() == list(range(most + 1))


def test_a_model_may_have_half_as_many_features_as_there_are_rows() -> None:
    assert kh.budget_curve(ArrayStream(*rows(30, 15, seed=0)), most=15).k[-1] == 15


def test_columns_that_never_change_and_copies() -> None:
    X, y = rows(200, 3, seed=0)
    X = np.column_stack([X, X[:, 0], np.ones(200), np.zeros(200)])
    curve = kh.budget_curve(ArrayStream(X, y))
    alone = kh.budget_curve(ArrayStream(X[:, :3], y))
    np.testing.assert_allclose(curve.explained[:4], alone.explained, atol=1e-9)
    np.testing.assert_allclose(curve.explained[3:], curve.explained[3], atol=1e-9)
    assert [len(S) for S in curve.features] == [0, 1, 2, 3, 3, 3, 3]


def test_what_is_refused() -> None:
    X, y = rows(30, 3, seed=0)
    stream = ArrayStream(X, y)
    with pytest.raises(kh.ProblemError, match="most must be at most the 3 features"):
        kh.budget_curve(stream, most=4)
    with pytest.raises(kh.ProblemError, match="most must be at least 1, got 0"):
        kh.budget_curve(stream, most=0)
    with pytest.raises(kh.ProblemError, match="most must be at most 15, half of the 30 rows"):
        kh.budget_curve(ArrayStream(np.ones((30, 40)), y), most=16)
    with pytest.raises(kh.DataError, match="at least 20 rows, there are 19"):
        kh.budget_curve(ArrayStream(X[:19], y[:19]))
    with pytest.raises(kh.DataError, match="there are 0: raise scout, now 0"):
        kh.budget_curve(stream, scout=0.0)
    with pytest.raises(kh.ProblemError, match="scout must be from 0 to 1, got 2"):
        kh.budget_curve(stream, scout=2.0)
    with pytest.raises(kh.ProblemError, match="stream must be a stream"):
        kh.budget_curve(X)  # type: ignore[call-overload]
    for count, words in ((19, "at least 20 rows, there are 19"), (29, "30 rows, there are 29")):
        few = ArrayStream(X[:count].repeat(5, axis=1), y[:count])
        with pytest.raises(kh.DataError, match=words):  # it has fewer rows than it says
            kh.budget_curve(GeneratedStream(15, 100, few.blocks), most=15)
    wide = GeneratedStream(10**6, 100, list)
    with pytest.raises(
        kh.ProblemError,
        match="a table of all pairs of 1,000,000 features for each of 5 folds takes",
    ):
        kh.budget_curve(wide)


def test_models_that_differ_are_unsettled_by_the_jackknife() -> None:
    """Two models of one weight, 1 and 3: C = ((-1)^2 + 1^2) / 2 = 1, V = 2; 2 tr((VC)^2) = 8."""
    one, other = (
        ModelPath((np.array([0]),), np.array([[w]]), np.zeros(1), 0.0, (0.0, 1.0), np.zeros(1))
        for w in (1.0, 3.0)
    )
    assert _unsettled([one, other], np.array([[2.0]])).tolist() == [8.0]
