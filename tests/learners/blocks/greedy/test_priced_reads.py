"""Algorithm 2's draws with prices: within the limit to the unit, and unbiased, by enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.fit.purchase import Market, missing, nothing_paid, shop_of
from keyhole.learners.blocks.greedy import priced_reads as kernels
from keyhole.learners.blocks.greedy.budgeted_experts import BEXP, priced_bins
from keyhole.learners.blocks.greedy.priced_reads import EXPLORING_SHARE, PricedReads
from keyhole.problem import Floats, Problem, ProblemError

PANELS = Problem(
    *(7, 1, 9),
    prices=[0, 2, 3, 5, "0.5", 4, 0],
    panels={"a": (2, [1, 2]), "b": ("1.5", [4, 5])},
    derived={6: [1, 4]},
)
PLAIN = Problem(6, 1, 7, prices=[1, 2, 3, 4, 5, 7])
DEAR = Problem(5, 1, 10, prices=["0.01", "9.99", 10, 3, 3])


def _law(d: int, seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(d, 0.5))


def _cost(shop: Market, paid: np.ndarray) -> int:
    return int(shop.units[paid].sum())


def _mean_weights(
    shop: Market, p: Floats, paid: np.ndarray, hazard: float
) -> tuple[Floats, Floats]:
    """E(weight) of every expert in one turn, and of a twin, over all that can be drawn."""
    left = shop.limit - _cost(shop, paid)
    chance, mean, twin = np.empty(len(p)), np.zeros(len(p)), np.zeros(len(p))
    kernels.chances(p, shop, paid, left, chance)
    bin_of, filled = kernels.pack(shop, paid, left)
    for j, explores in itertools.product(np.flatnonzero(chance).tolist(), (False, True)):
        probability = chance[j] * (hazard if explores else 1 - hazard)
        after, weight = np.empty_like(paid), np.empty(len(p))
        kernels.take_turn(j, explores, shop, paid, bin_of, filled, after)
        assert _cost(shop, after) <= shop.limit
        kernels.weigh_turn(chance, shop, paid, after, bin_of, filled, hazard, weight)
        mean += probability * weight
        # Broken twin: divides by the chance of the bin, as if every turn explored.
        share = np.array([chance[bin_of == bin_of[e]].sum() for e in range(len(p))])
        twin += probability * (weight > 0) / np.maximum(share, 1e-300)
    return mean, twin


@pytest.mark.parametrize("problem", [PANELS, PLAIN, DEAR], ids=["panels", "plain", "dear"])
def test_a_turn_is_unbiased_whatever_was_paid_before(problem: Problem) -> None:
    """E(weight | what was drawn before) = 1 for everyone who could be played, else 0."""
    shop, worst = shop_of(problem, listed=True), 0.0
    features = range(problem.d)
    befores = [s for n in range(3) for s in itertools.combinations(features, n)]
    for before, hazard in itertools.product(filter(problem.affords, befores), (0.1, 0.5, 1.0)):
        paid = nothing_paid(shop)
        for j in before:
            for i in shop.need[shop.first[j] : shop.first[j + 1]]:
                paid[i] = True
        left = shop.limit - _cost(shop, paid)
        able = np.array([missing(j, shop, paid) <= left for j in features])
        mean, twin = _mean_weights(shop, _law(problem.d, len(before)), paid, hazard)
        np.testing.assert_allclose(mean[able], 1.0, rtol=1e-9)
        assert not mean[~able].any()
        worst = max(worst, float(np.abs(twin[able] - 1.0).max()))
    assert worst > 0.2


def test_those_who_can_be_paid_are_alike_where_all_weight_is_on_others() -> None:
    shop, chance = shop_of(PLAIN), np.empty(6)
    kernels.chances(np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.5]), shop, nothing_paid(shop), 4, chance)
    assert chance.tolist() == [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]
    kernels.chances(np.array([0.0, 0.2, 0.0, 0.2, 0.1, 0.5]), shop, nothing_paid(shop), 4, chance)
    assert chance.tolist() == [0.0, 0.5, 0.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("problem", [PANELS, PLAIN, DEAR], ids=["panels", "plain", "dear"])
def test_bins_are_affordable_and_no_two_of_them_together(problem: Problem) -> None:
    shop = shop_of(problem, listed=True)
    for left in range(0, shop.limit + 1, max(1, shop.limit // 40)):
        bin_of, filled = kernels.pack(shop, nothing_paid(shop), left)
        costs = [_cost(shop, bin) for bin in filled]
        assert all(cost <= left for cost in costs)
        for a, b in itertools.combinations(range(len(filled)), 2):
            assert _cost(shop, filled[a] | filled[b]) > left
        for j in range(problem.d):
            alone = missing(j, shop, nothing_paid(shop))
            assert (bin_of[j] >= 0) == (alone <= left)


def test_bins_of_features_that_share_nothing_are_first_fit_decreasing() -> None:
    prices = [3, 1, 2, 2, 5, 4, 1]
    shop = shop_of(Problem(7, 1, 6, prices=prices))
    bin_of, _ = kernels.pack(shop, nothing_paid(shop), 6)
    assert bin_of.tolist() == priced_bins(prices, 6.0).tolist()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([PANELS, PLAIN, DEAR]))
def test_no_draw_is_ever_above_the_limit(seed: int, n: int, problem: Problem) -> None:
    n = min(n, problem.width)
    scheme = PricedReads(shop_of(problem, listed=True), problem.width, n)
    p = np.array([_law(problem.d, seed + i) for i in range(n)])
    for t in range(1, 8):
        draw = scheme.draw(seed, t, p)
        assert problem.affords(draw.S)
        assert np.isin(draw.j, draw.S).all()
        prices = problem.prices
        assert prices is not None
        assert draw.S.tolist() == prices.paid_for(draw.S.tolist()).tolist()
        again = scheme.draw(seed, t, p)
        assert np.array_equal(draw.S, again.S)
        assert np.array_equal(draw.weight, again.weight)


def test_draws_follow_their_law() -> None:
    """The mean weight of the first run, and how often a run explores, over 20,000 rounds.

    Weights of the first run lie in [0, m], m = bins / hazard = 4 / (EXPLORING_SHARE / 2) here at
    most; a mean of N of them is off by m sqrt(log(2/a) / (2 N)) with probability at most a
    (Hoeffding), a = 1e-6 / 8. The margin is then about 0.46.
    """
    N, scheme = 20_000, PricedReads(shop_of(PLAIN), PLAIN.width, 2)
    p = np.full((2, 6), 1 / 6)
    most = len(kernels.pack(scheme.shop, nothing_paid(scheme.shop), scheme.shop.limit)[1])
    total = np.zeros(6)
    learns = 0
    for t in range(1, N + 1):
        draw = scheme.draw(3, t, p)
        total[draw.S] += draw.weight[0]
        learns += draw.weight[1].any()
    margin = most / (EXPLORING_SHARE / 2) * math.sqrt(math.log(2 * 8 / 1e-6) / (2 * N))
    assert np.abs(total / N - 1).max() <= margin < 0.9
    # The second run learns unless the first has explored: with probability 1 - EXPLORING_SHARE / 2.
    assert abs(learns / N - (1 - EXPLORING_SHARE / 2)) <= math.sqrt(
        math.log(2 * 8 / 1e-6) / (2 * N)
    )


def test_experts_find_the_best_that_is_affordable_beside_each_other() -> None:
    """Expert 1 is the best and costs all but a cent; the second run plays what a cent buys."""
    bexp = BEXP(PricedReads(shop_of(DEAR), DEAR.width, 2), seed=0)
    gains = np.array([[-0.2, -0.9, -0.8, -0.3, -0.3], [-0.5, 0.0, -0.9, -0.1, -0.1]])
    for t in range(1, 3000):
        draw = bexp.draw(t)
        bexp.feed(draw, gains[:, draw.S])
    draw = bexp.draw(3000)
    assert bexp.probabilities()[0].argmax() == 1
    assert draw.j.tolist() == [1, 0]
    assert DEAR.cost(draw.S) == 10.0


def test_there_are_as_many_runs_as_can_be_bought() -> None:
    for n in (0, PLAIN.width + 1):
        with pytest.raises(ProblemError, match=r"1 <= runs <= \d+ is needed"):
            PricedReads(shop_of(PLAIN), PLAIN.width, n)
