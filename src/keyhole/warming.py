"""Warming up: everything that learners need is compiled once, before anybody waits for it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from keyhole.learners.registry import LEARNERS, learner_row
from keyhole.problem import Learner, Problem, ProblemError
from keyhole.saving.snapshot import has_state

if TYPE_CHECKING:
    from keyhole.streams.arrays import ArrayStream

REHEARSED = 24  # rounds
ROWS = 64
PRICES = [1.0, 2.0] * 4
PRICED = ", with prices"  # after the name of a learner that buys by price
PROPER, YES_NO = "auto, proper", "auto, for yes or no"
HINDSIGHT, DIAGNOSIS = "the best model in hindsight", "the diagnosis"
# Processes that compile the same code at the same time do it twice. So whatever takes long and has
# code of its own is begun first, and what shares its code with one of those comes last.
FIRST = ("auto", "dantzig", HINDSIGHT)
LAST = ("dantzig-data", DIAGNOSIS, PROPER, YES_NO, "auto" + PRICED)
# What a wheel brings along compiled (`python -m tools.build_kernels`): what is needed by commands
# that are not told which learner to play.
AHEAD = (
    *("auto", "auto" + PRICED, PROPER, YES_NO, "random", "full"),
    *("online-greedy", "online-greedy" + PRICED, HINDSIGHT, DIAGNOSIS),
)


def warm_parts() -> list[str]:
    """What there is to compile: learners, the best in hindsight, the diagnosis.

    The order is that in which several processes are done soonest.

    >>> warm_parts()[:2], warm_parts()[-1]
    (['auto', 'dantzig'], 'auto, with prices')
    """
    priced = [name + PRICED for name, row in LEARNERS.items() if row.prices == "by price"]
    between = [part for part in (*LEARNERS, *priced) if part not in LAST]
    return list(dict.fromkeys([*FIRST, *between, *LAST]))


def warm(part: str) -> None:
    """Compile one of `warm_parts`; machine code is kept on disk, for all processes."""
    from keyhole.streams.arrays import ArrayStream

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 8))
    y = X[:, 0] + rng.normal(size=ROWS)
    stream = ArrayStream(X, np.where(y > 0.0, 1.0, 0.0) if part == YES_NO else y)
    if part == HINDSIGHT:
        _look_back(stream)
    elif part == DIAGNOSIS:
        from keyhole.diagnosis import diagnose

        diagnose(stream, 2, 4)
    else:
        _play(part, stream)


def _play(part: str, stream: ArrayStream) -> None:
    # All that is done with a learner: play, with history and without, ask, save, load, look.
    from keyhole.game import play

    for budget in (4, 12 if part.endswith(PRICED) else 8):  # who refuses the first reads everything
        try:
            learner, other = _learner(part, budget), _learner(part, budget)
        except ProblemError:
            continue
        play(learner, stream, coverage=0.9)
        rehearse(learner)
        for look in ("model", "explain", "advice"):
            getattr(learner, look, int)()
        if has_state(learner):
            rehearse(type(learner).from_state(learner.state()))
        with contextlib.suppress(ProblemError):  # not every learner can study
            play(other, stream, history=stream)
        return


def _learner(part: str, budget: int) -> Learner:
    if part in (PROPER, YES_NO):
        from keyhole.learners.auto import AutoLearner
        from keyhole.learners.yes_no import YesNoLearner

        made = AutoLearner(Problem(8, 2, budget), proper=part == PROPER)
        return YesNoLearner(made) if part == YES_NO else made
    prices = PRICES if part.endswith(PRICED) else None
    return learner_row(part.removesuffix(PRICED))(Problem(8, 2, budget, prices=prices))


def _look_back(stream: ArrayStream) -> None:
    from keyhole.hindsight import hindsight

    shop = Problem(8, 2, 4, prices=PRICES).prices
    for past in (False, True):
        hindsight(stream, 2, intercept=True, past=past)
    hindsight(stream, 2, cost=4, prices=shop, intercept=True)
    hindsight(stream, worth=0.1, prices=shop, intercept=True)


def rehearse(learner: Learner) -> None:
    """Let a learner play rounds with values and labels of no meaning, so that all is compiled.

    The labels are 0 and 1, which a learner of yes and no takes too.
    """
    rng = np.random.default_rng(0)
    look = getattr(learner, "interval", learner.predict)
    late = []
    for number in range(REHEARSED):
        ticket = learner.ask()
        values = rng.normal(size=len(ticket.features))
        if number % 5 == 4:
            values[:1] = np.nan
        seen = ticket.fill(values)
        look(seen)
        if number % 7 == 6:
            learner.drop(ticket)
        elif number % 3 == 2:
            late.append(seen)
        else:
            learner.tell(seen, float(rng.integers(2)))
    for seen in late:
        learner.tell(seen, float(rng.integers(2)))
    learner.weights  # noqa: B018
