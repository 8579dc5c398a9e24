"""What a learner is told, its record of errors hears too, whoever wrote the learner's `tell`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from keyhole.problem import KeyholeError, Observation, Ticket, finite_label
from keyhole.problem.bought import bought_for

if TYPE_CHECKING:
    from keyhole.learners.base import LearnerBase

Method = Callable[..., Any]


def noting(predict: Method) -> Method:
    """The method, after which the observation says what was predicted from it."""

    @functools.wraps(predict)
    def predicted(self: LearnerBase, seen: Observation) -> Any:
        with self._lock:
            prediction = predict(self, seen)
            if type(prediction) is float and isinstance(seen, Observation):
                object.__setattr__(seen, "prediction", prediction)
            return prediction

    return predicted


def hearing(tell: Method) -> Method:
    """The method, after which the label is in the record of errors; an error changes neither."""

    @functools.wraps(tell)
    def told(self: LearnerBase, seen: Observation, y: float) -> None:
        with self._lock:
            if self._in_block:  # then `advance` hears all of its rounds at once
                tell(self, seen, y)
                return
            heard, prediction = self._residuals.told, _as_issued(self, seen)
            tell(self, seen, y)
            if self._residuals.told == heard and prediction is not None:  # no `tell` within it
                bought = bought_for(seen) if self._residuals.tracking else None
                self._residuals.hear(seen.ticket.round, prediction, finite_label(y), bought)

    return told


def forgetting(drop: Method) -> Method:
    """The method, after which the record of errors has forgotten the ticket."""

    @functools.wraps(drop)
    def dropped(self: LearnerBase, ticket: Ticket) -> None:
        with self._lock:
            drop(self, ticket)
            self._residuals.forget(ticket.round)

    return dropped


WRAPPERS: Mapping[str, Callable[[Method], Method]] = {
    "predict": noting,
    "tell": hearing,
    "drop": forgetting,
}


def _as_issued(learner: LearnerBase, seen: Observation) -> float | None:
    """What was predicted, or else is predicted now.

    None for what `tell` is going to refuse, and for predictions that are no plain number.
    """
    if not isinstance(seen, Observation):
        return None
    prediction = learner._residuals.prediction(seen.ticket.round)
    if prediction is None:
        prediction = seen.prediction
    if prediction is None:
        try:
            prediction = float(learner.predict(seen))
        except (KeyholeError, TypeError, ValueError):
            return None
    return prediction if math.isfinite(prediction) else None
