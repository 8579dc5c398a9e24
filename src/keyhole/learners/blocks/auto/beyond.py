"""What features that are not kept would add to those that are: bounds from what was read."""

from __future__ import annotations

import heapq
import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.auto.worth import (
    TINY,
    Joint,
    common_reads,
    effective_rounds,
    lost_without,
)
from keyhole.learners.blocks.fit.forward import NEW, READS
from keyhole.learners.blocks.sums.memories import Memories
from keyhole.learners.blocks.sums.seats import by_feature, read_counts
from keyhole.problem import Floats, Indices

SURE = 2.0  # standard errors of a bound
DOUBT = 0.025  # the chance that `at_least` says too much, over all features


class Beyond(NamedTuple):
    """What each feature would add to the kept ones, as shares of the label's variance.

    `size` is the root of what it seems to add, `error` the standard error of that; `left` is what
    all features together could add at most: what the kept ones leave, and two errors of it.
    `told`: whether anything is known of the feature. It is not if it is kept, if it was read too
    rarely or hardly varied, if the kept features nearly determine it, or if all that could be said
    is that it adds no more than there is.
    """

    size: Floats
    error: Floats
    left: float
    told: NDArray[np.bool_]

    def at_most(self, feature: int) -> float:
        """What the feature would add at most, to two errors."""
        return float(min((self.size[feature] + SURE * self.error[feature]) ** 2, self.left))


def beyond(kept: Memories, memory: int, features: Indices, peaks: Floats, fit: Joint) -> Beyond:
    """What each feature would add to the fit of some features, from the sums of the same memory.

    In standardised units, with C_j the correlations of feature j with those fitted, b their
    weights and r_j its correlation with the label, it would add

        size_j^2 = (r_j - C_j' b)^2 / D_j,   D_j = 1 - C_j' R^-1 C_j.

    The rounds n_ij that read i and j are taken to be as many as in `joint_fit`, and so is what the
    fitted features add to the noise of j's product where they were not read:

        error_j^2 = (s^2 D_j + sum_i b_i^2 (n_j / n_ij - 1)) / (n_j D_j).

    Values far out are few reads in truth: of n reads with a fourth moment in which the largest
    value alone counts t, n / (1 + t) are counted before anything is said. Those fitted must
    have seats, and nothing is said of features that rest: their products are not known.
    """
    V = np.asarray(features, dtype=np.int64)
    seats, peaks = kept.seat[V], peaks[kept.who]  # of an empty seat any: it has no reads
    G, c, n = kept.G[memory], kept.c[memory], kept.n[memory]
    d, total = len(c) - 1, max(float(n[-1]), 1e-300)
    reads = np.maximum(n[:d], 1e-300)
    mean, level, square = G[-1, :d] / reads, float(c[-1]) / total, np.diag(G)[:d] / reads
    variance, whole = square - mean * mean, float(kept.yy[memory]) / total - level * level
    varies = variance > TINY * TINY * square
    spread = np.where(varies, np.sqrt(np.maximum(variance, 1e-300)), 1.0)
    label = np.sqrt(whole) if whole > TINY * TINY * float(kept.yy[memory]) / total else np.inf
    pairs = common_reads(read_counts(kept, memory), V, reads)
    C = G[seats, :d] / pairs - np.outer(mean[seats], mean)
    C = np.clip(C / spread[seats, np.newaxis] / spread, -1.0, 1.0)
    P = np.linalg.inv(fit.R + TINY * np.eye(len(V)))
    b = P @ fit.r
    r = np.clip((c[:d] / reads - mean * level) / spread / label, -1.0, 1.0)
    D = np.maximum(1.0 - ((P @ C) * C).sum(axis=0), TINY)
    rounds = np.maximum(effective_rounds(kept, memory, reads), 1e-300)
    missed = (b**2) @ (reads / pairs - 1.0)
    size = np.abs(r - b @ C) / np.sqrt(D)
    explained, doubt = lost_without(fit, range(len(V)))
    left = float(np.clip(1.0 - explained + SURE * doubt, 0.0, 1.0))
    with np.errstate(over="ignore"):
        error = np.sqrt((fit.noise + missed / D) / rounds)
        tail = np.minimum((peaks / spread) ** 4, 1e300) / rounds
        known = (size + SURE * error) ** 2 < left
    told = varies & known & (D > NEW) & (rounds / (1.0 + tail) >= READS) & np.isfinite(label)
    told[seats] = False
    sizes, errors = by_feature(kept, size), by_feature(kept, error)
    return Beyond(sizes, errors, left, by_feature(kept, told))


def at_least(found: Beyond) -> float:
    """What the best single feature would add at least: so much is no chance, of all there are.

    Two features that add much may say the same, so more features need not add more.
    """
    far = NormalDist().inv_cdf(1.0 - 0.5 * DOUBT / max(len(found.size), 1))
    sure = np.maximum(found.size - far * found.error, 0.0)[found.told]
    return float(min(sure.max(initial=0.0) ** 2, found.left))


def at_most(found: Beyond, count: int) -> float:
    """What the best so many of the features that something is known of would add at most.

    Were features independent of one another, given the kept ones, a set A would add |size_A|^2, and
    with u the direction of the true sizes

        |true size_A| = u' size_A - u' error_A <= |size_A| + 2 max error_A,

    to two standard errors of the last product. The largest such bound over all sets of so many
    features holds for the best of them, whichever it is: choosing among many needs no allowance.
    Sets are tried by the largest error in them. Features that go together add less, as a rule; two
    that help only together, which is possible, may add more.
    """
    told = np.flatnonzero(found.told)
    if not len(told) or count < 1:
        return 0.0
    most, best = 0.0, list[float]()  # of the squares before: the largest count - 1, smallest first
    for j in told[np.argsort(found.error[told], kind="stable")].tolist():
        square, error = float(found.size[j]) ** 2, float(found.error[j])
        most = max(most, math.sqrt(sum(best) + square) + SURE * error)
        heapq.heappush(best, square)
        if len(best) >= count:
            heapq.heappop(best)
    return float(min(most**2, found.left))
