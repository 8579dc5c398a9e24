"""ShapeModel: curves of few features and small trees, to be used anywhere without its learner."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import DataError, printable, real_numbers, shortened
from keyhole.problem.display import HtmlCell, aligned, counted, few, html_table
from keyhole.problem.shape_parts import (
    Curve,
    Trees,
    read_curve,
    read_names,
    read_number,
    read_numbers,
    read_trees,
    read_whole,
    refuse_odd_curve,
    refuse_odd_trees,
)
from keyhole.problem.ticket import Floats, Indices

FORMAT = 1  # of `to_json`
ROWS = 48  # for means over features that are drawn independently of each other
SHOWN = 7  # knots of a curve that are printed


@dataclass(frozen=True, slots=True, eq=False)
class ShapeModel:
    """y = intercept + a curve of each feature + small trees, within the range of the labels.

    `AutoLearner.model(shapes=True)` makes one. It needs nothing of the learner: it predicts from
    the values of its features alone, absent ones included, and can be kept as JSON.

    Parameters
    ----------
    names
        Names of the features; `x0`, `x1`, ... if the problem has no names.
    features
        Their indices in the problem, ascending.
    intercept
        The constant.
    curves
        A `Curve` for each feature, in the same order.
    trees
        What hangs on several features together, and what curves are too smooth for.
    low, high
        Predictions end there: the range of the labels.
    missed
        Label less prediction for rows that were left out when the model was tried, so many as there
        were; the model itself is made of all rows.

    Examples
    --------
    >>> import keyhole as kh, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((3000, 12))
    >>> y = np.abs(X[:, 3]) + X[:, 3] + X[:, 7] + 0.1 * rng.standard_normal(3000)
    >>> learner = kh.AutoLearner(kh.Problem(d=12, k=2, budget=5), seed=0)
    >>> ledger = kh.play(learner, kh.streams.ArrayStream(X, y))
    >>> model = learner.model(shapes=True)
    >>> model.names
    ('x3', 'x7')
    >>> model.predict([[-1.0, 1.0], [1.0, 1.0], [1.0, np.nan]]).round(1)
    array([1., 3., 2.])
    >>> bool(kh.ShapeModel.from_json(model.to_json()).predict([[1, 1]]) == model.predict([[1, 1]]))
    True
    """

    names: tuple[str, ...]
    features: Indices
    intercept: float
    curves: tuple[Curve, ...]
    trees: Trees
    low: float
    high: float
    missed: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        _refuse_odd_model(self)

    def predict(self, rows: ArrayLike) -> Floats:
        """Predictions for rows that hold the values of `names`, in that order; NaN is absent.

        An absent value counts as in the learner: its curve adds nothing, which is what about its
        mean adds on a straight line, and trees send it where they learnt to.
        """
        X = self._rows(rows)
        added = self.trees.at(X)
        for a, curve in enumerate(self.curves):
            added += curve.at(X[:, a])
        result: Floats = np.clip(self.intercept + added, self.low, self.high)
        return result

    def effect(self, name: str, values: ArrayLike | None = None) -> tuple[Floats, Floats]:
        """What one feature does to predictions: values of it, and what each adds.

        Its curve, and what trees add on average over the other features, as if these came
        independently of each other; less the mean over its `typical` values. The values are the
        knots, if none are given.
        """
        if name not in self.names:
            raise DataError(f"the model has no feature {name!r}, it has {', '.join(self.names)}")
        a = self.names.index(name)
        curve = self.curves[a]
        at = np.array(curve.knots if values is None else values, dtype=np.float64).ravel()
        every = np.concatenate([at, curve.typical])
        others = self._typical_rows()
        table = np.repeat(others[np.newaxis], len(every), axis=0)
        table[:, :, a] = every[:, np.newaxis]
        trees = self.trees.at(table.reshape(-1, len(self.names))).reshape(len(every), -1)
        added = curve.at(every) + trees.mean(axis=1)
        return at, added[: len(at)] - (added[len(at) :].mean() if len(curve.typical) else 0.0)

    def to_json(self) -> str:
        """The whole model as one line of JSON."""
        curves = [
            {
                "knots": curve.knots.tolist(),
                "values": curve.values.tolist(),
                "typical": curve.typical.tolist(),
                "mode": curve.mode,
                "jump": curve.jump,
            }
            for curve in self.curves
        ]
        trees = {name: getattr(self.trees, name).tolist() for name in Trees.__slots__}
        told = {
            "ShapeModel": FORMAT,
            "names": self.names,
            "features": self.features.tolist(),
            "intercept": self.intercept,
            "low": self.low,
            "high": self.high,
            "curves": curves,
            "trees": trees,
            "missed": self.missed.tolist(),
        }
        return json.dumps(told, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> ShapeModel:
        """The model that `to_json` wrote; a DataError if any other could not predict."""
        try:
            told = json.loads(text)
            if told["ShapeModel"] != FORMAT:
                raise DataError(f"it is of format {told['ShapeModel']!r}, this knows {FORMAT}")
            return cls(
                read_names(told["names"]),
                read_whole(told["features"]),
                read_number(told["intercept"]),
                tuple(map(read_curve, told["curves"])),
                read_trees(told["trees"]),
                read_number(told["low"]),
                read_number(told["high"]),
                read_numbers(told["missed"]),
            )
        except (
            *(ValueError, TypeError, KeyError, IndexError, AttributeError),
            *(OverflowError, RecursionError, DataError),
        ) as error:
            raise DataError(
                f"not a model written by to_json: {shortened(str(error))}; got {shortened(text)}"
            ) from None

    def __repr__(self) -> str:
        many = counted(len(self.names), "feature")
        return f"<ShapeModel of {many}: {printable(few(self.names))}>"

    def __str__(self) -> str:
        level = f"{self._level():.4g}"
        if not self.names:
            return f"{level}, whatever comes"
        text = [f"{level}, and what each feature adds, within {self.low:.4g} to {self.high:.4g}:"]
        wide = max(map(len, self.names))
        for name in self.names:
            at, added = self._shown(name)
            pairs = [[f"{x:.4g}" for x in at], [f"{y:+.3g}" for y in added]]
            columns = [[*column, ""] for column in zip(*pairs, strict=True)]
            rows = aligned([[*(c[0] for c in columns), ""], [*(c[1] for c in columns), ""]])
            text += [f"  {name:<{wide}}  at    {rows[0]}", f"  {'':<{wide}}  adds  {rows[1]}"]
        together = self._together()
        if together > 0.0:
            text.append(f"several features together: ± {together:.2g}, by {self._trees()}")
        return "\n".join(text)

    def _repr_html_(self) -> str:
        rows: list[tuple[HtmlCell, ...]] = [("level", "", self._level())]
        for name in self.names:
            at, added = self._shown(name)
            label: HtmlCell = name
            for x, y in zip(at.tolist(), added.tolist(), strict=True):
                rows.append((label, x, y))
                label = ""
        together = self._together()
        if together > 0.0:
            rows.append(("several features together", self._trees(), f"± {together:.2g}"))
        return html_table("Model with shapes", rows, ("feature", "at", "adds"))

    def _trees(self) -> str:
        return counted(len(self.trees.leaves), "small tree")

    def _shown(self, name: str) -> tuple[Floats, Floats]:
        """Some typical values of a feature, each once, and what they add."""
        typical = self.curves[self.names.index(name)].typical
        if not len(typical):
            return self.effect(name)
        places = np.linspace(0, len(typical) - 1, SHOWN).round().astype(np.int64)
        return self.effect(name, np.unique(typical[places]))

    def _level(self) -> float:
        """The prediction where no feature adds anything: that of the effects' means."""
        rows = self._typical_rows()
        means = sum(float(c.at(c.typical).mean()) for c in self.curves if len(c.typical))
        return self.intercept + means + float(self.trees.at(rows).mean() if len(rows) else 0.0)

    def _together(self) -> float:
        """The standard deviation of what trees add beyond what they add feature by feature."""
        rows = self._typical_rows()
        if not len(self.trees.leaves) or not len(rows):
            return 0.0
        rest = self.trees.at(rows)
        for a, name in enumerate(self.names):
            rest = rest - (self.effect(name, rows[:, a])[1] - self.curves[a].at(rows[:, a]))
        deviation = float(rest.std())
        return deviation if deviation > 1e-9 * float(np.abs(self.trees.leaves).max()) else 0.0

    def _typical_rows(self) -> Floats:
        """Rows of typical values, each feature in an order of its own: the same rows every time."""
        rng, rows = np.random.default_rng(0), np.full((ROWS, len(self.names)), np.nan)
        for a, curve in enumerate(self.curves):
            shares = (rng.permutation(ROWS) + 0.5) / ROWS * (len(curve.typical) - 1)
            if len(curve.typical):
                rows[:, a] = np.interp(shares, np.arange(len(curve.typical)), curve.typical)
        return rows

    def _rows(self, rows: ArrayLike) -> Floats:
        X = np.asarray(real_numbers("rows", rows), dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.names):
            raise DataError(
                f"rows must have {len(self.names)} columns ({', '.join(self.names)}), "
                f"got shape {X.shape}"
            )
        if np.isinf(X).any():
            raise DataError("rows must be finite, or NaN where a value is absent, got inf")
        return X


def _refuse_odd_model(model: ShapeModel) -> None:
    """DataError unless every number of the model is one that can be predicted with."""
    k, features = len(model.names), model.features
    if features.shape != (k,) or len(model.curves) != k:
        raise DataError(f"features and curves must be one for each of {k} names")
    if k and (features.min() < 0 or (np.diff(features) <= 0).any()):
        raise DataError(f"features must be ascending, each once, got {features.tolist()}")
    if len(set(model.names)) < k:
        raise DataError(f"names must be different, got {', '.join(model.names)}")
    ends = (model.intercept, model.low, model.high)
    if not all(map(math.isfinite, ends)) or model.low > model.high:
        raise DataError("intercept, low and high must be finite, low at most high")
    if model.missed.ndim != 1 or not np.isfinite(model.missed).all():
        raise DataError("missed must be finite numbers")
    for name, curve in zip(model.names, model.curves, strict=True):
        refuse_odd_curve(name, curve)
    refuse_odd_trees(model.trees, k)
