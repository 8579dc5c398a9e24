"""Best subsets, of k features or for money, by branch and bound; against plain enumeration.

Enumeration is timed on a sample of subsets and scaled up to all of them; it is the only general
way to an exact answer without a solver.
"""

from __future__ import annotations

import itertools
import math
import time

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from keyhole.analysis.exact.best_subset import CostTerms, best_for_money, best_subset
from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.problem import Floats
from keyhole.problem.prices import Prices, price_list
from keyhole.streams.designs import toeplitz

CASES = [  # d, k, rounds, rho, noise_sd
    (20, 4, 5000, 0.0, 0.3),
    (60, 5, 5000, 0.0, 0.3),
    (60, 5, 5000, 0.8, 0.3),
    (60, 5, 200, 0.8, 1.0),
    (100, 6, 5000, 0.8, 0.3),
    (200, 8, 5000, 0.8, 0.3),
    (500, 10, 5000, 0.0, 0.3),
    (500, 10, 1000, 0.8, 1.0),
]
PRICED = [  # d, k, rounds, rho, noise_sd, prices, money as a multiple of what the truth costs
    (60, 6, 5000, 0.0, 0.3, "even", 1.0),
    (60, 6, 5000, 0.8, 1.0, "even", 2.0),
    (60, 6, 5000, 0.8, 1.0, "heavy", 1.0),
    (60, 6, 5000, 0.8, 1.0, "panels", 1.0),
    (100, 8, 5000, 0.0, 0.3, "even", 2.0),
    (100, 8, 5000, 0.0, 0.3, "heavy", 2.0),
    (100, 8, 5000, 0.0, 0.3, "panels", 2.0),
    (100, 8, 5000, 0.8, 1.0, "even", 1.0),
    (100, 8, 5000, 0.8, 1.0, "panels", 1.0),
]


def enumeration_seconds(G: Floats, c: Floats, k: int, sample: int = 2000) -> float:
    """Seconds that a batched solve of every k-subset would take, from a sample."""
    d = len(c)
    S = np.array(list(itertools.islice(itertools.combinations(range(d), k), sample)))
    began = time.perf_counter()
    np.linalg.solve(G[S[:, :, None], S[:, None, :]], c[S][:, :, None])
    return (time.perf_counter() - began) / len(S) * math.comb(d, k)


def run_hindsight(d: int, k: int, n: int, rho: float, noise: float) -> Row:
    """Seconds of branch and bound, and how much longer enumeration would take."""
    best_subset(np.eye(3), np.ones(3), 4.0, 1)  # compiles
    stream, _ = kh.streams.realizable(d, k, n, design=toeplitz(rho), noise_sd=noise, seed=0)
    gram = Gram(d)
    for X, y in stream.blocks():
        gram.add(X, y)
    problem = gram.raw()
    began = time.perf_counter()
    best = best_subset(problem.G, problem.c, problem.yy, k, seconds=10)
    seconds = time.perf_counter() - began
    return {
        "d": d,
        "k": k,
        "n": n,
        "rho": rho,
        "noise": noise,
        "seconds": seconds,
        "ratio": enumeration_seconds(problem.G, problem.c, k) / seconds,
        "exact": bool(best.exact),
        "gap": (best.rss - best.lower) / problem.yy,
    }


def prices_of(kind: str, d: int) -> Prices:
    """Prices from 1 to 10; "heavy": from 1 to 500; "panels": six features share a fee, of half."""
    rng = np.random.default_rng(0)
    own = [f"{price:.2f}" for price in rng.uniform(1.0, 10.0, d)]
    order, panels = rng.permutation(d), {}
    if kind == "heavy":
        own = [f"{price:.0f}" for price in np.exp(rng.uniform(0.0, np.log(500.0), d))]
    if kind == "panels":
        for i in range(d // 12):
            panels[f"panel {i}"] = (int(rng.integers(5, 30)), order[6 * i : 6 * i + 6].tolist())
    return price_list(d, None, own, panels)


def run_priced(d: int, k: int, n: int, rho: float, noise: float, kind: str, share: float) -> Row:
    """Seconds of branch and bound for so much money."""
    best_for_money(np.eye(2), np.ones(2), 4.0, CostTerms(price_list(2, None, [1, 1], None), 1))
    stream, truth = kh.streams.realizable(d, k, n, design=toeplitz(rho), noise_sd=noise, seed=0)
    gram = Gram(d)
    for X, y in stream.blocks():
        gram.add(X, y)
    problem, prices = gram.raw(), prices_of(kind, d)
    limit = int(share * prices.count(truth.support.tolist()))
    began = time.perf_counter()
    best = best_for_money(problem.G, problem.c, problem.yy, CostTerms(prices, limit), seconds=10)
    return {
        "d": d,
        "k": k,
        "n": n,
        "rho": rho,
        "noise": noise,
        "prices": kind,
        "money": share,
        "seconds": time.perf_counter() - began,
        "nodes": best.nodes,
        "features": len(best.support),
        "exact": bool(best.exact),
        "gap": (best.rss - best.lower) / problem.yy,
    }
