"""Regressor and classifier for river that look at a few features of every row."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Set
from decimal import Decimal
from typing import Any, cast

import numpy as np

from keyhole.adapters.estimator_prices import price_table_of, prices_for_names, refuse_worth_without
from keyhole.adapters.named_learner import Names, Player, canonical
from keyhole.adapters.river_rows import Frame, MeteredRow, labels, series
from keyhole.errors import true_or_false
from keyhole.game.playing import study_history
from keyhole.learners import LEARNERS
from keyhole.learners.auto import AutoLearner
from keyhole.learners.yes_no import YesNoLearner
from keyhole.problem import (
    DataError,
    Floats,
    ProblemError,
    finite_label,
    nearest,
    whole_number,
)
from keyhole.problem.labels import a_coverage
from keyhole.problem.optional_imports import extra
from keyhole.problem.prices import MAX_DECIMALS, money
from keyhole.problem.shape_model import ShapeModel
from keyhole.streams import ArrayStream

try:
    from river import base, conf
except ModuleNotFoundError:
    extra("river", "river")  # says what to install
    raise


class RowLearner:
    """What the regressor and the classifier share: a player that looks at rows, and its counts.

    Labels and predictions are numbers here.
    """

    def __init__(
        self,
        sparsity: int,
        budget: float,
        learner: str,
        seed: int,
        prices: Any,
        panels: Any,
        worth: float | None,
        shapes: bool | None,
    ) -> None:
        whole_number("sparsity", sparsity, 1)
        self._table = None if prices is None and panels is None else price_table_of(prices, panels)
        if self._table is not None:
            money("budget", budget)
        elif sparsity > whole_number("budget", cast(int, budget), 1):
            raise ProblemError(f"sparsity must be at most budget = {budget}, got {sparsity}")
        if learner not in LEARNERS:
            hint = nearest(learner, list(LEARNERS))
            raise ProblemError(
                f"learner must be one of {', '.join(LEARNERS)}, got {learner!r}{hint}"
            )
        refuse_worth_without(self._table, learner, worth)
        if shapes is not None and learner != "auto":
            raise ProblemError(f"shapes is for learner='auto', got learner={learner!r}")
        whole_number("seed", seed, 0)
        self.shapes = None if shapes is None else true_or_false("shapes", shapes)
        self.sparsity, self.budget, self.learner, self.seed = sparsity, budget, learner, seed
        self.prices, self.panels, self.worth = prices, panels, worth
        self.n_reads = self.n_rounds = self.n_starts = 0
        self._units = 0  # of 10**-MAX_DECIMALS of money
        self._player: Player | None = None
        self._waiting: Names = ()  # for the next start
        self._predicted: tuple[object, Floats] | None = None  # the row, its values

    @property
    def spent(self) -> float:
        """What all values that were looked at cost; without prices, how many there were."""
        if self._table is None:
            return float(self.n_reads)
        return float(Decimal(self._units).scaleb(-MAX_DECIMALS))

    @property
    def weights(self) -> dict[Hashable, float]:
        """The current linear model by feature name, weights that are not 0."""
        if self._player is None:
            return {}
        pairs = zip(self._player.known, self._player.learner.weights.tolist(), strict=True)
        return {name: weight for name, weight in pairs if weight}

    @property
    def intercept(self) -> float:
        """The constant that belongs to `weights`."""
        return 0.0 if self._player is None else self._player.learner.intercept

    @property
    def shape_model(self) -> ShapeModel:
        """The current model with curves and small trees, to be used anywhere; after a label.

        Its names are those of the features as strings, where these are all different, else x0, x1,
        and so on. A ProblemError where the learner has no shapes.
        """
        player = self._player
        inner = None if player is None else getattr(player.learner, "inner", player.learner)
        if not isinstance(inner, AutoLearner):
            raise ProblemError(
                f"shape_model is there after the first label, for learner='auto'; this is "
                f"learner={self.learner!r} after {self.n_rounds} labels"
            )
        return inner.model(shapes=True)

    @property
    def next_features(self) -> Names:
        """The names that will be looked at in the next row; none before the first label."""
        return () if self._player is None else self._player.features

    def _predict(self, x: Mapping[Any, Any], coverage: float | None = None) -> Any:
        """The prediction for a row, or the ends of its interval; there is a player."""
        assert self._player is not None
        values = self._look(x, self._player)
        self._predicted = x, values
        if coverage is not None:
            return self._player.interval(values, coverage)
        return self._player.predict(values)

    def learn_one(self, x: Mapping[Any, Any], y: float) -> None:
        """Learn the label of a row. A row that is refused leaves everything as it was."""
        self._learn(x, finite_label(y))
        if self._player is not None:
            self._player.ask()

    def _predict_many(self, X: Any) -> Any:
        frame, player = Frame(X), self._player
        if player is None:
            return series(np.zeros(len(frame)), frame.index)
        if frame.numeric(player.features):
            values = frame.matrix(player.features)
            here = [name for name in player.features if name in frame.names]
            self.n_reads += len(frame) * len(here)
            self._units += len(frame) * player.costs(here)
        else:
            values = np.empty((len(frame), len(player.features)))
            for at in range(len(frame)):
                values[at] = self._look(frame.row(at), player)
        return series(np.array([player.predict(row) for row in values], dtype=float), frame.index)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the labels of the rows of a DataFrame, as `learn_one` would, but as a block.

        The columns go to compiled code as arrays, which reads the bought cells. Columns that are
        not plain numbers are looked up cell by cell instead, which is slower. Labels are checked
        before anything is learnt; a row that is refused is a DataError, and those before it stand.
        """
        frame = Frame(X)
        told = labels(y, len(frame))
        numeric = frame.numeric(frame.names)
        at = 0
        try:
            while at < len(told):
                self._learn(frame.row(at), float(told[at]))  # closes the open ticket
                at += 1
                player = self._player
                if player is not None and not (numeric and player.plays_blocks):
                    player.ask()
                elif player is not None and not player.waits and at < len(told):
                    at += self._learn_block(player, frame, told, at)
        finally:
            if self._player is not None:
                self._player.ask()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_predicted": None}  # the row is not ours to keep

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles from before there were prices have none.
        later = {"prices": None, "panels": None, "worth": None, "_table": None, "_units": 0}
        later["shapes"] = None  # nor of whether there are shapes
        self.__dict__.update(later | state)

    def _look(self, x: Mapping[Any, Any], player: Player) -> Floats:
        """The bought values of a row; counted, unless they were bought to predict."""
        view = MeteredRow(x, player.features)
        values = view.values_in_order()
        before = self._predicted
        if before is None or before[0] is not x or before[1].tobytes() != values.tobytes():
            self.n_reads += view.reads
            self._units += player.costs(name for name in player.features if name in x)
        return values

    def _learn(self, x: Mapping[Any, Any], label: float) -> None:
        """One round up to the label; the next ticket is not asked for yet."""
        player = self._player
        if player is None:
            if not x:
                return  # a row without names says nothing
            player = self._start(x.keys())
        waiting = self._wait_for(player, x.keys())
        grown = self._grown(player, waiting, self.n_rounds + 1)
        player.tell(self._look(x, player), label)
        if self._player is None:
            self.n_starts = 1
        self._player, self._waiting, self._predicted = player, waiting, None
        self._count(1, grown)

    def _learn_block(self, player: Player, frame: Frame, told: Floats, at: int) -> int:
        """Play rows from `at` on as a block, to the end or to the next start; how many."""
        stop = len(told)
        if self._waiting:
            stop = min(stop, at + _power(self.n_rounds + 1) - self.n_rounds)
        many = stop - at
        grown = self._grown(player, self._waiting, self.n_rounds + many)
        bought = np.full((many, player.learner.problem.width), -1, dtype=np.int32)
        before = player.learner.round
        present = np.array([*(name in frame.names for name in player.known), False])  # -1: none
        try:
            player.advance(frame.matrix(player.known, at, stop), told[at:stop], bought)
        finally:
            played = player.learner.round - before
            here = np.where(present[bought[:played]], bought[:played], -1)
            self.n_reads += int(np.count_nonzero(here >= 0))
            self._units += player.costs_of_rows(here)
            self._count(played, grown if played == many else None)
        return many

    def _count(self, rounds: int, grown: Player | None) -> None:
        """So many rounds are over; go on with the grown player, if there is one."""
        self.n_rounds += rounds
        if grown is not None:
            self._player, self._waiting = grown, ()
            self.n_starts += 1

    def _start(self, names: Iterable[Hashable]) -> Player:
        player = self._player_of(names)
        player.ask()
        return player

    def _player_of(self, names: Iterable[Hashable]) -> Player:
        return Player(
            names,
            self.learner,
            sparsity=self.sparsity,
            budget=self.budget,
            seed=self.seed,
            prices=self._table,
            worth=self.worth,
            shapes=self.shapes,
        )

    def _wait_for(self, player: Player, names: Set[Hashable]) -> Names:
        """The names that wait for the next start, these included."""
        new = player.unknown(names)
        if not new:
            return self._waiting
        waiting = canonical((*self._waiting, *new))
        if self._table is not None and len(waiting) > len(self._waiting):
            prices_for_names(self._table, [str(name) for name in (*player.known, *waiting)])
        return waiting

    def _grown(self, player: Player, waiting: Names, rounds: int) -> Player | None:
        """A player of all names, if some wait and it is time for one after so many rounds."""
        if not waiting or rounds != _power(rounds):
            return None
        return self._start((*player.known, *waiting))


