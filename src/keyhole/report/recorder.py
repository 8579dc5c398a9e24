"""Recorder of a run: a learner plays, and all that the report shows is collected in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from keyhole.analysis.hindsight import Hindsight, Prefix, best_of_prefixes, hindsight
from keyhole.analysis.hindsight_screening import (
    MAX_FEATURES_UNSCREENED,
    screening_bytes,
    usually_kept,
)
from keyhole.analysis.regret import RegretCurve
from keyhole.game import Audit, Observer, Progress, play
from keyhole.game.ledger import Ledger
from keyhole.game.referee import problem_of
from keyhole.learners.baselines import FullInformation, LastValue, RunningMean, Zero
from keyhole.learners.blocks.auto.advice import Advice
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Interval,
    Learner,
    Problem,
    ProblemError,
    refuse_unless_stream,
    sparsity,
    whole_number,
)
from keyhole.problem.display import counted
from keyhole.problem.labels import a_coverage
from keyhole.problem.memory import fits
from keyhole.problem.sparse_model import sparse_model
from keyhole.report.observers import (
    ColumnSpread,
    LabelObserver,
    Rival,
    calibrated,
    full_rival,
    prefix_observer,
)
from keyhole.report.run import FULL, LAST, MEAN, Baseline, Run
from keyhole.report.spending import WithinBudget, spending, within_budget
from keyhole.report.traces import IntervalTrace, PredictionTrace, RecentLoss, Trace, bin_ends

if TYPE_CHECKING:
    from keyhole.analysis.advice import BudgetCurve
    from keyhole.analysis.diagnosis import Diagnosis, StreamSums
    from keyhole.game.probability_scores import ProbabilityScores
    from keyhole.learners.blocks.auto.curves import Curves

FULL_WORK = 2e10  # d^2 rounds beyond which full information is not played: many seconds
# At how many ends of bins regret is worked out: each is a search, and those of wide data are slow.
FEWEST_ENDS, MOST_ENDS = 6, 24

Stage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class About:
    """What a report says about a run that cannot be seen in it.

    Parameters
    ----------
    name, settings, seed
        Of the learner, so that the run can be repeated; the name is that of its class by default.
    title, target
        What to call the stream and its label.
    command
        What to type, or to run, to have the same again.
    curve
        What so many features explain, if sizes were chosen from that.
    history
        How many rows the learner studied before (`learner.study`).
    columns
        Whether prices count the columns of a file, 1 for each, and are no money.
    """

    name: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None
    title: str = "a stream"
    target: str = "y"
    command: str = ""
    curve: BudgetCurve | None = None
    history: int = 0
    columns: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What is worked out beside the game, and how thoroughly.

    Parameters
    ----------
    k
        Sparsity of the models in hindsight; None for the problem's.
    centred
        Whether models in hindsight may add an intercept.
    bins
        Most bins of time; between half as many and that many are used.
    seconds
        Limit of each search: for the best models along the way, for that of the end, for that
        beside the past, with prices for the frontier and for what is worth it, and a little less
        for the diagnosis.
    full
        Whether full information plays too. It is left out, with a note, where d^2 times rounds is
        beyond 2e10.
    diagnosed
        Whether to diagnose the stream.
    audit
        The share of blocks that are audited, as in `keyhole.play`.
    coverage
        What intervals around the predictions should cover; None: there are none.
    steps
        Whether examples are bought step by step, as in `keyhole.play`.
    """

    k: int | None = None
    centred: bool = True
    bins: int = 96
    seconds: float = 10.0
    full: bool = True
    diagnosed: bool = True
    audit: float = 0.0
    coverage: float | None = None
    steps: bool = False


