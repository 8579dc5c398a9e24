"""The last layer by value, by its rules written out, and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from keyhole.learners.auto_saving import by_batches
from keyhole.learners.blocks.auto.last_layer import (
    BENT,
    LAYER_PAST_NAMES,
    PAST,
    WITH_PAST,
    Layer,
    LayerWords,
    begin,
    correct,
    foresee,
    know,
    layer,
    layer_words,
    noted,
    past_weights,
    recalled,
)
from keyhole.learners.blocks.auto.mixture import shares
from keyhole.learners.blocks.sums.past_labels import PAST_INPUTS
from keyhole.problem import Floats
from tests.helpers import auto_pieces

KINKS = (-1.2, 0.4)
NOW = np.empty((0, 0))  # no pasts: what is known now
MEMORY = 6.0
BATCHES = ((2, 0.0), (2, 0.7), (3, 2.5), (4, 0.2))  # rows, and the variance of the labels before


def rounds() -> tuple[Floats, Floats]:
    """Labels far from 0, and predictions that miss some of them by much."""
    rng, n = np.random.default_rng(4), sum(many for many, _ in BATCHES)
    y = 5.0 + rng.standard_normal(n).cumsum()
    return y, y + np.where(np.arange(n) % 3 == 0, 1.5, 0.2) * rng.standard_normal(n)


@pytest.mark.parametrize(
    ("kinks", "past"), [(KINKS, True), (KINKS, False), ((), False), ((), True), (None, True)]
)
def test_a_layer_does_what_its_rules_say(kinks: tuple[float, ...] | None, past: bool) -> None:
    last = layer(kinks, past=past)
    twin = auto_pieces.Layer(kinks or (), past, MEMORY, "")
    (y, predictions), centre, t = rounds(), math.nan, 0
    for many, variance in BATCHES:
        begin(last, variance)
        twin.begin(variance)
        assert last.unit[0] == pytest.approx(twin.u)
        rows, expected = predictions[t : t + many].copy(), []
        for i in range(t, t + many):
            expected.append(twin.foresee(float(predictions[i]), centre, float(y[i])))
            centre = float(y[i]) if math.isnan(centre) else centre
        correct(last, math.exp(-1.0 / MEMORY), math.nan if t == 0 else centre, NOW,
                y[t : t + many], rows)  # fmt: skip
        assert rows == pytest.approx(expected, rel=1e-9)
        t, centre = t + many, centre + 0.25
    assert last.judge.losses == pytest.approx(twin.judge.L)
    assert last.judge.belief == pytest.approx(twin.judge.B)
    X, fades = np.array(twin.rows), np.exp(-np.arange(len(twin.rows))[::-1] / MEMORY)
    products = np.tril((X * fades[:, None]).T @ X)
    assert last.A.ravel().tolist() == pytest.approx(products.ravel().tolist())
    assert last.b == pytest.approx((X * fades[:, None]).T @ np.array(twin.missed))
    assert last.spread == pytest.approx([np.square(twin.gs).sum(), len(twin.gs)])
    assert int(last.errors.told[0]) == (len(twin.gs) if past else 0)
    if past:
        known = np.empty(PAST)
        know(last, known)
        assert known == pytest.approx([*twin.labels.inputs(), *twin.errors.inputs()])


def played(past: bool = True) -> Layer:
    """A layer in the middle of a batch."""
    (y, predictions), last = rounds(), layer(KINKS, past=past)
    correct(last, 0.9, math.nan, NOW, y[:6], predictions[:6].copy())
    begin(last, 0.7)
    correct(last, 0.9, 5.5, NOW, y[6:9], predictions[6:9].copy())
    return last


def test_what_is_foreseen_is_what_is_played_and_changes_nothing_that_lasts() -> None:
    last, known = played(), np.empty(PAST)
    know(last, known)
    sums = [array.copy() for array in (last.A, last.b, last.spread, *last.judge, *last.labels)]
    expected, row = foresee(last, 6.5, 5.5, known), np.array([6.5])
    for array, before in zip((last.A, last.b, last.spread, *last.judge, *last.labels), sums,
                             strict=True):  # fmt: skip
        assert array.tolist() == before.tolist()
    correct(last, 0.9, 5.5, NOW, np.array([7.0]), row)
    assert row.tolist() == [expected]
    assert expected != 6.5


def test_the_past_of_a_row_is_what_it_is_told_to_be() -> None:
    """One row that knew nothing: its inputs of the past are 0, and it is remembered itself."""
    last = layer(KINKS, past=True)
    correct(last, 1.0, math.nan, NOW, np.array([4.0]), np.array([4.0]))
    correct(last, 1.0, 3.0, np.full((1, PAST), np.nan), np.array([6.0]), np.array([5.0]))
    assert last.b.tolist() == [1.0, 2.0, 2.0, 2.0, *[0.0] * PAST]
    correct(last, 0.0, 3.0, np.arange(2.0 * PAST).reshape(2, PAST), np.array([6.0, 7.0]),
            np.array([5.0, 5.0]))  # fmt: skip
    second = np.arange(PAST, 2.0 * PAST) - np.where(np.arange(PAST) < PAST_INPUTS, 3.0, 0.0)
    assert last.b.tolist() == pytest.approx([2.0, 4.0, 4.0, 4.0, *2.0 * second])
    assert last.labels.last.tolist() == [7.0, 6.0]
    assert last.errors.last.tolist() == [2.0, 1.0]


def test_without_rows_nothing_is_learnt() -> None:
    last, nothing = layer(KINKS, past=True), np.empty(0)
    for centre in (math.nan, 3.0):
        correct(last, 0.5, centre, NOW, nothing, nothing)
    assert np.isnan(last.judge.span).all()
    assert (last.labels.told[0], last.errors.told[0], *last.spread) == (0, 0, 0.0, 0.0)


@pytest.mark.parametrize("broken", [0, 2])  # a place of both guesses, one of the past alone
def test_a_guess_that_is_no_number_becomes_the_prediction(broken: int) -> None:
    last = layer((), past=True)
    begin(last, 1.0)
    last.judge.span[:] = -1.0, 1.0
    assert foresee(last, 0.25, 0.0, np.full(PAST, np.nan)) == pytest.approx(0.25)
    last.along[broken] = 1.0
    assert abs(foresee(last, 0.25, 0.0, np.ones(PAST)) - 0.25) > 0.01
    last.along[broken] = np.inf
    assert foresee(last, 0.25, 0.0, np.full(PAST, np.nan)) == pytest.approx(0.25)
    assert foresee(last, 0.25, 0.0, np.ones(PAST)) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("kinks", "past", "places", "guesses"),
    [(None, False, 0, 1), ((), False, 2, 2), (None, True, 12, 3), ((), True, 12, 3),
     (KINKS, False, 4, 2), (KINKS, True, 14, 3)],
)  # fmt: skip
def test_the_room_a_layer_takes(
    kinks: tuple[float, ...] | None, past: bool, places: int, guesses: int
) -> None:
    last = layer(kinks, past=past)
    assert last.there == (places > 0)
    assert last.kinks.tolist() == list(kinks or ())
    assert (last.A.shape, last.b.shape) == ((places, places), (places,))
    assert (last.root.shape, last.along.shape) == ((places, places), (places,))
    assert (last.spread.shape, last.unit.shape) == ((2,), (1,))
    assert last.judge.prior.tolist() == pytest.approx([0.5 / guesses] * guesses + [0.5])
    for part in (last.A, last.b, last.spread, last.unit, last.root, last.along):
        assert not part.any()


def test_the_ridge_is_one_round_of_the_constant_and_the_variance_of_the_labels() -> None:
    last, half = layer((0.5,), past=False), [1.0, 0.5, 0.5]
    last.b[:] = 3.0
    begin(last, 4.0)
    assert last.root.tolist() == np.diag(half).tolist()
    assert last.along.tolist() == [3.0, 1.5, 1.5]
    last.A[1, 1], last.A[2, 1] = 12.0, 4.0  # with the ridge: 16 and 4 below
    begin(last, 4.0)
    inverse = np.linalg.inv(
        np.linalg.cholesky([[1.0, 0.0, 0.0], [0.0, 16.0, 4.0], [0.0, 4.0, 4.0]])
    )
    assert last.root.ravel() == pytest.approx(inverse.T.ravel())
    assert last.along == pytest.approx(inverse @ last.b)


@pytest.mark.parametrize(("variance", "more"), [(0.0, 1.0), (np.nan, 1.0), (0.7, np.inf)])
def test_without_a_variance_or_sums_nothing_is_guessed(variance: float, more: float) -> None:
    last, known = played(), np.arange(1.0 * PAST)
    begin(last, 0.7)
    assert last.along.all()
    assert abs(foresee(last, 6.0, 5.5, known) - 6.0) > 1e-3
    last.A[3, :4] += more
    begin(last, variance)
    assert not last.root.any()
    assert not last.along.any()
    assert foresee(last, 6.0, 5.5, known) == pytest.approx(6.0)


def test_the_unit_is_the_root_mean_square_of_predictions() -> None:
    last = layer(KINKS, past=False)
    begin(last, 1.0)
    assert last.unit[0] == 0.0
    last.spread[:] = 36.0, 4.0
    begin(last, 0.0)  # whatever labels do
    assert last.unit[0] == 3.0


def test_what_the_past_adds_by_name() -> None:
    last = played()
    begin(last, 0.7)
    added, part = past_weights(last), shares(last.judge)[WITH_PAST]
    assert 0.0 < part < 1.0
    assert list(added) == list(LAYER_PAST_NAMES)
    sums = last.A + np.tril(last.A, -1).T + np.diag([1.0, *[0.7] * (len(last.b) - 1)])
    theta = np.linalg.solve(sums, last.b)
    assert list(added.values()) == pytest.approx((part * theta[4:]).tolist())
    assert all(added.values())
    begin(last, 0.0)
    assert list(past_weights(last).values()) == [0.0] * PAST
    assert past_weights(played(past=False)) == {}


def test_a_layer_in_words() -> None:
    assert layer_words(layer(None, past=False)) == LayerWords({}, {}, 0.0)
    last = played()
    last.judge.recent[:] = 4.0, 0.5, 0.125
    words = layer_words(last)
    assert list(words.layer) == ["as it is", "bent", "with the past"]
    assert list(words.layer.values()) == pytest.approx(shares(last.judge).tolist())
    assert words.past == past_weights(last)
    assert words.saved == 0.75
    last.judge.recent[BENT] = 0.0
    assert layer_words(last).saved == 0.0
    without = layer_words(played(past=False))
    assert list(without.layer) == ["as it is", "bent"]
    assert (without.past, without.saved) == ({}, 0.0)


def test_a_ticket_notes_what_is_known() -> None:
    last = layer((), past=True)
    expected = np.full(PAST, np.nan)
    for t, (many, y) in enumerate([(0, 4.0), (1, 6.0), (2, 9.0), (2, 8.0)]):
        past, told = noted(last)
        assert told.tolist() == [many, max(t - 1, 0)]
        assert past.tolist() == pytest.approx(np.nan_to_num(expected).tolist())
        assert np.array_equal(np.isnan(recalled(past, told)), np.isnan(expected))
        assert np.nan_to_num(recalled(past, told)).tolist() == past.tolist()
        correct(last, 1.0, math.nan if t == 0 else 4.0, NOW, np.array([y]), np.array([5.0]))
        know(last, expected)


def test_sums_from_before_batches_get_room_for_what_is_derived() -> None:
    A, b, others = np.eye(2), np.ones(2), ["kept", {"runs": 3}]
    now = {"of": [others, ["last", {"A": A, "b": b, "root": A, "along": b}]]}
    assert by_batches(now) == (now, False)
    before = {"kind": "dict", "of": [others, ["last", {"A": A, "runs": {"P": A}, "b": b}], "odd"]}
    tree, other = by_batches(before)
    assert other
    assert (tree["kind"], tree["of"][0]) == ("dict", others)
    [[name, last]] = tree["of"][1:]
    assert (name, sorted(last)) == ("last", ["A", "along", "b", "root"])
    assert last["A"] is A
    assert last["b"] is b
    assert (last["root"].tolist(), last["along"].tolist()) == ([[0.0] * 2] * 2, [0.0] * 2)
    nothings: list[Any] = [None, 3, [], {}, {"of": [["last"], ["last", 1]]}]
    for nothing in nothings:
        assert by_batches(nothing) == (nothing, False)
