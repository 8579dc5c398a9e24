"""What the functions of this room return, and the checks of what they are given."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.problem import ProblemError, whole_number


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


def check(
    *,
    d: int = 1,
    k: int = 1,
    exploration: float = 1,
    rounds: int = 2,
    noise_sd: float = 0.0,
    failure_probability: float = 0.5,
    constant: float = 1.0,
) -> None:
    """Refuse numbers that make no sense, by name."""
    whole_number("d", d, 1)
    whole_number("k", k, 1)
    whole_number("horizon", rounds, 1)
    if k > d:
        raise ProblemError(f"k must be at most d = {d}, got {k}")
    if not 0 < exploration <= d:
        raise ProblemError(f"exploration must be more than 0 and at most d = {d}: {exploration}")
    if not 0 <= noise_sd < math.inf:
        raise ProblemError(f"noise_sd must be at least 0 and finite, got {noise_sd}")
    if not 0 < failure_probability < 1:
        raise ProblemError(f"failure_probability must be between 0 and 1: {failure_probability}")
    if not 0 < constant < math.inf:
        raise ProblemError(f"constant must be positive, got {constant}")


def check_kappa(kappa: float) -> None:
    """Refuse a condition number below 1."""
    if not 1 <= kappa < math.inf:
        raise ProblemError(f"kappa must be at least 1 and finite, got {kappa}")
