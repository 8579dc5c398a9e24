"""What the functions of this room return, and the checks of what they are given."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from keyhole.problem import ProblemError, whole_number

P = ParamSpec("P")
R = TypeVar("R")

# What a number must be, given d, beside being whole.
_RULES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "k": (lambda k, d: k <= d, "at most d = {d}"),
    "exploration": (lambda k0, d: 0 < k0 <= d, "more than 0 and at most d = {d}"),
    "noise_sd": (lambda sigma, d: 0 <= sigma < math.inf, "at least 0 and finite"),
    "failure_probability": (lambda delta, d: 0 < delta < 1, "between 0 and 1"),
    "constant": (lambda C, d: 0 < C < math.inf, "positive"),
    "kappa": (lambda kappa, d: 1 <= kappa < math.inf, "at least 1 and finite"),
}


@dataclass(frozen=True, slots=True)
class Bound:
    """A number, where it comes from, and what it is made of.

    >>> print(Bound(30.0, "theorem:bexp", "a + b", (("a", 10.0), ("b", 20.0))))
    30 (theorem:bexp)
      a + b
      a = 10
      b = 20
    """

    value: float
    label: str
    formula: str
    terms: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.value:.6g} ({self.label})", f"  {self.formula}"]
        return "\n".join([*lines, *(f"  {name} = {value:.6g}" for name, value in self.terms)])


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse numbers that make no sense, known by the names of its parameters.

    >>> @checked
    ... def half(d: int) -> float:
    ...     return d / 2
    >>> half(0)
    Traceback (most recent call last):
    keyhole.errors.ProblemError: d must be at least 1, got 0
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def refusing(*given: P.args, **named: P.kwargs) -> R:
        check(**signature.bind(*given, **named).arguments)
        return function(*given, **named)

    return refusing


def check(**numbers: Any) -> None:
    """Refuse numbers that make no sense, by name; a name that is not known passes."""
    for name in ("d", "k", "horizon", "rounds"):
        whole_number(name, numbers.get(name, 1), 1)
    d = numbers.get("d", math.inf)
    for name, (fine, rule) in _RULES.items():
        if name in numbers and not fine(numbers[name], d):
            raise ProblemError(f"{name} must be {rule.format(d=d)}, got {numbers[name]}")
