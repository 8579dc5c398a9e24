"""Number formats of reports: numbers, money, intervals and names as people read them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from keyhole.problem import Interval
from keyhole.problem.prices import Prices

MAX_NAME_LENGTH = 28  # letters of a name
LARGE_NUMBERS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


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
    """A share for people: three decimals, a true minus, and no minus before 0.

    >>> share(0.71512), share(-0.25), share(-0.0001)
    ('0.715', '−0.250', '0.000')
    """
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")


def span(interval: Interval) -> str:
    """An interval for people: one number if it is known.

    >>> span(Interval(1.0, 1.0, "")), span(Interval(1.0, 2.5, ""))
    ('1', '1 to 2.5')
    """
    low, high = number(interval.low), number(interval.high)
    return low if low == high else f"{low} to {high}"


def amount(value: float, prices: Prices) -> str:
    """Money as it is written in the price list, two decimals where it has one.

    >>> from keyhole.problem.prices import price_list
    >>> amount(1234.5, price_list(1, None, ["2.5"], None))
    '1,234.50'
    >>> amount(30, price_list(1, None, [2], None))
    '30'
    """
    digits = 2 if prices.decimals == 1 else prices.decimals
    return f"{value:,.{digits}f}".replace("-", "−")


def mean_amount(value: float, prices: Prices) -> str:
    """Money per example, of many: two decimals at least.

    >>> from keyhole.problem.prices import price_list
    >>> mean_amount(29.787, price_list(1, None, [2], None))
    '29.79'
    """
    return f"{value:,.{max(prices.decimals, 2)}f}".replace("-", "−")


def brief(value: float) -> str:
    """A number that fits into a tile: at most four digits and a word.

    >>> brief(29_334_148_199.0), brief(-1234567.0), brief(0.01234), brief(53_210.0), brief(1e20)
    ('29.33 billion', '−1.235 million', '0.01234', '53,210', '1e+20')
    """
    for size, word in LARGE_NUMBERS:
        if size <= abs(value) < 1e15:
            return f"{value / size:.4g} {word}".replace("-", "−")
    return number(value)


def doubt(error: float) -> str:
    """A standard error: two digits that count.

    >>> doubt(229.6), doubt(0.01234), doubt(1.0)
    ('230', '0.012', '1')
    """
    return f"{float(f'{error:.2g}'):,.10g}"


def brief_span(interval: Interval) -> str:
    """An interval that fits into a tile: one number if it is known, and one unit for both.

    The unit is that of the larger end; an end that is less than a thousandth of it is told as a
    power of ten.

    >>> brief_span(Interval(1.0, 1.0, "")), brief_span(Interval(-2.5e6, 3e6, ""))
    ('1', '−2.5 to 3 million')
    >>> brief_span(Interval(861.4e9, 2.589e12, "")), brief_span(Interval(0.5, 2e9, ""))
    ('0.8614 to 2.589 trillion', '0.5 to 2e+09')
    """
    ends = interval.low, interval.high
    low, high = map(brief, ends)
    if low == high:
        return low
    most, least = max(map(abs, ends)), min(map(abs, ends))
    unit = next(((size, word) for size, word in LARGE_NUMBERS if size <= most < 1e15), None)
    if unit is None or math.isinf(most):
        return f"{low} to {high}"
    size, word = unit
    if 0 < least < 1e-3 * size:
        low, high = (f"{end:.4g}".replace("-", "−", 1) for end in ends)
        return f"{low} to {high}"
    low, high = (f"{end / size:.4g}".replace("-", "−") for end in ends)
    return f"{low} to {high} {word}"


def plain_name(name: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """A name as it can stand in a sentence or a picture: on one line, and not too long.

    >>> plain_name("two\\nlines"), plain_name("very " * 9 + "many 17")
    ('two lines', 'very very very ve…ry many 17')
    """
    # Categories C: control, unassigned, and marks that turn the direction of writing around.
    kept = ("".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in name)).strip()
    # What tells long names apart is often at their ends.
    return kept if len(kept) <= max_length else f"{kept[: max_length - 11]}…{kept[-10:]}"


def listed(names: Sequence[str], most: int) -> str:
    """Some names as people say them, and how many more there are.

    >>> listed(["a", "b", "c"], 4), listed(list("abcdefg"), 4), listed(["a"], 4)
    ('a, b and c', 'a, b, c, d and 3 more', 'a')
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
