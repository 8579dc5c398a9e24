"""Every learner of the registry keeps every promise."""

from collections.abc import Callable

import pytest

import keyhole as kh
from keyhole.testing.learners import LearnerMaker


@pytest.mark.parametrize("check", kh.testing.LEARNER_CHECKS, ids=lambda check: str(check.__name__))
@pytest.mark.parametrize("name", kh.LEARNERS)
def test_learner(name: str, check: Callable[[LearnerMaker], None]) -> None:
    check(lambda problem: kh.LEARNERS[name](problem, seed=3))


@pytest.mark.parametrize("name", [name for name, row in kh.LEARNERS.items() if row.learns_by])
def test_it_learns_an_easy_stream_by_the_round_its_row_says(name: str) -> None:
    row = kh.LEARNERS[name]
    kh.testing.learns_an_easy_stream(lambda p: row(p, seed=3), row.learns_by or 0)


def test_those_that_claim_nothing_are_baselines_and_the_printed_ones() -> None:
    silent = {name for name, row in kh.LEARNERS.items() if row.learns_by is None}
    printed = {"dantzig-printed", "online-greedy-printed"}
    assert silent == {"zero", "mean", "last-value", "fixed", "random"} | printed


@pytest.mark.parametrize("check", kh.testing.LEARNER_CHECKS, ids=lambda check: str(check.__name__))
@pytest.mark.parametrize("name", ["auto", "dual-averaging"])
def test_yes_or_no(name: str, check: Callable[[LearnerMaker], None]) -> None:
    row = kh.LEARNERS[name]
    check(kh.testing.on_yes_no(lambda problem: kh.YesNoLearner(row(problem, seed=3))))
