"""AutoLearner's block play of priced problems is the paragraph "Money" of its page."""

from dataclasses import replace

import pytest

from keyhole import AutoParts
from tests.helpers.auto_games import Case, first_difference, first_own_difference
from tests.helpers.auto_money import Own
from tests.helpers.auto_shop import BUGS

OWN = {"prices": [2, 1, 3, 1, 4, 2, 1, 5, 2, 1, 3, 1]}
CENTS = {"prices": ["2.50", "1.25", 3, "0.75", 4, "2.10", 1, 5, "2.35", "0.05", 3, 1]}
ALIKE = {"prices": [1] * 12}
DEAR = {"prices": [7, 1, 2, 1, 2, 2, 1, 3, 2, 1, 3, 1]}
PANELS = {"panels": {"draw": (3, [0, 3, 4]), "scan": (4, [1, 5, 6, 7]), "form": (1, [2, 8])}}
FEES = {**OWN, "panels": {"visit": (2, [0, 1, 4, 5]), "lab": (3, [2, 3, 6, 7])}}
# A panel whose members cost more and one whose members do not, a derived feature, a free one, and
# one that is too dear for most limits.
MIXED = {
    "prices": {0: 1, 1: "0.5", 3: 1, 5: 0, 6: "3.10", 7: 2, 8: 1, 9: 9, 10: "0.75", 11: 4},
    "panels": {"draw": ("2.5", [0, 1, 2]), "scan": (4, [3, 4])},
    "derived": {7: [0, 6]},
}

FEW = AutoParts(active=10)


def purse(amount: int, horizon: int) -> dict[str, int]:
    return {"purse": amount, "horizon": horizon}


CASES = {
    "own prices": Case((12, 2, 8), 160, prices=OWN),
    "own prices, tight": Case((12, 1, 3), 100, prices=OWN),
    "own prices, cents": Case((12, 2, 6.4), 180, "switch", prices=CENTS),
    "own prices, everything": Case((12, 2, 26), 60, prices=OWN),
    "equal prices": Case((12, 1, 6), 150, "switch", prices=ALIKE),
    "panels": Case((12, 2, 7), 100, prices=PANELS),
    "panels with own prices": Case((12, 2, 9), 300, "switch", prices=FEES),  # beyond batch 64
    "all kinds, loose": Case((12, 2, 12), 100, prices=MIXED),
    "all kinds, tight": Case((12, 2, 6), 150, "switch", prices=MIXED),
    "all kinds, absent values": Case((12, 2, 9), 150, "gaps", prices=MIXED),
    "worth": Case((12, 2, 12), 150, prices=MIXED, money={"worth": 60.0}),
    "worth little": Case((12, 2, 12), 100, "switch", prices=FEES, money={"worth": 10.0}),
    "worth less than most": Case((12, 2, 12), 150, prices=OWN, money={"worth": 1.5}),
    "purse": Case((12, 2, 7.5), 150, prices=MIXED, money=purse(2300, 300)),
    "purse, complete rows": Case((12, 2, 30), 100, prices=OWN, money=purse(7000, 1000)),
    "purse that runs out": Case((12, 2, 9), 120, prices=MIXED, money=purse(540, 120)),
    "proper": Case((12, 2, 8), 120, "switch", proper=True, prices=FEES),
    "few seats": Case((12, 2, 8), 80, prices=OWN, parts=FEW),
    "few seats, panels": Case((12, 2, 6), 120, "switch", prices=MIXED, parts=FEW),
    "few seats, worth": Case((12, 2, 8), 80, prices=OWN, money={"worth": 60.0}, parts=FEW),
    "after history": Case((12, 2, 8), 100, prices=MIXED, history=30),
    "typos": Case((12, 2, 8), 120, "typos", prices=MIXED),
    "after history, purse": Case(
        (12, 2, 30), 120, "switch", prices=OWN, money=purse(7000, 1000), history=30
    ),
    "after history, small purse": Case(
        (12, 2, 9), 210, prices=DEAR, money=purse(1000, 200), history=50
    ),
    "after history, worth": Case((12, 2, 9), 100, prices=FEES, money={"worth": 40.0}, history=30),
}

NOTICED_BY = {
    "a panel is paid twice": "panels with own prices",
    "the rate is not learnt": "own prices",
    "money that is short is ignored": "own prices, cents",
    "no batch explores for itself": "panels with own prices",
    "what is paid for is not read": "panels",
    "the feature read least is displaced for": "own prices",
    "the eighth is taken where it costs too much": "panels with own prices",
    "panels are judged by single members": "worth",
    "a gain is worth any price": "worth",
    "what exceeds the noise is believed": "worth less than most",
    "no complete rows": "purse, complete rows",
    "the purse is not looked at": "purse that runs out",
    "after history, all batches explore": "after history, small purse",
    "what a purse forbids cannot be missed": "after history, small purse",
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_block_play_keeps_to_the_rules(case: Case) -> None:
    assert first_difference(case) == ""


@pytest.mark.parametrize("bug", BUGS)
def test_a_mistake_is_noticed(bug: str) -> None:
    assert first_difference(CASES[NOTICED_BY[bug]], bug) != ""


# Items 0 to 11 are the features' own, 12 the visit.
TERMS = {
    "tight": Own({}, [], 4),
    "loose": Own({}, [], 20),
    "other prices": Own({0: 6, 4: 0, 12: 1}, [], 9),
    "not all there": Own({}, [0, 6, 9], 9),
    "everything differs": Own({1: 4, 12: 5}, [2, 11], 12),
}
PANEL, WORTH = (
    replace(CASES["panels with own prices"], rounds=80),
    replace(CASES["worth little"], rounds=60),
)


@pytest.mark.parametrize("own", TERMS.values(), ids=TERMS)
def test_terms_of_one_example_keep_to_the_rules(own: Own) -> None:
    assert first_own_difference(PANEL, own) == ""


@pytest.mark.parametrize("own", ["other prices", "everything differs"])
def test_terms_of_one_example_count_what_it_is_worth(own: str) -> None:
    assert first_own_difference(WORTH, TERMS[own]) == ""


@pytest.mark.parametrize("bug", ["a panel is paid twice", "what is paid for is not read"])
def test_a_mistake_about_terms_is_noticed(bug: str) -> None:
    assert first_own_difference(PANEL, TERMS["other prices"], bug) != ""