def record(
    learner: Learner,
    stream: BlockStream,
    *,
    name: str | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    title: str = "a stream",
    target: str = "y",
    command: str = "",
    curve: BudgetCurve | None = None,
    history: int = 0,
    k: int | None = None,
    centred: bool = True,
    bins: int = 96,
    seconds: float = 10.0,
    full: bool = True,
    diagnosed: bool = True,
    audit: float = 0.0,
    coverage: float | None = None,
    steps: bool = False,
    progress: Progress | None = None,
    stage: Stage | None = None,
) -> Run:
    """Play a stream and find out everything that a report shows.

    The stream is gone through once, block by block; once more if it did not say how long it is.
    Memory does not grow with its length.

    Parameters
    ----------
    learner
        A new learner: one that has played already has another past than the stream. It may have
        studied (`learner.study`); say in `history` how many rows.
    stream
        Any stream of blocks that can be read again.
    name, settings, seed, title, target, command, curve, history
        What the report says about the run: see `keyhole.report.About`.
    k, centred, bins, seconds, full, diagnosed, audit, coverage, steps
        What is worked out beside the game: see `keyhole.report.Scope`.
    progress
        Called with the ledger so far while the learner plays; see `play`.
    stage
        Called with a few words when something new begins.

    Returns
    -------
    Run
        Its ledger is that of `play`, to the last digit (without predictions).

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.clinic(2000)
    >>> problem = kh.Problem(d=42, k=4, budget=8, names=stream.names)
    >>> run = record(kh.RandomSubset(problem, seed=1), stream, title="clinic", diagnosed=False)
    >>> run.reads.shape, int(run.reads.sum()) == 8 * 2000
    ((42, 63), True)
    >>> [(b.name, b.reads) for b in run.baselines]
    [('running mean', 0.0), ('last value', 0.0), ('full information', 42.0)]
    """
    about = About(name, settings or {}, seed, title, target, command, curve, history)
    scope = Scope(k, centred, bins, seconds, full, diagnosed, audit, coverage, steps)
    return Recorder(learner, stream, about, scope).record(progress, stage)


