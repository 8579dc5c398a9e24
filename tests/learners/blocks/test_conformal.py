"""The kernels of intervals: as defined, in blocks as one by one; the guarantee, per sequence."""

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.conformal import (
    EDGES,
    NOTE_SIZE,
    SCALES,
    TOGETHER,
    Trackers,
    gain_of,
    issue,
    learn,
    new_trackers,
    play,
)
from keyhole.problem import Floats
from tests.learners.blocks.conformal_slow import SlowLevels

COVERAGES = [0.5, 0.9, 0.99]
ORDER = np.arange(3)


def issued(t: Trackers, factor: float = 1.0) -> tuple[Floats, Floats]:
    notes, edges = np.empty((len(t.a), NOTE_SIZE)), np.empty((len(t.a), 2))
    issue(t, np.argsort(-t.a), factor, notes, edges)
    return notes, edges


def some_factors(n: int) -> Floats:
    """From 0.1 to 10, and some that are 1."""
    factors = np.exp(np.random.default_rng(6).uniform(-1.0, 1.0, n) * math.log(10.0))
    factors[5::7] = 1.0
    return factors


def untidy(n: int) -> Floats:
    """Errors with zeros, ties, an offset, a jump of scale, and outliers."""
    rng = np.random.default_rng(5)
    errors = rng.standard_normal(n) + 0.3
    errors[:3], errors[n // 2 :] = 0.0, 10.0 * errors[n // 2 :]
    errors[7::9], errors[20::25] = 0.25, 1e4
    return errors


@pytest.mark.parametrize("delay", [0, 3])
def test_by_definition(delay: int) -> None:
    t, slow = new_trackers(COVERAGES), SlowLevels(COVERAGES)
    waiting = deque[tuple[float, Floats, list[dict[str, object]]]]()
    for error, factor in zip(untidy(90).tolist(), some_factors(90).tolist(), strict=True):
        (notes, edges), (slow_notes, ends) = issued(t, factor), slow.issue(factor)
        np.testing.assert_allclose(edges, ends, rtol=1e-9)
        waiting.append((error, notes, slow_notes))
        if len(waiting) > delay:
            its, notes, slow_notes = waiting.popleft()
            learn(t, ORDER, notes, its, gain_of(delay))
            slow.learn(slow_notes, its, 0.02 / (1 + delay / 50))
    for i, level in enumerate(slow.levels):
        sides = level.sides[+1], level.sides[-1]
        np.testing.assert_allclose(t.theta[i], [side.theta for side in sides], atol=1e-12)
        np.testing.assert_allclose(t.weight[i], [side.w for side in sides], rtol=1e-8)
        np.testing.assert_allclose(t.q[i], [*sides[0].q, *sides[1].q, *level.both], rtol=1e-9)


def test_a_block_is_single_rounds_to_the_bit() -> None:
    errors, factors = untidy(300), some_factors(300)
    whole, single = new_trackers(COVERAGES), new_trackers(COVERAGES)
    edges = np.empty((300, 3, 2))
    play(whole, ORDER, errors[:120], factors[:120], 0.02, edges[:120])
    play(whole, ORDER, errors[120:], factors[120:], 0.02, edges[120:])
    for row, error, factor in zip(edges, errors.tolist(), factors.tolist(), strict=True):
        notes, alone = issued(single, factor)
        assert alone.tobytes() == row.tobytes()
        learn(single, ORDER, notes, error, 0.02)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(whole, single, strict=True))


def test_coverages_in_any_order_are_nested() -> None:
    t, order = new_trackers([0.9, 0.5, 0.99]), np.array([1, 0, 2])
    edges = np.empty((400, 3, 2))
    play(t, order, untidy(400), some_factors(400), 0.02, edges)
    sorted_ = new_trackers(COVERAGES)
    same = np.empty((400, 3, 2))
    play(sorted_, ORDER, untidy(400), some_factors(400), 0.02, same)
    assert edges[:, order].tobytes() == same.tobytes()
    assert (same[:, 1:, 0] <= same[:, :-1, 0]).all()
    assert (same[:, 1:, 1] >= same[:, :-1, 1]).all()
    assert (same[:, :, 0] <= same[:, :, 1]).all()


