"""What a learner advises at the end of a run, as rows of a table with bars."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyhole.learners.blocks.auto.advice import Advice
from keyhole.problem.prices import Prices
from keyhole.report.figures import amount


@dataclass(frozen=True, slots=True)
class Loss:
    """What is lost without a feature: in words, and where its bar begins and ends, in percent.

    The bar is as long as the loss; `low` to `high` is two standard errors to both sides. All are
    shares of the room there is, which the longest of them fills. `saves` is money, with prices.
    """

    name: str
    lost: str
    error: str
    bar: float
    low: float
    high: float
    saves: str = ""


def losses(advice: Advice, prices: Prices | None = None) -> list[Loss]:
    """A row per kept feature, the most valuable first.

    >>> from keyhole.learners.blocks.auto.advice import Fewer, Worth
    >>> kept = Worth("age", 0.5, 0.3, 0.05), Worth("bmi", 0.1, 0.01, 0.01)
    >>> fewer = (Fewer(("age", "bmi"), 0.4, 0.0),)
    >>> for row in losses(Advice(9, 9, kept, fewer, 0, "all rounds", 0, 0.0, 0, 0)):
    ...     print(row.name, row.lost, row.error, row.bar, row.low, row.high)
    age 30.0 % 5.0 % 75.0 50.0 100.0
    bmi 1.0 % 1.0 % 2.5 0.0 7.5
    """
    most = max((worth.lost + 2.0 * worth.error for worth in advice.kept), default=0.0)
    whole = most if most > 0.0 else 1.0

    def place(share: float) -> float:
        return round(100.0 * max(share, 0.0) / whole, 1)

    return [
        Loss(
            worth.name,
            f"{100.0 * worth.lost:.1f} %",
            f"{100.0 * worth.error:.1f} %",
            place(worth.lost),
            place(worth.lost - 2.0 * worth.error),
            place(worth.lost + 2.0 * worth.error),
            "" if prices is None or worth.saves is None else amount(worth.saves, prices),
        )
        for worth in advice.kept
    ]


def sentences(advice: Advice, *, columns: bool) -> list[str]:
    """What is advised, in words; where prices count columns, 1 for each, nothing about money.

    >>> from keyhole.learners.blocks.auto.advice import Fewer, Worth
    >>> kept = Worth("age", 0.5, 0.3, 0.05, 1.0), Worth("bmi", 0.1, 0.01, 0.001, 1.0)
    >>> fewer = (Fewer(("age", "bmi"), 0.4, 0.0),)
    >>> advised = Advice(9, 9, kept, fewer, 0, "all rounds", 0, 0.0, 0, 0)
    >>> [any("money" in s for s in sentences(advised, columns=c)) for c in (False, True)]
    [True, False]
    """
    if not columns:
        return list(advice.sentences)
    paid = re.compile(r"brings least for its money \((.*?) for 1\)")
    return [paid.sub(r"is missed least of whole columns (\1)", s) for s in advice.sentences]
