"""YesNoLearner: any learner, for labels that are 0 or 1; its predictions are probabilities."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, Self, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import LARGEST, SMALLEST, shortened, true_or_false
from keyhole.learners.base import Locked, learner_table, locked
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.calibration import (
    NO,
    ROUNDS,
    YES,
    Calibration,
    Calibrator,
    Forecasters,
    calibration_of,
    calibrator,
    count_history,
)
from keyhole.learners.doubts import Doubt
from keyhole.learners.history import kept_per_row
from keyhole.learners.registry import learner_class
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Learner,
    Observation,
    Problem,
    ProblemError,
    StateError,
    Ticket,
    finite_label,
    plays_blocks,
    real_number,
    real_numbers,
    refuse_unless_stream,
    rows_and_labels,
)
from keyhole.problem.sparse_model import sparse_model
from keyhole.problem.state import (
    AscendingFeatures,
    Holds,
    LearnerState,
    Tree,
    entries,
    fit,
    has_state,
    pack,
)
from keyhole.problem.state_checks import prove
from keyhole.problem.step import Step, early_view, next_features

LABELS_PER_REFRESH = 256  # labels between two looks at the model; at first at powers of two
MIN_LABELS_TO_CALIBRATE = 50  # scores from which on their calibrator is believed


class LinearModel(NamedTuple):
    """A linear model as it was at some round."""

    support: AscendingFeatures
    weights: Annotated[Floats, Holds(shape=("support",))]
    intercept: Annotated[Floats, Holds(shape=(1,))]


def no_model() -> LinearModel:
    """The model that predicts 0."""
    return LinearModel(np.empty(0, dtype=np.int64), np.empty(0), np.zeros(1))


def model_of(learner: Learner) -> LinearModel:
    """The model of a learner as it is now."""
    model = sparse_model(learner)
    order = np.argsort(model.features)
    support: Indices = model.features[order].astype(np.int64)
    return LinearModel(
        support, model.weights[order].astype(np.float64), np.array([model.intercept])
    )


def next_look(told: int) -> int:
    """After how many labels the model is looked at next, if there are so many now.

    >>> [next_look(told) for told in (0, 1, 2, 5, 128, 255, 256, 300)]
    [1, 2, 4, 8, 256, 256, 512, 512]
    """
    return (
        1 << told.bit_length()
        if told < LABELS_PER_REFRESH
        else (told // LABELS_PER_REFRESH + 1) * LABELS_PER_REFRESH
    )


def learn_one(state: Forecasters, model: LinearModel, seen: Observation, y: float) -> None:
    """Learn the label of the model's score, if all that the model needs was bought and came."""
    features = seen.ticket.features
    if len(features):
        places = np.searchsorted(features, model.support).clip(max=len(features) - 1)
        if not np.array_equal(features[places], model.support):
            return
    elif len(model.support):
        return
    else:
        places = np.empty(0, dtype=np.int64)
    _learn(state, model, np.array(seen.values)[np.newaxis, places], np.array([y]))


def learn_rows(
    state: Forecasters,
    model: LinearModel,
    X: NDArray[np.floating],
    y: Floats,
    bought: NDArray[np.int32],
) -> None:
    """As `learn_one`, for the rounds of a block; of X only what was bought is looked at."""
    have = np.ones(len(y), dtype=np.bool_)
    for j in model.support.tolist():
        have &= (bought == j).any(axis=1)
    rows = np.flatnonzero(have)
    values = X[np.ix_(rows, model.support)].astype(np.float64)
    values[np.abs(values) < SMALLEST] = 0.0  # as in an Observation
    _learn(state, model, values, y[rows])


