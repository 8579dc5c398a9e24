"""One by its weight, the rest uniformly: sets, inclusion probabilities by enumeration."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from keyhole.learners.blocks.draw.mixed_sampling import MixedScheme, mixed_scheme
from keyhole.learners.blocks.draw.sampling import (
    categorical,
    complement_subset,
    uniform_subset,
    uniforms,
)
from keyhole.problem import Floats, ProblemError

Sets = dict[tuple[int, ...], float]

W = np.array([0.0, 3.0, -1.0, 0.5, 0.0, 9.0, 0.0, -0.25])
CASES = [
    (S, m)
    for S in ([], [5], [0, 5], [1, 2, 5], [0, 1, 2, 3, 5], [0, 1, 2, 3, 4, 5], list(range(8)))
    for m in range(8 - len(S) + 1)
]


def enumerated(scheme: MixedScheme) -> Sets:
    """The probability of every set that can be drawn, from the words of the definition."""
    outside = [i for i in range(scheme.d) if i not in scheme.support]
    sets: Sets = defaultdict(float)
    if scheme.m == 0:
        return {(): 1.0}
    for first in outside:
        others = [i for i in outside if i != first]
        rests = list(combinations(others, scheme.m - 1))
        for rest in rests:
            sets[tuple(sorted((first, *rest)))] += scheme.q[first] / len(rests)
    return sets


def inclusion(scheme: MixedScheme, sets: Sets) -> Floats:
    P = np.zeros((scheme.d, scheme.d))
    for drawn, probability in sets.items():
        read = [*scheme.support, *drawn]
        P[np.ix_(read, read)] += probability
    return P


def uniform_formula(scheme: MixedScheme) -> Floats:
    """Broken twin: the probabilities of a uniform subset, whatever q is."""
    even = np.where(scheme.marks(np.arange(scheme.d)) < 0, 0.0, 1.0)
    even /= max(even.sum(), 1.0)
    return as_matrix(MixedScheme(scheme.support.copy(), even, scheme.m))


def product_formula(scheme: MixedScheme) -> Floats:
    """Broken twin: pairs as if their features were drawn independently."""
    P = np.outer(scheme.single, scheme.single)
    P[np.diag_indices(scheme.d)] = scheme.single
    return P


def as_matrix(scheme: MixedScheme) -> Floats:
    i = np.arange(scheme.d)
    return scheme.pair(i[:, None], i)


@pytest.mark.parametrize(("S", "m"), CASES)
def test_inclusion_probabilities_are_those_of_the_enumeration(S: list[int], m: int) -> None:
    scheme = mixed_scheme(W, S, m)
    P = inclusion(scheme, enumerated(scheme))
    np.testing.assert_allclose(as_matrix(scheme), P, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(scheme.single, np.diag(P), rtol=1e-13, atol=1e-15)
    outside = np.setdiff1d(np.arange(8), S)
    single, pair = np.diag(P)[outside], P[np.ix_(outside, outside)]
    with np.errstate(divide="ignore"):
        largest = (1 / single).max(initial=1.0), (1 / pair).max(initial=1.0)
    np.testing.assert_allclose(scheme.spread, largest, rtol=1e-12)
    assert scheme.sees_all_pairs == (m >= min(2, 8 - len(S)))


@pytest.mark.parametrize("twin", [uniform_formula, product_formula])
def test_other_formulas_are_wrong(twin: Callable[[MixedScheme], Floats]) -> None:
    scheme = mixed_scheme(W, [5], 4)
    P = inclusion(scheme, enumerated(scheme))
    assert np.allclose(as_matrix(scheme), P, rtol=1e-12)
    assert not np.allclose(twin(scheme), P, rtol=0.01)


def drawn(scheme: MixedScheme, round: int) -> Sequence[int]:
    return [int(i) for i in scheme.draw(4, round)]


def without_preference(scheme: MixedScheme, round: int) -> Sequence[int]:
    """Broken twin: a uniform subset."""
    return [int(i) for i in complement_subset(4, round, scheme.d, scheme.m, scheme.support)]


def one_stream(scheme: MixedScheme, round: int) -> Sequence[int]:
    """Broken twin: the first feature and the others from the same random numbers."""
    first = categorical(4, round, scheme.q)
    taken = sorted([*scheme.support.tolist(), first])
    rest = complement_subset(4, round, scheme.d, scheme.m - 1, taken)
    return sorted([first, *rest.tolist()])


def by_weights_throughout(scheme: MixedScheme, round: int) -> Sequence[int]:
    """Broken twin: all drawn with probabilities q, those of weight 0 only to fill up."""
    u = uniforms(4, round, scheme.d)
    times = -np.log1p(-u) / np.maximum(scheme.q, 1e-9)
    times[scheme.support] = math.inf
    return sorted(np.argsort(times)[: scheme.m].tolist())


def unlikely(scheme: MixedScheme, draw: Callable[[MixedScheme, int], Sequence[int]]) -> bool:
    """Whether some set came in a number that its probability does not explain.

    Each count is Binomial(n, p) with the enumerated p, exactly; quantiles at 1e-6/(2 sets) on each
    side make the false alarm at most 1e-6 in all, by the union bound.
    """
    n, sets = 8_000, enumerated(scheme)
    counts = Counter(tuple(draw(scheme, t)) for t in range(1, n + 1))
    assert set(counts) <= set(sets)
    tail = 1e-6 / (2 * len(sets))
    return any(
        not binom.ppf(tail, n, min(p, 1.0)) <= counts[S] <= binom.isf(tail, n, min(p, 1.0))
        for S, p in sets.items()
    )


@pytest.mark.parametrize(("S", "m"), [([5], 3), ([], 3), ([0, 4], 4), ([1, 5], 1), ([5], 2)])
def test_sets_come_as_often_as_they_should(S: list[int], m: int) -> None:
    assert not unlikely(mixed_scheme(W, S, m), drawn)


@pytest.mark.parametrize("twin", [without_preference, one_stream, by_weights_throughout])
def test_broken_samplers_draw_other_sets(
    twin: Callable[[MixedScheme, int], Sequence[int]],
) -> None:
    assert unlikely(mixed_scheme(W, [5], 3), twin)


def test_draws_are_ascending_outside_the_support_and_repeatable() -> None:
    for S, m in CASES:
        scheme = mixed_scheme(W, S, m)
        for t in range(1, 30):
            first = scheme.draw(9, t)
            uniform_subset(1, t, 8, 5)  # anything else in between
            assert np.array_equal(first, scheme.draw(9, t))
            assert len(first) == m
            assert (np.diff(first) > 0).all()
            assert not set(first.tolist()) & set(S)
            assert scheme.read(9, t).tolist() == sorted([*S, *first.tolist()])
    assert not np.array_equal(
        mixed_scheme(W, [], 4).draw(1, 1, purpose=2), mixed_scheme(W, [], 4).draw(1, 1)
    )


def test_weights_of_any_size_give_probabilities() -> None:
    for w in (1e300 * W, 1e-300 * W):
        np.testing.assert_allclose(mixed_scheme(w, [0], 3).q, mixed_scheme(W, [0], 3).q)
    even = np.where(np.arange(8) == 5, 0.0, 1 / 7)
    for w in (np.zeros(8), np.eye(8)[5], np.full(8, np.nan)):
        np.testing.assert_allclose(mixed_scheme(w, [5], 3).q, even)


@pytest.mark.parametrize(
    ("S", "m", "message"),
    [([5, 1], 2, "ascending"), ([1, 1], 2, "each once"), ([1], 8, "m must be at most 7"),
     ([1], -1, "m must be at least 0")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(S: list[int], m: int, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        mixed_scheme(W, S, m)
