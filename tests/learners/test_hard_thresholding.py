"""HardThresholdingLearner: its steps are the formula, steps that fail are taken back, it learns."""

import copy

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.hard_thresholding import EXPLOITING, SIZE, Search
from keyhole.problem import Floats
from tests.helpers.rounds import excess, sparse_rows

PROBLEM = kh.Problem(d=6, k=2, budget=4)
EASY = kh.Problem(d=20, k=2, budget=6)


def data(n: int, d: int = 6) -> tuple[Floats, Floats]:
    return sparse_rows(n, d, {2: 1.0, 5: -0.5})


@pytest.mark.parametrize("step_size", [None, 0.4])
def test_a_step_is_that_of_a_plain_transcription(step_size: float | None) -> None:
    """Two phases against NumPy that is told what was read and works out everything else."""
    X, y = data(200)
    learner = kh.HardThresholdingLearner(PROBLEM, seed=3, batch_size=40, step_size=step_size)
    theta, e_x, seen = np.zeros(6), np.zeros(6), np.zeros(6, dtype=int)
    square, count = np.zeros(6), np.zeros(6)
    fresh, steps = 40.0, 0
    for x, played in zip(X, kh.rounds(learner, kh.streams.ArrayStream(X, y)), strict=True):
        S, D = np.flatnonzero(theta), played.features
        assert np.isin(S, D).all()
        assert len(D) == 4  # the whole budget, from the first round on
        error = theta @ x - played.y
        assert played.y_hat == pytest.approx(theta @ x, abs=1e-12)
        e_x[D] += error * x[D]
        seen[D] += 1
        square[D] += x[D] ** 2
        count[D] += 1
        if seen.min() < int(fresh):
            assert learner.steps == steps
            continue
        units = np.ones(6) if step_size else square / count
        moved = theta - (2 * step_size if step_size else 1.0) * e_x / seen / units
        S = top_k(moved * np.sqrt(units), 2)
        theta = np.where(np.isin(np.arange(6), S), moved, 0.0)
        np.testing.assert_allclose(learner.weights, theta, rtol=1e-12, atol=1e-12)
        steps, fresh, e_x, seen = steps + 1, 1.25 * fresh, np.zeros(6), np.zeros(6, dtype=int)
        if steps == 2:
            break
    assert steps == learner.steps == 2
    assert learner._search.pace.tolist() == [1.0, 40 * 1.25**2]  # nothing was taken back


def test_all_features_are_read_in_turn() -> None:
    X, y = data(300)
    learner = kh.HardThresholdingLearner(PROBLEM, seed=0, batch_size=10)
    reads = np.zeros(6, dtype=int)
    for played in kh.rounds(learner, kh.streams.ArrayStream(X, y)):
        if learner.steps:
            break
        reads[played.features] += 1
        assert np.ptp(reads) <= 1
    assert learner.round == 15  # ten examples of six features, four at a time


def search(
    X: Floats, y: Floats, theta: list[float], before: list[float]
) -> kh.HardThresholdingLearner:
    """A learner in the middle of a phase that plays theta after a step from `before`."""
    learner = kh.HardThresholdingLearner(kh.Problem(6, 2, 6), seed=0)
    found: Search = learner._search
    found.before[:], found.slope[:] = before, 0.0
    errors = (X @ found.before - y) ** 2
    found.losses[1] = [len(y), errors.sum(), (errors**2).sum()]
    found.theta[:] = theta
    S = np.flatnonzero(found.theta)
    found.support[: len(S)], found.whole[SIZE] = S, len(S)
    found.order[: 6 - len(S)] = np.setdiff1d(np.arange(6), S)
    return learner