def _learn(state: Forecasters, model: LinearModel, values: Floats, y: Floats) -> None:
    scores = np.full(len(y), model.intercept[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for i, weight in enumerate(model.weights.tolist()):  # in this order, row by row or at once
            scores += weight * values[:, i]
    here = np.isfinite(scores)
    kept = np.clip(scores[here], -LARGEST, LARGEST)
    state.play(kept, y[here])


def believed(linear: Forecasters, whole: Forecasters) -> Forecasters:
    """The calibrator for scores of the linear model: its own, once that has seen enough."""
    return linear if linear.told[ROUNDS] >= MIN_LABELS_TO_CALIBRATE else whole


# What a learner may offer beside the protocol; asked for here, it is that of the learner inside.
FORWARDED_ATTRIBUTES = (
    *("model", "explain", "curves", "advice", "bound", "seed"),
    *("worth", "purse", "purse_left", "horizon", "STUDIES", "FADES"),
)


class YesNoLearner(Locked):
    """A learner whose labels are 0 (no) or 1 (yes), and whose predictions are probabilities of yes.

    The learner inside decides what is bought and predicts the label as a number, its *score*. A
    calibrator, which learns from every label, turns the score into a probability: a mixture of the
    score as it is, the share of yes so far, Platt scaling and isotonic regression
    (`calibration.py`). The squared loss of a probability is its Brier score, so `play`,
    `hindsight` and `regret` mean what they say.

    Parameters
    ----------
    learner
        Any learner. From now on it is used by this one, as `inner`; do not play it separately.

    Guarantee
    ---------
    Probabilities lie between 1e-9 and 1 - 1e-9. For every sequence, each label told
    before the next ask, the log loss of T rounds is at most ln(4 T) above that of the best of the
    four forecasters, in nats, all rounds together: `calibration()` says how much it is. Of late
    labels it holds for probabilities made anew as labels are told, not for those served. What is
    bought and learnt inside is, bit for bit, what the learner alone would buy and learn from the
    labels 0 and 1.

    Deviations
    ----------
    The calibrator learns pairs of a score and its label. A score is recomputed when the label is
    told: for a late label it is the score at that time, with what was learnt in between. From
    history the calibrator learns only the share of yes, because nothing was predicted there.

    `weights`, `intercept`, `model()`, `explain()`, `curves()` and `advice()` are those of the
    learner inside: they are about the score, and so are the contributions that `explain(seen)` adds
    up. `probabilities(scores)` turns scores into probabilities.

    Examples
    --------
    >>> import keyhole as kh
    >>> import numpy as np
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=4000, seed=0)
    >>> X, y = kh.streams.collect(stream)
    >>> answers = kh.streams.ArrayStream(X, y > np.median(y))       # 0 and 1
    >>> learner = kh.YesNoLearner(kh.AutoLearner(kh.Problem(d=20, k=2, budget=6), seed=0))
    >>> scores = kh.ProbabilityScores()
    >>> ledger = kh.play(learner, answers, observers=[scores])
    >>> bool(scores.log_loss < 0.5 * scores.base_log_loss), scores.auc.low > 0.95
    (True, True)
    """

    def __init__(self, learner: Learner) -> None:
        problem = getattr(learner, "problem", None)
        if not isinstance(problem, Problem) or isinstance(learner, type):
            raise ProblemError(
                "YesNoLearner needs a learner, such as kh.AutoLearner(kh.Problem(d, k, budget)), "
                f"got {shortened(learner)}"
            )
        if isinstance(learner, YesNoLearner):
            raise ProblemError("the learner predicts probabilities already: use it as it is")
        self._inner = learner
        self._calibrator, self._linear = Forecasters(), Forecasters()
        self._stopped: Forecasters | None = None  # of examples that could go on, some of which do
        self._model = no_model()  # as it was when it was last looked at

    @property
    def inner(self) -> Learner:
        """The learner inside."""
        return self._inner

    @property
    def problem(self) -> Problem:
        """The problem of the learner inside."""
        return self._inner.problem

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""
        return self._inner.round

    @property
    def weights(self) -> Floats:
        """The linear model of the score."""
        return self._inner.weights

    @property
    def intercept(self) -> float:
        """What that model adds to the weighted sum."""
        return self._inner.intercept

    def __getattr__(self, name: str) -> Any:
        if name in FORWARDED_ATTRIBUTES:
            found = getattr(self._inner, name)
            return functools.partial(self._explained, found) if name == "explain" else found
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _explained(self, explain: Any, seen: Observation | None = None) -> Any:
        """What the learner inside explains; of an example, the score and what comes of it."""
        if seen is None:
            return explain()
        found = explain(seen)
        p = self._calibrator_of(seen).predict(found.prediction)
        return replace(found, of="score", probability=p)

    def __repr__(self) -> str:
        return f"<YesNoLearner around {self._inner!r}>"

    def _repr_html_(self) -> str:
        return learner_table(f"YesNoLearner around {type(self._inner).__name__}", self)

    @locked
    def calibration(self) -> Calibration:
        """How well scores became probabilities so far, and the regret of that."""
        return calibration_of(self._calibrator)

    @locked
    def probabilities(self, scores: ArrayLike, *, shapes: bool = False) -> Floats:
        """The probabilities of a yes that scores of the linear model come to; NaN stays NaN.

        For `model().predict(...)`, or `intercept + X @ weights` of learners that have no `model`.
        They have a calibrator of their own: it learns in rounds in which all that the model needs
        was bought, from the model as it was up to 256 labels ago. With `shapes`, for scores of
        `model(shapes=True)`: these are much like the learner's own, and its calibrator is used.
        """
        given = np.array(real_numbers("scores", scores), dtype=np.float64)
        own = true_or_false("shapes", shapes)
        known = self._calibrator if own else believed(self._linear, self._calibrator)
        found = known.predict_all(np.clip(given.ravel(), -LARGEST, LARGEST))
        result: Floats = np.where(np.isnan(given), np.nan, found.reshape(given.shape))
        return result

    @locked
    def ask(self, /, **terms: Any) -> Ticket:
        """A ticket of the learner inside, on the terms that it knows."""
        return self._inner.ask(**terms)

    @locked
    def predict(self, seen: Observation) -> float:
        """The probability of a yes; changes nothing."""
        score = self._score(seen)
        return self._calibrator_of(seen).predict(score)

    def _calibrator_of(self, seen: Observation) -> Forecasters:
        """That of examples that could go on, once there are any, or of all others.

        It learns from those that went on too, from what was known before they did: else, when it
        once says that too little is known, nothing would stop, and it would never learn better.
        """
        if self._stopped is None or next_features(seen.ticket) is None:
            return self._calibrator
        return self._stopped

    @locked
    def next(self, seen: Observation, *, stop_at: float | None = None) -> Step:
        """What to buy next, by the learner inside; `stop_at`: or one answer is so probable."""
        if stop_at is not None and not 0.5 < real_number("stop_at", stop_at) < 1.0:
            raise ProblemError(
                f"stop_at is a probability of yes or no, above 0.5 and below 1, got {stop_at}"
            )
        inner: Any = self._inner
        if not hasattr(inner, "next"):
            raise ProblemError(
                f"{type(inner).__name__} has no `next`, so it cannot buy step by step: use a "
                "learner that has it, such as kh.AutoLearner"
            )
        step: Step = inner.next(seen)
        if not step or stop_at is None:
            return step
        probable = self.predict(seen)
        if max(probable, 1.0 - probable) < stop_at:
            return step
        answer = "yes" if probable > 0.5 else "no"
        why = f"{answer} has a probability of {max(probable, 1.0 - probable):.3g}"
        return Step(step.seen, step.seen.ticket, 0.0, why)

    @locked
    def tell(self, seen: Observation, y: float) -> None:
        """Learn the label, 0 or 1."""
        label, score = self.problem.possible_label(yes_or_no(y)), self._score(seen)
        early = early_view(seen)
        unfinished = None if early is None else self._score(early)
        self._inner.tell(seen, label)
        if unfinished is not None:
            self._stopped = self._stopped or Forecasters(self._calibrator.state())
            self._stopped.learn(unfinished, label)
        if next_features(seen.ticket) is None:
            self._calibrator.learn(score, label)
        learn_one(self._linear, self._model, seen, label)
        self._look()

    @locked
    def doubts(self, seen: Observation, y: float | None = None) -> tuple[Doubt, ...]:
        """Which of these values are implausible, by the learner inside; a label is 0 or 1."""
        if y is not None:
            yes_or_no(y)
        inner: Any = self._inner
        return inner.doubts(seen) if hasattr(inner, "doubts") else ()

    def _score(self, seen: Observation) -> float:
        """What the learner inside predicts: for a probability, and for the pair that is learnt."""
        score = float(self._inner.predict(seen))
        if not math.isfinite(score):
            name = type(self._inner).__name__
            raise DataError(f"{name} predicted {score}, a prediction is finite")
        return score

    @locked
    def drop(self, ticket: Ticket) -> None:
        """Close the ticket."""
        self._inner.drop(ticket)

    def correct(self, ticket: Ticket, *, y: float | None = None, values: Any = None) -> None:
        """Refused: its calibration has learnt from the label and the score, and keeps neither."""
        from keyhole.learners.correcting import refuse_to_correct

        refuse_to_correct(type(self).__name__, "its calibration keeps no rows")

    @locked
    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds at once, and return the probabilities."""
        rows, told = rows_and_labels(X, y, self.problem.d)
        refuse_other_answers(told)
        labels = np.asarray(told, dtype=np.float64)
        if bought is None:
            bought = np.empty((len(labels), self.problem.width), dtype=np.int32)
        predictions = np.empty(len(labels))
        for part in _parts(rows, self._told, self.problem):
            scores = self._advance_inside(rows[part], labels[part], bought[part])
            predictions[part] = self._calibrator.play(scores, labels[part])
            learn_rows(self._linear, self._model, rows[part], labels[part], bought[part])
            self._look()
        return predictions

    @property
    def _told(self) -> int:
        return int(self._calibrator.told[ROUNDS])

    def _look(self) -> None:
        """Look at the linear model, if it is time: the same labels, whether in blocks or not."""
        if next_look(self._told - 1) == self._told:
            self._model = model_of(self._inner)

    def _advance_inside(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]
    ) -> Floats:
        """The scores of a block of rounds."""
        inside = self._inner
        if plays_blocks(inside):
            return np.array(inside.advance(X, y, bought), dtype=np.float64)
        scores = np.empty(len(y))
        for t, label in enumerate(y.tolist()):
            ticket = inside.ask()
            seen = Observation(ticket, X[t, ticket.features].astype(np.float64))
            scores[t] = self._score(seen)
            inside.tell(seen, label)
            bought[t] = -1
            bought[t, : len(ticket.features)] = ticket.features
        return scores

    @locked
    def study(
        self,
        history: BlockStream,
        *,
        half_life: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Let the learner inside study complete rows, labels 0 and 1; how many there were."""
        method = getattr(self._inner, "study", None)
        if method is None:
            raise ProblemError(f"{type(self._inner).__name__} has no `study`: leave history out")
        keep = kept_per_row(half_life)
        if isinstance(history, DataSums):
            raise ProblemError("a learner of yes and no studies rows, not sums: give the stream")
        refuse_unless_stream(history, blocks=True, name="history")
        answers = _BinaryHistory(history, self._calibrator.told, keep)
        rows = int(method(answers, half_life=half_life, progress=progress))
        self._calibrator.told[:] = answers.told
        return rows

    @locked
    def state(self) -> LearnerState:
        """Everything this learner is, the learner inside included, for `keyhole.save`."""
        inside, name = self._inner, type(self._inner).__name__
        if not has_state(inside) or learner_class(name) is not type(inside):
            raise StateError(
                f"a {type(self).__name__} of a {name} cannot be saved: the learner inside must be "
                "one of keyhole's own"
            )
        whole = inside.state()
        kept = {"learner": name, "settings": {**whole.settings}, "parts": {**whole.parts}}
        own = {
            "calibrator": self._calibrator.state(),
            "linear": self._linear.state(),
            "model": self._model,
        }
        if self._stopped is not None:
            own["stopped"] = self._stopped.state()
        parts = {**{name: pack(part, name) for name, part in own.items()}, "inner": kept}
        return LearnerState(type(self).__name__, self.problem, self.round, {}, parts)

    @classmethod
    def from_state(cls, state: LearnerState) -> Self:
        """The learner that `state` described; a StateError names what in it cannot be."""
        learner = cls(_inner_of(state))
        stopped = ("stopped",) if "stopped" in state.parts else ()
        for name in ("calibrator", "linear", *stopped):
            found = fit(calibrator(), state.part(name), name)
            _prove(found, name, state.round)
            setattr(learner, f"_{name}", Forecasters(found))
        learner._model = fit(no_model(), state.part("model"), "model", loose=True)
        prove(learner._model, "model", {"d": state.problem.d})
        return learner


class _BinaryHistory:
    """A history that is refused at the first label that is neither 0 nor 1, and counts them."""

    def __init__(self, history: BlockStream, before: list[float], keep: float) -> None:
        self.d, self.names, self.rounds = history.d, history.names, history.rounds
        self.told = before.copy()
        self._history, self._before, self._keep = history, before, keep

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return iter(self._history)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.floating], Floats]]:
        """The rows of the history; a pass counts their labels from what was before."""
        self.told[:] = self._before
        for X, y in self._history.blocks(rows):
            labels = np.array(real_numbers("y", y), dtype=np.float64, order="C")
            refuse_other_answers(labels)
            count_history(self.told, labels.ravel(), self._keep)
            yield X, y


