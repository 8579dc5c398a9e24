"""Six simulated streams with prices, to compare learners that spend money.

In each, y = <x, w> + noise with k useful features. Values are standard Gaussian, correlated as each
stream says. The sizes of the weights decay, 1 : 0.8 : 0.64 : ..., in random order and with random
signs, scaled so that <x, w> has variance 1; the noise is Gaussian of variance 3/7, so that the best
model has R2 = 0.7. C_k is what the useful features cost, each shared item paid once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyhole.errors import one_of
from keyhole.problem import Floats, Indices, Problem
from keyhole.problem.prices import Panels
from keyhole.streams.arrays import GeneratedStream
from keyhole.streams.designs import Rows, gaussian, signs
from keyhole.streams.simulate import TRUTH, Truth, follow, keyed

DECAY = 0.8  # of the weights, from one useful feature to the next
NOISE_SD = math.sqrt(3.0 / 7.0)  # R2 = 1 / (1 + 3/7) = 0.7
NEIGHBOURS = 0.5  # correlation of neighbours where there is one
COPIES, LIKENESS = (
    10,
    0.8,
)  # of the dear feature of `proxy`: how many, and how much they are like it
MEMBERS, SHARED = 4, 0.5  # of a panel: how many, and the correlation of any two
HEAVY = ("2", "5", "9", "16", "28")  # prices of the useful features of `heavy`: 60 together
LIMITS = ("loose", "tight")


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
    prices = [str(p) for p in rng.integers(1, 11, 100)]
    return _sold(n, seed, used, _chain(100), prices, rho=NEIGHBOURS)


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
    return _sold(n, seed, used, _copied(80, 0, used[:0]), [str(p) for p in prices])


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
    return _sold(n, seed, used, _copied(80, int(used[0]), copies), [str(p) for p in prices])


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
    return _sold(n, seed, used, _together(members), [str(p) for p in prices], panels=panels)


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
    return _sold(n, seed, used, _chain(80), prices, rho=NEIGHBOURS)


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
    return _sold(n, seed, used, _chain(100), [str(p) for p in prices], rho=NEIGHBOURS)


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
    rows: Rows,
    prices: Sequence[str],
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
    truth = Truth(w, np.sort(used), 0.0, NOISE_SD)
    stream, _ = follow(truth, n, design=lambda d, rng: rows, noise=gaussian, seed=seed)
    whole = Problem(d, k, 10**9, prices=prices, panels=panels)
    cost = whole.cost(used)
    return Priced(stream, truth, whole.replace(budget=3 * cost), whole.replace(budget=cost))


def _chain(d: int) -> Rows:
    """Standard Gaussian rows with corr(x_i, x_j) = NEIGHBOURS^|i-j|."""
    fresh = math.sqrt(1.0 - NEIGHBOURS**2)

    def rows(n: int, rng: np.random.Generator) -> Floats:
        z = rng.standard_normal((d, n))
        for j in range(1, d):
            z[j] = NEIGHBOURS * z[j - 1] + fresh * z[j]
        return np.ascontiguousarray(z.T)

    return rows


def _copied(d: int, original: int, copies: Indices) -> Rows:
    """Independent standard Gaussians, but for noisy copies of one."""
    own = math.sqrt(1.0 - LIKENESS**2)

    def rows(n: int, rng: np.random.Generator) -> Floats:
        X = rng.standard_normal((n, d))
        X[:, copies] = LIKENESS * X[:, [original]] + own * X[:, copies]
        return X

    return rows


def _together(members: Indices) -> Rows:
    """Standard Gaussians, where those in one row of `members` share a factor."""
    common, own = math.sqrt(SHARED), math.sqrt(1.0 - SHARED)

    def rows(n: int, rng: np.random.Generator) -> Floats:
        X = own * rng.standard_normal((n, members.size))
        shared = rng.standard_normal((n, len(members)))
        for i, listed in enumerate(members):
            X[:, listed] += common * shared[:, [i]]
        return X

    return rows
