"""Correlations, shrinking, errors and rounds by their formulas, one feature and row at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from keyhole.errors import LARGEST
from keyhole.learners import practical_dantzig as model
from keyhole.learners.blocks.dantzig import selection
from keyhole.learners.blocks.dantzig.selection import (
    Parts,
    StandardizedModel,
    Thresholds,
    guarded_fit,
    precision,
)
from keyhole.learners.blocks.dantzig.solution import DantzigBasis, DantzigSolution
from keyhole.learners.blocks.draw.sampling import complement_subset
from keyhole.learners.blocks.sums import correlations as shrinkage
from keyhole.learners.blocks.sums.correlations import (
    CONSTANT_VARIANCE,
    MAX_POOLED_ROWS,
    MIN_EVIDENCE,
    correlations,
)
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.learners.practical_dantzig import PracticalDantzig
from keyhole.problem import DataError, Floats, Problem, ProblemError

# --- Shrinking


def slow_means(counts: Floats, mean: Floats, square: Floats) -> list[float]:
    some = [j for j in range(len(counts)) if counts[j] > 1.0 and square[j] > 0.0]
    if not some:
        return [0.0] * len(counts)
    usual = sum(counts[j] for j in some) / len(some)
    excess = total = 0.0
    for j in some:
        weight, share = min(counts[j] - 1.0, usual), mean[j] ** 2 / square[j]
        excess += weight * (counts[j] * share - 1.0) / (counts[j] - 1.0)
        total += weight
    excess = min(max(excess / total, 0.0), 1.0 - 1e-12)
    tau2, out = excess / (1.0 - excess), []
    for j in range(len(counts)):
        kept = mean[j] * tau2 * counts[j] / (tau2 * counts[j] + 1.0)
        if j in some:
            # (N - 1) mean^2 / (square - mean^2): squared standard errors away from 0
            share = mean[j] ** 2 / square[j]
            kept = mean[j] if (counts[j] - 1.0) * share > MIN_EVIDENCE * (1.0 - share) else kept
        out.append(kept)
    return out


@pytest.mark.parametrize("seed", range(8))
def test_shrunk_means_by_their_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.append(rng.integers(1, 30, 12).astype(np.float64), [0.0, 1.0, 9.0, 0.5])
    mean = rng.normal(size=16) * (0.2, 1.0)[seed % 2]
    square = mean**2 + rng.uniform(0.3, 2.0, 16)
    mean[-4], square[-4], mean[-2], square[-2] = 0.0, 0.0, 0.0, 0.0
    mean[0], square[0] = 9.0, 81.5  # far from 0: kept
    expected = slow_means(counts, mean, square)
    np.testing.assert_allclose(shrinkage.shrunk_means(counts, mean, square), expected)
    if seed % 2:
        assert any(0.0 < abs(e) < abs(m) for e, m in zip(expected, mean, strict=True))
    nothing = shrinkage.shrunk_means(np.ones(2), np.ones(2), np.ones(2))
    assert nothing.tolist() == [0.0, 0.0]


def test_means_beyond_their_errors_are_kept() -> None:
    """With N = 21 and variance v = square - mean^2: 20 mean^2 against 20 v."""
    for m, kept in ((1.01, True), (0.99, False)):
        mean, square = np.array([m, 0.0, 0.0]), np.array([m * m + 1.0, 1.0, 1.0])
        found = shrinkage.shrunk_means(np.full(3, 21.0), mean, square)
        assert (found[0] == m) == kept
        assert found[0] > 0.0
    constant = shrinkage.shrunk_means(np.full(2, 5.0), np.full(2, 3.0), np.full(2, 9.0))
    assert constant.tolist() == [3.0, 3.0]  # all of the square is the mean's


@pytest.mark.parametrize("seed", range(6))
def test_pooled_scales_by_their_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.append(rng.integers(1, 20, 9).astype(np.float64), [1.0, 1.5, 0.5, 4.0])
    spent = np.append(rng.uniform(size=9), [0.5, 1.0, 0.25, 0.5])
    squares = np.exp((0.3, 3.0)[seed % 2] * rng.normal(size=13))
    floor = np.full(13, 1e-9)
    squares[-1] = 1e-9  # up to the floor is rounding
    some = [j for j in range(13) if counts[j] - spent[j] >= 0.5 and squares[j] > floor[j]]
    assert 9 in some  # half a degree of freedom will do
    assert 11 not in some
    nu = {j: counts[j] - spent[j] for j in some}
    usual = sum(nu.values()) / len(nu)
    log = {j: math.log(squares[j] * counts[j] / nu[j]) for j in some}
    weight = {j: min(nu[j], usual) for j in some}
    total = sum(weight.values())
    middle = sum(weight[j] * log[j] for j in some) / total
    spread = sum(
        weight[j] * ((log[j] - middle) ** 2 - 2.0 / nu[j] - 2.0 / nu[j] ** 2) for j in some
    )
    pool = min(MAX_POOLED_ROWS, 2.0 * total / spread) if spread > 0.0 else MAX_POOLED_ROWS
    expected = np.zeros(13)
    for j in some:
        expected[j] = math.exp(-0.5 * (nu[j] * log[j] + pool * middle) / (nu[j] + pool))
    np.testing.assert_allclose(shrinkage.pooled_scales(counts, squares, spent, floor), expected)
    assert (pool < MAX_POOLED_ROWS) == bool(seed % 2)
    none = shrinkage.pooled_scales(np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))
    assert none.tolist() == [0.0, 0.0]


def test_the_units_of_the_label() -> None:
    cases = [(50.0, 0.3, 1.0), (4.0, 0.3, 1.0), (50.0, -0.5, 2.0), (9.0, 2.0, 1.0)]
    for n, mean, variance in (*cases, (50.0, 0.8, 1.0), (8.0, 1.5, 1.0), (8.0, -1.5, 0.8)):
        kept = 1.0
        if n * mean**2 <= MIN_EVIDENCE * variance:
            kept = max(0.0, 1.0 - variance / (n * mean**2))
        about = variance + (mean - kept * mean) ** 2
        found = shrinkage.label_units(n, mean, variance + mean**2)
        assert found == pytest.approx((kept * mean, math.sqrt(about)))
    assert shrinkage.label_units(20.0, 0.0, 4.0) == (0.0, 2.0)
    told = shrinkage.label_units(20.0, 1.0, 2.0)
    assert told == pytest.approx((0.95, math.hypot(1.0, 0.05)))
    assert shrinkage.label_units(20.0, 1.0, 1.99)[0] == 1.0  # 20 errors or more: as it is
    assert shrinkage.label_units(5.0, 3.0, 9.0) == (3.0, 0.0)  # never varied
    for share, varied in ((0.5, False), (4.0, True)):
        scale = shrinkage.label_units(5.0, 1.0, 1.0 + share * CONSTANT_VARIANCE)[1]
        assert (scale > 0.0) == varied


def seen(seed: int, n: int = 60, d: int = 5) -> tuple[Floats, Floats, SeenSums]:
    """Rows of which a part was seen, feature 4 the least."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3) + np.arange(d)
    X[rng.random((n, d)) < 0.3] = np.nan
    X[6:, 4] = np.nan
    y = np.nansum(X, axis=1) + rng.normal(size=n)
    sums = SeenSums(d)
    for x, label in zip(X, y.tolist(), strict=True):
        S = np.flatnonzero(~np.isnan(x))
        sums.add(S, x[S], label)
    return X, y, sums


