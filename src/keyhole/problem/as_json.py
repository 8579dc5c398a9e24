"""A problem as JSON, and back, to the last cent: for those who talk about one over a wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from keyhole.errors import DataError, KeyholeError, shortened
from keyhole.problem.prices import Prices
from keyhole.problem.problem import Problem


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """What JSON can hold of a problem, which is all of it.

    >>> problem_to_dict(Problem(d=2, k=1, budget=1))
    {'d': 2, 'k': 1, 'budget': 1, 'names': None, 'prices': None}
    """
    return {
        "d": problem.d,
        "k": problem.k,
        "budget": problem.budget,
        "names": None if problem.names is None else list(problem.names),
        "prices": None if problem.prices is None else asdict(problem.prices),
    }


def problem_from_dict(parts: Mapping[str, Any]) -> Problem:
    """The problem that `problem_to_dict` described, or a DataError.

    >>> priced = Problem(d=2, k=1, budget="1.50", prices=["0.10", "1.40"])
    >>> problem_from_dict(problem_to_dict(priced)) == priced
    True
    """
    try:
        sizes = {name: parts[name] for name in ("d", "k", "budget", "names")}
        if parts["prices"] is None:
            return Problem(**sizes)
        listed = dict(parts["prices"])
        for name in ("items", "units"):
            listed[name] = tuple(listed[name])
        listed["needs"] = tuple(map(tuple, listed["needs"]))
        return Problem(**sizes, prices=Prices(**listed))
    except (KeyholeError, TypeError, ValueError, KeyError) as error:
        raise DataError(f"not a problem: {shortened(str(error))}") from None
