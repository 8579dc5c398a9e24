"""Regret: the loss beyond the best model in hindsight, for a game or curve; the oracle learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.analysis.exact.best_subset import best_subset
from keyhole.analysis.hindsight import Hindsight, hindsight_curve
from keyhole.errors import refuse_unless_stream, shortened
from keyhole.game.ledger import Ledger
from keyhole.learners.baselines import FixedSubset
from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.problem import BlockStream, DataError, Floats, Indices, Interval, Problem, ProblemError


def regret(ledger: Ledger, best: Hindsight) -> Interval:
    """How much more the learner lost than the best model of the same rounds.

    Against a model that was found for what it is worth (`hindsight(..., worth=v)`), how much more
    was lost and spent together, in money: v * loss + spent, less the total of the best model.

    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, noise_sd=0.1, seed=1)
    >>> problem = kh.Problem(d=20, k=2, budget=2)
    >>> oracle = kh.FixedSubset(problem, support=truth.support, intercept=False)
    >>> ledger = kh.play(oracle, stream)
    >>> f"{regret(ledger, kh.hindsight(stream, 2, intercept=False)).high:.2f}"
    '2.38'
    """
    _refuse_unless_ledger(ledger)
    if ledger.first_round != 1 or ledger.rounds != best.rounds:
        raise DataError(
            f"the ledger covers rounds {ledger.first_round} to {ledger.last_round}, the model in "
            f"hindsight rounds 1 to {best.rounds}: regret compares the same rounds"
        )
    if best.total is None or best.worth is None:
        return ledger.loss - best.loss
    if ledger.problem.prices is None:
        raise DataError("the ledger is of a game without prices, the model in hindsight has them")
    return best.worth * ledger.loss + ledger.spent - best.total


def _refuse_unless_ledger(ledger: object) -> None:
    if not isinstance(ledger, Ledger):
        raise DataError(f"ledger must be what kh.play returns, got {shortened(ledger)}")


@dataclass(frozen=True, slots=True)
class RegretCurve:
    """Regret after each checkpoint, against the best model of the rounds up to there."""

    rounds: Indices
    low: Floats
    high: Floats

    @classmethod
    def of(cls, rounds: Sequence[int], gaps: Sequence[Interval]) -> RegretCurve:
        """The curve through these gaps, one for each of the rounds."""
        low, high = np.array([gap.low for gap in gaps]), np.array([gap.high for gap in gaps])
        return cls(np.array(rounds, dtype=np.int64), low, high)


def regret_curve(
    ledger: Ledger,
    stream: BlockStream,
    k: int,
    *,
    intercept: bool = True,
    past: bool = False,
    seconds: float = 10.0,
) -> RegretCurve:
    """Regret along a game, at the checkpoints of its ledger; the time is shared among them."""
    _refuse_unless_ledger(ledger)
    if ledger.first_round != 1:
        raise DataError(f"a curve begins at round 1, the ledger at round {ledger.first_round}")
    marks = ledger.checkpoints
    rounds = [c.round for c in marks]
    models = hindsight_curve(stream, k, rounds, intercept=intercept, past=past, seconds=seconds)
    gaps = [c.loss - best.loss for c, best in zip(marks, models, strict=True)]
    return RegretCurve.of(rounds, gaps)


def oracle(
    stream: BlockStream, problem: Problem, *, ridge: float = 1.0, seconds: float = 10.0
) -> FixedSubset:
    """VAW on the best k features in hindsight: what could be paid if the support were known.

    It has looked at the whole stream, so it is a mark to measure learners by and not one of them.

    Parameters
    ----------
    stream
        The stream it will be played on, gone through once; the support is that of
        `keyhole.hindsight(stream, k, intercept=True)`.
    problem
        Of which it reads k features, never more.
    ridge
        Of VAW.
    seconds
        When to stop searching; the support is then the best one found.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, noise_sd=0.1, seed=0)
    >>> bool((kh.oracle(stream, kh.Problem(20, 2, 6)).ask().features == truth.support).all())
    True
    """
    refuse_unless_stream(stream, blocks=True)
    if stream.d != problem.d:
        raise ProblemError(f"the stream has {stream.d} features, the problem d = {problem.d}")
    gram = Gram(problem.d)
    for X, y in stream.blocks():
        gram.add(X, y)
    sums = gram.centred()
    best = best_subset(sums.G, sums.c, sums.yy, problem.k, seconds=seconds)
    return FixedSubset(problem, support=best.support, ridge=ridge)
