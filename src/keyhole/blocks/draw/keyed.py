"""Keyed randomness for compiled code: Philox4x32-10, uniforms, subsets, a categorical draw.

A number is a function of (seed, round, purpose, position) and of nothing else: the seed is the
key of the cipher, the rest its counter. So there is no generator to carry around or to save, and
any round can be drawn again at any time. Everything here trusts its arguments; the door that
checks them is `blocks/draw/sampling.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.blocks.draw.sorting import sort
from keyhole.blocks.jit.decorators import inner, kernel, succeeds
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices

if TYPE_CHECKING:
    Seed = int | np.uint64
else:
    Seed = np.uint64  # what C takes
Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

# 32-bit words are kept in uint64: the cipher needs 64-bit products, and numba turns a mix of
# signed and unsigned integers into floats, so every constant is unsigned too.
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_FIVE, _SIX, _SPAN = np.uint64(5), np.uint64(6), np.uint64(1 << 32)


@c_function("kh_philox")
@kernel
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> Words:
    """Ten rounds of Philox4x32 on the counter (c0, c1, c2, c3) under the key (k0, k1)."""
    for _ in range(10):
        a = _M0 * c0
        b = _M1 * c2
        c0, c1, c2, c3 = (b >> _HALF) ^ c1 ^ k0, b & _LOW, (a >> _HALF) ^ c3 ^ k1, a & _LOW
        k0 = (k0 + _W0) & _LOW
        k1 = (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@c_function("kh_words")
@kernel
def words(seed: Seed, round: int, purpose: int, block: int) -> Words:
    """Four random 32-bit words: number 4 block, ..., 4 block + 3 of (seed, round, purpose)."""
    key, t = np.uint64(seed), np.uint64(round)
    return philox(
        t & _LOW, t >> _HALF, np.uint64(purpose), np.uint64(block), key & _LOW, key >> _HALF
    )


@c_function("kh_uniform")
@kernel
def uniform(seed: Seed, round: int, purpose: int, index: int) -> float:
    """Uniform number `index` of (seed, round, purpose): a multiple of 2^-53 in [0, 1)."""
    w0, w1, w2, w3 = words(seed, round, purpose, index // 2)
    if index % 2:
        w0, w1 = w2, w3
    return (float(w0 >> _FIVE) * 67108864.0 + float(w1 >> _SIX)) / 9007199254740992.0


@c_function("kh_uniforms", "out[n]", writes="out")
@kernel
def uniforms(seed: Seed, round: int, purpose: int, out: Floats) -> None:
    """The first len(out) uniform numbers of (seed, round, purpose)."""
    for i in range(len(out)):
        out[i] = uniform(seed, round, purpose, i)


@c_function("kh_categorical", "weights[n]")
@kernel
def categorical(u: float, weights: Floats) -> int:
    """The index that the uniform number u falls on when [0, 1) is divided like the weights."""
    total = 0.0
    for weight in weights:
        total += weight
    target, reached, last = u * total, 0.0, 0
    for i in range(len(weights)):
        if weights[i] > 0.0:
            last = i
            reached += weights[i]
            if target < reached:
                return i
    # Reached only if u * total rounds up to total, which needs subnormal weights.
    return last


@kernel
def _scratch(d: int) -> Indices:
    space = np.zeros((3, d + 4), dtype=np.int64)  # words are drawn by fours
    for i in range(d + 4):
        space[0, i] = i
    return space


@succeeds(_scratch)
def scratch(d: int) -> Indices:
    """Working space for subsets of d features: the identity in row 0, anything in rows 1 and 2."""
    space = np.zeros((3, d + 4), dtype=np.int64)  # words are drawn by fours
    space[0] = np.arange(d + 4)
    return space


@inner
def _fill(seed: Seed, round: int, purpose: int, first: int, out: Indices) -> None:
    # The words of blocks first, first + 1, ..., several at a time in the lanes of vector registers.
    for b in range(len(out) // 4):
        w0, w1, w2, w3 = words(seed, round, purpose, first + b)
        out[4 * b] = w0
        out[4 * b + 1] = w1
        out[4 * b + 2] = w2
        out[4 * b + 3] = w3


@inner
def _below(word: np.uint64, left: np.uint64) -> int:
    # Lemire: the upper half of word * left is uniform below `left` once the few words with a small
    # lower half are skipped (-1 here). `word % left` would favour small numbers.
    product = word * left
    low = product & _LOW
    if low < left and low < (_SPAN - left) % left:
        return -1
    return int(np.int64(product >> _HALF))


@c_function("kh_subset", "out[m] space[3,d+4]", writes="out space")
@kernel
def subset(seed: Seed, round: int, purpose: int, n: int, out: Indices, space: Indices) -> None:
    """A uniform subset of {0, ..., n - 1} of size len(out), ascending; n < 2^32.

    Partial Fisher-Yates on the identity kept in `space` (from `scratch`, for n or more), which is
    the identity again afterwards: O(len(out)), and no trace of earlier draws.
    """
    m, permutation = len(out), space[0]
    blocks = max(1, (m + 3) // 4)
    drawn, i = space[1, : 4 * blocks], 0
    # Usually one turn, more only if words are skipped. Not a `while`: LLVM would not vectorise the
    # inside of `_fill` then, a quarter of the time for large subsets.
    for block in range(0, 1 << 32, blocks):
        if i == m:
            break
        _fill(seed, round, purpose, block, drawn)
        for number in drawn:
            if i == m:
                break
            more = _below(np.uint64(number), np.uint64(n - i))
            if more < 0:
                continue
            j = i + more
            out[i] = permutation[j]
            permutation[j] = permutation[i]  # place i is never looked at again: half a swap will do
            i += 1
    # A place that was written to held its own number when it was first taken, so it is in `out`.
    for i in range(m):
        permutation[out[i]] = out[i]
    sort(out, n, space[1], space[2])


@c_function("kh_complement", "support[n] out[m] space[3,wide+4]", writes="out space")
@kernel
def complement(
    seed: Seed, round: int, purpose: int, d: int, support: Indices, out: Indices, space: Indices
) -> None:
    """A uniform subset of the features outside `support` (ascending), ascending.

    Draws places in the list of the features outside, then walks along the support once to turn
    places into features: O(len(out) + len(support)).
    """
    subset(seed, round, purpose, d - len(support), out, space)
    _step_over(support, out)


@c_function("kh_few_outside", "support[n] out[m]", writes="out", room="3*m*m+2*m+20")
@kernel
def few_outside(
    seed: Seed, round: int, purpose: int, d: int, support: Indices, out: Indices
) -> None:
    """What `complement` draws, without working space for d features: for a few of very many.

    The permutation is the identity but for the places that were written to, which are looked up in
    the list of them: O(len(out)^2). Where that is more than d, there is working space after all.
    """
    m, n, i, word = len(out), d - len(support), 0, 0
    if m * m > d:
        complement(seed, round, purpose, d, support, out, _scratch(d))
        return
    written, held = np.empty(m + 1, dtype=np.int64), np.empty(m + 1, dtype=np.int64)
    four = np.empty(4, dtype=np.int64)
    while i < m:
        if word % 4 == 0:
            _fill(seed, round, purpose, word // 4, four)
        more = _below(np.uint64(four[word % 4]), np.uint64(n - i))
        word += 1
        if more < 0:
            continue
        out[i] = _held(written, held, i, i + more)
        written[i], held[i] = i + more, _held(written, held, i, i)
        i += 1
    sort(out, n, written, held)
    _step_over(support, out)


@inner
def _held(written: Indices, held: Indices, steps: int, place: int) -> int:
    # What a permutation has at a place after these steps: the last that was written there.
    for i in range(steps - 1, -1, -1):
        if written[i] == place:
            return int(held[i])
    return place


@inner
def _step_over(support: Indices, out: Indices) -> None:
    # From places in the list of the features outside the support to these features.
    skipped = 0
    for i in range(len(out)):
        while skipped < len(support) and support[skipped] <= out[i] + skipped:
            skipped += 1
        out[i] += skipped
