"""LearnerBase: tickets, blocks of rounds, intervals, history and saving, for every learner."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import math
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import SMALLEST, positive_number, shortened, true_or_false
from keyhole.learners.blocks.draw.block import Block
from keyhole.learners.blocks.draw.sampling import refuse_unless_drawable, workspace
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.reach import SIZE, extend, packed, see, unpacked
from keyhole.learners.doubts import FAR, Doubt, doubts_about
from keyhole.learners.history import study
from keyhole.learners.registry import LINEAR_MEMORY_LEARNERS
from keyhole.learners.residuals import Residuals
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    KeyholeError,
    Learner,
    Observation,
    Problem,
    ProblemError,
    Ticket,
    real_number,
    refuse_round,
    rows_and_labels,
)
from keyhole.problem.desk import Desk
from keyhole.problem.display import HtmlCell, counted, html_table
from keyhole.problem.labels import (
    PredictionInterval,
    a_coverage,
    cut_off_largest,
    cut_off_largest_rounds,
)
from keyhole.problem.memory import refuse_beyond_memory
from keyhole.problem.rows import BoughtValues, bought_for, bought_of_rows
from keyhole.problem.sparse_model import sparse_model
from keyhole.problem.state import LearnerState, restore, snapshot
from keyhole.problem.state_checks import prove, prove_tickets
from keyhole.problem.step import Step, early_view, next_features
from keyhole.problem.ticket import refuse_unfilled

if TYPE_CHECKING:
    from keyhole.learners.correcting import RightValues

STOP_COVERAGE = 0.9  # of the interval that `stop_at` is about
OF_AUTO = ("model", "explain", "curves", "advice")

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Locked")


def locked(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """The method, for one thread at a time; it may call others of the same object."""

    @functools.wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Locked:
    """An object with a lock, for calls that must wait for each other.

    Without it, a label that one thread brings while another asks could be lost. The lock is not a
    part of the object: copies have one of their own, and no file holds it.
    """

    _lock: threading.RLock

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """A new object, with its lock."""
        new = object.__new__(cls)
        new._lock = threading.RLock()
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}


# The features of a round, and what its ticket remembers until the label comes: a NamedTuple or a
# mapping of arrays.
Choice = tuple[ArrayLike, tuple[NDArray[Any], ...] | Mapping[str, NDArray[Any]]]


class LearnerBase(Locked, ABC):
    """Everything a learner needs but its round: a subclass writes that, once, in NumPy.

    A convenience, not a contract: a learner is any class with the members of `keyhole.Learner`.
    docs/howto/add-a-learner.md shows how to write one, `learners/dual_averaging.py` is one.

    **The round**: `weights`, and `intercept` if it is not 0; `_choose(t)`, the features that round
    t buys and what its ticket must remember; `_predict(seen)`; `_learn(seen, label)`. `ask`,
    `predict`, `tell` and `drop` are here only: they issue and close tickets, refuse those that are
    not open or were changed, silence overflows, and note the errors that intervals are made from.
    `advance` plays a block of rounds by the same methods.

    **Arguments** of the constructor, beside the problem and the seed, are attributes of the same
    name, as in scikit-learn; `settings` reads them for files. One that takes `clip` and hands it on
    has predictions cut off at the range of the labels so far; `_predict` knows nothing of it.

    **State**: SAVED names the attributes that change as the learner plays. Everything else is
    derived from these, in the constructor or in `_resume`. A field that may hold less than any
    finite number, or more, says so where it is declared (`keyhole/problem/state.py`).

    All that follows has defaults:

    - `_before_round(t)`: what happens only before some rounds, such as a new model.
    - `_play(block)`: many rounds in one call, the same as one by one, to the bit; see `Block`.
      `_rounds_alike(t)` says for how many rounds, from t on, `_before_round` is not needed again.
    - MEMOS: the NamedTuples that `_choose` puts on tickets; those in a file are held to them.
    - STUDIES: complete rows can be learnt from at no cost, by `_study`; FADES: it can let older
      ones count less; STUDIES_SUMS: sums of rows will do, for `_study_sums`.
    - CORRECTS: what was told wrong can be mended, by `_correct`.
    - HANDLES_PRICES: it stays within `problem.limit` by itself, and buys up to `problem.width`
      features; `blocks/fit/purchase.py` helps. Without it, a learner reads any `problem.reads`
      features, and too few of those are refused.
    - OWN_REACH: it knows by itself how far values reach, and `_reach` says so to `doubts`.
    - BYTES_PER_PAIR: memory for each pair of features, at most; where that is more than there is,
      the constructor refuses before anything is allocated.

    Several threads may use one learner: its calls wait for each other.
    """

    SAVED: tuple[str, ...] = ("_desk",)
    MEMOS: tuple[type, ...] | None = None  # not declared: files are trusted with them
    HANDLES_PRICES: ClassVar[bool] = False
    BYTES_PER_PAIR: ClassVar[float] = 0.0
    REMEDY: ClassVar[str] = (
        "use fewer features, or by name a learner that needs O(d): "
        + ", ".join(LINEAR_MEMORY_LEARNERS)
    )
    STUDIES: ClassVar[bool] = False
    FADES: ClassVar[bool] = False
    STUDIES_SUMS: ClassVar[bool] = False
    CORRECTS: ClassVar[bool] = False
    OWN_REACH: ClassVar[bool] = False

    _seen: Floats | None = None  # how far values reach, see `doubts`; None before any
    _in_block = False  # while a block is played round by round, whose errors are heard at its end

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """A new learner; ProblemError here, before any constructor uses what is not a problem."""
        if cls.__init__.__code__.co_varnames[1:2] == ("problem",):
            for first in given[:1] or [named[name] for name in named if name == "problem"]:
                if not isinstance(first, Problem):
                    raise ProblemError(
                        f"{cls.__name__} needs a problem, kh.Problem(d=..., k=..., budget=...), "
                        f"got {shortened(first)}"
                    )
                if not cls.HANDLES_PRICES:
                    refuse_unaffordable(first)
        return super().__new__(cls)

    def __init_subclass__(cls, **options: Any) -> None:
        """Save the desk first, whatever else SAVED names."""
        super().__init_subclass__(**options)
        if "_desk" not in cls.SAVED:
            cls.SAVED = ("_desk", *cls.SAVED)

    def __init__(self, problem: Problem, *, seed: int = 0, clip: bool = False) -> None:
        refuse_unless_drawable(seed, problem.d)
        refuse_beyond_memory(
            f"{type(self).__name__} for {problem.d:,} features",
            self.memory(problem),
            self.REMEDY,
        )
        self.seed, self.clip = seed, true_or_false("clip", clip)
        self._desk, self._residuals = Desk(problem), Residuals(problem.d)
        self._stopped: Residuals | None = None  # of examples for which enough was known early
        self._midway: Residuals | None = None  # of all, while more could be bought

    if not TYPE_CHECKING:  # there, a name that is nowhere stays an error

        def __getattr__(self, name: str) -> Any:
            own = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in OF_AUTO:
                own = f"{type(self).__name__} has no `{name}`: only AutoLearner has"
            raise AttributeError(own, name=name, obj=self)

    def __repr__(self) -> str:
        p, asked = self.problem, counted(self.round, "round")
        about = f"{type(self).__name__} d={p.d} k={p.k} budget={p.budget:g} seed={self.seed}"
        return f"<{about}: {asked} asked, {counted(len(self._desk.open), 'label')} awaited>"

    def _repr_html_(self) -> str:
        return learner_table(type(self).__name__, self)

    @classmethod
    def memory(cls, problem: Problem) -> float:
        """About how many bytes it needs at most for pairs of features; 0 if it keeps none."""
        return cls.BYTES_PER_PAIR * float(problem.d) ** 2

    @property
    def problem(self) -> Problem:
        """The problem the learner was made for."""
        return self._desk.problem

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""
        return self._desk.round

    @property
    def intercept(self) -> float:
        """0: a model through the origin, unless the learner says otherwise."""
        return 0.0

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The linear model as it is now."""

    def ask(self, *, steps: bool = False) -> Ticket:
        """A ticket for what to buy in the next round.

        With `steps` it may be for less than the budget buys; `next` then says what more to buy:
        nothing, where a learner cannot tell.
        """
        true_or_false("steps", steps)
        with self._lock, np.errstate(all="ignore"):
            t = self.round + 1
            self._before_round(t)
            return self._issue(self._choose(t))

    def _issue(self, choice: Choice) -> Ticket:
        """The ticket of a choice."""
        features, memo = choice
        by_name: Any = memo if isinstance(memo, Mapping) else memo._asdict()  # type: ignore[attr-defined]
        return self._desk.issue(features, by_name)

    def predict(self, seen: Observation) -> float:
        """The prediction from what was bought; changes nothing but `seen.prediction`.

        Only for a ticket that is open and as it was issued, or a copy of it: anything else is a
        TicketError, so that compiled code never meets features or a memo that are not its own.
        """
        with self._lock, np.errstate(all="ignore"):
            refuse_unfilled("predict", seen)
            ticket = self._desk.issued(seen.ticket)
            own = seen if ticket is seen.ticket else Observation(ticket, seen.values)
            cut_off = self._desk.labels.cut_off if self.clip else cut_off_largest
            prediction = cut_off(self._predict(own))
            object.__setattr__(seen, "prediction", prediction)
            return prediction

    @locked
    def next(self, seen: Observation, *, stop_at: float | None = None) -> Step:
        """What to buy next for this example, given what was seen of it; or that enough is known.

        For tickets of `ask(steps=True)`. It changes nothing, and says the same when asked again;
        with a width to stop at, 90 % intervals are tracked from then on, as `interval` does it.

        Parameters
        ----------
        seen
            What came back so far; what did not arrive yet counts as absent.
        stop_at
            Enough is known once the 90 % interval is at most so wide; for yes-or-no learners once
            yes or no is at least so probable. None: the learner's own terms alone decide.

        Examples
        --------
        >>> import keyhole as kh
        >>> stream, truth = kh.streams.realizable(d=9, k=2, n=2000, seed=0)
        >>> learner = kh.AutoLearner(kh.Problem(d=9, k=2, budget=5), seed=0)
        >>> ledger = kh.play(learner, stream, steps=True)
        >>> x, y = next(iter(stream))
        >>> ticket = learner.ask(steps=True)                        # the first step
        >>> seen = ticket.fill(x[ticket.features])
        >>> while step := learner.next(seen, stop_at=0.5):
        ...     seen = step.fill(x[step.features])
        >>> learner.tell(seen, y)
        """
        refuse_unfilled("next", seen)
        if stop_at is not None:
            positive_number("stop_at", stop_at)
        ticket = self._desk.issued(seen.ticket)
        own = seen if ticket is seen.ticket else Observation(ticket, seen.values)
        grown = self._desk.next_step(ticket)
        if grown is None:
            return Step(own, ticket, 0.0, "everything that this ticket is for was bought")
        why_not = self._close_enough(own, stop_at)
        if why_not is not None:
            return Step(own, ticket, 0.0, why_not)
        goes_on, reason = self._goes_on(own, *grown)
        return Step(own, *grown, reason) if goes_on else Step(own, ticket, 0.0, reason)

    def _close_enough(self, seen: Observation, stop_at: float | None) -> str | None:
        """Why enough is known, if the interval is as narrow as was asked for."""
        if stop_at is None:
            return None
        prediction, errors = float(self.predict(seen)), self._midway or self._residuals
        width = errors.look(prediction, STOP_COVERAGE, bought_for(seen)).width
        return f"the 90 % interval is {width:.3g} wide" if width <= stop_at else None

    def _goes_on(self, seen: Observation, grown: Ticket, cost: float) -> tuple[bool, str]:
        """Whether to make the next step, at this cost, and why; of tickets that have one."""
        raise NotImplementedError

    def tell(self, seen: Observation, y: float) -> None:
        """Learn the label, and note for intervals how far the prediction was from it.

        Any error about the label or the ticket comes before any change.
        """
        with self._lock, np.errstate(all="ignore"):
            prediction = None if self._in_block else self._prediction_of(seen)
            ticket, label = self._desk.settle(seen, y)
            own = seen if ticket is seen.ticket else Observation(ticket, seen.values)
            self._note_midway(own, label)
            self._learn(own, label)
            if not self._in_block:
                self._see(bought_for(own), np.array([label]))
            if prediction is not None:
                self._note_stopped(ticket)
                errors = self._errors_of(ticket)
                bought = bought_for(own) if errors.tracking else None
                errors.hear(ticket.round, prediction, label, bought)
                self._forget(ticket.round)

    def drop(self, ticket: Ticket) -> None:
        """Close the ticket of an example whose label will never come."""
        with self._lock:
            issued = self._desk.drop(ticket)
            self._dropped(issued)
            self._forget(issued.round)

    def _forget(self, round: int) -> None:
        """No interval is awaited for this ticket any more."""
        self._residuals.forget(round)
        if self._stopped is not None:
            self._stopped.forget(round)

    def _errors_of(self, ticket: Ticket) -> Residuals:
        """The errors of examples like this: of those that stopped early apart from all others.

        Whether an example stops hangs on what was seen of it, so its errors are not those of all.
        """
        if self._stopped is None or next_features(ticket) is None:
            return self._residuals
        return self._stopped

    def _note_midway(self, seen: Observation, label: float) -> None:
        """Of examples that could go on, whether they did or not: what `stop_at` is judged by.

        A record of those that stopped would never hear again of what it once held to be unsure.
        """
        early = early_view(seen)
        if early is None:
            return
        if self._midway is None:
            self._midway = self._as_a_beginning()
            self._midway.track(STOP_COVERAGE)
        guess = cut_off_largest(self._predict(early))
        self._midway.hear(seen.round, guess, label, bought_for(early))

    def _as_a_beginning(self) -> Residuals:
        """A copy of the errors so far, which waits for no label."""
        errors = copy.deepcopy(self._residuals)
        for round in errors.awaited:
            errors.forget(round)
        return errors

    def _note_stopped(self, ticket: Ticket) -> None:
        """The first that stopped early is told: from here on their errors are kept apart."""
        if self._stopped is None and next_features(ticket) is not None:
            self._stopped = self._as_a_beginning()

    @locked
    def correct(
        self, ticket: Ticket, *, y: float | None = None, values: RightValues | None = None
    ) -> None:
        """Mend a row that was told wrong: another label, other values.

        What was predicted and bought since stays as it was.

        Parameters
        ----------
        ticket
            That of the row; its label was told.
        y
            The right label. None: it was right.
        values
            The right values, by name or number of a feature that was bought; None or NaN for one
            that never arrived. All others were right.

        Raises
        ------
        StateError
            The learner cannot take back what it learnt.
        TicketError
            The ticket is not one that it was told, or was told too long ago.
        DataError
            A value or the label cannot be used. As after any error, the learner is as it was.
        """
        # Imported here: most learners are never corrected.
        from keyhole.learners.correcting import correct

        correct(self, ticket, y, values)

    def _correct(
        self, ticket: Ticket, label: float | None, places: Indices, values: Floats
    ) -> None:
        """Mend a row: its label unless that is None, the values at these places of the ticket."""
        raise NotImplementedError

    def _prediction_of(self, seen: Observation) -> float | None:
        """What was predicted, or else is predicted now.

        None for what `tell` is going to refuse, and for predictions that are no plain number.
        """
        if not isinstance(seen, Observation):
            return None
        prediction = self._errors_of(seen.ticket).prediction(seen.round)
        if prediction is None:
            prediction = seen.prediction
        if prediction is None:
            try:
                prediction = float(self.predict(seen))
            except (KeyholeError, TypeError, ValueError):
                return None
        return prediction if math.isfinite(prediction) else None

    @locked
    def interval(
        self, seen: Observation, coverage: float = 0.9, *, issue: bool = True
    ) -> PredictionInterval:
        """Where the label will be, in a share `coverage` of rounds, around what is predicted now.

        It is made from the learner's own errors and changes nothing that the learner does. What was
        issued for a ticket is judged when its label is told, however late, or forgotten when it is
        dropped; asked again, the last interval counts. A coverage is tracked from the first time
        it is asked for, and starts from the last 512 errors.

        Parameters
        ----------
        seen
            What came back for a ticket that is open.
        coverage
            From 0.01 to 0.999; up to 16 different ones. Of two, the interval of the lower one lies
            within the other.
        issue
            False only looks: the interval is not kept, and what is judged is what would be issued
            when the label comes.

        Guarantee
        ---------
        For every sequence of labels, the share of labels told that lie within their intervals comes
        to `coverage`, with an error that shrinks as 1/rounds, D^2/rounds if labels are D rounds
        late: see `keyhole/learners/blocks/conformal.py`. More lie within them where an interval is
        one point and that is the label: all, once labels are constant. Not for every part of the
        rounds by itself.

        Examples
        --------
        >>> import keyhole as kh
        >>> stream, truth = kh.streams.realizable(d=30, k=2, n=2048, noise_sd=0.1, seed=0)
        >>> learner = kh.AutoLearner(kh.Problem(d=30, k=2, budget=8), seed=0)
        >>> ledger = kh.play(learner, stream)
        >>> ticket = learner.ask()
        >>> interval = learner.interval(ticket.fill([0.5] * 8))
        >>> 0.3 < interval.width < 0.5, interval.prediction in interval
        (True, True)
        """
        share, prediction = a_coverage(coverage), float(self.predict(seen))
        errors = self._errors_of(seen.ticket)
        if not issue:
            return errors.look(prediction, share, bought_for(seen))
        return errors.issue(seen.ticket.round, prediction, share, bought_for(seen))

    @locked
    def doubts(self, seen: Observation, y: float | None = None) -> tuple[Doubt, ...]:
        """Which of these values, or whether the label, is implausible; nothing is changed by it.

        A value far beyond all that was seen is, and one likely to be a typo says what may have been
        meant: digits too many or too few, a sign. Nothing is refused: what is told is learnt as
        ever. Before enough was seen there are no doubts.

        Examples
        --------
        >>> import keyhole as kh, numpy as np
        >>> learner = kh.AutoLearner(kh.Problem(d=1, k=1, budget=1, names=["creatinine"]), seed=0)
        >>> values = np.linspace(0.6, 1.4, 32)
        >>> _ = learner.advance(values[:, None], 10.0 * values)
        >>> for doubt in learner.doubts(learner.ask().fill([90.0]), y=11.0):
        ...     print(doubt)
        creatinine: 90 is 64 times the largest seen (0.6 to 1.4): did you mean 0.9?
        """
        refuse_unfilled("doubts", seen)
        label = None if y is None else self.problem.possible_label(y)
        reach, far = self._reach()
        return () if reach is None else doubts_about(seen, label, reach, far, self.problem)

    def _reach(self) -> tuple[Floats | None, float]:
        """How far values reach, and what is far beyond that."""
        return self._seen, FAR

    def _see(self, bought: BoughtValues, y: Floats) -> None:
        """Note how far these rows reach."""
        if not self.OWN_REACH:
            see(self._noted(), FAR, bought.values, bought.features, y)

    def _see_history(self, X: Floats, y: Floats) -> None:
        """The same of complete rows, unless they were played."""
        if self.OWN_REACH or type(self)._study is LearnerBase._study:
            return
        every = np.arange(self.problem.d)[None, :]
        for x, label in zip(X, y, strict=True):
            see(self._noted(), FAR, np.ascontiguousarray(x)[None, :], every, np.array([label]))

    def _see_sums(self, history: DataSums) -> None:
        if not self.OWN_REACH:
            low, high = (
                np.append(ends, end)
                for ends, end in zip((history.low, history.high), history.ends, strict=True)
            )
            extend(self._noted(), low, high, np.append(history.counts, float(history.rounds)))

    def _noted(self) -> Floats:
        if self._seen is None:
            self._seen = np.zeros((self.problem.d + 1, SIZE))
        return self._seen

    @locked
    def error_range(self, coverage: float = 0.9) -> tuple[float, float]:
        """How far labels lay below and above predictions, in that share of the last 512 rounds.

        For predictions that are made without a ticket, such as those of `model()`, of which no
        label is told. It holds for rows like those, in any order; infinite while there are too few.
        """
        return self._residuals.error_range(coverage)

    @locked
    def track_coverage(self, coverage: float) -> None:
        """Prepare for intervals of this coverage now, as the first `interval` would.

        Labels that come from now on are then learnt from one by one, not only the last 512 of them
        when the first interval is asked for.
        """
        self._residuals.track(coverage)
        if self._stopped is not None:
            self._stopped.track(coverage)

    @locked
    def residuals(self) -> Residuals:
        """What intervals are made from, as a copy: the errors so far, never the learner itself."""
        return copy.deepcopy(self._residuals)

    @abstractmethod
    def _choose(self, t: int) -> Choice:
        """The features that round t buys, ascending, and what its ticket remembers."""

    @abstractmethod
    def _predict(self, seen: Observation) -> float:
        """The prediction from what was bought, for a ticket that can be trusted."""

    @abstractmethod
    def _learn(self, seen: Observation, label: float) -> None:
        """Learn the label, of a ticket that can be trusted and is closed by now."""

    def _dropped(self, ticket: Ticket) -> None:
        """Do without the label of this ticket, which is closed by now."""
        return  # as a rule nothing

    @locked
    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds at once."""
        d, width = self.problem.d, self.problem.width
        X, y = rows_and_labels(X, y, d)
        self.problem.refuse_labels(y)
        # A copy, whatever came in. What cannot be squared is 0.
        y = np.where(np.abs(y) < SMALLEST, 0.0, np.asarray(y, dtype=np.float64))
        if bought is None:
            bought = np.empty((len(y), width), dtype=np.int32)
        if type(self)._play is LearnerBase._play:
            return self._advance_by_rounds(X, y, bought)
        limits = self.problem.limits
        if limits is None or not (beyond := limits.rows_beyond(X)).any():
            return self._advance_by_blocks(X, y, bought)
        # What is beyond its limits may not have been bought: only rounds one by one can tell.
        predictions = np.empty(len(y))
        for rows, odd in _alike(beyond):
            play = self._advance_by_rounds if odd else self._advance_by_blocks
            predictions[rows] = play(X[rows], y[rows], bought[rows])
        return predictions

    def _advance_by_rounds(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]
    ) -> Floats:
        """Ask, fill, predict, tell, for each row."""
        predictions, told = np.empty(len(y)), 0
        self._in_block = True
        try:
            for t, label in enumerate(y.tolist()):
                ticket = self.ask()
                features = ticket.features
                try:
                    seen = Observation(ticket, X[t, features].astype(np.float64, copy=False))
                except DataError:  # everything before the bad round stands
                    self._take_back(ticket)
                    if ticket.limits is not None:
                        raise
                    refuse_round(ticket.round)
                bought[t, : len(features)], bought[t, len(features) :] = features, -1
                predictions[t] = self.predict(seen)
                self.tell(seen, label)
                told += 1
        finally:
            self._in_block = False
            self._hear(X[:told], y[:told], bought[:told], predictions[:told])
        return predictions

    def _advance_by_blocks(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]
    ) -> Floats:
        """One call of `_play` for all rounds between which nothing else is to be done."""
        d, width = self.problem.d, self.problem.width
        reads = width if self.HANDLES_PRICES else self.problem.reads
        predictions, start = np.empty(len(y)), 0
        while start < len(y):
            t = self.round + 1
            self._before_round(t)
            rows = slice(start, min(len(y), start + self._rounds_alike(t)))
            key = (np.uint64(self.seed), t)
            some = bought[rows]
            if reads < width:  # what kernels are handed is as wide as what they buy
                some = np.empty((rows.stop - start, reads), dtype=np.int32)
            out = (some, predictions[rows])
            block = X[rows]
            if type(block) is not np.ndarray or block.dtype != np.float64 or not block.flags.carray:
                block = np.require(block, np.float64, ["C", "A", "W", "E"])  # as C takes them
            played = self._play(Block(*key, block, y[rows], *out, workspace(d)))
            told = slice(start, start + played)
            if reads < width:
                bought[told, :reads], bought[told, reads:] = some[:played], -1
            if self.clip:
                self._desk.labels.cut_off_rounds(predictions[told], y[told])
            else:
                cut_off_largest_rounds(predictions[told])
            self._desk.skip(played, y[told])
            self._hear(X[told], y[told], bought[told], predictions[told])
            if played < rows.stop - start:  # everything before the bad round stands
                refuse_round(t + played)
            start = rows.stop
        return predictions

    def _take_back(self, ticket: Ticket) -> None:
        """As if `ask` had not issued this ticket, the last one; more to do if it counts rounds."""
        self._desk.take_back(ticket)

    def _hear(
        self,
        X: NDArray[np.floating],
        y: Floats,
        bought: NDArray[np.int32],
        predictions: Floats,
    ) -> None:
        """Have the errors of rounds that were played in the record that intervals are made from."""
        tracked = self._residuals.coverages
        its = bought_of_rows(X, bought) if tracked or not self.OWN_REACH else None
        if its is not None:
            self._see(its, y)
        self._residuals.hear_block(predictions, y, its if tracked else None)

    @locked
    def study(
        self,
        history: BlockStream | DataSums,
        *,
        half_life: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Learn from examples whose features are all known; returns how many there were.

        Before the first round or between rounds. Nothing is bought, no round is counted, and open
        tickets stay open. History that is studied in several parts gives the same learner, to the
        bit, as the whole of it at once.

        Parameters
        ----------
        history
            A stream of complete rows; absent values (NaN) may be among them. Or its sums
            (`kh.sums`), for learners whose state is sums: without the rows nothing is played, so
            what is learnt from how well predictions did begins with the first round.
        half_life
            After so many rows of history, what was known before counts half: for worlds that have
            changed since. None: all rows count alike.
        progress
            Called with the number of rows studied so far.

        Raises
        ------
        ProblemError
            The learner cannot study, or the history has other features.
        DataError
            A row cannot be used. As after any error, the learner is as it was.
        """
        return study(self, history, half_life, progress)

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        """Learn complete rows; after each, what was known before counts `keep` times as much."""
        round = self.round
        self.advance(X, y)
        self._desk.round = round

    def _study_sums(self, history: DataSums) -> None:
        """Learn from the sums of complete rows; only where STUDIES_SUMS."""
        raise NotImplementedError

    def _before_round(self, t: int) -> None:
        """What happens before round t is asked, by itself or as the first of a block."""
        return  # as a rule nothing

    def _rounds_alike(self, t: int) -> int:
        """For how many rounds, from t on, `_before_round` is not needed again."""
        return sys.maxsize

    def _play(self, block: Block) -> int:
        """Play rounds that are alike; how many there were before one that cannot be played.

        Only where that is faster: without it, blocks are played round by round.
        """
        raise NotImplementedError

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {name: getattr(self, name) for name in self._setting_names()}

    @classmethod
    def _setting_names(cls) -> list[str]:
        """The arguments of the constructor, beside the problem and the seed."""
        named = inspect.signature(cls.__init__).parameters.values()
        return [p.name for p in named if p.kind is p.KEYWORD_ONLY and p.name != "seed"]

    @locked
    def state(self) -> LearnerState:
        """Everything this learner is, for `keyhole.save`."""
        parts = {**self._parts(), "residuals": self._residuals}
        for name, errors in (("stopped", self._stopped), ("midway", self._midway)):
            if errors is not None:
                parts[name] = errors
        if self._seen is not None:
            parts["reach"] = packed(self._seen)
        return snapshot(self, {"seed": self.seed, **self.settings()}, **parts)

    @classmethod
    def from_state(cls, state: LearnerState) -> Self:
        """The learner that `state` described; a StateError names what in it cannot be."""
        learner = cls._restored(state)
        sizes = learner._sizes()
        for where, part in (("", learner), *learner._parts().items()):
            prove(part, where, sizes)
        if cls.MEMOS is not None:
            prove_tickets(learner._desk, cls.MEMOS, sizes)
        for part in ("residuals", "stopped", "midway"):
            if part in state.parts:  # not in files from before there were any
                errors = Residuals(learner.problem.d).with_arrays(state.part(part))
                errors.refuse_unless_open({t.round for t in learner._desk.open})
                setattr(learner, f"_{part}", errors)
        if "reach" in state.parts and "reach" not in learner._parts():  # not in older files
            learner._seen = unpacked(state.part("reach"), learner.problem.d)
        learner._resume()
        return learner

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        """The learner with its state put back, not looked at yet."""
        return restore(cls, state)

    def _parts(self) -> Mapping[str, object]:
        """What is saved beside the attributes named in SAVED."""
        return {}

    def _sizes(self) -> dict[str, int]:
        """The sizes that `Holds` may name."""
        problem = self.problem
        return {
            "d": problem.d,
            "k": problem.k,
            "budget": problem.width if self.HANDLES_PRICES else problem.reads,
        }

    def _resume(self) -> None:
        """Work out what is derived from the state, which is sound."""
        return  # as a rule nothing


