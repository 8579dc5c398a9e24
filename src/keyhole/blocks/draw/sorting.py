"""Order: sort a few different numbers, merge two ascending lists, find the largest entries."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices

_SHORT = 16  # up to here counting who is smaller is fastest, although quadratic

# For a word with bit b alone, (word * _SEQUENCE) >> 58 is different for every b: 64 overlapping
# windows of a de Bruijn sequence. _BIT is the way back.
_SEQUENCE, _WINDOW, _ONE = np.uint64(0x03F79D71B4CB0A89), np.uint64(58), np.uint64(1)
_BIT = np.zeros(64, dtype=np.int64)
for _b in range(64):
    _BIT[((0x03F79D71B4CB0A89 << _b) % 2**64) >> 58] = _b


@inner
def _by_rank(out: Indices, copy: Indices) -> None:
    # No branch depends on the numbers: a wrong guess costs more than ten comparisons.
    m = len(out)
    for i in range(m):
        copy[i] = out[i]
    for i in range(m):
        v, smaller = copy[i], 0
        for j in range(m):
            smaller += copy[j] < v
        out[smaller] = v


@inner
def _by_bits(out: Indices, n: int, words: Indices) -> None:
    # A set of bits, read from the lowest to the highest.
    count = (n + 63) >> 6
    for b in range(count):
        words[b] = 0
    for v in out:
        words[v >> 6] |= 1 << (v & 63)
    i = 0
    for b in range(count):
        word = np.uint64(words[b])
        while word:
            lowest = word & (~word + _ONE)
            out[i] = (b << 6) + _BIT[(lowest * _SEQUENCE) >> _WINDOW]
            word ^= lowest
            i += 1


@inner
def _by_buckets(out: Indices, n: int, counts: Indices, placed: Indices) -> None:
    # A uniform subset fills len(out) equal buckets of [0, n) evenly, so one bucket pass leaves
    # almost nothing to the insertion sort: O(len(out)) in expectation, not O(len(out)^2).
    m = len(out)
    scale = m / n
    for b in range(m + 1):
        counts[b] = 0
    for v in out:
        counts[int(v * scale) + 1] += 1
    for b in range(m):
        counts[b + 1] += counts[b]
    for v in out:
        b = int(v * scale)
        placed[counts[b]] = v
        counts[b] += 1
    for i in range(m):
        v = placed[i]
        j = i - 1
        while j >= 0 and out[j] > v:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = v


@c_function("kh_sort", "out[m] space[a] more_space[b]", writes="out space more_space")
@kernel
def sort(out: Indices, n: int, space: Indices, more_space: Indices) -> None:
    """Put `out`, different numbers below n, in ascending order, in O(len(out)) whatever n is.

    Each space has room for len(out) + 1 numbers.
    """
    if len(out) <= _SHORT:
        _by_rank(out, space)
    elif n <= 64 * len(out):
        _by_bits(out, n, space)
    else:
        _by_buckets(out, n, space, more_space)


@c_function("kh_merge", "S[n] support[m] out[size]", writes="out")
@kernel
def merge(S: Indices, support: Indices, out: Indices) -> int:
    """Write the union of two ascending lists, ascending and each feature once; its size."""
    a = b = n = 0
    while a < len(S) or b < len(support):
        if b == len(support) or (a < len(S) and S[a] <= support[b]):
            out[n] = S[a]
            if b < len(support) and S[a] == support[b]:
                b += 1
            a += 1
        else:
            out[n] = support[b]
            b += 1
        n += 1
    return n


@c_function("kh_largest", "score[n] out[m]", writes="out")
@kernel
def largest(score: Floats, out: Indices) -> None:
    """Write the indices of the len(out) largest entries, the largest first; ties: lower index.

    >>> out = np.empty(3, dtype=np.int64)
    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), out)
    >>> out
    array([1, 3, 2])
    """
    m, held = len(out), 0
    if m == 0:
        return
    for j in range(len(score)):
        if held == m and not score[j] > score[out[m - 1]]:
            continue
        place = min(held, m - 1)
        while place > 0 and score[j] > score[out[place - 1]]:
            out[place] = out[place - 1]
            place -= 1
        out[place] = j
        held = min(held + 1, m)
