"""Every check of the store suite catches a store that breaks its promise: named twins."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keyhole as kh
from keyhole.testing import stores


class ForgetsKeys(kh.Store):
    """Does every request, whatever its key."""

    def ask(self, *given: Any, key: Any = None, **named: Any) -> Any:
        return super().ask(*given, **named)


class LosesLabels(kh.Store):
    """Says that a label was told, and has told another."""

    def tell(self, ticket: str, y: float, **named: Any) -> Any:
        return super().tell(ticket, math.trunc(y), **named)


class PredictsAnew(kh.Store):
    """Answers with what the learner predicts now, not with what was served."""

    def fill(self, ticket: str, values: Any, **named: Any) -> Any:
        from dataclasses import replace

        filled = super().fill(ticket, values, **named)
        learner = self.learner(filled.learner)
        return replace(filled, prediction=learner.predict(filled.ticket.fill(values)))


class TakesTheFirst(kh.Store):
    """A label that contradicts is passed over in silence."""

    def tell(self, ticket: str, y: float, **named: Any) -> Any:
        known = self.ticket(ticket)
        return known if known.state == "told" else super().tell(ticket, y, **named)


class TakesTheGoodRows(kh.Store):
    """Of many labels takes those it can."""

    def tell_many(self, name: str, labels: Any, **named: Any) -> Any:
        import contextlib

        for id, y in labels.items():
            with contextlib.suppress(kh.ConflictError):
                self.tell(id, y)
        return super().tell_many(name, labels, **named)


class NeverLooksAgain(kh.Store):
    """Does not see what others have written since it woke the learner."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        plain, kept = self._writer._up_to_date, dict[int, Any]()

        def level(connection: Any, row: Any) -> Any:
            if row.id not in kept:
                kept[row.id] = plain(connection, row)
            return kept[row.id]

        self._writer._up_to_date = level  # type: ignore[method-assign]


class DropsInSilence(kh.Store):
    """Says that a ticket was dropped, and leaves it open."""

    def drop(self, ticket: str, **named: Any) -> Any:
        return self.ticket(ticket)


class StartsEachPageAnew(kh.Store):
    """Does not go on after a ticket, but ends at once."""

    def tickets(self, *given: Any, after: Any = None, **named: Any) -> Any:
        return [] if after is not None else super().tickets(*given, **named)


class ImportsAnything(kh.Store):
    """Takes a file in without looking at it."""

    def import_(self, path: Any, name: str | None = None) -> Any:
        return self.learners()[0]


@pytest.mark.parametrize(
    ("check", "twin"),
    [
        (stores.plays_as_in_memory, LosesLabels),
        (stores.keeps_the_served_prediction, PredictsAnew),
        (stores.answers_a_key_once, ForgetsKeys),
        (stores.refuses_contradictions, TakesTheFirst),
        (stores.takes_all_or_nothing, TakesTheGoodRows),
        (stores.takes_turns, NeverLooksAgain),
        (stores.serves_many_threads, DropsInSilence),
        (stores.finds_tickets, StartsEachPageAnew),
        (stores.moves_learners, ImportsAnything),
    ],
    ids=lambda thing: thing.__name__,
)
def test_the_twin_is_caught(check: Callable[..., None], twin: type[kh.Store], folder: Path) -> None:
    with pytest.raises((AssertionError, kh.KeyholeError)):
        check(lambda: twin(folder / "keyhole.db"))


def test_every_check_has_a_twin() -> None:
    [marks] = vars(test_the_twin_is_caught)["pytestmark"]
    assert {check for check, _ in marks.args[1]} == set(stores.STORE_CHECKS)
