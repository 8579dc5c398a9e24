"""One forged file, loaded and played in a process that may die of it."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.attack.forge import Forgery, forged
from keyhole.saving.api import from_bytes, to_bytes


def suffer(forgery: Forgery) -> str:
    """Load it and play 50 rounds, in turn singly and as a block; what came of it."""
    try:
        learner: Any = from_bytes(forged(forgery))
    except kh.StateError:
        return "refused"
    play_on(learner)
    return "played"


def play_on(learner: Any) -> None:
    """The open tickets told, then 50 rounds; finite predictions throughout."""
    rng, d = np.random.default_rng(5), learner.problem.d
    desk = learner._desk
    for i, ticket in enumerate(desk.open):
        seen = ticket.fill(rng.normal(size=len(ticket.features)))
        _finite(learner.predict(seen))
        if i % 3 == 2:
            learner.drop(ticket)
        else:
            learner.tell(seen, rng.normal())
    X = rng.normal(size=(50, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.1 * rng.normal(size=50)
    kh.play(learner, kh.streams.ArrayStream(X[:25], y[:25]))
    for t in range(25, 50):
        ticket = learner.ask()
        seen = ticket.fill(X[t][ticket.features])
        _finite(learner.predict(seen))
        learner.tell(seen, float(y[t]))
    if hasattr(learner, "explain"):
        learner.explain()
    with contextlib.suppress(kh.StateError):  # what was forged may grow beyond all bounds
        from_bytes(to_bytes(learner))


def _finite(numbers: Any) -> None:
    if not np.isfinite(numbers).all():
        raise ArithmeticError(f"not finite: {numbers}")


def main() -> None:
    """Forgeries from standard input, one a line; an answer for each on standard output."""
    warnings.simplefilter("ignore")  # of sums that are no sums nothing is promised
    for line in sys.stdin:
        learner, problem, moment, path, change = eval(line)  # our own lines
        try:
            outcome = suffer(Forgery(learner, problem, moment, path, change))
        except Exception as error:
            outcome = f"raised {type(error).__name__}: {error}".replace("\n", " ")[:300]
        print(outcome, flush=True)


if __name__ == "__main__":
    main()
