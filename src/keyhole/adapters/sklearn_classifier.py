"""KeyholeClassifier: yes or no within a budget, as a scikit-learn estimator with probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.adapters.sklearn import FLOAT_TYPES, BudgetEstimator, KeyholeRegressor
from keyhole.errors import shortened
from keyhole.learners.yes_no import YesNoLearner
from keyhole.problem import DataError, Floats, Indices
from keyhole.problem.optional_imports import extra
from keyhole.problem.sparse_model import SparseModel

_validation = extra("sklearn.utils.validation", "sklearn")
_multiclass = extra("sklearn.utils.multiclass", "sklearn")

if TYPE_CHECKING:
    from keyhole.adapters.sklearn import SklearnEstimator as _ClassifierBase
else:
    _base = extra("sklearn.base", "sklearn")

    class _ClassifierBase(_base.ClassifierMixin, _base.BaseEstimator):
        """A classifier of scikit-learn."""


class _Scorer(KeyholeRegressor):
    """The regressor inside: labels are 0 and 1, and its learner is calibrated."""

    def _begin(self) -> Self:
        super()._begin()
        self.learner_ = YesNoLearner(self.learner_)
        return self


class KeyholeClassifier(BudgetEstimator, _ClassifierBase):
    """Two classes, told apart by a sparse linear score from at most `budget` features of a row.

    `fit` plays the rows, in their order, to a learner of keyhole inside a `keyhole.YesNoLearner`,
    with the label 1 for `classes_[1]` and 0 for `classes_[0]`. It keeps the linear score that the
    learner ends with, and how scores become probabilities.

    Parameters
    ----------
    sparsity, budget, learner, passes, random_state, history, prices, panels, worth
        As in `keyhole.adapters.sklearn.KeyholeRegressor`. A `history` that is a stream has the
        labels 0 and 1; one that is a pair (X_old, y_old) has the classes.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes, sorted; the second is the one that probabilities are of.
    coef_ : array of shape (1, n_features_in_), intercept_ : array of shape (1,)
        The linear score, zero outside `support_`. It is no log-odds: `learner_.probabilities` is
        what it comes to.
    support_, n_reads_, spent_, cost_, model_, learner_
        As in `KeyholeRegressor`; `learner_` is a `keyhole.YesNoLearner`, and
        `learner_.calibration()` says how well its probabilities did while it learnt.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    What is learnt depends on bought values only, as in `KeyholeRegressor`.

    Two classes and no more: for several use `sklearn.multiclass.OneVsRestClassifier`, which fits
    one for each class; each of them buys for itself. There are no sample or class weights.
    Probabilities are calibrated for the learner's own predictions, which may be a mixture of
    models; `predict_proba` applies that to the score of the final model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KeyholeClassifier(sparsity=4, budget=8, random_state=0).fit(X, y)
    >>> model.n_reads_ == 8 * len(y), len(model.support_) <= 4
    (True, True)
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Begin anew and play all rows, `passes` times over."""
        return self._learn("fit", X, y, None)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: Sequence[Any] | ArrayLike | None = None
    ) -> Self:
        """Play these rows once and go on from where the learner is; it begins with the first call.

        `classes` are needed in the first call unless both are in y.
        """
        return self._learn("partial_fit", X, y, classes)

    def study(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes: Sequence[Any] | ArrayLike | None = None,
        half_life: float | None = None,
    ) -> Self:
        """Learn from rows that are known in full, at no cost, before or between `partial_fit`s."""
        return self._learn("study", X, y, classes, half_life=half_life)

    def _learn(
        self,
        method: Literal["fit", "partial_fit", "study"],
        X: ArrayLike,
        y: ArrayLike,
        given: Sequence[Any] | ArrayLike | None,
        **options: Any,
    ) -> Self:
        """Have the scorer learn, a new one in `fit` and in the first call of all."""
        scorer = None if method == "fit" else vars(self).get("_scorer")
        labels = self._classes_of(X, y, reset=scorer is None)
        if scorer is None:
            classes = _two_classes(labels, given)
            scorer = self._scorer_for(classes)
        else:
            classes = self.classes_
            _refuse_other_classes(given, classes)
        getattr(scorer, method)(X, _numbers(labels, classes), **options)
        return self._take_over(scorer, classes)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of both classes, a row each; of X only `support_` is used."""
        p = self._probabilities(X)
        return np.column_stack([1.0 - p, p])

    def decision_function(self, X: ArrayLike) -> Floats:
        """The log-odds of `classes_[1]`: above 0 where it is more probable than the other."""
        p = self._probabilities(X)
        odds: Floats = np.log(p) - np.log1p(-p)
        return odds

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more probable class."""
        second = self._probabilities(X) > 0.5
        chosen: NDArray[Any] = self.classes_[second.astype(np.intp)]
        return chosen

    @property
    def learner_(self) -> YesNoLearner:
        """The learner, calibrated."""
        learner: YesNoLearner = self._fitted("learner_").learner_
        return learner

    @property
    def model_(self) -> SparseModel:
        """The linear score without the zeros."""
        return self._fitted("model_").model_

    @property
    def coef_(self) -> Floats:
        """The linear score, a row of weights."""
        return self._fitted("coef_").coef_[np.newaxis]

    @property
    def intercept_(self) -> Floats:
        """The constant of the score."""
        return np.array([self._fitted("intercept_").intercept_])

    @property
    def support_(self) -> Indices:
        """The features with a weight, ascending."""
        return self._fitted("support_").support_

    @property
    def n_reads_(self) -> int:
        """Values bought in training so far."""
        return self._fitted("n_reads_").n_reads_

    @property
    def spent_(self) -> float:
        """What they cost."""
        return float(self._fitted("spent_").spent_)

    @property
    def cost_(self) -> float:
        """What a prediction costs."""
        return float(self._fitted("cost_").cost_)

    def _fitted(self, attribute: str) -> KeyholeRegressor:
        scorer: KeyholeRegressor | None = vars(self).get("_scorer")
        if scorer is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        return scorer

    def _probabilities(self, X: ArrayLike) -> Floats:
        _validation.check_is_fitted(self)
        rows = _validation.validate_data(self, X, dtype=FLOAT_TYPES, reset=False)
        return self.learner_.probabilities(self.model_.predict(rows[:, self.support_]))

    def _classes_of(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> NDArray[Any]:
        """The labels, one per row, after X and y were looked at; nothing of that stays."""
        kept = {name: vars(self)[name] for name in _SET_BY_VALIDATION if name in vars(self)}
        try:
            _, labels = _validation.validate_data(self, X, y, dtype=FLOAT_TYPES, reset=reset)
        finally:
            for name in _SET_BY_VALIDATION:
                vars(self).pop(name, None)
            vars(self).update(kept)
        _multiclass.check_classification_targets(labels)
        found: NDArray[Any] = np.asarray(labels)
        return found

    def _scorer_for(self, classes: NDArray[Any]) -> _Scorer:
        given = self.get_params(deep=False)
        history = given["history"]
        if isinstance(history, tuple | list) and len(history) == 2:
            old = np.asarray(history[1])
            given["history"] = history[0], _numbers(old, classes)
        return _Scorer(**given)

    def _take_over(self, scorer: KeyholeRegressor, classes: NDArray[Any]) -> Self:
        self.classes_ = classes
        for name in _SET_BY_VALIDATION:
            vars(self).pop(name, None)
            if hasattr(scorer, name):
                setattr(self, name, getattr(scorer, name))
        self._scorer = scorer
        return self


_SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")


def _two_classes(labels: NDArray[Any], given: Sequence[Any] | ArrayLike | None) -> NDArray[Any]:
    """The two classes, sorted; a DataError, which is a ValueError, if there are not two."""
    classes = np.unique(labels if given is None else np.asarray(given))
    if len(classes) > 2:
        some = shortened(", ".join(map(str, classes.tolist())))
        raise DataError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(classes)} classes, {some}; sklearn.multiclass.OneVsRestClassifier fits a "
            "KeyholeClassifier for each of them"
        )
    if len(classes) < 2:
        raise DataError(
            f"y needs two classes, it has only one class: {classes.tolist()}; in partial_fit name "
            "both by `classes`"
        )
    return classes


def _numbers(labels: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """1 for the second class, 0 for the first."""
    other = labels[~np.isin(labels, classes)]
    if len(other):
        raise DataError(f"y must hold the classes {classes.tolist()}, got {other.tolist()[0]!r}")
    return np.asarray(labels == classes[1], dtype=np.float64)


def _refuse_other_classes(classes: Sequence[Any] | ArrayLike | None, known: NDArray[Any]) -> None:
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise DataError(f"classes must be those of the first call, {known.tolist()}")
