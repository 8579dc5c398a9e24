"""First look at a stream: columns that give the label away, and codes that mean no value.

What would make every figure about the data wrong is found here, in one way, for whoever plays,
advises or diagnoses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.findings import Finding, listed
from keyhole.game import Observer, PlayedBlock
from keyhole.problem import BlockStream, Floats, Learner
from keyhole.streams.arrays import take
from keyhole.streams.cell_formats import CodeCounter

GIVEAWAY = 0.999  # correlation with the label from which a column gives it away
EXACT = 1.0 - 1e-9  # from which it is the label in other units
FEWEST_PAIRS = 20  # rows, to judge by
ROWS_LOOKED_AT, CELLS_LOOKED_AT = 20_000, 20_000_000  # before a game
MOST_FEATURES = 20_000

Codes = Mapping[int, Mapping[float, int]]  # by feature, how often; at d: of the label


class Giveaway(NamedTuple):
    """A feature that follows the label: their correlation, and feature = factor * label + shift."""

    feature: int
    correlation: float
    factor: float
    shift: float


class LabelLinks:
    """Sums over the rows in which a feature is known: correlations of each with the label.

    All are sums of differences from `_origin`, the first known value of each feature and the first
    label, so that large values keep their digits.

    >>> links = LabelLinks(2)
    >>> y = np.arange(30.0)
    >>> links.add(np.column_stack([2 * y + 1, y % 7]), y)
    >>> [(one.feature, one.factor, one.shift) for one in links.giveaways()]
    [(0, 2.0, 1.0)]
    """

    def __init__(self, d: int) -> None:
        self._origin: Floats | None = None
        self._known = np.zeros(d, dtype=bool)
        self._n, self._x, self._y = np.zeros(d), np.zeros(d), np.zeros(d)
        self._xx, self._yy, self._xy = np.zeros(d), np.zeros(d), np.zeros(d)
        self._first = np.zeros(d)

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add complete rows and their labels; NaN is no value."""
        if not len(y):
            return
        if self._origin is None:
            self._origin = np.array([y[0]])
        here = ~np.isnan(X)
        new = here.any(axis=0) & ~self._known
        columns = np.flatnonzero(new)
        self._first[columns] = X[here[:, columns].argmax(axis=0), columns]
        self._known |= new
        Z = np.where(here, X - self._first, 0.0)
        z = y - self._origin[0]
        self._n += here.sum(axis=0)
        self._x += Z.sum(axis=0)
        self._xx += np.einsum("ij,ij->j", Z, Z)
        self._xy += z @ Z
        self._y += z @ here
        self._yy += (z * z) @ here

    def giveaways(self) -> list[Giveaway]:
        """The features that follow the label nearly exactly."""
        n = np.maximum(self._n, 1.0)
        xx = np.maximum(self._xx - self._x**2 / n, 0.0)
        yy = np.maximum(self._yy - self._y**2 / n, 0.0)
        xy = self._xy - self._x * self._y / n
        # What is left of a sum of squares that is all rounding is no spread.
        fine = (xx > 1e-12 * self._xx) & (yy > 1e-12 * self._yy) & (self._n >= FEWEST_PAIRS)
        size = np.sqrt(xx * yy)
        r = np.divide(xy, size, out=np.zeros_like(xy), where=fine & (size > 0))
        found = []
        for j in np.flatnonzero(np.abs(r) > GIVEAWAY).tolist():
            factor = xy[j] / yy[j]
            label = float(self._origin[0]) if self._origin is not None else 0.0
            mean_x, mean_y = self._first[j] + self._x[j] / n[j], label + self._y[j] / n[j]
            found.append(Giveaway(j, float(r[j]), float(factor), float(mean_x - factor * mean_y)))
        return found


