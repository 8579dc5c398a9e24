"""What is known of examples bought step by step, against a plain form of it in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from keyhole.learners.blocks.auto import steps as compiled
from keyhole.learners.blocks.auto.steps import BINS, RECENT, Steps, ends_of_steps
from keyhole.problem import Floats
from keyhole.problem.step import MOST_STEPS

FADE, PRIOR, LARGEST, FREE, FEWEST, FEW_PAIRS = 0.999, 6.0, 50.0, 30, 64, 20
Told = list[tuple[list[int], list[float], float]]  # steps, what was predicted after each, label


class Plain:
    """The same, step by step, with lists that grow."""

    def __init__(self, *, bins: bool = True, cap: bool = True) -> None:
        self.bins, self.cap = bins, cap
        self.past: list[list[tuple[float, float]]] = [[] for _ in range(MOST_STEPS)]
        self.cuts: list[list[float]] = [[] for _ in range(MOST_STEPS)]
        self.sums: list[Floats] = [np.zeros((BINS, 2)) for _ in range(MOST_STEPS)]
        self.less = np.zeros((MOST_STEPS, MOST_STEPS))
        self.before = np.zeros((MOST_STEPS, MOST_STEPS))
        self.pairs = np.zeros((MOST_STEPS, MOST_STEPS))

    def bin(self, p: int, guess: float) -> int:
        return sum(cut < guess for cut in self.cuts[p])

    def mean(self, p: int) -> float:
        sums, counts = self.sums[p].sum(axis=0)
        return float(sums / counts) if counts else 0.0

    def expected(self, p: int, guess: float) -> float:
        sums, count = self.sums[p][self.bin(p, guess)]
        return float((sums + PRIOR * self.mean(p)) / (count + PRIOR))

    def learn(self, at: list[int], guesses: list[float], y: float) -> None:
        errors = []
        for p, guess in zip(at, guesses, strict=True):
            error, mean = (y - guess) ** 2, self.mean(p)
            if self.cap and len(self.past[p]) >= FREE and mean > 0.0:
                error = min(error, LARGEST * mean)
            self.sums[p] *= FADE
            self.sums[p][self.bin(p, guess)] += error, 1.0
            self.past[p].append((guess, error))
            many = len(self.past[p])
            if self.bins and many >= FEWEST and math.log2(many).is_integer():
                self.bin_anew(p)
            errors.append(error)
        for i, p in enumerate(at):
            for j in range(i + 1, len(at)):
                q = at[j]
                self.less[p, q] = FADE * self.less[p, q] + errors[i] - errors[j]
                self.before[p, q] = FADE * self.before[p, q] + errors[i]
                self.pairs[p, q] += 1

    def bin_anew(self, p: int) -> None:
        last = self.past[p][-RECENT:]
        ordered = sorted(guess for guess, _ in last)
        self.cuts[p] = sorted({ordered[b * len(last) // BINS] for b in range(1, BINS)})
        self.sums[p] = np.zeros((BINS, 2))
        for guess, error in last:
            self.sums[p][self.bin(p, guess)] += error, 1.0

    def gain(self, p: int, guess: float, to: list[int], price: list[float]) -> float:
        if any(self.pairs[p, q] < FEW_PAIRS for q in to):
            return math.inf
        error = self.expected(p, guess)
        shares = [self.less[p, q] / self.before[p, q] if self.before[p, q] > 0 else 0 for q in to]
        return max(share * error - cost for share, cost in zip(shares, price, strict=True))


def told(n: int, seed: int = 0, odd: bool = True) -> Told:
    """Examples of which some stop early; predictions that come again, labels that are far out."""
    rng = np.random.default_rng(seed)
    found: Told = []
    for t in range(n):
        truth = float(rng.normal())
        at = [0, 2, 5, 6][: int(rng.integers(1, 5))]
        guesses = [round(truth + float(rng.normal()) / (1 + i), 1) for i in range(len(at))]
        y = truth + 0.1 * abs(truth) * float(rng.normal())
        found.append((at, guesses, y * (1e3 if odd and t % 97 == 40 else 1.0)))
    return found


def learnt(examples: Told) -> Steps:
    """By compiled code."""
    steps = compiled.new_steps()
    for at, guesses, y in examples:
        compiled.learn(steps, np.array(at), np.array(guesses), y)
    return steps


def differ(examples: Told, plain: Plain) -> bool:
    """Whether the plain form, having learnt the same, says something else."""
    steps, rng = learnt(examples), np.random.default_rng(1)
    for one in examples:
        plain.learn(*one)
    for p in (0, 2, 5, 6, 31):
        for guess in (-1e9, 1e9, *rng.normal(size=20).round(1).tolist()):
            ours = compiled.expected_error(steps, p, guess)
            if not math.isclose(ours, plain.expected(p, guess), rel_tol=1e-9, abs_tol=1e-300):
                return True
            for to in ([2], [5, 6], [6], [31]):
                price = (0.1 * rng.random(len(to))).tolist()
                gain = compiled.gain_of_going_on(steps, p, guess, np.array(to), np.array(price))
                if not math.isclose(gain, plain.gain(p, guess, to, price), rel_tol=1e-6):
                    return True
    return False


@pytest.mark.parametrize("n", [0, 1, 19, 63, 64, 90, 300, 1100, 2100])
def test_it_is_the_plain_form(n: int) -> None:
    assert not differ(told(n), Plain())


def _no_fade(plain: Plain) -> None:
    learn = plain.learn

    def louder(at: list[int], guesses: list[float], y: float) -> None:
        for p in at:
            plain.sums[p] /= FADE
        learn(at, guesses, y)

    plain.learn = louder  # type: ignore[method-assign]


def _closed_ends(plain: Plain) -> None:
    plain.bin = lambda p, guess: sum(cut <= guess for cut in plain.cuts[p])  # type: ignore[method-assign]


def _no_prior(plain: Plain) -> None:
    def alone(p: int, guess: float) -> float:
        sums, count = plain.sums[p][plain.bin(p, guess)]
        return float(sums / max(count, 1e-9))

    plain.expected = alone  # type: ignore[method-assign]


def _the_nearest_only(plain: Plain) -> None:
    gain = plain.gain
    plain.gain = lambda p, guess, to, price: gain(p, guess, to[:1], price[:1])  # type: ignore[method-assign]


def _one_bin(plain: Plain) -> None:
    plain.bins = False


def _no_cap(plain: Plain) -> None:
    plain.cap = False


@pytest.mark.parametrize(
    "bug", [_no_fade, _closed_ends, _no_prior, _the_nearest_only, _one_bin, _no_cap]
)
def test_a_planted_bug_is_seen(bug: Callable[[Plain], None]) -> None:
    plain = Plain()
    bug(plain)
    assert differ(told(1100), plain)


def test_errors_are_told_apart_by_the_prediction() -> None:
    rng = np.random.default_rng(3)
    steps = compiled.new_steps()
    for _ in range(600):
        guess = float(rng.uniform(-1, 1))
        y = guess + (2.0 if guess > 0.5 else 0.1) * float(rng.normal())
        compiled.learn(steps, np.array([0]), np.array([guess]), y)
    assert compiled.expected_error(steps, 0, 0.9) > 10 * compiled.expected_error(steps, 0, -0.5)
    assert 0 < steps.bins[0] <= BINS - 1
    assert steps.many[0] == 600


def test_all_predictions_alike_are_one_bin() -> None:
    steps = compiled.new_steps()
    for t in range(200):
        compiled.learn(steps, np.array([0, 1]), np.array([1.0, 1.0]), float(t % 2))
    assert steps.bins[0] == 1  # one cut, at this prediction
    assert compiled.expected_error(steps, 0, 1.0) == pytest.approx(0.5, abs=0.02)
    assert compiled.expected_error(steps, 0, 2.0) == pytest.approx(0.5, abs=0.02)


def test_going_on_is_worth_it_until_it_is_known() -> None:
    steps, to, price = compiled.new_steps(), np.array([1]), np.array([1e12])
    for t in range(40):
        gain = compiled.gain_of_going_on(steps, 0, 0.0, to, price)
        assert math.isinf(gain) == (t < FEW_PAIRS)
        assert gain != -math.inf
        compiled.learn(steps, np.array([0, 1]), np.array([1.0, 0.0]), 0.0)
    assert compiled.gain_of_going_on(steps, 0, 1.0, to, np.array([0.25])) == pytest.approx(0.75)


@pytest.mark.parametrize("size", [1e150, 1e-150, 0.0])
def test_numbers_at_the_ends_stay_numbers(size: float) -> None:
    rng, steps = np.random.default_rng(5), compiled.new_steps()
    for t in range(400):
        sign = -1.0 if t % 3 else 1.0
        guesses = size * np.sign(rng.normal(size=4))
        compiled.learn(steps, np.array([0, 1, 2, 31]), guesses, sign * size)
    for array in steps:
        assert np.isfinite(array).all()
    for guess in (-size, size, 0.0, 1e150):
        assert math.isfinite(compiled.expected_error(steps, 0, guess))
        to, price = np.array([1, 31]), np.array([1e300, 0.0])
        assert math.isfinite(compiled.gain_of_going_on(steps, 0, guess, to, price))


def test_only_the_last_are_binned_anew() -> None:
    """What was learnt long ago is not among the last 512 predictions."""
    steps = compiled.new_steps()
    for t in range(1024):
        y = 100.0 if t < 512 else 1.0
        compiled.learn(steps, np.array([3]), np.array([0.0]), y)
    assert compiled.expected_error(steps, 3, 0.0) == pytest.approx(1.0)


def test_nothing_was_learnt_of_no_steps() -> None:
    steps = compiled.new_steps()
    compiled.learn(steps, np.empty(0, dtype=np.int64), np.empty(0), 1.0)
    assert not any(array.any() for array in steps)
    nowhere = np.empty(0, dtype=np.int64)
    assert compiled.gain_of_going_on(steps, 0, 0.0, nowhere, np.empty(0)) == -math.inf


@pytest.mark.parametrize("items", [0, 1, 2, 7, 8, 9, 31, 32, 33, 100, 1000, 10**6])
def test_steps_end_with_the_items(items: int) -> None:
    ends = ends_of_steps(items)
    assert len(ends) <= MOST_STEPS
    assert ends[-1] == items
    assert ends == sorted(set(ends))
    assert items == 0 or ends[0] == 1
    groups = [[j] for j in range(min(items, 500))]
    step = compiled.numbered(groups, np.arange(len(groups) + 2))
    assert step[: len(groups)].tolist() == sorted(step[: len(groups)])
    assert step[len(groups) :].tolist() == [0, 0]  # what is in no group comes first
    assert step.max(initial=0) < MOST_STEPS
