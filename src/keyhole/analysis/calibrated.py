"""Calibration in hindsight: what the score of a model loses once it is made a probability."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import isotonic_regression

from keyhole.analysis.hindsight import Hindsight
from keyhole.problem import BlockStream, Floats
from keyhole.streams.arrays import take

BINS = 4096  # of the score, from LOW to HIGH; scores beyond count as the ends
LOW, HIGH = -1.0, 2.0  # least squares of labels 0 and 1 seldom goes beyond


def calibrated_loss(stream: BlockStream, model: Hindsight) -> float:
    """The squared loss of the best probabilities that grow with the score of a model.

    Two passes: the means that stand for missing values, then how many labels are 1 at each score.
    The probabilities are fitted to all rounds, as the model is.

    >>> from keyhole import hindsight
    >>> from keyhole.streams import ArrayStream
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> stream = ArrayStream(x[:, None], (x > 0.0).astype(float))
    >>> best = hindsight(stream, k=1, intercept=True)
    >>> round(best.loss.high), round(calibrated_loss(stream, best))
    (180, 0)
    """
    rows, support = take(stream, model.rounds), model.support
    known, total = np.zeros(len(support)), np.zeros(len(support))
    for X, _ in rows.blocks():
        part = np.asarray(X[:, support], dtype=np.float64)
        here = ~np.isnan(part)
        known += here.sum(axis=0)
        total += np.where(here, part, 0.0).sum(axis=0)
    means = total / np.maximum(known, 1.0)
    times, yes = np.zeros(BINS), np.zeros(BINS)
    for score, y in _scores(rows, model, means):
        at = ((score - LOW) / (HIGH - LOW) * BINS).clip(0, BINS - 1).astype(np.int64)
        times += np.bincount(at, minlength=BINS)
        yes += np.bincount(at, weights=y, minlength=BINS)
    here = times > 0
    if not here.any():
        return 0.0
    share = isotonic_regression(yes[here] / times[here], weights=times[here]).x
    return float((yes[here] * (1 - share) ** 2 + (times[here] - yes[here]) * share**2).sum())


def _scores(rows: BlockStream, model: Hindsight, means: Floats) -> Iterator[tuple[Floats, Floats]]:
    """What the model says of each row, and the label."""
    for X, y in rows.blocks():
        part = np.asarray(X[:, model.support], dtype=np.float64)
        filled = np.where(np.isnan(part), means, part)
        yield model.intercept + filled @ model.weights[model.support], y
