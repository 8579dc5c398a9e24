"""Exponential, logarithm and the others of C: as exact as they say, at the edges too."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from keyhole.core.functions import c_function
from keyhole.core.numbers import exp, log


@c_function("kh_sinh")
def sinh(x: float) -> float:
    raise NotImplementedError


@c_function("kh_pow")
def power(base: float, exponent: float) -> float:
    raise NotImplementedError


@c_function("kh_turn")
def turn(turns: float) -> tuple[float, float]:
    raise NotImplementedError


def ulps(got: float, exact: np.longdouble) -> float:
    """How many units in the last place lie between, with 11 bits more than a double has."""
    return abs(float((np.longdouble(got) - exact) / np.spacing(abs(float(exact)))))


RNG = np.random.default_rng(0)
SMALL, USUAL, LARGE = (RNG.uniform(-a, a, 4000) for a in (1e-3, 2.0, 700.0))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no wider numbers to compare with")
@pytest.mark.parametrize(
    ("function", "exactly", "at", "most"),
    [
        (exp, np.exp, np.concatenate([SMALL, USUAL, LARGE]), 0.9),
        (log, np.log, np.concatenate([1.0 + SMALL, np.exp(USUAL), np.exp(LARGE)]), 0.8),
        (sinh, np.sinh, np.concatenate([SMALL, USUAL, LARGE]), 2.0),
    ],
)
def test_within_what_is_said(
    function: Callable[[float], float],
    exactly: Callable[[np.longdouble], np.longdouble],
    at: np.ndarray[tuple[int], np.dtype[np.float64]],
    most: float,
) -> None:
    assert max(ulps(function(x), exactly(np.longdouble(x))) for x in at.tolist()) < most


def test_the_edges() -> None:
    assert [exp(x) for x in (0.0, -0.0, math.inf, -math.inf, 709.79, -746.0)] == [
        *(1.0, 1.0, math.inf, 0.0, math.inf, 0.0)
    ]
    assert exp(-745.0) == 5e-324  # the smallest number there is
    assert exp(709.78) == pytest.approx(math.exp(709.78), rel=1e-15)
    assert [log(x) for x in (1.0, 0.0, math.inf)] == [0.0, -math.inf, math.inf]
    assert log(5e-324) == pytest.approx(math.log(5e-324), rel=1e-15)
    assert all(math.isnan(x) for x in (exp(math.nan), log(math.nan), log(-1.0)))
    assert sinh(-2.0) == -sinh(2.0)
    assert sinh(710.0) == pytest.approx(math.sinh(710.0), rel=1e-14)


def test_turns_are_angles() -> None:
    for quarter, exactly in enumerate([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]):
        assert turn(quarter / 4) == exactly
    for turns in RNG.random(4000).tolist():
        angle = float(Fraction(turns) * Fraction(math.pi) * 2)
        assert turn(turns) == pytest.approx((math.cos(angle), math.sin(angle)), abs=1e-15)


def test_powers() -> None:
    for base, exponent in ((0.995, 1000.0), (2.0, -7.25), (1e-3, 0.5)):
        assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-14)
