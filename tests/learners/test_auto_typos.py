"""A typo costs AutoLearner nothing, and what is real is followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.experts import NO_MEMORY, expert_index
from keyhole.learners.blocks.sums.reach import COUNT, HIGH, LOW
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams import ArrayStream
from tests.helpers.auto_reach import Reach

PROBLEM = kh.Problem(d=20, k=3, budget=8)
CREDULOUS = kh.AutoParts(far=1e9)  # the broken twin: nothing is ever far out
SEEDS, HISTORY, ROUNDS = range(8), 100, 600


def data(seed: int) -> tuple[Floats, Floats]:
    """Three features matter; labels are about 5."""
    rng = np.random.default_rng([seed, 41])
    X = rng.standard_normal((HISTORY + ROUNDS, 20)) * rng.uniform(0.5, 2.0, 20) + 2.0
    y = 5.0 + (X[:, [3, 7, 11]] - 2.0) @ [1.0, -1.0, 0.5]
    return X, y + 0.5 * rng.standard_normal(len(y))


def loss(seed: int, X: Floats, y: Floats, counts: Any, parts: kh.AutoParts | None = None) -> float:
    """The mean loss of the rounds after the history that count."""
    learner = kh.AutoLearner(PROBLEM, seed=seed, parts=parts or kh.AutoParts())
    learner.study(ArrayStream(X[:HISTORY], y[:HISTORY]))
    missed = y[HISTORY:] - learner.advance(X[HISTORY:], y[HISTORY:])
    return float((missed**2)[counts].mean())


def costs(change: Any, parts: kh.AutoParts | None = None) -> float:
    """How many times the loss after the change is that without, in the middle of the seeds."""
    ratios = []
    for seed in SEEDS:
        X, y = data(seed)
        clean = loss(seed, X, y, slice(1, None), parts)
        change(X, y)
        ratios.append(loss(seed, X, y, slice(1, None), parts) / clean)
    return float(np.median(ratios))


def label(times: float, at: int = HISTORY) -> Any:
    def change(X: Floats, y: Floats) -> None:
        y[at] *= times

    return change


def value(times: float, at: int = HISTORY) -> Any:
    def change(X: Floats, y: Floats) -> None:
        X[at, [3, 7, 11]] *= times

    return change


@pytest.mark.parametrize(
    "change",
    [label(100.0), label(1e4), value(100.0), label(100.0, 0), label(100.0, 2), value(100.0, 1)],
    ids=["label", "wild label", "value", "first label", "third label", "second value"],
)
def test_one_typo_costs_nothing(change: Any) -> None:
    """Of 64 other seeds at most 2 are above 1.1 for any of these, so that four of eight are has a
    chance below 70 (2/64)^4 < 1e-4; the seeds are fixed. The broken twin believes everything."""
    assert costs(change) < 1.1
    assert costs(change, CREDULOUS) > 1.2


def test_a_level_that_jumps_is_followed_sooner_than_by_learning() -> None:
    """Three labels are doubted. After them a round costs what it did before, noise and what drifts:
    the twin's predictions are still off by hundreds, a third of the jump and more.

    400 rounds of noise 0.25 are 100, and a miss of 300 alone is 90,000: a hundredth lies between.
    """

    def jump(X: Floats, y: Floats) -> None:
        y[HISTORY + 200 :] += 1_000.0

    for seed in SEEDS:
        X, y = data(seed)
        jump(X, y)
        after = slice(203, None)
        followed, learnt = loss(seed, X, y, after), loss(seed, X, y, after, CREDULOUS)
        assert followed < 0.01 * learnt
    assert costs(jump) < costs(jump, CREDULOUS)  # those three included


@pytest.mark.parametrize("degrees", [2.0, 3.0])
def test_heavy_tails_cost_no_more_than_they_do(degrees: float) -> None:
    ratios = []
    for seed in SEEDS:
        X, y = data(seed)
        y += np.random.default_rng(seed).standard_t(degrees, len(y))
        ratios.append(loss(seed, X, y, slice(None)) / loss(seed, X, y, slice(None), CREDULOUS))
    assert np.median(ratios) < 1.05


def untidy(seed: int, n: int = 300) -> tuple[Floats, Floats]:
    """Typos from the first rounds on, and a jump."""
    rng = np.random.default_rng(seed)
    X, y = (part[:n].copy() for part in data(seed))
    y[rng.random(n) < 0.03] *= 100.0
    X[rng.random(X.shape) < 0.01] *= -100.0
    y[1], X[2, 3] = 1e5, 1e6
    y[n // 2 :] += 300.0
    return X, y


def row_by_row(learner: kh.AutoLearner, X: Floats, y: Floats) -> Iterator[float]:
    for x, told in zip(X, y.tolist(), strict=True):
        ticket = learner.ask()
        seen = ticket.fill(x[ticket.features])
        yield learner.predict(seen)
        learner.tell(seen, told)


@pytest.mark.parametrize("how", [{}, {"proper": True}], ids=["usual", "proper"])
@pytest.mark.parametrize("history", [0, 9])
def test_rounds_blocks_and_files_agree(history: int, how: dict[str, Any]) -> None:
    X, y = untidy(1)
    one, other = (kh.AutoLearner(PROBLEM, seed=1, **how) for _ in range(2))
    for learner in (one, other):
        learner.study(ArrayStream(X[:history], y[:history]))
    predictions = one.advance(X[history:], y[history:])
    found = list(row_by_row(other, X[history:60], y[history:60]))
    other = from_bytes(to_bytes(other), kh.AutoLearner)
    found += other.advance(X[60:], y[60:]).tolist()
    assert predictions.tolist() == found
    assert to_bytes(one) == to_bytes(other)


def test_a_net_over_many_features_starts_anew() -> None:
    """What its tree was built from is forgotten, too; a file has no tree."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((80, 1_100)), rng.standard_normal(80)
    y[:7] = 1e4, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0  # the first is found out when the last is told
    learner = kh.AutoLearner(kh.Problem(d=1_100, k=2, budget=24), seed=0)
    learner.advance(X[:6], y[:6])
    assert learner._state.net.largest.max() > 1e4
    learner.advance(X[6:7], y[6:7])
    assert learner._state.net.largest.max() == 0.0
    again = from_bytes(to_bytes(learner), kh.AutoLearner)
    assert learner.advance(X[7:], y[7:]).tolist() == again.advance(X[7:], y[7:]).tolist()
    assert to_bytes(learner) == to_bytes(again)


