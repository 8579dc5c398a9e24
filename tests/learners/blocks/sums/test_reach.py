"""How far values reach: C against the rules in plain Python, and what the rules are for."""

import numpy as np
import pytest

from keyhole.learners.blocks.sums.reach import (
    AS_BEFORE,
    COUNT,
    HIGH,
    LOW,
    MOVED,
    NEXT_HIGH,
    NEXT_LOW,
    SIZE,
    WAS_WILD,
    extend,
    heed,
    refuse_odd_reach,
)
from keyhole.problem import Floats, StateError
from tests.helpers.auto_reach import Reach

FOUND = {"": AS_BEFORE, "was wild": WAS_WILD, "moved": MOVED}


def stream(seed: int) -> Floats:
    """Values of any kind, with typos, and other levels and units from places on."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(60) if seed % 3 else rng.integers(0, 3, 60).astype(float)
    values += rng.choice([0.0, 5.0])
    values[rng.random(60) < 0.1] *= rng.choice([10.0, -100.0, 1e4])
    at = int(rng.integers(60))
    values[at:] = values[at:] * rng.choice([1.0, 1000.0]) + rng.choice([0.0, 500.0])
    return values


@pytest.mark.parametrize("seed", range(40))
def test_c_keeps_to_the_rules(seed: int) -> None:
    reach, rules = np.zeros(SIZE), Reach(far=2.0)
    rng = np.random.default_rng(seed)
    for value in stream(seed).tolist():
        believed = bool(rng.random() < 0.1)
        assert heed(reach, 2.0, value, believed) == FOUND[rules.note(value, believed=believed)]
        ends = [rules.low, rules.high, rules.next_low, rules.next_high]
        assert reach[:4].tolist() == ends
        assert abs(reach[4]) == rules.q
        assert reach[COUNT] == rules.n
        refuse_odd_reach(reach[None, :])


def noted(values: list[float]) -> tuple[Floats, list[int]]:
    reach = np.zeros(SIZE)
    return reach, [heed(reach, 2.0, value, False) for value in values]


USUAL = [1.0, 2.0, 4.0, 3.0, 2.5, 1.5, 3.5, 2.0, 3.0]


def test_one_value_far_out_changes_nothing_and_three_in_a_row_do() -> None:
    reach, _ = noted([*USUAL, 300.0, 2.0, 300.0])
    assert (reach[LOW], reach[HIGH]) == (1.0, 4.0)
    reach, found = noted([*USUAL, 300.0, 301.0, 302.0])
    assert (reach[LOW], reach[HIGH]) == (1.0, 302.0)
    assert found[-3:] == [AS_BEFORE, AS_BEFORE, MOVED]


def test_on_both_sides_nothing_moved() -> None:
    reach, found = noted([*USUAL, 300.0, 301.0, -302.0])
    assert (reach[LOW], reach[HIGH]) == (-302.0, 4.0)
    assert found[-1] == AS_BEFORE


def test_values_that_grow_are_never_far_out() -> None:
    grown = [*USUAL, 8.0, 18.0, 40.0]  # each at most 1.5 ranges beyond
    assert noted(grown)[0][HIGH] == 40.0


@pytest.mark.parametrize("place", range(4))
def test_one_of_the_first_is_taken_back(place: int) -> None:
    values = list(USUAL)
    values[place] = 300.0
    reach, found = noted(values)
    assert found.count(WAS_WILD) == 1
    assert found.index(WAS_WILD) == 3
    assert reach[HIGH] <= 4.0


def test_a_value_that_is_believed_is_learnt() -> None:
    reach, _ = noted(USUAL)
    heed(reach, 2.0, 300.0, True)
    assert (reach[HIGH], reach[NEXT_HIGH]) == (300.0, 4.0)


def test_ranges_of_many_values_widen_it() -> None:
    rows = np.stack([noted(USUAL)[0], np.zeros(SIZE), np.zeros(SIZE)])
    low, high = np.array([0.0, -1.0, np.inf]), np.array([3.0, 5.0, -np.inf])
    extend(rows, low, high, np.array([10.0, 4.0, 0.0]))
    assert rows[:, [LOW, HIGH, COUNT]].tolist() == [[0.0, 4.0, 19.0], [-1.0, 5.0, 4.0], [0, 0, 0]]
    refuse_odd_reach(rows)


@pytest.mark.parametrize("place", [LOW, HIGH, NEXT_LOW, NEXT_HIGH, COUNT])
def test_a_forged_reach_is_refused(place: int) -> None:
    reach, _ = noted(USUAL)
    reach[place] = {LOW: 9.0, HIGH: -9.0, NEXT_LOW: -9.0, NEXT_HIGH: 9.0, COUNT: -1.0}[place]
    with pytest.raises(StateError, match="reach"):
        refuse_odd_reach(reach[None, :])
