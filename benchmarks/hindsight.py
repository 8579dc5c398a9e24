"""Best k-subset: branch and bound against plain enumeration, on the same moments, in one run.

Enumeration is timed on a sample of subsets and scaled up to all of them; it is the only general
way to an exact answer without a solver. Prints ratios; nothing is asserted.
"""

from __future__ import annotations

import itertools
import math
import time

import numpy as np

import keyhole as kh
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


def main() -> None:
    """Print one row per case."""
    best_subset(np.eye(3), np.ones(3), 4.0, 1)  # compiles
    print("best k-subset by branch and bound, and how much longer enumeration would take")
    print(f"{'d':>4} {'k':>3} {'n':>6} {'rho':>4} {'noise':>5} {'seconds':>8} {'ratio':>9}  result")
    for d, k, n, rho, noise in CASES:
        stream, _ = kh.streams.realizable(d, k, n, design=toeplitz(rho), noise_sd=noise, seed=0)
        gram = Gram(d)
        for X, y in stream.blocks():
            gram.add(X, y)
        problem = gram.raw()
        began = time.perf_counter()
        best = best_subset(problem.G, problem.c, problem.yy, k, seconds=10)
        seconds = time.perf_counter() - began
        ratio = enumeration_seconds(problem.G, problem.c, k) / seconds
        gap = (best.rss - best.lower) / problem.yy
        result = "exact" if best.exact else f"interval, {gap:.2%} of y'y wide"
        print(f"{d:>4} {k:>3} {n:>6} {rho:>4} {noise:>5} {seconds:>8.3f} {ratio:>9.1e}  {result}")


if __name__ == "__main__":
    main()
