"""Any game of asks, labels, drops, files and corrections: the sums are those of the rows told."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.learners.blocks.auto.ring import SEALED, told_last
from keyhole.saving.api import from_bytes, to_bytes
from tests.helpers.auto_sums import EPSILON, learnt, worked_out

D, LARGEST = 7, 100.0
PROBLEMS: list[dict[str, Any]] = [
    {"budget": 3},
    {"budget": 6},
    {"budget": D},
    {"budget": 3.5, "prices": {0: 1, 1: 2.5, 2: 0.5, 3: 1, 4: 1, 5: 0, 6: 1}},
]
HOW: list[dict[str, Any]] = [{}, {"proper": True}, {"past": False}]
numbers = st.floats(-LARGEST, LARGEST).map(lambda x: round(x, 3))
values = st.one_of(numbers, numbers, numbers, st.just(np.nan))
steps = st.one_of(
    st.just(("ask",)),
    st.just(("ask",)),
    st.tuples(st.just("own"), st.integers(0, D - 1)),
    st.tuples(
        st.just("tell"), st.integers(0, 99), st.lists(values, min_size=D, max_size=D), numbers
    ),
    st.tuples(st.just("tell"), st.just(0), st.lists(values, min_size=D, max_size=D), numbers),
    st.tuples(st.just("drop"), st.integers(0, 99)),
    st.tuples(st.just("save")),
    st.tuples(st.just("correct"), st.integers(0, 99), st.integers(0, 99), values, numbers),
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PROBLEMS),
    st.sampled_from(HOW),
    st.sampled_from([1, 4]),
    st.sampled_from([2.0, 1e9]),
    st.lists(steps, min_size=10, max_size=90),
)
def test_the_sums_follow_from_the_rows_as_they_were_corrected(
    problem: dict[str, Any],
    how: dict[str, Any],
    shortest: int,
    far: float,
    game: list[tuple[Any, ...]],
) -> None:
    """With `far` as it is, what is implausible is learnt as less, and some of it seals the ring."""
    parts = kh.AutoParts(shortest=shortest, taus=(np.inf, 20.0), far=far)
    learner = kh.AutoLearner(kh.Problem(d=D, k=2, **problem), seed=1, parts=parts, **how)
    waiting, told = list[kh.Ticket](), list[kh.Ticket]()
    rows = dict[int, tuple[dict[int, float], float]]()
    for what, *of in game:
        if what == "ask":
            waiting.append(learner.ask())
        elif what == "own":
            waiting.append(learner.ask(without=[of[0]]))
        elif what == "save":
            learner = from_bytes(to_bytes(learner), kh.AutoLearner)
        elif what == "drop" and waiting:
            learner.drop(waiting.pop(of[0] % len(waiting)))
        elif what == "tell" and waiting:
            ticket = waiting.pop(of[0] % len(waiting))
            seen = {int(j): of[1][j] for j in ticket.features}
            learner.tell(ticket.fill(seen), of[2])
            rows[ticket.round] = seen, of[2]
            told.append(ticket)
        elif what == "correct" and told:
            ticket = told[of[0] % len(told)]
            seen, y = rows[ticket.round]
            right = {int(j): of[2] for j in ticket.features[of[1] % D : of[1] % D + 1]}
            if far == 2.0 and learner._state.ring.next[SEALED] > 0:
                return
            learner.correct(ticket, y=of[3], values=right or None)
            rows[ticket.round] = {**seen, **right}, of[3]
    ring = told_last(learner._state.ring)
    assert ring.rounds.tolist() == [ticket.round for ticket in told]
    for features, found, y, round in zip(
        ring.features, ring.values, ring.labels, ring.rounds.tolist(), strict=True
    ):
        seen, label = rows[round]
        there = features >= 0
        if far == 2.0:
            break
        assert y == label
        assert dict(zip(features[there].tolist(), found[there].tolist(), strict=True)) == (
            pytest.approx(seen, nan_ok=True)
        )
    if ring.next[SEALED] == 0:
        compare(learner, 1 + sum(step[0] == "correct" for step in game))


def compare(learner: kh.AutoLearner, times: int) -> None:
    """The sums with what they should be. Every correction rounds as the sums themselves do.

    All numbers are at most LARGEST in size, and sums of n rows of products are off by n^2 epsilon
    times their square at most, as in `allowed`.
    """
    expected, state = worked_out(learner), learner._state
    n = float(state.label.reads[0])
    off = 4.0 * times * max(n, 1.0) ** 2 * EPSILON
    for ours, its in zip(learnt(learner), expected.memories, strict=True):
        assert np.abs(ours.G - its.G).max() <= off * LARGEST**2
        assert np.abs(ours.c - its.c).max() <= off * LARGEST**2
        assert np.abs(ours.n - its.n).max() <= off
        assert abs(ours.yy - its.yy) <= off * LARGEST**2
    values, label = state.values, state.label
    assert values.reads.tolist() == expected.reads.tolist()
    reads = np.maximum(values.reads, 1.0)
    assert np.abs(values.reference + values.total / reads - expected.means).max() <= off * LARGEST
    spread = values.square / reads - (values.total / reads) ** 2
    assert np.abs(spread - expected.variances).max() <= off * LARGEST**2
    if n:
        assert label.reference[0] + label.total[0] / n == pytest.approx(
            expected.label[0], abs=off * LARGEST
        )
    assert np.abs(state.peaks - expected.peaks).max() <= off * LARGEST
