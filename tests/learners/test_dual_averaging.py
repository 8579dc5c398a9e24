"""DualAveragingLearner: its gradient is unbiased, its rounds are the formula, and it learns."""

import itertools
import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import inclusion_complement
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.dual_averaging import DualAveragingDraw, gradient
from keyhole.problem import Floats
from tests.helpers.rounds import excess
from tests.helpers.twins import Deaf
from tests.helpers.variants import check_variant

PROBLEM = kh.Problem(d=6, k=2, budget=4)
EASY = kh.Problem(d=20, k=2, budget=6)


def draw_of(
    w: Floats, S: list[int], drawn: tuple[int, ...], m: int, dense: bool
) -> DualAveragingDraw:
    """The draw that reads S always and `drawn`, one of the m-subsets of the rest."""
    features = np.array(sorted([*S, *drawn]))
    always = np.isin(features, S)
    scheme = inclusion_complement(len(w), S, m)
    played = np.where(always, w[features], 0.0)
    chances = np.array([scheme.p, scheme.q])
    return DualAveragingDraw(
        features, played, w[features] if dense else played, always, 0.0 * played, chances
    )


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("S", [[1, 4], []])
def test_the_gradient_is_unbiased_given_the_draw(dense: bool, S: list[int]) -> None:
    """The mean over all subsets that could be drawn is the gradient, exactly."""
    rng = np.random.default_rng(0)
    w, x, y, m = rng.normal(size=6), rng.normal(size=6), 0.7, 2
    point = w if dense else np.where(np.isin(np.arange(6), S), w, 0.0)
    rest = [j for j in range(6) if j not in S]
    mean, careless = np.zeros(6), np.zeros(6)
    subsets = list(itertools.combinations(rest, m))
    for drawn in subsets:
        draw = draw_of(w, S, drawn, m, dense)
        mean[draw.features] += gradient(draw, x[draw.features], y) / len(subsets)
        # Broken twin: the residual of what was read, as if that were all of the point.
        p = np.where(draw.always, 1.0, draw.chances[0])
        e = draw.point @ x[draw.features] - y
        careless[draw.features] += 2 * e * x[draw.features] / p / len(subsets)
    np.testing.assert_allclose(mean, 2 * (point @ x - y) * x, rtol=1e-12, atol=1e-12)
    # Without anything outside S in the point the residual is exact, and the twin is right.
    assert np.allclose(careless, mean) == (not dense)


def test_one_explored_feature_counts_pairs_as_uncorrelated() -> None:
    w, x = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    g = gradient(draw_of(w, [], (2,), 1, True), x[2:], 0.5)
    assert g[0] == pytest.approx(2 * 3.0 * 3 * (2.0 * 3.0 - 0.5))


@pytest.mark.parametrize("radius", [None, 0.3])
@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
@pytest.mark.parametrize("problem", [PROBLEM, kh.Problem(6, 2, 2), kh.Problem(6, 2, 6)], ids=str)
def test_rounds_are_those_of_a_plain_transcription(
    problem: kh.Problem, schedule: str, radius: float | None
) -> None:
    """60 rounds against NumPy that is told what was read and works out everything else."""
    d, k, budget = problem.d, problem.k, problem.reads
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (60, d))
    y = X[:, 2] - 0.5 * X[:, 5] + 0.1 * rng.standard_normal(60)
    learner = kh.DualAveragingLearner(problem, seed=5, schedule=schedule, radius=radius)
    h: Floats = np.zeros(d)
    gradients, labels, values = 0.0, 0.0, 0.0
    stream = kh.streams.ArrayStream(X, y)
    for t, played in enumerate(kh.rounds(learner, stream), start=1):
        D, x = played.features, X[t - 1]
        r = radius if radius is not None else 1.25 * math.sqrt(labels / values) if t > 1 else 1.0
        lam = math.sqrt(gradients) / r
        if schedule == "paper":
            lam = math.sqrt(8 * d * t / (budget - k if budget > k else k))
        strength = max(lam, float(np.linalg.norm(h)) / r)
        w = -h / strength if strength else h
        S = top_k(w, k)
        square = len(S) == budget < d and math.isqrt(t) ** 2 == t
        always = np.array([], dtype=np.int64) if square else S
        assert square or np.isin(S, D).all()
        assert len(D) == budget
        w_S = np.where(np.isin(np.arange(d), S), w, 0.0)
        assert played.y_hat == pytest.approx(w_S[D] @ x[D], abs=1e-12)
        scheme = inclusion_complement(d, always, budget - len(always))
        g = np.zeros(d)
        for i in D:
            pair = scheme.pair(np.full(len(D), i), D) / scheme.single[i]
            g[i] = 2 * x[i] / scheme.single[i] * ((w_S[D] * x[D] / pair).sum() - y[t - 1])
        h, gradients = h + g, gradients + float(g @ g)
        labels, values = labels + y[t - 1] ** 2, values + float((x[D] ** 2).mean())
    np.testing.assert_allclose(learner._dual.h, h, rtol=1e-9, atol=1e-12)
    assert learner._dual.updates[0] == 60


