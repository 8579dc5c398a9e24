"""Warming up: everything that learners need is compiled once, before anybody waits for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyhole.game import play
from keyhole.hindsight import hindsight
from keyhole.learners.registry import LEARNERS, learner_row
from keyhole.problem import Learner, Problem, ProblemError
from keyhole.streams.arrays import ArrayStream

REHEARSED = 24  # rounds
ROWS = 64
PRICED = ", with prices"  # after the name of a learner that buys by price
HINDSIGHT = "the best model in hindsight"
LONGEST = ("auto", "auto" + PRICED, "dantzig", "dantzig-data", "online-greedy", HINDSIGHT)


def warm_parts() -> list[str]:
    """What there is to compile, the longest first: every learner, and the search in hindsight.

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
        hindsight(stream, 2)
        return
    name, priced = part.removesuffix(PRICED), part.endswith(PRICED)
    money: dict[str, Any] = {"prices": [1.0, 2.0] * 4} if priced else {}
    for budget in (4, 12 if priced else 8):  # who refuses the first reads everything
        try:
            learner = learner_row(name)(Problem(8, 2, budget, **money))
        except ProblemError:
            continue
        play(learner, stream, coverage=0.9)
        rehearse(learner)
        for look in ("model", "explain", "advice"):
            getattr(learner, look, int)()
        return


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
