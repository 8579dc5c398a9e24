"""Warming up: everything that learners need is compiled once, before anybody waits for it."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from keyhole.learners.registry import LEARNERS, learner_row
from keyhole.problem import Learner, Problem, ProblemError
from keyhole.saving.snapshot import has_state
from keyhole.streams.arrays import ArrayStream

REHEARSED = 24  # rounds
ROWS = 64
PRICES = [1.0, 2.0] * 4
PRICED = ", with prices"  # after the name of a learner that buys by price
HINDSIGHT = "the best model in hindsight"
DIAGNOSIS = "the diagnosis"
LONGEST = (
    "auto",
    "auto" + PRICED,
    "dantzig",
    "dantzig-data",
    "online-greedy",
    HINDSIGHT,
    DIAGNOSIS,
)
# What a wheel brings along compiled (`python -m tools.build_kernels`): what commands need that are
# not told which learner to play.
AHEAD = (
    *("auto", "auto" + PRICED, "random", "full", "online-greedy", "online-greedy" + PRICED),
    *(HINDSIGHT, DIAGNOSIS),
)


def warm_parts() -> list[str]:
    """What there is to compile, the longest first: learners, the best in hindsight, the diagnosis.

    >>> warm_parts()[:2]
    ['auto', 'auto, with prices']
    """
    priced = [name + PRICED for name, row in LEARNERS.items() if row.prices == "by price"]
    return list(dict.fromkeys([*LONGEST, *LEARNERS, *priced]))


def warm(part: str) -> None:
    """Compile one of `warm_parts`; machine code is kept on disk, for all processes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 8))
    stream = ArrayStream(X, X[:, 0] + rng.normal(size=ROWS))
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

    name, priced = part.removesuffix(PRICED), part.endswith(PRICED)
    money: dict[str, Any] = {"prices": PRICES} if priced else {}
    for budget in (4, 12 if priced else 8):  # who refuses the first reads everything
        try:
            learner = learner_row(name)(Problem(8, 2, budget, **money))
        except ProblemError:
            continue
        play(learner, stream, coverage=0.9)
        rehearse(learner)
        for look in ("model", "explain", "advice"):
            getattr(learner, look, int)()
        if has_state(learner):
            rehearse(type(learner).from_state(learner.state()))
        with contextlib.suppress(ProblemError):  # not every learner can study
            play(learner_row(name)(Problem(8, 2, budget, **money)), stream, history=stream)
        return


def _look_back(stream: ArrayStream) -> None:
    from keyhole.hindsight import hindsight

    shop = Problem(8, 2, 4, prices=PRICES).prices
    for past in (False, True):
        hindsight(stream, 2, intercept=True, past=past)
    hindsight(stream, 2, cost=4, prices=shop, intercept=True)
    hindsight(stream, worth=0.1, prices=shop, intercept=True)


def rehearse(learner: Learner) -> None:
    """Let a learner play rounds with values and labels of no meaning, so that all is compiled."""
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
            learner.tell(seen, float(rng.normal()))
    for seen in late:
        learner.tell(seen, float(rng.normal()))
    learner.weights  # noqa: B018
