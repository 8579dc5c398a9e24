"""How budgeted experts draw: who is played, who is read, and what a read loss counts.

A scheme serves a bank of n runs over the same d experts; row i of an array belongs to run i. Draws
are keyed by (seed, round), with purposes that keep the runs apart, so any round can be drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import ArrayLike

from keyhole.learners.blocks.draw.sampling import uniforms, workspace
from keyhole.learners.blocks.greedy import experts_kernels as kernels
from keyhole.problem import Floats, Indices, ProblemError
from keyhole.problem.fields import Holds


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One draw of a bank: who is played, who is read, and what a read loss counts.

    `j[i]` is the expert that run i plays; `S` (ascending) are all experts that are read, j among
    them; `p[i, a]` is the probability with which run i played S[a]; `weight[i, a]` times the loss
    of S[a] is run i's unbiased estimate of it, 0 where run i does not get to know it.
    """

    j: Annotated[Indices, Holds(below="d")]
    S: Annotated[Indices, Holds(below="d", ascending=True, longest="budget")]
    p: Annotated[Floats, Holds(least=0.0, shape=("j", "S"))]
    weight: Annotated[Floats, Holds(shape=("j", "S"))]


class Scheme(Protocol):
    """How a bank of n runs over d experts draws."""

    @property
    def n(self) -> int:
        """How many runs there are."""

    @property
    def d(self) -> int:
        """How many experts there are."""

    @property
    def spread(self) -> Floats:
        """A bound, run by run, of E sum_j p_j weight_j^2: the price of not seeing everything."""

    def draw(self, seed: int, round: int, p: Floats) -> Draw:
        """The draw of a round under the probabilities p (n x d), a function of its arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnSubsets:
    """Each run reads for itself: its expert and a uniform subset of the others (Seldin et al.).

    Run i draws j ~ p and reads U = {j} and sizes[i] - 1 others, so that with M = sizes[i]

        Pr(e in U) = p_e + (1 - p_e)(M - 1)/(d - 1)   exactly.

    The probability p/q is concave in p, so sum_e p_e/q_e <= d/M: the `spread`. M = 1 is EXP3,
    M = d is Hedge. Run i uses the purposes 2 i (its expert) and 2 i + 1 (the others).

    Examples
    --------
    >>> scheme = OwnSubsets(6, np.array([2]))
    >>> draw = scheme.draw(0, 1, np.full((1, 6), 1 / 6))
    >>> draw.j, draw.S, draw.weight.round(6)
    (array([5]), array([3, 5]), array([[3., 3.]]))
    """

    d: int
    sizes: Indices

    def __post_init__(self) -> None:
        if not ((self.sizes >= 1) & (self.sizes <= self.d)).all():
            raise ProblemError(f"sizes must lie between 1 and d = {self.d}, got {self.sizes}")

    @property
    def n(self) -> int:
        """How many runs there are."""
        return len(self.sizes)

    @property
    def spread(self) -> Floats:
        """d / M."""
        ratio: Floats = self.d / self.sizes
        return ratio

    def draw(self, seed: int, round: int, p: Floats) -> Draw:
        """The draw of a round."""
        j, member = np.empty(self.n, dtype=np.int64), np.empty((self.n, self.d), dtype=np.bool_)
        kernels.draw_own_subsets(seed, round, p, self.sizes, j, member, workspace(self.d))
        S = np.flatnonzero(member.any(axis=0))
        p_S, weight = p.take(S, axis=1), np.empty((self.n, len(S)))
        kernels.own_weights(p_S, self.sizes, self.d, member.take(S, axis=1), weight)
        return Draw(j, S, p_S, weight)


@dataclass(frozen=True, slots=True, eq=False)
class OwnBins:
    """Each run reads the bin its expert lies in (Amin et al.): no second draw, and prices fit in.

    bin_of[i, e] is the bin of expert e in run i. Pr(e is read) = P(bin of e), so the `spread` is
    the number of bins. Give every run bins of its own (`equal_bins`, `priced_bins`): bins that
    coincide would be read several times for nothing.

    Examples
    --------
    >>> scheme = OwnBins(np.array([[0, 0, 1, 1]]))
    >>> scheme.draw(0, 1, np.array([[0.1, 0.2, 0.3, 0.4]])).S
    array([2, 3])
    """

    bin_of: Indices

    @property
    def n(self) -> int:
        """How many runs there are."""
        return len(self.bin_of)

    @property
    def d(self) -> int:
        """How many experts there are."""
        return int(self.bin_of.shape[1])

    @property
    def spread(self) -> Floats:
        """The number of bins."""
        bins: Floats = self.bin_of.max(axis=1) + 1.0
        return bins

    def draw(self, seed: int, round: int, p: Floats) -> Draw:
        """The draw of a round."""
        j = np.empty(self.n, dtype=np.int64)
        kernels.draw_experts(seed, round, p, j)
        member = self.bin_of == self.bin_of[np.arange(self.n), j][:, None]
        S = np.flatnonzero(member.any(axis=0))
        P = np.where(member, p, 0.0).sum(axis=1)
        return Draw(j, S, p.take(S, axis=1), member.take(S, axis=1) / P[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class SharedReads:
    """All runs learn from everything that is read: their experts, filled up uniformly.

    With V the different experts among j_1, ..., j_n, the other budget - |V| reads are a uniform
    subset of the rest, probability f = (budget - |V|)/(d - |V|) each. Let f0 be f at |V| = n, and
    Q_ie the probability, given j_1, ..., j_{i-1}, that e is in V. Then

        weight_ie = (1[e in V] + 1[e filled in] f0/f) / (Q_ie + (1 - Q_ie) f0)

    has the mean 1 given j_1, ..., j_{i-1}, which is what run i of Algorithm 2 needs: its losses
    depend on them. (1 - prod (1 - q) over all runs is not the probability given the earlier draws,
    and would be biased.) No read is lost when several runs play the same expert.

    As Q_ie >= p_ie, the `spread` is at most 1/(f0 + (1 - f0)/d), about d/(budget - n + 1), against
    n d/budget when each of n runs reads budget/n experts for itself.

    Examples
    --------
    >>> scheme = SharedReads(6, n=2, budget=4)
    >>> draw = scheme.draw(0, 1, np.full((2, 6), 1 / 6))
    >>> draw.j, draw.S, scheme.spread.round(2)
    (array([5, 2]), array([0, 1, 2, 5]), array([1.71, 1.71]))
    """

    d: int
    n: int
    budget: int

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.budget <= self.d:
            raise ProblemError(
                f"1 <= runs <= budget <= d is needed, got {self.n}, {self.budget}, {self.d}"
            )

    def _filled(self, played: int) -> float:
        # With everything read, f is 1 even where nothing is left to be filled in.
        if self.budget == self.d:
            return 1.0
        return (self.budget - played) / (self.d - played)

    @property
    def spread(self) -> Floats:
        """1 / (f0 + (1 - f0) / d)."""
        f0 = self._filled(self.n)
        return np.full(self.n, 1.0 / (f0 + (1.0 - f0) / self.d))

    def draw(self, seed: int, round: int, p: Floats) -> Draw:
        """The draw of a round."""
        j, S = np.empty(self.n, dtype=np.int64), np.empty(self.budget, dtype=np.int64)
        p_S, weight = np.empty((self.n, self.budget)), np.empty((self.n, self.budget))
        kernels.draw_shared_reads(seed, round, p, j, S, p_S, weight)
        return Draw(j, S, p_S, weight)


def equal_bins(d: int, M: int, n: int, seed: int) -> Indices:
    """For each of n runs, ceil(d / M) random bins of sizes that differ by at most 1.

    >>> np.bincount(equal_bins(7, 3, 1, seed=0)[0])
    array([3, 2, 2])
    """
    bins = -(-d // M)
    order = [uniforms(seed, 0, d, purpose=i).argsort(kind="stable") for i in range(n)]
    return np.array(order).argsort(axis=1) % bins


def priced_bins(prices: ArrayLike, budget: float) -> Indices:
    """First fit decreasing: bins of experts whose prices add up to at most the budget each.

    Any two of its bins together cost more than the budget, so their number is below
    2 sum(prices)/budget + 1.

    >>> priced_bins([3.0, 1.0, 2.0, 2.0], budget=4.0)
    array([0, 0, 1, 1])
    """
    cost = np.asarray(prices, dtype=np.float64)
    if not ((cost >= 0) & (cost <= budget)).all():
        raise ProblemError(f"prices must lie between 0 and the budget {budget}, got {prices!r}")
    bin_of, left = np.empty(len(cost), dtype=np.int64), list[float]()
    for e in np.argsort(-cost, kind="stable"):
        bin_of[e] = next((b for b, room in enumerate(left) if cost[e] <= room), len(left))
        if bin_of[e] == len(left):
            left.append(budget)
        left[bin_of[e]] -= cost[e]
    return bin_of


def equal_shares(budget: int, n: int) -> Indices:
    """budget divided among n runs; the first runs get what is left over.

    >>> equal_shares(11, 4)
    array([3, 3, 3, 2])
    """
    return np.array([budget // n + (i < budget % n) for i in range(n)], dtype=np.int64)
