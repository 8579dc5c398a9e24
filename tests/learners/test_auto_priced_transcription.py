"""AutoLearner's block play of priced problems is the algorithm of its page, and how it buys."""

import math
from dataclasses import replace

import pytest

from keyhole import AutoParts
from tests.helpers.auto_games import Case, first_difference, first_own_difference
from tests.helpers.auto_shop import BUGS
from tests.helpers.auto_transcription import Own

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
RESTLESS = AutoParts(
    taus=(math.inf, 30.0, 10.0), threshold=1.4, bolder=0.5, shortest=2, longest=9, growth=5
)
LAVISH = replace(RESTLESS, threshold=1.0)


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
    "worth less than most": Case((12, 2, 12), 60, "gaps", prices=OWN, money={"worth": 2}),
    "purse": Case((12, 2, 7.5), 150, prices=MIXED, money=purse(2300, 300)),
    "purse, complete rows": Case((12, 2, 30), 100, prices=OWN, money=purse(7000, 1000)),
    "purse that runs out": Case((12, 2, 9), 120, prices=MIXED, money=purse(540, 120)),
    "proper": Case((12, 2, 8), 120, "switch", proper=True, prices=FEES),
    "equal prices, worth": Case((12, 1, 6), 80, prices=ALIKE, money={"worth": 20}),
    "equal prices, purse": Case((12, 1, 6), 80, prices=ALIKE, money=purse(400, 100)),
    "budget 1": Case((7, 1, 1), 100, past=False),
    "memories that part": Case((12, 2, 8), 60, "switch", parts=RESTLESS),
    "few are kept, proper": Case((20, 4, 5), 80, "switch", proper=True, parts=LAVISH),
    "few seats": Case((12, 2, 8), 80, prices=OWN, parts=FEW),
    "few seats, panels": Case((12, 2, 6), 120, "switch", prices=MIXED, parts=FEW),
    "few seats, worth": Case((12, 2, 8), 80, prices=OWN, money={"worth": 60.0}, parts=FEW),
    "after history": Case((12, 2, 8), 100, prices=MIXED, history=30),
    "typos": Case((12, 2, 8), 120, "typos", prices=MIXED),
    "features that bend": Case((12, 2, 12), 500, "bends", prices=FEES, shapes=True),
    "features that bend, worth": Case(
        (12, 2, 9), 300, "bends", prices=OWN, money={"worth": 60.0}, shapes=True
    ),
    "after history, purse": Case(
        (12, 2, 30), 120, "switch", prices=OWN, money=purse(7000, 1000), history=30
    ),
    "after history, small purse": Case(
        (12, 2, 9), 210, prices=DEAR, money=purse(1000, 200), history=50
    ),
    "after history, worth": Case((12, 2, 9), 100, prices=FEES, money={"worth": 40.0}, history=30),
}

NOTICED_BY = {
    "a panel is paid twice": "panels",
    "panels are judged by single members": "worth",
    "what is paid for is not read": "panels",
    "the share is taken where it costs too much": "few seats",
    "no batch explores for itself": "few seats",
    "who leads does not matter": "few seats",
    "batches explore as seldom at first": "all kinds, tight",
    "the dearest feature is not paid for": "few seats",
    "the cheapest feature is not paid for": "budget 1",
    "more than half is set aside as ever": "budget 1",
    "what is known is explored first": "budget 1",
    "after history, all batches explore": "after history, small purse",
    "a gain is worth any price": "worth",
    "what exceeds the noise is believed": "worth less than most",
    "with worth, first reads come first": "worth",
    "no complete rows": "purse, complete rows",
    "the purse is not looked at": "purse that runs out",
    "evidence decides by number alone": "memories that part",
    "evidence never decides": "memories that part",
    "memory by memory is kept": "memories that part",
    "the leader's ranks do not come first": "few are kept, proper",
    "what is looked at begins at 0": "memories that part",
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


def test_terms_of_one_example_where_features_are_counted() -> None:
    own = Own({0: 2, 3: 0}, [5, 9], 7)
    assert first_own_difference(Case((12, 2, 5), 80, "switch"), own) == ""


@pytest.mark.parametrize("own", ["other prices", "everything differs"])
def test_terms_of_one_example_count_what_it_is_worth(own: str) -> None:
    assert first_own_difference(WORTH, TERMS[own]) == ""


@pytest.mark.parametrize("bug", ["a panel is paid twice", "what is paid for is not read"])
def test_a_mistake_about_terms_is_noticed(bug: str) -> None:
    assert first_own_difference(PANEL, TERMS["other prices"], bug) != ""
