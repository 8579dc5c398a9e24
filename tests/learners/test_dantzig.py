"""DantzigLearner: what it refuses, when it solves, and what comes late or never."""

import math
import re
import tracemalloc
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import keyhole as kh
from keyhole.blocks.truncation import top_k
from keyhole.learners import dantzig
from keyhole.learners.dantzig import WEIGHTINGS
from keyhole.problem import Floats, Observation

PROBLEM = kh.Problem(d=12, k=2, budget=6)


def make(problem: kh.Problem = PROBLEM, **options: Any) -> kh.DantzigLearner:
    return kh.DantzigLearner(
        problem, **{"seed": 1, "noise_sd": 0.1, "threshold_scale": 0.03, **options}
    )


def rows(n: int, d: int = 12, seed: int = 1) -> tuple[Floats, Floats]:
    stream, _ = kh.streams.realizable(d, 2, n, design=kh.streams.designs.toeplitz(0.5), seed=seed)
    X, y = kh.streams.collect(stream)
    return X.astype(np.float64), y


def one_round(learner: kh.DantzigLearner, x: Floats, y: float) -> float:
    seen = kh.sell(learner.problem, learner.ask(), x)
    y_hat = learner.predict(seen)
    learner.tell(seen, y)
    return y_hat


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
        with pytest.raises(kh.DataError, match="12 features per row and one finite label for each"):
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
    from keyhole.blocks.dantzig import solve
    from keyhole.blocks.threshold import printed_threshold

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
    from dataclasses import replace

    from keyhole.blocks.dantzig import solve

    learner = make()
    X, y = rows(40)
    learner.advance(X[:20], y[:20])
    weights = learner.weights
    monkeypatch.setattr(dantzig, "solve", lambda *given: replace(solve(*given), status="limit"))
    learner.advance(X[20:], y[20:])
    assert weights.any()
    np.testing.assert_array_equal(learner.weights, weights)
    assert (learner.diagnostics.unsolved, learner.diagnostics.round) == (1, 32)


# --- Labels that come late, in another order, or never


def asked_ahead(n: int) -> tuple[kh.DantzigLearner, list[Observation], Floats]:
    """A learner with n open tickets, what they bought, and their labels."""
    learner = make()
    X, y = rows(n)
    return learner, [kh.sell(PROBLEM, learner.ask(), x) for x in X], y


def test_late_labels_in_order_leave_the_same_moments_to_the_bit() -> None:
    prompt, (late, seen, y) = make(), asked_ahead(200)
    prompt.advance(*rows(200))
    for observation, label in zip(seen, y, strict=True):
        late.tell(observation, label)
    assert late._moments == prompt._moments
    np.testing.assert_array_equal(late._asked, prompt._asked)
    # Nothing was known when the tickets were issued: all were asked with w = 0.
    assert not late.weights.any()
    assert all(late.predict(observation) == 0 for observation in seen)


def test_shuffled_labels_leave_the_same_moments_up_to_rounding() -> None:
    prompt, (late, seen, y) = make(), asked_ahead(200)
    prompt.advance(*rows(200))
    for t in np.random.default_rng(0).permutation(200):
        late.tell(seen[t], y[t])
    np.testing.assert_array_equal(late._moments.N, prompt._moments.N)
    np.testing.assert_array_equal(late._asked, prompt._asked)
    # 200 terms of size <= 2: each of 200 additions rounds by at most 2^-53 of a sum <= 400.
    for name in ("XX", "Xy", "X", "Y"):
        np.testing.assert_allclose(
            getattr(late._moments, name), getattr(prompt._moments, name), rtol=0, atol=2e-11
        )
    # Broken twin: labels handed to the wrong tickets are not a matter of rounding.
    wrong, seen, y = asked_ahead(200)
    for t in range(200):
        wrong.tell(seen[t], y[t - 1])
    assert np.abs(wrong._moments.Xy - prompt._moments.Xy).max() > 0.1


def test_dropped_labels_leave_no_trace() -> None:
    dropping, seen, y = asked_ahead(200)
    telling, _, _ = asked_ahead(200)
    for t, observation in enumerate(seen):
        if t % 3:
            dropping.tell(observation, y[t])
            telling.tell(observation, y[t])
        else:
            dropping.drop(observation.ticket)
    assert dropping._moments == telling._moments
    np.testing.assert_array_equal(dropping._asked, telling._asked)
    assert dropping._moments.n == 133
    assert not dropping._desk.open
    with pytest.raises(kh.TicketError, match="round 1 is closed"):
        dropping.tell(seen[0], 1.0)
    while dropping.round < 255:
        dropping.drop(dropping.ask())
    dropping.ask()  # n in the program is the number of labels, not of rounds
    assert dropping.diagnostics.round == 256
    assert dropping.weights.any()
    expected = make()
    expected._moments = dropping._moments.copy()
    expected._asked = dropping._asked.copy()
    expected._solve(256)
    np.testing.assert_array_equal(dropping.weights, expected.weights)


