"""Joint least squares of features from a memory's sums: weights, errors, what each would add."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.engine import leader
from keyhole.learners.blocks.auto.experts import LEADING, NO_MEMORY
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, Settings, State
from keyhole.learners.blocks.fit.stepwise_selection import MIN_NEW_PART, MIN_READS, select
from keyhole.learners.blocks.sums.column_stats import centres
from keyhole.learners.blocks.sums.memories import Memories, by_feature, gathered, read_counts
from keyhole.problem import Floats, Indices

BATCH = 16.0  # rounds that read the same features, as a rule
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


def joint_fit(
    kept: Memories,
    memory: int,
    features: Indices,
    peaks: Floats,
    reach: float,
    column: Indices | None = None,
) -> Joint:
    """Fit features jointly from the sums of a memory.

    `peaks` has the largest distance of each feature from its centre so far, `reach` that of the
    label. `column` says of which column each feature is, if those of one are read together.

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
    chance_i): all equations have a hand in it. Another part of it is that n_ij is guessed: of n_ij
    rounds, a share of t_ij too many makes R_ij too small by R_ij t_ij, and b_l too large by t_ij
    R_ij (P_li b_j + P_lj b_i). The squares of these, for the variance of t_ij that `guessed` says,
    divided by P_ll, come to chance_l. And s^2 is not known: a feature read in n_i of n rounds may
    have varied more in those than in all, so what it seems to explain, b_i r_i, varies by
    2 (1 / n_i - 1 / n) of its square. The sum of that is added to s^4 here.

    A memory that forgets has sums of weights W = n_i; of all ways to read that often, the latest
    rounds are worth least: W / (1 - W / (2 tau)) rounds, W < tau.
    """
    V = np.asarray(features, dtype=np.int64)
    R, r, spread, n, pairs, doubt = _correlations(
        kept, memory, V, None if column is None else column[V]
    )
    m, scale, ridge = len(V), float(kept.scale[memory]), TINY * np.eye(len(V))
    rounds = np.maximum(effective_rounds(kept, memory, n), m + 2.0)
    P = np.linalg.inv(R + ridge)
    b, new = P @ r, np.diag(P)
    left = float(np.clip(1.0 - r @ b, 0.0, 1.0))
    total = max(float(kept.n[memory, -1]) * scale, m + 2.0)
    noise = min(left / (1.0 - (m + 1.0) / total), 1.0)
    missed = n[:, np.newaxis] / pairs - 1.0
    np.fill_diagonal(missed, 0.0)
    off, by = R**2 * doubt, P * b
    apart = P**2 @ (missed @ b**2 / rounds + off @ b**2) + (by @ off * by).sum(axis=1)
    uneven = 2.0 * np.maximum(1.0 / rounds - 1.0 / total, 0.0)
    unsure = math.hypot(noise, math.sqrt(float((b * r) ** 2 @ uneven)))
    chance = min(unsure, 1.0) / rounds + apart / new
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


def guessed(n: Floats, V: Indices, pairs: Floats, scale: float) -> Floats:
    """The variance of the share by which `common_reads` is off, for each pair of V.

    The rounds that missed the more frequent feature come in batches, each of which read the other
    one with the chance q: their number varies by as many batches, `BATCH` rounds each.
    """
    rest, reads = np.delete(n[:-1], V), n[V]
    total = max(float(n[-1]), 1e-300)
    q = min(float(rest.mean()) / total, 1.0) if len(rest) else 0.0
    missed = np.maximum(total - np.maximum.outer(reads, reads), 0.0)
    share: Floats = BATCH * q * (1.0 - q) * missed / pairs / (pairs * scale)
    np.fill_diagonal(share, 0.0)
    return np.minimum(share, 1.0)


def effective_rounds(kept: Memories, memory: int, reads: Floats) -> Floats:
    """What sums of weights, not scaled, are worth in rounds: see `joint_fit`."""
    W = reads * float(kept.scale[memory])
    rounds: Floats = W / (1.0 - 0.5 * np.minimum(W / float(kept.tau[memory]), 1.0))
    return rounds


def _correlations(
    kept: Memories, memory: int, V: Indices, column: Indices | None = None
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """R, r, the standard deviations (the label's last), reads, common reads (not scaled).

    Last, the variances of the shares by which those are off.
    """
    (G, c), n = gathered(kept, memory, V), read_counts(kept, memory)
    m, total, reads = len(V), max(float(n[-1]), 1e-300), np.maximum(n[V], 1e-300)
    pairs = common_reads(n, V, reads)
    np.fill_diagonal(pairs, reads)
    doubt = guessed(n, V, pairs, float(kept.scale[memory]))
    if column is not None:
        joint = np.equal.outer(column, column)
        pairs = np.where(joint, np.minimum.outer(reads, reads), pairs)
        doubt[joint] = 0.0
    level, mean = float(c[-1]) / total, G[-1, :m] / reads
    S = np.zeros((m + 1, m + 1))
    S[:m, :m] = G[:m, :m] / pairs - np.outer(mean, mean)
    # A correlation beyond 1: these two were read together more often than that, as the members of
    # a panel are. In every round that read the rarer one, then.
    size = np.sqrt(np.maximum(np.diag(S)[:m], 0.0))
    beyond = np.abs(S[:m, :m]) > np.outer(size, size) * (1.0 + TINY)
    if beyond.any():
        pairs = np.where(beyond, np.minimum.outer(reads, reads), pairs)
        doubt[beyond] = 0.0
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
    return A[:m, :m], A[:m, m], spread, reads, pairs, doubt


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


BOUND_ERRORS = 2.0  # standard errors of a bound
FALSE_CLAIM_RATE = 0.025  # the chance that `at_least` says too much, over all features


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
        return float(min((self.size[feature] + BOUND_ERRORS * self.error[feature]) ** 2, self.left))


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
    left = float(np.clip(1.0 - explained + BOUND_ERRORS * doubt, 0.0, 1.0))
    with np.errstate(over="ignore"):
        error = np.sqrt((fit.noise + missed / D) / rounds)
        tail = np.minimum((peaks / spread) ** 4, 1e300) / rounds
        known = (size + BOUND_ERRORS * error) ** 2 < left
    told = (
        varies
        & known
        & (D > MIN_NEW_PART)
        & (rounds / (1.0 + tail) >= MIN_READS)
        & np.isfinite(label)
    )
    told[seats] = False
    sizes, errors = by_feature(kept, size), by_feature(kept, error)
    return Beyond(sizes, errors, left, by_feature(kept, told))


def at_least(found: Beyond) -> float:
    """What the best single feature would add at least: so much is no chance, of all there are.

    Two features that add much may say the same, so more features need not add more.
    """
    far = NormalDist().inv_cdf(1.0 - 0.5 * FALSE_CLAIM_RATE / max(len(found.size), 1))
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
        most = max(most, math.sqrt(sum(best) + square) + BOUND_ERRORS * error)
        heapq.heappush(best, square)
        if len(best) >= count:
            heapq.heappop(best)
    return float(min(most**2, found.left))


def linear(d: int, batch: Batch, share: Floats) -> tuple[Floats, float]:
    """Weights and intercept, in the user's units, of a mean of the experts of a batch."""
    weights, runs, b = np.zeros(d), batch.runs, len(batch.S)
    used = np.arange(b + 1) < runs.size[:, None]
    theta = share[:, None] * runs.theta
    by_place = np.bincount(runs.place[used], theta[used], b + 1)
    weights[batch.S] = by_place[:b]
    middle, unknown = float(batch.label[0]), np.isnan(batch.centre)
    offset = float(by_place[:b] @ np.where(unknown, 0.0, batch.centre))
    return weights, (0.0 if math.isnan(middle) else middle) + float(by_place[b]) - offset


def best_fit(
    s: Settings,
    state: State,
    among: Indices | None = None,
    columns: Sequence[Indices] = (),
    most: int = 0,
) -> tuple[Floats, float, Floats]:
    """Weights, intercept and standard errors of the best model with at most k weights.

    The features are those that forward selection takes from a memory, or the first k of `among`, or
    those of at most `most` of the `columns`; the weights are those of `sure_fit`. It is the memory
    that leads if that contradicts the longest, else the one of the two whose model should lose
    less: where few features are kept, a memory that forgets may lead although nothing changed,
    because it keeps others. Experts on the same features do worse there: they take what was not
    read for 0, and can only use what the current batch reads.
    """
    kept, lead = state.kept, leader(s.experts.judges, state.mixture.recent)
    weights, errors = np.zeros(s.d), np.zeros(s.d)
    if not kept.n[LONGEST_MEMORY, -1] > 0.0:
        return weights, 0.0, errors
    memories = (LONGEST_MEMORY, lead if kept.n[lead, -1] > 0.0 else LONGEST_MEMORY)
    chosen, fits = list[Indices](), list[tuple[Indices, Joint]]()
    column = None
    if columns:
        column = np.empty(s.d, dtype=np.int64)
        for i, features in enumerate(columns):
            column[features] = i
    for m in memories:
        if columns:
            V = chosen_columns(kept, m, columns, most, float(s.thresholds[m]))
        else:
            V = selected(s, kept, m) if among is None else among[: s.k]
        chosen.append(V)
        fits.append(sure_fit(kept, m, often_read(kept, m, V), state.peaks, column))
    better = expected_loss(fits[1][1]) < expected_loss(fits[0][1])
    now = better or contradicts(kept, memories[1], np.union1d(*chosen), state.peaks, column)
    memory, (V, fit) = memories[now], fits[now]
    weights[V], errors[V] = fit.weights, fit.errors
    mean, level = _means(kept, memory, V)
    level += float(centres(state.label)[0])
    return weights, level - float(fit.weights @ (centres(state.values)[V] + mean)), errors


def chosen_columns(
    kept: Memories, memory: int, columns: Sequence[Indices], most: int, threshold: float
) -> Indices:
    """The features of at most `most` columns, chosen as `select` chooses features.

    The features of a column are read together, in n rounds. With A their products and q those with
    the label, both after projection onto what is orthogonal to the constant and to the columns
    chosen so far, a column of m features gains q' A^+ q / n, and is significant if that is more
    than what chance explains, and `threshold` standard errors: (m + threshold^2) noise / n. If its
    features determine one another, as all indicators of a column do, the one that varies most is
    left out.
    """
    n, total = kept.n[memory, :-1], float(kept.n[memory, -1])
    level, c0 = kept.G[memory, -1, :-1], float(kept.c[memory, -1])
    A = among = kept.G[memory, :-1, :-1] - np.outer(level, level) / total
    q = kept.c[memory, :-1] - level * (c0 / total)
    noise = max(float(kept.yy[memory]) / total - (c0 / total) ** 2, 0.0)
    varies = np.append(np.diag(A) > TINY * np.diag(kept.G[memory])[:-1], False)  # -1: rests
    seats = [found[varies[found]] for found in (kept.seat[column] for column in columns)]
    open_columns = [S for S in seats if len(S) and n[S].min() * kept.scale[memory] >= MIN_READS]
    chosen = list[Indices]()
    while open_columns and len(chosen) < most:
        over = list[float]()
        for S in open_columns:
            gain = float(q[S] @ _solved(A[np.ix_(S, S)], q[S])) / n[S[0]]
            chance = noise * (len(S) + threshold**2) / (n[S[0]] * kept.scale[memory])
            over.append(gain - chance)
        best = int(np.argmax(over))
        if not over[best] > 0.0:
            break
        S = open_columns.pop(best)
        b = _solved(A[np.ix_(S, S)], np.column_stack([A[S], q[S]]))
        noise = max(noise - float(q[S] @ b[:, -1]) / n[S[0]], 0.0)
        q, A = q - A[:, S] @ b[:, -1], A - A[:, S] @ b[:, :-1]
        sizes = np.diag(among[np.ix_(S, S)])
        alone = np.linalg.eigvalsh(among[np.ix_(S, S)] / np.sqrt(np.outer(sizes, sizes)))
        chosen.append(S if alone[0] > SINGULAR else np.delete(S, int(sizes.argmax())))
    V: Indices = kept.who[np.concatenate(chosen)] if chosen else np.empty(0, dtype=np.int64)
    return V


def _solved(A: Floats, b: Floats) -> Floats:
    """A^+ b, in units in which A has ones on its diagonal."""
    size = np.sqrt(np.maximum(np.diag(A), 1e-300))
    units = size if b.ndim == 1 else size[:, np.newaxis]
    x: Floats = np.linalg.pinv(A / np.outer(size, size), SINGULAR, hermitian=True) @ (b / units)
    return x / units


def selected(s: Settings, kept: Memories, memory: int) -> Indices:
    """The features that forward selection takes from a memory, at most k."""
    chosen: Indices = kept.who[select(kept, memory, s.k, float(s.thresholds[memory])).chosen]
    return chosen


SINGULAR = 1e-6  # the least eigenvalue of the correlations of a column's features
CHANGED = 3.0  # standard errors between two memories that no chance explains
LEAST_NOISE = 0.05  # of the label's variance: from few rounds there may seem to be none


def sure_fit(
    kept: Memories, memory: int, V: Indices, peaks: Floats, column: Indices | None = None
) -> tuple[Indices, Joint]:
    """A joint fit without features whose weights may as well be 0, the most doubtful first.

    Where the budget is tight, some were read a few dozen times, and hardly ever together: a weight
    that is off by more than its size does harm. Of a weight b that is off by e, b (1 - e^2 / b^2)
    is told: what is sure stays as it is.
    """
    while True:
        fit = joint_fit(kept, memory, V, peaks, 0.0, column)
        b = np.linalg.solve(fit.R + TINY * np.eye(len(V)), fit.r)
        part = _doubt(fit) / np.maximum(b**2, 1e-300)
        if not len(V) or part.max() < 1.0:
            return V, fit._replace(weights=fit.weights * (1.0 - part))
        V = np.delete(V, int(part.argmax()))


def _doubt(fit: Joint) -> Floats:
    """The squared errors of the standardised weights, were there at least some noise."""
    P = np.linalg.inv(fit.R + TINY * np.eye(len(fit.r)))
    doubt: Floats = np.diag(P) * (fit.chance + LEAST_NOISE * fit.per)
    return doubt


def expected_loss(fit: Joint) -> float:
    """What a fit should lose on fresh rows, as a share of the label's variance."""
    return fit.noise + float(_doubt(fit).sum())


def contradicts(
    kept: Memories, memory: int, features: Indices, peaks: Floats, column: Indices | None = None
) -> bool:
    """Whether a memory says something else than the longest, by `CHANGED` standard errors.

    Both are fitted on the features that this memory knows well; then the weights are compared, and
    the mean of what the longest predicts with the mean of the labels. The longest has seen the same
    rounds and more, so the difference varies by no more than what this memory says. From few rounds
    there may seem to be no noise at all: `LEAST_NOISE` is counted.
    """
    V = often_read(kept, memory, features)
    now, ever = (joint_fit(kept, m, V, peaks, 0.0, column) for m in (memory, LONGEST_MEMORY))
    errors = now.errors * np.sqrt(1.0 + LEAST_NOISE * now.per / np.maximum(now.chance, 1e-300))
    (mean, level), (means, levels) = (_means(kept, m, V) for m in (memory, LONGEST_MEMORY))
    moved = abs(level - levels - float(ever.weights @ (mean - means)))
    total, yy = float(kept.n[memory, -1]), float(kept.yy[memory])
    variance = max(yy / total - level * level, 0.0)
    rounds = effective_rounds(kept, memory, np.append(read_counts(kept, memory)[V], total)).min()
    far = bool((np.abs(now.weights - ever.weights) > CHANGED * errors).any())
    return far or moved > CHANGED * math.sqrt(variance / float(rounds))


def _means(kept: Memories, memory: int, V: Indices) -> tuple[Floats, float]:
    """The means of features that have seats, and of the label, of a memory; from the centres."""
    seats, total = kept.seat[V], float(kept.n[memory, -1])
    mean = kept.G[memory, -1, seats] / np.maximum(kept.n[memory, seats], 1e-300)
    return mean, float(kept.c[memory, -1]) / total


def weight_errors(s: Settings, state: State, batch: Batch, share: Floats) -> Floats:
    """The standard errors of the weights of `linear`, as estimates of the best weights.

    The best weights of an expert are those of least squares on its features, over all examples
    there could be; those of a mean of experts are the mean of theirs. An expert is off by two
    things. What it was taught varies: by the error of a joint fit of its features from the sums of
    its memory, which knows how often each was read (`joint_fit`). And it takes what was not
    read for 0, which is wrong where features go together, and has a ridge: how far its weights
    are from those of the joint fit is both, and chance. The squares of the two are added. Experts
    learn from the same rounds, so their errors are added as they are. In proper mode weights are
    taken less than once in all; what is missing comes to it.

    That features were selected by the same sums is not allowed for: see
    docs/algorithms/auto-rules.md for what that was measured to be.
    """
    errors, taken, size = np.zeros(s.d), np.zeros(s.d), np.zeros(s.d)
    runs, b, lead = batch.runs, len(batch.S), leader(s.experts.judges, state.mixture.recent)
    for e, part in enumerate(share.tolist()):
        place, m = runs.place[e, : runs.size[e]], int(s.experts.memory[e])
        m = {LEADING: lead, NO_MEMORY: LONGEST_MEMORY}.get(m, m)
        here = np.flatnonzero(place < b)
        # Of what was never read nothing is known; its weight is 0.
        here = here[read_counts(state.kept, m)[batch.S[place[here]]] > 0.0]
        V = batch.S[place[here]]
        if part == 0.0 or not len(V):
            continue
        fit = joint_fit(state.kept, m, V, state.peaks, 0.0)
        theta = runs.theta[e, : runs.size[e]][here]
        errors[V] += part * np.hypot(fit.errors, theta - fit.weights)
        taken[V] += part
        size[V] += part * np.abs(theta)
    if s.proper:
        errors += np.maximum(1.0 - taken, 0.0) * size / np.where(taken > 0.0, taken, 1.0)
    return errors


def model_shares(state: State) -> Floats | None:
    """The share of the rounds in which each feature was in the model; None if none was counted."""
    rounds = int(state.played[-1])
    return state.played[:-1] / rounds if rounds else None
