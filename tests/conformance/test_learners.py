"""Every learner of the registry keeps every promise: all learners', and those of its row."""

import inspect

import pytest

import keyhole as kh
from keyhole.learners.registry import LearnerRow
from keyhole.testing.suite import Check

CASES = [
    pytest.param(row, check, id=f"{name}-{what}")
    for name, row in kh.LEARNERS.items()
    for what, check in kh.testing.learner_checks(**row.promises).items()
]


@pytest.mark.parametrize(("row", "check"), CASES)
def test_learner(row: LearnerRow, check: Check) -> None:
    check(lambda problem: row(problem, seed=3))


def test_promises_are_those_of_the_public_kit() -> None:
    """With the same names and the same defaults, so that a new row says what its author checked."""
    kit = inspect.signature(kh.testing.check_learner).parameters
    rows = inspect.signature(LearnerRow).parameters
    for name in kh.LEARNERS["auto"].promises:
        assert kit[name].default == rows[name].default
    assert kit.keys() == {"factory", *kh.LEARNERS["auto"].promises}


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_it_claims_to_learn_unless_it_is_a_baseline_or_a_printed_one(name: str) -> None:
    row = kh.LEARNERS[name]
    assert (row.learns_by is None) == (row.group == "baseline" or row.preset is not None)


YES_OR_NO = [("auto", check.__name__, check) for check in kh.testing.LEARNER_CHECKS] + [
    ("dual-averaging", check.__name__, check)
    for check in kh.testing.LEARNER_CHECKS
    if check.__name__.startswith(("goes_on", "plays", "takes", "refuses"))
]


@pytest.mark.parametrize(("name", "what", "check"), YES_OR_NO)
def test_yes_or_no(name: str, what: str, check: Check) -> None:
    row = kh.LEARNERS[name]
    check(kh.testing.on_yes_no(lambda problem: kh.YesNoLearner(row(problem, seed=3))))
