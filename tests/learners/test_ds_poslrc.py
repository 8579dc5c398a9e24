"""DS-POSLRC: what it reads, its program, and that it learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.dantzig.solve import solve
from keyhole.learners.blocks.draw.mixed_sampling import mixed_scheme
from keyhole.learners.blocks.draw.sorting import top_k
from keyhole.learners.weighted_dantzig import WeightedSums
from tests.helpers.rounds import easy, share_of_the_mean

PROBLEM = kh.Problem(d=20, k=2, budget=6)


def stream(n: int) -> kh.Stream:
    return easy(n).stream


class LearnsNothing(kh.DSPOSLRCLearner):
    """Broken twin: plays and explores, and never solves."""

    def _before_round(self, t: int) -> None:
        self._next = t + 1000


def beats_the_mean(learner: kh.Learner, n: int = 1024) -> bool:
    """Less than a tenth of the loss of the running mean; the noise alone costs a fiftieth."""
    return share_of_the_mean(learner, n) < 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("weighting", ["ratio", "exact"])
def test_it_beats_the_running_mean(seed: int, weighting: str) -> None:
    assert beats_the_mean(kh.DSPOSLRCLearner(PROBLEM, seed=seed, weighting=weighting))


def test_without_a_program_or_with_the_printed_constant_it_does_not() -> None:
    assert not beats_the_mean(LearnsNothing(PROBLEM))
    printed = kh.DSPOSLRCLearner(PROBLEM, threshold_scale=1.0, noise_sd=0.1)
    assert not beats_the_mean(printed)
    assert not printed.weights.any()  # 1,024 rounds of w = 0


def test_two_features_to_explore_with_or_none_left_out_will_do() -> None:
    for budget, n in ((4, 4096), (20, 1024)):
        assert beats_the_mean(kh.DSPOSLRCLearner(kh.Problem(20, 2, budget), seed=0), n)


def test_a_plain_transcription_plays_the_same() -> None:
    """Rounds, probabilities, moments, program and truncation once more, in NumPy."""
    learner = kh.DSPOSLRCLearner(
        PROBLEM, seed=5, weighting="exact", noise_sd=0.1, threshold_scale=0.02, growth=1.5
    )
    w, next_solve, changes = np.zeros(20), 2, 0
    G, b, spreads = np.zeros((20, 20)), np.zeros(20), np.zeros(2)
    for t, (x, y) in enumerate(stream(400), start=1):
        if t == next_solve:
            next_solve = max(t + 1, int(np.ceil(1.5 * t)))
            n = t - 1
            r, g = spreads / n
            L = np.log(20 / 0.05)
            gamma = (8 / 3 + 0.2) * g / n * L + (6.9 + 0.12) * np.sqrt(r * L / n)
            gamma += 2 * np.sqrt(3 * g * L / n)
            answer = solve(G / n, b / n, 0.02 * gamma)
            assert answer.status == "optimal"
            changes += not np.array_equal(answer.w, w)
            w = answer.w
        S = top_k(w, 2)
        scheme = mixed_scheme(w, S, 6 - len(S))
        read = scheme.read(5, t)
        ticket = learner.ask()
        assert ticket.features.tolist() == read.tolist()
        seen = ticket.fill(x[read])
        assert learner.predict(seen) == pytest.approx(float(w[S] @ x[S]), rel=1e-6, abs=1e-9)
        learner.tell(seen, y)
        P = scheme.pair(read[:, None], read)
        G[np.ix_(read, read)] += np.outer(x[read], x[read]) / P
        b[read] += x[read] * y / np.diag(P)
        spreads += scheme.spread
    assert changes > 5
    assert learner.diagnostics.solves >= changes


def test_the_whole_budget_is_read_and_the_support_is_part_of_it() -> None:
    learner = kh.DSPOSLRCLearner(PROBLEM, seed=1)
    for x, y in stream(300):
        ticket = learner.ask()
        assert len(ticket.features) == 6
        assert set(np.flatnonzero(learner.weights)) <= set(ticket.features.tolist())
        assert np.count_nonzero(learner.weights) <= 2
        learner.tell(ticket.fill(x[ticket.features]), y)


def test_a_late_label_counts_with_the_probabilities_of_its_own_round() -> None:
    ours, late = (kh.DSPOSLRCLearner(PROBLEM, seed=1, growth=1e9) for _ in range(2))
    waiting = []
    for x, y in stream(50):
        seen = ours.ask().fill(x[ours._desk.open[-1].features])
        ours.tell(seen, y)
        ticket = late.ask()
        waiting.append((ticket.fill(x[ticket.features]), y))
        if len(waiting) == 1:
            late.tell(*waiting.pop())  # the program of round 2 needs a row
    late._fit.w[:] = np.arange(20.0)  # another model, another scheme in play
    late._derive()
    for seen, y in waiting:
        late.tell(seen, y)
    for name in WeightedSums.SAVED:
        mine, its = (getattr(each._fit.sums, name) for each in (ours, late))
        np.testing.assert_allclose(mine, its, rtol=1e-12, atol=1e-12)


def test_units_do_not_matter_without_a_noise_level() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 12))
    y = X[:, 3] - 0.5 * X[:, 7] + 0.1 * rng.standard_normal(2000)
    units = 2.0 ** rng.integers(-20, 20, 12)
    problem = kh.Problem(12, 2, 6)
    plain, other = (kh.DSPOSLRCLearner(problem, seed=0) for _ in range(2))
    ours, theirs = plain.advance(X, y), other.advance(X * units, 1024.0 * y) / 1024.0
    assert np.flatnonzero(plain.weights).tolist() == [3, 7]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    printed = kh.DSPOSLRCLearner(problem, seed=0, noise_sd=0.1)  # the twin: units matter
    assert not np.allclose(ours, printed.advance(X * units, 1024.0 * y) / 1024.0, atol=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 3}, "budget must be at least k \\+ 2 = 4, or d = 20, got 3"),
        ({"budget": 2}, "budget must be at least k \\+ 2 = 4, or d = 20, got 2"),
        ({"threshold_scale": -1.0}, "threshold_scale must be at least 0"),
        ({"noise_sd": -1.0}, "noise_sd must be at least 0"),
        ({"failure_probability": 0.0}, "failure_probability must lie between 0 and 1"),
        ({"weighting": "exakt"}, "did you mean 'exact'"),
        ({"growth": 0.5}, "growth must be at least 1"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], message: str) -> None:
    problem = kh.Problem(20, 2, given.pop("budget", 6))
    with pytest.raises(kh.ProblemError, match=message):
        kh.DSPOSLRCLearner(problem, **given)