class Recorder:
    """What `record` is made of, for callers that watch the game themselves.

    `mean` is the running mean of the labels, `last` their last value, which play along; look at
    their books at any time.
    """

    def __init__(self, learner: Learner, stream: BlockStream, about: About, scope: Scope) -> None:
        problem_of(learner)
        refuse_unless_stream(stream, blocks=True)
        if learner.round != 0:
            raise ProblemError(
                f"a run begins with a new learner, this one has played {learner.round:,} rounds"
            )
        d, problem, bins = stream.d, learner.problem, whole_number("bins", scope.bins, 2)
        self._learner, self._stream = learner, stream
        self._about, self._scope = about, scope
        self._name = type(learner).__name__ if about.name is None else about.name
        self._k = problem.k if scope.k is None else sparsity(scope.k, d)
        self._audit = Audit(scope.audit)
        self._trace = Trace(d, bins, problem.prices)
        self._recent, self.predictions = RecentLoss(), PredictionTrace(bins)
        self._intervals = None
        if scope.coverage is not None:
            self._intervals = IntervalTrace(a_coverage(scope.coverage), bins)
        # Like is compared with like: where predictions are probabilities, so are those beside them.
        yes_no = hasattr(learner, "calibration")
        self.mean = Rival(calibrated(RunningMean(problem), yes_no), bins)
        self.last = Rival(calibrated(LastValue(problem), yes_no), bins)
        self._answers = _probability_scores() if yes_no else None
        self._full = None
        if scope.full:
            self._full = full_rival(problem, stream.rounds, bins, FULL_WORK, yes_no=yes_no)
        # As long as nobody knows how long the stream is, nobody knows where its bins will end.
        ends = _some(bin_ends(stream.rounds, bins), d) if stream.rounds else []
        self._prefixes = prefix_observer(d, ends, intercept=scope.centred)
        # A diagnosis needs all pairs of features, as hindsight does.
        pairs = scope.diagnosed and not isinstance(self._prefixes, LabelObserver)
        self._sums: ColumnSpread | StreamSums = _pair_sums(d) if pairs else ColumnSpread(d)
        self._screened = False

    def record(
        self,
        progress: Progress | None = None,
        stage: Stage | None = None,
        observers: Sequence[Observer] = (),
    ) -> Run:
        """Play, with these observers beside the recorder's own, and work out the rest."""
        say = stage if stage is not None else lambda words: None
        say(f"{self._name} plays")
        ledger = self._play(progress, observers)
        models, curve, with_past, whole = self._best_models(say)
        money, problem, names = None, self._learner.problem, self._stream.names
        if problem.prices is not None:
            say("the least loss at every cost")
            money = spending(self._learner, self._trace.spent, whole, names, self._scope.seconds)
        diagnosis = None
        if not isinstance(self._sums, ColumnSpread):
            say("diagnosis")
            diagnosis = self._diagnose(self._sums, ledger)
        about, trace = self._about, self._trace
        return Run(
            problem=problem if problem.names is not None else problem.replace(names=names),
            title=about.title,
            target=about.target,
            learner=self._name,
            settings=dict(about.settings),
            seed=about.seed,
            rounds_per_second=ledger.rounds / ledger.seconds,
            ledger=ledger,
            ends=trace.ends,
            loss=trace.loss,
            reads=trace.reads,
            models=trace.models,
            intercept=float(self._learner.intercept),
            spread=self._sums.columns.facts().sd,
            best=models[-1],
            best_with_past=with_past,
            centred=self._scope.centred,
            regret=_regret(trace, _some(trace.ends, self._stream.d), curve),
            baselines=self._baselines(),
            diagnosis=diagnosis,
            sparse=sparse_model(self._learner),
            recent=self._recent.last_tenth,
            predictions=self.predictions,
            command=about.command,
            notes=self._notes(ledger.rounds),
            curve=about.curve,
            history=about.history,
            advice=_advice(self._learner),
            curves=_curves(self._learner),
            errors=_per_feature(self._learner, "weight_errors"),
            shares=_per_feature(self._learner, "model_shares"),
            spending=money,
            probabilities=self._answers,
            calibrated_best=self._calibrated(models[-1]),
            intervals=self._intervals,
            columns=about.columns,
        )

    def _play(self, progress: Progress | None, observers: Sequence[Observer]) -> Ledger:
        rivals = [self.mean, self.last] + ([] if self._full is None else [self._full])
        more = [] if self._answers is None else [self._answers]
        beside = [] if self._intervals is None else [self._intervals]
        ledger = play(
            self._learner,
            self._stream,
            progress=progress,
            keep_predictions=False,
            audit=self._audit,
            observers=[
                *(self._trace, self._recent, self.predictions),
                *(*beside, *rivals, self._sums, self._prefixes),
                *(*more, *observers),
            ],
            coverage=self._scope.coverage,
            steps=self._scope.steps,
        )
        if ledger.rounds == 0:
            raise DataError("the stream is empty: there is nothing to report")
        return ledger

    def _calibrated(self, best: Hindsight) -> float | None:
        """What the best model loses as probabilities, where the learner predicts some."""
        if self._answers is None or isinstance(self._prefixes, LabelObserver):
            return None
        from keyhole.analysis.calibrated import calibrated_loss

        return calibrated_loss(self._stream, best)

    def _can_screen(self, rounds: int) -> bool:
        """Whether all rounds can be searched by screening, where features have too many pairs."""
        d = self._stream.d
        whole = self._learner.problem.prices is None and rounds == self._stream.rounds
        kept = usually_kept(d, self._k)
        return whole and d > MAX_FEATURES_UNSCREENED and fits(screening_bytes(d, kept))

    def _best_models(
        self, say: Stage
    ) -> tuple[list[Hindsight], list[Interval], Hindsight | None, Prefix | None]:
        """The best models of the rounds up to some ends of bins, the last one of all rounds.

        Their losses as a curve to which every point owes the same effort; the best model of all
        rounds that may look at earlier labels; and the sums of all rounds. With prices, the best of
        those that the budget buys.
        """
        what = f"the best {self._k} features in hindsight"
        say(what)
        ends, watched = _some(self._trace.ends, self._stream.d), self._prefixes
        if [prefix.rounds for prefix in watched.prefixes] != ends:
            # The game was not as long as the stream said: look at what was played once more.
            watched = prefix_observer(self._stream.d, ends, intercept=self._scope.centred)
            play(Zero(self._learner.problem), self._stream, rounds=ends[-1], observers=[watched])
        seconds, centred = self._scope.seconds, self._scope.centred
        if isinstance(watched, LabelObserver):
            models = best_of_prefixes(watched.prefixes, len(ends), self._k, seconds)
            losses = [model.loss for model in models]
            self._screened = self._can_screen(ends[-1])
            if self._screened:
                models[-1] = hindsight(
                    self._stream, self._k, intercept=centred, seconds=seconds, progress=say
                )
                losses[-1] = models[-1].loss
            return models, losses, None, None
        prefixes = [within_budget(prefix, self._learner) for prefix in watched.prefixes]
        count, limit = len(prefixes), f"about {seconds:g} s"

        def told(i: int) -> None:
            say(f"{what}, of the rounds up to {ends[i - 1]:,}: {i} of {count}, {limit} in all")

        models = best_of_prefixes(prefixes, count, self._k, seconds, told)
        losses = [model.loss for model in models]
        if models[-1].loss.width:  # it had a share of the time only: search once more, for longer
            say(f"{what}, once more for longer: {limit}")
            start = min(_supports(models), key=prefixes[-1].loss_of)
            models[-1] = _narrower(models[-1], prefixes[-1].best(self._k, seconds, start))
        say(f"{what}, beside earlier labels: {limit}")
        beside = within_budget(watched.beside_past(), self._learner)
        with_past = beside.best(self._k, seconds, models[-1].support)
        curve = _equal_effort(losses, models, prefixes)
        return models, curve, with_past, watched.prefixes[-1]

    def _diagnose(self, sums: StreamSums, ledger: Ledger) -> Diagnosis:
        """The diagnosis counts reads: with prices, as many as were bought on average."""
        p, names = self._learner.problem, self._stream.names
        problem = p.replace(names=names)
        if p.prices is not None:
            problem = Problem(p.d, p.k, max(p.k, round(ledger.mean_reads)), names)
        from keyhole.analysis.diagnosis import diagnose_sums

        return diagnose_sums(sums, problem, seconds=0.6 * self._scope.seconds)

    def _baselines(self) -> tuple[Baseline, ...]:
        played = {MEAN: self.mean, LAST: self.last}
        if self._full is not None and not self._full.gave_up:
            played[FULL] = self._full
        return tuple(
            Baseline(
                name,
                rival.ledger.mean_reads,
                rival.trace.loss,
                rival.ledger.spent / rival.ledger.rounds,
                rival.ledger.first_loss,
                rival.recent.last_tenth.mean_loss,
            )
            for name, rival in played.items()
        )

    def _notes(self, rounds: int) -> tuple[str, ...]:
        notes = list[str]()
        if self._about.history:
            notes.append(
                "The learner studied history before the first round; the baselines did not, and "
                "nothing of it is in these figures." + self._misled()
            )
        if isinstance(self._prefixes, LabelObserver):
            notes.append(self._no_pairs())
            if self._scope.diagnosed:
                notes.append("There is no diagnosis of the data, for the same reason.")
        if self._scope.full and (self._full is None or self._full.gave_up):
            notes.append(self._no_full_information(rounds))
        if self._audit.share > 0:
            notes.append(
                f"Audit: {self._audit.rounds:,} of {rounds:,} rounds were played once more by a "
                "copy that saw only what was bought, with the same result."
            )
        return tuple(notes)

    def _misled(self) -> str:
        advice = _advice(self._learner)
        if advice is None or not advice.set_aside:
            return ""
        return f" The history misled, and was set aside after {counted(advice.misled, 'label')}."

    def _no_pairs(self) -> str:
        d = self._stream.d
        if self._screened:
            return (
                f"{d:,} features have too many pairs: the best {self._k} in hindsight were "
                "searched for among the most promising, with a bound for the others, and only at "
                "the end. Before, regret is an interval from 0 loss to the best constant."
            )
        frontier = self._learner.problem.prices is not None
        return (
            f"The best {self._k} features in hindsight were not searched for: {d:,} features have "
            "too many pairs. Regret is an interval from 0 loss to the best constant."
            + (" The frontier is left out for the same reason." if frontier else "")
        )

    def _no_full_information(self, rounds: int) -> str:
        d = self._stream.d
        takes = "long" if fits(FullInformation.memory(Problem(d, 1, d))) else "much memory"
        return (
            f"Full information was not played: {d:,} features in "
            f"{self._stream.rounds or rounds:,} rounds would take too {takes}."
        )


