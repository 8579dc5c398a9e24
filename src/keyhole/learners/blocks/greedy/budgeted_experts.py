"""Budgeted prediction with expert advice (BEXP): play one of d experts, see the losses of a few.

Made of parts that fit together: a *scheme* draws who is played and read and says how much a read
loss must count to be unbiased; a *rate* is a function of the sums (`anytime`, `known_horizon`,
`second_order`); `implicit` tempers the weights of a draw; and what is fed, losses or negative
gains, is the caller's. `BEXP` holds the sums.

All of it is a bank of n runs over the same d experts, because Algorithm 2 needs k1 of them; row i
of an array belongs to run i, and n = 1 is the plain algorithm. Draws are keyed by (seed, round),
with purposes that keep the runs apart, so any round can be drawn again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.core.functions import c_function
from keyhole.core.numbers import log
from keyhole.learners.blocks.draw.philox import Seed
from keyhole.learners.blocks.draw.sampling import uniforms, workspace
from keyhole.problem import Floats, Indices, ProblemError, whole_number
from keyhole.problem.state import AT_LEAST_0, MAY_OVERFLOW, Holds


@c_function("kh_probabilities", "L[n,d] eta[n] p[n,d]", writes="p")
def fill_probabilities(L: Floats, eta: Floats, p: Floats) -> None:
    """p_ij proportional to exp(-eta_i L_ij); the best expert's weight is exp(0), whatever L is."""
    raise NotImplementedError


@c_function("kh_draw_experts", "p[n,d] j[n]", writes="j")
def draw_experts(seed: Seed, round: int, p: Floats, j: Indices) -> None:
    """j_i ~ p_i, run i from the purpose 2 i."""
    raise NotImplementedError


@c_function(
    "kh_draw_own_subsets",
    "p[n,d] sizes[n] j[n] member[n,d] space[3,d+4]",
    writes="j member space",
    room="d",
)
def draw_own_subsets(
    seed: Seed,
    round: int,
    p: Floats,
    sizes: Indices,
    j: Indices,
    member: NDArray[np.bool_],
    space: Indices,
) -> None:
    """j_i, and member[i, e] for run i's set: j_i and a uniform subset of the others.

    The latter is drawn from the purpose 2 i + 1.
    """
    raise NotImplementedError


@c_function("kh_own_weights", "p[n,m] sizes[n] member[n,m] weight[n,m]", writes="weight")
def own_weights(
    p: Floats, sizes: Indices, d: int, member: NDArray[np.bool_], weight: Floats
) -> None:
    """1 / q where run i read expert e itself, q = p + (1 - p)(M - 1)/(d - 1), else 0."""
    raise NotImplementedError


@c_function("kh_draw_shared", "j[n] S[budget]", writes="S", room="n + 3*budget + 3*d + 20")
def draw_shared(seed: Seed, round: int, d: int, j: Indices, budget: int, S: Indices) -> int:
    """All that is read, ascending: the distinct j_i, filled to the budget uniformly (purpose 2 n).

    Returns the number of distinct j_i.
    """
    raise NotImplementedError


@c_function("kh_shared_weights", "p[n,m] place[n] weight[n,m]", writes="weight")
def shared_weights(p: Floats, place: Indices, f0: float, f: float, weight: Floats) -> None:
    """What the losses of everything read count in every run; place[i] is where j_i stands in S.

    Given the draws of the runs before i, expert e is played by one of the runs i, i + 1, ... with
    probability Q = 1 - prod (1 - p), by an earlier one with probability 1 or 0. Played experts are
    read always, the others with probability f, which depends on how many different ones are
    played; f0 <= f does not. So 1[played] + 1[filled] f0/f has the mean Q + (1 - Q) f0.
    """
    raise NotImplementedError


@c_function(
    "kh_draw_shared_reads",
    "p[n,d] j[n] S[budget] p_S[n,budget] weight[n,budget]",
    writes="j S p_S weight",
    room="2*n + 3*budget + 3*d + 20",
)
def draw_shared_reads(
    seed: Seed, round: int, p: Floats, j: Indices, S: Indices, p_S: Floats, weight: Floats
) -> None:
    """`draw_experts`, `draw_shared`, and the `shared_weights` of what is read."""
    raise NotImplementedError


