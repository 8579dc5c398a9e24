"""The range of the labels: its ends belong to it, one by one as by rounds."""

import math

import numpy as np
import pytest

from keyhole.errors import LARGEST, StateError
from keyhole.problem.labels import LabelSpan, cut_off_largest, cut_off_largest_rounds

ODD = [-math.inf, -9.0, -2.0, -1.0, 0.0, 1.0, 2.0, 9.0, math.inf, math.nan]


def span_of(*labels: float) -> LabelSpan:
    span = LabelSpan()
    span.note(np.array(labels))
    return span


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((), [0.0] * 10),
        ((-1.0, 2.0), [-1.0, -1.0, -1.0, -1.0, 0.0, 1.0, 2.0, 2.0, 2.0, 0.0]),
        ((1.0, 2.0), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0]),
        ((-2.0, -1.0), [-2.0, -2.0, -2.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]),
        ((0.0, 0.0), [0.0] * 10),
    ],
)
def test_the_nearest_point_of_the_range(labels: tuple[float, ...], expected: list[float]) -> None:
    span = span_of(*labels)
    assert [span.cut_off(prediction) for prediction in ODD] == expected
    for prediction, wanted in zip(ODD, expected, strict=True):
        alone = np.array([prediction])
        span.cut_off_rounds(alone, np.array([5.0]))  # told afterwards
        assert alone.tolist() == [wanted]


def test_labels_widen_the_range_from_the_round_after() -> None:
    predictions = np.array([5.0, 5.0, -5.0, 5.0, 1.0])
    span_of().cut_off_rounds(predictions, np.array([1.0, 3.0, -2.0, 0.0, 9.0]))
    assert predictions.tolist() == [0.0, 1.0, 1.0, 3.0, 1.0]


def test_one_label_or_many_are_noted_alike() -> None:
    one, many = LabelSpan(), span_of(3.0, -1.0, 2.0)
    for label in (3.0, -1.0, 2.0):
        one.note_one(label)
    assert one.ends.tolist() == many.ends.tolist() == [-1.0, 3.0]
    many.note(np.array([]))
    assert many.ends.tolist() == [-1.0, 3.0]
    many.note(np.array([7.0]))
    many.note(np.array([-4.0]))
    assert many.ends.tolist() == [-4.0, 7.0]


@pytest.mark.parametrize(
    "ends", [(-LARGEST, LARGEST), (2.0, 2.0), (math.inf, -math.inf), (-LARGEST, -LARGEST)]
)
def test_ends_that_labels_can_have_are_put_back(ends: tuple[float, float]) -> None:
    span = LabelSpan()
    span.restore(np.array(ends))
    assert span.ends.tolist() == list(ends)


@pytest.mark.parametrize(
    "ends",
    [
        (2.0, 1.0),
        (-2 * LARGEST, 0.0),
        (0.0, 2 * LARGEST),
        (math.inf, math.inf),
        (-math.inf, -math.inf),
        (math.inf, 0.0),
        (0.0, -math.inf),
        (math.nan, 1.0),
    ],
)
def test_ends_that_no_labels_have_are_refused(ends: tuple[float, float]) -> None:
    span = span_of(1.0)
    with pytest.raises(StateError, match="no labels range from"):
        span.restore(np.array(ends))
    assert span.ends.tolist() == [1.0, 1.0]


def test_predictions_are_at_most_as_large_as_labels() -> None:
    raw = [LARGEST, -LARGEST, 2 * LARGEST, -2 * LARGEST, math.inf, -math.inf, math.nan, 0.5]
    wanted = [LARGEST, -LARGEST, LARGEST, -LARGEST, LARGEST, -LARGEST, 0.0, 0.5]
    assert [cut_off_largest(prediction) for prediction in raw] == wanted
    rounds = np.array(raw)
    cut_off_largest_rounds(rounds)
    assert rounds.tolist() == wanted
