"""MoneyCurve: what so much money per example explains, where features have prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyhole.analysis.advice.choosing import amount, with_room
from keyhole.analysis.advice.curve import NAMED, BudgetCurve
from keyhole.analysis.advice.recommend import enough, percent
from keyhole.learners.blocks.auto.buy import ASIDE
from keyhole.problem import Floats
from keyhole.problem.prices import Prices

NOTHING = -1  # in place of a limit


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MoneyCurve(BudgetCurve):
    """What models explain that cost at most so much per example; print it.

    Everything is as in `BudgetCurve`, for each of `limits` instead of for each number of features.
    Free features are in all of them, if they help.

    Attributes
    ----------
    limits
        Money per example, ascending.
    k
        How many features the model of each limit has, of all rows.
    nothing_error
        The standard error of the difference of the best to explaining nothing.
    prices
        What features cost.

    Examples
    --------
    >>> import keyhole as kh
    >>> patients, _ = kh.streams.clinic(2000)
    >>> shop = kh.Problem(42, 4, 30, patients.names, prices=kh.streams.clinic_prices())
    >>> curve = kh.budget_curve(patients, prices=shop)
    >>> print(curve.recommendation)
    24 explains 71% ± 1%; 65 would explain 73% ± 2%; below 16 it falls quickly (14: 57% ± 2%).
    >>> curve.budget, curve.sparsity, curve.names[curve.features[curve.place][0]]
    (28.0, 7, 'crp_mg_l')
    """

    limits: Floats
    nothing_error: float
    prices: Prices

    @property
    def place(self) -> int:
        """Where the recommendation is in `limits`; -1 if nothing is seen to explain anything."""
        explained = np.concatenate([[0.0], self.explained])
        return enough(explained, np.concatenate([[self.nothing_error], self.behind_error])) - 1

    @property
    def limit(self) -> float:
        """The recommended cost of a model: the least within one error, or 3%, of the best."""
        return 0.0 if self.place == NOTHING else float(self.limits[self.place])

    @property
    def costs(self) -> Floats:
        """What the model of each limit costs."""
        return np.array([self.prices.cost(chosen) for chosen in self.features])

    @property
    def best(self) -> int:
        """Where in `limits` most is explained."""
        return int(self.explained.argmax())

    @property
    def knee(self) -> int:
        """Where in `limits` the curve bends most, up to the recommendation."""
        last = self.place
        if last <= 0 or self.limits[last] <= self.limits[0]:
            return 0
        x, y = self.limits[: last + 1], self.explained[: last + 1]
        rise = (y - y[0]) / max(y[-1] - y[0], 1e-300) - (x - x[0]) / (x[-1] - x[0])
        return int(rise.argmax())

    @property
    def sparsity(self) -> int:
        """How many features the recommended model has; 0 if nothing is explained."""
        return 0 if self.place == NOTHING else int(self.k[self.place])

    @property
    def budget(self) -> float:
        """The recommended money per example, of which AutoLearner keeps `limit` beside exploring.

        A round amount; 0 if nothing is explained, or what is free does.
        """
        return with_room(self.prices, self.prices.limit(self.limit), ASIDE)

    @property
    def full_cost(self) -> float:
        """What reading everything of one example costs."""
        return self.prices.cost(range(len(self.names)))

    def at(self, budget: float) -> int:
        """The last place in `limits` that a budget pays for; -1 if it is less than the first."""
        return int(np.searchsorted(self.limits, budget * (1.0 + 1e-12), side="right")) - 1

    @property
    def recommendation(self) -> str:
        """What to do, in words."""
        i, best, bend = self.place, self.best, self.knee
        if i == NOTHING:
            return (
                f"No amount up to {amount(self.limits[-1])} is seen to explain anything of the "
                "label, within the error: buy nothing, look at more rows, or ask whether the "
                "relation is linear."
            )
        free = self.limits[i] == 0.0
        told = f"{'What is free' if free else amount(self.limit)} explains {self._share(i)}"
        if best != i:
            told += f"; {amount(self.limits[best])} would explain {self._share(best)}"
        elif i < len(self.limits) - 1:
            told += "; more would not explain more"
        if 0 < bend <= i:
            less = f"{amount(self.limits[bend - 1])}: {self._share(bend - 1)}"
            told += f"; below {amount(self.limits[bend])} it falls quickly ({less})"
        return f"{told}."

    def _share(self, i: int) -> str:
        return percent(self.explained[i], self.error[i])

    def as_json(self) -> dict[str, object]:
        """Everything as plain words, numbers and lists: what JSON can hold."""
        return {
            **BudgetCurve.as_json(self),
            "limits": self.limits.tolist(),
            "costs": self.costs.tolist(),
            "limit": self.limit,
            "full_cost": self.full_cost,
            "nothing_error": self.nothing_error,
        }

    def __str__(self) -> str:
        lines = [*self._head(), "", *self._table(), "", self.recommendation]
        i = self.place
        if i != NOTHING and self.k[i] > NAMED:
            chosen = ", ".join(self.names[j] for j in self.features[i])
            lines.append(f"The {self.k[i]} features, most useful first: {chosen}.")
        if i != NOTHING:
            many = amount(self.limit) if self.prices.counts else str(self.sparsity)
            lines.append(
                f"Recommended: budget {amount(self.budget)} of {amount(self.full_cost)} for "
                f"everything, sparsity {many} (a learner spends "
                f"{amount(self.budget)} per example to find and keep what costs "
                f"{amount(self.limit)})."
            )
        return "\n".join(lines)

    def _table(self) -> list[str]:
        told = [
            (
                "items" if self.prices.counts else "money",
                "explained",
                "in sample",
                "features",
                "  which",
            )
        ]
        for i in range(len(self.limits)):
            mark = "*" if i == self.place else ""
            told.append(
                (
                    f"{amount(self.limits[i])}{mark:1}",
                    self._share(i),
                    f"{self.in_sample[i]:.1%}",
                    str(self.k[i]),
                    f"  {self._chosen(i)}",
                )
            )
        widths = [max(len(row[i]) for row in told) for i in range(4)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)) + row[4]
            for row in told
        ]
        return [line.rstrip() for line in lines]
