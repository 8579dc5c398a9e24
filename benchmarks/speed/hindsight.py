"""Best k-subset: branch and bound against plain enumeration, on the same moments, in one run.

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
from keyhole.blocks.exact.subset import best_subset
from keyhole.blocks.sums.gram import Gram
from keyhole.problem import Floats
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
