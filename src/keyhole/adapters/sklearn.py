"""Regressor and classifier for scikit-learn that read a few features of every row."""

from __future__ import annotations

import contextlib
import copy
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.adapters.estimator_prices import cut_to_budget, read_if_path, refuse_worth_without
from keyhole.errors import LARGEST, shortened, true_or_false
from keyhole.game import Observer, PlayedBlock, play
from keyhole.game.playing import study_history
from keyhole.learners.auto import AutoLearner
from keyhole.learners.registry import learner_row, make_learner
from keyhole.learners.residuals import MAX_RECENT_ERRORS, HasIntervals, range_of
from keyhole.learners.yes_no import YesNoLearner
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Learner,
    Problem,
    ProblemError,
    whole_number,
)
from keyhole.problem.labels import a_coverage
from keyhole.problem.optional_imports import extra
from keyhole.problem.prices import MAX_DECIMALS, money
from keyhole.problem.sparse_model import SparseModel, sparse_model
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams import ArrayStream, GeneratedStream, SparseStream, repeat

_validation = extra("sklearn.utils.validation", "sklearn")
_base = extra("sklearn.base", "sklearn")
FLOAT_TYPES = [np.float64, np.float32]
# How X is validated: NaN is a value that did not arrive.
ROWS: dict[str, Any] = {
    "dtype": FLOAT_TYPES,
    "accept_sparse": "csr",
    "ensure_all_finite": "allow-nan",
}
MIN_ERROR_ROWS = 30  # fewer say too little about how far a model is off
Classes = Sequence[Any] | ArrayLike | None
Fetch = Callable[[int, Indices], ArrayLike]  # a row, columns of it; their values

if TYPE_CHECKING:

    class _Estimator:
        """What scikit-learn gives an estimator, as far as it is used; it comes without types."""

        n_features_in_: int
        feature_names_in_: NDArray[np.object_]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class _Regressor:
        def score(self, X: ArrayLike, y: ArrayLike) -> float: ...

    class _Classifier(_Regressor): ...
else:
    _Estimator = _base.BaseEstimator
    _Regressor, _Classifier = _base.RegressorMixin, _base.ClassifierMixin


