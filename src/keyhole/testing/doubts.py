"""Conformance of learners that have doubts."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyhole.game import sell
from keyhole.problem.state import has_state
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.testing.helpers import LearnerMaker, make, require

ROUNDS = 60


def doubts_leave_no_trace(factory: LearnerMaker) -> None:
    """If there is `doubts`: none about what was seen before, nor before anything was; it changes
    nothing, and a file has the same.
    """
    learner: Any = make(factory, (9, 2, 6))
    if not hasattr(learner, "doubts"):
        return
    rng = np.random.default_rng(12)
    X = rng.uniform(1.0, 2.0, (ROUNDS, 9))
    y = (X[:, 0] > 1.5).astype(float)
    wild = sell(learner.problem, learner.ask(), 1e6 * X[0])
    require(learner.doubts(wild) == (), "there are no doubts before anything was seen")
    learner.drop(wild.ticket)
    for x, label in zip(X, y.tolist(), strict=True):
        seen = sell(learner.problem, learner.ask(), x)
        require(learner.doubts(seen, label) == (), "no doubts where values are as always")
        learner.tell(seen, label)
    seen = sell(learner.problem, learner.ask(), 1e6 * X[0])
    known = to_bytes(learner) if has_state(learner) else b""
    found = learner.doubts(seen)
    if has_state(learner):
        require(to_bytes(learner) == known, "doubts change nothing")
        again: Any = from_bytes(known, type(learner))
        require(again.doubts(seen) == found, "a file has the same doubts")
    names = [doubt.name for doubt in found]
    require(len(set(names)) == len(names) <= len(seen.values), "one doubt for a value at most")
    require(all(doubt.value in seen.values for doubt in found), "doubts are about what was bought")
