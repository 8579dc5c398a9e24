"""Keyed draws: known answers, uniform, without memory; inclusion probabilities by enumeration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from keyhole.learners.blocks.draw import philox as kernels
from keyhole.learners.blocks.draw.sampling import (
    Inclusion,
    categorical,
    complement_subset,
    inclusion_complement,
    inclusion_uniform,
    inclusion_union,
    uniform_subset,
    uniforms,
)
from keyhole.problem import Indices, ProblemError

Draw = Callable[[int, int, int], Sequence[int]]  # (round, d, size) -> features

SEEDS = st.integers(0, 2**64 - 1)


def words_of(seed: int, round: int, purpose: int, block: int) -> list[int]:
    return [int(word) for word in kernels.words(np.uint64(seed), round, purpose, block)]


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        # The known-answer vectors of Philox4x32-10 from the authors' Random123 library.
        ("00000000 00000000 00000000 00000000", "00000000 00000000",
         "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
         "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
         "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)  # fmt: skip
def test_philox_gives_the_known_answers(counter: str, key: str, answer: str) -> None:
    inputs = [np.uint64(int(word, 16)) for word in (counter + " " + key).split()]
    result = kernels.philox(*inputs)
    assert [int(word) for word in result] == [int(word, 16) for word in answer.split()]


def test_seed_is_the_key_and_round_purpose_block_the_counter() -> None:
    answer = [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    seed, round = 0x299F31D0_A4093822, 0x85A308D3_243F6A88 - 2**64  # the kernel takes int64 rounds
    assert words_of(seed, round, 0x13198A2E, 0x03707344) == answer


def test_uniforms_have_53_bits_and_are_the_words_in_order() -> None:
    u = uniforms(11, 5, 1001, purpose=3)
    assert ((u >= 0) & (u < 1)).all()
    assert (u * 2**53 == np.floor(u * 2**53)).all()
    # A lost half would leave the last 21 or more of the 53 bits at zero.
    assert len({int(v * 2**53) % 2**20 for v in u}) > 990
    for i in (0, 1, 500, 999):
        word = words_of(11, 5, 3, i // 2)[2 * (i % 2) :]
        assert u[i] == ((word[0] >> 5) * 2**26 + (word[1] >> 6)) / 2**53
    # The mean of n uniforms misses 1/2 by more than eps with probability <= 2 exp(-2 n eps^2)
    # (Hoeffding): 1e-6 at eps = sqrt(log(2e6) / (2 n)).
    assert abs(u.mean() - 0.5) < math.sqrt(math.log(2e6) / (2 * len(u)))


@settings(deadline=None)  # the first example compiles
@given(SEEDS, st.integers(1, 2**40), st.integers(0, 2**32 - 1), st.data())
def test_a_subset_is_ascending_in_range_and_repeatable(
    seed: int, round: int, purpose: int, data: st.DataObject
) -> None:
    d = data.draw(st.integers(1, 300))
    S = sorted(data.draw(st.sets(st.integers(0, d - 1))))
    size = data.draw(st.integers(0, d - len(S)))
    first = complement_subset(seed, round, d, size, S, purpose=purpose)
    uniform_subset(seed ^ 1, round + 1, d, d)  # anything else in between
    assert first.dtype == np.int64
    assert len(first) == size
    assert (np.diff(first) > 0).all()
    assert set(first.tolist()) <= set(range(d)) - set(S)
    assert np.array_equal(first, complement_subset(seed, round, d, size, S, purpose=purpose))
    whole = uniform_subset(seed, round, d, size, purpose=purpose)
    assert np.array_equal(whole, complement_subset(seed, round, d, size, [], purpose=purpose))


def transcribed(round: int, d: int, size: int) -> tuple[list[int], int]:
    """Fisher-Yates with rejection, in words as plain numbers; and how many words were rejected."""
    moved: dict[int, int] = {}
    chosen: list[int] = []
    used = 0
    while len(chosen) < size:
        i, word = len(chosen), words_of(1, round, 0, used // 4)[used % 4]
        used += 1
        if word * (d - i) % 2**32 < 2**32 % (d - i):
            continue
        j = i + word * (d - i) // 2**32
        chosen.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return sorted(chosen), used - size


@pytest.mark.parametrize(("d", "size", "rounds"), [(5, 5, 50), (100, 40, 50), (10**6, 5, 4000)])
def test_a_literal_transcription_draws_the_same_sets(d: int, size: int, rounds: int) -> None:
    rejected = 0
    for t in range(1, rounds + 1):
        S, skipped = transcribed(t, d, size)
        rejected += skipped
        assert uniform_subset(1, t, d, size).tolist() == S
    # At d = 10^6 a word is rejected with probability 2e-4, 4 in 20,000: the skip is really taken.
    assert d < 10**6 or rejected > 0


def dirty(order: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """Broken twin: Fisher-Yates that leaves the permutation as the last draw made it."""
    permutation, sets = np.arange(12), {}
    for round, size in order:
        for i, u in enumerate(uniforms(5, round, size)):
            j = i + int(u * (12 - i))
            permutation[[i, j]] = permutation[[j, i]]
        sets[round] = sorted(permutation[:size].tolist())
    return sets


def clean(order: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """The real sampler on one scratch; checks that every draw leaves the identity in it."""
    space, sets = kernels.scratch(12), {}
    for round, size in order:
        out = np.empty(size, dtype=np.int64)
        kernels.subset(5, round, 0, 12, out, space)
        assert np.array_equal(space[0], np.arange(len(space[0])))
        sets[round] = out.tolist()
    return sets


def test_a_set_does_not_depend_on_what_was_drawn_before() -> None:
    order = [(round, 1 + round % 7) for round in range(1, 40)]
    assert clean(order) == clean(order[::-1]) == {**clean(order[5:]), **clean(order[:5])}
    assert clean(order) == {t: uniform_subset(5, t, 12, size).tolist() for t, size in order}
    assert dirty(order) != dirty(order[::-1])  # the twin fails the same comparison


def uneven(events: Iterable[Hashable], cells: int) -> bool:
    """Whether equally likely outcomes came in numbers that say that they are not.

    Each of the `cells` counts is Binomial(n, 1/cells). It is compared with the exact quantiles at
    1e-6 / (2 cells), so by the union bound even outcomes are called uneven with probability
    <= 1e-6, with no approximation.
    """
    counts = Counter(events)
    n, tail = counts.total(), 1e-6 / (2 * cells)
    low, high = binom.ppf(tail, n, 1 / cells), binom.isf(tail, n, 1 / cells)
    smallest = 0 if len(counts) < cells else min(counts.values())
    assert len(counts) <= cells
    return bool(smallest < low or max(counts.values()) > high)


def from_all(round: int, d: int, size: int) -> Sequence[int]:
    return [int(i) for i in uniform_subset(1, round, d, size)]


def from_complement(round: int, d: int, size: int) -> Sequence[int]:
    support = [0, 3, 4, d + 2]  # three others before, between and behind the d that are left
    left = [i for i in range(d + 4) if i not in support]
    features = complement_subset(1, round, d + 4, size, support)
    return [left.index(i) for i in features.tolist()]


def few_bits(round: int, d: int, size: int) -> Sequence[int]:
    """Broken twin: the remainder of a 5-bit word, so that small numbers come more often."""
    left = list(range(d))
    words = [w >> 27 for b in range(size) for w in words_of(1, round, 0, b)]
    return sorted(left.pop(words[i] % len(left)) for i in range(size))


def naive_swaps(round: int, d: int, size: int) -> Sequence[int]:
    """Broken twin: swaps place i with any place instead of one that is not settled yet."""
    permutation = list(range(d))
    for i, u in enumerate(uniforms(1, round, size)):
        j = int(u * d)
        permutation[i], permutation[j] = permutation[j], permutation[i]
    return sorted(permutation[:size])


def some_set_is_favoured(draw: Draw, d: int, size: int) -> bool:
    cells = math.comb(d, size)
    return uneven((tuple(draw(t, d, size)) for t in range(1, 700 * cells)), cells)


@pytest.mark.parametrize(("d", "size"), [(7, 3), (5, 1), (6, 5), (4, 2)])
@pytest.mark.parametrize("draw", [from_all, from_complement])
def test_all_subsets_are_equally_likely(draw: Draw, d: int, size: int) -> None:
    assert not some_set_is_favoured(draw, d, size)


@pytest.mark.parametrize("draw", [few_bits, naive_swaps])
def test_broken_samplers_favour_some_subsets(draw: Draw) -> None:
    assert some_set_is_favoured(draw, 7, 3)


def test_a_large_subset_reaches_every_feature_evenly() -> None:
    # Beyond 16 features the subset is sorted in buckets, a path that small d never takes.
    draws = np.array([uniform_subset(3, t, 64, 32) for t in range(1, 4001)])
    hits = np.bincount(draws.ravel(), minlength=64)
    tail = 1e-6 / 128  # 64 counts, two sides, each Binomial(4000, 1/2) exactly
    assert hits.min() >= binom.ppf(tail, 4000, 0.5)
    assert hits.max() <= binom.isf(tail, 4000, 0.5)


@pytest.mark.parametrize(
    ("second", "broken"),
    [
        (lambda t: uniform_subset(9, t, 4, 2, purpose=1), False),
        (lambda t: uniform_subset(9, t + 1, 4, 2), False),
        (lambda t: uniform_subset(10, t, 4, 2), False),
        (lambda t: uniform_subset(9, t, 4, 2), True),  # the twin that forgets the purpose
    ],
)
def test_purposes_rounds_and_seeds_are_independent(
    second: Callable[[int], Indices], broken: bool
) -> None:
    pairs = (
        (*uniform_subset(9, t, 4, 2).tolist(), *second(t).tolist()) for t in range(1, 14401, 2)
    )
    assert uneven(pairs, 36) == broken


def test_categorical_follows_the_weights() -> None:
    weights = [0.0, 1.0, 0.0, 2.0, 5.0, 0.0]
    draws = Counter(categorical(2, t, weights) for t in range(1, 8001))
    assert set(draws) == {1, 3, 4}
    for i in draws:  # exact binomial quantiles, three cells and two sides
        n, p, tail = 8000, weights[i] / 8, 1e-6 / 6
        assert binom.ppf(tail, n, p) <= draws[i] <= binom.isf(tail, n, p)
    assert kernels.categorical(1 - 2**-53, np.array([1.0, 5e-324])) == 0
    assert kernels.categorical(1 - 2**-53, np.array([5e-324, 0.0])) == 0
    assert kernels.categorical(0.0, np.array([0.0, 1.0])) == 1


def enumerated(d: int, always: Sequence[int], sets: Sequence[tuple[int, ...]]) -> np.ndarray:
    """P[i, j] as the share of the sets, joined with `always`, that hold both."""
    P = np.zeros((d, d))
    for extra in sets:
        read = sorted({*always, *extra})
        P[np.ix_(read, read)] += 1
    return P / len(sets)


def agrees(scheme: Inclusion, P: np.ndarray) -> bool:
    i = np.arange(scheme.d)
    return np.allclose(scheme.pair(i[:, None], i), P, rtol=1e-14, atol=0) and np.allclose(
        scheme.single, np.diag(P), rtol=1e-14, atol=0
    )


@pytest.mark.parametrize("d", range(1, 7))
def test_inclusion_probabilities_by_enumeration(d: int) -> None:
    for k0 in range(d + 1):
        everything = list(combinations(range(d), k0))
        assert agrees(inclusion_uniform(d, k0), enumerated(d, [], everything))
        for s in range(d + 1):
            for S in combinations(range(d), s):
                union = enumerated(d, S, everything)
                assert agrees(inclusion_union(d, S, k0), union)
                assert inclusion_union(d, S, k0).sees_all_pairs == (union > 0).all()
                if k0 <= d - s:
                    others = [i for i in range(d) if i not in S]
                    sets = list(combinations(others, k0))
                    assert agrees(inclusion_complement(d, S, k0), enumerated(d, S, sets))


def test_independent_coordinates_are_the_wrong_probabilities() -> None:
    # Broken twin: p^2 for a pair, as if features were drawn independently of each other.
    P = enumerated(5, [], list(combinations(range(5), 2)))
    assert not agrees(Inclusion(5, np.array([], dtype=np.int64), 0.4, 0.4**2), P)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uniform_subset(-1, 1, 5, 2), "seed must be at least 0, got -1"),
        (lambda: uniform_subset(2**64, 1, 5, 2), f"seed must be at most {2**64 - 1}"),
        (lambda: uniform_subset(0.5, 1, 5, 2), "seed must be a whole number"),  # type: ignore[arg-type]
        (lambda: uniform_subset(0, -1, 5, 2), "round must be at least 0"),
        (lambda: uniform_subset(0, 1, 5, 2, purpose=2**32), "purpose must be at most"),
        (lambda: uniform_subset(0, 1, 0, 0), "d must be at least 1"),
        (lambda: uniform_subset(0, 1, 2**31, 1), "d must be at most"),
        (lambda: uniform_subset(0, 1, 5, 6), "size must be at most 5, the number of features"),
        (lambda: complement_subset(0, 1, 5, 4, [1, 2]), "size must be at most 3"),
        (lambda: complement_subset(0, 1, 5, 1, [2, 1]), "ascending"),
        (lambda: complement_subset(0, 1, 5, 1, [2, 2]), "each once"),
        (lambda: complement_subset(0, 1, 5, 1, [5]), "from 0 to 4"),
        (lambda: complement_subset(0, 1, 5, 1, [0.5]), "whole numbers"),
        (lambda: categorical(0, 1, [0.0, 0.0]), "finite sum > 0"),
        (lambda: categorical(0, 1, [1.0, -1.0, 3.0]), "numbers >= 0"),
        (lambda: categorical(0, 1, [1.0, math.nan]), "numbers >= 0"),
        (lambda: inclusion_uniform(5, 6), "k0 must be at most 5"),
        (lambda: inclusion_complement(5, [0, 1], 4), "m must be at most 3"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ProblemError, match=message.replace("(", r"\(")):
        call()


def test_the_largest_seed_and_a_numpy_seed_work() -> None:
    seed = 2**64 - 1
    assert np.array_equal(uniform_subset(seed, 1, 9, 3), uniform_subset(np.uint64(seed), 1, 9, 3))  # type: ignore[arg-type]
    assert not np.array_equal(uniforms(seed, 1, 3), uniforms(2**63 - 1, 1, 3))


def test_categorical_by_value() -> None:
    """[0, 1) divided as 2 : 0 : 1 : 5, whose ends are 1/4, 1/4, 3/8 and 1."""
    weights = np.array([2.0, 0.0, 1.0, 5.0])
    for u, index in [(0.0, 0), (0.249, 0), (0.25, 2), (0.374, 2), (0.375, 3), (0.999, 3)]:
        assert kernels.categorical(u, weights) == index
        assert kernels.categorical(u, 1e-3 * weights) == index  # any total
        assert kernels.categorical(u, 1e3 * weights) == index
    assert kernels.categorical(0.0, np.array([0.0, 0.0, 3.0])) == 2
    # u * total rounds up to the total: the last positive weight, not the last.
    assert kernels.categorical(1.0, np.array([1.0, 1.0, 0.0])) == 1


@pytest.mark.parametrize(
    ("seed", "round", "purpose", "message"),
    [
        (2**64, 0, 0, "seed must be at most 18446744073709551615"),
        (-1, 0, 0, "seed must be at least 0"),
        (0, 2**63, 0, "round must be at most 9223372036854775807"),
        (0, -1, 0, "round must be at least 0"),
        (0, 0, 2**32, "purpose must be at most 4294967295"),
        (0, 0, -1, "purpose must be at least 0"),
        ("a", 0, 0, "seed must be a whole number"),
    ],
)
def test_keys_out_of_range_are_refused(seed: Any, round: int, purpose: int, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        uniforms(seed, round, 3, purpose=purpose)
    assert len(uniforms(2**64 - 1, 2**63 - 1, 3, purpose=2**32 - 1)) == 3


def test_inclusion_of_no_and_of_single_features() -> None:
    """Of 2 outside, 1 is drawn: P = 1/2 and no pair; of 1 outside, drawn: P = 1, no pair either."""
    two, one = (inclusion_complement(4, s, 1) for s in ([0, 1], [0, 1, 2]))
    assert (two.p, two.q) == (0.5, 0.0)
    assert (one.p, one.q) == (1.0, 0.0)
    assert not two.sees_all_pairs
    assert one.sees_all_pairs
    none = inclusion_complement(3, [0, 1, 2], 0)
    assert (none.p, none.q) == (0.0, 0.0)
    assert none.sees_all_pairs
    assert not inclusion_complement(3, [0, 1], 0).sees_all_pairs
    three = inclusion_complement(5, [4], 3)
    assert (three.p, three.q) == (3 / 4, 6 / 12)