@pytest.mark.parametrize("seed", range(4))
def test_correlations_by_the_rows_they_come_from(seed: int) -> None:
    X, y, sums = seen(seed)
    counts = (~np.isnan(X)).sum(axis=0).astype(np.float64)
    mean, square = np.nanmean(X, axis=0), np.nanmean(X**2, axis=0)
    centre = shrinkage.shrunk_means(counts, mean, square)
    about = np.nanmean((X - centre) ** 2, axis=0)
    inverse = shrinkage.pooled_scales(counts, about, centre / mean, CONSTANT_VARIANCE * square)
    centre_y, scale_y = shrinkage.label_units(60.0, y.mean(), float((y**2).mean()))
    Z, z = (X - centre) * inverse, (y - centre_y) / scale_y
    for shrink, own in ((True, MIN_EVIDENCE), (True, 2.0), (False, MIN_EVIDENCE)):
        found = correlations(sums, shrink=shrink, own=own)
        np.testing.assert_allclose(found.counts, counts)
        np.testing.assert_allclose(found.centre, centre)
        np.testing.assert_allclose(found.inverse, inverse)
        assert (found.centre_y, found.scale_y) == pytest.approx((centre_y, scale_y))
        np.testing.assert_allclose(found.c, np.nanmean(Z * z[:, None], axis=0), atol=1e-12)
        assert found.own == (own if shrink else 0.0)
        for i in range(5):
            assert found.R[i, i] == 1.0
            for j in range(5):
                N = float((~np.isnan(X[:, i] + X[:, j])).sum())
                if i != j and N > 0:
                    r = float(np.nanmean(Z[:, i] * Z[:, j]))
                    share = 1.0
                    if shrink and N * r * r <= own:
                        least = min(counts[i], counts[j])
                        share = (found.tau2 + 1.0 / least) / (found.tau2 + 1.0 / N)
                    assert found.R[i, j] == pytest.approx(share * r)


