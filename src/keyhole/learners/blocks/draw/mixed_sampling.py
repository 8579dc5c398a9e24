"""Mixed sampling of features: one drawn by its weight, the rest uniformly; its probabilities.

The sampling of Li, Liao, Xu and Nie (2025). The features a model gives weight to are seen more
often, and yet every feature, and every pair of them, is seen with a probability that is known and
not small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.learners.blocks.draw.philox import categorical, complement, uniform
from keyhole.learners.blocks.draw.sampling import workspace
from keyhole.learners.blocks.draw.sorting import merge
from keyhole.problem import Floats, Indices, ProblemError, whole_number


class SchemeArrays(NamedTuple):
    """A `MixedScheme` as kernels take it."""

    support: Indices
    q: Floats
    marks: Floats  # q, and -1 on the support
    m: int
    spread: Floats


@dataclass(frozen=True, slots=True, eq=False)
class MixedScheme:
    """A support S that is always read, and m of the n = d - |S| other features.

    One of them, I, is drawn with the probabilities q, the other m - 1 are a uniform subset of what
    is left then. So, for different i and j outside S,

        P[i]    = (m-1)/(n-1) + (n-m)/(n-1) q_i
        P[i, j] = (m-1)(m-2)/((n-1)(n-2)) + (m-1)(n-m)/((n-1)(n-2)) (q_i + q_j)

    (given I = i, j joins with probability (m-1)/(n-1); given that I is neither, both join with
    probability (m-1)(m-2)/((n-1)(n-2))). All are 1 if m = n. With one of them in S the pair has
    the probability of the other, with both it has 1.

    Make one with `mixed_scheme`.

    Parameters
    ----------
    support
        S, ascending.
    q
        Length d, 0 on S, with the sum 1 (0 if nothing is outside S).
    m
        How many are read outside S.

    Examples
    --------
    >>> scheme = mixed_scheme(np.array([0.0, 3.0, -1.0, 0.0, 0.0, 9.0]), [5], 3)
    >>> scheme.q
    array([0.  , 0.75, 0.25, 0.  , 0.  , 0.  ])
    >>> scheme.single
    array([0.5  , 0.875, 0.625, 0.5  , 0.5  , 1.   ])
    >>> scheme.draw(0, 1), scheme.draw(0, 2)
    (array([0, 2, 4]), array([0, 1, 4]))

    References
    ----------
    Li, Liao, Xu, Nie (2025), A polynomial-time algorithm for online sparse linear regression with
    improved regret bound under weaker conditions, COLT. The probabilities are those of its
    Lemma 1; the ones repeated in its Lemma 9 are misprinted.
    """

    support: Indices
    q: Floats
    m: int

    def __post_init__(self) -> None:
        for array in (self.support, self.q):
            array.flags.writeable = False

    @property
    def d(self) -> int:
        """How many features there are."""
        return len(self.q)

    @property
    def single(self) -> Floats:
        """P[i] of every feature."""
        a, b, _, _ = self._shares()
        P: Floats = a + b * self.q
        P[self.support] = 1.0
        return P

    def pair(self, i: ArrayLike, j: ArrayLike) -> Floats:
        """P[i, j] of feature numbers or arrays of them, which broadcast; P[i, i] is P[i]."""
        rows, columns = np.asarray(i), np.asarray(j)
        _, _, c, e = self._shares()
        always, single = self._always(), self.single
        one = always[rows] | always[columns] | (rows == columns)
        P: Floats = c + e * (self.q[rows] + self.q[columns])
        return np.where(one, np.minimum(single[rows], single[columns]), P)

    @property
    def spread(self) -> tuple[float, float]:
        """max 1/P[i] and max 1/P[i, j]: the variance of an estimate, of one or two features.

        inf if some feature, or some pair, is never seen; 1 where there is none outside S.
        """
        outside = self.q[~self._always()]
        low = np.sort(outside)[:2]
        a, b, c, e = self._shares()
        P, PP = a + b * low[:1].sum(), c + e * low.sum()
        single = 1.0 if not len(outside) else 1.0 / P if P > 0 else np.inf
        pair = 1.0 if len(outside) < 2 else 1.0 / PP if PP > 0 else np.inf
        return float(single), float(max(single, pair))

    @property
    def sees_all_pairs(self) -> bool:
        """Whether every feature and every pair has a positive probability."""
        return self.spread[1] < np.inf

    def marks(self, features: Indices) -> Floats:
        """q of each of these features, and -1 for those that are always read."""
        return np.where(self._always()[features], -1.0, self.q[features])

    def draw(self, seed: int, round: int, *, purpose: int = 0) -> Indices:
        """The m features of a round, ascending; uses the streams `purpose` and `purpose + 1`."""
        d, S, key = self.d, self.support, np.uint64(seed)
        if self.m in (0, d - len(S)):  # nothing, or everything that is left: no draw
            first, taken, rest = None, S, np.empty(self.m, dtype=np.int64)
        else:
            first = categorical(uniform(key, round, purpose, 0), self.q)
            taken, rest = with_one_more(S, first), np.empty(self.m - 1, dtype=np.int64)
        complement(key, round, purpose + 1, d, taken, rest, workspace(d))
        return rest if first is None else with_one_more(rest, first)

    def read(self, seed: int, round: int, *, purpose: int = 0) -> Indices:
        """All that is read in a round, ascending: the support and `draw`."""
        drawn = self.draw(seed, round, purpose=purpose)
        features = np.empty(len(drawn) + len(self.support), dtype=np.int64)
        merge(drawn, self.support, features)
        return features

    def arrays(self) -> SchemeArrays:
        """What kernels take."""
        marks = self.marks(np.arange(self.d))
        return SchemeArrays(self.support, self.q, marks, self.m, np.array(self.spread))

    def _always(self) -> NDArray[np.bool_]:
        always = np.zeros(self.d, dtype=np.bool_)
        always[self.support] = True
        return always

    def _shares(self) -> tuple[float, float, float, float]:
        a, b, c, e = shares(self.d - len(self.support), self.m)
        return a, b, c, e


def mixed_scheme(w: Floats, support: ArrayLike, m: int) -> MixedScheme:
    """Read the support, and m others that are drawn with a preference for large |w_i|.

        q_i = |w_i| / sum of |w_j| over j outside the support

    q is uniform, and the m others then a uniform subset, where that has no meaning, w being zero
    outside the support, and where it would leave pairs that are never seen, at m = 2.

    Examples
    --------
    >>> mixed_scheme(np.array([0.0, 1.0, 1.0, 0.0]), [], 2).pair(0, [1, 3]).round(4)
    array([0.1667, 0.1667])
    """
    S = np.array(support, dtype=np.int64)
    inside = np.zeros(len(w), dtype=np.bool_)
    inside[S] = True
    if not np.array_equal(np.flatnonzero(inside), S):
        raise ProblemError(f"support must be ascending feature numbers, each once, got {support!r}")
    left = len(w) - len(S)
    if whole_number("m", m, 0) > left:
        raise ProblemError(f"m must be at most {left}, what is outside the support, got {m}")
    q = np.where(inside, 0.0, np.abs(w))
    largest = q.max(initial=0.0)
    if m <= 2 or not 0.0 < largest < np.inf:
        q = np.where(inside, 0.0, 1.0)
        largest = 1.0
    q /= largest  # so that no sum overflows
    return MixedScheme(S, q / max(q.sum(), 1e-300), int(m))


Shares = tuple[float, float, float, float]


def shares(n: int, m: int) -> Shares:
    """(a, b, c, e) with P[i] = a + b q_i and P[i, j] = c + e (q_i + q_j), for m out of n."""
    if m == n:
        return 1.0, 0.0, 1.0, 0.0
    if m == 0:
        return 0.0, 0.0, 0.0, 0.0
    a, b = (m - 1) / (n - 1), (n - m) / (n - 1)
    if n == 2:
        return a, b, 0.0, 0.0
    return a, b, a * (m - 2) / (n - 2), a * (n - m) / (n - 2)


def with_one_more(S: Indices, j: int) -> Indices:
    """S, ascending, and j, which is not in it, ascending."""
    return np.sort(np.append(S, j))
