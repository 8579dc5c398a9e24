"""Every learner of the registry keeps every promise."""

from collections.abc import Callable

import pytest

import keyhole as kh
from keyhole.testing.learners import LearnerMaker


@pytest.mark.parametrize("check", kh.testing.LEARNER_CHECKS, ids=lambda check: str(check.__name__))
@pytest.mark.parametrize("name", kh.LEARNERS)
def test_learner(name: str, check: Callable[[LearnerMaker], None]) -> None:
    check(lambda problem: kh.LEARNERS[name](problem, seed=3))