def test_pairs_come_in_stripes(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, sums = seen(0)
    whole = correlations(sums)
    for stripe in (1, 7, 10, 25):
        monkeypatch.setattr(shrinkage, "PAIRS_PER_STRIPE", stripe)
        pairs = [(a, b) for i, j in shrinkage.stripes(5) for a, b in zip(i, j, strict=True)]
        assert pairs == [(a, b) for a in range(5) for b in range(a + 1, 5)]
        np.testing.assert_allclose(correlations(sums).R, whole.R, rtol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_standard_errors_by_their_formula(seed: int) -> None:
    X, _, sums = seen(seed)
    for shrink in (True, False):
        found = correlations(sums, shrink=shrink)
        support, w = np.array([1, 4]), np.array([0.5, -0.25])
        errors = shrinkage.standard_errors(sums, found, support, w, 0.3)
        Z = (X - found.centre) * found.inverse
        for j in range(5):
            total = 0.3
            for i, weight in zip(support.tolist(), w, strict=True):
                N = float((~np.isnan(X[:, i] + X[:, j])).sum())
                if i == j:
                    continue
                f, e = 1.0, 1.0
                if N > 0:
                    r = float(np.nanmean(Z[:, i] * Z[:, j]))
                    if N * r * r <= found.own:
                        least = min(found.counts[i], found.counts[j])
                        f = (found.tau2 + 1.0 / least) / (found.tau2 + 1.0 / N)
                    e = max(0.0, 1.0 - 2.0 * f + f * f * found.counts[j] / N)
                total += weight**2 * e
            assert errors[j] == pytest.approx(math.sqrt(total / found.counts[j]))


def test_pairs_that_never_met_are_noise_and_unseen_features_have_no_error() -> None:
    sums = SeenSums(3)
    for x in (1.0, -1.0, 2.0, -2.0):
        sums.add(np.array([0]), np.array([x]), x)
        sums.add(np.array([1]), np.array([x]), -x)
    found = correlations(sums)
    np.testing.assert_array_equal(found.R, np.eye(3))
    errors = shrinkage.standard_errors(sums, found, np.array([1]), np.array([2.0]), 0.5)
    assert errors[0] == pytest.approx(math.sqrt((0.5 + 4.0) / 4.0))
    assert errors[1] == pytest.approx(math.sqrt(0.5 / 4.0))
    assert errors[2] == math.inf
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    assert shrinkage.standard_errors(sums, found, *none, 0.0).tolist() == [0.0, 0.0, math.inf]


def test_correlations_of_features_without_a_scale_are_left_at_zero() -> None:
    _, _, sums = seen(0)
    centre, inverse = np.zeros(5), np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    pairs = np.array([0, 1, 0]), np.array([1, 3, 2])
    r, _ = shrinkage.available(sums, centre, inverse, *pairs)
    assert (r != 0.0).tolist() == [False, False, True]
    # And they say nothing of how far correlations are from 0.
    X = seen(0)[0]
    met = {(i, j): float((~np.isnan(X[:, i] + X[:, j])).sum()) for i in range(5) for j in range(i)}
    usual, total, excess = sum(met.values()) / len(met), 0.0, 0.0
    for (i, j), N in met.items():
        if inverse[i] * inverse[j] > 0.0:
            share = min(N, usual)
            excess += share * (float(np.nanmean(X[:, i] * X[:, j])) ** 2 - 1.0 / N)
            total += share
    assert shrinkage.raw_correlations(sums, centre, inverse)[1] == pytest.approx(excess / total)


# --- The fit and the selection


def test_the_fit_takes_the_first_share_that_makes_sense() -> None:
    rng, taken = np.random.default_rng(0), set()
    for _ in range(200):
        m = int(rng.integers(1, 5))
        E = rng.normal(size=(m, m)) * rng.choice([0.2, 0.6, 1.0])
        R = np.asarray(E + E.T, dtype=np.float64)
        np.fill_diagonal(R, 1.0)
        c, pairs = rng.uniform(-1.0, 1.0, m), float(rng.choice([0.0, 2.0, 50.0]))
        ridge = 1.0 / max(pairs, 1.0)
        for share in (1.0, 0.5, 0.25, 0.0):
            S = np.where(np.eye(m) > 0, R, share * R)
            if np.linalg.eigvalsh(S + ridge * np.eye(m))[0] <= 1e-12:
                continue
            w = np.linalg.solve(S + ridge * np.eye(m), c)
            explained = 2.0 * w @ c - w @ S @ w
            if share == 0.0 or 0.0 <= explained <= 1.5:
                break
        taken.add(share)
        np.testing.assert_allclose(guarded_fit(R, c, pairs), w, atol=1e-8)
    assert taken == {1.0, 0.5, 0.25, 0.0}


def test_a_precision_lifts_small_eigenvalues_only() -> None:
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    R = (Q * [-0.4, 0.02, 2.0]) @ Q.T
    N = np.array([4.0, 9.0, 25.0])
    expected = np.sqrt(np.outer(N, N)) * ((Q * [0.05, 0.05, 2.0]) @ Q.T)
    np.testing.assert_allclose(precision(R, N), expected)


def test_thresholds_that_make_no_sense_are_refused() -> None:
    for wrong in ({"scale": 0.0}, {"raised": 1.0}, {"raised": 0.5}, {"most": -1.0}):
        with pytest.raises(ProblemError, match=next(iter(wrong))):
            Thresholds(**wrong)
    assert Thresholds(most=0.0, raised=1.01).most == 0.0


def test_the_residual_variance_of_a_model() -> None:
    _, _, sums = seen(1)
    found = correlations(sums)
    S, w = np.array([0, 3]), np.array([0.3, 0.2])
    left = 1.0 - 2.0 * (w @ found.c[S]) + w @ found.R[np.ix_(S, S)] @ w
    assert 0.01 < left < 1.0
    assert selection.residual_variance(found, StandardizedModel(S, w)) == pytest.approx(left)
    assert selection.residual_variance(found, StandardizedModel(S, w), 0.99) == 0.99
    perfect = StandardizedModel(S, np.linalg.solve(found.R[np.ix_(S, S)], found.c[S]) * 1.0)
    assert selection.residual_variance(found, perfect) < left
    assert selection.residual_variance(found, StandardizedModel(S, np.full(2, 1e200))) == 1.0


class Scripted:
    """A solver that says what it is told to say, and writes down what it was asked."""

    def __init__(self, *said: tuple[str, int]) -> None:
        self.said, self.asked = list(said), list[tuple[Floats, Floats, object]]()
        self.given = list[DantzigSolution]()

    def __call__(
        self, R: Floats, c: Floats, lam: Floats, *, start: DantzigBasis | None
    ) -> DantzigSolution:
        self.asked.append((c, lam, start))
        status, nonzeros = self.said[min(len(self.asked), len(self.said)) - 1]
        w, none, nothing = np.zeros(5), np.zeros(0, np.int64), np.zeros(0)
        w[:nonzeros] = 0.1
        basis = DantzigBasis(none, nothing, none, nothing)
        known = DantzigSolution(w, w, "limit", 0, 0.0, 0.0, 0.0, 1.0, "scripted", basis)
        self.given.append(known._replace(status=status))  # type: ignore[arg-type]
        return self.given[-1]


def test_the_scale_rises_until_the_answer_is_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, sums = seen(2)
    found = replace(correlations(sums), inverse=np.array([1.0, 0.0, 1.0, 1.0, 1e-3]))
    errors, first = (
        np.array([0.1, 0.2, np.inf, 0.4, 0.5]),
        Scripted(("optimal", 0))(found.R, found.c, found.c, start=None).basis,
    )
    told = Scripted(("optimal", 5), ("limit", 1), ("optimal", 3), ("optimal", 2), ("optimal", 0))
    monkeypatch.setattr(selection, "solve", told)
    answer, scale = selection.program(found, errors, 1, Thresholds(0.5, 1.5, 2.0), first)
    assert answer is told.given[3]  # two are not more than 2 k
    assert scale == pytest.approx(0.5 * 1.5**3)
    known = np.array([0, 3, 4])  # with a scale, and an error
    for i, (c, lam, start) in enumerate(told.asked):
        np.testing.assert_allclose(lam[known], 0.5 * 1.5**i * errors[known])
        assert np.isinf(np.delete(lam, known)).all()
        np.testing.assert_array_equal(c[known], found.c[known])
        # From the last answer that was one.
        expected = (first, told.given[0].basis, None, told.given[2].basis)[i]
        assert start is expected
    for raised, scales in ((2.0, [1.0, 2.0, 4.0, 8.0]), (2.1, [1.0, 2.1, 4.41])):  # 8 at most
        told = Scripted(("optimal", 5))
        monkeypatch.setattr(selection, "solve", told)
        answer, scale = selection.program(found, errors, 1, Thresholds(1.0, raised, 2.0))
        assert scale == pytest.approx(scales[-1])
        assert [lam[0] / 0.1 for _, lam, _ in told.asked] == pytest.approx(scales)


def test_a_program_that_is_not_solved_leaves_the_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, sums = seen(3)
    found = correlations(sums)
    pilot = StandardizedModel(np.array([2]), np.array([0.2]))
    for status in ("limit", "optimal"):
        monkeypatch.setattr(selection, "solve", Scripted((status, 2)))
        for refit in (True, False):
            chosen = selection.select(
                sums, found, pilot, 3, selection.DEFAULT_THRESHOLDS, refit=refit
            )
            model = chosen.model
            if status == "limit":
                assert model is pilot
            elif refit:
                np.testing.assert_array_equal(model.support, [0, 1])
                fit = selection.fitted(sums, found, model.support)
                np.testing.assert_array_equal(model.w, fit.w)
            else:
                assert model.w.tolist() == [0.1, 0.1]
            assert chosen.residual == selection.residual_variance(found, model)
            errors = shrinkage.standard_errors(sums, found, model.support, model.w, chosen.residual)
            np.testing.assert_array_equal(chosen.errors, errors)


def test_a_model_without_noise_still_leaves_a_little() -> None:
    _, _, sums = seen(3)
    found = replace(correlations(sums), R=np.eye(5), c=np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    exact = StandardizedModel(np.array([0]), np.array([1.0]))
    assert selection.residual_variance(found, exact) == 1e-6
    assert (
        selection.residual_variance(found, StandardizedModel(np.array([0]), np.array([0.8]))) < 0.1
    )


def test_the_defaults_are_all_of_it() -> None:
    parts, names = Parts(), ("shrink", "played", "refit", "adapt", "fill", "reweight")
    assert [getattr(parts, name) for name in names] == [True] * 6
    assert parts.thresholds == selection.DEFAULT_THRESHOLDS == Thresholds(1.0, 1.25, 2.0)


def test_when_the_program_is_solved_next() -> None:
    for growth, least in ((1.1, 4), (2.0, 1), (1.0, 3)):
        parts = Parts(growth=growth, least=least)
        for t in (1, 7, 40, 1000):
            assert parts.next_solve(t) == max(t + least, math.ceil(t * growth))
    for wrong in ({"growth": 0.9}, {"least": 0}):
        with pytest.raises(ProblemError, match=next(iter(wrong))):
            Parts(**wrong)


# --- Rounds


CENTRE, INVERSE = np.array([0.5, -1.0]), np.array([2.0, 0.25])


def playing(A: Floats, b: Floats, parts: Parts = Parts()) -> PracticalDantzig:  # noqa: B008
    """A learner in the middle of a game: it plays features 1 and 4 and solves no more."""
    learner = PracticalDantzig(Problem(8, 2, 5), seed=3, parts=parts)
    P = inverse_of(A)
    units = np.array([1, 4]), CENTRE.copy(), INVERSE.copy()
    learner._played = type(learner._played)(1, *units, A.copy(), b.copy(), P, P @ b)
    learner._limits[:] = 0.25, -0.5, 0.5
    learner._record[:] = 1.0, 2.0, 3.0
    learner._next = 10**9
    learner._read(np.array([6] if parts.played else [], dtype=np.int64))
    return learner


def test_a_row_in_units_of_standard_deviations() -> None:
    ticket = playing(np.eye(3), np.zeros(3)).ask()
    at = np.searchsorted(ticket.features, [1, 4])
    values = np.full(5, 9.0)
    for x, expected in (
        ((1.0, 3.0), [1.0, 1.0, 1.0]),
        ((np.nan, -7.0), [0.0, -1.5, 1.0]),
        ((1e150, 3.0), [LARGEST, 1.0, 1.0]),
        ((-1e150, 3.0), [-LARGEST, 1.0, 1.0]),
    ):
        values[at] = x
        assert model.standardised(ticket.fill(values)).tolist() == expected


def test_predictions_stay_between_the_labels_so_far() -> None:
    learner = playing(np.eye(3), np.zeros(3))
    learner._limits[:], learner._record[:] = (10.0, 0.0, 0.0), (0.25, 1.0, 0.0)
    squared = 0.25
    for label, limits in (
        (5.0, (5.0, 5.0)),
        (7.0, (5.0, 7.0)),
        (2.0, (2.0, 7.0)),
        (3.0, (2.0, 7.0)),
    ):
        seen = learner.ask().fill(np.full(5, np.nan))
        squared += (label - learner.predict(seen)) ** 2
        learner.tell(seen, label)
        assert learner._limits.tolist() == [10.0, *limits]  # the first label is all there is
    assert learner._record.tolist() == pytest.approx([squared, 5.0, 4.0])
    zeros = {"P": np.zeros((1, 1)), "limits": np.array([10.0, 2.0, 7.0])}
    for along, expected in ((-6.0, 4.0), (-12.0, 2.0), (0.0, 7.0)):
        assert model.predicted({**zeros, "theta": np.array([along])}, np.ones(1)) == expected


def inverse_of(A: Floats) -> Floats:
    return np.asarray(np.linalg.inv(A), dtype=np.float64)


def slow_vaw(A: Floats, b: Floats, z: Floats) -> float:
    """Vovk, Azoury and Warmuth: the row counts before its label is known."""
    return float(z @ np.linalg.solve(A + np.outer(z, z), b))


@pytest.mark.parametrize("all_count", [True, False])
def test_rounds_one_by_one(all_count: bool) -> None:
    """Drawn, predicted by the definition of VAW, learnt and summed; some values are absent."""
    rng, d, n = np.random.default_rng(2), 8, 7
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    X[rng.random((n, d)) < 0.2] = np.nan
    A, b = 2.0 * np.eye(3), np.array([0.5, -0.3, 0.2])
    learner, slow = playing(A, b, Parts(played=all_count)), SeenSums(d)
    fixed, explore = ([1, 4, 6], 2) if all_count else ([1, 4], 3)
    bought = np.full((n, 5), 99, dtype=np.int32)
    predictions = learner.advance(X, y, bought)
    low, high, squared = -0.5, 0.5, 1.0
    for t in range(n):
        drawn = complement_subset(3, 1 + t, d, explore, fixed if all_count else [])
        union = np.union1d(drawn, fixed)
        assert bought[t].tolist() == [*union.tolist(), *[-1] * (5 - len(union))]
        z = np.ones(3)
        z[:2] = np.nan_to_num((X[t, [1, 4]] - CENTRE) * INVERSE)
        guess = min(max(0.25 + slow_vaw(A, b, z), low), high)
        assert predictions[t] == pytest.approx(guess)
        squared += (y[t] - guess) ** 2
        low, high = min(low, y[t]), max(high, y[t])
        A += np.outer(z, z)
        b += (y[t] - 0.25) * z
        counted = union if all_count else drawn
        counted = counted[~np.isnan(X[t, counted])]
        slow.add(counted, X[t, counted], float(y[t]))
    played = learner._played
    np.testing.assert_allclose(played.A, A)
    np.testing.assert_allclose(played.b, b)
    np.testing.assert_allclose(played.P, np.linalg.inv(A), atol=1e-12)
    np.testing.assert_allclose(played.theta, np.linalg.solve(A, b))
    np.testing.assert_allclose(learner._limits, [0.25, low, high])
    np.testing.assert_allclose(learner._record, [squared, 2.0 + n, 3.0 + n])
    for mine, its in zip(learner.sums.arrays(), slow.arrays(), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-12)


def test_rows_that_are_too_large_for_vaw_teach_nothing_and_move_nothing() -> None:
    P, theta = np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([2.0, 3.0])
    Pz, along, s = model.vaw_terms(P, theta, np.array([0.5, 0.25]))
    assert (Pz.tolist(), along, s) == ([0.5, -0.25], 1.75, 1.1875)
    for z, kept in (
        ((0.0, 1.0), 3.0),  # 1 + z'P z = 0
        ((1e151, 0.0), 2e151),  # P z is too large
        ((1e160, 0.0), 2e160),  # z'P z overflows
    ):
        Pz, along, s = model.vaw_terms(P, theta, np.array(z))
        assert (Pz.tolist(), along, s) == ([0.0, 0.0], kept, 1.0)
    assert model.vaw_terms(P, np.full(2, 1e300), np.ones(2))[1] == 0.0
    assert model.vaw_terms(P, np.array([1e300, -1e300]), np.full(2, 1e300))[1] == 0.0


def test_a_block_ends_before_a_value_that_cannot_be_squared() -> None:
    X, y = np.ones((5, 8)), np.arange(5.0)
    X[3, 4] = 1e200
    learner = playing(np.eye(3), np.zeros(3))
    with pytest.raises(DataError, match="round 4"):
        learner.advance(X, y)
    assert learner.round == 3
    assert learner._record[1] == 2.0 + 3.0
    assert learner.sums.totals.tolist() == [3.0, 0.0 + 1.0 + 2.0, 0.0 + 1.0 + 4.0]
    assert learner._played.A[2, 2] == 1.0 + 3.0
