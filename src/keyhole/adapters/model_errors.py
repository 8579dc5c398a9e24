"""How far a model is off on the rows a learner bought last, as far as it bought what that needs."""

from __future__ import annotations

import numpy as np

from keyhole.game import Observer, PlayedBlock
from keyhole.learners.residuals import RECENT
from keyhole.problem import Floats, Learner
from keyhole.problem.sparse_model import SparseModel

ENOUGH = 30  # rows, to go by a model's own errors


class RecentRows(Observer):
    """The last 512 rows of a game as they were bought: NaN for the rest.

    Examples
    --------
    >>> import keyhole as kh
    >>> rows = RecentRows()
    >>> stream = kh.streams.ArrayStream([[1.0, 5.0], [2.0, 7.0]], [1.5, 2.0])
    >>> learner = kh.FixedSubset(kh.Problem(d=2, k=1, budget=1), support=[0])
    >>> ledger = kh.play(learner, stream, observers=[rows])
    >>> rows.errors_of(SparseModel(("a",), np.array([1.0]), 0.0, np.array([0])))
    array([0.5, 0. ])
    >>> rows.errors_of(SparseModel(("b",), np.array([1.0]), 0.0, np.array([1])))  # never bought
    array([], dtype=float64)
    """

    def __init__(self) -> None:
        self._X: Floats = np.empty((0, 0))
        self._y: Floats = np.empty(0)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Keep what was bought."""
        last = slice(-RECENT, None)
        X, bought = np.asarray(played.rows[last]), played.bought[last]
        row, place = np.nonzero(bought >= 0)
        seen = np.full(X.shape, np.nan)
        seen[row, bought[row, place]] = X[row, bought[row, place]]
        before = self._X.reshape(-1, X.shape[1])
        self._X = np.concatenate([before, seen])[last]
        self._y = np.append(self._y, played.y)[last]

    def errors_of(self, model: SparseModel) -> Floats:
        """Label less prediction, where the row has all that the model needs; in order."""
        if not len(self._y):
            return np.empty(0)
        errors: Floats = self._y - model.predict(self._X[:, model.features])
        return errors[~np.isnan(errors)]