def _pair_sums(d: int) -> StreamSums:
    from keyhole.analysis.diagnosis import StreamSums

    return StreamSums(d)


def _probability_scores() -> ProbabilityScores:
    from keyhole.game.probability_scores import ProbabilityScores

    return ProbabilityScores()


def _advice(learner: Learner) -> Advice | None:
    """What a learner advises, where it does."""
    advise = getattr(learner, "advice", None)
    found = advise() if callable(advise) else None
    return found if isinstance(found, Advice) else None


def _curves(learner: Learner) -> Curves | None:
    """The curves of a learner's features, where it has some."""
    draw = getattr(learner, "curves", None)
    return draw() if callable(draw) else None


def _per_feature(learner: Learner, what: str) -> Floats | None:
    """A number for each feature that a learner knows, where it does."""
    found = getattr(learner, what, None)
    return found if isinstance(found, np.ndarray) else None


def _some(ends: Indices, d: int) -> list[int]:
    """Some of the ends of bins, the first and the last among them."""
    points = int(np.clip(2400 / d, FEWEST_ENDS, MOST_ENDS))
    places = np.unique(np.linspace(0, len(ends) - 1, points).round().astype(np.int64))
    some: list[int] = ends[places].tolist()
    return some


def _equal_effort(
    losses: Sequence[Interval],
    models: Sequence[Hindsight],
    prefixes: Sequence[Prefix | WithinBudget],
) -> list[Interval]:
    """The losses of the best models of prefixes, none of them searched better than the others.

    Every set of features that was found anywhere is tried on every prefix. Otherwise a line would
    fall where a search happened to get further, above all at the end.
    """
    tried, found = _supports(models), list[Interval]()
    for loss, prefix in zip(losses, prefixes, strict=True):
        high = min([loss.high, *(prefix.loss_of(support) for support in tried)])
        found.append(Interval(min(loss.low, high), high, loss.how))
    best = models[-1].loss  # the same, but for rounding, where the last search began with it
    found[-1] = Interval(min(losses[-1].low, best.high), best.high, best.how)
    return found


def _supports(models: Sequence[Hindsight]) -> list[Indices]:
    """The sets of features of some models, each once."""
    return list({tuple(model.support.tolist()): model.support for model in models}.values())


def _regret(trace: Trace, ends: Sequence[int], best: Sequence[Interval]) -> RegretCurve:
    lost = trace.loss[np.searchsorted(trace.ends, ends)]
    gaps = [float(loss) - other for loss, other in zip(lost, best, strict=True)]
    return RegretCurve.of(ends, gaps)


def _narrower(one: Hindsight, other: Hindsight) -> Hindsight:
    """The model of the smaller loss; of the same loss, up to rounding, the better known one."""
    if abs(one.loss.high - other.loss.high) > 1e-9 * one.empty_loss:
        return one if one.loss.high < other.loss.high else other
    return one if one.loss.width < 0.999 * other.loss.width else other
