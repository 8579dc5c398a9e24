"""Philox random numbers, keyed by (seed, round, purpose): uniforms, subsets, categorical draws.

A number is a function of (seed, round, purpose, position) and of nothing else: the seed is the
key of the cipher, the rest its counter. So there is no generator to carry around or to save, and
any round can be drawn again at any time. Nothing here checks its arguments: `sampling.py` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices

if TYPE_CHECKING:
    Seed = int | np.uint64
else:
    Seed = np.uint64  # what C takes
Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@c_function("kh_philox")
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> Words:
    """Ten rounds of Philox4x32 on the counter (c0, c1, c2, c3) under the key (k0, k1)."""
    raise NotImplementedError


@c_function("kh_words")
def words(seed: Seed, round: int, purpose: int, block: int) -> Words:
    """Four random 32-bit words: number 4 block, ..., 4 block + 3 of (seed, round, purpose)."""
    raise NotImplementedError


@c_function("kh_uniform")
def uniform(seed: Seed, round: int, purpose: int, index: int) -> float:
    """Uniform number `index` of (seed, round, purpose): a multiple of 2^-53 in [0, 1)."""
    raise NotImplementedError


@c_function("kh_uniforms", "out[n]", writes="out")
def uniforms(seed: Seed, round: int, purpose: int, out: Floats) -> None:
    """The first len(out) uniform numbers of (seed, round, purpose)."""
    raise NotImplementedError


@c_function("kh_categorical", "weights[n]")
def categorical(u: float, weights: Floats) -> int:
    """The index that the uniform number u falls on when [0, 1) is divided like the weights."""
    raise NotImplementedError


def scratch(d: int) -> Indices:
    """Working space for subsets of d features: the identity in row 0, anything in rows 1 and 2."""
    space = np.zeros((3, d + 4), dtype=np.int64)  # words are drawn by fours
    space[0] = np.arange(d + 4)
    return space


@c_function("kh_subset", "out[m] space[3,d+4]", writes="out space")
def subset(seed: Seed, round: int, purpose: int, n: int, out: Indices, space: Indices) -> None:
    """A uniform subset of {0, ..., n - 1} of size len(out), ascending; n < 2^32.

    Partial Fisher-Yates on the identity kept in `space` (from `scratch`, for n or more), which is
    the identity again afterwards: O(len(out)), and no trace of earlier draws.
    """
    raise NotImplementedError


@c_function("kh_complement", "support[n] out[m] space[3,wide+4]", writes="out space")
def complement(
    seed: Seed, round: int, purpose: int, d: int, support: Indices, out: Indices, space: Indices
) -> None:
    """A uniform subset of the features outside `support` (ascending), ascending.

    Draws places in the list of the features outside, then walks along the support once to turn
    places into features: O(len(out) + len(support)).
    """
    raise NotImplementedError


@c_function("kh_few_outside", "support[n] out[m]", writes="out", room="3*m*m+2*m+20")
def few_outside(
    seed: Seed, round: int, purpose: int, d: int, support: Indices, out: Indices
) -> None:
    """What `complement` draws, without working space for d features: for a few of very many.

    The permutation is the identity but for the places that were written to, which are looked up in
    the list of them: O(len(out)^2). Where that is more than d, there is working space after all.
    """
    raise NotImplementedError
