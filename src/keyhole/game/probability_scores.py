"""Scores of predicted probabilities: log loss, Brier score, AUC, reliability; constant memory."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import real_numbers, whole_number
from keyhole.game.observer import Observer, PlayedBlock
from keyhole.problem import DataError, Floats, Indices, Interval, Learner

LOG_LOSS_EPS = 1e-15  # probabilities are cut off this far from 0 and 1, for the logarithm
BINS_PER_UNIT, MAX_LOG_ODDS = 256, 21  # bins per unit of log-odds, from -21 to 21
LOG_ODDS_BINS = 2 * MAX_LOG_ODDS * BINS_PER_UNIT
NORMAL_95 = 1.96  # 95% of a Gaussian lies within so many standard deviations


@dataclass(frozen=True, slots=True)
class ReliabilityGroup:
    """Rounds of similar probability: how many, what was predicted on average, and what came.

    `low` and `high` are the ends of Wilson's 95% interval for the share of yes.
    """

    rounds: int
    predicted: float
    yes: float
    low: float
    high: float


class ProbabilityScores(Observer):
    """Scores of predicted probabilities of yes, for labels 0 and 1; an observer of `keyhole.play`.

    Beside each score is that of the *base rate*: a forecaster that reads nothing and predicts the
    share of yes so far, (yes + 1/2)/(n + 1).

    Sums: rounds by answer and bin of log-odds, probabilities by bin, losses. Memory is about a
    quarter of a megabyte, however long the game.

    Attributes
    ----------
    rounds, yes
        Rounds, and how many of them had the label 1.
    log_loss, base_log_loss
        Mean of -ln(probability of what came).
    brier, base_brier
        Mean squared error of the probability.

    Examples
    --------
    >>> scores = ProbabilityScores()
    >>> scores.add([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> scores.rounds, scores.yes, round(scores.brier, 4), round(scores.log_loss, 4)
    (4, 2, 0.1581, 0.4723)
    >>> scores.auc.low, scores.auc.high
    (0.75, 0.75)
    """

    def __init__(self) -> None:
        self.rounds = self.yes = 0
        self._losses: Floats = np.zeros(4)  # log and Brier, those of the base rate
        self._counts: Indices = np.zeros((2, LOG_ODDS_BINS), dtype=np.int64)  # no, yes
        self._predicted: Floats = np.zeros(LOG_ODDS_BINS)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Take note of the rounds of a game."""
        self.add(played.y, played.y_hat)

    def add(self, labels: ArrayLike, probabilities: ArrayLike) -> None:
        """Take note of rounds: the label, 0 or 1, and the probability that was given to 1."""
        y = np.asarray(real_numbers("labels", labels), dtype=np.float64).ravel()
        p = np.asarray(real_numbers("probabilities", probabilities), dtype=np.float64).ravel()
        if len(y) != len(p):
            raise DataError(f"there are {len(y)} labels and {len(p)} probabilities")
        for label in y[(y != 0.0) & (y != 1.0)][:1].tolist():
            raise DataError(f"labels must be 0 (no) or 1 (yes), got {label:g}")
        for found in p[~((p >= 0.0) & (p <= 1.0))][:1].tolist():
            raise DataError(
                f"probabilities must lie between 0 and 1, got {found:g}: a learner of numbers "
                "predicts them inside a kh.YesNoLearner"
            )
        n = self.rounds + np.arange(len(y))
        base = (self.yes + np.cumsum(y) - y + 0.5) / (n + 1.0)
        self._losses += [
            *(_log_losses(y, p).sum(), ((y - p) ** 2).sum()),
            *(_log_losses(y, base).sum(), ((y - base) ** 2).sum()),
        ]
        bins = _bin(p)
        for answer in (0, 1):
            self._counts[answer] += np.bincount(bins[y == answer], minlength=LOG_ODDS_BINS)
        self._predicted += np.bincount(bins, weights=p, minlength=LOG_ODDS_BINS)
        self.rounds += len(y)
        self.yes += int(y.sum())

    def _mean(self, which: int) -> float:
        return float(self._losses[which]) / self.rounds if self.rounds else math.nan

    @property
    def log_loss(self) -> float:
        """Mean of -ln(probability of what came), in nats; NaN before the first round."""
        return self._mean(0)

    @property
    def brier(self) -> float:
        """Mean squared error of the probability."""
        return self._mean(1)

    @property
    def base_log_loss(self) -> float:
        """The mean log loss of the share of yes so far."""
        return self._mean(2)

    @property
    def base_brier(self) -> float:
        """The Brier score of the share of yes so far."""
        return self._mean(3)

    @property
    def auc(self) -> Interval:
        """The chance that a yes had a higher probability than a no, both drawn at random.

        Probabilities in the same bin, 1/256 of log-odds wide, are not told apart: the ends of the
        interval are those pairs all lost and all won.
        """
        no, yes = self._counts
        pairs = float(no.sum()) * float(yes.sum())
        if not pairs:
            return Interval(0.0, 1.0, "not known: all labels are alike")
        below = np.concatenate([[0], np.cumsum(no)[:-1]])
        won = float((yes.astype(np.float64) * below).sum())
        tied = float((yes.astype(np.float64) * no).sum())
        return Interval(won / pairs, (won + tied) / pairs, "by bins of log-odds")

    def reliability(self, groups: int = 10) -> list[ReliabilityGroup]:
        """What came of probabilities: rounds in groups of about equal size, the lowest first.

        Probabilities are right if, in every group, the share of yes is what was predicted.
        """
        many = whole_number("groups", groups, 1)
        no, yes = self._counts
        total = np.cumsum(no + yes)
        cuts = np.searchsorted(total, total[-1] * np.arange(1, many + 1) / many) + 1
        found, start = list[ReliabilityGroup](), 0
        for stop in np.unique(cuts).tolist():
            n, came = int((no + yes)[start:stop].sum()), int(yes[start:stop].sum())
            if n:
                mean = float(self._predicted[start:stop].sum()) / n
                found.append(ReliabilityGroup(n, mean, came / n, *_wilson(came, n)))
                start = stop
        return found

    def as_json(self) -> dict[str, Any]:
        """The figures, for machines; NaN and what is not known are None."""
        known = self.yes not in (0, self.rounds)
        return {
            "rounds": self.rounds,
            "yes": self.yes,
            "log_loss": self.log_loss if self.rounds else None,
            "base_log_loss": self.base_log_loss if self.rounds else None,
            "brier": self.brier if self.rounds else None,
            "base_brier": self.base_brier if self.rounds else None,
            "auc": [self.auc.low, self.auc.high] if known else None,
            "reliability": [asdict(group) for group in self.reliability()],
        }

    def __str__(self) -> str:
        if not self.rounds:
            return "no rounds yet"
        auc = self.auc
        shown = "not known" if auc.width == 1.0 else f"{(auc.low + auc.high) / 2:.3f}"
        return (
            f"{self.rounds:,} rounds, {self.yes / self.rounds:.1%} yes: log loss "
            f"{self.log_loss:.4f} (base rate {self.base_log_loss:.4f}), Brier score "
            f"{self.brier:.4f} ({self.base_brier:.4f}), AUC {shown}"
        )


def _log_losses(y: Floats, p: Floats) -> Floats:
    likely = np.where(y > 0.5, p, 1.0 - p)
    losses: Floats = -np.log(np.clip(likely, LOG_LOSS_EPS, 1.0))
    return losses


def _bin(p: Floats) -> Indices:
    """The bins of probabilities, by their log-odds."""
    inside = np.clip(p, LOG_LOSS_EPS, 1.0 - LOG_LOSS_EPS)
    place = np.floor((np.log(inside) - np.log1p(-inside) + MAX_LOG_ODDS) * BINS_PER_UNIT)
    bins: Indices = np.clip(place, 0, LOG_ODDS_BINS - 1).astype(np.int64)
    return bins


def _wilson(came: int, n: int) -> tuple[float, float]:
    """Wilson's 95% interval for a share.

    >>> [round(end, 3) for end in _wilson(8, 10)]
    [0.49, 0.943]
    """
    share, z2 = came / n, NORMAL_95 * NORMAL_95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
