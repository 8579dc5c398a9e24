"""DantzigLearner, Algorithm 1 of the paper: the Dantzig selector on what was explored."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Self, cast

import numpy as np

from keyhole.errors import one_of
from keyhole.learners.base import (
    Choice,
    LearnerBase,
    at_least,
    failure_probability_of,
    refuse_prices,
)
from keyhole.learners.blocks.dantzig.solution import Diagnostics
from keyhole.learners.blocks.dantzig.solve import solve
from keyhole.learners.blocks.dantzig.threshold import printed_threshold
from keyhole.learners.blocks.draw.block import Block, explore_block
from keyhole.learners.blocks.draw.sampling import inclusion_uniform, uniform_subset
from keyhole.learners.blocks.draw.sorting import merge, top_k
from keyhole.learners.blocks.fit.linear_algebra import predict_seen
from keyhole.learners.blocks.sums.estimates import Estimate, horvitz_thompson, printed
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    positive_number,
    real_number,
    whole_number,
)
from keyhole.problem.state import Holds, LearnerState, restore

# values that are explored between two additions to the moments, at most
_MAX_BUFFERED_VALUES = 1 << 18

Weighting = Callable[[Moments, int], Estimate]

WEIGHTINGS: dict[str, Weighting] = {
    "exact": lambda moments, k0: horvitz_thompson(moments, inclusion_uniform(moments.d, k0)),
    "paper": printed,
}


def default_burn_in(problem: Problem) -> int:
    """t0 = ceil(k log d)."""
    return math.ceil(problem.k * math.log(problem.d))


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """A k-sparse model as it is played: support, weights, and what absent values count as."""

    support: Annotated[Indices, Holds(below="d", ascending=True, longest="k")]
    w: Annotated[Floats, Holds(shape=("support",))]
    means: Annotated[Floats, Holds(shape=("support",))]

    def __post_init__(self) -> None:
        for array in (self.support, self.w, self.means):
            array.flags.writeable = False  # tickets carry them as they are


class DantzigMemo(NamedTuple):
    """What a ticket remembers: what it explores, and the model that was in play."""

    explore: Annotated[Indices, Holds(ascending=True, shape=("k0",), among="features")]
    support: Annotated[Indices, Holds(ascending=True, longest="k", among="features")]
    weights: Annotated[Floats, Holds(shape=("support",))]
    means: Annotated[Floats, Holds(shape=("support",))]


def _class_of(threshold: object) -> type[DantzigLearner]:
    from keyhole.learners.practical_dantzig import PracticalDantzig

    classes = {"printed": DantzigLearner, "data": PracticalDantzig}
    return classes[one_of("threshold", threshold, classes)]


class DantzigLearner(LearnerBase):
    """Algorithm 1 (`algorithm:dantzig`): explore uniformly, solve a linear program, play its top k.

    Every round a uniform subset S_t of k0 features is read beside the support of the played w_t.
    At rounds t > t0 that are powers of two,

        w_hat = argmin |w|_1  s.t.  |b - G w|_inf <= C sqrt(d log(n d/delta)/(n k0)) (sigma + d/k0)

    where G, b estimate the moments E x x', E x y from the n labelled rounds so far, and w_t is
    w_hat cut down to its k largest coordinates. Before that, and in between, w_t stays.

    Sums: the moments of what was explored, how often each feature was explored. Derived: the
    model, recomputed at powers of two.

    Parameters
    ----------
    problem
        k0 = budget - k features explore; all d of them if budget = d, where everything is read
        anyway.
    seed
        Random seed, for the exploration sets.
    threshold
        "printed" is the program above. "data" makes a `PracticalDantzig`, whose thresholds, noise
        and scales are measured (practical_dantzig.py); it takes none of the parameters below.
    noise_sd
        Standard deviation sigma of the label noise, or an upper bound of it; must be given.
    threshold_scale
        The universal constant C. At the printed 1 the program returns w = 0 for all practical t;
        see docs/algorithms/dantzig.md for what to use.
    failure_probability
        delta.
    burn_in
        t0, rounds played with w = 0; None for ceil(k log d). The paper's O(k log d log T) names no
        constant, and this learner does not know T.
    weighting
        "exact" divides by the probabilities of seeing a feature and a pair; "paper" is the printed
        formula with D-hat, whose off-diagonals are too small by d(k0-1)/(k0(d-1)).
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    `theorem:realizable`: regret O(k^2 log(d/delta) (d/k0)^3 log T) with probability 1 - delta if
    y = <x, w*> + N(0, sigma^2), |w*|_1 <= 1, |x|_inf <= 1 and every prefix from t0 on satisfies
    RIP(1/5, 3k). None of that is checked. The printed weighting breaks the proof on correlated
    features (docs/errata.md).

    Deviations
    ----------
    n counts the labels told before round t, which is t - 1 when none is late or dropped. A value
    that was explored and did not arrive is left out and the estimates are divided by the shares
    that arrived, which is right when values go missing at random and independently of each other;
    one that was played counts as its mean so far. An infeasible program keeps the last weights (see
    `diagnostics`).

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> problem = kh.Problem(d=20, k=2, budget=10)
    >>> learner = kh.DantzigLearner(problem, seed=0, noise_sd=0.1, threshold_scale=0.05)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED: tuple[str, ...] = ("_moments", "_asked", "_model", "_shards", "diagnostics")
    MEMOS: tuple[type, ...] | None = (DantzigMemo,)
    BYTES_PER_PAIR = 48.0  # sums, estimates, the program

    def __new__(cls, *args: object, threshold: object = "printed", **given: object) -> Self:
        """A DantzigLearner, or the subclass that the threshold names."""
        chosen = _class_of(threshold) if cls is DantzigLearner else cls
        return cast(Self, super().__new__(chosen, *args, **given))

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        threshold: str = "printed",
        noise_sd: float | None = None,
        threshold_scale: float = 1.0,
        failure_probability: float = 0.05,
        burn_in: int | None = None,
        weighting: str = "exact",
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        d, k = problem.d, problem.k
        self.weighting = one_of("weighting", weighting, WEIGHTINGS)
        k0 = problem.exploration
        if k0 < 1:
            raise ProblemError(
                f"budget must leave something to explore with: k = {k} features are played, "
                f"got budget = {problem.budget}; make it {at_least(problem, k + 2, str(k + 2))}"
            )
        if k0 == 1 < d and weighting == "exact":
            raise ProblemError(
                f"budget must be {at_least(problem, k + 2, f'k + 2 = {k + 2}')} with "
                f"weighting='exact', got {problem.budget}: with one explored feature no pair is "
                "ever seen together"
            )
        if noise_sd is None:
            raise ProblemError("noise_sd must be given; threshold='data' does without")
        self.noise_sd = real_number("noise_sd", noise_sd, 0.0)
        self.threshold_scale = positive_number("threshold_scale", threshold_scale)
        self.failure_probability = failure_probability_of(failure_probability)
        self.burn_in = (
            default_burn_in(problem) if burn_in is None else whole_number("burn_in", burn_in, 0)
        )
        self.k0 = k0
        self.diagnostics = Diagnostics()
        self._moments = Moments(d)
        self._asked: Indices = np.zeros(d, dtype=np.int64)
        self._model = _Model(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
        self._shards: list[list[int]] = []  # what was merged: seed, first round, last round

    @classmethod
    def as_printed(
        cls,
        problem: Problem,
        *,
        horizon: int,
        noise_sd: float = 1.0,
        seed: int = 0,
        failure_probability: float = 0.05,
    ) -> Self:
        """Algorithm 1 to the letter, to be cited: the printed estimates, C = 1, the theorem's t0.

        weighting="paper", threshold_scale=1 and t0 = ceil(k log d log T) (the paper's O(...) with 1
        for the constants it does not name), predictions not cut off.

        >>> learner = DantzigLearner.as_printed(Problem(d=20, k=2, budget=8), horizon=10_000)
        >>> learner.weighting, learner.threshold_scale, learner.burn_in
        ('paper', 1.0, 56)
        """
        T = whole_number("horizon", horizon, 1)
        refuse_prices(problem, "Algorithm 1 as it is printed")
        burn_in = math.ceil(problem.k * math.log(problem.d) * math.log(T))
        return cls(
            problem,
            seed=seed,
            noise_sd=noise_sd,
            failure_probability=failure_probability,
            burn_in=burn_in,
            weighting="paper",
        )

    @property
    def weights(self) -> Floats:
        """The played w_t, at most k non-zeros."""
        weights = np.zeros(self.problem.d)
        weights[self._model.support] = self._model.w
        return weights

    @property
    def moments(self) -> Moments:
        """A copy of what was learnt so far: the moments of what was explored."""
        return self._moments.copy()

    def _choose(self, t: int) -> Choice:
        """S_t and the support of w_t."""
        S = uniform_subset(self.seed, t, self.problem.d, self.k0)
        S.flags.writeable = False  # so that the ticket need not copy it
        model = self._model
        # The model goes on the ticket: when the prediction is made, another may be in play.
        memo = DantzigMemo(S, model.support, model.w, model.means)
        union = np.empty(len(S) + len(model.support), dtype=np.int64)
        return union[: merge(S, model.support, union)], memo

    def _predict(self, seen: Observation) -> float:
        """<x, w_t> with the w_t of the ticket."""
        ticket = seen.ticket
        memo = ticket.memo
        model = (memo["support"], memo["weights"], memo["means"])
        return predict_seen(ticket.features, seen.values, *model)

    def _learn(self, seen: Observation, label: float) -> None:
        """Add the explored values to the moments."""
        ticket = seen.ticket
        S = ticket.memo["explore"]
        x = seen.values[ticket.features.searchsorted(S)]
        arrived = ~np.isnan(x)
        self._moments.add(S[arrived], x[arrived], label)
        self._asked[S] += 1

    def refit(self) -> None:
        """Solve the program now, unless it is too early; else it is solved at powers of two."""
        if self.round >= self.burn_in and self._moments.n:
            self._solve(self.round)

    @classmethod
    def _setting_names(cls) -> list[str]:
        return [name for name in super()._setting_names() if name != "threshold"]

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        return restore(cls, state, loose=("_model", "_shards"))

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "k0": self.problem.exploration}

    def _play(self, block: Block) -> int:
        model, shape = self._model, (len(block.y), self.k0)
        S, x = np.empty(shape, dtype=np.int32), np.empty(shape)
        played = explore_block(block, model.support, model.w, model.means, S, x, self._asked)
        self._moments.add_rows(S[:played], x[:played], block.y[:played])
        return played

    def _before_round(self, t: int) -> None:
        """What happens before round t is asked: a new model, at powers of two after t0."""
        due = t > self.burn_in and t & (t - 1) == 0 and self._moments.n > 0
        if due and self.diagnostics.round != t:  # else a block ended before it, at a bad row
            self._solve(t)

    def _rounds_alike(self, t: int) -> int:
        until_solve = (1 << t.bit_length()) - t  # rounds before the next power of two
        return min(until_solve, max(1, _MAX_BUFFERED_VALUES // self.k0))

    def _estimate(self) -> tuple[Floats, Floats]:
        """G and b, divided by the share of values that arrived."""
        estimate = WEIGHTINGS[self.weighting](self._moments, self.k0)
        arrived = np.diag(self._moments.N)
        if np.array_equal(arrived, self._asked):
            return estimate.G, estimate.b
        share = np.where(arrived > 0, arrived / np.maximum(self._asked, 1), 1.0)
        G = estimate.G / np.outer(share, share)
        np.fill_diagonal(G, np.diag(estimate.G) / share)
        return G, estimate.b / share

    def _solve(self, t: int) -> None:
        d, n = self.problem.d, self._moments.n
        G, b = self._estimate()
        threshold = printed_threshold(
            n,
            d,
            self.k0,
            noise_sd=self.noise_sd,
            failure_probability=self.failure_probability,
            scale=self.threshold_scale,
        )
        solution = solve(G, b, threshold)
        self.diagnostics = self.diagnostics.after(solution, t, threshold)
        if solution.status == "optimal":
            support = top_k(solution.w, self.problem.k)
            means = self._moments.X[support] / np.maximum(np.diag(self._moments.N)[support], 1)
            self._model = _Model(support, solution.w[support], means)
