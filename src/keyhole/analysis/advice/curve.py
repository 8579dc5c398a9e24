"""BudgetCurve: what so many features explain, as numbers, as a table, as a recommendation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keyhole.analysis.advice.recommend import enough, features, knee, percent, reads_for, words
from keyhole.problem import Floats, Indices

SHOWN = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)  # sizes in the table, and every eighth later
NAMED = 6  # names in a line of it


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
        """The k that explains most."""
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
        return enough(self.explained, self.behind_error)

    @property
    def budget(self) -> float:
        """The recommended number of features to read per example, exploration included.

        0 if no number of features is seen to explain anything.
        """
        return reads_for(self.sparsity, len(self.names))

    @property
    def reads(self) -> float:
        """What the curve itself cost: values looked at per row that passed, in the mean."""
        return self.rows / self.passed * len(self.names) if self.passed else 0.0

    @property
    def recommendation(self) -> str:
        """What to do, in words."""
        return words(self.explained, self.error, self.sparsity, len(self.names))

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
            "recommendation": self.recommendation,
        }

    def __str__(self) -> str:
        k = self.sparsity
        lines = [*self._head(), "", *self._table(), "", self.recommendation]
        if k > NAMED:
            chosen = ", ".join(self.names[j] for j in self.features[k])
            lines.append(f"The {k} features, most useful first: {chosen}.")
        if k:
            lines.append(
                f"Recommended: sparsity {k}, budget {self.budget} (a learner reads "
                f"{features(self.budget)} per example to find and keep the best {k})."
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
        told = [("features", "explained", "in sample", "  which")]
        for k in shown(len(self.k) - 1, (self.sparsity, self.best, self.knee)):
            mark = "*" if k and k == self.sparsity else ""
            told.append(
                (
                    f"{k}{mark:1}",
                    percent(self.explained[k], self.error[k]),
                    f"{self.in_sample[k]:.1%}",
                    f"  {self._chosen(k)}",
                )
            )
        widths = [max(len(row[i]) for row in told) for i in range(3)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)) + row[3]
            for row in told
        ]
        return [line.rstrip() for line in lines]

    def _chosen(self, k: int) -> str:
        chosen = [self.names[j] for j in self.features[k]]
        more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
        return ", ".join(chosen[:NAMED]) + more


def shown(most: int, marked: Iterable[int]) -> list[int]:
    """The sizes that a table shows.

    >>> shown(9, (7, 0))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    usual = [k for k in SHOWN if k < most] + list(range(32, most, 8))
    return sorted({*usual, most, *marked})


def by_use(chosen: Indices, weights: Floats, spread: Floats) -> tuple[int, ...]:
    """Features of a model, the largest effect of one standard deviation first."""
    effect = np.abs(weights[chosen]) * spread[chosen]
    return tuple(chosen[np.argsort(-effect, kind="stable")].tolist())
