"""SparseModel: a plain linear model of few features, to be used anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import DataError, printable
from keyhole.problem.display import HtmlCell, html_table
from keyhole.problem.problem import Learner
from keyhole.problem.ticket import Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class SparseModel:
    """y = intercept + <x, w> with few non-zero weights, in the units of the data.

    Parameters
    ----------
    names
        Names of the features with a weight; `x0`, `x1`, ... if the problem has no names.
    weights
        In the same order.
    intercept
        The constant.
    features
        Their indices in the problem.
    past
        What labels told before add, by name of the input: to the predictions of the learner, not to
        those of `predict`, which knows no labels. Empty if nothing.
    centres
        What a feature is taken for where it is absent and a prediction is wanted all the same, in
        the order of `names`: about its mean, as the learner saw it. NaN where that is not known,
        None where it is not of any.
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
    centres: Floats | None = None
    errors: Floats | None = None
    shares: Floats | None = None

    def predict(self, rows: ArrayLike, *, fill: bool = False) -> Floats:
        """Predictions for rows that hold the values of `names`, in that order.

        A row with a value that is absent (NaN) has no prediction (NaN); with `fill` that value is
        taken for its centre.

        >>> model = SparseModel(("age",), np.array([0.1]), 3.0, np.array([0]), {}, np.array([40.0]))
        >>> model.predict([[50.0], [np.nan]]), model.predict([[50.0], [np.nan]], fill=True)
        (array([ 8., nan]), array([8., 7.]))
        """
        X = np.asarray(rows, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.names):
            raise DataError(
                f"rows must have {len(self.names)} columns ({', '.join(self.names)}), "
                f"got shape {X.shape}"
            )
        if fill and self.centres is not None:
            X = np.where(np.isnan(X), self.centres, X)
        result: Floats = X @ self.weights + self.intercept
        return result

    def __repr__(self) -> str:
        return f"<SparseModel: {printable(str(self))}>"

    def _repr_html_(self) -> str:
        doubt = [""] * len(self.names)
        if self.errors is not None:
            pairs = zip(self.weights.tolist(), self.errors.tolist(), strict=True)
            doubt = [f"± {error:.2g}{not_known(weight, error)}" for weight, error in pairs]
        rows: list[tuple[str, HtmlCell, str]] = [("intercept", self.intercept, "")]
        rows += zip(self.names, self.weights.tolist(), doubt, strict=True)
        return html_table("Model", rows, ("feature", "weight", "standard error"))

    def __str__(self) -> str:
        terms = [
            f"{'-' if w < 0 else '+'} {abs(w):.6g} {name}"
            for name, w in zip(self.names, self.weights.tolist(), strict=True)
        ]
        return " ".join([f"{self.intercept:.6g}", *terms])


def not_known(weight: float, error: float) -> str:
    """What to say beside a weight and its error: nothing, unless the error is as large.

    >>> not_known(0.3, 0.01), not_known(-0.3, 0.4)
    ('', ', not known yet')
    """
    return ", not known yet" if error >= abs(weight) else ""


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