def _alike(odd: NDArray[np.bool_]) -> Iterator[tuple[slice, bool]]:
    """The rows of a block in parts in which all are odd, or none is."""
    ends = [0, *(np.flatnonzero(np.diff(odd)) + 1).tolist(), len(odd)]
    for start, stop in itertools.pairwise(ends):
        yield slice(start, stop), bool(odd[start])


def refuse_less_than_everything(problem: Problem, what: str) -> None:
    """ProblemError unless all features may be read."""
    if problem.reads < problem.d:
        whole = problem.whole().budget
        cost = "" if problem.prices is None else f" for {whole}"
        raise ProblemError(
            f"{what} reads all {problem.d} features{cost}, the budget is {problem.budget}: "
            f"make the problem with budget={whole}"
        )


def refuse_unaffordable(problem: Problem) -> None:
    """ProblemError if some k features cost more than the budget, for a learner without prices."""
    if problem.reads < problem.k:
        raise ProblemError(
            f"the budget of {problem.budget} does not buy k = {problem.k} features whichever they "
            f"are, and this learner knows no prices: make it at least "
            f"{enough_for(problem, problem.k)}, or use a learner that buys by price "
            "(`keyhole learners` shows which do)"
        )


def enough_for(problem: Problem, reads: int) -> float:
    """The smallest budget at which `problem.reads` is that many.

    >>> enough_for(Problem(3, 1, 2), 3), enough_for(Problem(3, 1, 2, prices=[1, 2, "2.5"]), 2)
    (3, 4.5)
    """
    prices, reads = problem.prices, min(reads, problem.d)
    if prices is None:
        return reads
    dearest = sorted((prices.count([j]) for j in range(problem.d)), reverse=True)
    return prices.money(min(sum(dearest[:reads]), prices.count(range(problem.d))))


