"""A plain sparse linear model, to be used anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from keyhole.problem import DataError, Floats, Indices, Learner


@dataclass(frozen=True, slots=True, eq=False)
class SparseModel:
    """y = intercept + <x, w> with few non-zero weights, in the units of the data.

    Parameters
    ----------
    names
        Of the features with a weight; `x0`, `x1`, ... where the problem has no names.
    weights
        In the same order.
    intercept
        The constant.
    features
        Their indices in the problem.
    past
        What labels told before add, by name of the input: to the predictions of the learner, not to
        those of `predict`, which knows no labels. Empty if nothing.
    errors
        The standard errors of the weights; None where the learner does not know them.
    shares
        The share of the rounds so far in which each feature was in the model; None where that was
        not counted.

    Examples
    --------
    >>> model = SparseModel(("age", "bmi"), np.array([0.1, -2.0]), 3.0, np.array([0, 7]))
    >>> model.predict([[50.0, 1.0]])
    array([6.])
    >>> print(model)
    3 + 0.1 age - 2 bmi
    """

    names: tuple[str, ...]
    weights: Floats
    intercept: float
    features: Indices
    past: Mapping[str, float] = field(default_factory=dict)
    errors: Floats | None = None
    shares: Floats | None = None

    def predict(self, rows: ArrayLike) -> Floats:
        """Predictions for rows that hold the values of `names`, in that order."""
        X = np.asarray(rows, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.names):
            raise DataError(
                f"rows must have {len(self.names)} columns ({', '.join(self.names)}), "
                f"got shape {X.shape}"
            )
        result: Floats = X @ self.weights + self.intercept
        return result

    def __str__(self) -> str:
        terms = [
            f"{'-' if w < 0 else '+'} {abs(w):.6g} {name}"
            for name, w in zip(self.names, self.weights.tolist(), strict=True)
        ]
        return " ".join([f"{self.intercept:.6g}", *terms])


def sparse_model(learner: Learner) -> SparseModel:
    """The learner's own sparse model if it has one, otherwise the features it has weights for."""
    own = getattr(learner, "model", None)
    if own is not None:
        model: SparseModel = own()
        return model
    weights = learner.weights
    used = weights.nonzero()[0]
    names = tuple(learner.problem.label(int(j)) for j in used)
    return SparseModel(names, weights[used], learner.intercept, used)