def yes_or_no(y: SupportsFloat) -> float:
    """The label as 0.0 or 1.0, or a DataError.

    >>> yes_or_no(True), yes_or_no(0)
    (1.0, 0.0)
    """
    label = finite_label(y)
    if label not in (0.0, 1.0):
        raise DataError(
            f"the label must be 0 (no) or 1 (yes), got {shortened(y)}: say which of your labels is "
            "1, or use the learner inside for labels that are numbers"
        )
    return label


def refuse_other_answers(y: Floats) -> None:
    """The DataError of `yes_or_no` for the first label that is neither 0 nor 1, if any."""
    for label in y[(y != 0.0) & (y != 1.0)][:1].tolist():
        yes_or_no(label)


def _parts(rows: NDArray[np.floating], told: int, problem: Problem) -> Iterator[slice]:
    """A block in parts that end where the model is looked at, and around rows that may be refused.

    Rounds before a row that cannot be played stand. The learner inside keeps them, and their scores
    are needed here, which a block that ends in an error does not hand out.
    """
    may_be_refused = (np.abs(rows) > np.float64(LARGEST)).any(axis=1)
    if problem.limits is not None:
        may_be_refused |= problem.limits.rows_beyond(rows)
    odd = np.flatnonzero(may_be_refused)
    ends = {len(rows), *odd.tolist(), *(odd + 1).tolist()}
    look = next_look(told)
    while look - told < len(rows):
        ends.add(look - told)
        look = next_look(look)
    for start, stop in itertools.pairwise(sorted(ends | {0})):
        yield slice(start, stop)


