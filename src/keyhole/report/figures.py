"""Numbers as people read them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.prices import Prices
from keyhole.problem import Interval


@dataclass(frozen=True, slots=True)
class Fact:
    """One of the large numbers at the top."""

    name: str
    number: str
    note: str


def number(value: float) -> str:
    """A number for people: four digits, thousands apart, a true minus.

    >>> number(14569.2), number(-0.01234567), number(float("inf"))
    ('14,569', '−0.01235', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def share(value: float) -> str:
    """A share for people: three decimals, a true minus."""
    return f"{value:.3f}".replace("-", "−")


def span(interval: Interval) -> str:
    """An interval for people: one number if it is known.

    >>> span(Interval(1.0, 1.0, "")), span(Interval(1.0, 2.5, ""))
    ('1', '1 to 2.5')
    """
    low, high = number(interval.low), number(interval.high)
    return low if low == high else f"{low} to {high}"


def amount(value: float, prices: Prices) -> str:
    """Money as it is written in the price list, two decimals where it has one.

    >>> from keyhole.prices import price_list
    >>> amount(1234.5, price_list(1, None, ["2.5"], None))
    '1,234.50'
    >>> amount(30, price_list(1, None, [2], None))
    '30'
    """
    digits = 2 if prices.decimals == 1 else prices.decimals
    return f"{value:,.{digits}f}".replace("-", "−")


def mean_amount(value: float, prices: Prices) -> str:
    """Money per example, of many: two decimals at least.

    >>> from keyhole.prices import price_list
    >>> mean_amount(29.787, price_list(1, None, [2], None))
    '29.79'
    """
    return f"{value:,.{max(prices.decimals, 2)}f}".replace("-", "−")
