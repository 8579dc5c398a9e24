"""Draws over many experts: by the fill_probabilities that are said, and the same whenever built."""

import itertools
import math

import numpy as np
import pytest

from keyhole.learners.blocks.draw import odds as module
from keyhole.learners.blocks.draw.odds import (
    EXPERTS_PER_LEAF,
    SHIFT_STEP,
    Odds,
    chance,
    draw_by,
    even_rate,
    follow,
    odds,
    renew,
)
from keyhole.learners.blocks.draw.philox import uniform
from keyhole.learners.blocks.greedy.budgeted_experts import (
    draw_experts,
    feed_losses,
    fill_probabilities,
    shared_weights,
)
from keyhole.problem import Floats


def tree(monkeypatch: pytest.MonkeyPatch, n: int, d: int) -> Odds:
    """A tree, however few experts there are."""
    monkeypatch.setattr(module, "MAX_OUTRIGHT_EXPERTS", 0)
    return odds(n, d)


def some_sums(n: int, d: int, seed: int = 0) -> Floats:
    """Sums of losses, many of them 0, some far below."""
    rng = np.random.default_rng(seed)
    return -rng.exponential(3.0, (n, d)) * (rng.random((n, d)) < 0.5)


def chances(known: Odds, L: Floats) -> Floats:
    n, d = L.shape
    return np.array([[chance(known, L, i, j) for j in range(d)] for i in range(n)])


def lengths(known: Odds, i: int, L: Floats) -> Floats:
    """How much of [0, 1) leads to each expert: where u leads to j or beyond, by bisection."""
    ends = []
    for j in range(len(L) + 1):
        low, high = 0, 1 << 53  # in units of 2^-53, what uniform numbers are multiples of
        while low < high:
            middle = (low + high) // 2
            if follow(known, i, L, middle * 2.0**-53) >= j:
                high = middle
            else:
                low = middle + 1
        ends.append(low * 2.0**-53)
    return np.diff(ends)


ETA = np.array([0.9, 0.56])  # both some 6 % from the nearest power of 2^(1/4)


@pytest.mark.parametrize("d", [1, 15, 16, 17, 40, 100])
def test_what_is_drawn_has_the_probability_that_is_said(
    monkeypatch: pytest.MonkeyPatch, d: int
) -> None:
    L = some_sums(2, d)
    L[0, d // 2] = -80.0  # more than one shift
    known = tree(monkeypatch, 2, d)
    draw_by(3, 1, L, ETA, known, np.empty(2, dtype=np.int64))
    said = chances(known, L)
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=1e-13)
    rate = np.array([even_rate(eta) for eta in ETA])
    exact = np.exp(-rate[:, None] * (L - L.min(axis=1, keepdims=True)))
    np.testing.assert_allclose(said, exact / exact.sum(axis=1, keepdims=True), rtol=1e-12)
    for i in range(2):
        # An end is off by at most a rounding of each sum on the way, and by 2^-53.
        np.testing.assert_allclose(lengths(known, i, L[i]), said[i], rtol=0, atol=3e-15)


def test_rates_are_rounded_to_quarters_of_an_octave() -> None:
    for eta in (1e-300, 1e-9, 0.3, 0.5, 0.7, 1.0, 40.0):
        rounded = even_rate(eta)
        assert abs(math.log2(rounded / eta)) <= 0.125 + 1e-9
        assert 4.0 * math.log2(rounded) == pytest.approx(round(4.0 * math.log2(rounded)), abs=1e-9)
    assert even_rate(0.5) == 0.5
    assert even_rate(0.0) == even_rate(math.inf) == even_rate(math.nan) == 0.0


def mean_weights(drawn: Floats, said: Floats, budget: int) -> dict[tuple[int, ...], Floats]:
    """E(weight | earlier draws) by enumeration, run by run: drawn by one p, weighted by another."""
    n, d = drawn.shape

    def filled(v: int) -> float:
        return float((budget - v) / (d - v))

    mean: dict[tuple[int, ...], Floats] = {}
    everyone = np.arange(d)
    for j in itertools.product(range(d), repeat=n):
        weight, V = np.empty((n, d)), sorted(set(j))
        # All experts at once, as if all were read; one not played is, in a share f of the draws.
        shared_weights(said, np.array(j), filled(n), filled(len(V)), weight)
        read = np.where(np.isin(everyone, V), 1.0, filled(len(V)))
        for i in range(n):
            after = math.prod(drawn[h, j[h]] for h in range(i, n))
            total = mean.setdefault(j[:i], np.zeros(d))
            total += after * read * weight[i]
    return mean


def test_estimates_are_unbiased_under_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    d, budget = 24, 5
    L, known = some_sums(2, d, seed=5), tree(monkeypatch, 2, d)
    draw_by(3, 1, L, ETA, known, np.empty(2, dtype=np.int64))
    drawn = np.array([lengths(known, i, L[i]) for i in range(2)])
    for mean in mean_weights(drawn, chances(known, L), budget).values():
        np.testing.assert_allclose(mean, 1.0, rtol=1e-10)
    # Broken twin: weighted by what the learning rate would say had it not been rounded.
    other = np.empty((2, d))
    fill_probabilities(L, ETA, other)
    twin = mean_weights(drawn, other, budget)
    assert max(np.abs(mean - 1.0).max() for mean in twin.values()) > 0.01