def _inner_of(state: LearnerState) -> Learner:
    """The learner inside, which proves its own state."""
    tree: dict[str, Tree] = entries(state.part("inner"), ["learner", "settings", "parts"], "inner")
    name = tree["learner"]
    kind = learner_class(name) if isinstance(name, str) and name != "YesNoLearner" else None
    if kind is None:
        raise StateError(f"inner must be one of keyhole's learners, the state has {name!r}")
    for key in ("settings", "parts"):
        if not isinstance(tree[key], dict):
            raise StateError(f"inner.{key} must be entries by name")
    return kind.from_state(
        LearnerState(name, state.problem, state.round, tree["settings"], tree["parts"])
    )


def _prove(found: Calibrator, name: str, round: int) -> None:
    """StateError unless a calibrator that was put back is one that labels can have led to."""
    prove(found, name, {})
    rounds, (a, b, c) = float(found.told[ROUNDS]), found.precision.tolist()
    if rounds > round or rounds != float(found.bins[[NO, YES]].sum()):
        raise StateError(f"{name}: it counts {rounds:g} labels, there were {round} rounds")
    if not a * c - b * b > 0.0:
        raise StateError(f"{name}.precision must be positive definite, got {[a, b, c]}")
    if not abs(float(found.share.sum()) - 1.0) < 1e-9 or not (found.share > 0.0).all():
        raise StateError(f"{name}.share must be positive and add up to 1")
