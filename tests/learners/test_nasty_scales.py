"""Values and labels from 1e-310 to 1e150: predictions, weights and intercepts stay finite.

Anything below 1e-150 in size counts as 0, as its square would underflow; anything above 1e150 is
refused at the door. Between them no learner may overflow, divide by 0 or warn.
"""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from benchmarks.attack import streams
from keyhole.problem import Floats
from keyhole.testing.tools import RowsOnly

D, ROUNDS = 8, 60
Rows = tuple[Floats, Floats]


def plain(seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (ROUNDS, D))
    return X, X[:, 1] - 0.5 * X[:, 3] + 0.1 * rng.standard_normal(ROUNDS)


def nasty() -> dict[str, Rows]:
    X, y = plain()
    rng, streams = np.random.default_rng(1), dict[str, Rows]()
    y = np.clip(y, -1.0, 1.0)
    for size in (1e-310, 1e-200, 1e-160, 1e-156, 1e-149, 1e-100, 1e80, 0.9e150):
        streams[f"x {size:g}"] = X * size, y
        streams[f"y {size:g}"] = X, y * size
        streams[f"both {size:g}"] = X * size, y * size
    streams["x 1e-158, y 1e-310"] = X * 1e-158, y * 1e-310
    for size in (1e60, 1e100, 1e150):
        for name, rows in (("one row", slice(20, 21)), ("rows", slice(20, 50, 7))):
            Z = X.copy()
            Z[rows] *= size
            streams[f"{name} {size:g}"] = Z, y
        Z, labels = X.copy(), y.copy()
        Z[:, 1] *= size
        labels[20] *= size
        streams[f"column {size:g}"] = Z, y
        streams[f"label {size:g}"] = X, labels
    streams["tiny and one row"] = np.vstack([X[:20] * 1e-148, X[20:21] * 1e150, X[21:] * 1e-148]), y
    streams["huge and one row"] = np.vstack([X[:20] * 1e148, X[20:21] * 1e-148, X[21:] * 1e148]), y
    labels = y * 10.0 ** rng.integers(-300, 149, ROUNDS)
    streams["mixed"] = X * 10.0 ** rng.integers(-160, 150, X.shape), labels
    streams["mixed columns"] = X * 10.0 ** rng.integers(-160, 150, D), y
    streams["mixed rows"] = X * 10.0 ** rng.integers(-160, 150, (ROUNDS, 1)), y
    for share in (0.4, 0.9, 1.0):
        Z = X.copy()
        Z[rng.random(X.shape) < share] = np.nan
        streams[f"absent {share:g}"] = Z, y
    return streams


STREAMS = nasty()


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
def test_everything_stays_finite(name: str) -> None:
    for about, (X, y) in STREAMS.items():
        slow, fast = learner_of(name, clip=False), learner_of(name, clip=True)
        literal, single = learner_of(name, clip=False), list[float]()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for x, label in zip(X, y.tolist(), strict=True):
                ticket = slow.ask()
                seen = ticket.fill(x[ticket.features])
                # What is cut off at the end may overflow, but it must be a number.
                assert not math.isnan(slow._predict(seen)), about  # type: ignore[attr-defined]
                single.append(slow.predict(seen))
                slow.tell(seen, label)
                assert np.isfinite(slow.weights).all(), about
                assert math.isfinite(slow.intercept), about
            predictions = [player.advance(X, y) for player in (literal, fast)]  # type: ignore[attr-defined]
        np.testing.assert_array_equal(predictions[0], single, err_msg=about)
        assert np.isfinite(predictions).all(), about
        assert np.abs(predictions).max() <= 1e150, about
        for player in (literal, fast):
            assert np.isfinite(player.weights).all(), about
            assert math.isfinite(player.intercept), about


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