def test_a_step_that_made_things_worse_is_taken_back() -> None:
    X, y = data(100)
    good, bad = [0, 0, 1.0, 0, 0, -0.5], [2.0, 0, 0, 2.0, 0, 0]
    worse = search(X, y, bad, good)
    worse.advance(X, y)
    assert worse._search.pace[0] == 2.0
    assert np.flatnonzero(worse._search.before).tolist() == [2, 5]
    # Broken twin: the same with nothing to compare with keeps what is bad, and goes on from there.
    blind = search(X, y, bad, good)
    blind._search.losses[1] = 0.0
    blind.advance(X[:8], y[:8])
    assert blind._search.pace[0] == 1.0
    np.testing.assert_array_equal(blind._search.before, bad)
    better = search(X, y, good, bad)
    better.advance(X[:8], y[:8])
    assert better._search.pace[0] == 1.0


def correlated(n: int) -> tuple[Floats, Floats]:
    """One factor with correlation 0.8: a full step on all features at once overshoots."""
    rng = np.random.default_rng(0)
    X = np.sqrt(0.8) * rng.standard_normal((n, 1)) + np.sqrt(0.2) * rng.standard_normal((n, 20))
    return X, X[:, 3] + X[:, 8] + X[:, 11] + X[:, 17] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("hybrid", [False, True])
def test_steps_shrink_until_correlated_features_do_not_throw_it_off(hybrid: bool) -> None:
    X, y = correlated(4096)
    problem = kh.Problem(d=20, k=4, budget=12)
    learner = kh.HardThresholdingLearner(problem, seed=0, hybrid=hybrid)
    predictions = learner.advance(X, y)
    # All four together explain all but 0.01 of a variance of 13.6.
    late = float(((predictions - y)[2048:] ** 2).mean())
    assert late < 0.1 * y.var()
    if not hybrid:
        assert learner._search.pace[0] > 1.0
        # Broken twin: full steps for ever. 2 * 0.5 / m_i with m_i = 1 is the step of L = 1.
        stubborn = kh.HardThresholdingLearner(problem, seed=0, step_size=0.5)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = (stubborn.advance(X, y) - y)[2048:]
        assert not float((errors**2).mean()) < 0.1 * y.var()


@pytest.mark.parametrize("hybrid", [False, True])
def test_it_beats_the_running_mean(hybrid: bool) -> None:
    # At most 0.0005 was measured: the first phase, in which nothing is known, has 40 rounds.
    assert excess(kh.HardThresholdingLearner(EASY, seed=0, hybrid=hybrid)) < 0.05
    # Broken twin: never has the examples for a step.
    never = kh.HardThresholdingLearner(EASY, seed=0, hybrid=hybrid, batch_size=10**6)
    assert excess(never) > 0.9


@pytest.mark.parametrize("k", [1, 3])
def test_with_nothing_to_explore_with_it_still_beats_the_mean(k: int) -> None:
    problem = kh.Problem(d=20, k=k, budget=k)
    plain, hybrid = (
        excess(kh.HardThresholdingLearner(problem, seed=0, hybrid=hybrid), 4096)
        for hybrid in (False, True)
    )
    assert hybrid < 0.5 * plain < 0.5


def test_with_nothing_to_explore_with_half_of_the_support_is_put_aside() -> None:
    """Exploring rounds keep a half, scale it up to the whole, and are counted for the others."""
    X, y = data(400, d=8)
    learner = kh.HardThresholdingLearner(kh.Problem(8, 2, 2), seed=0, batch_size=10)
    learner.advance(X[:60], y[:60])
    S = set(np.flatnonzero(learner.weights).tolist())
    assert learner.steps == 1
    assert len(S) == 2
    kept = []
    for x, label in zip(X[60:80], y[60:80].tolist(), strict=True):
        ticket = learner.ask()
        inside = S & set(ticket.features.tolist())
        scale, phase = float(ticket.memo["scale"][0]), int(ticket.memo["phase"][0])
        assert (len(inside), scale, phase > 0) in [(2, 1.0, True), (1, 2.0, False)]
        kept.append(len(inside))
        learner.tell(kh.sell(learner.problem, ticket, x), label)
    assert sum(kept) == 30  # every other round


