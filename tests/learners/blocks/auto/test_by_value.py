"""Parts of AutoLearner by value, by hand, and round by round."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.batch import new_batch, tidy
from keyhole.learners.blocks.auto.engine import choose, leader, reopen
from keyhole.learners.blocks.auto.experts import (
    EXPERTS,
    LEADING,
    NO_MEMORY,
    ON_NET,
    expert_index,
    list_experts,
    table,
)
from keyhole.learners.blocks.auto.explanation import Explanation, Line
from keyhole.learners.blocks.auto.mixture import (
    LOSS,
    ROUNDS,
    WEIGHT,
    bold_shares,
    bound,
    learn,
    mix,
    shares,
)
from keyhole.learners.blocks.auto.spending import spending
from keyhole.learners.blocks.auto.state import (
    EXPLORED,
    KEPT,
    NET,
    batch_size,
    new_auto,
    settings,
)
from keyhole.problem import Floats

RESTLESS = kh.AutoParts(taus=(math.inf, 6.0), threshold=1.0, shortest=2, longest=7, growth=4)


def data(n: int, d: int = 8) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d)) + 1.0
    return X, 3.0 + X[:, 1] - 2.0 * X[:, 5] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("proper", [False, True])
def test_rounds_one_by_one_are_block_play(proper: bool) -> None:
    (X, y), problem = data(40), kh.Problem(d=8, k=2, budget=6)
    block, single = (
        kh.AutoLearner(problem, seed=2, proper=proper, parts=RESTLESS) for _ in range(2)
    )
    bought = np.empty((40, 6), dtype=np.int32)
    predictions = block.advance(X, y, bought)
    for t in range(40):
        ticket = single.ask()
        assert ticket.features.tolist() == bought[t].tolist()
        seen = kh.Observation(ticket, X[t, ticket.features])
        assert single.predict(seen) == pytest.approx(predictions[t], rel=1e-9, abs=1e-9)
        single.tell(seen, float(y[t]))


def test_a_batch_that_is_reopened_tells_the_net_nothing() -> None:
    problem = kh.Problem(d=8, k=2, budget=6)
    parts = replace(RESTLESS, slots=1)
    s = settings(problem, parts, counted=True, proper=False, past=False, seed=2)
    auto, batch = new_auto(s, parts, spending(problem, None, None, None)), new_batch(s)
    batch = choose(auto, batch, 1, 0, 2)
    assert sorted(batch.why.tolist()).count(NET) == s.net
    S = np.array([0, 2, 3, 5, 6, 7])
    batch = reopen(auto, S)
    assert batch.S.tolist() == S.tolist()
    assert batch.why.tolist() == [EXPLORED] * 6  # nothing is known, so nothing is kept
    assert batch.rows.tolist() == [0]
    assert not batch.weight.any()
    assert batch.slots.tolist() == [0] * s.slots
    assert np.isnan(batch.centre).all()
    assert np.isnan(batch.label).all()
    for e in np.flatnonzero(s.experts.features == ON_NET):
        assert batch.runs.place[e, : batch.runs.size[e]].tolist() == [0, 6]  # and the constant


def test_a_reopened_batch_uses_what_it_read_only() -> None:
    (X, y), problem = data(60), kh.Problem(d=8, k=2, budget=6)
    learner = kh.AutoLearner(problem, seed=2, parts=RESTLESS)
    learner.advance(X, y)
    state, S = learner._state, np.array([0, 1, 2, 3, 4, 7])
    batch = reopen(learner._auto, S)
    assert batch.why[1] == KEPT
    assert learner.model().features.tolist() == [1, 5]
    assert 5 not in state.space.chosen[0, : state.space.picked[0]]
    assert state.space.why[5] == -1
    assert (state.space.why[S] >= 0).all()
    assert batch.centre.tolist() == pytest.approx(X[:, S].mean(axis=0), abs=1.0)
    kept = batch.runs.place[0, : batch.runs.size[0]]
    assert {int(S[a]) for a in kept[:-1]} <= set(np.flatnonzero(state.space.why == KEPT).tolist())


def test_experts_are_found_by_what_they_use() -> None:
    experts = list_experts(EXPERTS, [math.inf, 8.0], proper=False)
    assert expert_index(experts, "kept", 1) == 1
    assert expert_index(experts, "best", 0) == 2
    assert expert_index(experts, "net", NO_MEMORY) == 5
    assert expert_index(experts, "everything", LEADING) == 7
    assert expert_index(experts, "everything", 0) == -1
    arrays = table(experts, 2)
    assert arrays.features.tolist() == [0, 0, 1, 1, 2, 2, 4, 3]
    assert arrays.memory.tolist() == [0, 1, 0, 1, 0, NO_MEMORY, NO_MEMORY, LEADING]
    assert arrays.ridge.tolist() == [1.0] * 7 + [10.0]
    assert arrays.by_peak.tolist() == [False, False, True, True] + [False] * 4
    assert arrays.judges.tolist() == [0, 1]
    assert [e.heard for e in list_experts(EXPERTS, [8.0], proper=True)] == [
        False, True, False, False, True, False,
    ]  # fmt: skip
    with pytest.raises(kh.ProblemError, match="different names"):
        list_experts([*EXPERTS, EXPERTS[0]], [8.0], proper=False)


def test_the_leader_lost_least_and_is_the_first_of_equals() -> None:
    judges = np.array([2, 0, 1])
    assert leader(judges, np.array([5.0, 3.0, 4.0])) == 2
    assert leader(judges, np.array([3.0, 3.0, 3.0])) == 0
    assert leader(judges, np.array([3.0, 3.0, 4.0])) == 1


def test_batches_grow_with_the_rounds() -> None:
    s = settings(
        kh.Problem(8, 2, 6), kh.AutoParts(), counted=True, proper=False, past=False, seed=0
    )
    sizes = [batch_size(s, t) for t in (0, 319, 320, 64 * 15, 64 * 16, 64 * 17, 10**6)]
    assert sizes == [4, 4, 5, 15, 16, 16, 16]


def test_memories_that_forget_are_bolder_where_there_is_room() -> None:
    parts = kh.AutoParts(taus=(math.inf, 64.0), threshold=3.0, pool=6, slots=0)
    for k, proper, expected in [(2, False, [3.0, 2.2]), (3, False, [3.0, 3.0]), (2, True, [3, 3])]:
        s = settings(kh.Problem(9, k, 6), parts, counted=True, proper=proper, past=False, seed=0)
        assert s.thresholds.tolist() == pytest.approx(expected)


def test_a_tidy_batch_keeps_what_is_in_use() -> None:
    s = settings(kh.Problem(8, 2, 6), RESTLESS, counted=True, proper=False, past=False, seed=2)
    batch = new_batch(s)
    for array in (batch.values, batch.labels, batch.runs.place, batch.runs.theta, batch.runs.P):
        array[...] = np.arange(1, array.size + 1).reshape(array.shape)
    batch.rows[0], batch.runs.size[:] = 3, 2
    clean = tidy(batch)
    assert clean.values[:3].tolist() == batch.values[:3].tolist()
    assert clean.labels[:3].tolist() == batch.labels[:3].tolist()
    assert clean.runs.size.tolist() == batch.runs.size.tolist()
    assert clean.runs.place[:, :2].tolist() == batch.runs.place[:, :2].tolist()
    assert clean.runs.theta[:, :2].tolist() == batch.runs.theta[:, :2].tolist()
    assert clean.runs.P[:, :2, :2].tolist() == batch.runs.P[:, :2, :2].tolist()
    for rest in (clean.values[3:], clean.labels[3:], clean.runs.theta[:, 2:]):
        assert not rest.any()
    assert not clean.runs.P[:, 2:].any()
    assert not clean.runs.P[:, :, 2:].any()


def test_a_mixture_begins_with_its_prior() -> None:
    mixture = mix([1.0, 3.0, 0.0], bold=0.5)
    assert mixture.prior.tolist() == [0.125, 0.375, 0.0, 0.5]
    assert bold_shares(mixture).tolist() == pytest.approx([0.25, 0.75, 0.0])
    for bold in (-0.1, 1.0):
        with pytest.raises(kh.ProblemError, match="bold must be"):
            mix([1.0], bold)
    assert mix([1.0], 0.0).prior.tolist() == [1.0, 0.0]


def test_an_explanation_is_in_order_and_in_percent() -> None:
    lines = (
        Line("b", "explored", 0.0, 4, most=0.25),
        Line("aa", "kept", -0.25, 7, 0.125, 0.01),
        Line("c", "kept", 2.0, 9, 0.5, 0.021),
        Line("w", "kept", 3.0, 9, 0.6, 0.5),
        Line("k", "kept", 1.0, 8, most=0.031),
        Line("d", "safety net", 0.0, 2),
        Line("e", "explored", 0.0, 5, most=0.5),
    )
    text = str(Explanation(5, lines, {"x": 0.009, "y": 0.01, "z": 0.981}, 0.0))
    assert text.splitlines() == [
        "after 5 rounds, bought for every example:",
        "  kept        w     weight +3   too few reads to say what is lost without it   9 reads",
        "  kept        c     weight +2   50.0 % ± 2.1 % of the variance is lost without it   "
        "9 reads",
        "  kept        aa    weight -0.25   12.5 % ± 1.0 % of the variance is lost without it   "
        "7 reads",
        "  kept        k     would add at most 3.1 % of the variance   8 reads",
        "  safety net  d     too few reads to say what it would add   2 reads",
        "  explored    e     would add at most 50.0 % of the variance   5 reads",
        "  explored    b     would add at most 25.0 % of the variance   4 reads",
        "listens to: z 98 %, y 1 %",
    ]
    assert str(Explanation(0, (), {}, 0.0)) == "nothing was asked yet, so nothing is bought"


def test_an_explanation_says_what_is_explained_together() -> None:
    lines = (Line("a", "kept", 1.0, 3, 0.5, 0.1),)

    def third(explained: float | None, error: float | None) -> str:
        together = {"explained": explained, "explained_error": error}
        return str(Explanation(5, lines, {"m": 1.0}, 0.0, **together)).splitlines()[2]  # type: ignore[arg-type]

    said = "what is worth keeping explains 62.5 % ± 3.1 % of the variance together"
    assert third(0.625, 0.031) == said
    assert third(0.625, 0.499).endswith("62.5 % ± 49.9 % of the variance together")
    assert third(0.625, 0.5) == third(None, None) == "listens to: m 100 %"


def test_the_window_of_the_noise_is_200_rounds_or_a_quarter_of_all() -> None:
    for rounds, weight, most in [(10.0, 10.0, 11.0), (700.0, 200.0, 200.0), (1000.0, 250.0, 250.0)]:
        mixture, guesses = mix([1.0, 1.0]), np.zeros(3)
        mixture.span[:] = -4.0, 4.0
        mixture.noise[WEIGHT], mixture.noise[ROUNDS], mixture.noise[LOSS] = weight, rounds, 30.0
        learn(mixture, guesses, 3.0)
        assert mixture.noise[WEIGHT] == most
        assert mixture.noise[ROUNDS] == rounds + 1.0
        assert mixture.noise[LOSS] == pytest.approx(39.0 * most / (weight + 1.0))


def test_the_usual_numbers() -> None:
    parts = kh.AutoParts()
    assert (parts.bolder, parts.optimism, parts.far, parts.bold) == (0.8, 0.35, 2.0, 0.9)
    assert (parts.shortest, parts.longest, parts.growth) == (4, 16, 64)
    assert parts.taus == (math.inf, 1024.0, 64.0)


@pytest.mark.parametrize("half", [0.0, 0.25, 3.0])
def test_shares_by_their_formula(half: float) -> None:
    """Weights prior exp(-L / 2 Y^2), the bold average's handed on to those it believes in."""
    mixture = mix([1.0, 3.0, 0.0], bold=0.2)
    mixture.losses[:] = 0.03, 0.05, 0.01, 0.04  # of the third, which has no prior, not a word
    mixture.span[:] = 1.0 - half, 1.0 + half
    mixture.belief[:] = [[0.1, 0.2, 0.0], [0.3, 0.05, 0.0], [0.25, 0.1, 0.0]]
    late = np.array([0.03, 0.05, 0.0, 0.04])
    w = mixture.prior * (np.exp(-late / (2.0 * half**2)) if half else 1.0)
    w /= w.sum()
    assert shares(mixture).tolist() == pytest.approx([w[0] + 0.65 * w[3], w[1] + 0.35 * w[3], 0.0])
    for e, expected in ((0, math.log(5.0)), (1, math.log(5.0 / 3.0)), (2, math.inf)):
        assert bound(mixture, e) == (
            expected if expected == math.inf else pytest.approx(2.0 * half**2 * expected)
        )
