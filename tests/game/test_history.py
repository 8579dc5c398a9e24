"""kh.play(history=...): studied before the first round, and not in the books."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.saving.api import to_bytes
from keyhole.streams import ArrayStream

PROBLEM = kh.Problem(d=8, k=2, budget=4)


def stream(n: int, seed: int) -> ArrayStream:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    return ArrayStream(X, 3.0 + X[:, 0] - X[:, 4] + 0.1 * rng.standard_normal(n))


def test_it_is_study_and_then_play() -> None:
    one, other = (kh.AutoLearner(PROBLEM, seed=1) for _ in range(2))
    other.study(stream(50, 0))
    whole = kh.play(one, stream(40, 1), history=stream(50, 0))
    played = kh.play(other, stream(40, 1))
    assert (whole.rounds, whole.loss) == (40, played.loss)
    assert (whole.reads == played.reads).all()
    assert whole.most_reads == 4
    assert one.round == 40
    assert to_bytes(one) == to_bytes(other)


class Plain:
    """A learner that has no `study`: what the protocol asks for and no more."""

    def __init__(self) -> None:
        self._mean = kh.RunningMean(PROBLEM)
        self.problem = PROBLEM
        self.ask, self.predict = self._mean.ask, self._mean.predict
        self.tell, self.drop = self._mean.tell, self._mean.drop

    @property
    def round(self) -> int:
        return self._mean.round

    weights, intercept = np.zeros(8), 0.0


def test_who_has_no_study_is_refused_before_anything_is_played() -> None:
    learner: Any = Plain()
    with pytest.raises(kh.ProblemError, match=r"Plain has no `study`.* such as kh.AutoLearner"):
        kh.play(learner, stream(40, 1), history=stream(50, 0))
    assert learner.round == 0
    assert kh.play(learner, stream(40, 1)).rounds == 40


def test_who_refuses_to_study_is_not_played() -> None:
    learner = kh.DualAveragingLearner(PROBLEM, seed=0)
    with pytest.raises(kh.ProblemError, match="DualAveragingLearner cannot study"):
        kh.play(learner, stream(40, 1), history=stream(50, 0))
    assert learner.round == 0


def test_a_history_of_other_features_is_refused() -> None:
    other = ArrayStream(np.ones((3, 7)), np.ones(3))
    with pytest.raises(kh.ProblemError, match="8 features, the history 7"):
        kh.play(kh.AutoLearner(PROBLEM), stream(40, 1), history=other)
    with pytest.raises(kh.ProblemError, match="history must be a stream"):
        kh.play(kh.AutoLearner(PROBLEM), stream(40, 1), history=[1, 2])  # type: ignore[arg-type]
