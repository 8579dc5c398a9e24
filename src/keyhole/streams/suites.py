"""Suites of simulated streams to compare learners on: agnostic, realizable, and with prices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from keyhole.errors import one_of
from keyhole.problem import Floats, Indices, Problem, real_number
from keyhole.problem.prices import Panels
from keyhole.streams.arrays import GeneratedStream, LabelledRows
from keyhole.streams.designs import (
    Design,
    Noise,
    RowSampler,
    binary,
    bounded,
    factor,
    gaussian,
    gaussian_chain,
    rademacher,
    signs,
    student,
    toeplitz,
    uniform,
)
from keyhole.streams.drift import drifting, leaders, sign_flips, switching
from keyhole.streams.simulate import (
    CHUNK,
    DESIGN,
    TRUTH,
    Simulated,
    Truth,
    follow,
    generate,
    keyed,
    linear,
    sparse_weights,
)
from keyhole.streams.synthetic import dense, dependent, needle, nonlinear, realizable

DECAY = 0.8  # of the weights, from one useful feature to the next
PRICED_NOISE_SD = math.sqrt(3.0 / 7.0)  # R2 = 1 / (1 + 3/7) = 0.7
NEIGHBOURS = 0.5  # correlation of neighbours where there is one
COPIES, LIKENESS = 10, 0.8  # of the dear feature of `proxy`: how many, how much they are like it
MEMBERS, SHARED = 4, 0.5  # of a panel: how many, and the correlation of any two
HEAVY = ("2", "5", "9", "16", "28")  # prices of the useful features of `heavy`: 60 together
LIMITS = ("loose", "tight")


@dataclass(frozen=True, slots=True)
class Case:
    """One stream of the suite: what it is like, what may be read of it, and what makes it."""

    about: str
    problem: Problem
    make: Callable[..., Simulated]  # called with how many rows, and the seed by name

    def simulate(self, n: int, seed: int) -> Simulated:
        """n rows, and the truth behind them."""
        return self.make(n, seed=seed)


_SIGNS = partial(realizable, 30, 2, noise=bounded, noise_sd=0.2)
_ALIKE = partial(realizable, 300, 4, design=toeplitz(0.5), noise=bounded, noise_sd=0.15)

AGNOSTIC_SUITE: dict[str, Case] = {
    "iid": Case("sparse, signs", Problem(30, 2, 12), _SIGNS),
    "dense": Case("every feature matters", Problem(100, 4, 24), partial(dense, 100)),
    "nonlin": Case("a curved rule", Problem(30, 2, 12), partial(nonlinear, 30)),
    "switch": Case("six supports take turns", Problem(100, 4, 24), partial(switching, 100, 4)),
    "drift": Case("four weights rotate", Problem(30, 2, 12), partial(drifting, 30)),
    "flip": Case("strong features change sides", Problem(30, 2, 12), partial(sign_flips, 30)),
    "depn": Case(
        "noise that lingers, labels that feed back", Problem(100, 4, 24), partial(dependent, 100, 4)
    ),
    "needle": Case("labels 1 and -1, weak features", Problem(300, 1, 12), partial(needle, 300)),
    "geo": Case("another leader in every phase", Problem(10, 1, 4), partial(leaders, 10)),
    "iid300": Case("sparse, neighbours alike", Problem(300, 4, 32), _ALIKE),
}


def agnostic_suite(name: str, n: int, *, seed: int = 0) -> Simulated:
    """n rows of a stream of the suite, by its name, with the truth beside it.

    Parameters
    ----------
    name
        A key of `AGNOSTIC_SUITE`, whose value has the `problem` to play it with.
    n, seed
        Rows; seed of everything random.

    Examples
    --------
    >>> stream, truth = agnostic_suite("needle", 100)
    >>> stream.d, AGNOSTIC_SUITE["needle"].problem.budget
    (300, 12)
    """
    return AGNOSTIC_SUITE[one_of("name", name, AGNOSTIC_SUITE)].simulate(n, seed)


@dataclass(frozen=True, slots=True)
class Setting:
    """One stream of the suite and what may be read of it.

    Parameters
    ----------
    about
        What makes it what it is, in words.
    d, k, exploration
        Features, non-zero weights, and the paper's k0: budget = k0 + k, at most d.
    noise_sd
        Standard deviation of the noise.
    design, noise
        What draws the rows and the noise.
    intercept
        What is added to every label.
    scales
        Features are multiplied by numbers log-uniform between these two, weights divided by them.
    redrawn
        Instead of `design`: a one-factor design that is drawn anew every 1,024 rows.
    """

    about: str
    d: int
    k: int
    exploration: int
    noise_sd: float
    design: Design = rademacher
    noise: Noise = gaussian
    intercept: float = 0.0
    scales: tuple[float, float] = (1.0, 1.0)
    redrawn: bool = False

    @property
    def problem(self) -> Problem:
        """The problem a learner is given: everything it may read of a row is k0 + k features."""
        return Problem(self.d, self.k, min(self.d, self.exploration + self.k))

    def simulate(self, n: int, seed: int = 0) -> Simulated:
        """n rows and the truth behind them."""
        w = sparse_weights(self.d, self.k, keyed(seed, TRUTH))
        if self.redrawn:
            return _redrawn_factor(w, n, self.noise_sd, seed)
        low, high = (math.log(scale) for scale in self.scales)
        sizes: Floats = np.exp(keyed(seed, TRUTH, 1).uniform(low, high, self.d))
        return linear(
            w / sizes,
            n,
            intercept=self.intercept,
            design=_scaled(self.design, sizes),
            noise=self.noise,
            noise_sd=self.noise_sd,
            seed=seed,
        )


def unbounded_student(dof: float = 4.0) -> Design:
    """Independent Student t values of variance 1, not cut off anywhere.

    Parameters
    ----------
    dof
        Degrees of freedom, above 2.
    """
    dof = real_number("dof", dof, 2.1)
    size = math.sqrt((dof - 2.0) / dof)
    return lambda d, rng: lambda n, rng: size * rng.standard_t(dof, (n, d))


def _scaled(design: Design, sizes: Floats) -> Design:
    if (sizes == 1.0).all():
        return design

    def scaled(d: int, rng: np.random.Generator) -> RowSampler:
        rows = design(d, rng)
        return lambda n, rng: sizes * rows(n, rng)

    return scaled


def _redrawn_factor(w: Floats, n: int, noise_sd: float, seed: int) -> Simulated:
    """w* stays; strength (uniform in [0, 0.6]) and signs of the factor are new in every chunk."""
    used = np.flatnonzero(w)

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        anew = keyed(seed, DESIGN, start // CHUNK)
        X = factor(anew.uniform(0.0, 0.6))(len(w), anew)(CHUNK, rng)
        # Not X @ w: see `follow`.
        return X, (X[:, used] * w[used]).sum(axis=1) + noise_sd * gaussian(CHUNK, rng)

    return Simulated(generate(len(w), n, seed, chunk), Truth(w, used, 0.0, noise_sd))


REALIZABLE_SUITE: dict[str, Setting] = {
    "S1": Setting("few signs", 20, 2, 2, 0.1),
    "S2": Setting("signs, small budget", 100, 5, 10, 0.1),
    "S3": Setting("signs, more noise", 100, 5, 25, 0.3),
    "S4": Setting("uniform", 300, 5, 75, 0.1, uniform),
    "S5": Setting("many signs", 1000, 10, 100, 0.1),
    "S6": Setting("neighbours alike", 100, 5, 25, 0.1, toeplitz(0.5)),
    "S7": Setting("one factor", 100, 5, 10, 0.1, factor(0.4)),
    "S8": Setting(
        "heavy tails, many scales",
        100,
        5,
        25,
        0.3,
        unbounded_student(4.0),
        student(3.0),
        scales=(0.3, 3.0),
    ),
    "S9": Setting("0/1, intercept", 50, 5, 10, 0.1, binary(), intercept=0.5),
    "S10": Setting("signs, all read", 100, 5, 100, 0.1),
    "S12": Setting("a factor that changes", 100, 5, 10, 0.1, redrawn=True),
}


def realizable_suite(name: str, n: int, *, seed: int = 0) -> Simulated:
    """n rows of a stream of the suite, by its name, with the truth beside it.

    Parameters
    ----------
    name
        A key of `REALIZABLE_SUITE`, whose value says what the stream is and has the `problem` to
        play it with.
    n, seed
        Rows; seed of everything random.

    Examples
    --------
    >>> stream, truth = realizable_suite("S9", 100)
    >>> stream.d, len(truth.support), truth.intercept, REALIZABLE_SUITE["S9"].problem.budget
    (50, 5, 0.5, 15)
    """
    return REALIZABLE_SUITE[one_of("name", name, REALIZABLE_SUITE)].simulate(n, seed)


class Priced(NamedTuple):
    """A stream with prices, the truth behind it, and the two problems it is played as.

    `loose` has a budget of 3 C_k, `tight` one of C_k: exactly what the useful features cost.
    """

    stream: GeneratedStream
    truth: Truth
    loose: Problem
    tight: Problem

    def problem(self, limit: str = "loose") -> Problem:
        """The problem with a budget of 3 C_k ("loose") or of C_k ("tight")."""
        return self.tight if one_of("limit", limit, LIMITS) == "tight" else self.loose


@dataclass(frozen=True, slots=True)
class PricedCase:
    """One stream of the suite: what it is like, and what makes it."""

    about: str
    make: Callable[[int, int], Priced]  # called with how many rows, and the seed

    def simulate(self, n: int, seed: int = 0) -> Priced:
        """n rows, the truth behind them, and the problems; all but the rows depends on the seed."""
        return self.make(n, seed)


def indep(n: int, seed: int = 0) -> Priced:
    """Prices that have nothing to do with use.

    d = 100, k = 5; corr(x_i, x_j) = 0.5^|i-j|; prices uniform on 1, 2, ..., 10.

    >>> _, truth, loose, tight = indep(100)
    >>> loose.d, loose.k, loose.budget == 3 * tight.budget == 3 * loose.cost(truth.support)
    (100, 5, True)
    """
    rng = keyed(seed, TRUTH)
    used = _draw(100, 5, rng)
    prices = rng.integers(1, 11, 100)
    return _sold(n, seed, used, gaussian_chain(100, NEIGHBOURS), prices, rho=NEIGHBOURS)


def dear(n: int, seed: int = 0) -> Priced:
    """What is useful is dear.

    d = 80, k = 4; independent features; the useful ones cost 6 each, the others uniform on 1, 2, 3.
    So C_k = 24.

    >>> dear(100).loose.budget
    72.0
    """
    rng = keyed(seed, TRUTH)
    used = _draw(80, 4, rng)
    prices = rng.integers(1, 4, 80)
    prices[used] = 6
    return _sold(n, seed, used, _copied(80, 0, used[:0]), prices)


def proxy(n: int, seed: int = 0) -> Priced:
    """Cheap copies of a dear feature: ten of them cost less, and together are nearly as good.

    d = 80, k = 5. The useful feature of the largest weight costs 14 and has ten noisy copies,
    0.8 x + 0.6 noise, which cost 1 each; the other useful ones cost 3 each, the 65 that are left
    uniform on 1, 2, ..., 5. So C_k = 26. All but the copies are independent.

    >>> proxy(100).loose.budget
    78.0
    """
    rng = keyed(seed, TRUTH)
    used = _draw(80, 5, rng)
    copies = rng.permutation(np.setdiff1d(np.arange(80), used))[:COPIES]
    prices = rng.integers(1, 6, 80)
    prices[used], prices[used[0]], prices[copies] = 3, 14, 1
    return _sold(n, seed, used, _copied(80, int(used[0]), copies), prices)


def panel(n: int, seed: int = 0) -> Priced:
    """Panels of which one member is useful, if any.

    d = 100 in 25 panels of 4 members in random places, fees uniform on 3, 4, ..., 10; in the panels
    of odd number (1, 3, ..., 23) a member costs 1 beside the fee, in the others nothing. Any two
    members of a panel have correlation 0.5. k = 4 useful features in as many panels.

    >>> _, truth, loose, _ = panel(100)
    >>> len(loose.prices.items), loose.cost(truth.support) == loose.budget / 3  # 48 prices, 25 fees
    (73, True)
    """
    rng = keyed(seed, TRUTH)
    members = rng.permutation(100).reshape(25, MEMBERS)
    used = members[rng.permutation(25)[:4], rng.integers(0, MEMBERS, 4)]
    fees = rng.integers(3, 11, 25)
    panels: Panels = {
        f"panel {i}": (str(fee), listed)
        for i, (fee, listed) in enumerate(zip(fees, members.tolist(), strict=True))
    }
    prices = np.zeros(100, dtype=np.int64)
    prices[members[1::2]] = 1
    return _sold(n, seed, used, _together(members), prices, panels=panels)


def heavy(n: int, seed: int = 0) -> Priced:
    """Prices from 1 to 500: some features cost more than may be spent.

    d = 80, k = 5; corr(x_i, x_j) = 0.5^|i-j|. The useful features cost 2, 5, 9, 16 and 28 in random
    order, the others exp(uniform on [0, log 500]), rounded to cents. So C_k = 60.

    >>> heavy(100).loose.budget
    180.0
    """
    rng = keyed(seed, TRUTH)
    used = _draw(80, 5, rng)
    prices = [f"{p:.2f}" for p in np.exp(rng.uniform(0.0, math.log(500.0), 80))]
    for j, place in zip(used, rng.permutation(5), strict=True):
        prices[j] = HEAVY[place]
    return _sold(n, seed, used, gaussian_chain(80, NEIGHBOURS), prices, rho=NEIGHBOURS)


def free50(n: int, seed: int = 0) -> Priced:
    """Half of the features are free.

    d = 100, k = 6; corr(x_i, x_j) = 0.5^|i-j|. 50 features in random places are free, among them 3
    of the useful ones; prices of the others are uniform on 1, 2, ..., 10.

    >>> _, truth, loose, _ = free50(100)
    >>> sum(loose.cost([j]) == 0 for j in range(100)), len(truth.support)
    (50, 6)
    """
    rng = keyed(seed, TRUTH)
    mixed = rng.permutation(100)  # the first 50 are free
    used = rng.permutation(mixed[[0, 1, 2, 50, 51, 52]])
    prices = rng.integers(1, 11, 100)
    prices[mixed[:50]] = 0
    return _sold(n, seed, used, gaussian_chain(100, NEIGHBOURS), prices, rho=NEIGHBOURS)


PRICED_SUITE: dict[str, PricedCase] = {
    "indep": PricedCase("prices unrelated to use", indep),
    "dear": PricedCase("useful features are dear", dear),
    "proxy": PricedCase("cheap copies of a dear feature", proxy),
    "panel": PricedCase("one useful member per panel", panel),
    "heavy": PricedCase("prices from 1 to 500", heavy),
    "free50": PricedCase("50 free, 50 priced", free50),
}


def priced_suite(name: str, n: int, *, seed: int = 0) -> Priced:
    """n rows of a stream of the suite, by its name, with the truth and the problems beside it.

    Parameters
    ----------
    name
        A key of `PRICED_SUITE`, whose value says what the stream is.
    n, seed
        Rows; seed of everything random, the prices included.

    Examples
    --------
    >>> dear = priced_suite("dear", 100, seed=1)
    >>> dear.stream.d, dear.problem().budget, dear.problem("tight").budget
    (80, 72.0, 24.0)
    """
    return PRICED_SUITE[one_of("name", name, PRICED_SUITE)].simulate(n, seed)


def _draw(d: int, k: int, rng: np.random.Generator) -> Indices:
    """k features in random order: the first will have the largest weight."""
    return rng.choice(d, k, replace=False)


def _sold(
    n: int,
    seed: int,
    used: Indices,
    rows: RowSampler,
    prices: Sequence[str] | Indices,
    *,
    panels: Panels | None = None,
    rho: float = 0.0,
) -> Priced:
    """The stream whose useful features, largest weight first, are `used`, with its problems.

    corr(x_i, x_j) = rho^|i-j| for useful features i and j.
    """
    d, k = len(prices), len(used)
    sizes = signs(k, keyed(seed, TRUTH, 1)) * DECAY ** np.arange(k)
    R = rho ** np.abs(used[:, None] - used).astype(np.float64)
    w = np.zeros(d)
    w[used] = sizes / math.sqrt((sizes[:, None] * R * sizes).sum())
    truth = Truth(w, np.sort(used), 0.0, PRICED_NOISE_SD)
    stream, _ = follow(truth, n, design=lambda d, rng: rows, noise=gaussian, seed=seed)
    whole = Problem(d, k, 10**9, prices=[str(p) for p in prices], panels=panels)
    cost = whole.cost(used)
    return Priced(stream, truth, whole.replace(budget=3 * cost), whole.replace(budget=cost))


def _copied(d: int, original: int, copies: Indices) -> RowSampler:
    """Independent standard Gaussians, but for noisy copies of one."""
    own = math.sqrt(1.0 - LIKENESS**2)

    def rows(n: int, rng: np.random.Generator) -> Floats:
        X = rng.standard_normal((n, d))
        X[:, copies] = LIKENESS * X[:, [original]] + own * X[:, copies]
        return X

    return rows


def _together(members: Indices) -> RowSampler:
    """Standard Gaussians, where those in one row of `members` share a factor."""
    common, own = math.sqrt(SHARED), math.sqrt(1.0 - SHARED)

    def rows(n: int, rng: np.random.Generator) -> Floats:
        X = own * rng.standard_normal((n, members.size))
        shared = rng.standard_normal((n, len(members)))
        for i, listed in enumerate(members):
            X[:, listed] += common * shared[:, [i]]
        return X

    return rows
