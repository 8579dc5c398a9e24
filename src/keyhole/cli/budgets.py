"""Lists of budgets as they are typed: 4,8,12 or 4-16:4."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keyhole.cli.options import SizeOptions
from keyhole.cli.source import Source, make_problem
from keyhole.problem import Problem, ProblemError

ITEM = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
MOST = 1000  # budgets in one list


def parse_budgets(typed: Sequence[str]) -> list[int]:
    """The budgets of a list, ascending. A range has both its ends, and may have a step.

    >>> parse_budgets(["12,4"]), parse_budgets(["4-16:4"]), parse_budgets(["1-3, 8"])
    ([4, 12], [4, 8, 12, 16], [1, 2, 3, 8])
    """
    text = ",".join(typed)
    found: list[int] = []
    for item in text.split(","):
        match = ITEM.fullmatch(item.strip())
        if match is None:
            raise ProblemError(
                f"--budgets {text!r}: {item.strip()!r} is not a number of features; "
                "write a list like 4,8,12 or a range like 4-16:4"
            )
        first, last, step = (int(part) if part else None for part in match.groups())
        assert first is not None
        if step == 0 or (last is not None and last < first):
            raise ProblemError(
                f"--budgets {text!r}: the range {item.strip()} is empty; write it as 4-16:4"
            )
        run = range(first, (first if last is None else last) + 1, step or 1)
        if len(found) + len(run) > MOST:
            raise ProblemError(f"--budgets {text!r}: that is more than {MOST:,} budgets")
        found.extend(run)
    if min(found) < 1:
        raise ProblemError(f"--budgets {text!r}: a budget is at least 1, got {min(found)}")
    twice = [budget for budget in sorted(set(found)) if found.count(budget) > 1]
    if twice:
        raise ProblemError(f"--budgets {text!r}: {twice[0]} is there twice")
    return sorted(found)


def make_problems(source: Source, budgets: Sequence[int], sparsity: int | None) -> list[Problem]:
    """A problem for each budget, all of one sparsity: one yardstick for all."""
    d, smallest, largest = source.stream.d, min(budgets), max(budgets)
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
