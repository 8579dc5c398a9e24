"""Budget curves: what so many features, or so much money, explain, and what to choose."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.auto.engine import ASIDE
from keyhole.learners.blocks.auto.parts import USUAL
from keyhole.problem import Floats, Indices, Problem
from keyhole.problem.display import aligned, money_text
from keyhole.problem.prices import Prices

CLOSE_TO_BEST = 0.03  # of what the best explains: less than this is not worth more features
LEAST_BUDGET = 6  # of fewer reads one is a large part, and exploring takes one


def round_up(units: int) -> int:
    """The next number of at most two digits and noughts.

    >>> round_up(7), round_up(23), round_up(231), round_up(9950)
    (7, 23, 240, 10000)
    """
    step = int("1" + "0" * max(len(str(units)) - 2, 0))
    return -(-units // step) * step


def budget_for(prices: Prices, units: int, aside: int) -> float:
    """Money of which `units` are left when one part in `aside` is put aside, as a round amount."""
    whole = prices.count(range(len(prices.needs)))
    wanted = round_up(math.ceil(units * aside / (aside - 1)))
    return prices.money(min(wanted, whole))


def smallest_enough(explained: Floats, behind_error: Floats) -> int:
    """The recommended sparsity: the smallest k that is as good as the best, or nearly.

    Nearly: within one standard error of its difference to the best (a paired one: both are tested
    on the same rows), or within 3% of what the best explains. With many rows the error alone would
    have features bought for the last tenth of a percent; with few rows the share alone would have
    them bought for noise. 0 if the best is within two errors of explaining nothing.

    >>> smallest_enough(np.array([0.0, 0.5, 0.69, 0.70, 0.698]), np.full(5, 0.002))
    2
    >>> smallest_enough(np.array([0.0, 0.01, 0.02]), np.array([0.03, 0.01, 0.0]))
    0
    """
    best = explained.max()
    if best <= 2.0 * behind_error[0]:
        return 0
    slack = np.maximum(behind_error, CLOSE_TO_BEST * best)
    return int(np.flatnonzero(explained >= best - slack)[0])


def knee(explained: Floats, k: int) -> int:
    """Where the curve up to k bends most: the size that is highest above the line from 0 to k.

    >>> knee(np.array([0.0, 0.5, 0.6, 0.62, 0.64]), 4)
    1
    """
    if k == 0:
        return 0
    rise = explained[: k + 1] / explained[k] - np.arange(k + 1) / k
    return int(rise.argmax())


def reads_for(k: int, d: int, least: int = LEAST_BUDGET) -> int:
    """The recommended budget for models of k features: the least of which AutoLearner keeps k.

    It explores too, and its safety net reads: of a budget of 8 it keeps 7, of 21 it keeps 17. And
    at least 6: below that one read to explore with is a large part of all. Where history has shown
    which features matter, less will do (`least`).

    >>> reads_for(2, d=100), reads_for(5, d=100), reads_for(17, d=100), reads_for(17, d=18)
    (6, 6, 21, 18)
    >>> reads_for(1, d=4), reads_for(0, d=100)
    (4, 0)
    >>> reads_for(2, d=5), reads_for(2, d=5, least=1)
    (5, 3)
    """
    if k == 0:
        return 0
    return next(b for b in range(min(max(k, least), d), d + 1) if kept(b, d) >= k)


def kept(budget: int, d: int) -> int:
    """How many features AutoLearner keeps of a budget while its net reads and an eighth explores.

    >>> kept(8, d=100), kept(8, d=8)
    (7, 8)
    """
    sizes = USUAL.sizes(Problem(d, 1, budget))
    return d if budget == d else max(1, budget - sizes.net - max(1, budget // ASIDE))


def features(k: float) -> str:
    """So many features.

    >>> features(1), features(8)
    ('1 feature', '8 features')
    """
    return f"{k} feature{'' if k == 1 else 's'}"


def percent(share: float, error: float) -> str:
    """A share and its error, with as many digits as count.

    >>> percent(0.7123, 0.0123), percent(0.7123, 0.0012), percent(0.3, 0.0)
    ('71% ± 1%', '71.2% ± 0.1%', '30.0% ± 0.0%')
    """
    places = 0 if error >= 0.005 else 1
    return f"{share:.{places}%} ± {error:.{places}%}"


# Sizes in the table, and every eighth later.
SIZES_SHOWN = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
NAMES_PER_LINE = 6  # names in a line of it


@dataclass(frozen=True, slots=True, eq=False)
class BudgetCurve:
    """What models of k = 0, 1, 2, ... features explain of the label; print it.

    A model of k features reads k features of an example. A learner reads more than its model uses,
    because it has to find out which: that is what `budget` is, beside `sparsity`.

    Attributes
    ----------
    k
        The numbers of features: 0, 1, ..., most.
    explained
        The share of the label's variance that the best k features found explain on rows that they
        were not fitted on: 1 - loss / loss of the mean label. 0 at k = 0; below 0 is worse than the
        mean.
    error
        Its standard error.
    in_sample
        The same share on the rows that the models were fitted on: too good, for comparison.
    behind_error
        The standard error of the difference to the best k; smaller than `error` says, because both
        were tested on the same rows.
    features
        For each k, the features that were chosen on all rows, the most useful ones first.
    names
        What all features are called.
    rows, passed
        How many rows were looked at, completely, and how many there were; more of them with
        `scout` only.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.realizable(d=20, k=3, n=2000, noise_sd=0.5, seed=0)
    >>> curve = kh.budget_curve(stream)
    >>> curve.sparsity, curve.budget
    (3, 6)
    """

    k: Indices
    explained: Floats
    error: Floats
    in_sample: Floats
    behind_error: Floats
    features: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    rows: int
    passed: int

    @property
    def best(self) -> int:
        """The k that explains most; with prices, where in `limits` that is."""
        return int(self.explained.argmax())

    @property
    def knee(self) -> int:
        """Where the curve bends most: below it, every feature less costs much."""
        return knee(self.explained, self.sparsity)

    @property
    def sparsity(self) -> int:
        """The recommended k: the smallest within one standard error, or 3%, of the best.

        0 if the best is within two errors of explaining nothing.
        """
        return smallest_enough(self.explained, self.behind_error)

    @property
    def budget(self) -> float:
        """The recommended number of features to read per example, exploration included.

        0 if no number of features is seen to explain anything.
        """
        return reads_for(self.sparsity, len(self.names))

    @property
    def budget_after_history(self) -> float:
        """The same for a learner that has studied such rows (`learner.study`): it need not search.

        It keeps `sparsity` features of it, and one read at least explores.
        """
        return reads_for(self.sparsity, len(self.names), least=1)

    @property
    def reads(self) -> float:
        """What the curve itself cost: values looked at per row that passed, in the mean."""
        return self.rows / self.passed * len(self.names) if self.passed else 0.0

    @property
    def recommendation(self) -> str:
        """What to do, in words."""
        most, best, k, bend = len(self.k) - 1, self.best, self.sparsity, self.knee
        if k == 0:
            return (
                f"No number of features up to {most} is seen to explain anything of the label, "
                "within the error: buy nothing, look at more rows, or ask whether the relation is "
                "linear."
            )
        told = f"{features(k)} {'explains' if k == 1 else 'explain'} {self._share(k)}"
        if best != k:
            told += f"; {best} would explain {self._share(best)}"
        if best == most < len(self.names):
            told += f", and more than {most} were not tried"
        elif best == k < most:
            told += "; more would not explain more"
        if 1 < bend <= k:
            told += f"; below {bend} it falls quickly ({bend - 1}: {self._share(bend - 1)})"
        return f"{told}."

    def as_json(self) -> dict[str, object]:
        """Everything as plain words, numbers and lists: what JSON can hold."""
        named = [[self.names[j] for j in chosen] for chosen in self.features]
        return {
            "k": self.k.tolist(),
            "explained": self.explained.tolist(),
            "error": self.error.tolist(),
            "in_sample": self.in_sample.tolist(),
            "behind_error": self.behind_error.tolist(),
            "features": named,
            "rows": self.rows,
            "rows_passed": self.passed,
            "reads_per_example": self.reads,
            "best": self.best,
            "knee": self.knee,
            "sparsity": self.sparsity,
            "budget": self.budget,
            "budget_after_history": self.budget_after_history,
            "recommendation": self.recommendation,
        }

    def __str__(self) -> str:
        k = self.sparsity
        lines = [*self._head(), "", *self._table(), "", self.recommendation]
        if k > NAMES_PER_LINE:
            chosen = ", ".join(self.names[j] for j in self.features[k])
            lines.append(f"The {k} features, most useful first: {chosen}.")
        if k:
            lines.append(
                f"Recommended: sparsity {k}, budget {self.budget} (a learner reads "
                f"{features(self.budget)} per example to find and keep the best {k})."
            )
        if k and self.budget_after_history < self.budget:
            lines.append(
                f"After these rows as history: budget {self.budget_after_history}, for the learner "
                "then knows which features to keep."
            )
        return "\n".join(lines)

    def _head(self) -> list[str]:
        looked = f"all {len(self.names)} features of {self.rows:,} rows"
        if self.rows == self.passed:
            return [f"Looked at: {looked}."]
        return [
            f"Looked at: {looked} of {self.passed:,}, "
            f"{self.reads:.3g} values per example in the mean."
        ]

    def _table(self) -> list[str]:
        told = [["features", "explained", "in sample", "  which"]]
        for k in shown(len(self.k) - 1, (self.sparsity, self.best, self.knee)):
            mark = "*" if k and k == self.sparsity else ""
            told.append([f"{k}{mark:1}", *self._shares(k), f"  {self._chosen(k)}"])
        return aligned(told)

    def _share(self, i: int) -> str:
        return percent(self.explained[i], self.error[i])

    def _shares(self, i: int) -> list[str]:
        return [self._share(i), f"{self.in_sample[i]:.1%}"]

    def _chosen(self, k: int) -> str:
        chosen = [self.names[j] for j in self.features[k]]
        more = f" and {len(chosen) - NAMES_PER_LINE} more" if len(chosen) > NAMES_PER_LINE else ""
        return ", ".join(chosen[:NAMES_PER_LINE]) + more


def shown(most: int, marked: Iterable[int]) -> list[int]:
    """The sizes that a table shows.

    >>> shown(9, (7, 0))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    usual = [k for k in SIZES_SHOWN if k < most] + list(range(32, most, 8))
    return sorted({*usual, most, *marked})


