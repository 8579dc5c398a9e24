"""What each bought value contributes to one prediction, for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.auto.curves import Predict, marks
from keyhole.problem import Floats
from keyhole.problem.display import HtmlCell, aligned, html_table

PAIRED_ROWS = 16  # of them, for pairs
PAIRED = 12  # features of which pairs are looked at: those that contribute most
WORTH_SAYING = 0.05  # of all that is contributed: pairs below it are not named
MOST_PAIRS = 2


class Contribution(NamedTuple):
    """What one value contributes; 0 if it is absent (NaN).

    `curve` is what another value of the feature would contribute, at the values `at` that were
    bought before, all else as it is.
    """

    name: str
    value: float
    adds: float
    at: Floats
    curve: Floats


class Together(NamedTuple):
    """What two values add together, beyond what either does alone: half is counted with each."""

    names: tuple[str, str]
    adds: float


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """One prediction as a sum: the baseline, and what each bought value adds.

    The baseline is the mean prediction for other examples that were bought lately. `pairs` are the
    strongest interactions: what two values add together cannot be split between them but by
    convention, and half of it is counted with each. `of` is what is explained: the prediction, or a
    score, which has a `probability`.

    Examples
    --------
    >>> none = np.empty(0)
    >>> age = Contribution("age", 61.0, 0.5, none, none)
    >>> bmi = Contribution("bmi", 30.0, -0.2, none, none)
    >>> print(Contributions(1.3, 1.0, (age, bmi), (Together(("age", "bmi"), 0.1),)))
    prediction 1.3 = 1 for the examples before + 0.3:
      age  61   +0.5
      bmi  30   -0.2
    age and bmi together: +0.1, which cannot be split (14 % of all); half is counted with each
    """

    prediction: float
    baseline: float
    lines: tuple[Contribution, ...]
    pairs: tuple[Together, ...] = ()
    of: str = "prediction"
    probability: float | None = None

    def share(self, pair: Together) -> float:
        """What a pair adds, as a share of all contributions, signs left out."""
        total = sum(abs(line.adds) for line in self.lines)
        return abs(pair.adds) / total if total > 0.0 else 0.0

    def __repr__(self) -> str:
        return f"<Contributions to the {self.of} {self.prediction:.4g} of {len(self.lines)} values>"

    def __str__(self) -> str:
        away = self.prediction - self.baseline
        sign = "+" if away >= 0.0 else "-"
        head = (
            f"{self._title()} = {self.baseline:.4g} for the examples before {sign} {abs(away):.4g}:"
        )
        rows = [[_value(line.value), f"{_added(line.adds):>8}", ""] for line in self._ranked()]
        wide = max((len(line.name) for line in self.lines), default=0)
        names = [line.name for line in self._ranked()]
        text = (
            [f"  {n:<{wide}}  {row}" for n, row in zip(names, aligned(rows), strict=True)]
            if rows
            else []
        )
        return "\n".join([head, *text, *map(self._pair, self.pairs)])

    def _repr_html_(self) -> str:
        rows: list[tuple[HtmlCell, HtmlCell, HtmlCell]] = [
            ("for the examples before", "", self.baseline)
        ]
        rows += [(line.name, _value(line.value), _added(line.adds)) for line in self._ranked()]
        rows += [
            (" and ".join(p.names), "together", self._pair(p).split(": ", 1)[1]) for p in self.pairs
        ]
        return html_table(self._title(), rows, ("feature", "value", "adds"))

    def _title(self) -> str:
        if self.probability is None:
            return f"{self.of} {self.prediction:.4g}"
        return f"probability {self.probability:.4g} from the {self.of} {self.prediction:.4g}"

    def _ranked(self) -> list[Contribution]:
        return sorted(self.lines, key=lambda line: -abs(line.adds))

    def _pair(self, pair: Together) -> str:
        return (
            f"{' and '.join(pair.names)} together: {_added(pair.adds)}, which cannot be split "
            f"({self.share(pair):.0%} of all); half is counted with each".replace("%", " %")
        )


def _value(value: float) -> str:
    return "absent" if math.isnan(value) else f"{value:.6g}"


def _added(adds: float) -> str:
    return f"{adds:+.3g}" if adds else "0"


def contributions(
    predict: Predict, values: Floats, names: tuple[str, ...], before: Floats, key: list[int]
) -> Contributions:
    """How a prediction comes about, by comparing it with those for the rows `before`.

    In an order that is drawn, and then in its reverse, the values of such a row become those of the
    example, one by one; a contribution is the mean of what each step changes (Shapley values, with
    features that are replaced independently). So contributions add up to the prediction, whatever
    is drawn, and where features only add there is no error of sampling either. A value that is
    absent is absent in all the rows as well, and contributes nothing.
    """
    there = np.flatnonzero(~np.isnan(values))
    rows = np.full((max(len(before), 1), len(values)), np.nan)
    if len(before):
        rows[:, there] = before[:, there]
    prediction, rng = predict(values), np.random.default_rng(key)
    added, baseline = np.zeros(len(values)), 0.0
    for row in rows:
        order, begin = rng.permutation(there), predict(row)
        baseline += begin / len(rows)
        for way in (order, order[::-1]):
            mixed, last = row.copy(), begin
            for j in way.tolist():
                mixed[j] = values[j]
                now = predict(mixed)
                added[j] += (now - last) / (2 * len(rows))
                last = now
    lines = tuple(
        Contribution(
            names[j],
            float(values[j]),
            float(added[j]),
            *_curve(predict, values, j, before, float(added[j])),
        )
        for j in range(len(values))
    )
    pairs = _pairs(predict, values, names, rows[:PAIRED_ROWS], added)
    return Contributions(prediction, baseline, lines, pairs)


def _curve(
    predict: Predict, values: Floats, j: int, before: Floats, added: float
) -> tuple[Floats, Floats]:
    """What other values of feature j would contribute, all else as it is."""
    if math.isnan(values[j]):
        return np.empty(0), np.empty(0)
    at = marks(np.append(before[:, j], values[j]))
    mixed, here, curve = values.copy(), predict(values), np.zeros(len(at))
    for i, value in enumerate(at.tolist()):
        mixed[j] = value
        curve[i] = added + predict(mixed) - here
    return at, curve


def _pairs(
    predict: Predict, values: Floats, names: tuple[str, ...], rows: Floats, added: Floats
) -> tuple[Together, ...]:
    """The strongest pairs: what is lost of a prediction by taking both values from other rows, and
    not by taking either.
    """
    some = np.argsort(-np.abs(added), kind="stable")[:PAIRED]
    some = some[(added[some] != 0.0)]
    here, found = predict(values), dict[tuple[int, int], float]()
    for row in rows:

        def without(*places: int, row: Floats = row) -> float:
            mixed = values.copy()
            mixed[list(places)] = row[list(places)]
            return predict(mixed)

        alone = {j: without(j) for j in some.tolist()}
        for i, j in ((i, j) for i in alone for j in alone if i < j):
            both = here - alone[i] - alone[j] + without(i, j)
            found[i, j] = found.get((i, j), 0.0) + both / len(rows)
    total = float(np.abs(added).sum())
    strongest = sorted(found.items(), key=lambda item: -abs(item[1]))[:MOST_PAIRS]
    return tuple(
        Together((names[i], names[j]), adds)
        for (i, j), adds in strongest
        if abs(adds) >= WORTH_SAYING * total
    )
