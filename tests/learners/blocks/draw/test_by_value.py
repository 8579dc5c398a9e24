"""Draws by value, quick without compilation: against sorted(), by hand, and at the edges."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from keyhole.learners.blocks.draw import philox as keyed
from keyhole.learners.blocks.draw import sampling
from keyhole.learners.blocks.draw.mixed_sampling import mixed_scheme
from keyhole.learners.blocks.draw.sorting import largest, merge, sort
from keyhole.problem import Indices, ProblemError


def ints(*numbers: int) -> Indices:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize("m", [0, 1, 2, 15, 16, 17, 18, 40])
@pytest.mark.parametrize("n", [40, 64, 65, 17 * 64, 17 * 64 + 1, 18 * 64, 2560, 2561, 10**9])
def test_sort_is_sorted_and_needs_no_more_room_than_it_says(n: int, m: int) -> None:
    rng = random.Random(n + m)
    for numbers in (rng.sample(range(n), m), list(range(m))[::-1], list(range(n - m, n))):
        room = np.full(2 * len(numbers) + 10, -7, dtype=np.int64)
        out, space = ints(*numbers), room[: len(numbers) + 1]
        more = np.full(len(numbers) + 1, -7, dtype=np.int64)
        sort(out, n, space, more)
        assert out.tolist() == sorted(numbers)
        assert set(room[len(numbers) + 1 :].tolist()) == {-7}


def test_uneven_numbers_are_sorted_too() -> None:
    numbers = [10**9 - 1, *range(30, 0, -1), 0, 999]
    out, space = ints(*numbers), np.empty((2, len(numbers) + 1), dtype=np.int64)
    sort(out, 10**9, space[0], space[1])
    assert out.tolist() == sorted(numbers)


@pytest.mark.parametrize(
    ("a", "b"),
    [([], []), ([1, 4], []), ([], [0, 2]), ([1, 3, 5], [1, 5]), ([2], [2]), ([3, 9], [0, 9, 11]),
     ([0, 1], [2, 3]), ([2, 3], [0, 1])],
)  # fmt: skip
def test_merge_is_the_union(a: list[int], b: list[int]) -> None:
    out = np.full(len(a) + len(b), -1, dtype=np.int64)
    n = merge(ints(*a), ints(*b), out)
    assert out[:n].tolist() == sorted({*a, *b})
    assert set(out[n:].tolist()) <= {-1}


@pytest.mark.parametrize("m", range(6))
def test_largest_is_a_stable_sort(m: int) -> None:
    rng = random.Random(m)
    for _ in range(60):
        score = [float(rng.randrange(-3, 4)) for _ in range(rng.randrange(m, 8))]
        out = np.full(m, -1, dtype=np.int64)
        largest(np.array(score), out)
        expected = sorted(range(len(score)), key=lambda j: (-score[j], j))[:m]
        assert out.tolist() == expected
    out = np.full(3, -1, dtype=np.int64)
    largest(np.array([1.0, 2.0]), out)
    assert out.tolist() == [1, 0, -1]


def test_uniforms_are_made_of_two_words_each() -> None:
    drawn = sampling.uniforms(5, 6, 5, purpose=7)
    for i, u in enumerate(drawn):
        w = [int(x) for x in keyed.words(5, 6, 7, i // 2)][2 * (i % 2) :]
        assert u == ((w[0] >> 5) * 2**26 + (w[1] >> 6)) / 2**53


@pytest.mark.parametrize(
    ("seed", "round", "purpose", "name", "limit"),
    [(2**64, 0, 0, "seed", 2**64 - 1), (0, 2**63, 0, "round", 2**63 - 1),
     (0, 0, 2**32, "purpose", 2**32 - 1)],
)  # fmt: skip
def test_keys_end_where_they_are_said_to(
    seed: int, round: int, purpose: int, name: str, limit: int
) -> None:
    with pytest.raises(ProblemError, match=f"{name} must be at most {limit}, got {limit + 1}"):
        sampling.uniforms(seed, round, 1, purpose=purpose)


def test_the_last_keys_and_the_first_work() -> None:
    assert len(sampling.uniforms(2**64 - 1, 2**63 - 1, 3, purpose=2**32 - 1)) == 3
    assert len(sampling.uniforms(0, 0, 0)) == 0
    for key in ((-1, 0, 0), (0, -1, 0), (0, 0, -1), (0.5, 0, 0), ("a", 0, 0)):
        seed, round, purpose = key
        with pytest.raises(ProblemError):
            sampling.uniforms(seed, round, 1, purpose=purpose)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "support", [[1, 1], [2, 1], [-1, 2], [0, 5], [[1], [2]], [0.5], [0, 1, 1, 3]]
)
def test_supports_that_are_none_are_refused(support: Any) -> None:
    for call in (
        lambda: sampling.complement_subset(0, 1, 5, 1, support),
        lambda: sampling.inclusion_complement(5, support, 1),
        lambda: sampling.inclusion_union(5, support, 1),
    ):
        with pytest.raises(ProblemError, match="support must be"):
            call()


def test_dimensions_and_sizes_end_where_they_are_said_to() -> None:
    sampling.refuse_unless_drawable(0, 2**31 - 1)
    with pytest.raises(ProblemError, match=f"d must be at most {2**31 - 1}, got {2**31}"):
        sampling.refuse_unless_drawable(0, 2**31)
    with pytest.raises(ProblemError, match="seed"):
        sampling.refuse_unless_drawable(2**64, 3)
    with pytest.raises(ProblemError, match="d must"):
        sampling.refuse_unless_drawable(0, 0)
    assert sampling.uniform_subset(0, 1, 5, 5).tolist() == [0, 1, 2, 3, 4]
    assert sampling.uniform_subset(0, 1, 5, 0).tolist() == []
    assert sampling.complement_subset(0, 1, 6, 4, [0, 5]).tolist() == [1, 2, 3, 4]
    assert sampling.complement_subset(0, 1, 6, 3, [1, 2, 4]).tolist() == [0, 3, 5]
    with pytest.raises(ProblemError, match="size must be at most 5"):
        sampling.uniform_subset(0, 1, 5, 6)
    with pytest.raises(ProblemError, match="size must be at most 3"):
        sampling.complement_subset(0, 1, 5, 4, [0, 1])
    with pytest.raises(ProblemError, match="m must be at most 3"):
        sampling.inclusion_complement(5, [0, 1], 4)


class Identity(dict[int, int]):
    """A list of all numbers, made where it is looked at."""

    def __missing__(self, j: int) -> int:
        return j


def fisher_yates(seed: int, round: int, purpose: int, n: int, m: int) -> list[int]:
    """The subset as the paper of Lemire says it, word after word."""
    left, block, stock, out = Identity(), 0, list[int](), list[int]()
    while len(out) < m:
        if not stock:
            stock = [int(w) for w in keyed.words(seed, round, purpose, block)]
            block += 1
        i, product = len(out), stock.pop(0) * (n - len(out))
        if product % 2**32 < 2**32 % (n - i):
            continue
        j = i + product // 2**32
        out.append(left[j])
        left[j] = left[i]
    return sorted(out)


@pytest.mark.parametrize(
    ("n", "m", "rounds"),
    # Of so large an n one word in 430 is skipped.
    [(1, 1, 12), (5, 3, 12), (9, 4, 12), (9, 5, 12), (40, 20, 12), (10**7, 8, 400)],
)
def test_a_subset_is_that_of_the_definition(n: int, m: int, rounds: int) -> None:
    space, out = sampling.workspace(n), np.empty(m, dtype=np.int64)
    for round in range(rounds):
        keyed.subset(np.uint64(3), round, 2, n, out, space)
        assert out.tolist() == fisher_yates(3, round, 2, n, m)
        assert all(space[0][int(j)] == j for j in out)


def test_words_are_those_of_the_cipher() -> None:
    """One round of Philox4x32 after the other, in whole numbers."""
    c, k = [9, 0, 7, 2**32 - 1], [2**32 - 3, 5]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b % 2**32, a >> 32 ^ c[3] ^ k[1], a % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    given = np.uint64((5 << 32) + 2**32 - 3), 9, 7, 2**32 - 1
    assert [int(word) for word in keyed.words(*given)] == c


def test_scratch_is_the_identity() -> None:
    space = keyed.scratch(3)
    assert space.shape == (3, 7)
    assert space[0].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_categorical_divides_the_interval() -> None:
    weights = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    answers = [(0.0, 1), (0.2499, 1), (0.25, 3), (0.999, 3), (1.0, 3)]
    assert [keyed.categorical(u, weights) for u, _ in answers] == [i for _, i in answers]
    u = float(sampling.uniforms(3, 4, 1, purpose=5)[0])
    assert sampling.categorical(3, 4, [u - 0.01, 0.02, 1 - u - 0.01], purpose=5) == 1
    for bad in ([], [0.0, 0.0], [-1.0, 2.0], [math.nan], [math.inf], [[1.0]]):
        with pytest.raises(ProblemError, match="weights must be"):
            sampling.categorical(0, 1, bad)


def test_the_usual_purpose_is_0() -> None:
    scheme = mixed_scheme(np.arange(1.0, 41.0), [3], 6)
    for usual, first in (
        (sampling.uniforms(1, 2, 3), sampling.uniforms(1, 2, 3, purpose=0)),
        (sampling.uniform_subset(1, 2, 90, 9), sampling.uniform_subset(1, 2, 90, 9, purpose=0)),
        (
            sampling.complement_subset(1, 2, 90, 9, [4]),
            sampling.complement_subset(1, 2, 90, 9, [4], purpose=0),
        ),
        (scheme.draw(1, 2), scheme.draw(1, 2, purpose=0)),
        (scheme.read(1, 2), scheme.read(1, 2, purpose=0)),
    ):
        assert usual.tolist() == first.tolist()
    many = [1.0] * 10**4
    assert sampling.categorical(1, 2, many) == sampling.categorical(1, 2, many, purpose=0)
