"""DantzigLearner and an untidy world: labels late or dropped, values absent or bad, many rounds."""

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import keyhole as kh
from keyhole.learners.dantzig import WEIGHTINGS
from keyhole.problem import Floats, Observation
from tests.helpers.dantzig_rounds import PROBLEM, make, rows
from tests.helpers.rounds import one_round

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
        # Nothing was known when the tickets were issued: all were asked with w = 0.
        assert late.predict(observation) == 0
        late.tell(observation, label)
    assert late._moments == prompt._moments
    np.testing.assert_array_equal(late._asked, prompt._asked)
    assert not late.weights.any()


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