def test_what_a_wild_label_leaves() -> None:
    X, y = data(0)
    y = y.copy()
    y[0] = 1e6
    learner = kh.AutoLearner(PROBLEM, seed=0)
    learner.advance(X[:3], y[:3])
    assert learner._state.mixture.span[1] == 1e6
    learner.advance(X[3:4], y[3:4])
    state = learner._state
    assert state.mixture.span.tolist() == [y[1:4].min(), y[1:4].max()]
    assert not state.mixture.losses.any()
    assert not learner._last.A.any()
    assert state.label.reads[0] == 4.0
    assert abs(state.label.reference[0]) < 10.0


def test_the_guarantee_with_typos() -> None:
    """Rounds whose label is learnt as less count as records, and so do those up to a restart.

    The labels as they are learnt are those of the rules in plain Python. Were only records paid,
    the bound would not hold.
    """
    rng = np.random.default_rng(5)
    n, d = 2_000, 24
    X = np.where(rng.random((n, d)) < 0.5, -1.0, 1.0)
    y = 0.8 * X[np.arange(n), (np.arange(n) // 37) % d] + 0.2 * rng.standard_normal(n)
    y[rng.random(n) < 0.01] *= 1e4
    y[0], y[n // 2 :] = 1e4, y[n // 2 :] + 20.0
    learner = kh.AutoLearner(kh.Problem(d=d, k=1, budget=12), seed=0)
    off = (y - learner.advance(X, y)) ** 2
    reach, paid, doubted, begins = Reach(far=2.0), np.zeros(n, dtype=bool), [], 0
    for t, told in enumerate(y.tolist()):
        low, high = reach.low, reach.high
        found = reach.note(told)
        paid[t] = t == 0 or not low <= told <= high
        if reach.cut(told) != told or found == "moved":
            doubted.append(t)
        begins = t + 1 if found == "was wild" else begins
    assert begins == 4
    assert len(doubted) > 10
    paid[:begins] = True
    e, width = expert_index(learner._experts, "net", NO_MEMORY), reach.high - reach.low
    net, judges = float(learner._state.mixture.losses[e]), learner._chain
    # Records are paid three times: beside the learner, whose rounds of records are left out, by the
    # mixture and the last layer, whose predictions are within the range before them.
    twice = 2.0 * (paid[begins:].sum() * width**2)
    # 2 Y^2 = width^2 / 2 times log 100 of the net, log 6 of the last layer, log 4 of shapes.
    assert learner.bound() < width**2 / 2.0 * np.log(101.0 * 6.1 * 4.1)
    for mixture in (judges.first, judges.second):  # shapes were told the same labels
        assert mixture.span.tolist() == learner._state.mixture.span.tolist()
    assert off[~paid].sum() <= net + learner.bound() + twice
    assert learner._state.reach[-1, [LOW, HIGH]].tolist() == [reach.low, reach.high]
    paid[doubted] = False
    paid[:begins] = True
    assert off[~paid].sum() > net + learner.bound() + 2.0 * (paid[begins:].sum() * width**2)


def test_a_file_without_a_reach_is_protected_by_what_it_knows() -> None:
    X, y = data(2)
    learner = kh.AutoLearner(PROBLEM, seed=2)
    learner.advance(X[:300], y[:300])
    state = learner.state()
    del state.parts["reach"]  # type: ignore[attr-defined]
    old = kh.AutoLearner.from_state(state)
    ends = learner._state.reach[-1]
    assert old._state.reach[-1, [LOW, HIGH, COUNT]].tolist() == ends[[LOW, HIGH, COUNT]].tolist()
    seen = learner._state.values.reads > 0.0
    assert (old._state.reach[:-1][seen, HIGH] >= learner._state.reach[:-1][seen, HIGH] - 1.0).all()
    y[300] = 1e6
    old.advance(X[300:301], y[300:301])
    assert old._state.mixture.span[1] == ends[HIGH]


def test_after_sums_a_typo_costs_nothing() -> None:
    X, y = data(3)
    learner = kh.AutoLearner(PROBLEM, seed=3)
    learner.study(kh.sums(ArrayStream(X[:HISTORY], y[:HISTORY])))
    assert learner._state.reach[-1, [LOW, HIGH]].tolist() == [y[:100].min(), y[:100].max()]
    assert (learner._state.reach[:-1, HIGH] == X[:HISTORY].max(axis=0)).all()
    learner.advance(X[HISTORY : HISTORY + 1], np.array([1e6]))
    assert learner._state.mixture.span[1] == y[:HISTORY].max()


def test_late_labels_are_heeded() -> None:
    X, y = data(4)
    y[80], y[0] = 1e6, 1e5
    learner, waiting = kh.AutoLearner(PROBLEM, seed=4), []
    for t in range(400):
        ticket = learner.ask()
        waiting.append((ticket.fill(X[t, ticket.features]), float(y[t])))
        if t >= 30:
            learner.tell(*waiting[t - 30])
    assert learner._state.mixture.span[1] < 20.0
    seen, told = waiting[-1]
    assert abs(learner.predict(seen) - told) < 3.0
