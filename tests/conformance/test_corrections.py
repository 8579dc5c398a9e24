"""Every learner corrects what it was told, or refuses by name and stays as it was."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.saving.api import from_bytes, to_bytes

D = 6
NAMES = [*kh.LEARNERS, "yes or no"]


def made(name: str) -> kh.Learner:
    row = kh.LEARNERS["auto" if name == "yes or no" else name]
    learner = row(kh.Problem(D, 2, D), seed=3)
    return kh.YesNoLearner(learner) if name == "yes or no" else learner


def played(learner: kh.Learner, rounds: int = 40) -> list[kh.Ticket]:
    rng, tickets = np.random.default_rng(2), list[kh.Ticket]()
    for _ in range(rounds):
        tickets.append(learner.ask())
        learner.tell(tickets[-1].fill(rng.standard_normal(len(tickets[-1].features))), 1.0)
    return tickets


@pytest.mark.parametrize("name", NAMES)
def test_it_corrects_or_refuses_by_name(name: str) -> None:
    learner = made(name)
    ticket = played(learner)[20]
    correct: Callable[..., None] = learner.correct  # type: ignore[attr-defined]
    before = to_bytes(learner)
    if getattr(learner, "CORRECTS", False):
        correct(ticket, y=0.0, values={int(ticket.features[0]): 3.0})
        assert to_bytes(learner) != before
        changed = to_bytes(learner)
        correct(ticket, y=0.0, values={int(ticket.features[0]): 3.0})
        assert to_bytes(learner) == changed
        assert to_bytes(from_bytes(changed)) == changed
    else:
        with pytest.raises(kh.StateError, match=f"{type(learner).__name__} cannot correct .* auto"):
            correct(ticket, y=0.0)
        assert to_bytes(learner) == before
    played(learner, 8)


def test_who_says_it_corrects_does() -> None:
    for row in kh.LEARNERS.values():
        cls: type[Any] = row.cls
        assert (cls._correct is not LearnerBase._correct) == cls.CORRECTS
