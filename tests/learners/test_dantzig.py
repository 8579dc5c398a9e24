"""DantzigLearner: what it refuses, when it solves, and what comes late or never."""

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners import dantzig
from keyhole.learners.blocks.draw.sorting import top_k
from tests.helpers.dantzig_rounds import make, rows
from tests.helpers.rounds import one_round

# --- Arguments


@pytest.mark.parametrize(
    ("budget", "options", "message"),
    [
        (6, {"weighting": "exakt"}, "one of exact, paper, got 'exakt' (did you mean 'exact'?)"),
        (6, {"weighting": None}, "weighting must be one of exact, paper, got None"),
        (2, {}, "k = 2 features are played, got budget = 2; make it at least 4"),
        (2, {"weighting": "paper"}, "budget must leave something to explore with: k = 2"),
        (3, {}, "budget must be at least k + 2 = 4 with weighting='exact', got 3"),
        (6, {"noise_sd": -0.1}, "noise_sd must be at least 0 and finite, got -0.1"),
        (6, {"noise_sd": "a"}, "noise_sd must be a number, got 'a'"),
        (6, {"threshold_scale": None}, "threshold_scale must be a number, got None"),
        (6, {"threshold_scale": math.inf}, "threshold_scale must be finite, got inf"),
        (6, {"weighting": ["exact"]}, "weighting must be one of exact, paper, got ['exact']"),
        (6, {"noise_sd": math.nan}, "noise_sd must be at least 0 and finite, got nan"),
        (6, {"noise_sd": math.inf}, "noise_sd must be at least 0 and finite, got inf"),
        (6, {"threshold_scale": 0.0}, "threshold_scale must be positive, got 0"),
        (6, {"threshold_scale": -1.0}, "threshold_scale must be positive, got -1"),
        (6, {"threshold_scale": math.nan}, "threshold_scale must be finite, got nan"),
        (6, {"failure_probability": 0.0}, "failure_probability must lie between 0 and 1, got 0.0"),
        (6, {"failure_probability": 1.0}, "failure_probability must lie between 0 and 1, got 1.0"),
        (6, {"burn_in": -1}, "burn_in must be at least 0, got -1"),
        (6, {"burn_in": 2.5}, "burn_in must be a whole number, got 2.5"),
        (6, {"seed": -1}, "seed must be at least 0, got -1"),
        (6, {"seed": 2**64}, f"seed must be at most {2**64 - 1}, got {2**64}"),
        (6, {"seed": 0.5}, "seed must be a whole number, got 0.5"),
    ],
)
def test_errors(budget: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        make(kh.Problem(12, 2, budget), **options)


def test_the_least_that_works() -> None:
    assert make(kh.Problem(12, 2, 4)).k0 == 2
    assert make(kh.Problem(12, 2, 3), weighting="paper").k0 == 1
    assert make(kh.Problem(1, 1, 1)).k0 == 1
    assert make(noise_sd=0).noise_sd == 0
    assert make(seed=2**64 - 1).ask().round == 1


@pytest.mark.parametrize("budget", range(4, 13))
def test_the_budget_that_is_not_played_explores(budget: int) -> None:
    learner = make(kh.Problem(12, 2, budget))
    assert learner.k0 == (12 if budget == 12 else budget - 2)
    X, y = rows(100)
    ledger = kh.play(learner, kh.streams.ArrayStream(X, y))
    assert learner.weights.any()
    assert ledger.most_reads <= budget
    assert np.trace(learner._moments.N) == 100 * learner.k0


def test_block_play_refuses_the_wrong_shape_and_labels_that_are_not_finite() -> None:
    learner = make()
    X, y = rows(10)
    for bad_X, bad_y in [(X[:, 1:], y), (X[1:], y), (X, np.where(y == y[3], np.nan, y))]:
        with pytest.raises(kh.DataError, match=r"12 features per row|label must be a finite"):
            learner.advance(bad_X, bad_y)
    assert (learner.round, learner._moments.n) == (0, 0)


# --- When it solves


def test_burn_in_is_that_of_the_docstring() -> None:
    assert make().burn_in == math.ceil(2 * math.log(12)) == 5
    assert make(kh.Problem(1, 1, 1)).burn_in == 0
    assert make(burn_in=0).burn_in == 0


@pytest.mark.parametrize(
    ("burn_in", "first"), [(0, 2), (1, 2), (2, 4), (5, 8), (8, 16), (31, 32), (32, 64)]
)
def test_the_first_model_comes_with_the_first_power_of_two_after_the_burn_in(
    burn_in: int, first: int
) -> None:
    learner = make(burn_in=burn_in)
    X, y = rows(first)
    for x, label in zip(X[:-1], y[:-1], strict=True):
        assert one_round(learner, x, label) == 0.0
    assert math.isnan(learner.diagnostics.threshold)
    assert learner.diagnostics.solves == 0
    one_round(learner, X[-1], y[-1])
    assert (learner.diagnostics.solves, learner.diagnostics.round) == (1, first)


def test_weights_change_at_powers_of_two_only() -> None:
    learner, before, changes = make(), np.zeros(12), []
    for t, (x, y) in enumerate(zip(*rows(300), strict=True), start=1):
        one_round(learner, x, y)
        if not np.array_equal(learner.weights, before):
            changes.append(t)
        before = learner.weights
    assert changes == [8, 16, 32, 64, 128, 256]
    assert learner.diagnostics.solves == 6
    assert np.count_nonzero(learner.weights) == 2
    assert learner.intercept == 0.0


def test_diagnostics_describe_the_last_program() -> None:
    from keyhole.learners.blocks.dantzig.solve import solve
    from keyhole.learners.blocks.dantzig.threshold import printed_threshold

    learner = make()
    X, y = rows(64)
    learner.advance(X[:63], y[:63])
    G, b = learner._estimate()
    learner.ask()
    threshold = printed_threshold(63, 12, 4, noise_sd=0.1, failure_probability=0.05, scale=0.03)
    solution, log = solve(G, b, threshold), learner.diagnostics
    assert (log.round, log.threshold, log.nonzeros) == (64, threshold, solution.nonzeros)
    assert (log.solves, log.infeasible, log.unsolved) == (4, 0, 0)
    assert log.gap <= 1e-8
    S = top_k(solution.w, 2)
    assert np.flatnonzero(learner.weights).tolist() == S.tolist()
    np.testing.assert_array_equal(learner.weights[S], solution.w[S])


def test_an_infeasible_program_keeps_the_weights_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When each of the 6 pairs of 4 features was explored once and x = 1, G is exactly 1 1'.

    Then every feature must have nearly the same moment with y for the program to be feasible;
    labels that differ make it infeasible for a small threshold.
    """
    pairs = [np.array(S) for S in combinations(range(4), 2)]
    learner = make(kh.Problem(4, 1, 3), threshold_scale=1e-3, burn_in=0)
    monkeypatch.setattr(
        dantzig, "uniform_subset", lambda seed, t, d, k0: pairs[(t - 1) % len(pairs)]
    )
    x, labels = np.ones(4), [1.0, 0.2, -0.4, 0.3, 0.9, -1.0]
    for y in labels:
        one_round(learner, x, y)
    learner.drop(learner.ask())  # round 7: the program of round 8 has the 6 labels
    weights, log = learner.weights, learner.diagnostics
    assert weights.any()  # of round 4
    assert (log.round, log.infeasible) == (4, 0)
    G, _ = learner._estimate()
    np.testing.assert_array_equal(G, np.ones((4, 4)))

    ticket = learner.ask()
    log = learner.diagnostics
    assert (log.round, log.solves, log.infeasible, log.unsolved) == (8, 3, 1, 0)
    np.testing.assert_array_equal(learner.weights, weights)
    assert learner.predict(ticket.fill({int(j): 1.0 for j in ticket.features})) == weights.sum()
    learner.drop(ticket)
    for signs in np.random.default_rng(0).choice([-1.0, 1.0], (57, 4)):
        one_round(learner, signs, signs[3])  # the next program that is feasible is taken
    log = learner.diagnostics
    assert (log.round, log.solves, log.infeasible) == (64, 6, 1)
    assert np.flatnonzero(learner.weights).tolist() == [3]


def test_a_program_without_an_answer_keeps_the_weights_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyhole.learners.blocks.dantzig.solve import solve

    learner = make()
    X, y = rows(40)
    learner.advance(X[:20], y[:20])
    weights = learner.weights
    monkeypatch.setattr(dantzig, "solve", lambda *given: solve(*given)._replace(status="limit"))
    learner.advance(X[20:], y[20:])
    assert weights.any()
    np.testing.assert_array_equal(learner.weights, weights)
    assert (learner.diagnostics.unsolved, learner.diagnostics.round) == (1, 32)


@pytest.mark.parametrize(("played", "solved"), [(4, 0), (5, 5), (6, 6)])
def test_refit_solves_from_the_last_round_of_the_burn_in_on(played: int, solved: int) -> None:
    learner = kh.DantzigLearner(kh.Problem(8, 2, 6), seed=0, noise_sd=0.1, burn_in=5)
    rng = np.random.default_rng(0)
    for _ in range(played):
        x = rng.uniform(-1, 1, 8)
        one_round(learner, x, float(x[3]))
    assert learner.diagnostics.solves == 0  # 8 is the first power of two after 5
    learner.refit()
    assert learner.diagnostics.solves == (1 if solved else 0)
    assert learner.diagnostics.round == solved


def test_a_row_that_is_refused_where_a_program_is_due_changes_no_future() -> None:
    learner, again = make(), make()
    X, y = rows(64)
    for player in (learner, again):
        player.advance(X[:31], y[:31])
    for _ in range(2):
        with pytest.raises(kh.DataError, match="round 32"):
            learner.advance(np.full_like(X[31:33], 1e200), y[31:33])
    assert learner.advance(X[31:], y[31:]).tolist() == again.advance(X[31:], y[31:]).tolist()
    assert learner.diagnostics == again.diagnostics
