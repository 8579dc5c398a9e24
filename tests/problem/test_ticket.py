"""Ticket and Observation: what may be on a ticket, three ways to fill it, JSON there and back."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.problem import BudgetError, DataError, Observation, ProblemError, Ticket

TICKET = Ticket(3, np.array([1, 4, 7]), ("age", "bmi", "tsh"))


def test_a_ticket_lists_features_in_order_and_once() -> None:
    with pytest.raises(BudgetError, match="feature 4 twice"):
        Ticket(1, np.array([1, 4, 4]))
    with pytest.raises(BudgetError, match="ascending"):
        Ticket(1, np.array([4, 1]))
    with pytest.raises(BudgetError, match="from 0, the ticket asks for feature -1"):
        Ticket(1, np.array([-1, 1]))
    with pytest.raises(BudgetError, match="flat"):
        Ticket(1, np.array([[1, 2]]))
    with pytest.raises(BudgetError, match="whole numbers"):
        Ticket(1, ["age"])  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="round must be at least 1, got 0"):
        Ticket(0, np.array([1]))


def test_a_ticket_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        TICKET.features[0] = 2
    with pytest.raises(TypeError):
        TICKET.memo["more"] = np.array([1])  # type: ignore[index]


def test_changing_the_list_a_ticket_was_made_of_does_not_change_it() -> None:
    features = np.array([1, 2])
    ticket = Ticket(1, features)
    features[0] = 0
    assert ticket.features.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
        (np.array([1, 2, 3], dtype=np.int32), [1.0, 2.0, 3.0]),
        ([True, None, 3], [1.0, math.nan, 3.0]),
        ([1.0, math.nan, 3.0], [1.0, math.nan, 3.0]),
        ({"age": 1, "tsh": 3.0}, [1.0, math.nan, 3.0]),
        ({"age": 1, "bmi": None, "tsh": 3.0}, [1.0, math.nan, 3.0]),
        ({1: 1.0, 7: 3.0}, [1.0, math.nan, 3.0]),
        ({np.int64(4): np.float32(2.0)}, [math.nan, 2.0, math.nan]),
        ({}, [math.nan] * 3),
    ],
)
def test_fill(values: Any, expected: list[float]) -> None:
    np.testing.assert_array_equal(TICKET.fill(values).values, expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"round 3 has 3 features, got values of shape \(2,\)"),
        (1.0, r"got values of shape \(\)"),
        ([1.0, math.inf, 3.0], "feature 4 is inf in round 3: values are at most 1e.150"),
        (["1", "2", "3"], "must be numbers"),
        ([1.0, "x", None], "must be numbers"),
        ([1.0, [2.0], 3.0], "must be numbers|inhomogeneous"),
        ({"agee": 1.0}, r"'agee' was not bought in round 3 \(did you mean 'age'\?\)"),
        ({2: 1.0}, "2 was not bought in round 3"),
        ({"age": 1.0, 1: 1.0}, "'age' and 1 are the same feature: give one value"),
        ({"age": "61"}, "the value of 'age' must be a number, got '61'"),
        ({"age": [1]}, "the value of 'age' must be a number"),
        ({"age": -math.inf}, "feature 1 is -inf in round 3"),
    ],
)
def test_fill_refuses(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TICKET.fill(values)


def test_an_observation_keeps_no_reference_to_what_it_was_filled_with() -> None:
    row = np.array([1.0, 2.0, 3.0])
    seen = TICKET.fill(row)
    row[0] = 99.0
    assert seen.values[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        seen.values[0] = 2.0


def test_arrived_and_at() -> None:
    seen = TICKET.fill([1.0, math.nan, 3.0])
    features, values = seen.arrived()
    assert features.tolist() == [1, 7]
    assert values.tolist() == [1.0, 3.0]
    np.testing.assert_array_equal(
        seen.at(np.array([7, 0, 4, 9, 1])), [3, math.nan, math.nan, math.nan, 1]
    )
    empty = Ticket(1, np.array([], dtype=np.int64)).fill([])
    np.testing.assert_array_equal(empty.at(np.array([2])), [math.nan])
    assert len(empty.arrived()[0]) == 0


def test_an_observation_fits_its_ticket() -> None:
    with pytest.raises(DataError, match="3 features"):
        Observation(TICKET, np.zeros(2))


@given(
    round=st.integers(1, 2**62),
    features=st.sets(st.integers(0, 2**40), max_size=6),
    named=st.booleans(),
    memo=st.dictionaries(
        st.text(max_size=4),
        st.one_of(
            st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(
                lambda v: np.array(v, dtype=np.float64)
            ),
            st.lists(st.integers(-(2**62), 2**62)).map(lambda v: np.array(v, dtype=np.int64)),
        ),
        max_size=3,
    ),
)
def test_json_there_and_back(
    round: int, features: set[int], named: bool, memo: dict[str, Any]
) -> None:
    indices = np.array(sorted(features), dtype=np.int64)
    names = tuple(f"f{j}" for j in indices) if named else None
    ticket = Ticket(round, indices, names, memo)
    again = Ticket.from_json(ticket.to_json())
    assert again == ticket
    assert again.names == ticket.names
    assert hash(again) == hash(ticket)
    for key, array in ticket.memo.items():
        assert again.memo[key].dtype == array.dtype
        assert again.memo[key].tobytes() == array.tobytes()


def test_tickets_differ() -> None:
    memo = {"explore": np.array([1])}
    for other in (
        Ticket(4, TICKET.features),
        Ticket(3, TICKET.features[:2]),
        Ticket(3, TICKET.features, memo=memo),
    ):
        assert other != TICKET
    assert Ticket(3, TICKET.features, memo=memo) != Ticket(
        3, TICKET.features, memo={"explore": np.array([2])}
    )
    assert TICKET != "a ticket"


@given(cut=st.integers(0, 60))
def test_truncated_json_is_a_data_error(cut: int) -> None:
    text = TICKET.to_json()
    with pytest.raises(DataError, match="not a ticket"):
        Ticket.from_json(text[: min(cut, len(text) - 1)])


@pytest.mark.parametrize(
    "parts",
    [
        [],
        {},
        {"round": 1, "features": [1, 1], "names": None, "memo": {}},
        {"round": "x", "features": [1], "names": None, "memo": {}},
        {"round": 1, "features": [1], "names": 5, "memo": {}},
        {"round": 1, "features": [1], "names": None, "memo": {"a": {"no-such-type": [1]}}},
        {"round": 1, "features": [1], "names": None, "memo": {"a": 7}},
    ],
)
def test_foreign_json_is_a_data_error(parts: Any) -> None:
    with pytest.raises(DataError, match="not a ticket"):
        Ticket.from_json(json.dumps(parts))
