"""What Algorithm 2 is put together from, against formulas written out on a few numbers."""

import math

import numpy as np
import pytest

from keyhole.learners.blocks.draw.sampling import categorical, complement_subset, uniforms
from keyhole.learners.blocks.fit.set_function import slot_gains
from keyhole.learners.blocks.fit.vaw import VAW
from keyhole.learners.blocks.greedy.budgeted_experts import (
    BEXP,
    Draw,
    OwnBins,
    OwnSubsets,
    SharedReads,
    Tally,
    anytime,
    equal_bins,
    equal_shares,
    fill_probabilities,
    known_horizon,
    own_weights,
    priced_bins,
    second_order,
)
from keyhole.learners.blocks.greedy.minibatch import (
    MiniBatch,
    Restart,
    RestartAndCarry,
    RunningTotals,
    aggregate,
    begin,
    pool,
)
from keyhole.learners.blocks.greedy.variants import (
    VARIANTS,
    negative_gains,
    own_subsets,
    printed_losses,
    shared_reads,
    theorem_sizes,
)
from keyhole.problem import DataError, ProblemError

# --- Rates and fill_probabilities


@pytest.mark.parametrize("largest", [0.0, 0.3, 1.0, 5.0])
def test_rates_are_their_formulas(largest: float) -> None:
    spread, squares = np.array([2.0, 3.0]), np.array([0.0, 7.0])
    tally = Tally(8, 99, spread, squares, np.full(2, largest))
    unit = max(1.0, largest)
    np.testing.assert_allclose(anytime(tally), np.sqrt(math.log(8) / (spread * 100)) / unit)
    known = np.sqrt(2 * math.log(8) / (spread * 50)) / unit
    np.testing.assert_allclose(known_horizon(50)(tally), known)
    seen = spread * largest**2 + squares
    seen[seen == 0.0] = 1.0  # nothing was seen: sqrt(log d)
    np.testing.assert_allclose(second_order(tally), np.sqrt(math.log(8) / seen))


def test_the_rate_of_tiny_losses_is_large_and_that_of_huge_ones_0() -> None:
    one, none = np.ones(1), np.zeros(1)
    tiny = second_order(Tally(8, 1, one, np.full(1, 1e-8), none))
    assert tiny[0] == pytest.approx(1e4 * math.sqrt(math.log(8)))
    assert second_order(Tally(8, 1, one, none, np.full(1, 1e200)))[0] == 0.0


def test_a_horizon_is_a_whole_number_from_1_on() -> None:
    known_horizon(1)
    for wrong in (0, -1):
        with pytest.raises(ProblemError, match="T must be at least 1"):
            known_horizon(wrong)


def test_probabilities_are_exponential_weights() -> None:
    L, eta, p = (
        np.array([[3.0, 1.0, 2.0], [0.0, -1.0, 5.0]]),
        np.array([0.5, 2.0]),
        np.empty((2, 3)),
    )
    fill_probabilities(L, eta, p)
    weight = np.exp(-eta[:, None] * L)
    np.testing.assert_allclose(p, weight / weight.sum(axis=1, keepdims=True))


# --- Draws


def test_every_run_draws_by_its_own_purpose() -> None:
    """Run i draws its expert by the purpose 2 i; what is shared is filled by the purpose 2 n."""
    p = np.random.default_rng(0).dirichlet(np.ones(9), size=3)
    for t in range(1, 30):
        played = [categorical(7, t, p[i], purpose=2 * i) for i in range(3)]
        V = sorted(set(played))
        rest = complement_subset(7, t, 9, 5 - len(V), V, purpose=6).tolist()
        shared = SharedReads(9, 3, 5).draw(7, t, p)
        assert shared.j.tolist() == played
        assert shared.S.tolist() == sorted([*V, *rest])
        np.testing.assert_array_equal(shared.p, p[:, shared.S])
        own = OwnSubsets(9, np.array([2, 1, 3])).draw(7, t, p)
        assert own.j.tolist() == played
        sets = []
        for i, size in enumerate((2, 1, 3)):
            j = played[i]
            others = complement_subset(7, t, 9, size - 1, [j], purpose=2 * i + 1).tolist()
            sets.append({j, *others})
        assert own.S.tolist() == sorted(set.union(*sets))
        for i, size in enumerate((2, 1, 3)):
            q = p[i] + (1.0 - p[i]) * (size - 1) / 8
            weight = [1.0 / q[e] if e in sets[i] else 0.0 for e in own.S]
            np.testing.assert_allclose(own.weight[i], weight)
        bin_of = np.array([[0, 1, 2] * 3, [0] * 4 + [1] * 5, [0] * 9])
        bins = OwnBins(bin_of).draw(7, t, p)
        assert bins.j.tolist() == played
        for i, j in enumerate(played):
            mine = np.flatnonzero(bin_of[i] == bin_of[i, j])
            weight = [1.0 / p[i, mine].sum() if e in mine else 0.0 for e in bins.S]
            np.testing.assert_allclose(bins.weight[i], weight)


