"""Rows of which only what was bought can be used: for the audit, and for the conformance suite."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=np.floating)


def poisoned(
    X: NDArray[F],
    bought: NDArray[np.int32],
    random: np.random.Generator | None = None,
) -> NDArray[F]:
    """The rows with everything but what was bought replaced.

    By NaN; with a generator, by NaN or by numbers of any size and either sign, as it comes: a
    learner that takes NaN for absent, or ignores it, notices numbers, and the other way round.

    Parameters
    ----------
    X
        Rows.
    bought
        A row of feature indices for each, then -1.
    random
        What the poison is drawn from.

    Examples
    --------
    >>> poisoned(np.ones((2, 3)), np.array([[0, 2], [1, -1]], dtype=np.int32))
    array([[ 1., nan,  1.],
           [nan,  1., nan]])
    """
    if random is None:
        hidden = np.full_like(X, np.nan)
    else:
        sizes = 10.0 ** random.uniform(-3, 30, X.shape) * random.choice([-1.0, 1.0], X.shape)
        hidden = np.where(random.random(X.shape) < 0.25, np.nan, sizes).astype(X.dtype)
    row, slot = np.nonzero(bought >= 0)
    feature = bought[row, slot]
    hidden[row, feature] = X[row, feature]
    return hidden