def test_hybrid_alternates_and_only_exploitation_moves_the_model() -> None:
    X, y = data(600)
    learner = kh.HardThresholdingLearner(PROBLEM, seed=0, hybrid=True, batch_size=10)
    lengths: list[list[int]] = []
    for x, label in zip(X, y.tolist(), strict=True):
        before, state = learner.weights, (learner.steps, int(learner._search.whole[EXPLOITING]))
        learner.tell(kh.sell(PROBLEM, learner.ask(), x), label)
        if lengths and lengths[-1][:2] == [*state]:
            lengths[-1][2] += 1
        else:
            lengths.append([*state, 1])
        assert np.array_equal(before, learner.weights) == (
            state == (learner.steps, 0)
        )  # else descending, or a step was taken
    explored = [n for _, exploiting, n in lengths[:-1] if not exploiting]
    exploited = [n for _, exploiting, n in lengths[:-1] if exploiting]
    assert len(explored) >= 4
    assert explored[: len(exploited)] == exploited
    assert explored == sorted(explored)


def test_a_label_that_is_too_late_counts_for_the_units_only() -> None:
    X, y = data(100)
    learner = kh.HardThresholdingLearner(PROBLEM, seed=0, batch_size=10)
    late = kh.sell(PROBLEM, learner.ask(), X[0])
    learner.advance(X[1:60], y[1:60])
    assert learner.steps >= 1
    before = copy.deepcopy(learner._search)
    learner.tell(late, float(y[0]))
    after = learner._search
    for name in set(Search._fields) - {"total", "square", "arrived"}:
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    assert after.arrived.sum() == before.arrived.sum() + 4


def test_units_of_a_feature_do_not_matter() -> None:
    """Each feature times a power of two of its own: the same reads, the same predictions."""
    X, y = data(500)
    scales = 2.0 ** np.random.default_rng(1).integers(-9, 10, 6)
    bought = np.empty((2, 500, 4), dtype=np.int32)
    ours, theirs = (
        kh.HardThresholdingLearner(PROBLEM, seed=2, hybrid=True).advance(rows, y, where)
        for rows, where in zip((X, X * scales), bought, strict=True)
    )
    np.testing.assert_array_equal(bought[0], bought[1])
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hybrid": "yes"}, "hybrid must be True or False, got 'yes'"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"growth": 0.5}, "growth must be at least 1"),
        ({"step_size": 0.0}, "step_size must be positive, got 0; None adapts it"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        kh.HardThresholdingLearner(PROBLEM, **arguments)  # type: ignore[arg-type]


def test_bad_rows_and_foreign_tickets_are_refused_without_a_trace() -> None:
    X, y = data(60)
    learner, twin = (kh.HardThresholdingLearner(kh.Problem(6, 2, 6), seed=0) for _ in range(2))
    bad = X.copy()
    bad[27, 3] = np.inf
    with pytest.raises(kh.DataError, match="round 28: values are at most 1e"):
        learner.advance(bad, y)
    assert learner.round == 27
    twin.advance(X[:27], y[:27])
    np.testing.assert_array_equal(learner.advance(X[27:], y[27:]), twin.advance(X[27:], y[27:]))
    with pytest.raises(kh.TicketError, match="round 1 is closed"):
        learner.predict(kh.Ticket(1, np.arange(6)).fill(np.ones(6)))


@pytest.mark.parametrize("change", ["support", "order", "whole"])
def test_a_state_that_compiled_code_cannot_trust_is_refused(change: str) -> None:
    learner = kh.HardThresholdingLearner(PROBLEM, seed=0, batch_size=10)
    learner.advance(*data(60))
    assert learner._search.whole[SIZE] == 2
    getattr(learner._search, change)[:2] = -1
    with pytest.raises(kh.StateError, match="search"):
        kh.HardThresholdingLearner.from_state(learner.state())