def test_without_any_label_there_is_no_program() -> None:
    learner = make(burn_in=0)
    tickets = [learner.ask() for _ in range(64)]
    assert learner.diagnostics.solves == 0
    for ticket in tickets:
        learner.drop(ticket)
    assert not learner.weights.any()


def test_a_prediction_is_made_with_the_model_of_its_ticket() -> None:
    learner = make()
    X, y = rows(64)
    learner.advance(X[:15], y[:15])
    w8 = learner.weights
    old = kh.sell(PROBLEM, learner.ask(), X[15])  # round 16 solves: this is the model of round 16
    w16 = learner.weights
    learner.advance(X[16:], y[16:])
    w64 = learner.weights
    assert len({w8.tobytes(), w16.tobytes(), w64.tobytes()}) == 3
    assert learner.predict(old) == pytest.approx(X[15] @ w16, abs=1e-12)
    assert learner.predict(old) != pytest.approx(X[15] @ w64, abs=1e-3)
    # The ticket alone carries the model: written to a file and read back it is the same.
    back = kh.Ticket.from_json(old.ticket.to_json())
    assert learner.predict(kh.sell(PROBLEM, back, X[15])) == learner.predict(old)
    learner.tell(old, y[15])
    assert learner._moments.n == 64


# --- Values that do not arrive


class NoShares(kh.DantzigLearner):
    """Broken twin: as if everything that was explored had arrived."""

    def _estimate(self) -> tuple[Floats, Floats]:
        estimate = WEIGHTINGS[self.weighting](self._moments, self.k0)
        return estimate.G, estimate.b


class OneShare(kh.DantzigLearner):
    """Broken twin: one share for all features together."""

    def _estimate(self) -> tuple[Floats, Floats]:
        estimate = WEIGHTINGS[self.weighting](self._moments, self.k0)
        share = float(np.trace(self._moments.N) / self._asked.sum())
        G = estimate.G / share**2
        np.fill_diagonal(G, np.diag(estimate.G) / share)
        return G, estimate.b / share


ARRIVES = np.array([1.0, 0.9, 0.5, 0.7, 0.8])  # probability that a value of a feature arrives


def relative_errors(twin: type[kh.DantzigLearner], n: int) -> tuple[Floats, Floats]:
    """G / (x x') - 1 and b / (x y) - 1 after n rounds of one and the same row x, y."""
    d = len(ARRIVES)
    x, y = np.array([1.0, -0.5, 2.0, 0.7, -1.3]), 3.0
    X = np.tile(x, (n, 1))
    X[np.random.default_rng(3).random((n, d)) >= ARRIVES] = np.nan
    learner = twin(kh.Problem(d, 1, 3), seed=3, noise_sd=0.1, burn_in=n)
    learner.advance(X, np.full(n, y))
    G, b = learner._estimate()
    return G / np.outer(x, x) - 1, b / (x * y) - 1


def margins(n: int) -> tuple[Floats, Floats]:
    """Relative errors that are exceeded somewhere with probability at most 1e-6.

    The row is fixed, so that everything is in counts: with k0 = 2 of d = 5, p = 2/5, q = 1/10,

        G_ij / (x_i x_j) = (N_ij / (n q)) (A_i / N_i) (A_j / N_j),    b_i / (x_i y) = A_i / (n p),

    and G_ii like b_i, where A_i, N_i, N_ij count the rounds in which i was explored, did arrive,
    did arrive together with j: Binomial(n, p), (n, p a_i), (n, q a_i a_j). These are 20 counts,
    each outside of its interval with probability at most 1e-6 / 20; where all are inside, the
    products of the ends bound the errors.
    """
    d, p, q = len(ARRIVES), 2 / 5, 1 / 10

    def ends(probability: NDArray[np.float64]) -> Floats:
        tail = 1e-6 / 40
        low, high = (stats.binom.ppf(level, n, probability) for level in (tail, 1 - tail))
        return np.array([low, high]) / (n * probability)

    A, N = ends(np.full(d, p)), ends(p * ARRIVES)
    both = ends(q * np.outer(ARRIVES, ARRIVES))
    G = []
    for low, high in ((0, 1), (1, 0)):
        ratio = A[low] / N[high]
        G.append(both[low] * np.outer(ratio, ratio))
    margin_G = np.maximum(1 - G[0], G[1] - 1)
    margin_b = np.maximum(1 - A[0], A[1] - 1)
    np.fill_diagonal(margin_G, margin_b)
    return margin_G, margin_b


def test_estimates_allow_for_values_missing_at_random() -> None:
    n = 600_000
    margin_G, margin_b = margins(n)
    assert max(margin_G.max(), margin_b.max()) < 0.1  # sharp enough to tell 0.5 from 1
    G, b = relative_errors(kh.DantzigLearner, n)
    assert (np.abs(G) <= margin_G).all()
    assert (np.abs(b) <= margin_b).all()
    for twin in (NoShares, OneShare):
        G, b = relative_errors(twin, n)
        assert (np.abs(G) > margin_G).any()
        assert (np.abs(b) > margin_b).any()