def bits(known: Odds) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in known[1:])


def game(batches: int, *, renews: bool = True, anew: bool = False) -> tuple[list[bytes], Odds, int]:
    """The draws of a game of two runs over 3,000 experts, and how often a tree was built.

    `anew`: the tree is built anew before every draw, as after loading.
    """
    n, d = 2, 3_000
    rng, known = np.random.default_rng(1), odds(n, d)
    L, squares, largest = np.zeros((n, d)), np.zeros(n), np.zeros(n)
    draws, built = [], 0
    for t in range(1, batches + 1):
        seen = 30.0 * largest**2 + squares
        eta = np.sqrt(np.log(d) / np.where(seen > 0.0, seen, np.log(d)))
        if anew:
            known = odds(n, d)
        j, before = np.empty(n, dtype=np.int64), (known.rate.copy(), known.shift.copy())
        draw_by(7, t, L, eta, known, j)
        built += int(((known.rate != before[0]) | (known.shift != before[1])).sum())
        S = np.unique(np.concatenate([j, np.arange(3), rng.integers(0, d, 6)]))
        p = np.array([[chance(known, L, i, e) for e in S] for i in range(n)])
        draws.append(j.tobytes() + p.tobytes())
        weight = np.where(S < 3, 1.0, 0.1 / (p + 0.1)) * (rng.random((n, len(S))) < 0.8)
        gains = rng.exponential(1.0, (n, len(S))) + 2.0 * (S == 1)
        feed_losses(S, p, weight, -gains, L, squares, largest)
        if renews:
            renew(known, L, S, weight)
    return draws, known, built


def test_a_tree_that_is_renewed_is_the_tree_that_is_built_anew_to_the_bit() -> None:
    draws, known, _ = game(250)
    again, fresh, _ = game(250, anew=True)
    assert draws == again
    assert known.rate.tobytes() == fresh.rate.tobytes()
    assert known.shift.max() >= SHIFT_STEP  # the game went beyond one shift
    assert draws != game(250, renews=False)[0]  # broken twin: what is told is not taken note of


def test_few_trees_are_built() -> None:
    """The rate falls by 2^(1/4) for every 41 % more squares, and the shift rises by 16."""
    _, known, built = game(2_000)
    falls = 4.0 * np.log2(1.0 / known.rate)
    shifts = falls + known.shift / SHIFT_STEP  # a fall of the rate may take one shift back
    assert built <= (1 + falls + 2 * shifts).sum()
    assert game(50, anew=True)[2] == 100  # broken twin: one for each run and batch


def test_work_grows_with_the_logarithm_of_the_experts() -> None:
    for d in (2_000, 60_000):
        L, known, drawn = np.zeros((1, d)), odds(1, d), np.empty(1, dtype=np.int64)
        draw_by(0, 1, L, np.ones(1), known, drawn)
        depth = math.ceil(math.log2(d / EXPERTS_PER_LEAF)) + 1
        assert known.sums.size <= 4 * d / EXPERTS_PER_LEAF
        before = known.sums.copy()
        L[0, [5, d - 1]] -= 1.0
        renew(known, L, np.array([5, 9, d - 1]), np.array([[1.0, 0.0, 1.0]]))
        assert 0 < (known.sums != before).sum() <= 2 * depth
        j = follow(known, 0, L[0], 0.999999)
        assert j >= d - EXPERTS_PER_LEAF
        L[
            0, : (d - 1) // EXPERTS_PER_LEAF * EXPERTS_PER_LEAF
        ] = -1e6  # what is not in its block is not looked at
        assert follow(known, 0, L[0], 0.999999) == j


@pytest.mark.parametrize("d", [1024, 1025])
def test_compiled_draws_are_those_of_the_definition(d: int) -> None:
    """Up to 1024 experts with the rate as it is, beyond with it rounded."""
    L, known, j = some_sums(2, d), odds(2, d), np.empty(2, dtype=np.int64)
    rate = ETA if d <= 1024 else np.array([even_rate(eta) for eta in ETA])
    p, expected = np.empty((2, d)), np.empty(2, dtype=np.int64)
    fill_probabilities(L, rate, p)
    for t in range(1, 60):
        draw_by(11, t, L, ETA, known, j)
        draw_experts(11, t, p, expected)
        assert j.tolist() == expected.tolist()
        if d > 1024:
            u = [uniform(11, t, 2 * i, 0) for i in range(2)]
            assert j.tolist() == [follow(known, i, L[i], u[i]) for i in range(2)]
    np.testing.assert_allclose(chances(known, L), p, rtol=1e-12)


@pytest.mark.parametrize("low", [-1e308, -1e250, 1e308])
def test_sums_that_are_none_crash_nothing(low: float) -> None:
    """A state may come from a file that was made by hand."""
    L, known, j = np.zeros((1, 2_000)), odds(1, 2_000), np.empty(1, dtype=np.int64)
    L[0, 77] = low
    draw_by(1, 1, L, np.array([1e200]), known, j)
    assert 0 <= j[0] < 2_000
    assert 0.0 <= chance(known, L, 0, 77) <= 1.0
    renew(known, L, j, np.ones((1, 1)))
