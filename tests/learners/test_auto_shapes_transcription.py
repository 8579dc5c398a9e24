"""Shapes against their rules in docs/algorithms/shapes.md, written out: the same bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
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


SMALL = kh.AutoParts(ring=96, trees=6, depth=2)
CASES = {
    "usual": Case(8, 6, 700),
    "a small ring, deep trees": Case(9, 7, 420, kh.AutoParts(ring=100, trees=9, depth=4)),
    "stumps": Case(7, 3, 300, kh.AutoParts(ring=64, trees=4, depth=1)),
    "absent values": Case(9, 6, 420, SMALL, 0.3),
    "more seats than curves": Case(24, 20, 300, kh.AutoParts(ring=128, trees=5, depth=3)),
    "more read than seats": Case(44, 40, 260, SMALL),
    "batches of other lengths": Case(9, 6, 300, kh.AutoParts(shortest=7, longest=30, growth=5)),
}


def stream(case: Case) -> tuple[Floats, Floats]:
    """Curves, a mode, two values, a constant, a product, and after half of the rounds a change."""
    rng, n = np.random.default_rng(case.seed), case.rounds
    X = rng.standard_normal((n, case.d))
    X[:, 1] = np.where(rng.random(n) < 0.4, 2.5, np.exp(X[:, 1]))
    X[:, 2] = X[:, 2] > 0.3
    X[:, 3], X[:, 4] = 7.0, np.round(3.0 * X[:, 4])
    y = 5.0 + np.abs(X[:, 0]) + np.log(X[:, 1]) + X[:, 2] * X[:, 5] + 0.2 * rng.standard_normal(n)
    y[n // 2 :] += X[n // 2 :, 4] ** 2 - 2.0 * X[n // 2 :, -1]
    X[rng.random(X.shape) < case.absent] = np.nan
    return X, y


def first_difference(case: Case, bug: str = "") -> int | None:
    """The round in which a learner and the rules part; None if they never do."""
    X, y = stream(case)
    problem, parts = kh.Problem(case.d, 2, case.budget), case.parts
    learners = [
        kh.AutoLearner(problem, seed=case.seed, shapes=shapes, parts=parts)
        for shapes in (False, True)
    ]
    bought, same = (np.full((len(y), case.budget), -1, dtype=np.int32) for _ in range(2))
    p = learners[0].advance(X, y, bought)
    found = learners[1].advance(X, y, same)
    assert (bought == same).all()  # shapes change nothing that is read
    rules = Shapes(case.budget, parts.ring, parts.trees, parts.depth, case.seed, bug)
    t = 0
    while t < len(y):
        size = min(parts.longest, max(parts.shortest, t // parts.growth))
        for i in range(t, min(t + size, len(y))):
            x = {j: float(X[i, j]) for j in bought[i].tolist() if not np.isnan(X[i, j])}
            expected = rules.play(x, float(p[i]), float(y[i]))
            if found[i] != (expected if i else p[i]):
                return i
        t += size
        rules.close(size)
    return None


@pytest.mark.parametrize("name", CASES)
def test_block_play_keeps_to_the_rules(name: str) -> None:
    assert first_difference(CASES[name]) is None


@pytest.mark.parametrize("bug", BUGS)
def test_a_mistake_in_the_rules_is_noticed(bug: str) -> None:
    case = Case(9, 7, 420, SMALL, 0.1)
    assert first_difference(case) is None
    assert first_difference(case, bug) is not None