def at_least(problem: Problem, reads: int, said: str) -> str:
    """How large a budget must be to buy any `reads` features: as it is said, or in money.

    >>> at_least(Problem(9, 1, 2), 3, "k + 2 = 3")
    'at least k + 2 = 3'
    >>> at_least(Problem(9, 1, 2, prices=["0.5"] * 9), 3, "k + 2 = 3")
    'at least 1.5, what any 3 features cost'
    """
    if problem.prices is None:
        return f"at least {said}"
    return f"at least {enough_for(problem, reads)}, what any {reads} features cost"


def failure_probability_of(value: float) -> float:
    """`value` as a number between 0 and 1, or a ProblemError."""
    number = real_number("failure_probability", value, 0.0, 1.0)
    if number in (0.0, 1.0):
        raise ProblemError(f"failure_probability must lie between 0 and 1, got {value}")
    return number


def refuse_prices(problem: Problem, what: str) -> None:
    """ProblemError for a problem with prices that differ."""
    if not problem.counted:
        raise ProblemError(
            f"{what} is for features that all cost the same: leave prices out, "
            f"Problem(d={problem.d}, k={problem.k}, budget=...)"
        )


def learner_table(name: str, learner: Learner) -> str:
    """The problem, the rounds and the model as it is now."""
    p, model = learner.problem, sparse_model(learner)
    rows: list[tuple[str, HtmlCell]] = [
        ("features", p.d),
        ("features of a model (k)", p.k),
        ("budget of one example", p.budget),
        ("rounds asked", learner.round),
        ("intercept of the model", model.intercept),
    ]
    weights = zip(model.names, model.weights.tolist(), strict=True)
    rows += [(f"weight of {feature}", weight) for feature, weight in weights]
    return html_table(name, rows)
