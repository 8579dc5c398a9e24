"""Sampling of features: uniform subsets keyed by (seed, round), and inclusion probabilities.

Every draw is a pure function of its arguments (a counter-based generator, no state), so retries,
restarts, replay and block play get the same sets. `purpose` separates draws of one round that
must not depend on each other: two purposes are two independent streams.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.learners.blocks.draw import philox as kernels
from keyhole.problem import Floats, Indices, ProblemError, whole_number

_LARGEST_D = 2**31 - 1


@functools.lru_cache(maxsize=16)
def workspace(d: int) -> Indices:
    """What the subset kernels draw with, one for all draws from d features."""
    # A workspace, not a state: every draw leaves the identity in it. Kernels hold the interpreter
    # lock, so two threads cannot be inside one at the same time.
    space: Indices = kernels.scratch(d)
    return space


def _at_most(name: str, value: int, limit: int) -> int:
    number = whole_number(name, value, 0)
    if number > limit:
        raise ProblemError(f"{name} must be at most {limit}, got {number}")
    return number


def _key(seed: int, round: int, purpose: int) -> tuple[np.uint64, int, int]:
    # The usual call, plain numbers in range, passes one comparison chain.
    try:
        seed, round, purpose = map(operator.index, (seed, round, purpose))
        ok = 0 <= seed < 2**64 and 0 <= round < 2**63 and 0 <= purpose < 2**32
    except TypeError:
        ok = False
    if not ok:
        _at_most("seed", seed, 2**64 - 1)
        _at_most("round", round, 2**63 - 1)
        _at_most("purpose", purpose, 2**32 - 1)
    return np.uint64(seed), round, purpose


def refuse_unless_drawable(seed: int, d: int) -> None:
    """ProblemError unless subsets of d features can be drawn with that seed."""
    _key(seed, 0, 0)
    _dimension(d)


def _support(support: ArrayLike, d: int) -> Indices:
    array = np.asarray(support)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ProblemError(f"support must be a flat list of whole numbers, got {support!r}")
    S = np.array(array, dtype=np.int64)  # a copy: kernels are compiled anew for read-only arrays
    if S.size and (S[0] < 0 or S[-1] >= d or (S[1:] <= S[:-1]).any()):
        raise ProblemError(
            f"support must be ascending feature numbers from 0 to {d - 1}, each once, "
            f"got {S.tolist()}"
        )
    return S


def _size(name: str, size: int, available: int, where: str) -> int:
    number = whole_number(name, size, 0)
    if number > available:
        raise ProblemError(f"{name} must be at most {available}, {where}, got {number}")
    return number


def _dimension(d: int) -> int:
    number = whole_number("d", d, 1)
    return number if number <= _LARGEST_D else _at_most("d", number, _LARGEST_D)


def uniforms(seed: int, round: int, n: int, *, purpose: int = 0) -> Floats:
    """The first n uniform numbers in [0, 1) of (seed, round, purpose), with 53 random bits each.

    Examples
    --------
    >>> uniforms(7, 1, 2)
    array([0.4069604 , 0.17179868])
    >>> uniforms(7, 1, 100)[:2]
    array([0.4069604 , 0.17179868])
    """
    key, t, purpose = _key(seed, round, purpose)
    out = np.empty(whole_number("n", n, 0))
    kernels.uniforms(key, t, purpose, out)
    return out


def categorical(seed: int, round: int, weights: ArrayLike, *, purpose: int = 0) -> int:
    """An index drawn with probability proportional to its weight.

    Uses the first uniform number of (seed, round, purpose); an index of weight 0 is never drawn.

    Examples
    --------
    >>> categorical(7, 1, [0.0, 1.0, 0.0])
    1
    """
    key, t, purpose = _key(seed, round, purpose)
    q = np.array(weights, dtype=np.float64)
    if q.ndim != 1 or not (q >= 0).all() or not 0 < q.sum() < np.inf:
        raise ProblemError(
            f"weights must be a flat list of numbers >= 0 with a finite sum > 0, got {weights!r}"
        )
    return int(kernels.categorical(kernels.uniform(key, t, purpose, 0), q))


def uniform_subset(seed: int, round: int, d: int, size: int, *, purpose: int = 0) -> Indices:
    """A uniformly random subset of `size` of the d features, ascending.

    Parameters
    ----------
    seed
        Any whole number below 2^64.
    round
        Number of the round.
    d, size
        How many features there are, and how many to draw.
    purpose
        Which of the independent streams of the round to use.

    Returns
    -------
    The features, ascending: the same for the same arguments, whatever was drawn before.

    Guarantee
    ---------
    Every subset has the same probability, exactly, if the words of the generator are independent
    and uniform. O(size) after the first draw for a d.

    Examples
    --------
    >>> uniform_subset(0, 1, d=64, size=4)
    array([ 5, 23, 45, 62])
    >>> uniform_subset(0, 2, d=64, size=4), uniform_subset(0, 1, d=64, size=4)
    (array([ 1, 10, 19, 21]), array([ 5, 23, 45, 62]))

    References
    ----------
    Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
    Lemire (2019), Fast random integer generation in an interval.
    """
    key, t, purpose = _key(seed, round, purpose)
    d = _dimension(d)
    out = np.empty(_size("size", size, d, "the number of features"), dtype=np.int64)
    kernels.subset(key, t, purpose, d, out, workspace(d))
    return out


def complement_subset(
    seed: int, round: int, d: int, size: int, support: ArrayLike, *, purpose: int = 0
) -> Indices:
    """A uniformly random subset of `size` of the features outside `support`, ascending.

    `support` is ascending; the other arguments and the guarantee are those of `uniform_subset`,
    of which this is the special case of an empty support. O(size + len(support)).

    Examples
    --------
    >>> complement_subset(0, 1, d=5, size=3, support=[1, 3])
    array([0, 2, 4])
    """
    key, t, purpose = _key(seed, round, purpose)
    d = _dimension(d)
    S = _support(support, d)
    size = _size("size", size, d - len(S), "the number of features outside the support")
    out = np.empty(size, dtype=np.int64)
    kernels.complement(key, t, purpose, d, S, out, workspace(d))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Inclusion:
    """How likely a feature, or a pair of features, is in the set that is read.

    The schemes of this file read a fixed support S always and treat all other features alike:

        P[i] = 1 for i in S, else p;    P[i, j] = 1, p or q with both, one or none of i != j in S.

    Parameters
    ----------
    d
        How many features there are.
    support
        The features that are always read, ascending; may be empty.
    p, q
        Probability of a feature, of a pair of different features, outside the support.

    Examples
    --------
    >>> scheme = inclusion_complement(5, [0], 2)
    >>> scheme.single
    array([1. , 0.5, 0.5, 0.5, 0.5])
    >>> scheme.pair([0, 1, 1], [0, 0, 2]).round(4)
    array([1.    , 0.5   , 0.1667])
    """

    # Four numbers describe the scheme; `single` and `pair` are derived on demand, so that nothing
    # of size d x d is kept.
    d: int
    support: Indices
    p: float
    q: float

    @property
    def single(self) -> Floats:
        """P[i] of every feature."""
        P = np.full(self.d, self.p)
        P[self.support] = 1.0
        return P

    def pair(self, i: ArrayLike, j: ArrayLike) -> Floats:
        """P[i, j] of feature numbers or arrays of them, which broadcast; P[i, i] is P[i]."""
        rows, columns = np.asarray(i), np.asarray(j)
        outside = np.ones(self.d, dtype=np.int64)
        outside[self.support] = 0
        misses: NDArray[np.int64] = outside[rows] + outside[columns]
        P = np.array([1.0, self.p, self.q])[misses]
        return np.where(rows == columns, self.single[rows], P)

    @property
    def sees_all_pairs(self) -> bool:
        """Whether every feature and every pair has a positive probability."""
        outside = self.d - len(self.support)
        return (outside < 1 or self.p > 0) and (outside < 2 or self.q > 0)


def _uniform(m: int, n: int) -> tuple[float, float]:
    # Probability that a uniform m-subset of n things holds a given one, a given pair.
    return (m / n if n else 0.0), (m * (m - 1) / (n * (n - 1)) if n > 1 else 0.0)


def inclusion_uniform(d: int, k0: int) -> Inclusion:
    """Uniform k0-subsets of d: P[i] = k0 / d, P[i, j] = k0 (k0 - 1) / (d (d - 1)).

    Examples
    --------
    >>> inclusion_uniform(5, 2).pair(0, 1)
    array(0.1)
    """
    return inclusion_union(d, [], k0)


def inclusion_complement(d: int, support: ArrayLike, m: int) -> Inclusion:
    """The support S and a uniform m-subset of the d' = d - |S| other features.

    Outside S: P[i] = m / d', P[i, j] = m (m - 1) / (d' (d' - 1)).

    Examples
    --------
    >>> inclusion_complement(4, [0, 2], 1).single
    array([1. , 0.5, 1. , 0.5])
    """
    d = _dimension(d)
    S = _support(support, d)
    m = _size("m", m, d - len(S), "the number of features outside the support")
    return Inclusion(d, S, *_uniform(m, d - len(S)))


def inclusion_union(d: int, support: ArrayLike, k0: int) -> Inclusion:
    """The support S and a uniform k0-subset of all d features, which may overlap S.

    What the paper's reduction from OSLR to POSLR reads; outside S the probabilities are those of
    `inclusion_uniform`.

    Examples
    --------
    >>> inclusion_union(4, [0], 2).single
    array([1. , 0.5, 0.5, 0.5])
    """
    d = _dimension(d)
    S = _support(support, d)
    return Inclusion(d, S, *_uniform(_size("k0", k0, d, "the number of features"), d))
