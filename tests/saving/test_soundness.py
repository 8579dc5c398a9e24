"""What fields are declared to hold is what a state is held to, one rule at a time."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats, Indices
from keyhole.problem.desk import Desk
from keyhole.problem.state import MAX_WHOLE_NUMBER, AscendingFeatures, Holds, PerFeature
from keyhole.problem.state_checks import prove, prove_tickets, refuse_another_model

SIZES = {"d": 5, "k": 2, "budget": 3}


class Record(NamedTuple):
    """One field for each rule."""

    plain: Floats = np.zeros(2)
    counts: Indices = np.zeros(2, dtype=np.int64)
    features: AscendingFeatures = np.array([0, 4])
    place: Annotated[Indices, Holds(below="plain")] = np.array([0, 1])
    size: Annotated[Indices, Holds(most="plain")] = np.array([0, 2])
    positive: Annotated[Floats, Holds(least=0.0)] = np.zeros(1)
    label: Annotated[Floats, Holds(nan=True)] = np.array([np.nan])
    tau: Annotated[Floats, Holds(infinite=True)] = np.array([np.inf])
    square: Annotated[Floats, Holds(shape=("features+1", "features+1"))] = np.zeros((3, 3))
    support: Annotated[Indices, Holds(longest="k")] = np.array([3])
    different: Annotated[Indices, Holds(distinct=True)] = np.array([3, 1])
    perhaps: Annotated[Floats | None, Holds(shape=("d",))] = None
    number: int = 3
    inner: tuple[float, ...] = (1.0, 2.0)


def test_what_is_declared_is_accepted() -> None:
    prove(Record(), "record", SIZES)
    prove(Record(perhaps=np.zeros(5), plain=np.full(2, -1e300)), "record", SIZES)
    prove(
        Record(
            counts=np.array([0, MAX_WHOLE_NUMBER]),
            number=MAX_WHOLE_NUMBER,
            support=np.array([3, 4]),
        ),
        "r",
        SIZES,
    )
    prove(Record(features=np.array([], dtype=np.int64), square=np.zeros((1, 1))), "r", SIZES)
    assert MAX_WHOLE_NUMBER == 2**53


WRONG: dict[str, list[Any]] = {
    "plain": [np.array([0.0, np.nan]), np.array([-np.inf, 0.0]), np.zeros(2, dtype=np.float32)],
    "counts": [np.array([0, -1]), np.array([MAX_WHOLE_NUMBER + 1, 0])],
    "features": [np.array([0, 5]), np.array([-1, 2]), np.array([2, 2]), np.array([3, 1])],
    "place": [np.array([0, 2]), np.array([-1, 0])],
    "size": [np.array([3, 0])],
    "positive": [np.array([-1e-300]), np.array([np.nan])],
    "label": [np.array([np.inf])],
    "tau": [np.array([np.nan])],
    "square": [np.zeros((3, 2)), np.zeros(3)],
    "support": [np.array([0, 1, 2]), np.zeros((1, 1), dtype=np.int64)],
    "different": [np.array([3, 3])],
    "perhaps": [np.zeros(4), np.zeros(5, dtype=np.int64)],
    "number": [-1, MAX_WHOLE_NUMBER * 2],
    "inner": [(1.0, math.nan)],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, vs in WRONG.items() for v in vs])
def test_anything_else_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(kh.StateError, match=rf"^record\.{name}"):
        prove(Record()._replace(**{name: value}), "record", SIZES)


class Outer(NamedTuple):
    closed: int
    inner: list[Any]


class Inner(NamedTuple):
    rows: Annotated[Indices, Holds(most="closed")]


def test_a_size_may_be_a_field_of_the_record_around() -> None:
    prove(Outer(2, [Inner(np.array([2]))]), "outer", SIZES)
    with pytest.raises(kh.StateError, match=r"^outer\.inner\[0\]\.rows must be at most closed"):
        prove(Outer(2, [Inner(np.array([3]))]), "outer", SIZES)


class Memo(NamedTuple):
    support: Annotated[Indices, Holds(ascending=True, longest="k", among="features")]
    weights: Annotated[Floats, Holds(shape=("support",))]
    means: PerFeature
    number: Annotated[Indices, Holds(shape=(), most="begun")]


GOOD: dict[str, Any] = {
    "support": np.array([1, 3]),
    "weights": np.zeros(2),
    "means": np.zeros(3),
    "number": np.array(7),
}


def desk_of(*memos: dict[str, Any]) -> Desk:
    desk = Desk(kh.Problem(5, 2, 3))
    for memo in memos:
        desk.issue([1, 3, 4], memo)
    return desk


def test_memos_as_declared_are_accepted() -> None:
    short = {**GOOD, "support": np.array([4]), "weights": np.zeros(1)}
    none = {**GOOD, "support": np.array([], dtype=np.int64), "weights": np.zeros(0)}
    prove_tickets(desk_of(GOOD, short, none, GOOD), (Memo,), {**SIZES, "begun": 7})
    prove_tickets(desk_of(none, GOOD, none), (Memo,), {**SIZES, "begun": 7})
    prove_tickets(desk_of({}, {}), (), SIZES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("support", np.array([1, 2])),  # 2 is not a feature of the ticket
        ("support", np.array([3, 1])),
        ("support", np.array([1, 1])),
        ("support", np.array([1, 10**9])),
        ("support", np.array([-1, 1])),
        ("support", np.array([1.0, 3.0])),
        ("weights", np.zeros(1)),
        ("weights", np.array([np.nan, 0.0])),
        ("means", np.zeros(2)),
        ("means", np.zeros((3, 1))),
        ("number", np.array(8)),
        ("number", np.array([7])),
    ],
)
def test_other_memos_are_refused_by_name(name: str, value: Any) -> None:
    for memos in ([{**GOOD, name: value}], [GOOD, {**GOOD, name: value}, GOOD]):
        with pytest.raises(kh.StateError, match=rf"memo\.{name}"):
            prove_tickets(desk_of(*memos), (Memo,), {**SIZES, "begun": 7})


def test_memos_of_no_known_kind_are_refused() -> None:
    for memo in ({}, {**GOOD, "more": np.zeros(1)}):
        with pytest.raises(kh.StateError, match="has the memo"):
            prove_tickets(desk_of(memo), (Memo,), {**SIZES, "begun": 7})
    with pytest.raises(kh.StateError, match="has the memo"):
        prove_tickets(desk_of(GOOD), (), SIZES)


def test_of_several_kinds_of_memos_each_is_held_to_its_own() -> None:
    class Number(NamedTuple):
        features: AscendingFeatures
        number: Annotated[Indices, Holds(shape=(), most="budget")]

    kinds, sizes = (Memo, Number), {**SIZES, "begun": 7}
    prove_tickets(desk_of({"number": np.array(3)}, GOOD), kinds, sizes)
    with pytest.raises(kh.StateError, match="number must be at most budget, the state has 4"):
        prove_tickets(desk_of(GOOD, {"number": np.array(4)}), kinds, sizes)


class Bounds(NamedTuple):
    """Bounds that are numbers, one for each place, or below 0."""

    pair: Annotated[Floats, Holds(least=(1.0, -2.0))] = np.array([[1.0, -2.0], [1.0, -2.0]])
    whole: Annotated[Indices, Holds(least=-1, most=4)] = np.array([-1, 4])
    on: bool = True
    last: Annotated[Indices, Holds(below=3)] = np.array([0, 2])
    long: Annotated[Floats, Holds(longest=2)] = np.zeros(2)
    exact: Annotated[Floats, Holds(shape=(2, 1))] = np.zeros((2, 1))


def test_bounds_belong_to_what_is_allowed_unless_it_is_below() -> None:
    prove(Bounds(), "", SIZES)
    wrong: dict[str, Any] = {
        "pair": np.array([[1.0, -2.0], [1.0, -2.5]]),
        "whole": np.array([-2, 4]),
        "last": np.array([0, 3]),
        "long": np.zeros(3),
        "exact": np.zeros((1, 2)),
    }
    for name, value in wrong.items():
        with pytest.raises(kh.StateError, match=f"^{name} must"):  # no dot in front
            prove(Bounds()._replace(**{name: value}), "", SIZES)
    with pytest.raises(kh.StateError, match=r"^whole must be at most 4, the state has 5"):
        prove(Bounds(whole=np.array([-1, 5])), "", SIZES)


def test_tickets_of_a_model_have_its_support() -> None:
    other = {**GOOD, "number": np.array(6), "support": np.array([4]), "weights": np.zeros(1)}
    desk = desk_of(other, {}, GOOD)
    refuse_another_model(desk, "number", 7, np.array([1, 3]))
    refuse_another_model(desk, "number", 6, np.array([4]))
    refuse_another_model(desk, "number", 5, np.array([0]))
    with pytest.raises(kh.StateError, match="ticket of round 3 has another support"):
        refuse_another_model(desk, "number", 7, np.array([4]))
