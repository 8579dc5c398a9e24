"""AutoLearner's block play of priced problems is the paragraph "Money" of its page."""

from dataclasses import replace

import pytest

from tests.helpers.auto_games import Case, first_difference
from tests.helpers.auto_money import BUGS

OWN = {"prices": [2, 1, 3, 1, 4, 2, 1, 5, 2, 1, 3, 1]}
CENTS = {"prices": ["2.50", "1.25", 3, "0.75", 4, "2.10", 1, 5, "2.35", "0.05", 3, 1]}
PANELS = {"panels": {"draw": (3, [0, 3, 4]), "scan": (4, [1, 5, 6, 7]), "form": (1, [2, 8])}}
# Two panels whose members cost more, one derived feature, a free one, and one too dear for most.
MIXED = {
    "prices": {0: 1, 1: "0.5", 3: 1, 5: 0, 6: "3.10", 7: 2, 8: 1, 9: 9, 10: "0.75", 11: 4},
    "panels": {"draw": ("2.5", [0, 1, 2]), "scan": (4, [3, 4])},
    "derived": {7: [0, 6]},
}
FEES = {"prices": OWN["prices"], "panels": {"visit": (2, [0, 1, 4, 5]), "lab": (3, [2, 3, 6, 7])}}

CASES = {
    "own prices": Case((12, 2, 8), 400, prices=OWN),
    "own prices, tight": Case((12, 1, 3), 400, prices=OWN),
    "own prices, cents, a switch": Case((12, 2, 6.4), 400, "switch", prices=CENTS),
    "own prices, all affordable": Case((12, 2, 26), 200, prices=OWN),
    "panels": Case((12, 2, 7), 400, prices=PANELS),
    "panels with own prices": Case((12, 2, 9), 400, "switch", prices=FEES),
    "all kinds, loose": Case((12, 2, 12), 400, prices=MIXED),
    "all kinds, tight": Case((12, 2, 6), 400, "switch", prices=MIXED),
    "all kinds, absent values": Case((12, 2, 9), 400, "gaps", prices=MIXED),
    "worth": Case((12, 2, 12), 400, prices=MIXED, money={"worth": 60.0}),
    "worth little": Case((12, 2, 12), 400, "switch", prices=FEES, money={"worth": 10.0}),
    "purse": Case((12, 2, 9), 300, prices=MIXED, money={"purse": 2000, "horizon": 300}),
    "purse with complete rows": Case(
        (12, 2, 30), 300, prices=OWN, money={"purse": 7000, "horizon": 1000}
    ),
    "purse that runs out": Case((12, 2, 9), 300, prices=MIXED, money={"purse": 900, "horizon": 200}),
    "proper": Case((12, 2, 8), 300, "switch", proper=True, prices=FEES),
    "after history": Case((12, 2, 8), 250, prices=MIXED, history=50),
    "after history, a purse": Case(
        (12, 2, 30), 250, "switch", prices=OWN, money={"purse": 7000, "horizon": 1000}, history=40
    ),
    "after history, worth": Case((12, 2, 9), 250, prices=FEES, money={"worth": 40.0}, history=40),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_short_games_keep_to_the_rules(case: Case) -> None:
    """Few enough rounds to be played by kernels that are not compiled."""
    before = min(case.history, 20)
    assert first_difference(replace(case, rounds=60 + before, history=before)) == ""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_block_play_keeps_to_the_rules(case: Case) -> None:
    assert first_difference(case) == ""


@pytest.mark.parametrize("bug", BUGS)
def test_a_mistake_is_noticed(bug: str) -> None:
    assert any(first_difference(case, bug) != "" for case in CASES.values())
