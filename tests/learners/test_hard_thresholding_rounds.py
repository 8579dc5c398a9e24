"""Rounds of online hard thresholding against a slow transcription, phase by phase."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.philox import uniform
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.learners.hard_thresholding import HardThresholdingDraw
from keyhole.problem import Floats


class Rule(NamedTuple):
    """What does not change: a step of 0 is the adaptive one."""

    k: int
    budget: int
    hybrid: bool
    step: float
    growth: float


def learner_of(d: int, rule: Rule, fresh: int, seed: int) -> kh.HardThresholdingLearner:
    return kh.HardThresholdingLearner(
        kh.Problem(d, rule.k, rule.budget),
        seed=seed,
        hybrid=rule.hybrid,
        batch_size=fresh,
        growth=rule.growth,
        step_size=rule.step or None,
    )


class Slow:
    """The search with dictionaries and lists: every sum is taken from the rounds of its phase."""

    def __init__(self, d: int, rule: Rule, fresh: int, seed: int) -> None:
        self.d, self.rule, self.seed, self.fresh = d, rule, seed, float(fresh)
        self.theta, self.before, self.slope = np.zeros((3, d))
        self.values = [list[float]() for _ in range(d)]
        self.curvature, self.steps, self.length, self.phase = 1.0, 0, 0, 0
        self.old = list[float]()
        self.order = list(range(d))
        self.support = list[int]()
        self.exploiting = False
        self.reset()

    def reset(self) -> None:
        self.products: list[list[float]] = [[] for _ in range(self.d)]
        self.errors = list[float]()
        self.cursor = self.told = self.turn = 0
        self.iterate = self.theta.copy()

    def means(self) -> Floats:
        return np.array([float(np.mean(v)) if v else 0.0 for v in self.values])

    def squares(self) -> Floats:
        return np.array([float(np.mean(np.square(v))) if v else 0.0 for v in self.values])

    def ask(self, t: int) -> tuple[list[int], list[int], float]:
        """What is read, what of it is played, and by what the prediction is multiplied."""
        size, outside = len(self.support), self.d - len(self.support)
        kept, free, scale = self.support, self.rule.budget - size, 1.0
        if free == 0 and outside and not self.exploiting and self.turn % 2 == 1:
            free = -(-size // 2)
            places = uniform_subset(self.seed, t, size, size - free, purpose=1).tolist()
            kept = [self.support[a] for a in places]
            scale = size / len(kept) if kept else 1.0
        others = [self.order[(self.cursor + a) % outside] for a in range(min(free, outside))]
        self.cursor = (self.cursor + len(others)) % outside if outside else 0
        self.turn += 1
        return sorted([*kept, *others]), kept, scale

    def tell(self, features: list[int], kept: list[int], scale: float, x: Floats, y: float) -> None:
        means = self.means()
        filled = {
            j: means[j] if math.isnan(v) else v for j, v in zip(features, x.tolist(), strict=True)
        }
        for j, v in zip(features, x.tolist(), strict=True):
            if not math.isnan(v):
                self.values[j].append(v)
        self.told += 1
        if self.exploiting:
            self.descend(kept, filled, y)
            if self.told >= self.length:
                self.begin(False)
            return
        complete = kept == self.support
        residual = scale * sum(self.theta[j] * filled[j] for j in kept) - y
        for j in features:
            if complete or j not in kept:
                self.products[j].append(residual * filled[j])
        if complete:
            self.errors.append(residual**2)
        lacking = any(len(p) < int(self.fresh) for p in self.products)
        if not lacking or (complete and self.may_go_back() and self.worse(3.0)):
            self.step()

    def descend(self, kept: list[int], x: dict[int, float], y: float) -> None:
        unit = self.squares()
        error = sum(self.iterate[j] * x[j] for j in kept) - y
        length = 2.0 * max(sum(x[j] ** 2 / unit[j] for j in kept), len(self.support))
        for j in kept:
            self.iterate[j] -= error * x[j] / unit[j] / length
            self.theta[j] += (self.iterate[j] - self.theta[j]) / (self.told + 1)

    def may_go_back(self) -> bool:
        return self.rule.step == 0.0 and self.curvature < 2 * self.rule.k

    def worse(self, doubt: float) -> bool:
        if min(len(self.errors), len(self.old)) < 8:
            return False
        gap = float(np.mean(self.errors) - np.mean(self.old))
        spread = np.var(self.errors) / len(self.errors) + np.var(self.old) / len(self.old)
        return gap > doubt * math.sqrt(float(spread))

    def step(self) -> None:
        if self.may_go_back() and self.worse(2.0):
            self.curvature = min(2 * self.curvature, 2.0 * self.rule.k)
        else:
            self.before, self.old = self.theta.copy(), self.errors
            self.slope = np.array([float(np.mean(p)) if p else 0.0 for p in self.products])
            self.fresh *= self.rule.growth
        adaptive = self.rule.step == 0.0
        units = self.squares() if adaptive else np.ones(self.d)
        step = 1 / self.curvature if adaptive else 2 * self.rule.step
        safe = np.where(units > 0.0, units, 1.0)
        moved = np.where(units > 0.0, self.before - step * self.slope / safe, 0.0)
        best = np.argsort(-np.abs(moved) * np.sqrt(units), kind="stable")[: self.rule.k]
        self.theta = np.zeros(self.d)
        self.theta[best] = moved[best]
        self.steps += 1
        self.length = self.told * (self.steps if self.rule.budget == self.rule.k else 1)
        self.begin(self.rule.hybrid)

    def begin(self, exploiting: bool) -> None:
        self.support = np.flatnonzero(self.theta).tolist()
        self.order = [j for j in range(self.d) if j not in self.support]
        self.phase += 1
        for i in range(len(self.order) - 1, 0, -1):
            j = int(uniform(np.uint64(self.seed), self.phase, 0, i) * (i + 1))
            self.order[i], self.order[j] = self.order[j], self.order[i]
        self.exploiting = exploiting and bool(self.support)
        self.reset()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.1])
@pytest.mark.parametrize(
    ("k", "budget", "d"), [(2, 4, 5), (2, 2, 5), (3, 3, 5), (1, 1, 4), (2, 4, 4)]
)
def test_rounds_are_the_transcription(
    k: int, budget: int, d: int, step: float, hybrid: bool
) -> None:
    rule = Rule(k, budget, hybrid, step, 1.4)
    learner, slow = learner_of(d, rule, 3, seed=9), Slow(d, rule, 3, seed=9)
    search, rng = learner._search, np.random.default_rng(k)
    weights, scales = rng.normal(size=d) * 2.0, np.arange(1.0, d + 1.0)
    mixing = np.eye(d) + 0.8  # correlated, so that steps are too long at first
    for t in range(1, 120):
        ticket = learner.ask()
        draw = HardThresholdingDraw(ticket.features, **ticket.memo)
        features, kept, scale = slow.ask(t)
        assert draw.features.tolist() == features
        assert draw.features[draw.inside].tolist() == kept
        assert draw.scale[0] == pytest.approx(scale)
        np.testing.assert_allclose(draw.means, slow.means()[features], atol=1e-9)
        played = [slow.theta[j] if j in kept else 0.0 for j in features]
        np.testing.assert_allclose(draw.played, played, rtol=1e-6, atol=1e-9)
        row = (rng.normal(size=d) @ mixing) * scales
        y = float(row @ (weights / scales) + rng.normal())
        x = row[features]
        if t % 5 == 0:
            x[0] = np.nan
        learner.tell(ticket.fill(x), y)
        slow.tell(features, kept, scale, x, y)
        assert search.pace.tolist() == pytest.approx([slow.curvature, slow.fresh])
    np.testing.assert_allclose(search.theta, slow.theta, rtol=1e-6, atol=1e-9)
    assert slow.steps > 1


def test_a_late_label_of_an_earlier_phase_teaches_means_alone() -> None:
    learner = learner_of(2, Rule(1, 2, False, 0.0, 1.0), 1, seed=0)
    search, ticket, old = learner._search, learner.ask(), learner.ask()
    learner.tell(ticket.fill([1.0, 2.0]), 3.0)
    before = [search.theta.copy(), search.gradient.copy(), search.whole.copy()]
    learner.tell(old.fill([1.0, np.nan]), 9.0)
    for was, part in zip(before, (search.theta, search.gradient, search.whole), strict=True):
        np.testing.assert_array_equal(part, was)
    assert search.arrived.tolist() == [2, 1]
    assert search.total.tolist() == [2.0, 2.0]
    assert search.square.tolist() == [2.0, 4.0]
