"""Budgeted experts: exact inclusion probabilities, unbiased estimates, no overflow."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.draw.sampling import categorical, complement_subset
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
    implicit,
    known_horizon,
    own_weights,
    priced_bins,
    second_order,
    shared_weights,
)
from keyhole.problem import Floats, ProblemError


def some_probabilities(n: int, d: int, seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(d, 0.5), size=n)


# Inclusion probabilities, by enumeration of everything that can be drawn.


def all_own_subsets(p: Floats, M: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every set that one run can read, with its probability: j ~ p, then a uniform rest."""
    d = len(p)
    for j in range(d):
        others = [e for e in range(d) if e != j]
        for rest in itertools.combinations(others, M - 1):
            yield p[j] / math.comb(d - 1, M - 1), (j, *rest)


@pytest.mark.parametrize(("d", "M"), [(1, 1), (4, 1), (4, 4), (5, 2), (6, 3)])
def test_own_subsets_have_the_stated_inclusion_probabilities(d: int, M: int) -> None:
    p = some_probabilities(1, d, seed=d)
    q = np.zeros(d)
    for probability, U in all_own_subsets(p[0], M):
        q[list(U)] += probability
    weight = np.empty((1, d))
    own_weights(p, np.array([M]), d, np.ones((1, d), dtype=np.bool_), weight)
    np.testing.assert_allclose(weight[0], 1 / q, rtol=1e-12)
    assert (p[0] * weight[0]).sum() <= OwnSubsets(d, np.array([M])).spread[0] + 1e-12
    if 1 < M < d:
        twin = M / d  # broken twin: as if U were a uniform subset, whatever is played
        assert not np.allclose(q, twin)


def all_shared_reads(p: Floats, budget: int) -> Iterator[tuple[float, Draw]]:
    """Every draw of a shared bank, with its probability and its weights."""
    n, d = p.shape
    scheme = SharedReads(d, n, budget)
    for j in itertools.product(range(d), repeat=n):
        V = sorted(set(j))
        others = [e for e in range(d) if e not in V]
        fills = list(itertools.combinations(others, budget - len(V)))
        for rest in fills:
            S = np.array(sorted([*V, *rest]))
            weight = np.empty((n, len(S)))
            f0, f = scheme._filled(n), scheme._filled(len(V))
            shared_weights(p[:, S].copy(), np.searchsorted(S, j), f0, f, weight)
            chance = math.prod(p[i, e] for i, e in enumerate(j)) / len(fills)
            yield chance, Draw(np.array(j), S, p[:, S], weight)


@pytest.mark.parametrize(
    ("d", "n", "budget"), [(3, 1, 2), (4, 2, 3), (4, 2, 2), (4, 3, 3), (5, 2, 4), (4, 2, 4)]
)
def test_shared_reads_are_unbiased_given_the_earlier_runs(d: int, n: int, budget: int) -> None:
    """E(weight | j_1, ..., j_{i-1}) = 1 for every run i and expert: all that Algorithm 2 needs."""
    p = some_probabilities(n, d, seed=d + 10 * n)
    mean: dict[tuple[int, ...], Floats] = {}
    chance: dict[tuple[int, ...], float] = {}
    twin: dict[tuple[int, ...], Floats] = {}
    square = np.zeros(n)
    known = 1 - np.prod(1 - p, axis=0)  # chance that some run plays an expert
    for probability, draw in all_shared_reads(p, budget):
        square += probability * (draw.p * draw.weight**2).sum(axis=1)
        for i in range(n):
            before = tuple(draw.j[:i].tolist())
            chance[before] = chance.get(before, 0.0) + probability
            mean.setdefault(before, np.zeros(d))[draw.S] += probability * draw.weight[i]
            # Broken twin: divide by the probability that does not know the earlier draws.
            f = (budget - n) / (d - n) if d > n else 1.0
            blind = 1 / (known[draw.S] + (1 - known[draw.S]) * f)
            twin.setdefault(before, np.zeros(d))[draw.S] += probability * blind
    for before, total in mean.items():
        np.testing.assert_allclose(total / chance[before], 1.0, rtol=1e-9)
    assert (square <= SharedReads(d, n, budget).spread + 1e-9).all()
    if n > 1 and budget < d:
        errors = [np.abs(total / chance[before] - 1).max() for before, total in twin.items()]
        assert max(errors) > 0.01


def test_bins_are_unbiased() -> None:
    p = some_probabilities(1, 6, seed=3)
    scheme = OwnBins(np.array([[0, 1, 0, 2, 1, 1]]))
    for e in range(6):
        bin_of_e = np.flatnonzero(scheme.bin_of[0] == scheme.bin_of[0, e])
        only = np.zeros((1, 6))
        only[0, e] = 1.0  # makes the draw certain; the weights come from p below
        assert scheme.draw(0, 1, only).S.tolist() == bin_of_e.tolist()
    seen = {tuple(d.S.tolist()): d for d in (scheme.draw(0, t, p) for t in range(200))}
    total = sum(p[0, list(S)].sum() * draw.weight.sum() for S, draw in seen.items())
    assert len(seen) == 3
    assert total == pytest.approx(6.0)  # sum over experts of P(bin) / P(bin)
    assert scheme.spread[0] == 3


