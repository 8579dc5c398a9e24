"""Shares of a budget, kinds of experts and explanations by value, without compilation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.experts import (
    EXPERTS,
    LEADING,
    NO_MEMORY,
    ExpertKind,
    list_experts,
)
from keyhole.learners.blocks.auto.explanation import Explanation, Line


@pytest.mark.parametrize(
    ("shape", "given", "expected"),
    [
        # d, budget; pool, slots and net that are given; pool, slots, net
        ((9, 1), {}, (1, 0, 0)),
        ((9, 8), {}, (8, 0, 0)),
        ((9, 9), {}, (9, 0, 0)),
        ((99, 11), {}, (11, 0, 0)),
        ((99, 12), {}, (12, 1, 2)),
        ((12, 12), {}, (12, 1, 12)),
        ((99, 23), {}, (23, 1, 2)),
        ((99, 24), {}, (24, 2, 4)),
        ((99, 24), {"net": 7}, (24, 4, 7)),
        ((99, 24), {"net": 6}, (24, 3, 6)),
        ((99, 24), {"slots": 3}, (24, 3, 6)),
        ((99, 24), {"slots": 0}, (24, 0, 0)),
        ((99, 24), {"slots": 2, "net": 23}, (24, 2, 23)),
        ((99, 24), {"pool": 20}, (20, 2, 4)),
        ((99, 7), {"slots": 1}, (7, 1, 2)),
        ((9, 9), {"slots": 2, "net": 9}, (9, 2, 9)),
        ((12, 12), {"pool": 9}, (9, 1, 12)),
    ],
)
def test_who_gets_how_much_of_a_budget(
    shape: tuple[int, int], given: dict[str, int], expected: tuple[int, int, int]
) -> None:
    sizes = kh.AutoParts(**given).sizes(kh.Problem(shape[0], 1, shape[1]))  # type: ignore[arg-type]
    assert sizes[:3] == expected
    assert sizes.threshold == math.sqrt(2.0 * math.log(shape[0]))


def test_the_threshold_of_one_feature_is_that_of_two() -> None:
    assert kh.AutoParts().sizes(kh.Problem(1, 1, 1)).threshold == math.sqrt(2.0 * math.log(2.0))
    assert kh.AutoParts(threshold=0.0).sizes(kh.Problem(4, 1, 2)).threshold == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pool": 21}, r"pool must be at most 20, .* \(net=4\) leaves of the budget 24, got 21"),
        ({"slots": 2, "net": 24}, "with budget 24 it needs slots <= net <= 23"),
        ({"slots": 3, "net": 2}, "plays slots=3 of the net=2"),
        ({"slots": 0, "net": 2}, "net=0 with slots=0"),
    ],
)
def test_shares_that_cannot_be_are_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        kh.AutoParts(**given).sizes(kh.Problem(99, 1, 24))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"bold": 0.0, "far": 1.0, "threshold": 0.0, "optimism": 0.0, "bolder": -2.0},
        {"pool": 1, "slots": 0, "net": 0, "shortest": 1, "longest": 1, "growth": 1},
        {"taus": (math.inf,), "kinks": (), "layer_memory": 1e-3},
    ],
)
def test_the_least_that_parts_may_be(given: dict[str, Any]) -> None:
    parts = kh.AutoParts(**given)
    assert {name: getattr(parts, name) for name in given} == given


@pytest.mark.parametrize(
    "given",
    [
        {"bold": -0.1}, {"bold": 1.0}, {"far": 0.9}, {"threshold": -0.1}, {"optimism": -0.1},
        {"bolder": math.nan}, {"pool": 0}, {"slots": -1}, {"net": -1}, {"shortest": 0},
        {"longest": 3}, {"shortest": 17}, {"growth": 0}, {"taus": (0.0,)}, {"taus": (1.0, 1.0)},
        {"taus": (1.0, 2.0)}, {"taus": ()}, {"experts": ()}, {"experts": EXPERTS[0]},
        {"experts": (EXPERTS[0], "net")}, {"layer_memory": 0.0},
    ],
    ids=str,
)  # fmt: skip
def test_less_than_that_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(kh.ProblemError, match=f"{next(iter(given))}|longest"):
        kh.AutoParts(**given)


def test_which_experts_proper_mode_may_hear() -> None:
    for kind in EXPERTS:
        if kind.features == "nothing" or (kind.features, kind.memory) == ("best", "each"):
            assert replace(kind, proper=True).proper
        else:
            with pytest.raises(kh.ProblemError, match="cannot hear expert"):
                replace(kind, proper=True)
    assert ExpertKind("x", "best", "longest", proper=True).proper
    with pytest.raises(kh.ProblemError, match="on 'best' from 'leading'"):
        ExpertKind("x", "best", "leading", proper=True)
    wrong: Any = "keptt"
    for given in (("x", wrong, "each"), ("x", "kept", wrong), ("", "kept", "each"),
                  (wrong, "kept", "each", 0.0), ("x", "kept", "each", 1.0, wrong)):  # fmt: skip
        with pytest.raises(kh.ProblemError):
            ExpertKind(*given)
    assert ExpertKind("x", "kept", "each").ridge == 1.0


def test_names_say_how_far_experts_look_back() -> None:
    kinds = (
        ExpertKind("net of {tau}", "net", "nothing"),
        ExpertKind("all of {tau}", "everything", "leading"),
        ExpertKind("longest, {tau}", "net", "longest"),
        ExpertKind("kept, {tau}", "kept", "each"),
    )
    experts = list_experts(kinds, [math.inf, 64.0], proper=False)
    assert [(e.name, e.memory, e.heard) for e in experts] == [
        ("net of no rounds", NO_MEMORY, True),
        ("all of the leader", LEADING, True),
        ("longest, all rounds", 0, True),
        ("kept, all rounds", 0, True),
        ("kept, 64 rounds", 1, True),
        ("best k, memory of all rounds", 0, False),
        ("best k, memory of 64 rounds", 1, False),
    ]
    with pytest.raises(kh.ProblemError, match="one must be heard in proper mode"):
        list_experts(kinds, [64.0], proper=True)
    with pytest.raises(kh.ProblemError, match="one must be heard at least, got 0 kinds"):
        list_experts((), [64.0], proper=False)
    # One name for all memories is enough where there is one memory.
    assert len(list_experts([ExpertKind("x", "kept", "each")], [8.0], proper=False)) == 2
    with pytest.raises(kh.ProblemError, match="'x' comes twice"):
        list_experts([ExpertKind("x", "kept", "each")], [8.0, 4.0], proper=False)


def test_an_explanation_of_the_last_layer() -> None:
    lines = (Line("a", "kept", 1.0, 3, 0.5, 0.1),)
    layer = {"as it is": 0.25, "bent": 0.0051, "with the past": 0.7449}
    past = {"w": 0.5, "x": -2.0, "y": 0.0, "z": 1.0}

    def last(saves: float, past: dict[str, float] = past) -> list[str]:
        return str(Explanation(5, lines, {"m": 1.0}, 0.0, layer, past, saves)).splitlines()[3:]

    assert last(0.25) == [
        "last layer: with the past 74 %, as it is 25 %",
        "the past: saves 25 % of the squared error of late; adds -2 × x, +1 × z, +0.5 × w, ...",
    ]
    assert last(0.02)[1].startswith("the past: saves 2 %")
    assert last(0.019)[1] == "the past: says nothing of late that is not known without it"
    assert len(last(0.25, {})) == 1
    assert len(str(Explanation(5, lines, {"m": 1.0}, 0.0)).splitlines()) == 3
