"""Advice while a learner plays: what each feature is worth, what fewer would do, what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from keyhole.blocks.sums.memories import Memories
from keyhole.problem import Floats, Indices

SURE = 2.0  # standard errors that make a difference


@dataclass(frozen=True, slots=True)
class Worth:
    """A feature that is kept: what is lost without it, as a share of the label's variance.

    The other kept features are fitted anew for that. `error` is the standard error of `lost`.
    """

    name: str
    weight: float
    lost: float
    error: float


@dataclass(frozen=True, slots=True)
class Fewer:
    """The best so many of the kept features: the share of the variance they explain, its error.

    The error is that of the difference to all kept features together.
    """

    features: tuple[str, ...]
    explained: float
    error: float


@dataclass(frozen=True, slots=True)
class Advice:
    """What to stop buying, what fewer features would do, whether something changed lately.

    Attributes
    ----------
    round
        How many rounds were asked so far, of which `told` were told.
    kept
        The features worth their price so far, the most valuable first.
    fewer
        All kept features, then one less, and so on: each time the one that is missed least goes.
    searching
        How many of the features bought for an example now are not kept: they look for better ones.
    leader, since
        The memory that predicts best, and after how many labels it took the lead; "all rounds"
        means that the stream looks steady.
    waiting, oldest
        Open tickets, and how many rounds ago the oldest was asked.

    Examples
    --------
    >>> age, bmi = Worth("age", 0.5, 0.31, 0.02), Worth("bmi", 0.01, 0.001, 0.001)
    >>> fewer = (Fewer(("age", "bmi"), 0.4, 0.0), Fewer(("age",), 0.399, 0.001))
    >>> print(Advice(500, 500, (age, bmi), fewer, 2, "all rounds", 0, 0, 0))
    after 500 rounds:
      without age    31.0 % ± 2.0 % less of the variance is explained
      without bmi     0.1 % ± 0.1 % less of the variance is explained
    The 2 kept features explain 40 % of the variance.
    bmi could be left out: that costs nothing that can be told from chance.
    2 more are bought for each example to look for better ones.
    The memory of all rounds predicts best: nothing has changed that would matter.
    """

    round: int
    told: int
    kept: tuple[Worth, ...]
    fewer: tuple[Fewer, ...]
    searching: int
    leader: str
    since: int
    waiting: int
    oldest: int

    @property
    def idle(self) -> tuple[str, ...]:
        """The features that could all be left out at a loss that may well be chance."""
        if not self.fewer:
            return ()
        most = self.fewer[0]
        small = [f for f in self.fewer if most.explained - f.explained <= SURE * f.error]
        return tuple(name for name in most.features if name not in small[-1].features)

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {**asdict(self), "idle": list(self.idle)}

    def __str__(self) -> str:
        if not self.kept:
            return f"after {self.round} rounds: nothing is known to be useful yet, so no advice"
        wide = max(len(worth.name) for worth in self.kept)
        text = [f"after {self.round} rounds:"]
        for worth in self.kept:
            lost, error = 100.0 * worth.lost, 100.0 * worth.error
            about = f"{lost:5.1f} % ± {error:.1f} % less of the variance is explained"
            text.append(f"  without {worth.name:<{wide}}  {about}")
        return "\n".join([*text, *self._budget(), self._change(), *self._late()])

    def _budget(self) -> list[str]:
        """What the budget buys, and what could be saved."""
        many, all_of = len(self.kept), self.fewer[0].explained
        text = [f"The {many} kept features explain {100.0 * all_of:.0f} % of the variance."]
        if self.idle:
            text.append(
                f"{', '.join(self.idle)} could be left out: that costs nothing that can be told "
                "from chance."
            )
        else:
            least = self.kept[-1]
            text.append(
                f"None can be left out for nothing; {least.name} is missed least "
                f"({100.0 * least.lost:.1f} % ± {100.0 * least.error:.1f} %)."
            )
        if self.searching:
            text.append(
                f"{self.searching} more are bought for each example to look for better ones."
            )
        return text

    def _change(self) -> str:
        if self.leader == "all rounds":
            return "The memory of all rounds predicts best: nothing has changed that would matter."
        return (
            f"The memory of {self.leader} predicts best, since label {self.since:,}: something "
            "changes, and what was learnt long ago is worth less."
        )

    def _late(self) -> list[str]:
        if not self.waiting:
            return []
        return [
            f"{self.waiting:,} labels are missing, the oldest for {self.oldest:,} rounds: nothing "
            "is learnt from those examples until they come."
        ]


class Fit(NamedTuple):
    """A joint least-squares fit of some features, per round and in the units of the label.

    `lost[i]` is what the squared error grows by without feature i, `error[i]` its standard error;
    `explained` what they all take away of the label's variance; `noise` is what is left.
    """

    weights: Floats
    lost: Floats
    error: Floats
    explained: float
    noise: float


def joint_fit(kept: Memories, memory: int, features: Indices) -> Fit:
    """Fit features jointly from the sums of a memory.

    Means of products are taken over the rounds that read a feature, or the rarer of two: kept
    features are read in nearly every round, so that is nearly every round of both. With P the
    inverse of the centred second moments of n rounds, theta the weights and s^2 the noise, leaving
    out i costs theta_i^2 / P_ii a round; that is too large by s^2/n in the mean, which is taken
    off, and has the standard error sqrt(4 cost s^2/n + 2 s^4/n^2).
    """
    G, c, n = kept.G[memory], kept.c[memory], kept.n[memory]
    d, total = len(n) - 1, float(n[-1])
    level = float(c[d]) / total
    variance = max(float(kept.yy[memory]) / total - level * level, 0.0)
    V = np.asarray(features, dtype=np.int64)
    reads = n[V]
    mean = G[d, V] / reads
    S = G[np.ix_(V, V)] / np.minimum.outer(reads, reads) - np.outer(mean, mean)
    r = c[V] / reads - mean * level
    size = np.sqrt(np.maximum(np.diag(S), 1e-300))
    R = S / np.outer(size, size) + 1e-9 * np.eye(len(V))
    P = np.linalg.inv(R)
    theta = P @ (r / size)
    explained = float(np.clip(theta @ (r / size), 0.0, variance))
    noise = variance - explained
    rounds = np.maximum(reads * kept.scale[memory], len(V) + 2.0)
    chance = noise / rounds
    raw = theta**2 / np.maximum(np.diag(P), 1e-300)
    lost = np.clip(raw - chance, 0.0, explained)
    error = np.sqrt(4.0 * lost * chance + 2.0 * chance**2)
    return Fit(theta / size, lost, error, explained, noise)


def worths(
    kept: Memories, memory: int, features: Indices, names: Sequence[str]
) -> tuple[tuple[Worth, ...], tuple[Fewer, ...]]:
    """What each feature is worth, and what fewer and fewer of them explain.

    Shares of the label's variance. The one that is missed least goes first; the errors of what is
    lost add up as squares.
    """
    if not len(features):
        return (), ()
    whole = joint_fit(kept, memory, features)
    variance = max(whole.explained + whole.noise, 1e-300)
    kept_worths = sorted(
        (
            Worth(names[i], float(whole.weights[i]), whole.lost[i] / variance, e / variance)
            for i, e in enumerate(whole.error.tolist())
        ),
        key=lambda worth: -worth.lost,
    )
    left, explained, spread = list(range(len(features))), whole.explained, 0.0
    steps = [Fewer(tuple(names), explained / variance, 0.0)]
    while left:
        now = joint_fit(kept, memory, features[left])
        weakest = int(np.argmin(now.lost))
        explained = max(explained - float(now.lost[weakest]), 0.0) if len(left) > 1 else 0.0
        spread = float(np.hypot(spread, now.error[weakest]))
        del left[weakest]
        some = tuple(names[i] for i in left)
        steps.append(Fewer(some, explained / variance, spread / variance))
    return tuple(kept_worths), tuple(steps)