def test_an_expert_that_nobody_can_play_counts_nothing_when_filled_in() -> None:
    """With budget = runs only a second play of the same expert leaves a read over."""
    p = np.array([[1.0, 0.0, 0.0, 0.0]] * 2)
    draw = SharedReads(4, 2, 2).draw(1, 1, p)
    assert draw.j.tolist() == [0, 0]
    np.testing.assert_array_equal(draw.weight, [[1.0, 0.0]] * 2)


@pytest.mark.parametrize(("d", "M"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_few_experts_are_read_as_often_as_the_formula_says(d: int, M: int) -> None:
    """q = p + (1 - p)(M - 1)/(d - 1); a single expert is always read."""
    p, weight = np.full((1, d), 1.0 / d), np.empty((1, d))
    own_weights(p, np.array([M]), d, np.ones((1, d), dtype=np.bool_), weight)
    q = 1.0 / d + (1.0 - 1.0 / d) * (M - 1) / (d - 1) if d > 1 else 1.0
    np.testing.assert_allclose(weight, 1.0 / q)


def test_spreads_are_their_formulas() -> None:
    np.testing.assert_allclose(OwnSubsets(6, np.array([1, 4, 6])).spread, [6.0, 1.5, 1.0])
    np.testing.assert_allclose(OwnBins(np.array([[0, 1, 1], [0, 2, 1]])).spread, [2.0, 3.0])
    f0 = (5 - 2) / (9 - 2)
    np.testing.assert_allclose(SharedReads(9, 2, 5).spread, 1.0 / (f0 + (1.0 - f0) / 9))
    np.testing.assert_allclose(SharedReads(4, 2, 4).spread, 1.0)
    np.testing.assert_allclose(SharedReads(4, 4, 4).spread, 1.0)
    np.testing.assert_allclose(SharedReads(5, 2, 2).spread, 5.0)  # nothing is filled in


@pytest.mark.parametrize("sizes", [[0], [4], [1, 5], [2, 0]])
def test_sizes_are_from_1_to_d(sizes: list[int]) -> None:
    OwnSubsets(3, np.array([1, 3]))
    with pytest.raises(ProblemError, match="sizes must lie between 1 and d = 3"):
        OwnSubsets(3, np.array(sizes))


@pytest.mark.parametrize(("d", "n", "budget"), [(3, 0, 2), (3, 3, 2), (3, 2, 4)])
def test_shared_reads_are_at_least_the_runs_and_at_most_all(d: int, n: int, budget: int) -> None:
    for least in ((3, 1, 1), (3, 3, 3)):
        SharedReads(*least)
    with pytest.raises(ProblemError, match="1 <= runs <= budget <= d"):
        SharedReads(d, n, budget)


def test_bins_by_price_are_first_fit_decreasing() -> None:
    assert priced_bins([3.0, 1.0, 2.0, 2.0, 4.0, 0.0], 4.0).tolist() == [1, 1, 2, 2, 0, 0]
    assert priced_bins([1.0, 1.0, 1.0], 1.0).tolist() == [0, 1, 2]
    for wrong in ([1.1], [-0.1], [0.5, 2.0]):
        with pytest.raises(ProblemError, match="prices must lie between 0 and the budget"):
            priced_bins(wrong, 1.0)


def test_bins_of_different_runs_are_different() -> None:
    bins = equal_bins(12, 4, 3, seed=1)
    assert bins.shape == (3, 12)
    assert len({tuple(row) for row in bins.tolist()}) == 3
    assert all(np.bincount(row).tolist() == [4, 4, 4] for row in bins)
    assert equal_shares(7, 3).tolist() == [3, 2, 2]
    # Drawn as round 0, which no game has: experts are dealt to the bins in a random order.
    for i, row in enumerate(bins):
        order = np.argsort(uniforms(1, 0, 12, purpose=i))
        assert row[order].tolist() == [0, 1, 2] * 4


# --- The parts by name


def test_the_theorem_says_how_long_batches_are_and_how_many_slots() -> None:
    length, slots = theorem_sizes(d=20, k=2, k0=6, kappa=1.5, T=1000)
    assert length == pytest.approx((6 * 1000 / (1.5**2 * 20 * 2)) ** (1 / 3))
    assert slots == pytest.approx(1.5**2 * 2 * math.log(1000) / 3)


def test_the_named_parts_are_what_they_say() -> None:
    levels, gains = np.array([5.0, 3.0]), np.array([[1.0, 2.0], [0.5, 0.0]])
    assert printed_losses(levels, gains).tolist() == [[4.0, 3.0], [2.5, 3.0]]
    assert negative_gains(levels, gains).tolist() == [[-1.0, -2.0], [-0.5, 0.0]]
    assert own_subsets(9, 3, 7).sizes.tolist() == [3, 2, 2]
    shared = shared_reads(9, 3, 7)
    assert (shared.d, shared.n, shared.budget) == (9, 3, 7)
    assert VARIANTS["paper"].losses is printed_losses
    assert VARIANTS["practical"].losses is negative_gains
    assert isinstance(VARIANTS["paper"].memory(4, 1.0), Restart)
    assert isinstance(VARIANTS["practical"].memory(4, 1.0), RestartAndCarry)


# --- Batches


def a_draw(j: list[int], S: list[int]) -> Draw:
    shape = (len(j), len(S))
    return Draw(np.array(j), np.array(S), np.full(shape, 0.5), np.ones(shape))


def test_a_batch_has_each_played_feature_once_and_slots_point_to_it() -> None:
    memory = RestartAndCarry(8, 2.0)
    batch = begin(a_draw([6, 1, 6, 4], [1, 3, 4, 6]), memory)
    assert batch.mini.V.tolist() == [6, 1, 4]  # in the order of the slots
    assert batch.slots.tolist() == [0, 1, 0, 2]
    assert batch.mini.features.tolist() == [6, 1, 4, 3]
    np.testing.assert_allclose(batch.mini.P, [np.eye(3) / 2.0] * 2)


def test_gains_of_a_batch_are_those_of_its_rows_in_the_order_of_what_is_read() -> None:
    batch, history = (
        begin(a_draw([6, 1, 6, 4], [1, 3, 4, 6]), RestartAndCarry(8, 2.0)),
        RunningTotals(8, 2),
    )
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    for row, label in zip(X, y, strict=True):
        batch.mini.add(row, float(label), history)
    levels, gains = batch.mini.gains(batch.slots, history)
    expected = slot_gains(X.T @ X, X.T @ y, float(y @ y), 12, [3, 0, 3, 2])
    np.testing.assert_allclose(levels, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gains, expected[1], rtol=1e-10, atol=1e-15)


def test_what_is_no_draw_is_refused() -> None:
    good = a_draw([1, 3], [0, 1, 3])
    begin(good, Restart(5, 1.0))
    for wrong in (
        Draw(good.j, good.S, good.p[:, :2], good.weight),
        Draw(good.j, good.S, good.p, good.weight[:1]),
        Draw(np.array([1, 2]), good.S, good.p, good.weight),  # 2 is played and not read
    ):
        with pytest.raises(DataError, match=r"not a draw of 2 slots that reads \[0, 1, 3\]"):
            begin(wrong, Restart(5, 1.0))


@pytest.mark.parametrize("memory", [Restart, RestartAndCarry])
def test_a_ridge_is_above_0(memory: type[Restart] | type[RestartAndCarry]) -> None:
    with pytest.raises(ProblemError, match="ridge must be"):
        memory(3, 0.0)


def test_a_batch_from_nothing_is_vaw() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    V, S = np.array([3, 1]), np.array([1, 2, 3])
    batch, history, vaw = (
        MiniBatch(V, S, *Restart(4, 0.3).start(V), False),
        RunningTotals(4, 1),
        VAW(2, 0.3),
    )
    predictions = np.empty(9)
    assert batch.play(X, y, history, predictions) == 9
    expected = []
    for x, label in zip(X, y.tolist(), strict=True):
        expected.append(vaw.predict(x[V]))
        vaw.update(x[V], label)
    np.testing.assert_allclose(predictions, expected, atol=1e-12)
    np.testing.assert_allclose(batch.theta[0], vaw.theta, atol=1e-12)
    np.testing.assert_allclose(batch.P[0], vaw.P, atol=1e-12)


def test_what_is_absent_is_the_mean_of_what_arrived_and_0_before() -> None:
    history = RunningTotals(3, 1)
    history.total[:], history.count[:] = [6.0, 5.0, 0.0], [3, 1, 0]
    S = np.arange(3)
    batch = MiniBatch(S, S, np.eye(3)[None], np.array([[1.0, 2.0, 4.0]]), False)
    # theta = b: w.x / (1 + x.x) with x = (2, 5, 0); values too small to be squared are 0.
    gone = np.full(3, np.nan)
    assert batch.predict(gone, history) == pytest.approx((2.0 + 10.0) / 30.0)
    assert batch.predict(np.array([1.0, 1e-160, 2.0]), history) == pytest.approx(9.0 / 6.0)
    before = history.total.copy()
    batch.add(gone, 1.0, history)
    np.testing.assert_array_equal(history.total, before)  # nothing arrived
    assert history.count.tolist() == [3, 1, 0]
    batch.add(np.array([0.5, np.nan, 0.0]), 1.0, history)
    assert history.total.tolist() == [6.5, 5.0, 0.0]
    assert history.count.tolist() == [4, 1, 1]


def test_several_guesses_are_mixed_by_vovk() -> None:
    guesses, losses, Y = np.array([0.5, -1.0, 2.0]), np.array([7.0, 5.0, 9.0]), 2.0

    def g(v: float) -> float:
        total = sum(
            math.exp(-(a + (v - b) ** 2) / 8.0) for a, b in zip(losses, guesses, strict=True)
        )
        return -8.0 * math.log(total)

    assert aggregate(guesses, losses, Y) == pytest.approx((g(-Y) - g(Y)) / 8.0)
    # However large the losses are, only their differences count.
    assert aggregate(guesses, losses + 1e6, Y) == pytest.approx(aggregate(guesses, losses, Y))
    assert aggregate(np.array([0.5, 0.5]), np.zeros(2), Y) == pytest.approx(0.5)


def test_rows_are_played_up_to_the_first_that_is_too_large_to_square() -> None:
    X, y, S = np.zeros((4, 3)), np.zeros(4), np.array([0, 2])

    def played() -> int:
        batch = MiniBatch(S, S, np.eye(2)[None], np.zeros((1, 2)), False)
        many = batch.play(X, y, RunningTotals(3, 1), np.empty(4))
        assert batch.n == many
        return many

    assert played() == 4
    X[0], y[0] = 1e150, -1e150  # the largest there is
    X[1, 0] = np.nan
    X[2, 1] = np.inf  # not read
    assert played() == 4
    X[3, 2] = -1.1e150
    assert played() == 3
    y[2] = 1.1e150
    assert played() == 2


def test_a_block_whose_first_row_is_too_large_plays_nothing() -> None:
    S = np.array([0])
    batch, history = MiniBatch(S, S, np.eye(1)[None], np.zeros((1, 1)), False), RunningTotals(1, 1)
    assert batch.play(np.array([[1e200], [1.0]]), np.ones(2), history, np.empty(2)) == 0
    assert batch.n == 0
    assert history.reach == 0.0


def test_pooled_sums_are_upper_triangles_whatever_the_order() -> None:
    features, G, c = np.array([4, 0, 2]), np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, 3.0])
    all_G, all_c = np.ones((5, 5)), np.ones(5)
    pool(features, G, c, all_G, all_c)
    more = np.zeros((5, 5))
    for a in range(3):
        for b in range(a, 3):
            i, j = sorted((int(features[a]), int(features[b])))
            more[i, j] += G[a, b]
    np.testing.assert_array_equal(all_G, 1.0 + more)
    assert all_c.tolist() == [3.0, 1.0, 4.0, 1.0, 2.0]


def test_a_run_counts_what_it_was_fed() -> None:
    bexp = BEXP(SharedReads(4, 2, 3), seed=1, rate=second_order)
    np.testing.assert_allclose(bexp.probabilities(), 0.25)
    for t in range(1, 4):
        draw = bexp.draw(t)
        bexp.feed(draw, np.ones((2, 3)))
        assert bexp.fed == t
    assert bexp.largest.tolist() == [1.0, 1.0]