def test_rounds_with_absent_values_are_the_same_singly_and_in_blocks() -> None:
    X, y = rows(300)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    X[:, 5] = np.nan  # never arrives
    singly, block = make(), make()
    one_by_one = [one_round(singly, x, label) for x, label in zip(X, y, strict=True)]
    np.testing.assert_array_equal(block.advance(X, y), one_by_one)
    assert block._moments == singly._moments
    np.testing.assert_array_equal(block._asked, singly._asked)
    np.testing.assert_array_equal(block.weights, singly.weights)
    assert block.weights.any()
    assert block.weights[5] == 0
    G, b = block._estimate()
    assert np.isfinite(G).all()
    assert not G[5].any()
    assert b[5] == 0


def test_an_absent_value_that_is_played_counts_as_its_mean_so_far() -> None:
    learner = make()
    X, y = rows(31)
    X += 1.0
    learner.advance(X, y)
    ticket = learner.ask()  # round 32: a new model, with the means of these 31 rounds
    support = np.flatnonzero(learner.weights)
    means = learner._moments.X / np.diag(learner._moments.N)
    absent = ticket.fill([np.nan] * len(ticket.features))
    assert len(support) == 2
    assert learner.predict(absent) == pytest.approx(means @ learner.weights, abs=1e-12)
    present = ticket.fill({int(j): means[j] for j in ticket.features})
    assert learner.predict(absent) == learner.predict(present)
    # Nothing of the round arrived: it counts as a round, and no value is made up.
    before = learner._moments.XX
    learner.tell(absent, 1.0)
    np.testing.assert_array_equal(learner._moments.XX, before)
    assert learner._moments.n == 32


# --- Memory


class KeepsRows(kh.DantzigLearner):
    """Broken twin: remembers what it bought."""

    rows: list[NDArray[np.int32]]

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        predictions = super().advance(X, y, bought)
        assert bought is not None
        self.rows = [*getattr(self, "rows", []), bought.copy()]
        return predictions


def peak(twin: type[kh.DantzigLearner], rounds: int) -> int:
    """Most bytes in use at a time while so many rounds of d = 50 features are made and played."""
    tracemalloc.start()
    try:
        stream, truth = kh.streams.realizable(d=50, k=3, n=rounds, seed=1)
        problem = kh.Problem(50, 3, 10)
        learner = twin(problem, seed=1, noise_sd=0.1, threshold_scale=0.05)
        kh.play(learner, stream, keep_predictions=False)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert learner.round == rounds
    assert np.flatnonzero(learner.weights).tolist() == truth.support.tolist()
    return most


def test_a_million_rounds_need_no_more_memory_than_a_hundred_thousand() -> None:
    peak(kh.DantzigLearner, 20_000)  # whatever is imported or compiled once
    # Eight checkpoints per doubling stay in the books, 27 of them, of 50 counts each: 20 kB.
    short, long = peak(kh.DantzigLearner, 100_000), peak(kh.DantzigLearner, 1_000_000)
    assert long < 1.03 * short
    assert peak(KeepsRows, 200_000) > 1.03 * short


@pytest.mark.parametrize("column", ["explored", "played"])
def test_a_value_too_large_stops_block_play_where_single_rounds_stop(column: str) -> None:
    """Rounds before the bad one stand, in both ways of playing, and nothing else does."""
    stream, _ = kh.streams.realizable(10, 2, 200, noise_sd=0.1, seed=0)
    X, y = kh.streams.collect(stream)

    def made() -> kh.DantzigLearner:
        problem = kh.Problem(10, 2, 6)
        return kh.DantzigLearner(problem, seed=0, noise_sd=0.1, threshold_scale=0.05, burn_in=0)

    plain = made()
    bought = np.full((200, 6), -1, dtype=np.int32)
    plain.advance(X, y, bought)
    bad = 150
    support = set(np.flatnonzero(plain.weights).tolist())
    drawn = [j for j in bought[bad].tolist() if j >= 0]
    X = X.copy()
    X[bad, next(j for j in drawn if (j in support) == (column == "played"))] = np.inf

    fast, slow = made(), made()
    with pytest.raises(kh.DataError, match=f"round {bad + 1}"):
        fast.advance(X, y)
    with pytest.raises(kh.DataError, match=f"round {bad + 1}"):
        list(kh.rounds(slow, kh.streams.ArrayStream(X, y)))
    assert fast.round == bad
    assert fast._moments == slow._moments
    assert np.array_equal(fast._asked, slow._asked)


def test_a_label_too_large_is_refused_and_the_ticket_stays_open() -> None:
    learner = kh.DantzigLearner(kh.Problem(10, 2, 6), seed=0, noise_sd=0.1)
    ticket = learner.ask()
    seen = ticket.fill(np.zeros(len(ticket.features)))
    with pytest.raises(kh.DataError, match=r"at most 1e\+150 in size"):
        learner.tell(seen, 1e200)
    with pytest.raises(kh.DataError, match=r"values are at most 1e\+150 in size"):
        ticket.fill(np.full(len(ticket.features), 1e200))
    learner.tell(seen, 1.0)
    assert learner._moments.n == 1
