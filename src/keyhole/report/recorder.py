"""Recording a run: the learner, the best model in hindsight, the baselines, the diagnosis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.sums.column_sums import ColumnSums
from keyhole.diagnosis import diagnose
from keyhole.game import Progress
from keyhole.hindsight import Hindsight, RegretCurve, hindsight, hindsight_curve
from keyhole.learners.baselines import FullInformation, RunningMean
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Indices,
    Learner,
    Problem,
    ProblemError,
    sparsity,
    whole_number,
)
from keyhole.report.run import Baseline, Run
from keyhole.report.trace import traced

FULL_WORK = 2e10  # d^2 rounds beyond which full information is not played: many seconds
PREFIXES = (
    6,
    24,
)  # at which regret is worked out: each is a search, and those of wide data are slow


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
    k: int | None = None,
    centred: bool = True,
    bins: int = 96,
    seconds: float = 10.0,
    full: bool = True,
    diagnosed: bool = True,
    progress: Progress | None = None,
    stage: Callable[[str], None] | None = None,
) -> Run:
    """Play a stream and find out everything that a report shows.

    The stream is gone through block by block, about five times: by the learner, by the best model
    in hindsight, by two baselines, by the diagnosis. Memory does not grow with its length.

    Parameters
    ----------
    learner
        A new learner: one that has played already has another past than the stream.
    stream
        Any stream of blocks that can be read again.
    name, settings, seed
        What the report says of the learner, so that the run can be repeated; the name is that of
        its class by default.
    title, target
        What the report calls the stream and its label.
    command
        What to type, or to run, to have the same again; the report shows it.
    k
        Sparsity of the models in hindsight; None for the problem's.
    centred
        Whether models in hindsight may add an intercept.
    bins
        Most bins of time; between half as many and that many are used.
    seconds
        Limit of each search: for the best models along the way, for that of the end, and a little
        less for the diagnosis.
    full
        Whether to play full information too. It is left out, with a note, where d^2 times rounds
        is beyond 2e10.
    diagnosed
        Whether to diagnose the stream.
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
    >>> run.purchases.shape, int(run.purchases.sum()) == 8 * 2000
    ((42, 63), True)
    >>> [(b.name, b.reads) for b in run.baselines]
    [('running mean', 0.0), ('full information', 42.0)]
    """
    problem = learner.problem
    k = problem.k if k is None else sparsity(k, stream.d)
    bins = whole_number("bins", bins, 2)
    if learner.round != 0:
        raise ProblemError(
            f"a run begins with a new learner, this one has played {learner.round:,} rounds"
        )
    say = stage if stage is not None else lambda words: None
    name = type(learner).__name__ if name is None else name
    say(f"{name} plays")
    began = time.perf_counter()
    ledger, trace = traced(learner, stream, bins, progress)
    took = time.perf_counter() - began
    if ledger.rounds == 0:
        raise DataError("the stream is empty: there is nothing to report")
    ends = trace.ends
    points = int(np.clip(2400 / stream.d, *PREFIXES))
    some = np.unique(np.linspace(0, len(ends) - 1, points).round().astype(np.int64))
    say(f"the best {k} features in hindsight")
    columns = ColumnSums(stream.d)
    models = hindsight_curve(
        _Tapped(stream, columns), k, ends[some].tolist(), intercept=centred, seconds=seconds
    )
    best = models[-1]
    if best.loss.width:  # the prefixes took their shares of the time: search once more, for longer
        longer = hindsight(stream, k, intercept=centred, seconds=seconds)
        best = _narrower(best, longer)
    models[-1] = best
    baselines, notes = _baselines(stream, problem, ledger.rounds, bins, full, say)
    diagnosis = None
    if diagnosed:
        say("diagnosis")
        diagnosis = diagnose(stream, problem.k, problem.budget, seconds=0.6 * seconds)
    return Run(
        problem=_named(problem, stream),
        title=title,
        target=target,
        learner=name,
        settings=dict(settings or {}),
        seed=seed,
        rounds_per_second=ledger.rounds / took,
        ledger=ledger,
        ends=ends,
        loss=trace.loss,
        purchases=trace.purchases,
        models=trace.models,
        intercept=float(learner.intercept),
        spread=columns.facts().sd,
        best=best,
        centred=centred,
        regret=_regret(ends[some], trace.loss[some], models),
        baselines=baselines,
        diagnosis=diagnosis,
        command=command,
        notes=notes,
    )


def _baselines(
    stream: BlockStream,
    problem: Problem,
    rounds: int,
    bins: int,
    full: bool,
    say: Callable[[str], None],
) -> tuple[tuple[Baseline, ...], tuple[str, ...]]:
    free = Problem(problem.d, problem.k, problem.d, problem.names)
    others: list[tuple[str, Learner]] = [("running mean", RunningMean(problem))]
    notes: tuple[str, ...] = ()
    if full and float(problem.d) ** 2 * rounds > FULL_WORK:
        notes = (
            f"Full information was not played: {problem.d:,} features in {rounds:,} rounds would "
            "take too long.",
        )
    elif full:
        others.append(("full information", FullInformation(free)))
    played = []
    for name, other in others:
        say(f"{name} plays")
        books, trace = traced(other, stream, bins)
        played.append(Baseline(name, books.mean_reads, trace.loss))
    return tuple(played), notes


def _regret(ends: Indices, loss: Floats, models: list[Hindsight]) -> RegretCurve:
    gaps = [float(lost) - best.loss for lost, best in zip(loss, models, strict=True)]
    return RegretCurve(
        rounds=ends,
        low=np.array([gap.low for gap in gaps]),
        high=np.array([gap.high for gap in gaps]),
    )


def _narrower(one: Hindsight, other: Hindsight) -> Hindsight:
    """The model of the smaller loss; of the same loss, up to rounding, the better known one."""
    if abs(one.loss.high - other.loss.high) > 1e-9 * one.empty_loss:
        return one if one.loss.high < other.loss.high else other
    return one if one.loss.width < 0.999 * other.loss.width else other


def _named(problem: Problem, stream: BlockStream) -> Problem:
    if problem.names is not None or stream.names is None:
        return problem
    return Problem(problem.d, problem.k, problem.budget, stream.names)


class _Tapped:
    """A stream whose columns are summed as its blocks go by."""

    def __init__(self, stream: BlockStream, columns: ColumnSums) -> None:
        self.d = stream.d
        self.names = stream.names
        self.rounds = stream.rounds
        self._stream = stream
        self._columns = columns

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return iter(self._stream)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.floating], Floats]]:
        for X, y in self._stream.blocks(rows):
            self._columns.add(X)
            yield X, y
