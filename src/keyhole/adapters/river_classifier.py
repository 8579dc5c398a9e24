"""KeyholeClassifier: yes or no for river, with probabilities, within a budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from keyhole.adapters.named_learner import Names, Player
from keyhole.adapters.river import KeyholeRegressor
from keyhole.learners.yes_no import YesNoLearner
from keyhole.problem import DataError, Floats
from keyhole.problem.optional_imports import extra

try:
    from river import base
except ModuleNotFoundError:
    extra("river", "river")  # says what to install
    raise


class _Scorer(KeyholeRegressor):
    """The regressor inside: labels are 0 and 1, predictions are probabilities."""

    def _player_of(self, names: Iterable[Hashable]) -> Player:
        player = super()._player_of(names)
        player.learner = YesNoLearner(player.learner)
        return player


class KeyholeClassifier(base.MiniBatchClassifier):
    """A keyhole learner as a river classifier of two classes: at most `budget` values of a row.

    The classes are True and False, or whatever two labels come. What is looked at, counted and
    started anew is as in `keyhole.adapters.river.KeyholeRegressor`; probabilities are those of a
    `keyhole.YesNoLearner`.

    Parameters
    ----------
    sparsity, budget, learner, seed, prices, panels, worth
        As in `keyhole.adapters.river.KeyholeRegressor`.
    positive
        The class that is learnt as 1; None: True, 1, or of other classes the second that comes.
        It decides nothing but which of two numbers a class is.

    Attributes
    ----------
    classes
        The classes so far, the one learnt as 0 first.
    n_reads, spent, n_rounds, n_starts
        As in `KeyholeRegressor`.

    Guarantee
    ---------
    No call looks at more of a row than `budget` allows. A third class is a DataError, and changes
    nothing: for several classes use `river.multiclass.OneVsRestClassifier`, which has one
    classifier for each; each of them looks at rows for itself.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> model = KeyholeClassifier(sparsity=2, budget=4, seed=1)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    ROCAUC: 9...%
    >>> model.n_reads / model.n_rounds  # of 9 features
    4.0
    """

    def __init__(
        self,
        sparsity: int = 4,
        budget: float = 12,
        learner: str = "auto",
        seed: int = 0,
        prices: Any = None,
        panels: Any = None,
        worth: float | None = None,
        positive: Any = None,
    ) -> None:
        self._scorer = _Scorer(sparsity, budget, learner, seed, prices, panels, worth)
        self.sparsity, self.budget, self.learner, self.seed = sparsity, budget, learner, seed
        self.prices, self.panels, self.worth, self.positive = prices, panels, worth, positive
        self._no: tuple[Hashable, ...] = ()  # none or one
        self._yes: tuple[Hashable, ...] = () if positive is None else (positive,)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The classes so far, the one learnt as 0 first."""
        return (*self._no, *self._yes)

    @property
    def n_reads(self) -> int:
        """How many values were looked at so far, to predict or to learn."""
        return self._scorer.n_reads

    @property
    def spent(self) -> float:
        """What they cost; without prices, how many they are."""
        return self._scorer.spent

    @property
    def n_rounds(self) -> int:
        """How many labels were learnt."""
        return self._scorer.n_rounds

    @property
    def n_starts(self) -> int:
        """How many learners were started, the first included."""
        return self._scorer.n_starts

    @property
    def weights(self) -> dict[Hashable, float]:
        """The linear score by feature name, weights that are not 0."""
        return self._scorer.weights

    @property
    def intercept(self) -> float:
        """The constant that belongs to `weights`."""
        return self._scorer.intercept

    @property
    def next_features(self) -> Names:
        """The names that will be looked at in the next row; none before the first label."""
        return self._scorer.next_features

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class so far; before the first label False and True, both 1/2."""
        if not self.n_rounds:
            return {False: 0.5, True: 0.5}
        return self._shared(self._scorer.predict_one(x))

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn the class of a row. A row that is refused leaves everything as it was."""
        no, yes = self._with([y])
        self._scorer.learn_one(x, float(y in yes))
        self._no, self._yes = no, yes

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities for the rows of a DataFrame, a column for each class."""
        frame = extra("pandas", "river").DataFrame
        if not self.n_rounds:
            return frame({False: 0.5, True: 0.5}, index=X.index)
        p: Floats = np.asarray(self._scorer.predict_many(X), dtype=np.float64)
        shared = [self._shared(value) for value in p.tolist()]
        return frame(shared, index=X.index, columns=list(self.classes))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the classes of the rows of a DataFrame, as `learn_one` would, but as a block."""
        told = list(y)
        no, yes = self._with(told)
        before, rounds = (self._no, self._yes), self.n_rounds
        self._no, self._yes = no, yes
        try:
            self._scorer.learn_many(X, np.array([float(label in yes) for label in told]))
        except BaseException:
            if self.n_rounds == rounds:  # nothing was learnt; otherwise the rows before stand
                self._no, self._yes = before
            raise

    def _shared(self, p: float) -> dict[Any, float]:
        """The probabilities by class, when that of yes is p."""
        if not self._no or not self._yes:
            return dict.fromkeys(self.classes, 1.0)
        return {self._no[0]: 1.0 - p, self._yes[0]: p}

    def _with(self, labels: list[Any]) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
        """The classes learnt as 0 and as 1 when these labels have come, too."""
        no, yes = self._no, self._yes
        for label in dict.fromkeys(labels):
            if label is None or label != label:
                raise DataError(f"the label must be a class, got {label!r}")
            if label in no or label in yes:
                continue
            if not no and not yes and label in (False, True):
                no, yes = (False,), (True,)
            elif not yes:
                no, yes = (no, (label,)) if no else ((label,), yes)
            elif not no:
                no = (label,)
            else:
                raise DataError(
                    f"two classes are known, {no[0]!r} and {yes[0]!r}, got {label!r}: for more of "
                    "them use river.multiclass.OneVsRestClassifier(KeyholeClassifier())"
                )
        return no, yes
