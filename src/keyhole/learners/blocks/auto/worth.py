"""What features are worth together: least squares from the sums of a memory, with honest errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.sums.memories import Memories
from keyhole.learners.blocks.sums.seats import gathered, read_counts
from keyhole.problem import Floats, Indices

TINY = 1e-9  # the least eigenvalue of correlations, and the least part of a value that varies


class Joint(NamedTuple):
    """A least-squares fit of m features, all in shares of the label's variance.

    `weights` and their standard errors `errors` are in the units of the features. `R`, `r` are the
    correlations of the features and with the label, `left` the share of the variance that is left,
    `noise` the same but for what is fitted to chance. For each feature: `chance` is what it seems
    to explain by chance, in the mean; `per` is one over the rounds it was read in; `tail` what its
    largest value alone adds to its fourth moment, `label_tail` the same of the label.
    """

    weights: Floats
    errors: Floats
    R: Floats
    r: Floats
    left: float
    noise: float
    chance: Floats
    per: Floats
    tail: Floats
    label_tail: float


def joint_fit(kept: Memories, memory: int, features: Indices, peaks: Floats, reach: float) -> Joint:
    """Fit features jointly from the sums of a memory.

    `peaks` has the largest distance of each feature from its centre so far, `reach` that of the
    label.

    Means of products are taken over the rounds n_ij that read both features, which no sum counts.
    Features that are kept are read in every round from some round on, and before that in a share q
    of them, as those that are not kept are now. So of the n - max(n_i, n_j) rounds that missed the
    more frequent one all but the share q missed the other too, and

        n_ij = min(n_i, n_j) - q (n - max(n_i, n_j)), at least n_i n_j / n.

    Read in a part of the rounds, features are fitted to labels that others had a hand in when they
    were not read: to the equation of feature i, beside the noise s^2, feature j adds what its
    product with i varies by in the rounds that are not common to both:

        v_i = sum_j b_j^2 (n_i / n_ij - 1) / n_i,   chance_i = s^2 / n_i + sum_j P_ij^2 v_j / P_ii,

    b the standardised weights and P the inverse of R. The standard error of b_i is sqrt(P_ii
    chance_i): all equations have a hand in it.

    A memory that forgets has sums of weights W = n_i; of all ways to read that often, the latest
    rounds are worth least: W / (1 - W / (2 tau)) rounds, W < tau.
    """
    V = np.asarray(features, dtype=np.int64)
    R, r, spread, n, pairs = _correlations(kept, memory, V)
    m, scale, ridge = len(V), float(kept.scale[memory]), TINY * np.eye(len(V))
    rounds = np.maximum(effective_rounds(kept, memory, n), m + 2.0)
    P = np.linalg.inv(R + ridge)
    b, new = P @ r, np.diag(P)
    left = float(np.clip(1.0 - r @ b, 0.0, 1.0))
    total = max(float(kept.n[memory, -1]) * scale, m + 2.0)
    noise = min(left / (1.0 - (m + 1.0) / total), 1.0)
    missed = n[:, np.newaxis] / pairs - 1.0
    np.fill_diagonal(missed, 0.0)
    chance = noise / rounds + P**2 @ (missed @ b**2 / rounds) / new
    with np.errstate(over="ignore"):
        tail = np.minimum((peaks[V] / spread[:m]) ** 4, 1e300) / rounds
        label_tail = min((reach / spread[m]) ** 4, 1e300) / total
    units = spread[m] / spread[:m]
    weights, errors = b * units, np.sqrt(new * chance) * units
    return Joint(weights, errors, R, r, left, noise, chance, 1.0 / rounds, tail, float(label_tail))


def often_read(kept: Memories, memory: int, features: Indices) -> Indices:
    """Those that were read in twice as many rounds as there are of them, and four more.

    With fewer a joint fit says nothing. With prices many seem significant that were bought a few
    times: the rarest go first.
    """
    V = np.asarray(features, dtype=np.int64)
    while len(V):
        rounds = effective_rounds(kept, memory, read_counts(kept, memory)[V])
        if rounds.min() >= 2.0 * (len(V) + 2.0):
            break
        V = np.delete(V, int(rounds.argmin()))
    return V


def common_reads(n: Floats, V: Indices, others: Floats) -> Floats:
    """How many rounds read a feature of V and one that was read so often, about; not scaled.

    `n` are the reads of all features, those of the constant last.
    """
    total, reads = max(float(n[-1]), 1e-300), np.maximum(n[V], 1e-300)
    rest = np.delete(n[:-1], V)
    q = float(rest.mean()) / total if len(rest) else 0.0
    low, high = np.minimum.outer(reads, others), np.maximum.outer(reads, others)
    pairs = np.maximum(low - q * (total - high), np.outer(reads, others) / total)
    some: Floats = np.maximum(pairs, 1e-300)  # of features that were never read
    return some


def effective_rounds(kept: Memories, memory: int, reads: Floats) -> Floats:
    """What sums of weights, not scaled, are worth in rounds: see `joint_fit`."""
    W = reads * float(kept.scale[memory])
    rounds: Floats = W / (1.0 - 0.5 * np.minimum(W / float(kept.tau[memory]), 1.0))
    return rounds


def _correlations(
    kept: Memories, memory: int, V: Indices
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """R, r, the standard deviations (the label's last), reads and common reads (not scaled)."""
    (G, c), n = gathered(kept, memory, V), read_counts(kept, memory)
    m, total, reads = len(V), max(float(n[-1]), 1e-300), np.maximum(n[V], 1e-300)
    pairs = common_reads(n, V, reads)
    np.fill_diagonal(pairs, reads)
    level, mean = float(c[-1]) / total, G[-1, :m] / reads
    S = np.zeros((m + 1, m + 1))
    S[:m, :m] = G[:m, :m] / pairs - np.outer(mean, mean)
    # A correlation beyond 1: these two were read together more often than that, as the members of
    # a panel are. In every round that read the rarer one, then.
    size = np.sqrt(np.maximum(np.diag(S)[:m], 0.0))
    beyond = np.abs(S[:m, :m]) > np.outer(size, size) * (1.0 + TINY)
    if beyond.any():
        pairs = np.where(beyond, np.minimum.outer(reads, reads), pairs)
        S[:m, :m] = G[:m, :m] / pairs - np.outer(mean, mean)
    S[m, :m] = S[:m, m] = c[:m] / reads - mean * level
    S[m, m] = float(kept.yy[memory]) / total - level * level
    square = np.append(np.diag(G)[:m] / reads, float(kept.yy[memory]) / total)
    varies = np.diag(S) > TINY * TINY * square
    spread = np.where(varies, np.sqrt(np.maximum(np.diag(S), 1e-300)), 1.0)
    A = np.where(np.outer(varies, varies), S / np.outer(spread, spread), 0.0)
    np.fill_diagonal(A, 1.0)
    # Correlations over different rounds need not fit together: the nearest that nearly do.
    size, direction = np.linalg.eigh(A)
    if size[0] < TINY:
        A = (direction * np.maximum(size, TINY)) @ direction.T
        A /= np.sqrt(np.outer(np.diag(A), np.diag(A)))
    return A[:m, :m], A[:m, m], spread, reads, pairs


def lost_without(fit: Joint, dropped: Sequence[int]) -> tuple[float, float]:
    """The share of the variance that is no longer explained without these, and its error.

    The others are fitted anew. By chance alone features seem to explain something, which is taken
    off. Let l be what is lost, s the noise with all of them, both as shares of the label's
    variance, e and e' what is left of a label with and without them. The influence of one round on
    l is e'^2 - e^2 - l y^2, y centred and of variance 1. Its variance, were all normal, is

        4 l s + 4 l^2 (1 - l - 2 s),

    which for all features at once is 4 R^2 (1 - R^2)^2, the classical error of R^2. (The first
    term alone is the error of theta^2: values and label vary, too.) Divided by n, with `chance` in
    place of s/n; for small l, 2 chance^2 for each feature comes to it. Values far out make a mean
    square vary by more: by the sum of fourth powers, of which the largest value is part. One of a
    dropped feature is in e'^2, one of the label in y^2; both count in full, although much of one
    may be the other, because the largest value so far says too little of those to come. So

        l^2 (tail of the features + tail of the label) / n

    comes to it as well, tail = (largest / spread)^4 / n: little for normal values, a lot for heavy
    tails.
    """
    D = list(dropped)
    if not D:
        return 0.0, 0.0
    others = [i for i in range(len(fit.r)) if i not in set(D)]
    lost = _left(fit, others) - fit.left - float(fit.chance[D].sum())
    lost = float(np.clip(lost, 0.0, 1.0))
    chance, per = float(fit.chance[D].mean()), float(fit.per[D].mean())
    noise = min(fit.noise, 1.0 - lost)
    normal = 4.0 * lost * max(chance + lost * (1.0 - lost - 2.0 * noise) * per, 0.0)
    part = fit.r[D] ** 2
    part = part**2 / max(float(part.sum()) ** 2, 1e-300)
    far = lost * lost * (float((part * fit.tail[D]).sum()) + fit.label_tail) * per
    small = 2.0 * float((fit.chance[D] ** 2).sum())
    return lost, float(min(np.sqrt(normal + far + small), 1.0))


def _left(fit: Joint, features: Sequence[int]) -> float:
    """The share of the variance that some of the features leave."""
    V = list(features)
    if not V:
        return 1.0
    r, R = fit.r[V], fit.R[np.ix_(V, V)] + TINY * np.eye(len(V))
    return float(np.clip(1.0 - r @ np.linalg.solve(R, r), 0.0, 1.0))


def least_missed(fit: Joint) -> list[int]:
    """The features in the order in which they go: each time the one that is missed least."""
    left, order = list(range(len(fit.r))), list[int]()
    while left:
        P = np.linalg.inv(fit.R[np.ix_(left, left)] + TINY * np.eye(len(left)))
        lost = (P @ fit.r[left]) ** 2 / np.maximum(np.diag(P), 1e-300) - fit.chance[left]
        order.append(left.pop(int(np.argmin(lost))))
    return order
