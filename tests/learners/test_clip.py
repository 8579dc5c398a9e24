"""Predictions that are cut off at the range of the labels so far, and what that leaves alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import keyhole as kh
from keyhole.problem import Floats
from keyhole.problem.labels import LabelSpan
from keyhole.saving.api import from_bytes, to_bytes

ROUNDS = 200
ANY = st.floats(-1e150, 1e150)
RAW = st.floats(allow_nan=True, allow_infinity=True)


def problem_of(name: str) -> kh.Problem:
    return kh.Problem(12, 2, 12 if kh.LEARNERS[name].reads_everything else 6)


def rows(seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (ROUNDS, 12))
    return X, X[:, 2] - 0.5 * X[:, 5] + 0.1 * rng.standard_normal(ROUNDS)


def attack(kind: str) -> tuple[Floats, Floats]:
    """Streams on which learners of models through the origin, or of unit size, are far off."""
    X, y = rows()
    if kind == "constant":
        return X, np.full(ROUNDS, 7.0)
    X[70] = 1e30
    return X, y


def range_before(y: Floats) -> tuple[Floats, Floats]:
    """The least and largest label before each round, obviously."""
    low = np.array([min(y[:t], default=0.0) for t in range(len(y))])
    return low, np.array([max(y[:t], default=0.0) for t in range(len(y))])


@pytest.mark.parametrize(
    "name", [name for name, row in kh.LEARNERS.items() if row.settings.get("clip")]
)
def test_without_clip_it_is_the_literal_algorithm(name: str) -> None:
    row = kh.LEARNERS[name]
    settings = {key: value for key, value in row.settings.items() if key != "clip"}
    X, y = rows()
    make: type = row.cls
    literal = make(problem_of(name), seed=1, **settings)
    clipped = row(problem_of(name), seed=1)
    raw, cut = (kh.play(a, kh.streams.ArrayStream(X, y)).predictions for a in (literal, clipped))
    np.testing.assert_array_equal(np.clip(raw, *range_before(y)), cut)
    np.testing.assert_array_equal(literal.weights, clipped.weights)
    assert literal.clip is False


def test_what_is_clipped_would_have_exploded() -> None:
    X, y = attack("outlier")
    literal = kh.DualAveragingLearner(kh.Problem(12, 2, 6), seed=1)
    assert np.abs(literal.advance(X, y)).max() > 1e20


@given(
    arrays(float, st.integers(0, 6), elements=ANY),
    arrays(float, 5, elements=ANY),
    arrays(float, 5, elements=RAW),
)
def test_blocks_are_cut_off_as_single_rounds_are(told: Floats, y: Floats, raw: Floats) -> None:
    span, twin = LabelSpan(), LabelSpan()
    span.note(told)
    for label in told.tolist():
        twin.note_one(label)
    rounds = raw.copy()
    span.cut_off_rounds(rounds, y)
    span.note(y)
    for prediction, label, found in zip(raw.tolist(), y.tolist(), rounds.tolist(), strict=True):
        assert twin.cut_off(prediction) == found
        twin.note_one(label)
    np.testing.assert_array_equal(span.ends, twin.ends)


def test_the_range_is_saved_and_what_no_labels_have_is_refused() -> None:
    X, y = attack("constant")
    learner = kh.LEARNERS["dantzig"](problem_of("dantzig"), seed=1)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    twin = from_bytes(to_bytes(learner))
    ticket = twin.ask()
    assert twin.predict(ticket.fill(np.full(len(ticket.features), 1e9))) == 7.0
    for ends in ([1.0, -1.0], [np.nan, 1.0], [0.0, np.inf]):
        with pytest.raises(kh.StateError, match="no labels range from"):
            LabelSpan().restore(np.array(ends))


def test_a_block_that_stops_short_has_told_what_it_played() -> None:
    X, y = rows()
    X[50, :] = 1e200
    learner = kh.LEARNERS["iht"](problem_of("iht"), seed=1)
    with pytest.raises(kh.DataError, match="round 51"):
        kh.play(learner, kh.streams.ArrayStream(X, y))
    assert learner._desk.labels.ends.tolist() == [y[:50].min(), y[:50].max()]  # type: ignore[attr-defined]


def test_merged_learners_know_the_labels_of_both() -> None:
    X, y = rows()
    shards = [kh.LEARNERS["dantzig"](problem_of("dantzig"), seed=seed) for seed in (1, 2)]
    for learner, part in zip(shards, (slice(0, 100), slice(100, 200)), strict=True):
        kh.play(learner, kh.streams.ArrayStream(X[part], y[part]))
    merged = kh.merge(*shards)
    assert merged._desk.labels.ends.tolist() == [y.min(), y.max()]  # type: ignore[attr-defined]


def test_clip_is_a_bool() -> None:
    with pytest.raises(kh.ProblemError, match="clip must be True or False, got 1"):
        kh.DualAveragingLearner(kh.Problem(12, 2, 6), clip=1)  # type: ignore[arg-type]