def test_nothing_is_known_before_the_first_label_and_zeros_make_points() -> None:
    t = new_trackers([0.9])
    edges = np.empty((30, 1, 2))
    play(t, np.arange(1), np.zeros(30), some_factors(30), 0.02, edges)
    # Ten errors of 0 make an eleventh likely enough for 90 %.
    assert np.isinf(edges[:11]).all()
    assert (edges[11:] == 0.0).all()


def test_the_largest_labels_overflow_nothing() -> None:
    rng = np.random.default_rng(1)
    for errors in (
        2e150 * rng.choice([-1.0, 1.0], 500),
        1e-150 * rng.standard_normal(500),
        np.exp(rng.uniform(-345, 345, 500)) * rng.choice([-1.0, 1.0], 500),
    ):
        t, edges = new_trackers(COVERAGES), np.empty((500, 3, 2))
        play(t, ORDER, errors, some_factors(500), 0.02, edges)
        assert not np.isnan(edges).any()
        assert all(
            np.isfinite(part).all() for name, part in t._asdict().items() if name != "spread"
        )


# --- The guarantee, sequence by sequence. An adversary sees the intervals before it chooses.

Adversary = Callable[[int, Floats, np.random.Generator], float]  # round, (low, high) of each


def steady(t: int, edges: Floats, rng: np.random.Generator) -> float:
    return rng.standard_normal()


def jumps(t: int, edges: Floats, rng: np.random.Generator) -> float:
    return float(rng.standard_normal() * (1.0 if t % 700 < 350 else 30.0) + (t % 900 > 500))


def exact_for_long(t: int, edges: Floats, rng: np.random.Generator) -> float:
    return rng.standard_normal() if t < 40 or t > 2000 else 0.0


def few_values(t: int, edges: Floats, rng: np.random.Generator) -> float:
    return float(rng.integers(-1, 2))


def just_outside(t: int, edges: Floats, rng: np.random.Generator) -> float:
    """Misses whenever there is room for it in [-1, 1]."""
    low, high = edges[1]
    if high < 0.999:
        return min(1.0, float(high) + 0.01)
    return max(-1.0, float(low) - 0.01) if low > -0.999 else 0.0


def always_inside(t: int, edges: Floats, rng: np.random.Generator) -> float:
    """As narrow as intervals get, and then all at once."""
    if t % 1000 == 999 or not np.isfinite(edges[0]).all():
        return rng.standard_normal()
    return float(edges[0].mean())


def ever_larger(t: int, edges: Floats, rng: np.random.Generator) -> float:
    high = float(edges[1, 1])
    return min(1.2 * high, 1e100) if 0.0 < high < math.inf else 1.0


ADVERSARIES = [
    *(steady, jumps, exact_for_long, few_values, just_outside, always_inside, ever_larger),
]


class Verdict:
    """What `judge` measures of one sequence."""

    def __init__(self, levels: int) -> None:
        self.judged, self.b, self.longest = 0, 0.0, 0
        self.misses = np.zeros(levels)
        self.points = 0  # rounds in which the lowest interval was a point, and that was the label

    def W(self) -> float:
        return math.asinh(self.b) + 0.02 * (1 + self.longest)

    def holds(self, coverages: Sequence[float]) -> bool:
        """The two inequalities of the guarantee, for each coverage."""
        gain = 0.02 if self.longest == 0 else 0.01 / (1 + self.longest / 50)
        return all(
            self.misses[j] <= (1 - coverage) * self.judged + 2 * self.W() / gain + 1e-6
            and self.misses[j] + self.points
            >= (1 - coverage) * self.judged - 2 * (j + 1) * 5 * self.W() / gain - 1e-6
            for j, coverage in enumerate(coverages)
        )


