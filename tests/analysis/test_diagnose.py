"""The diagnosis names what is wrong, says what to do, and never says more than it knows."""

import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import Floats
from keyhole.streams import ArrayStream

NAMES = ["age", "age_months", "unit", "red", "green", "blue", "income", "twin", "flag", "bmi"]


def messy(n: int = 2000) -> ArrayStream:
    """A constant, a copy, a one-hot group, heavy tails, near duplicates, gaps, a shifted label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    X[:, 0] = rng.uniform(20, 80, n)
    X[:, 1] = 12 * X[:, 0]
    X[:, 2] = 1.0
    X[:, 3:6] = np.eye(3)[rng.integers(0, 3, n)]
    X[:, 6] = np.exp(3 * rng.normal(size=n))
    X[:, 7] = X[:, 9] + 0.05 * rng.normal(size=n)
    X[:, 8] = rng.random(n) < 0.01
    y = 100 + X[:, 0] + 5 * X[:, 9] + rng.normal(size=n)
    X[rng.random(n) < 0.05, 9] = np.nan
    return ArrayStream(X, y, NAMES)


def finding(report: kh.Diagnosis, start: str) -> str:
    texts = [f"{f.do} {f.what}" for f in report.findings if f.do.startswith(start)]
    assert len(texts) == 1, [f.do for f in report.findings]
    return texts[0]


def test_every_fault_is_named() -> None:
    report = kh.diagnose(messy(), k=2, budget=6)
    assert "unit" in finding(report, "Drop columns that never change")
    assert "age_months (repeats age)" in finding(report, "Drop copies")
    assert "blue" in finding(report, "Drop columns that others determine")
    alike = finding(report, "Keep one of features")
    assert "1 pair" in alike
    assert "twin" in alike
    heavy = finding(report, "Take logarithms")
    assert "income" in heavy
    assert "flag" not in heavy  # rare, but only two values
    assert "bmi" in finding(report, "Leave gaps empty")
    assert "beyond 1 in size" in finding(report, "Leave scales")
    label = finding(report, "Leave the label")
    assert "mean is 1" in label
    assert report.drop == (1, 2, 5)


def test_the_page_can_be_acted_on() -> None:
    report = kh.diagnose(messy(), k=2, budget=6)
    page = str(report)
    assert max(map(len, page.splitlines())) <= 100
    assert len(page.splitlines()) < 60
    for heading in ("WHAT TO DO FIRST", "WHAT TO EXPECT", "WHICH GUARANTEES APPLY", "RECOMMENDED"):
        assert heading in page
    assert "2,000 rounds, 10 features; models of 2, 6 read per example" in page
    assert "after dropping 3 columns" in page
    assert report.recommendation.code in page
    assert "nan" not in page


def test_a_clean_stream_has_nothing_to_do() -> None:
    stream, truth = kh.streams.realizable(d=20, k=2, n=20_000, noise_sd=0.1, seed=3)
    X, y = kh.streams.collect(stream)
    report = kh.diagnose(ArrayStream(X, y / np.abs(y).max()), k=2, budget=8)
    assert report.findings == ()
    assert "Nothing: the columns look as they should." in str(report)
    assert report.fit is not None
    assert report.fit.features == tuple(truth.support.tolist())
    assert report.fit.full >= report.fit.sparse > 0.95
    assert report.guarantees[0].verdict == "not refuted"
    assert "every prefix" in report.guarantees[0].why


def test_nothing_ever_holds() -> None:
    """There is no such verdict: what the theorems ask for cannot be proven from data."""
    for design in (kh.streams.designs.rademacher, kh.streams.designs.toeplitz(0.5)):
        stream, _ = kh.streams.realizable(d=12, k=2, n=5000, design=design)
        report = kh.diagnose(stream, k=2, budget=6)
        assert all(g.verdict in ("fails", "open", "not refuted") for g in report.guarantees)


def test_failing_is_proven_by_the_interval() -> None:
    report = kh.diagnose(messy(), k=2, budget=6)
    realizable, agnostic = report.guarantees
    assert realizable.verdict == "fails"
    assert report.rip.low > kh.theory.RIP_REALIZABLE
    assert agnostic.verdict == "fails"
    assert "cannot be used on 2,000 rounds" in agnostic.why


def test_how_often_a_pair_is_seen() -> None:
    report = kh.diagnose(messy(), k=2, budget=6)
    assert report.pair_views == pytest.approx(2000 * 4 * 3 / (10 * 9))
    moments = Moments(10)
    for t in range(2000):
        S = uniform_subset(0, t, 10, 4)
        moments.add(S, np.ones(4), 0.0)
    # Binomial(2000, 2/15): standard deviation 15.2, and 45 pairs: 6 of them for 1e-6 or less.
    off = moments.N[np.triu_indices(10, 1)]
    assert np.abs(off - report.pair_views).max() < 6 * 15.2
    assert kh.diagnose(messy(), k=2, budget=10).pair_views == 2000


def test_the_budget_that_would_be_enough() -> None:
    stream, _ = kh.streams.realizable(d=40, k=2, n=1000, seed=0)
    report = kh.diagnose(stream, k=2, budget=4)
    assert report.pair_views < 10
    assert report.enough is not None
    assert f"raise the budget to {report.enough}" in str(report)
    assert kh.diagnose(stream, k=2, budget=report.enough).pair_views >= 100
    assert kh.diagnose(stream, k=2, budget=report.enough - 1).pair_views < 100
    short, _ = kh.streams.realizable(d=40, k=2, n=50, seed=0)
    assert "too short for 100 times at any budget" in str(kh.diagnose(short, k=2, budget=4))
    never = kh.diagnose(stream, k=2, budget=3)
    assert never.pair_views == 0
    assert "never read together" in str(never)
    assert never.recommendation.learner == "auto"
    assert never.proper is None


def standardised(stream: ArrayStream, drop: tuple[int, ...]) -> tuple[Floats, Floats]:
    X = np.delete(
        np.where(np.isnan(stream.X), np.nanmean(stream.X, axis=0), stream.X), drop, axis=1
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), (stream.y - stream.y.mean()) / stream.y.std()


def test_the_recommended_learners_learn() -> None:
    stream = messy(20_000)
    report = kh.diagnose(stream, k=2, budget=6)
    X, y = standardised(stream, report.drop)
    problem = kh.Problem(X.shape[1], 2, 6)
    losses = []
    for advice in (report.recommendation, report.proper):
        assert advice is not None
        assert advice.learner in kh.LEARNERS
        assert advice.code in str(report)
        learner = eval(advice.code, {"kh": kh, "problem": problem})
        losses.append(kh.play(learner, ArrayStream(X, y)).mean_loss)
    assert max(losses) < 0.6  # of 1 for predicting the mean
    assert losses[0] < losses[1], "what is recommended first does better"


def test_from_what_a_learner_bought() -> None:
    stream, _ = kh.streams.realizable(d=12, k=2, n=4000, noise_sd=0.1, seed=0)
    learner = kh.DantzigLearner(kh.Problem(12, 2, 6), seed=0, noise_sd=0.1, threshold_scale=0.1)
    kh.play(learner, stream)
    report = kh.diagnose_moments(learner.moments, k=2, budget=6, names=list("abcdefghijkl"))
    assert report.partial
    assert "only what a learner bought: every number below is an estimate" in str(report)
    assert "estimate from partially seen rows" in report.rip.how
    assert report.fit is None
    assert all(g.verdict == "open" for g in report.guarantees)  # nothing is proven by estimates
    assert "stimated" in report.guarantees[0].why
    assert report.pair_views == pytest.approx(4000 * 4 * 3 / (12 * 11))
    assert report.proper is not None
    assert report.proper.learner == "dantzig"


def test_moments_of_complete_rows_are_no_estimate() -> None:
    X, moments = np.random.default_rng(0).choice([-1.0, 1.0], (500, 4)), Moments(4)
    for x in X:
        moments.add(np.arange(4), x, x[0])
    report = kh.diagnose_moments(moments, k=1, budget=3)
    assert not report.partial
    assert report.fit is not None
    assert report.fit.sparse == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_and_empty_streams(n: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, 3))
    assert "RECOMMENDED" in str(kh.diagnose(ArrayStream(X, X[:, 0]), k=1, budget=3))
    constant = ArrayStream(np.ones((n, 3)), np.ones(n))
    report = kh.diagnose(constant, k=2, budget=2)
    assert "the label is constant" in str(report)
    assert report.rip.high == math.inf
    with pytest.raises(kh.DataError, match="empty"):
        kh.diagnose(ArrayStream(np.ones((0, 3)), np.ones(0)), k=1, budget=2)
    with pytest.raises(kh.DataError, match="no rows"):
        kh.diagnose_moments(Moments(3), k=1, budget=2)
    with pytest.raises(kh.ProblemError, match="budget must be at most"):
        kh.diagnose(constant, k=1, budget=4)


def test_one_feature() -> None:
    X = np.linspace(-1, 1, 50)[:, None]
    report = kh.diagnose(ArrayStream(X, X[:, 0]), k=1, budget=1)
    assert report.pair_views == 50
    assert report.fit is not None
    assert report.fit.sparse == pytest.approx(1.0)
