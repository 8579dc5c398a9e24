"""ShapeModel: what it predicts, what comes back from JSON, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.errors import DataError
from keyhole.problem.shape_parts import Curve, Trees, no_trees


def a_model() -> kh.ShapeModel:
    """10 + a curve of each of two features, and a tree on both."""
    age = Curve(np.array([0.0, 10.0]), np.array([-1.0, 1.0]), np.array([0.0, 5.0, 10.0]))
    dose = Curve(np.array([0.0, 4.0]), np.array([0.0, 4.0]), np.array([0.0, 0.0, 4.0]), 0.0, 0.5)
    tree = Trees(
        np.array([[0, 1, -1]]),
        np.array([[5.0, 2.0, 0.0]]),
        np.array([[True, False, True]]),
        np.array([[0.1, 0.2, 0.3, 99.0]]),
    )
    return kh.ShapeModel(
        ("age", "dose"), np.array([2, 7]), 10.0, (age, dose), tree, 0.0, 13.9, np.array([0.5])
    )


def by_hand(age: float, dose: float) -> float:
    """The same, written out."""
    total = 10.0
    if not math.isnan(age):
        total += -1.0 + 2.0 * min(max(age, 0.0), 10.0) / 10.0
    if not math.isnan(dose):
        total += min(max(dose, 0.0), 4.0) + (0.5 if dose == 0.0 else 0.0)
    if math.isnan(age) or age <= 5.0:
        total += 0.2 if math.isnan(dose) or dose > 2.0 else 0.1
    else:
        total += 0.3
    return min(max(total, 0.0), 13.9)


ROWS = [
    [a, d] for a in (-3.0, 0.0, 4.0, 5.0, 9.0, 50.0, math.nan) for d in (0, 1, 2, 3, 9, math.nan)
]


def test_predicts_as_written_down() -> None:
    expected = [by_hand(*row) for row in ROWS]
    assert a_model().predict(ROWS) == pytest.approx(expected, abs=1e-12)
    assert len(a_model().predict(np.empty((0, 2)))) == 0


def test_round_trip_to_the_bit() -> None:
    model = a_model()
    again = kh.ShapeModel.from_json(model.to_json())
    assert again.to_json() == model.to_json()
    assert np.array_equal(again.predict(ROWS), model.predict(ROWS))
    assert (again.names, str(again)) == (model.names, str(model))
    bare = kh.ShapeModel((), np.empty(0, np.int64), 1.5, (), no_trees(), 0.0, 2.0)
    assert kh.ShapeModel.from_json(bare.to_json()).predict(np.empty((3, 0))).tolist() == [1.5] * 3


def test_what_a_feature_does_is_what_predictions_say() -> None:
    """The effect is the difference of mean predictions; half of the tree counts for each."""
    model = replace(a_model(), low=-1e9, high=1e9)
    at, adds = model.effect("age", [0.0, 4.0, 6.0, 10.0])
    doses = np.interp(np.linspace(0.5 / 48, 1 - 0.5 / 48, 48) * 2, [0, 1, 2], [0.0, 0.0, 4.0])
    means = [model.predict([[value, dose] for dose in doses]).mean() for value in at]
    assert adds - adds[0] == pytest.approx(np.array(means) - means[0], abs=1e-12)
    assert "several features together: ± " in str(model)
    assert str(model).splitlines()[1].split() == ["age", "at", "0", "5", "10"]
    with pytest.raises(DataError, match=r"no feature 'bmi'.*age, dose"):
        model.effect("bmi")


def test_shows_itself() -> None:
    model = a_model()
    assert repr(model) == "<ShapeModel of 2 features: age, dose>"
    odd = replace(model, names=("<b>", "x\n"))
    assert "<b>" not in odd._repr_html_()
    assert "&lt;b&gt;" in odd._repr_html_()
    assert "\n" not in repr(odd)


def test_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        a_model().low = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    "rows",
    [[1.0, 2.0], [[1.0]], [[1.0, 2.0, 3.0]], [["a", "b"]], [[1.0, math.inf]], [[[1.0, 2.0]]]],
)
def test_refuses_odd_rows(rows: Any) -> None:
    with pytest.raises(DataError, match="rows"):
        a_model().predict(rows)


def _told(**changes: Any) -> str:
    told = json.loads(a_model().to_json())
    for path, value in changes.items():
        *way, last = path.split("__")
        place: Any = told
        for step in way:
            place = place[step]
        place[last] = value
    return json.dumps(told)


FORGED = [
    "",
    "null",
    "[]",
    "{}",
    "[" * 100_000,
    _told(ShapeModel=2),
    _told(ShapeModel=None),
    _told(names=["age"]),
    _told(names=["age", "age"]),
    _told(names=["age", 7]),
    _told(names="ab"),
    _told(features=[7, 2]),
    _told(features=[2, 2]),
    _told(features=[-1, 2]),
    _told(features=[2.5, 7]),
    _told(features=[2, 10**30]),
    _told(features=[[2, 7]]),
    _told(intercept="10"),
    _told(intercept=True),
    _told(intercept=math.nan),
    _told(intercept=10**400),
    _told(low=1.0, high=0.0),
    _told(high=math.inf),
    _told(missed=[math.nan]),
    _told(missed="12"),
    _told(curves=[]),
    _told(curves=[1, 2]),
    _told(curves={"0": 1}),
    _told(trees={}),
    _told(trees__features=[[0, 2, -1]]),
    _told(trees__features=[[0, -2, -1]]),
    _told(trees__features=[[0, 1]]),
    _told(trees__features=[[0, 1, -1], [0, 1, -1]]),
    _told(trees__features=[0, 1, -1]),
    _told(trees__features=[[0.5, 1, -1]]),
    _told(trees__features=[[0, 1], [0]]),
    _told(trees__thresholds=[[math.nan, 1.0, 0.0]]),
    _told(trees__thresholds=[["a", 1.0, 0.0]]),
    _told(trees__absent_left=[[1, 0, 1]]),
    _told(trees__leaves=[[1.0, 2.0, 3.0]]),
    _told(trees__leaves=[[1.0, 2.0, 3.0, math.inf]]),
]


@pytest.mark.parametrize("text", FORGED)
def test_forged_models_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="not a model written by to_json"):
        kh.ShapeModel.from_json(text)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("knots", []),
        ("knots", [10.0, 0.0]),
        ("knots", [0.0, 0.0]),
        ("knots", [0.0, math.nan]),
        ("values", [0.0]),
        ("values", [0.0, math.inf]),
        ("typical", [2.0, 1.0]),
        ("typical", [[1.0]]),
        ("mode", math.nan),
        ("mode", "0"),
        ("jump", math.inf),
        ("jump", None),
    ],
)
def test_forged_curves_are_refused(part: str, value: Any) -> None:
    told = json.loads(a_model().to_json())
    told["curves"][1][part] = value
    with pytest.raises(DataError, match="not a model written by to_json"):
        kh.ShapeModel.from_json(json.dumps(told))


def test_any_byte_of_a_file_may_change() -> None:
    """Whatever comes of it is refused or predicts: nothing else is raised."""
    text, rng, refused = a_model().to_json(), np.random.default_rng(0), 0
    for _ in range(2000):
        place, letter = rng.integers(len(text)), '0123456789-.e,[]{}:"nft '[rng.integers(24)]
        try:
            model = kh.ShapeModel.from_json(text[:place] + letter + text[place + 1 :])
        except DataError:
            refused += 1
        else:
            assert np.isfinite(model.predict(ROWS)).all()
            assert str(model)
    assert 200 < refused < 2000
