"""Random problems with prices, and all models of them, one by one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from keyhole.problem import Floats
from keyhole.problem.prices import Prices, price_list


@dataclass(frozen=True)
class Shop:
    """Rows, labels and prices."""

    X: Floats
    y: Floats
    prices: Prices

    @property
    def moments(self) -> tuple[Floats, Floats, float]:
        return self.X.T @ self.X, self.X.T @ self.y, float(self.y @ self.y)


@dataclass(frozen=True)
class Model:
    """A set of features, what it costs in units, and what it loses."""

    features: tuple[int, ...]
    units: int
    rss: float


def shop(seed: int, d: int, n: int = 30) -> Shop:
    """Correlated columns or copies; panels with and without own prices, derived and free features.

    What a seed has of these depends on the seed, so that twelve in a row have all of it.
    """
    rng = np.random.default_rng([seed, d])
    X = rng.normal(size=(n, d))
    if seed % 3 == 1:
        X += 1.5 * rng.normal(size=(n, 1))
    if seed % 3 == 2 and d > 2:
        X[:, d - 1] = -2.0 * X[:, 0]
    y = X @ (rng.normal(size=d) * (rng.random(d) < 0.6)) + rng.normal(size=n)
    own = [str(x / 2) for x in rng.integers(0, 6, d) * (rng.random(d) < 0.8)]
    panels = {}
    if seed % 2:
        for name in ("blood", "urine"):
            members = rng.choice(d, min(d, 4), replace=False).tolist()
            panels[name] = (int(rng.integers(1, 8)), members)
    derived = {d // 2: [0, d - 1]} if seed % 4 > 1 and d > 4 else {}
    return Shop(X, y, price_list(d, None, own, panels, derived))


def cost(prices: Prices, features: tuple[int, ...]) -> int:
    """Item by item: its price, if anybody needs it."""
    return sum(
        price for i, price in enumerate(prices.units) if any(i in prices.needs[j] for j in features)
    )


def every_model(case: Shop) -> list[Model]:
    """All sets of features with a least-squares solver."""
    d, found = case.X.shape[1], []
    for size in range(d + 1):
        for S in itertools.combinations(range(d), size):
            w = np.linalg.lstsq(case.X[:, S], case.y, rcond=None)[0]
            rss = float(((case.y - case.X[:, S] @ w) ** 2).sum())
            found.append(Model(S, cost(case.prices, S), rss))
    return found


def least(
    models: list[Model], limit: float = np.inf, k: int | None = None, rate: float = 0.0
) -> float:
    """The least rss + rate * units among those within the limits."""
    return min(
        m.rss + rate * m.units
        for m in models
        if m.units <= limit and (k is None or len(m.features) <= k)
    )
