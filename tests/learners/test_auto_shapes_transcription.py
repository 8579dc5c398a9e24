"""Shapes against their rules in docs/algorithms/shapes.md, written out: the same bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.ring import TOLD, slots
from keyhole.learners.blocks.sums.reach import HIGH, LOW
from keyhole.problem import Floats
from tests.helpers.auto_reach import Reach
from tests.helpers.shapes_transcription import BUGS, Shapes


@dataclass(frozen=True)
class Case:
    """A stream and a learner: d, budget, rounds, parts, the share of absent values."""

    d: int
    budget: int
    rounds: int
    parts: kh.AutoParts = kh.AutoParts()  # noqa: RUF009 - never changed
    absent: float = 0.0
    seed: int = 3
    typos: int = 0  # labels, and ten times as many values
    moved: int = 0  # how often labels move
    wild: int = 0
    bends: float = 0.0  # how much a feature counts of which a line says nothing


SMALL = kh.AutoParts(ring=96, trees=6, depth=2)
CASES = {
    "usual": Case(8, 6, 700),
    "more bend than are read": Case(
        9, 4, 900, kh.AutoParts(ring=700, trees=4, depth=2), 0.05, bends=4.0
    ),
    "a small ring, deep trees": Case(9, 7, 420, kh.AutoParts(ring=100, trees=9, depth=4)),
    "stumps": Case(7, 3, 300, kh.AutoParts(ring=64, trees=4, depth=1)),
    "absent values": Case(9, 6, 420, SMALL, 0.3),
    "more seats than curves": Case(24, 20, 300, kh.AutoParts(ring=128, trees=5, depth=3)),
    "more read than seats": Case(44, 40, 260, SMALL),
    "batches of other lengths": Case(9, 6, 300, kh.AutoParts(shortest=7, longest=30, growth=5)),
    "typos": Case(9, 6, 500, SMALL, typos=5),
    "labels that move": Case(9, 6, 500, SMALL, moved=1),
    "a first label and values that were wild": Case(9, 6, 300, SMALL, wild=1, typos=3),
}


def stream(case: Case) -> tuple[Floats, Floats]:
    """Curves, a mode, two values, a constant, a product, and after half of the rounds a change."""
    rng, n = np.random.default_rng(case.seed), case.rounds
    X = rng.standard_normal((n, case.d))
    X[:, 1] = np.where(rng.random(n) < 0.4, 2.5, np.exp(X[:, 1]))
    X[:, 2] = X[:, 2] > 0.3
    X[:, 3], X[:, 4] = 7.0, np.round(3.0 * X[:, 4])
    y = 5.0 + np.abs(X[:, 0]) + np.log(X[:, 1]) + X[:, 2] * X[:, 5] + 0.2 * rng.standard_normal(n)
    y += case.bends * np.abs(X[:, 5])
    y[n // 2 :] += X[n // 2 :, 4] ** 2 - 2.0 * X[n // 2 :, -1]
    for at in np.linspace(9, n - 1, case.typos).astype(int):
        y[at] *= 1e4
        X[(at + 4 + 7 * np.arange(10)) % n, np.arange(10) % case.d] *= 1e5
    y[: case.wild] *= 1e4
    X[1 : 1 + case.wild] *= 1e7
    if case.moved:
        y[n // 3 :] += 1000.0
    X[rng.random(X.shape) < case.absent] = np.nan
    return X, y


class Told:
    """What the same learner makes of rounds, one by one: p before shapes, and what it learns."""

    def __init__(self, case: Case) -> None:
        problem = kh.Problem(case.d, 2, case.budget)
        self.learner = kh.AutoLearner(problem, seed=case.seed, parts=case.parts)
        self.far, self.moved, self.wild, self.cut = case.parts.far, 0, 0, 0

    def round(self, x: Floats, y: float) -> tuple[list[int], float, float, str]:
        """What is read, p, the label as it is learnt, and what it shows about those before."""
        before = self.learner._state.reach[-1].copy()
        read = np.full((1, self.learner.problem.width), -1, dtype=np.int32)
        found = self.learner.advance(x[None], np.array([y]), read)
        ring = self.learner._state.ring
        p = self.learner._chain.p[(ring.next[TOLD] - 1) % len(ring.labels)]
        for believed in (False, True):
            low, high, below, above, doubt, count = before.tolist()
            reach = Reach(self.far, "", low, high, below, above, abs(doubt), doubt > 0.0, count)
            shows = reach.note(y, believed=believed)
            if [reach.low, reach.high] == self.ends():
                break
        assert [reach.low, reach.high] == self.ends()
        learnt = min(max(y, low), high) if shows == "moved" else reach.cut(y)
        self.moved, self.wild = self.moved + (shows == "moved"), self.wild + (shows == "was wild")
        self.cut += learnt != y
        p = p if ring.next[TOLD] > 1 else found[0]
        return [j for j in read[0].tolist() if j >= 0], float(p), learnt, shows

    def ends(self) -> list[float]:
        ends: list[float] = self.learner._state.reach[-1, [LOW, HIGH]].tolist()
        return ends

    def bent(self) -> list[int]:
        return [j for j in self.learner._chain.bent.tolist() if j >= 0]

    def rows(self) -> tuple[list[dict[int, float]], list[float]]:
        """The rows in the ring, the oldest first, as they are learnt."""
        ring = self.learner._state.ring
        at = slots(ring)
        there = [
            {j: v for j, v in zip(features, values, strict=True) if j >= 0 and not np.isnan(v)}
            for features, values in zip(
                ring.features[at].tolist(), ring.values[at].tolist(), strict=True
            )
        ]
        return there, ring.labels[at].tolist()


def first_difference(case: Case, bug: str = "") -> int | None:
    """The round in which a learner and the rules part; None if they never do."""
    X, y = stream(case)
    parts = case.parts
    learner = kh.AutoLearner(kh.Problem(case.d, 2, case.budget), seed=case.seed, parts=parts)
    bought = np.full((len(y), case.budget), -1, dtype=np.int32)
    found = learner.advance(X, y, bought)
    rules = Shapes(case.d, case.budget, parts.ring, parts.trees, parts.depth, case.seed, bug)
    told, t, bends = Told(case), 0, 0
    while t < len(y):
        size = min(parts.longest, max(parts.shortest, t // parts.growth))
        for i in range(t, min(t + size, len(y))):
            read, p, label, shows = told.round(X[i], float(y[i]))
            assert bought[i, : len(read)].tolist() == read  # in a block as one by one
            expected = rules.play({j: float(X[i, j]) for j in read if X[i, j] == X[i, j]}, p, label)
            if found[i] != (expected if i else p):
                return i
            if shows:
                low, high = told.ends()
                rules.start_anew(low, high, losses=shows == "moved")
        t += size
        rules.learn(*told.rows())
        m = rules.closed
        rules.close(min(parts.longest, max(parts.shortest, m // parts.growth)))
        if rules.bent != told.bent():
            return t
        bends = max(bends, len(rules.bent))
    assert bends >= (case.bends > 0.0)
    assert told.moved >= case.moved
    assert told.wild >= case.wild
    assert told.cut >= case.typos
    return None


@pytest.mark.parametrize("name", CASES)
def test_block_play_keeps_to_the_rules(name: str) -> None:
    assert first_difference(CASES[name]) is None


@pytest.mark.parametrize("bug", BUGS)
def test_a_mistake_in_the_rules_is_noticed(bug: str) -> None:
    case = Case(9, 7, 420, SMALL, 0.1, typos=5, moved=1)
    assert first_difference(case) is None
    assert first_difference(case, bug) is not None
