"""AutoLearner's block play is the algorithm of its page, written once more in plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.blocks.auto.experts import EXPERTS, ExpertKind
from tests.helpers.auto_active import BUGS as SEAT_BUGS
from tests.helpers.auto_games import Case, first_difference
from tests.helpers.auto_transcription import BUGS, MANY_BUG, STUDY_BUGS

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

CASES = {
    "usual, beyond round 1024": Case((12, 2, 8), 1_200),
    "usual, two slots in the net": Case((30, 3, 24), 500, "switch"),
    "proper": Case((16, 2, 10), 700, "switch", proper=True),
    "proper, absent values": Case((14, 2, 5), 400, "gaps", proper=True, past=False),
    "budget 1": Case((7, 1, 1), 400, past=False),
    "everything is read": Case((9, 2, 9), 400),
    "no net below 6": Case((15, 2, 4), 400, "switch", past=False),
    "labels that linger": Case((12, 2, 8), 300, "walk"),
    "no last layer": Case((12, 2, 8), 300, past=False, parts=replace(USUAL, kinks=None)),
    "absent values and faults": Case((12, 2, 8), 500, "gaps"),
    "other parts": Case((20, 2, 13), 400, "switch", parts=OTHER),
    "other parts, proper": Case((20, 2, 13), 300, "gaps", proper=True, parts=OTHER),
    "memories that part, growing batches": Case((12, 2, 8), 60, "switch", parts=RESTLESS),
    "memories that part, proper": Case((12, 2, 8), 60, "switch", proper=True, parts=RESTLESS),
    "after history": Case((12, 2, 8), 250, history=50),
    "after history that fades": Case((12, 2, 8), 250, "switch", history=60, half_life=15.0),
    "after history with gaps": Case((14, 2, 6), 250, "gaps", history=60),
    "after history, proper": Case((16, 2, 10), 250, "switch", proper=True, history=60),
    "after history, everything is read": Case((9, 2, 9), 200, history=40),
    "after history, budget 1": Case((7, 1, 1), 200, past=False, history=40),
    "after history, other parts": Case((20, 2, 13), 150, "switch", parts=OTHER, history=50),
    "after history, memories part": Case((20, 2, 10), 200, "switch", parts=RESTLESS, history=40),
    "after history of another world": Case((20, 2, 10), 320, "switch", history=160),
    "after history that misleads": Case((20, 2, 10), 320, history=120, wrong=REVERSED),
    "the same, no last layer": Case(
        (14, 2, 6),
        300,
        "gaps",
        history=100,
        wrong=REVERSED,
        past=False,
        parts=replace(USUAL, kinks=None),
    ),
    "the same, proper": Case((16, 2, 10), 250, proper=True, history=100, wrong=REVERSED),
    "the same, other parts": Case((20, 2, 13), 200, parts=OTHER, history=80, wrong=REVERSED),
    "the same, few seats": Case(
        (20, 2, 8), 250, parts=replace(USUAL, active=11), history=100, wrong=REVERSED
    ),
    "after history in other units": Case((20, 2, 10), 250, history=100, wrong=LARGER),
    "after history of labels that moved": Case((20, 2, 10), 250, history=100, wrong=MOVED),
    "few seats": Case((12, 2, 8), 100, "switch", parts=replace(USUAL, active=9)),
    "few seats, more features": Case((30, 3, 10), 500, parts=replace(USUAL, active=14)),
    "few seats, most rest": Case((300, 3, 10), 480, parts=replace(USUAL, active=14)),
    "few seats, absent values": Case((30, 3, 10), 400, "gaps", parts=replace(USUAL, active=14)),
    "few seats, proper": Case(
        (16, 2, 8), 300, "switch", proper=True, parts=replace(USUAL, active=11)
    ),
    "few seats, budget 1": Case((9, 1, 1), 200, past=False, parts=replace(USUAL, active=3)),
    "few seats, other parts": Case((30, 2, 13), 250, "switch", parts=replace(OTHER, active=15)),
    "few seats, after history": Case(
        (20, 2, 8), 250, "switch", parts=replace(USUAL, active=11), history=40, half_life=30.0
    ),
    "one memory, no net": Case((10, 2, 6), 300, parts=replace(USUAL, taus=(np.inf,), slots=0)),
}
MANY = Case((1_030, 2, 24), 50, parts=replace(USUAL, slots=8, net=12, shortest=2, longest=4))


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
    """Broken twins: each of these once left every test of AutoLearner green."""
    assert first_difference(CASES["usual, beyond round 1024"], bug) != ""


@pytest.mark.parametrize("bug", SEAT_BUGS)
def test_a_mistake_about_seats_is_noticed(bug: str) -> None:
    names = "few seats, more features", "few seats, most rest", "few seats, after history"
    assert any(first_difference(CASES[name], bug) != "" for name in names)


@pytest.mark.parametrize("bug", STUDY_BUGS)
def test_a_mistake_about_history_is_noticed(bug: str) -> None:
    names = (
        *("after history that fades", "after history, memories part"),
        *("after history of another world", "after history that misleads"),
        "after history in other units",
    )
    assert any(first_difference(CASES[name], bug) != "" for name in names)


def test_many_features_keep_to_the_rules() -> None:
    """Beyond 1024 features the net's learning rate is rounded, and draws are made by a tree."""
    assert first_difference(MANY) == ""


def test_a_mistake_about_many_features_is_noticed() -> None:
    assert first_difference(MANY, MANY_BUG) != ""
