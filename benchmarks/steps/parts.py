"""What `benchmarks.steps` measures: games with a budget, and games step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import keyhole as kh
from benchmarks.auto.rivals import rows_of_file
from benchmarks.common import Row
from benchmarks.common.priced_files import nhanes, thyroid
from keyhole.adapters.estimator_prices import cut_to_budget
from keyhole.problem import Floats
from keyhole.problem.prices import PriceTable
from keyhole.streams import ArrayStream, clinic, clinic_prices, collect

LONGEST, OLD = 6_000, 500  # rows that are played, after those that may be history
AT_ONCE, STEPS = "at once", "step by step"
SIMULATED = "clinic"
# What an error as large as the label's variance costs, in times the largest of the budgets.
WORTHS = (0.5, 1.5, 5.0, 15.0, 50.0, 150.0)


class Source(NamedTuple):
    """How a source is played: most weights, budgets of one example, its prices, kind of label."""

    k: int
    budgets: tuple[float, ...]
    yes_no: bool = False
    prices: Callable[[Sequence[str]], PriceTable] | None = None


COUNTS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
SOURCES = {
    "thyroid_cost": Source(4, (1.0, 3.0, 8.0, 16.0, 25.0, 40.0, 60.0), True, thyroid),
    "spam": Source(8, COUNTS, yes_no=True),
    "mnist_3v5": Source(8, (*COUNTS, 16.0), yes_no=True),
    "clinic": Source(4, (2.0, 5.0, 10.0, 20.0, 30.0, 60.0), prices=lambda names: clinic_prices()),
    "supercon_magpie": Source(8, COUNTS),
    "blogfeedback": Source(4, COUNTS),
    "nhanes_a1c": Source(4, (1.0, 2.0, 4.0, 8.0, 12.0, 20.0), prices=nhanes),
}


class Rows(NamedTuple):
    """Rows in an order of their own, the names of the columns, how the source is played."""

    name: str
    X: Floats
    y: Floats
    names: tuple[str, ...]
    how: Source

    def problem(self, budget: float) -> kh.Problem:
        """For so much money per example; 1 for each feature where there are no prices."""
        table = None if self.how.prices is None else self.how.prices(self.names)
        prices = [1] * len(self.names) if table is None else table
        return cut_to_budget(len(self.names), self.how.k, budget, self.names, prices)


def rows_of(source: Path | str, seed: int, most: int) -> Rows:
    """So many rows of a source, drawn by the seed; labels of yes or no are 1 and 0."""
    if isinstance(source, Path):
        stream = kh.streams.read(str(source), target="target")
        X, y = rows_of_file(source, False)
        name, names = source.stem, stream.names
    else:
        simulated = clinic(most, seed=seed).stream
        (X, y), name, names = collect(simulated), source, simulated.names
    how, order = SOURCES[name], np.random.default_rng(seed).permutation(len(y))[:most]
    assert names is not None
    labels = (y > 0).astype(np.float64) if how.yes_no else y
    return Rows(name, np.asarray(X[order], dtype=np.float64), labels[order], names, how)


def run_game(source: Path | str, way: str, level: float, history: int, seed: int) -> Row:
    """Loss as a share of the label's variance, and money per example, of one game.

    The rows that are played are the same with history and without. `level` is the budget at once,
    and step by step what an error is worth, one of WORTHS.
    """
    rows = rows_of(source, seed, OLD + LONGEST)
    X, y, variance = rows.X[OLD:], rows.y[OLD:], float(rows.y.var())
    steps, most = way == STEPS, max(rows.how.budgets)
    worth = level * most / variance if steps else None
    auto = kh.AutoLearner(rows.problem(most if steps else level), seed=seed, worth=worth)
    learner = kh.YesNoLearner(auto) if rows.how.yes_no else auto
    if history:
        learner.study(ArrayStream(rows.X[:history], rows.y[:history]))
    ledger = kh.play(learner, ArrayStream(X, y), steps=steps)
    late = len(y) // 2
    return {
        "source": rows.name,
        "way": way,
        "level": level,
        "history": history,
        "seed": seed,
        "loss": ledger.mean_loss / variance,
        "spent": ledger.spent / ledger.rounds,
        "late loss": float(np.mean((y - ledger.predictions)[late:] ** 2)) / variance,
        "stopped": ledger.stopped_share if steps else 0.0,
    }