@c_function(
    "kh_feed",
    "S[m] p[n,m] weight[n,m] losses[n,m] L[n,d] squares[n] largest[n]",
    writes="L squares largest",
)
def feed_losses(
    S: Indices,
    p: Floats,
    weight: Floats,
    losses: Floats,
    L: Floats,
    squares: Floats,
    largest: Floats,
) -> None:
    """Add the estimated losses of the experts S to L, and what rates look at to the other sums."""
    raise NotImplementedError


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
        draw_own_subsets(seed, round, p, self.sizes, j, member, workspace(self.d))
        S = np.flatnonzero(member.any(axis=0))
        p_S, weight = p.take(S, axis=1), np.empty((self.n, len(S)))
        own_weights(p_S, self.sizes, self.d, member.take(S, axis=1), weight)
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
        draw_experts(seed, round, p, j)
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
        draw_shared_reads(seed, round, p, j, S, p_S, weight)
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


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What a rate may look at. `fed`: rounds fed; the rest has one entry per run.

    `squares` is the sum of sum_j p_j l_hat_j^2, `largest` the largest |loss| so far.
    """

    d: int
    fed: int
    spread: Floats
    squares: Floats
    largest: Floats


Rate = Callable[[Tally], Floats]


def anytime(tally: Tally) -> Floats:
    """eta_t = sqrt(log d / (spread t)) for losses in [0, 1]: sqrt(M log d / (t d)) for M-subsets.

    Larger losses are divided by the largest so far.
    """
    unit = np.maximum(1.0, tally.largest)
    eta: Floats = np.sqrt(log(tally.d) / (tally.spread * (tally.fed + 1))) / unit
    return eta


def known_horizon(T: int) -> Rate:
    """The fixed eta = sqrt(2 log d / (spread T)): regret sqrt(2 spread T log d) over T rounds."""
    T = whole_number("T", T, 1)

    def rate(tally: Tally) -> Floats:
        unit = np.maximum(1.0, tally.largest)
        eta: Floats = np.sqrt(2.0 * log(tally.d) / (tally.spread * T)) / unit
        return eta

    return rate


def second_order(tally: Tally) -> Floats:
    """eta = sqrt(log d / (spread largest^2 + squares)): as fast as the losses seen so far allow.

    Multiplying all losses by a number divides eta by it, so no bound of the losses is needed.
    """
    with np.errstate(over="ignore"):  # losses too large to be squared: the rate is 0
        seen = tally.spread * tally.largest**2 + tally.squares
    eta: Floats = np.sqrt(log(tally.d) / np.where(seen > 0.0, seen, 1.0))
    return eta


def implicit(draw: Draw, gamma: Floats) -> Draw:
    """The draw with 1/(q + gamma) for 1/q (Neu 2015): a little bias for much lighter tails.

    gamma = eta / 2, one per run, is the usual choice.
    """
    return replace(draw, weight=draw.weight / (1.0 + gamma[:, None] * draw.weight))


class BEXP:
    """A bank of n budgeted exponential-weights algorithms over d experts.

    Run i plays j with probability p_ij proportional to exp(-eta_i L_ij), L the sums of estimated
    losses. Only differences of L enter, so nothing overflows, however long it runs.

    Sums: `L`, `squares`, `fed`; a maximum: `largest`. Derived: the probabilities.

    Parameters
    ----------
    scheme
        Who reads what.
    rate
        The learning rate, a function of the sums.
    seed
        Of the draws, which are keyed by it and the round: any round can be drawn again.

    Guarantee
    ---------
    `theorem:bexp`: with `OwnSubsets` or `OwnBins` and `anytime`, for losses in [0, 1] that do not
    depend on the draws, the expected regret of a run after T rounds is at most
    2 sqrt(spread T log d): 2 sqrt(d log(d) T / M) for M-subsets. With losses in [-1, 0] (gains)
    the constant doubles, provided eta weight <= 1.

    Examples
    --------
    >>> from keyhole.learners.blocks.greedy.budgeted_experts import OwnSubsets
    >>> bexp = BEXP(OwnSubsets(4, np.array([2])), seed=0)
    >>> for t in range(1, 400):
    ...     draw = bexp.draw(t)
    ...     bexp.feed(draw, np.array([[0.9, 0.9, 0.1, 0.9]])[:, draw.S])
    >>> bexp.probabilities().round(2)
    array([[0., 0., 1., 0.]])

    References
    ----------
    Amin, Kale, Tesauro, Turaga (2015), Budgeted prediction with expert advice.
    Seldin, Bartlett, Crammer, Abbasi-Yadkori (2014), Prediction with limited advice and multiarmed
    bandits with paid observations.
    Neu (2015), Explore no more.
    """

    SAVED = ("L", "squares", "largest", "fed")

    squares: Annotated[Floats, MAY_OVERFLOW]
    largest: Annotated[Floats, AT_LEAST_0]

    def __init__(self, scheme: Scheme, *, seed: int, rate: Rate = anytime) -> None:
        self.scheme = scheme
        self.seed = seed
        self.rate = rate
        self.L: Floats = np.zeros((scheme.n, scheme.d))
        self.squares = np.zeros(scheme.n)
        self.largest = np.zeros(scheme.n)
        self.fed = 0
        self._spread = scheme.spread

    def eta(self) -> Floats:
        """The learning rate of every run."""
        tally = Tally(self.scheme.d, self.fed, self._spread, self.squares, self.largest)
        return self.rate(tally)

    def probabilities(self) -> Floats:
        """p, n x d."""
        p = np.empty_like(self.L)
        fill_probabilities(self.L, self.eta(), p)
        return p

    def draw(self, round: int) -> Draw:
        """Who is played and read in a round, given what was fed so far."""
        return self.scheme.draw(self.seed, round, self.probabilities())

    def feed(self, draw: Draw, losses: NDArray[np.floating]) -> None:
        """Learn the losses (n x len(draw.S)) of a draw; draws may be fed late and in any order.

        A loss whose weight is 0 is not looked at.
        """
        told = np.ascontiguousarray(losses, dtype=np.float64)
        sums = (self.L, self.squares, self.largest)
        feed_losses(draw.S, draw.p, draw.weight, told, *sums)
        self.fed += 1
