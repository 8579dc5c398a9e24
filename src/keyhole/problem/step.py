"""Step, what to buy next for one example; and how a ticket that is bought step by step grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.problem.display import few, html_table
from keyhole.problem.ticket import Indices, Observation, Ticket

# In the memo of such a ticket: all features that may be bought in the end, and the step of each.
PLAN, STEP = "plan", "step"
MOST_STEPS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What to buy next for an example, or that enough is known: then it is false.

    Parameters
    ----------
    seen
        What was seen of the example so far.
    ticket
        What is bought by now and in this step together; that of `seen` if enough is known.
    cost
        What this step costs beside what was paid.
    reason
        Why to go on, or why not, in words.

    Examples
    --------
    >>> ticket = Ticket(round=1, features=[2, 5], names=("age", "tsh"))
    >>> seen = Ticket(round=1, features=[5], names=("tsh",)).fill([0.4])
    >>> step = Step(seen, ticket, 1.0, "it is cheap")
    >>> step.names, step.items, step.fill({"age": 61.0}).values
    (('age',), ('age',), array([61. ,  0.4]))
    >>> bool(Step(seen, seen.ticket, 0.0, "enough is known"))
    False
    """

    seen: Observation
    ticket: Ticket
    cost: float
    reason: str

    def __bool__(self) -> bool:
        return len(self.ticket.features) > len(self.seen.ticket.features)

    @property
    def features(self) -> Indices:
        """The features to buy now, ascending."""
        bought: Indices = np.setdiff1d(self.ticket.features, self.seen.ticket.features)
        return bought

    @property
    def names(self) -> tuple[str, ...] | None:
        """Their names, where the problem has names."""
        if self.ticket.names is None:
            return None
        now = set(self.features.tolist())
        pairs = zip(self.ticket.features.tolist(), self.ticket.names, strict=True)
        return tuple(name for j, name in pairs if j in now)

    @property
    def items(self) -> tuple[str, ...]:
        """What to order now."""
        ordered = set(self.seen.ticket.items)
        return tuple(item for item in self.ticket.items if item not in ordered)

    def fill(self, values: ArrayLike | Mapping[str, Any] | Mapping[int, Any]) -> Observation:
        """What was seen before, and what came back for this step: as `Ticket.fill` takes it."""
        new = Ticket(self.ticket.round, self.features, self.names).fill(values)
        seen = self.seen.at(self.ticket.features)
        seen[np.isin(self.ticket.features, new.ticket.features)] = new.values
        return Observation(self.ticket, seen)

    def __repr__(self) -> str:
        if not self:
            return f"<Step of round {self.ticket.round:,}: nothing more, {self.reason}>"
        what = few(list(self.names or [f"feature {j}" for j in self.features.tolist()]))
        return f"<Step of round {self.ticket.round:,}: buy {what}, for {self.cost:,.10g}>"

    def _repr_html_(self) -> str:
        rows = [(item,) for item in self.items]
        title = f"Buy next, for {self.cost:,.10g}: {self.reason}" if self else self.reason
        return html_table(title, rows, ("item",))


def first_step(plan: Indices, step: Indices) -> Indices:
    """What is bought first."""
    return plan[step == step.min()] if len(step) else plan


def made_by(ticket: Ticket, memo: Mapping[str, Any]) -> int | None:
    """The last step that a copy of a growing ticket has made; None if it did not grow so."""
    plan, step = memo[PLAN], memo[STEP]
    last = _last_step(ticket, plan, step)
    return last if last >= 0 and np.array_equal(plan[step <= last], ticket.features) else None


def _last_step(ticket: Ticket, plan: Indices, step: Indices) -> int:
    """The largest step of what a ticket has, as far as that is in the plan; -1 of nothing."""
    if not len(plan):
        return -1
    places = np.minimum(np.searchsorted(plan, ticket.features), len(plan) - 1)
    return int(step[places].max(initial=-1))


def grown_from(ticket: Ticket, grown: Ticket) -> bool:
    """Whether a ticket is another one as it is now, or as it was some steps before."""
    if ticket.says_the_same(grown):
        return True
    if PLAN not in grown.memo or not np.isin(ticket.features, grown.features).all():
        return False
    same = Ticket(ticket.round, grown.features, memo=ticket.memo).says_the_same(grown)
    return same and made_by(ticket, grown.memo) is not None


def steps_made(ticket: Ticket) -> Indices:
    """The steps that a ticket which was bought step by step has made, ascending; none of others."""
    if PLAN not in ticket.memo:
        return np.empty(0, dtype=np.int64)
    step = ticket.memo[STEP]
    made: Indices = np.unique(step[step <= _last_step(ticket, ticket.memo[PLAN], step)])
    return made


def next_features(ticket: Ticket) -> Indices | None:
    """What a ticket has bought with its next step; None if there is none."""
    if PLAN not in ticket.memo:
        return None
    plan, step = ticket.memo[PLAN], ticket.memo[STEP]
    later = step[step > _last_step(ticket, plan, step)]
    if not len(later):
        return None
    grown: Indices = plan[step <= later.min()]
    return grown


def early_view(seen: Observation) -> Observation | None:
    """What was seen when the ticket could still grow; None of one that never could.

    If it cannot any more, what was seen after one of its earlier steps: which, goes by the round.
    """
    ticket = seen.ticket
    if next_features(ticket) is not None:
        return seen
    made = steps_made(ticket)
    if len(made) < 2:
        return None
    last = made[ticket.round % (len(made) - 1)]
    features = ticket.memo[PLAN][ticket.memo[STEP] <= last]
    return Observation(Ticket(ticket.round, features, memo=ticket.memo), seen.at(features))