class FirstLook(Observer):
    """What is looked for first, collected block by block: in all rows, or in the first ones.

    `brief`: at most 20,000 rows, and fewer where they are wide; of more than 20,000 features none.
    """

    def __init__(self, d: int, *, brief: bool = False) -> None:
        self.d, self._left = d, math.inf
        if brief:
            self._left = min(ROWS_LOOKED_AT, CELLS_LOOKED_AT // d if d <= MOST_FEATURES else 0)
        size = d if self._left else 0
        self.codes = CodeCounter(size + 1)  # of the columns, and of the label behind them
        self.links = LabelLinks(size)

    @property
    def over(self) -> bool:
        """Whether no more rows are looked at."""
        return self._left <= 0

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add complete rows and their labels."""
        if self._left < len(y):
            X, y = X[: int(self._left)], y[: int(self._left)]
        if len(y):
            self._left -= len(y)
            self.codes.add(np.column_stack([X, y]))
            self.links.add(X, y)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Add the rows that were played."""
        if not self.over:
            self.add(played.X, played.y)

    def findings(self, names: Sequence[str] | None) -> tuple[Finding, ...]:
        """What was found, the features called so."""

        def label(j: int) -> str:
            return f"x{j}" if names is None else names[j]

        return first_findings(self.links.giveaways(), self.codes.codes(), self.d, label)


def first_look(stream: BlockStream) -> tuple[Finding, ...]:
    """What is to be known before anything else, from the first rows of a stream.

    At most 20,000 rows are looked at, and fewer where they are wide; nothing where there are more
    than 20,000 features.

    >>> from keyhole.streams import ArrayStream
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=100)
    >>> crp = np.where(np.arange(100) % 5, rng.uniform(0, 9, 100), -999)
    >>> X = np.column_stack([3 * y + 1, crp])
    >>> for finding in first_look(ArrayStream(X, y, ["bill", "crp"])):
    ...     print(finding.do)
    Leave out what gives the label away ... bill (it is 3 × the label + 1).
    Leave out what means no value (--missing auto, or missing='auto'): crp -999 (20 times).
    """
    seen = FirstLook(stream.d, brief=True)
    if not seen.over:
        for X, y in take(stream, ROWS_LOOKED_AT).blocks():
            seen.add(X, y)
            if seen.over:
                break
    return seen.findings(stream.names)


def first_findings(
    giveaways: Sequence[Giveaway], codes: Codes, d: int, label: Callable[[int], str]
) -> tuple[Finding, ...]:
    """The findings that come before all others."""
    return (*_given_away(giveaways, label), *_codes(codes, d, label))


def _given_away(found: Sequence[Giveaway], label: Callable[[int], str]) -> list[Finding]:
    """Columns that are known only once the label is, most likely."""
    if not found:
        return []
    told = [f"{label(one.feature)} ({_relation(one)})" for one in found]
    why = (
        "A column that follows the label so closely is most likely known only after it, or made "
        "from it: what is learnt with it is of no use for new examples."
    )
    do = (
        "Leave out what gives the label away (--ignore COLUMN, or ignore=['COLUMN']), unless it is "
        f"known before the label is: {listed(told, 4)}."
    )
    return [Finding(why, do, tuple(one.feature for one in found), "serious")]


def _relation(one: Giveaway) -> str:
    """How a feature follows from the label.

    >>> _relation(Giveaway(0, 1.0, 1.0, 0.0)), _relation(Giveaway(0, -0.9994, -2.0, 3.0))
    ('it is the label', 'correlation -0.9994')
    """
    if abs(one.correlation) < EXACT:
        toward = math.floor if one.correlation > 0 else math.ceil  # never 1 where it is less
        return f"correlation {toward(one.correlation * 1e4) / 1e4:.4f}"
    factor, shift = (float(f"{value:.4g}") for value in (one.factor, one.shift))
    if abs(shift) < 1e-6 * max(abs(factor), 1e-300):
        shift = 0.0
    times = "the label" if factor == 1.0 else f"{factor:g} × the label"
    return f"it is {times}" + (f" {'+' if shift > 0 else '-'} {abs(shift):g}" if shift else "")


def _codes(codes: Codes, d: int, label: Callable[[int], str]) -> list[Finding]:
    """Numbers that most likely mean that a value is not known."""
    if not codes:
        return []
    told = [
        f"{label(j) if j < d else 'the label'} "
        f"{' and '.join(f'{c:g} ({n:,} times)' for c, n in by_code.items())}"
        for j, by_code in codes.items()
    ]
    why = "Far outside of all other values, and often: most likely codes for missing."
    do = f"Leave out what means no value (--missing auto, or missing='auto'): {listed(told, 4)}."
    return [Finding(why, do, tuple(j for j in codes if j < d), "serious")]