def by_use(chosen: Indices, weights: Floats, spread: Floats) -> tuple[int, ...]:
    """Features of a model, the largest effect of one standard deviation first."""
    effect = np.abs(weights[chosen]) * spread[chosen]
    return tuple(chosen[np.argsort(-effect, kind="stable")].tolist())


NO_LIMIT = -1  # in place of a limit


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
        errors = np.concatenate([[self.nothing_error], self.behind_error])
        return smallest_enough(explained, errors) - 1

    @property
    def limit(self) -> float:
        """The recommended cost of a model: the least within one error, or 3%, of the best."""
        return 0.0 if self.place == NO_LIMIT else float(self.limits[self.place])

    @property
    def costs(self) -> Floats:
        """What the model of each limit costs."""
        return np.array([self.prices.cost(chosen) for chosen in self.features])

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
        return 0 if self.place == NO_LIMIT else int(self.k[self.place])

    @property
    def budget(self) -> float:
        """The recommended money per example, of which AutoLearner keeps `limit` beside exploring.

        A round amount; 0 if nothing is explained, or what is free does.
        """
        return budget_for(self.prices, self.prices.limit(self.limit), ASIDE)

    @property
    def budget_after_history(self) -> float:
        """The same: a part of it explores, with history and without."""
        return self.budget

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
        if i == NO_LIMIT:
            return (
                f"No amount up to {money_text(self.limits[-1])} is seen to explain anything of the "
                "label, within the error: buy nothing, look at more rows, or ask whether the "
                "relation is linear."
            )
        free = self.limits[i] == 0.0
        told = f"{'What is free' if free else money_text(self.limit)} explains {self._share(i)}"
        if best != i:
            told += f"; {money_text(self.limits[best])} would explain {self._share(best)}"
        elif i < len(self.limits) - 1:
            told += "; more would not explain more"
        if 0 < bend <= i:
            less = f"{money_text(self.limits[bend - 1])}: {self._share(bend - 1)}"
            told += f"; below {money_text(self.limits[bend])} it falls quickly ({less})"
        return f"{told}."

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
        if i != NO_LIMIT and self.k[i] > NAMES_PER_LINE:
            chosen = ", ".join(self.names[j] for j in self.features[i])
            lines.append(f"The {self.k[i]} features, most useful first: {chosen}.")
        if i != NO_LIMIT:
            many = money_text(self.limit) if self.prices.counts else str(self.sparsity)
            lines.append(
                f"Recommended: budget {money_text(self.budget)} of {money_text(self.full_cost)} "
                f"for everything, sparsity {many} (a learner spends "
                f"{money_text(self.budget)} per example to find and keep what costs "
                f"{money_text(self.limit)})."
            )
        return "\n".join(lines)

    def _table(self) -> list[str]:
        unit = "items" if self.prices.counts else "money"
        told = [[unit, "explained", "in sample", "features", "  which"]]
        for i, limit in enumerate(self.limits):
            mark, many = "*" if i == self.place else "", str(self.k[i])
            cost = f"{money_text(limit)}{mark:1}"
            told.append([cost, *self._shares(i), many, f"  {self._chosen(i)}"])
        return aligned(told)