def judge(
    t: Trackers, adversary: Adversary, n: int, delay: int, lost: float, *, frozen: bool = False
) -> Verdict:
    """Play it; labels come shuffled, at most `delay` labels late, and some never.

    The broken twin is `frozen`: theta stays 0.
    """
    rng, verdict = np.random.default_rng(3), Verdict(len(t.a))
    waiting = list[tuple[float, int, Floats, Floats]]()
    told = 0
    factors = some_factors(n).tolist()  # whatever they are: the guarantee does not ask
    for round in range(n):
        notes, edges = issued(t, factors[round])
        waiting.append((adversary(round, edges, rng), told, notes, edges))
        if rng.random() < lost:
            waiting.pop(rng.integers(len(waiting)))
        while len(waiting) > delay:
            first = min(range(len(waiting)), key=lambda at: waiting[at][1])
            overdue = told - waiting[first][1] >= delay
            at = first if overdue else int(rng.integers(len(waiting)))
            error, its, notes, edges = waiting.pop(at)
            verdict.longest = max(verdict.longest, told - its)
            learn(t, np.argsort(-t.a), notes, error, 0.0 if frozen else gain_of(verdict.longest))
            told += 1
            if notes[0, 0] > 0.0:
                tally(verdict, t, notes, edges, error, its)
    return verdict


def tally(
    verdict: Verdict, t: Trackers, notes: Floats, edges: Floats, error: float, told: int
) -> None:
    verdict.judged += 1
    verdict.misses += (error < edges[:, 0]) | (error > edges[:, 1])
    raw = notes[:, EDGES:]
    verdict.points += bool(raw[0].sum() < 0.0 and edges[0, 0] <= error <= edges[0, 1])
    unit, more = notes[0, :SCALES].mean(), np.ones(len(t.a))
    if told < 400:
        more = np.exp(np.minimum((2 / np.pi * t.start**2 + 1) / (4 * max(told, 1)), 2.0))
    for sign, side in ((1.0, 0), (-1.0, 1)):
        off = np.abs(sign * error / more - notes[:, TOGETHER + side]) / unit
        verdict.b = max(verdict.b, float(off.max()))


def test_constant_labels_are_in_all_intervals() -> None:
    """The exception that the pages name; labels that vary a little are in half of them."""
    X = np.zeros((3000, 1))
    noise = 1e-6 * np.random.default_rng(0).normal(size=len(X))
    for spread, least, most in ((0.0, 1.0, 1.0), (1.0, 0.48, 0.52)):
        stream = kh.streams.ArrayStream(X, 3.0 + spread * noise)
        ledger = kh.play(kh.RunningMean(kh.Problem(1, 1, 1)), stream, coverage=0.5)
        assert least <= ledger.covered_share <= most


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize(("delay", "lost"), [(0, 0.0), (20, 0.1)])
def test_the_guarantee_holds(adversary: Adversary, delay: int, lost: float) -> None:
    t = new_trackers(COVERAGES)
    verdict = judge(t, adversary, 1500, delay, lost)
    assert verdict.judged > 1100
    assert verdict.holds(COVERAGES)
    assert np.abs(t.theta).max() <= 15 * verdict.W()
    assert t.theta.max() <= verdict.W()


def test_sums_of_misses_are_theta() -> None:
    """On time and without ties, sum(miss - alpha) = (theta_up + theta_down) / 0.02, exactly."""
    t = new_trackers(COVERAGES)
    verdict = judge(t, just_outside, 2000, 0, 0.0)
    excess = verdict.misses - (1 - np.array(COVERAGES)) * verdict.judged
    np.testing.assert_allclose(excess, t.theta.sum(axis=1) / 0.02, atol=1e-6)


def test_without_theta_an_adversary_is_not_held() -> None:
    """The broken twin: units and trackers alone follow the adversary, and miss far more often."""
    assert judge(new_trackers(COVERAGES), just_outside, 4000, 0, 0.0).holds(COVERAGES)
    broken = judge(new_trackers(COVERAGES), just_outside, 4000, 0, 0.0, frozen=True)
    assert not broken.holds(COVERAGES)


def test_hits_that_count_as_covered_would_make_empty_intervals_emptier() -> None:
    """The broken twin lets theta fall by 0.02 x 0.05 a round, for ever; ours stays."""
    largest = []
    for ties in (True, False):
        levels, rng = SlowLevels([0.9], ties=ties), np.random.default_rng(3)
        for round in range(1500):
            notes, edges = levels.issue()
            levels.learn(notes, rng.standard_normal() if round < 40 else float(edges[0].mean()))
        largest.append(max(abs(side.theta) for side in levels.levels[0].sides.values()))
    assert largest[0] < 0.5 < 1.4 < largest[1]
