"""Values and labels from 1e-310 to 1e150: predictions, weights and intercepts stay finite.

Anything below 1e-150 in size counts as 0, as its square would underflow; anything above 1e150 is
refused at the door. Between them no learner may overflow, divide by 0 or warn.
"""

import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from benchmarks.attack import streams
from keyhole.problem import Floats
from keyhole.testing.extremes import extreme_streams
from keyhole.testing.helpers import RowsOnly

D, ROUNDS = 8, 60
Rows = tuple[Floats, Floats]


def plain(seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (ROUNDS, D))
    return X, X[:, 1] - 0.5 * X[:, 3] + 0.1 * rng.standard_normal(ROUNDS)


def learner_of(name: str, *, clip: bool) -> kh.Learner:
    row = kh.LEARNERS[name]
    settings = dict(row.settings)
    if not clip and "clip" in settings:
        del settings["clip"]
    make: Any = row.cls if row.preset is None else getattr(row.cls, row.preset)
    problem = kh.Problem(D, 2, D if row.reads_everything else 5)
    learner: kh.Learner = make(problem, seed=1, **settings)
    return learner


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_what_is_cut_off_is_a_number(name: str) -> None:
    """A prediction may overflow before it is cut off, but NaN has no place in the range."""
    for about, X, y in extreme_streams():
        learner: Any = learner_of(name, clip=False)
        for x, label in zip(X[:25], y.tolist(), strict=False):
            ticket = learner.ask()
            seen = ticket.fill(x[ticket.features])
            assert not math.isnan(learner._predict(seen)), about
            learner.tell(seen, label)


@pytest.mark.parametrize("name", ["auto", "dantzig", "online-greedy", "online-lasso", "aerr"])
def test_what_cannot_be_squared_is_zero(name: str) -> None:
    X, y = plain()
    tiny = X.copy()
    tiny[:, ::2] *= 1e-151
    zero = X.copy()
    zero[:, ::2] = 0.0
    ledgers = [
        kh.play(learner_of(name, clip=True), rows)
        for Z in (tiny, zero)
        for rows in (kh.streams.ArrayStream(Z, y), RowsOnly(kh.streams.ArrayStream(Z, y)))
    ]
    for ledger in ledgers[1:]:
        np.testing.assert_array_equal(ledger.predictions, ledgers[0].predictions)


def test_a_tiny_label_is_zero_and_a_tiny_value_too() -> None:
    learner = kh.RunningMean(kh.Problem(2, 1, 1))
    learner.tell(learner.ask().fill([]), 1e-151)
    assert learner.intercept == 0.0
    assert kh.Ticket(1, np.array([0, 1])).fill([1e-151, 1e-149]).values.tolist() == [0.0, 1e-149]


@pytest.mark.parametrize("told", ["at once", "late", "in blocks"])
def test_a_last_layer_outlives_labels_that_grow_without_end(told: str) -> None:
    """Each label is some thousand times the last one: rounding leaves nothing of what was learnt.

    Predictions stay finite, and what is saved can be loaded.
    """
    for problem, value in ((1, 1e-80), (2, 1.0)):
        case = ["auto, restless", problem, value, 1e150, "growing", told]
        assert streams.suffer(case) == "played"
