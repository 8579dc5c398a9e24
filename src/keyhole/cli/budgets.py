"""Lists of budgets as they are typed: 4,8,12 or 4-16:4, and 12.50,20 where they are money."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from keyhole.cli.options import SizeOptions
from keyhole.cli.source import Source, make_problem
from keyhole.problem import Problem, ProblemError

WHOLE, MONEY = r"([0-9]{1,9})", r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
MOST = 1000  # budgets in one list


def parse_budgets(typed: Sequence[str], *, money: bool = False) -> list[float]:
    """The budgets of a list, ascending. A range has both its ends, and may have a step.

    Budgets of money may have decimals, and be 0.

    >>> parse_budgets(["12,4"]), parse_budgets(["4-16:4"]), parse_budgets(["1-3, 8"])
    ([4, 12], [4, 8, 12, 16], [1, 2, 3, 8])
    >>> parse_budgets(["12.50,4", "5-6:0.5"], money=True)
    [4.0, 5.0, 5.5, 6.0, 12.5]
    """
    text = ",".join(typed)
    number = MONEY if money else WHOLE
    pattern = re.compile(f"{number}(?:-{number}(?::{number})?)?")
    what = "an amount of money" if money else "a number of features"
    found: list[Decimal] = []
    for item in text.split(","):
        match = pattern.fullmatch(item.strip())
        if match is None:
            raise ProblemError(
                f"--budgets {text!r}: {item.strip()!r} is not {what}; "
                "write a list like 4,8,12 or a range like 4-16:4"
            )
        first, last, step = (Decimal(part) if part else None for part in match.groups())
        assert first is not None
        if step == 0 or (last is not None and last < first):
            raise ProblemError(
                f"--budgets {text!r}: the range {item.strip()} is empty; write it as 4-16:4"
            )
        many = 1 if last is None else int((last - first) / (step or 1)) + 1
        if len(found) + many > MOST:
            raise ProblemError(f"--budgets {text!r}: that is more than {MOST:,} budgets")
        found.extend(first + i * (step or 1) for i in range(many))
    if min(found) < 1 and not money:
        raise ProblemError(f"--budgets {text!r}: a budget is at least 1, got {min(found)}")
    twice = [budget for budget in sorted(set(found)) if found.count(budget) > 1]
    if twice:
        raise ProblemError(f"--budgets {text!r}: {twice[0]} is there twice")
    return [float(budget) if money else int(budget) for budget in sorted(found)]


def make_problems(source: Source, budgets: Sequence[float], sparsity: int | None) -> list[Problem]:
    """A problem for each budget, all of one sparsity: one yardstick for all."""
    d, smallest, largest = source.stream.d, min(budgets), max(budgets)
    if source.shop is not None and source.shop.columns:
        k = int(min(4, smallest)) if sparsity is None else sparsity
        return [make_problem(source, SizeOptions(budget, k)) for budget in budgets]
    if source.shop is not None:
        k = make_problem(source, SizeOptions(smallest, sparsity)).k
        return [make_problem(source, SizeOptions(budget, k)) for budget in budgets]
    typed = f"--budgets {','.join(map(str, budgets))}"
    if largest > d:
        raise ProblemError(f"{typed}: {largest} is more than the {d} features of {source.title}")
    if sparsity is not None and sparsity > smallest:
        raise ProblemError(
            f"--sparsity {sparsity} is more than {smallest}, the smallest of {typed}: a model of "
            f"{sparsity} features cannot be used when {smallest} are read"
        )
    k = make_problem(source, SizeOptions(smallest, sparsity)).k
    return [make_problem(source, SizeOptions(budget, k)) for budget in budgets]