def test_exploration_at_squares_if_the_budget_is_spent_on_playing() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 6))
    learner = kh.DualAveragingLearner(kh.Problem(6, 2, 2), seed=0)
    stream = kh.streams.ArrayStream(X, X[:, 1] - X[:, 4])
    reads = [r.features.tolist() for r in kh.rounds(learner, stream)]
    others = {t for t, D in enumerate(reads, start=1) if t > 100 and D != [1, 4]}
    assert others  # it does go on exploring
    assert all(math.isqrt(t) ** 2 == t for t in others)


@pytest.mark.parametrize("gradient", ["residual", "unbiased"])
def test_it_beats_the_running_mean(gradient: str) -> None:
    # 0.002 and 0.005 were measured, with fixed seeds; learning nothing is 1.
    assert excess(kh.DualAveragingLearner(EASY, seed=0, gradient=gradient)) < 0.1
    assert excess(Deaf(kh.DualAveragingLearner(EASY, seed=0, gradient=gradient))) > 0.9


def test_it_beats_the_running_mean_with_nothing_to_explore_with() -> None:
    for k in (1, 2):
        problem = kh.Problem(d=20, k=k, budget=k)
        found = excess(kh.DualAveragingLearner(problem, seed=0), 2048)
        assert found < 0.3  # 0.01 and 0.15 were measured


@pytest.mark.parametrize(("x_power", "y_power"), [(-20, 3), (12, -30)])
def test_units_do_not_matter(x_power: int, y_power: int) -> None:
    """Features and labels times powers of two: the same reads, scaled predictions, to the bit."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 6))
    y = X[:, 2] - 0.5 * X[:, 5]
    bought = np.empty((2, 500, 4), dtype=np.int32)
    ours = kh.DualAveragingLearner(PROBLEM, seed=1).advance(X, y, bought[0])
    scaled = (2.0**x_power * X, 2.0**y_power * y)
    theirs = kh.DualAveragingLearner(PROBLEM, seed=1).advance(*scaled, bought[1])
    np.testing.assert_array_equal(bought[0], bought[1])
    np.testing.assert_array_equal(theirs, 2.0**y_power * ours)
    fixed = kh.DualAveragingLearner(PROBLEM, seed=1, radius=1.0).advance(*scaled)
    assert not np.allclose(fixed, 2.0**y_power * ours)  # a given radius has units


def test_huge_values_leave_it_finite() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 6))
    predictions = kh.DualAveragingLearner(PROBLEM, seed=1).advance(1e150 * X, 1e150 * X[:, 0])
    assert np.isfinite(predictions).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gradient": "unbiassed"}, "gradient must be one of residual, unbiased.*did you mean"),
        ({"schedule": 3}, "schedule must be one of adaptive, paper, got 3"),
        ({"radius": 0.0}, "radius must be positive, got 0; None measures it"),
        ({"radius": -1.0}, "radius must be positive, got -1; None measures it"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        kh.DualAveragingLearner(PROBLEM, **arguments)  # type: ignore[arg-type]


def test_pairs_need_two_explored_features() -> None:
    def make(d: int, k: int, budget: int) -> kh.DualAveragingLearner:
        return kh.DualAveragingLearner(kh.Problem(d, k, budget), gradient="unbiased")

    for d, k, budget in [(6, 2, 3), (6, 1, 1), (2, 1, 1)]:
        with pytest.raises(kh.ProblemError, match=r"budget must be at least .* or use 'residual'"):
            make(d, k, budget)
    for d, k, budget in [(6, 2, 4), (6, 2, 2), (3, 2, 3), (1, 1, 1)]:
        make(d, k, budget)


def test_the_unbiased_gradient_keeps_the_promises() -> None:
    check_variant(
        lambda problem: kh.DualAveragingLearner(
            problem, seed=2, gradient="unbiased", radius=1.0, schedule="paper"
        )
    )


def test_bad_rows_and_foreign_tickets_are_refused_without_a_trace() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (20, 6)), rng.uniform(-1, 1, 20)
    learner, twin = (kh.DualAveragingLearner(kh.Problem(6, 2, 6), seed=0) for _ in range(2))
    bad = X.copy()
    bad[7, 3] = np.inf
    with pytest.raises(kh.DataError, match="round 8: values are at most 1e"):
        learner.advance(bad, y)
    assert learner.round == 7
    twin.advance(X[:7], y[:7])
    np.testing.assert_array_equal(learner.advance(X[7:], y[7:]), twin.advance(X[7:], y[7:]))
    with pytest.raises(kh.TicketError, match="round 1 is closed"):
        learner.predict(kh.Ticket(1, np.arange(6)).fill(np.ones(6)))