def _power(number: int) -> int:
    """The least power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()


class KeyholeRegressor(RowLearner, base.MiniBatchRegressor):
    """A keyhole learner as a river regressor: of every row at most `budget` values are looked at.

    river hands over whole rows. They are looked at through a `MeteredRow`, which hands out the
    features of the open ticket and counts. The ticket is fixed after `learn_one` and stays open
    until the next one, so predicting is pure and a row is predicted and learnt from the same
    values. The names of a row are free to know, its values are not.

    **Features that vanish** are absent when they are bought, and cost nothing. **Features that
    appear** wait until the number of rounds is a power of two; then a new learner starts on all
    names so far, and what the old one knew is forgotten. So there are at most log2(T) + 1 starts
    in T rounds, and nobody waits longer than the stream lasted before. Rows that always have the
    same names are played exactly as by `keyhole.play`, features in canonical order (by name as a
    string, then by type), whatever the order in the rows.

    Parameters
    ----------
    sparsity
        k: how many features the linear models have that the learner is compared with.
    budget
        How many values of a row may be looked at. Rows with fewer names are seen whole. With
        prices, what may be spent on a row.
    learner
        A name in `keyhole.LEARNERS`.
    seed
        Random seed.
    prices
        What the value of a name costs: by name, a `keyhole.PriceTable`, or the path of a price list
        (`keyhole.read_prices`). 0 is free. A row with a name that has no price is refused; prices
        of names that never come do no harm. None: every value costs 1.
    panels
        Names whose values are bought together: by panel, a fee that is paid once per row and the
        names that need it. A price table has its own.
    worth
        With prices and learner "auto": the money that one unit of squared error is worth.
    confidence_level
        The share of labels within the intervals of `predict_one(x, with_interval=True)`, named as
        in `river.conf`.
    shapes
        With learner "auto": whether it predicts with curves and small trees of what it looks at,
        too. None: it does.

    Attributes
    ----------
    n_reads
        How many values were looked at so far, to predict or to learn. Handing to `learn_one` the
        very object that `predict_one` was handed last costs nothing more; a copy is another row.
    spent
        What they cost; without prices, how many they are.
    n_rounds
        How many labels were learnt.
    n_starts
        How many learners were started, the first included.

    Guarantee
    ---------
    No call looks at more of a row than `budget` allows, and `predict_one(x)` followed by
    `learn_one(x, y)` look at the same. `learn_many` leaves what `learn_one`, row by row, would.

    Deviations
    ----------
    `study_many` is not river's: it learns from rows that are known in full, at no cost.
    `predict_many` uses the open ticket for all rows, `learn_many` one ticket per row: together they
    may look at twice the budget of a row. Learners cannot grow, hence the starts.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> model = KeyholeRegressor(sparsity=2, budget=3, seed=1)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.22...
    >>> model.n_rounds, model.n_reads / model.n_rounds  # of 6 features
    (1001, 3.0)
    """

    confidence_level = 0.9  # of pickles from before there were intervals

    def __init__(
        self,
        sparsity: int = 4,
        budget: float = 12,
        learner: str = "auto",
        seed: int = 0,
        prices: Any = None,
        panels: Any = None,
        worth: float | None = None,
        confidence_level: float = 0.9,
        shapes: bool | None = None,
    ) -> None:
        super().__init__(sparsity, budget, learner, seed, prices, panels, worth, shapes)
        self.confidence_level = a_coverage(confidence_level)

    def predict_one(self, x: Mapping[Any, Any], with_interval: bool = False) -> Any:
        """The prediction for a row; 0 before the first label. Changes nothing but `n_reads`.

        `with_interval` returns a `river.conf.Interval` instead, as the wrappers of `river.conf` do:
        where the label is in a share `confidence_level` of rows, from the learner's errors so far,
        which are followed more closely from the first such call on.
        """
        if self._player is None:
            return conf.Interval(-math.inf, math.inf) if with_interval else 0.0
        if with_interval:
            return conf.Interval(*self._predict(x, self.confidence_level))
        return self._predict(x)

    def predict_many(self, X: Any) -> Any:
        """The predictions for the rows of a DataFrame, as `predict_one` would make them."""
        return self._predict_many(X)

    def study_many(self, X: Any, y: Any, *, half_life: float | None = None) -> None:
        """Learn from the rows of a DataFrame that are known in full, at no cost.

        Before the first row or between rows: all values are looked at, and neither `n_reads` nor
        `n_rounds` counts them. A column that is missing, or a cell, is absent. New names cannot
        come in here once there was a row: a learner that starts anew has forgotten its history.

        Parameters
        ----------
        X, y
            As in `learn_many`; every column holds plain numbers.
        half_life
            After so many rows, what was known before counts half. None: all rows count alike.
        """
        frame = Frame(X)
        told = labels(y, len(frame))
        if not frame.numeric(frame.names):
            raise DataError("study_many needs columns of plain numbers: make indicators of others")
        player = self._player
        if player is None:
            if not frame.names or not len(frame):
                return
            player = self._player_of(frame.names)
        new = canonical(player.unknown(frame.names.keys()))
        if new:
            raise ProblemError(
                f"study_many: the learner does not know {new[0]!r}; leave the column out, or study "
                "before the first row"
            )
        study_history(
            player.learner, ArrayStream(frame.matrix(player.known), told), half_life=half_life
        )
        player.ask()
        if self._player is None:
            self._player, self.n_starts = player, 1


class KeyholeClassifier(RowLearner, base.MiniBatchClassifier):
    """A keyhole learner as a river classifier of two classes: at most `budget` values of a row.

    The classes are True and False, or whatever two labels come. What is looked at, counted and
    started anew is as in `KeyholeRegressor`; probabilities are those of a
    `keyhole.YesNoLearner`.

    Parameters
    ----------
    sparsity, budget, learner, seed, prices, panels, worth, shapes
        As in `KeyholeRegressor`.
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
        shapes: bool | None = None,
    ) -> None:
        super().__init__(sparsity, budget, learner, seed, prices, panels, worth, shapes)
        self.positive = positive
        self._no: tuple[Hashable, ...] = ()  # none or one
        self._yes: tuple[Hashable, ...] = () if positive is None else (positive,)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The classes so far, the one learnt as 0 first."""
        return (*self._no, *self._yes)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class so far; before the first label False and True, both 1/2."""
        if not self.n_rounds:
            return {False: 0.5, True: 0.5}
        return self._shared(self._predict(x))

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn the class of a row. A row that is refused leaves everything as it was."""
        no, yes = self._with([y])
        super().learn_one(x, float(y in yes))
        self._no, self._yes = no, yes

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities for the rows of a DataFrame, a column for each class."""
        frame = extra("pandas", "river").DataFrame
        if not self.n_rounds:
            return frame({False: 0.5, True: 0.5}, index=X.index)
        p: Floats = np.asarray(self._predict_many(X), dtype=np.float64)
        shared = [self._shared(value) for value in p.tolist()]
        return frame(shared, index=X.index, columns=list(self.classes))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the classes of the rows of a DataFrame, as `learn_one` would, but as a block."""
        told = list(y)
        no, yes = self._with(told)
        before, rounds = (self._no, self._yes), self.n_rounds
        self._no, self._yes = no, yes
        try:
            super().learn_many(X, np.array([float(label in yes) for label in told]))
        except BaseException:
            if self.n_rounds == rounds:  # nothing was learnt; otherwise the rows before stand
                self._no, self._yes = before
            raise

    def _player_of(self, names: Iterable[Hashable]) -> Player:
        player = super()._player_of(names)
        player.learner = YesNoLearner(player.learner)
        return player

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