# The draws follow the law that was enumerated.


def test_draws_follow_their_law() -> None:
    """Frequencies of j and of reads over 8,000 rounds, against the exact probabilities.

    A frequency of N independent rounds is off by more than sqrt(log(2/a) / (2 N)) with probability
    at most a (Hoeffding); a = 1e-6 / 60 for the at most 60 frequencies below.
    """
    N, d, sizes = 8_000, 6, np.array([3, 2])
    margin = math.sqrt(math.log(2 * 60 / 1e-6) / (2 * N))
    p = some_probabilities(2, d, seed=0)
    own, shared = OwnSubsets(d, sizes), SharedReads(d, 2, 4)
    played, read = np.zeros((2, d)), np.zeros((2, d))
    weighted, alike = np.zeros((2, d)), np.zeros((2, d))
    for t in range(N):
        draw = own.draw(5, t, p)
        played[[0, 1], draw.j] += 1
        read[:, draw.S] += draw.weight > 0
        both = shared.draw(5, t, p)
        weighted[:, both.S] += both.weight
        alike[:, both.S] += 1
        assert len(both.S) == 4
        assert set(both.j.tolist()) <= set(both.S.tolist())
    q = p + (1 - p) * (sizes[:, None] - 1) / (d - 1)
    assert np.abs(played / N - p).max() <= margin
    assert np.abs(read / N - q).max() <= margin
    # weights lie in [0, 1/f0] with f0 = 1/2: the same inequality with that range.
    assert np.abs(weighted / N - 1).max() <= 2 * margin
    # Broken twins: reads without the played expert, and counting reads without their weight.
    assert np.abs(read / N - (sizes[:, None] - 1) / (d - 1)).max() > margin
    assert np.abs(alike / N - 1).max() > 2 * margin


def test_a_round_can_be_drawn_again_from_the_public_samplers() -> None:
    p = some_probabilities(2, 7, seed=1)
    for t in (1, 2, 900):
        draw = OwnSubsets(7, np.array([3, 3])).draw(11, t, p)
        for i in range(2):
            j = categorical(11, t, p[i], purpose=2 * i)
            U = {j, *complement_subset(11, t, 7, 2, [j], purpose=2 * i + 1).tolist()}
            assert draw.j[i] == j
            assert set(draw.S[draw.weight[i] > 0].tolist()) == U


# The run itself.


def play(bexp: BEXP, losses: Floats) -> list[int]:
    played = []
    for t, row in enumerate(losses, start=1):
        draw = bexp.draw(t)
        played.append(int(draw.j[0]))
        bexp.feed(draw, np.tile(row[draw.S], (bexp.scheme.n, 1)))
    return played


def test_a_million_rounds_do_not_overflow() -> None:
    """Losses near 1 all the way: L reaches 10^6, and the probabilities are still numbers."""
    bexp = BEXP(OwnSubsets(3, np.array([2])), seed=0)
    bexp.L[:], bexp.fed = [999_900.0, 998_900.0, 999_900.0], 999_900
    play(bexp, np.tile([1.0, 0.999, 1.0], (100, 1)))
    p = bexp.probabilities()
    assert bexp.fed == 1_000_000
    assert bexp.L.max() > 9e5
    assert np.isfinite(p).all()
    # p_i = 1 / sum_j exp(eta (L_i - L_j)) with eta = sqrt(M log d / (d t)), M = 2, d = 3
    eta, L = math.sqrt(2.0 * math.log(3.0) / (3.0 * 1_000_001)), bexp.L[0]
    np.testing.assert_allclose(p[0], 1.0 / np.exp(eta * (L[:, None] - L)).sum(axis=1), rtol=1e-9)
    with np.errstate(under="ignore", invalid="ignore"):
        plain = np.exp(-bexp.L)  # broken twin: weights kept as they are, not as logarithms
        assert np.isnan(plain / plain.sum()).all()


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([2.0**-20, 2.0**30]))
def test_the_second_order_rate_needs_no_scale(seed: int, factor: float) -> None:
    losses = np.random.default_rng(seed).uniform(-1, 1, (60, 5))
    scheme = OwnSubsets(5, np.array([2]))
    base = play(BEXP(scheme, seed=seed, rate=second_order), losses)
    assert play(BEXP(scheme, seed=seed, rate=second_order), factor * losses) == base