class BudgetEstimator(_Estimator):
    """What the regressor and the classifier share: all but what their labels and predictions are.

    A subclass has `_numbers`, which makes numbers of labels.
    """

    learner_: Any  # scikit-learn knows no more of it, and users call what their learner offers
    coef_: Floats
    intercept_: Any  # a number, or an array of one
    model_: Any  # a SparseModel, or with shapes a ShapeModel
    support_: Indices

    def __init__(
        self,
        sparsity: int = 4,
        budget: float = 12,
        learner: str = "auto",
        passes: int = 1,
        random_state: Any = None,
        history: Any = None,
        prices: Any = None,
        panels: Any = None,
        worth: float | None = None,
        shapes: bool = False,
        steps: bool = False,
    ) -> None:
        self.sparsity = sparsity
        self.budget = budget
        self.learner = learner
        self.passes = passes
        self.random_state = random_state
        self.history = history
        self.prices = prices
        self.panels = panels
        self.worth = worth
        self.shapes = shapes
        self.steps = steps

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, **refused: Any) -> Self:
        """Begin anew and play all rows, `passes` times over; there are no sample weights."""
        _refuse_weights(refused)
        passes = whole_number("passes", self.passes, 1)
        return self._learn(X, y, lambda stream: self._play(stream, passes), anew=True)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the features that `predict` uses: `support_`, by name.

        They are those of the columns of X where it had names, else `input_features`, else x0, x1,
        and so on, as in feature selectors of scikit-learn.
        """
        estimator: Any = self
        _validation.check_is_fitted(estimator)
        names = _validation._check_feature_names_in(estimator, input_features)
        used: NDArray[np.object_] = np.asarray(names, dtype=object)[estimator.support_]
        return used

    def _check_parameters(self) -> None:
        learner_row(self.learner)
        whole_number("sparsity", self.sparsity, 1)
        if self._priced:
            money("budget", self.budget)
        else:
            whole_number("budget", cast(int, self.budget), 1)
        refuse_worth_without(True if self._priced else None, self.learner, self.worth)
        if true_or_false("shapes", self.shapes) and self.learner != "auto":
            raise ProblemError(f"shapes=True is for learner='auto', got learner={self.learner!r}")
        if true_or_false("steps", self.steps) and self.worth is None:
            raise ProblemError(
                "steps=True stops where going on is not worth its price: give prices=[...] and "
                "worth=..., what one unit of squared error is worth, too"
            )

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        how: Callable[[BlockStream], Self],
        classes: Classes = None,
        *,
        anew: bool = False,
    ) -> Self:
        """Learn from rows in this way; begin with a new learner if `anew`, or if there is none."""
        anew = anew or not hasattr(self, "learner_")
        if anew:
            self._check_parameters()
        with _as_it_was_on_error(self):
            stream = self._stream_of(X, y, classes, anew=anew)
            if anew:
                self._begin()
                self._take_in_history()
            return how(stream)

    def _stream_of(
        self, X: ArrayLike, y: ArrayLike, classes: Classes = None, *, anew: bool
    ) -> BlockStream:
        """X and y as a stream that can be played from the first row to the last."""
        numeric = isinstance(self, KeyholeRegressor)
        rows, labels = _validation.validate_data(self, X, y, reset=anew, y_numeric=numeric, **ROWS)
        labels = self._numbers(labels, classes, anew)
        sparse = hasattr(rows, "tocsr")
        for name, values in (("X", rows.data if sparse else rows), ("y", labels)):
            largest = float(np.nanmax(np.abs(values), initial=0.0))
            if largest > LARGEST:
                raise DataError(
                    f"{name} must be at most {LARGEST:g} in size, got {largest:g}: "
                    "use larger units, or leave such rows out"
                )
        return SparseStream(rows, labels) if sparse else _plain_blocks(ArrayStream(rows, labels))

    def _numbers(self, labels: NDArray[Any], classes: Classes, anew: bool) -> Floats:
        raise NotImplementedError

    def _scores(self, X: ArrayLike) -> Floats:
        """What the final model makes of rows; what is absent is taken for its usual value."""
        _validation.check_is_fitted(self)
        rows = _validation.validate_data(self, X, reset=False, **ROWS)
        values = rows[:, self.support_]
        if hasattr(values, "toarray"):
            values = values.toarray()
        scores: Floats = (
            self.model_.predict(values, fill=True)
            if isinstance(self.model_, SparseModel)
            else self.model_.predict(values)
        )
        return scores

    def _step_by_step(self, fetch: Fetch, n: int) -> Floats:
        """What the learner predicts of n rows of which it buys one step after the other."""
        _validation.check_is_fitted(self)
        learner, predictions = copy.deepcopy(self.learner_), np.empty(whole_number("n", n, 0))
        for row in range(n):
            ticket = learner.ask(steps=True)
            seen = ticket.fill(fetch(row, ticket.features))
            while step := learner.next(seen):
                seen = step.fill(fetch(row, step.features))
            predictions[row] = learner.predict(seen)
            learner.drop(seen.ticket)
        return predictions

    def _begin(self) -> None:
        """A new learner, for the features that validation has found."""
        problem, seed = self._problem(), self._seed()
        if self.worth is None:
            self.learner_ = make_learner(self.learner, problem, seed)
        else:
            self.learner_ = AutoLearner(problem, seed=seed, worth=self.worth)
        self.n_reads_, self.spent_ = 0, 0.0
        self._errors: Floats = np.empty(0)

    @property
    def _priced(self) -> bool:
        return self.prices is not None or self.panels is not None

    def _problem(self) -> Problem:
        d, found = self.n_features_in_, getattr(self, "feature_names_in_", None)
        names = None if found is None else found.tolist()
        if self._priced:
            prices = read_if_path(self.prices)
            return cut_to_budget(d, self.sparsity, self.budget, names, prices, self.panels)
        budget = min(cast(int, self.budget), d)
        return Problem(d, min(self.sparsity, budget), budget, names)

    def _seed(self) -> int:
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        draws = extra("sklearn.utils", "sklearn").check_random_state(self.random_state)
        return int(draws.randint(2**31 - 1))

    def _take_in_history(self) -> None:
        """Study the history that was given to the constructor, for a learner that is new."""
        if self.history is None:
            return
        pair = isinstance(self.history, tuple | list)
        must = "history must be a pair (X_old, y_old) or a stream"
        if pair and len(self.history) != 2:
            raise ProblemError(f"{must}, got {len(self.history)} items")
        if not pair and not hasattr(self.history, "d"):
            raise ProblemError(f"{must}, got a {type(self.history).__name__}")
        stream = self._stream_of(*self.history, anew=False) if pair else self.history
        study_history(self.learner_, stream)

    def _study(self, stream: BlockStream, half_life: float | None) -> Self:
        study_history(self.learner_, stream, half_life=half_life)
        # Some work out a new model when the next round is asked for.
        ahead = copy.deepcopy(self.learner_)
        ahead.ask()
        return self._take_over(ahead)

    def _play(self, stream: BlockStream, passes: int = 1) -> Self:
        recent, often = RecentRows(), repeat(stream, passes)
        ledger = play(
            *(self.learner_, often),
            keep_predictions=False,
            observers=[recent],
            steps=bool(self.steps),
        )
        self.n_reads_ += int(ledger.reads.sum())
        self.spent_ = round(self.spent_ + ledger.spent, MAX_DECIMALS)
        self._take_over(self.learner_)
        model = self.model_
        if isinstance(model, SparseModel) and model.centres is None:
            self.model_ = model = replace(model, centres=recent.means[model.features])
        self._errors = recent.errors_of(model) if isinstance(model, SparseModel) else model.missed
        return self

    def _take_over(self, learner: Learner) -> Self:
        """Be the model of this learner."""
        linear, whole = sparse_model(learner), cast(AutoLearner, learner)
        self.model_ = whole.model(shapes=True) if self.shapes else linear
        self.support_ = self.model_.features
        self.coef_ = np.zeros(self.n_features_in_)
        self.coef_[linear.features] = linear.weights
        self.intercept_ = linear.intercept
        self.cost_ = self.learner_.problem.cost(self.support_)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: the learner as the bytes of a saved file, not as its internals."""
        state: dict[str, Any] = {**vars(self)}
        if "learner_" in state:
            state["learner_"] = to_bytes(state["learner_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "learner_" in state:
            state = {**state, "learner_": from_bytes(state["learner_"])}
        # Pickles from before there was history, and from before there were prices.
        later: dict[str, Any] = {"history": None, "prices": None, "panels": None, "worth": None}
        later["shapes"] = later["steps"] = False
        if "learner_" in state:
            later["spent_"] = float(state["n_reads_"])
            later["cost_"] = float(len(state["support_"]))
            later["_errors"] = np.empty(0)  # nor were there intervals
        vars(self).update({**later, **state})


class KeyholeRegressor(_Regressor, BudgetEstimator):
    """A sparse linear regression that learns from at most `budget` features of every row.

    `fit` plays the rows, in their order, to a learner of keyhole and keeps the linear model it ends
    with: y = intercept_ + <x, coef_>. Scale and centre of features and labels are learnt from
    bought values by the default learner, so nothing belongs in front of it; a StandardScaler there
    reads every value of every row, and what it hands on is no longer bought within a budget.

    Parameters
    ----------
    sparsity
        Features in the final model, at most. Where panels make columns of several features (every
        price is 1, and so is every fee), columns, as in `budget`.
    budget
        How many features may be read of one row while learning, everything included; with prices,
        what may be spent on one row.
    learner
        A name in `keyhole.LEARNERS`. "full", "online-lasso" and "online-omp" read everything,
        whatever the budget.
    passes
        How often `fit` goes over the rows. Every pass is paid for again.
    random_state
        A whole number is the seed of the learner as it is; a RandomState, or None for numpy's
        global one, draws the seed.
    history
        Old rows that are known in full: a pair (X_old, y_old), or a stream. The learner studies
        them before the first row that is played, in `fit` and in the first `partial_fit`; nothing
        of them is paid for or counted in `n_reads_`. None: there is none. A pair has the columns of
        X.
    prices
        What each column costs: one amount per column, amounts by column name, a
        `keyhole.PriceTable`, or the path of a price list (`keyhole.read_prices`). 0 is free. None:
        every column costs 1, and `budget` counts them.
    panels
        Columns that are bought together: by name, a fee that is paid once per row and the columns
        that need it. A price table has its own.
    worth
        With prices and learner "auto": the money that one unit of squared error is worth. It then
        buys what gains more than it costs, within the budget.
    shapes
        With learner "auto": predict with a `keyhole.ShapeModel`, where features have curves and
        small trees, instead of the linear model. It has at most as many features, which may be
        others; what is bought in training is the same.
    steps
        With `worth`: rows are bought step by step in training, and no more of a row than is worth
        its price. `predict_stepwise` then knows when to stop.

    Attributes
    ----------
    coef_ : array of shape (n_features_in_,)
        The weights of the linear model in the units of X, zero outside `support_`. With `shapes`
        that is not what predicts, and its features may be others.
    intercept_ : float
        The constant.
    support_ : array of int
        The features with a weight, ascending: all that `predict` uses.
    n_reads_ : int
        Values bought in training so far.
    spent_ : float
        What they cost; without prices, how many they are.
    cost_ : float
        What a prediction costs: the price of `support_`; without prices, their number.
    model_ : keyhole.SparseModel or, with `shapes`, keyhole.ShapeModel
        The model that predicts, from the columns of `support_` alone.
    learner_ : keyhole.Learner
        The learner itself, for whatever else it offers.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    What is learnt depends on bought values only: the referee of `keyhole.play` audits every block.
    The validation of scikit-learn, however, looks at all of X for infinity before the game begins.
    The support has at most `sparsity` features, except for the baselines "random" (`budget`),
    "full" (all) and "online-lasso" (any number).

    Both limits are cut to what X allows, so that a grid may hold any values: budget to
    n_features_in_, then sparsity to budget; with prices, sparsity to what the budget can buy. There
    are no sample weights: `fit` refuses them by name. NaN in X is a value that did not arrive when
    it was bought; in `predict`, one of `support_` is taken for the usual value of its column.
    Sparse X is read row by row, and what it has no entry for is 0. Predictions are those of the
    final linear model, not of the mixture that AutoLearner plays.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=30, k=2, n=2048, seed=0)
    >>> X, y = kh.streams.collect(stream)
    >>> model = KeyholeRegressor(sparsity=2, budget=8, random_state=0).fit(X, y)
    >>> model.support_.tolist() == truth.support.tolist()
    True
    >>> model.n_reads_ == 8 * 2048
    True
    >>> X = np.random.default_rng(0).standard_normal((2000, 20))
    >>> bent = KeyholeRegressor(sparsity=1, budget=4, random_state=0, shapes=True)
    >>> print(bent.fit(X, X[:, 7] + abs(X[:, 7])).model_)
    0.79..., and what each feature adds, within 0 to 6...:
      x7  at...
          adds...
    """

    def partial_fit(self, X: ArrayLike, y: ArrayLike, **refused: Any) -> Self:
        """Play these rows once and go on from where the learner is; it begins with the first call.

        Parameters changed in between count from the next `fit` on. Of each row at most `budget`
        features are looked at, as in `fit`: rows that are known in full belong in `study`.
        """
        _refuse_weights(refused)
        return self._learn(X, y, self._play)

    def study(self, X: ArrayLike, y: ArrayLike, *, half_life: float | None = None) -> Self:
        """Learn from rows that are known in full, at no cost, before or between `partial_fit`s.

        A `fit` begins anew and forgets them: what it should know before is `history`.

        Parameters
        ----------
        X, y
            As in `partial_fit`; all of X is looked at, and nothing is added to `n_reads_`.
        half_life
            After so many rows, what was known before counts half. None: all rows count alike.
        """
        return self._learn(X, y, lambda stream: self._study(stream, half_life))

    def predict(self, X: ArrayLike) -> Floats:
        """The final model's predictions; of every row only `support_` is used."""
        return self._scores(X)

    def predict_stepwise(self, fetch: Fetch, n: int) -> Floats:
        """The learner's predictions for n rows of which columns are fetched on demand.

        `fetch(row, columns)` returns the values of these columns, by number, of that row; NaN where
        one did not arrive. It is called once for each step, and never twice for the same value: no
        more is fetched of a row than `learner_` finds worth its price (`steps`), else all that it
        reads of a row. These are predictions of the learner, not of `model_`. Changes nothing.

        Examples
        --------
        >>> X = np.random.default_rng(0).standard_normal((1500, 3))
        >>> y = np.where(abs(X[:, 0]) > 0.3, X[:, 0] > 0, X[:, 1] > 0).astype(float)
        >>> how = {"sparsity": 2, "budget": 3, "prices": [1, 1, 1], "worth": 20.0, "steps": True}
        >>> model, fetched = KeyholeRegressor(**how, random_state=0).fit(X, y), []
        >>> def fetch(row, columns):
        ...     fetched.extend(columns)
        ...     return X[row, columns]
        >>> right = (model.predict_stepwise(fetch, 500) > 0.5) == y[:500]
        >>> bool(right.mean() > 0.9), len(fetched) / 500 < 2
        (True, True)
        """
        return self._step_by_step(fetch, n)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> Floats:
        """Where the labels will be, in a share `coverage` of rows: low and high, a row each.

        From the errors of `predict` on the last 512 rows of training, as far as the features it
        needs were bought there; if that was in fewer than 30 rows, from those of the learner. It
        holds for rows like these, in any order; with tickets, `learner_.interval` has a guarantee
        that asks for nothing of the kind. With `shapes`, the errors are those on rows that the
        model was tried on, fitted to the others.
        """
        predictions, share = self.predict(X), a_coverage(coverage)
        ends = range_of(self._errors, share)
        if len(self._errors) < MIN_ERROR_ROWS and isinstance(self.learner_, HasIntervals):
            ends = self.learner_.error_range(share)
        both: Floats = predictions[:, np.newaxis] + np.array(ends)
        return both

    def _numbers(self, labels: NDArray[Any], classes: Classes, anew: bool) -> Floats:
        return labels


class KeyholeClassifier(_Classifier, BudgetEstimator):
    """Two classes, told apart by a sparse linear score from at most `budget` features of a row.

    `fit` plays the rows, in their order, to a learner of keyhole inside a `keyhole.YesNoLearner`,
    with the label 1 for `classes_[1]` and 0 for `classes_[0]`. It keeps the linear score that the
    learner ends with, and how scores become probabilities.

    Parameters
    ----------
    sparsity, budget, learner, passes, random_state, history, prices, panels, worth, shapes, steps
        As in `KeyholeRegressor`. A `history` that is a stream has the
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

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: Classes = None, **refused: Any
    ) -> Self:
        """Play these rows once and go on from where the learner is; it begins with the first call.

        `classes` are needed in the first call unless both are in y.
        """
        _refuse_weights(refused)
        return self._learn(X, y, self._play, classes)

    def study(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes: Classes = None,
        half_life: float | None = None,
    ) -> Self:
        """Learn from rows that are known in full, at no cost, before or between `partial_fit`s."""
        return self._learn(X, y, lambda stream: self._study(stream, half_life), classes)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of both classes, a row each; of X only `support_` is used."""
        p = self._probabilities(X)
        return np.column_stack([1.0 - p, p])

    def predict_proba_stepwise(self, fetch: Fetch, n: int) -> Floats:
        """The probabilities of both classes for n rows, as `KeyholeRegressor.predict_stepwise`."""
        p = self._step_by_step(fetch, n)
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

    def _probabilities(self, X: ArrayLike) -> Floats:
        scores = self._scores(X)  # refuses to, before there is a learner
        p: Floats = self.learner_.probabilities(scores, shapes=self.shapes)
        return p

    def _begin(self) -> None:
        super()._begin()
        self.learner_ = YesNoLearner(self.learner_)

    def _take_over(self, learner: Learner) -> Self:
        super()._take_over(learner)
        self.coef_, self.intercept_ = self.coef_[np.newaxis], np.array([self.intercept_])
        return self

    def _numbers(self, labels: NDArray[Any], classes: Classes, anew: bool) -> Floats:
        """1 for the second class, 0 for the first; a new learner begins with two classes."""
        extra("sklearn.utils.multiclass", "sklearn").check_classification_targets(labels)
        if anew:
            self.classes_ = _two_classes(labels, classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise DataError(f"classes must be those of the first call, {self.classes_.tolist()}")
        other = labels[~np.isin(labels, self.classes_)]
        if len(other):
            known = self.classes_.tolist()
            raise DataError(f"y must hold the classes {known}, got {other.tolist()[0]!r}")
        return np.asarray(labels == self.classes_[1], dtype=np.float64)


def _refuse_weights(refused: dict[str, Any]) -> None:
    """Refuse sample weights with a remedy, and any other argument as Python does."""
    for name, value in refused.items():
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        if value is not None:
            raise ProblemError(
                "sample_weight is not supported, because every row is bought once and counts as "
                "one: repeat rows that count more, or leave sample_weight out"
            )


def _two_classes(labels: NDArray[Any], given: Classes) -> NDArray[Any]:
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


def _plain_blocks(stream: ArrayStream) -> GeneratedStream:
    """The same rows, block by block as kernels know them: doubles, row after row, writable.

    Frames come column by column, folds of a parallel search as read-only maps, and each of these
    would have the kernels compiled again.
    """

    def chunks() -> Iterator[tuple[Floats, Floats]]:
        for X, y in stream.blocks():
            yield np.require(X, np.float64, ["C", "W"]), np.require(y, np.float64, ["C", "W"])

    return GeneratedStream(stream.d, stream.rounds, chunks)


@contextlib.contextmanager
def _as_it_was_on_error(estimator: BudgetEstimator) -> Iterator[None]:
    """Validation sets attributes as it goes: an error must not leave half of a new fit behind."""
    before = {**vars(estimator)}
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


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
        self._sums: Floats = np.zeros(0)  # of all rows: values that came, and how many
        self._counts: Floats = np.zeros(0)

    @property
    def means(self) -> Floats:
        """The mean of each column, of all values that were bought and came; 0 before the first."""
        means: Floats = self._sums / np.maximum(self._counts, 1.0)
        return means

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Keep what was bought."""
        self._count(np.asarray(played.rows), played.bought)
        last = slice(-MAX_RECENT_ERRORS, None)
        X, bought = np.asarray(played.rows[last]), played.bought[last]
        row, place = np.nonzero(bought >= 0)
        seen = np.full(X.shape, np.nan)
        seen[row, bought[row, place]] = X[row, bought[row, place]]
        before = self._X.reshape(-1, X.shape[1])
        self._X = np.concatenate([before, seen])[last]
        self._y = np.append(self._y, played.y)[last]

    def _count(self, X: Floats, bought: NDArray[Any]) -> None:
        if not len(self._sums):
            self._sums, self._counts = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        row, place = np.nonzero(bought >= 0)
        features = bought[row, place]
        values = X[row, features].astype(np.float64)
        came = ~np.isnan(values)
        np.add.at(self._sums, features[came], values[came])
        np.add.at(self._counts, features[came], 1.0)

    def errors_of(self, model: SparseModel) -> Floats:
        """Label less prediction, where the row has all that the model needs; in order."""
        if not len(self._y):
            return np.empty(0)
        errors: Floats = self._y - model.predict(self._X[:, model.features])
        return errors[~np.isnan(errors)]
