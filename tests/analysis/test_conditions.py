"""The conditions against enumeration on Rademacher, Toeplitz and duplicate-column designs."""

import itertools
import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import Floats
from keyhole.streams import ArrayStream
from keyhole.streams.designs import Design, duplicates, rademacher, toeplitz, uniform


def copied(d: int, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """Rademacher features of which the second half repeats the first, exactly."""
    rows = rademacher((d + 1) // 2, rng)
    return lambda n, rng: np.tile(rows(n, rng), (1, 2))[:, :d]


DESIGNS: dict[str, Design] = {
    "rademacher": rademacher,
    "toeplitz": toeplitz(0.5),
    "near duplicates": duplicates(2, 0.1),
    "duplicates": copied,
}


def rows(name: str, n: int, d: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng([seed, n, d])
    return DESIGNS[name](d, rng)(n, rng)


def extremes(X: Floats, k: int) -> tuple[float, float]:
    """min and max of |X w|^2 / n over k-sparse unit w, from singular values of all submatrices."""
    S = np.array(list(itertools.combinations(range(X.shape[1]), k)))
    parts = np.moveaxis(X[:, S], 0, 1) / math.sqrt(len(X))  # subsets, rows, k
    values = np.linalg.svd(parts, compute_uv=False) ** 2
    low = float(values.min()) if len(X) >= k else 0.0
    return (low if low > 1e-10 else 0.0), float(values.max())


def scaled(X: Floats) -> Floats:
    return np.asarray(X / np.sqrt((X**2).mean(axis=0)), dtype=np.float64)


def within(interval: kh.Interval, value: float) -> bool:
    slack = 1e-6 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
    return interval.low - slack <= value <= interval.high + slack


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    ("d", "n", "standardised"), [(2, 10, True), (5, 40, False), (7, 6, True), (7, 30, False)]
)
def test_the_enumerated_truth_is_within_for_all_k(
    name: str, d: int, n: int, standardised: bool
) -> None:
    X = rows(name, n, d)
    Z = scaled(X) if standardised else X
    for k in range(1, d + 1):
        low, high = extremes(Z, k)
        epsilon = max(math.sqrt(high) - 1, 1 - math.sqrt(low))
        kappa = math.sqrt(high / low) if low > 0 else math.inf
        for seconds in (0.0, 3.0):
            options = {"standardised": standardised, "seconds": seconds}
            isometry = kh.rip(X, k, **options)  # type: ignore[arg-type]
            condition = kh.restricted_condition_number(X, k, **options)  # type: ignore[arg-type]
            assert within(isometry, epsilon), (k, isometry, epsilon)
            assert within(condition, kappa), (k, condition, kappa)
        assert isometry.width == 0, isometry.how
        assert math.isinf(kappa) or condition.width == 0
        # RIP bounds the condition number by (1 + epsilon) / (1 - epsilon).
        if isometry.high < 1:
            assert condition.low <= (1 + isometry.high) / (1 - isometry.high) * (1 + 1e-9)


def squared_rip(X: Floats, k: int) -> float:
    """Broken twin: the literature's constant, of squared norms."""
    low, high = extremes(scaled(X), k)
    return max(high - 1, 1 - low)


def test_squared_norms_are_a_broken_twin() -> None:
    for name in DESIGNS:
        X = rows(name, 60, 8)
        found = kh.rip(X, 4)
        assert not within(found, squared_rip(X, 4)) or found.low == 1.0


def test_copies_make_it_one_and_infinite() -> None:
    X = rows("duplicates", 50, 6)
    assert (kh.rip(X, 1).high, kh.rip(X, 2).low) == (0.0, 1.0)
    assert kh.restricted_condition_number(X, 2).low == math.inf
    assert "dependent" in kh.rip(X, 2).how


def test_why_columns_are_scaled() -> None:
    """|x| <= 1 and RIP 1/5 force E x^2 >= 0.64; uniform features have a third."""
    rng = np.random.default_rng(0)
    X = uniform(4, rng)(20_000, rng)
    as_they_are = kh.rip(X, 1, standardised=False)
    assert as_they_are.low == pytest.approx(1 - math.sqrt(1 / 3), abs=0.01)
    assert as_they_are.low > kh.theory.RIP_REALIZABLE
    assert kh.rip(X, 4).high < 0.05
    second = float((X**2).mean(axis=0).min())
    assert 1 - as_they_are.high == pytest.approx(math.sqrt(second))


def test_all_kinds_of_data_agree() -> None:
    X = rows("toeplitz", 80, 6)
    gram, moments = Gram(6), Moments(6)
    gram.add(X, np.zeros(80))
    for x in X:
        moments.add(np.arange(6), x, 0.0)
    expected = kh.rip(X, 3)
    for data in (gram, moments, ArrayStream(X, np.zeros(80)), X.tolist()):
        found = kh.rip(data, 3)
        assert found.low == pytest.approx(expected.low)
        assert found.high == pytest.approx(expected.high)
        assert "partial" not in found.how
    shifted = kh.rip(X + 5.0, 3, centred=True)
    assert shifted.high == pytest.approx(kh.rip(X, 3, centred=True).high)
    assert kh.rip(X + 5.0, 3).low > 0.5


def bought(X: Floats, size: int) -> Moments:
    moments = Moments(X.shape[1])
    for t, x in enumerate(X):
        S = uniform_subset(0, t, X.shape[1], size)
        moments.add(S, x[S], 0.0)
    return moments


def test_partially_seen_rows_say_so() -> None:
    X = rows("toeplitz", 4000, 6)
    found = kh.rip(bought(X, 3), 3)
    assert "estimate from partially seen rows" in found.how
    # Each of 4000 rows shows a pair with probability 1/5: correlations are off by about 0.035.
    assert found.low == pytest.approx(kh.rip(X, 3).low, abs=0.15)


def test_absent_cells_are_mentioned() -> None:
    X = rows("rademacher", 100, 4)
    filled = X.copy()
    X[:10, 2] = np.nan
    filled[:10, 2] = np.nanmean(X[:, 2])
    found = kh.rip(X, 2)
    assert "absent cells count as their column's mean" in found.how
    assert found.low == found.high == pytest.approx(kh.rip(filled, 2).high)


def test_pairs_that_were_never_seen_could_be_anything() -> None:
    X = rows("near duplicates", 300, 6)
    moments = Moments(6)
    for x in X:
        moments.add([0, 1], x[[0, 1]], 0.0)
        moments.add([2, 3], x[[2, 3]], 0.0)
        moments.add([4, 5], x[[4, 5]], 0.0)
    found = kh.rip(moments, 4)
    assert "12 pairs of features were never seen together" in found.how
    truth = kh.rip(X, 4)
    assert 0 < found.low <= truth.low
    assert found.high >= max(1.0, truth.high)
    assert kh.restricted_condition_number(moments, 4).high == math.inf
    one = kh.rip(bought(X, 1), 2)
    assert one.low == pytest.approx(0.0, abs=1e-9)
    assert one.high == 1.0


@pytest.mark.parametrize("name", DESIGNS)
def test_weak_supermodularity_is_at_most_kappa_squared(name: str) -> None:
    """`lemma:RIP.modu`, on the columns as they are."""
    X = rows(name, 60, 7)
    y = X @ np.linspace(-1, 1, 7) + np.random.default_rng(1).normal(size=60)
    for k in (2, 4, 7):
        alpha = kh.weak_supermodularity(X, y, k)
        kappa = kh.restricted_condition_number(X, k, standardised=False)
        assert alpha.width == 0
        assert 1 <= alpha.high <= kappa.high**2 * (1 + 1e-6)


def all_windows(X: Floats, k: int, t0: int) -> float:
    """The restricted condition number of every window of at least t0 rows, the largest."""
    Z, worst = scaled(X), 1.0
    for start in range(len(X) - t0 + 1):
        for stop in range(start + t0, len(X) + 1):
            low, high = extremes(Z[start:stop], k)
            worst = max(worst, math.sqrt(high / low) if low > 0 else math.inf)
    return worst


@pytest.mark.parametrize(("n", "t0"), [(60, 30), (61, 31), (50, 50), (47, 24)])
@pytest.mark.parametrize("name", ["rademacher", "toeplitz", "near duplicates", "duplicates"])
def test_every_window_is_within(name: str, n: int, t0: int) -> None:
    X = rows(name, n, 4)
    X[n // 2 :, 0] *= 2.0  # and the scale changes on the way
    for k in (1, 2, 4):
        found = kh.bbrcnp(ArrayStream(X, np.zeros(n)), k, t0)
        truth = all_windows(X, k, t0)
        assert within(found, truth), (k, found, truth)


def test_what_grows_slowly_does_not_widen_the_bound() -> None:
    """Half blocks are compared with their neighbours: not the largest of all with the smallest."""
    n, t0, k = 400, 40, 2
    X = rows("rademacher", n, 4) * np.geomspace(1.0, 30.0, n)[:, None]
    found = kh.bbrcnp(ArrayStream(X, np.zeros(n)), k, t0)
    parts = [extremes(scaled(X)[i : i + 20], k) for i in range(0, n, 20)]
    apart = math.sqrt(3 * max(high for _, high in parts) / min(low for low, _ in parts))
    assert apart > 30
    assert found.high < 7
    windows = [extremes(scaled(X)[i : i + t0], k) for i in range(n - t0 + 1)]
    assert found.high >= max(math.sqrt(high / low) for low, high in windows)


def test_half_blocks_that_cannot_be_told_give_no_bound() -> None:
    X = rows("rademacher", 40, 6)
    found = kh.bbrcnp(ArrayStream(X, np.zeros(40)), 6, 10)  # 5 rows, 6 columns
    assert found.high == math.inf
    assert found.low > 1


def test_one_bad_stretch_is_found() -> None:
    """The whole stream is well conditioned, a stretch of it is not (`definition:block-BRCNP`)."""
    X = rows("rademacher", 400, 4)
    X[200:250, 1] = X[200:250, 0]
    stream = ArrayStream(X, np.zeros(400))
    assert kh.restricted_condition_number(stream, 2).high < 2
    assert kh.bbrcnp(stream, 2, 50).low == math.inf


@pytest.mark.parametrize("name", ["rademacher", "toeplitz", "near duplicates"])
def test_a_valid_interval_at_d_100_k_6(name: str) -> None:
    X = rows(name, 500, 100)
    found = kh.rip(X, 6, seconds=0.02)
    assert 0 < found.low <= found.high
    # No subset may lie outside: neighbours are the worst of the last two designs.
    low, high = extremes(scaled(X)[:, :6], 6)
    assert max(math.sqrt(high) - 1, 1 - math.sqrt(low)) <= found.high
    assert kh.restricted_condition_number(X, 6, seconds=0.02).low >= 1


def test_what_makes_no_sense_is_refused() -> None:
    X = rows("rademacher", 10, 3)
    with pytest.raises(kh.ProblemError, match="k must be at most d = 3, got 4"):
        kh.rip(X, 4)
    with pytest.raises(kh.ProblemError, match="k must be at least 1"):
        kh.restricted_condition_number(X, 0)
    with pytest.raises(kh.DataError, match="table of rows"):
        kh.rip(np.zeros(3), 1)
    with pytest.raises(kh.DataError, match="no rows"):
        kh.rip(np.zeros((0, 3)), 1)
    with pytest.raises(kh.DataError, match="no rows"):
        kh.rip(Moments(3), 1)
    with pytest.raises(kh.ProblemError, match="t0 must be at most 10"):
        kh.bbrcnp(ArrayStream(X, np.zeros(10)), 1, 11)
    with pytest.raises(kh.DataError, match="same rows"):
        kh.weak_supermodularity(X, [1.0], 1)
