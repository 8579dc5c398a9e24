"""Intervals of examples that stopped and of those that went on hold apart; one record would not."""

from __future__ import annotations

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats, Ticket
from keyhole.problem.step import next_features

PROBLEM = kh.Problem(d=3, k=2, budget=5, prices=[1, 4, 4])
ROUNDS, FROM = 800, 450  # nothing stops in the first 300
MARGIN = 0.018


class OneRecord(kh.AutoLearner):
    """Judges all examples by the errors of all."""

    def _note_stopped(self, ticket: Ticket) -> None:
        pass


def rows(seed: int) -> tuple[Floats, Floats]:
    """Where the first feature is low the second hardly matters, and labels have little noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROUNDS, 3))
    size = np.where(X[:, 0] < 0.3, 0.1, 1.0)
    return X, 4.0 * X[:, 0] + size * (2.0 * X[:, 1] + rng.standard_normal(ROUNDS))


def covered(kind: type[kh.AutoLearner], seeds: range) -> dict[bool, tuple[float, int]]:
    """The share of labels within their 90 % intervals, by whether the example stopped; how many."""
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for seed in seeds:
        learner = kind(PROBLEM, seed=seed, worth=4.0)
        learner.track_coverage(0.9)
        for t, (x, y) in enumerate(zip(*rows(seed), strict=True)):
            seen = (ticket := learner.ask(steps=True)).fill(x[ticket.features])
            while step := learner.next(seen):
                seen = step.fill(x[step.features])
            interval = learner.interval(seen)
            if t >= FROM:
                hits[next_features(seen.ticket) is not None].append(float(y) in interval)
            learner.tell(seen, float(y))
    return {stopped: (float(np.mean(hit)), len(hit)) for stopped, hit in hits.items()}


def test_both_kinds_of_examples_are_covered() -> None:
    """In 16 games: over 2,000 examples of each kind, so a deviation of 0.3 / sqrt(2,000) = 0.007.

    Misses are followed by wider intervals, which makes it less. 2.5 deviations are allowed.
    """
    for stopped, (share, many) in covered(kh.AutoLearner, range(16)).items():
        assert many > 2000
        assert abs(share - 0.9) < MARGIN, f"stopped {stopped}: {share:.3f} of {many:,}"


@pytest.mark.parametrize("stopped", [True, False])
def test_one_record_for_all_fails_both(stopped: bool) -> None:
    """Of examples that stopped more are covered, of the others fewer: by twice the margin."""
    share, many = covered(OneRecord, range(3))[stopped]
    assert many > 300
    off = share - 0.9
    assert (off if stopped else -off) > 2 * MARGIN
