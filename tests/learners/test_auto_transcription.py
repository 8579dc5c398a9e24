"""AutoLearner's block play is the algorithm of its page, written once more in plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.experts import EXPERTS, ExpertKind
from tests.helpers.auto_active import BUGS as SEAT_BUGS
from tests.helpers.auto_buying import BENT_BUGS, MANY_BUG, NET_BUGS
from tests.helpers.auto_games import Case, first_difference
from tests.helpers.auto_reach import BUGS as REACH_BUGS
from tests.helpers.auto_transcription import BUGS, STUDY_BUGS

USUAL = kh.AutoParts()
OTHER = kh.AutoParts(
    taus=(300.0, 40.0),
    experts=(
        *EXPERTS[1:5],
        ExpertKind("everything, from nothing", "everything", "nothing", ridge=3.0),
        ExpertKind("kept, from nothing", "kept", "nothing", size="peak"),
        ExpertKind("best of the leader", "best", "leading", ridge=0.5),
    ),
    pool=6,
    slots=3,
    net=7,
    threshold=2.8,
    bolder=0.3,
    optimism=1.0,
    far=1.1,
    shortest=3,
    longest=11,
    growth=20,
    bold=0.5,
    kinks=(-0.5, 0.8),
    layer_memory=50.0,
)

RESTLESS = kh.AutoParts(
    taus=(np.inf, 30.0, 10.0), threshold=1.4, bolder=0.5, shortest=2, longest=9, growth=5
)


REVERSED, LARGER, MOVED = (-1.0, 4.0), (100.0, 0.0), (1.0, 9.0)

FEW, NO_LAYER = replace(USUAL, active=11), replace(USUAL, kinks=None)
GROWING = replace(USUAL, active=14, growth=20)
GROWING_NET = replace(OTHER, longest=16, growth=5)
LAVISH, MEAN = replace(RESTLESS, threshold=1.0), replace(RESTLESS, pool=2)

CASES = {
    "usual, beyond round 1024": Case((12, 2, 8), 1_100),
    "usual, two slots in the net": Case((30, 3, 24), 200, "switch"),
    "net, growing batches": Case((20, 2, 13), 80, "switch", parts=GROWING_NET),
    "proper": Case((16, 2, 10), 250, "switch", proper=True),
    "proper, absent values": Case((14, 2, 5), 150, "gaps", proper=True, past=False),
    "budget 1": Case((7, 1, 1), 100, past=False),
    "everything is read": Case((9, 2, 9), 100),
    "everything is read, with a net": Case((13, 2, 13), 100),
    "no net below 12": Case((15, 2, 4), 100, "switch", past=False),
    "labels that linger": Case((12, 2, 8), 150, "walk"),
    "no last layer": Case((12, 2, 8), 80, past=False, parts=NO_LAYER),
    "absent values and faults": Case((12, 2, 8), 250, "gaps"),
    "other parts": Case((20, 2, 13), 80, "switch", parts=OTHER),
    "other parts, proper": Case((20, 2, 13), 80, "gaps", proper=True, parts=OTHER),
    "memories that part, growing batches": Case((12, 2, 8), 60, "switch", parts=RESTLESS),
    "memories that part, proper": Case((12, 2, 8), 60, "switch", proper=True, parts=RESTLESS),
    "few are kept, proper": Case((20, 4, 5), 80, "switch", proper=True, parts=LAVISH),
    "fewer are kept than played, proper": Case((12, 3, 6), 60, proper=True, parts=MEAN),
    "after history that fades": Case((12, 2, 8), 60, "switch", history=30, half_life=15.0),
    "after history with gaps": Case((14, 2, 6), 60, "gaps", history=30),
    "after history, proper": Case((16, 2, 10), 80, "switch", proper=True, history=20),
    "after history, everything is read": Case((9, 2, 9), 80, history=20),
    "after history, budget 1": Case((7, 1, 1), 80, past=False, history=20),
    "after history, other parts": Case((20, 2, 13), 50, "switch", parts=OTHER, history=20),
    "after history, memories part": Case((20, 2, 10), 200, "switch", parts=RESTLESS, history=40),
    "after history of another world": Case((20, 2, 10), 180, "switch", history=120),
    "after history that misleads": Case((20, 2, 10), 120, history=70, wrong=REVERSED),
    "the same, no last layer": Case(
        (14, 2, 6), 80, "gaps", history=50, wrong=REVERSED, past=False, parts=NO_LAYER
    ),
    "the same, proper": Case((16, 2, 10), 150, proper=True, history=100, wrong=REVERSED),
    "the same, other parts": Case((20, 2, 13), 60, parts=OTHER, history=40, wrong=REVERSED),
    "the same, few seats": Case((20, 2, 8), 140, parts=FEW, history=100, wrong=REVERSED),
    "after history in other units": Case((20, 2, 10), 120, history=80, wrong=LARGER),
    "after history of labels that moved": Case((20, 2, 10), 60, history=40, wrong=MOVED),
    "few seats": Case((12, 2, 8), 100, "switch", parts=replace(USUAL, active=9)),
    "few seats, most rest": Case((300, 3, 10), 120, parts=GROWING),
    "few seats, most rest, all were read": Case((300, 2, 8), 60, parts=GROWING, history=5),
    "few seats, absent values": Case((30, 3, 10), 60, "gaps", parts=GROWING),
    "few seats, proper": Case((16, 2, 8), 100, "switch", proper=True, parts=FEW),
    "few seats, budget 1": Case((9, 1, 1), 80, past=False, parts=replace(USUAL, active=3)),
    "few seats, other parts": Case((30, 2, 13), 50, "switch", parts=replace(OTHER, active=15)),
    "few seats, after history": Case(
        (20, 2, 8), 250, "switch", parts=FEW, history=40, half_life=30.0
    ),
    "typos": Case((12, 2, 8), 120, "typos"),
    "typos, a net of two": Case((30, 3, 24), 120, "typos", seed=26),
    "typos, everything is read": Case((9, 2, 9), 90, "typos"),
    "typos, proper": Case((14, 2, 6), 120, "typos", proper=True, past=False, seed=6),
    "typos in history": Case((12, 2, 8), 120, "typos", history=60),
    "a typo at first, history": Case((12, 2, 8), 50, "wild", history=10),
    "a typo at first, few seats": Case((30, 2, 8), 50, "wild", parts=GROWING, history=10),
    "zeros as a rule": Case((9, 2, 9), 90, "zeros"),
    "typos, few seats": Case((20, 2, 8), 120, "typos", parts=FEW, history=10),
    "typos, no last layer": Case((12, 2, 8), 90, "typos", past=False, parts=NO_LAYER, seed=6),
    "features that bend": Case((12, 2, 8), 520, "bends", shapes=True),
    "features that bend, little room": Case((9, 2, 6), 420, "bends", shapes=True),
    "features that bend, a net": Case((14, 2, 12), 260, "bends", shapes=True),
    "features that bend, few are kept": Case(
        (9, 2, 6), 300, "bends", shapes=True, parts=replace(USUAL, pool=3)
    ),
    "one memory, no net": Case((10, 2, 6), 80, parts=replace(USUAL, taus=(np.inf,), slots=0)),
}
MANY = Case(
    (1_030, 2, 24),
    44,
    parts=replace(USUAL, taus=(np.inf,), slots=8, net=12, shortest=2, longest=4),
)

NOTICED_BY = {
    "gains are not divided by rows": "net, growing batches",
    "bolder has the wrong sign": "memories that part, growing batches",
    "by the longest memory alone": "few seats",
    "what is looked at is drawn once": "few seats, most rest, all were read",
    "batches grow as ever": "few seats, most rest",
    "what rests does not study": "few seats, after history",
    "one row may decide": "few seats, after history",
    "the past must be made up for": "labels that linger",
    "history is charged to the experts": "after history, memories part",
    "older rows do not fade": "after history that fades",
    "rows of history are rounds": "after history, memories part",
    "what bends comes first": "features that bend, few are kept",
    "nothing is set aside where features bend": "features that bend, little room",
}
NET, LAYER, SEATS, HISTORY = (
    "usual, two slots in the net",
    "memories that part, proper",
    "few seats, absent values",
    "after history in other units",
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_block_play_keeps_to_the_rules(case: Case) -> None:
    assert first_difference(case) == ""


@pytest.mark.parametrize(
    ("bug", "usually"),
    [
        *((bug, NET) for bug in NET_BUGS),
        *((bug, LAYER) for bug in BUGS),
        *((bug, SEATS) for bug in SEAT_BUGS),
        *((bug, "features that bend") for bug in BENT_BUGS),
        *((bug, HISTORY) for bug in STUDY_BUGS),
    ],
)
def test_a_mistake_is_noticed(bug: str, usually: str) -> None:
    """Broken twins, each in a game that its rule decides."""
    assert first_difference(CASES[NOTICED_BY.get(bug, usually)], bug) != ""


@pytest.mark.parametrize("bug", REACH_BUGS)
def test_a_mistake_about_implausible_values_is_noticed(bug: str) -> None:
    named = {
        "a wild value is only cut off": "a typo at first, history",
        "values that come again count": "zeros as a rule",
    }
    assert first_difference(CASES[named.get(bug, "typos, everything is read")], bug) != ""


def test_many_features_keep_to_the_rules() -> None:
    """Beyond 1024 features the net's learning rate is rounded, and draws are made by a tree."""
    assert first_difference(MANY) == ""


def test_a_mistake_about_many_features_is_noticed() -> None:
    assert first_difference(MANY, MANY_BUG) != ""
