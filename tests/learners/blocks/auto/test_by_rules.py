"""Games of a few rounds against the rules written out: quick without compilation."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.experts import EXPERTS, ExpertKind
from tests.helpers.auto_games import Case, first_difference

QUICK = kh.AutoParts(
    taus=(np.inf, 12.0), threshold=1.2, bolder=0.4, shortest=2, longest=6, growth=5, kinks=(0.5,)
)
ODD = kh.AutoParts(
    taus=(30.0, 8.0),
    experts=(
        *EXPERTS[1:5],
        ExpertKind("kept, from nothing", "kept", "nothing", size="peak"),
        ExpertKind("best of the leader", "best", "leading", ridge=0.5),
    ),
    slots=2,
    net=4,
    threshold=1.0,
    optimism=1.0,
    far=1.1,
    shortest=3,
    longest=5,
    growth=8,
    bold=0.5,
    kinks=None,
)
CASES = {
    "quick": Case((8, 2, 6), 30, "switch", parts=QUICK),
    "proper": Case((9, 2, 7), 30, "switch", proper=True, parts=QUICK),
    "budget 1": Case((5, 1, 1), 24, past=False, parts=QUICK),
    "everything is read": Case((6, 2, 6), 24, past=False, parts=QUICK),
    "no net, absent values": Case((7, 1, 4), 24, "gaps", parts=QUICK),
    "two slots": Case((9, 2, 8), 24, "gaps", past=False, parts=ODD),
    "two slots, proper": Case((9, 2, 8), 24, "switch", proper=True, past=False, parts=ODD),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_few_rounds_keep_to_the_rules(case: Case) -> None:
    assert first_difference(case) == ""