def test_the_anytime_rate_does_need_one_and_divides_by_the_largest_loss() -> None:
    def tally(largest: float) -> Tally:
        ones = np.ones(1)
        return Tally(d=8, fed=99, spread=2 * ones, squares=ones, largest=largest * ones)

    assert anytime(tally(0.3))[0] == pytest.approx(math.sqrt(math.log(8) / 200))
    assert anytime(tally(5.0))[0] == pytest.approx(math.sqrt(math.log(8) / 200) / 5)
    assert known_horizon(50)(tally(1.0))[0] == pytest.approx(math.sqrt(2 * math.log(8) / 100))
    assert second_order(tally(0.0))[0] == pytest.approx(math.sqrt(math.log(8)))


def test_gains_and_losses_compare_experts_alike() -> None:
    """A common shift of all losses of a round changes no probability when everything is read."""
    losses = np.random.default_rng(0).uniform(0, 1, (50, 4))
    scheme = OwnSubsets(4, np.array([4]))
    shifted = losses - losses.max(axis=1, keepdims=True)
    assert play(BEXP(scheme, seed=2), losses) == play(BEXP(scheme, seed=2), shifted)


def test_implicit_exploration_bounds_the_weights() -> None:
    p = np.array([[1e-9, 1 - 1e-9]])
    draw = Draw(np.array([0]), np.array([0]), p[:, :1], np.array([[1e9]]))
    tempered = implicit(draw, np.array([0.05]))
    assert tempered.weight[0, 0] == pytest.approx(1 / (1e-9 + 0.05))


def test_the_sums_of_a_run_are_those_of_the_definition() -> None:
    """L_j = sum l_hat_j, squares = sum_t sum_j p_j l_hat_j^2, largest = max |l|, from the draws."""
    losses = np.random.default_rng(3).uniform(-2, 1, (40, 2, 5))
    bexp = BEXP(OwnSubsets(5, np.array([2, 3])), seed=4, rate=second_order)
    L, squares, largest = np.zeros((2, 5)), np.zeros(2), np.zeros(2)
    for t, row in enumerate(losses, start=1):
        draw = bexp.draw(t)
        bexp.feed(draw, row[:, draw.S])
        for i in range(2):
            for a, e in enumerate(draw.S.tolist()):
                if draw.weight[i, a] > 0.0:
                    l_hat = float(row[i, e] * draw.weight[i, a])
                    L[i, e] += l_hat
                    squares[i] += draw.p[i, a] * l_hat**2
                    largest[i] = max(largest[i], abs(row[i, e]))
    assert bexp.fed == 40
    np.testing.assert_allclose(bexp.L, L, rtol=1e-12)
    np.testing.assert_allclose(bexp.squares, squares, rtol=1e-12)
    np.testing.assert_array_equal(bexp.largest, largest)
    eta = np.sqrt(math.log(5.0) / (np.array([5 / 2, 5 / 3]) * largest**2 + squares))
    np.testing.assert_allclose(bexp.eta(), eta, rtol=1e-12)


def test_late_losses_may_come_in_any_order() -> None:
    losses = np.random.default_rng(1).uniform(0, 1, (3, 5))
    results = []
    for order in ([0, 1, 2], [2, 0, 1]):
        bexp = BEXP(OwnSubsets(5, np.array([2, 2])), seed=4)
        draws = [bexp.draw(t) for t in (1, 2, 3)]
        for t in order:
            bexp.feed(draws[t], np.tile(losses[t, draws[t].S], (2, 1)))
        results.append((bexp.L, bexp.squares))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-12)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-12)


def test_a_loss_that_was_not_read_is_not_looked_at() -> None:
    bexp = BEXP(OwnSubsets(6, np.array([2, 2])), seed=1)
    draw = bexp.draw(1)
    losses = np.where(draw.weight > 0, 0.5, np.nan)
    bexp.feed(draw, losses)
    assert np.isfinite(bexp.L).all()
    assert bexp.largest.tolist() == [0.5, 0.5]


# Bins and shares.


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 100))
def test_equal_bins_are_small_and_even(d: int, M: int, seed: int) -> None:
    bins = equal_bins(d, M, 2, seed)
    for row in bins:
        sizes = np.bincount(row)
        assert len(sizes) == -(-d // M)
        assert sizes.max() <= M
        assert sizes.max() - sizes.min() <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_priced_bins_keep_to_the_budget(prices: list[float]) -> None:
    bins = priced_bins(prices, 1.0)
    cost = np.bincount(bins, weights=prices)
    assert cost.max() <= 1.0 + 1e-12
    assert len(cost) <= 2 * sum(prices) + 1


def test_shares_add_up() -> None:
    assert equal_shares(11, 4).tolist() == [3, 3, 3, 2]
    assert equal_shares(4, 4).tolist() == [1, 1, 1, 1]


def test_nonsense_is_refused() -> None:
    with pytest.raises(ProblemError, match="sizes"):
        OwnSubsets(3, np.array([4]))
    with pytest.raises(ProblemError, match="runs <= budget"):
        SharedReads(5, n=4, budget=3)
    with pytest.raises(ProblemError, match="prices"):
        priced_bins([2.0], 1.0)
