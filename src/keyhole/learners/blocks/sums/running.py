"""Centre and scale of quantities learnt from the values that arrive, whatever their units."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.problem import Floats
from keyhole.problem.fields import AT_LEAST_0


class Running(NamedTuple):
    """Sums over what arrived of several quantities, each around its own first value.

    Differences from the first value keep their digits where the values themselves would lose them
    in a square (a temperature of 1e9 with changes of 1). All but `reference` are sums.

    Examples
    --------
    >>> seen = running(2)
    >>> for value in (1e9, 1e9 + 2.0, 1e9 + 4.0):
    ...     add(seen, 0, value)
    >>> [float(x) for x in (mean(seen)[0], variance(seen)[0], mean(seen)[1])]
    [1000000002.0, 4.0, 0.0]
    """

    reference: Annotated[Floats, "n"]
    reads: Annotated[Floats, AT_LEAST_0, "n"]
    total: Annotated[Floats, "n"]
    square: Annotated[Floats, AT_LEAST_0, "n"]


def running(size: int) -> Running:
    """Nothing seen yet, of `size` quantities."""
    return Running(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))


def mean(seen: Running) -> Floats:
    """The mean of each quantity, 0 where nothing arrived."""
    average: Floats = seen.reference + seen.total / np.maximum(seen.reads, 1.0)
    return average


def variance(seen: Running) -> Floats:
    """The sample variance of each quantity, 0 where fewer than two values arrived."""
    shift = seen.total / np.maximum(seen.reads, 1.0)
    spread = np.maximum(seen.square - seen.reads * shift**2, 0.0)
    result: Floats = spread / np.maximum(seen.reads - 1.0, 1.0)
    return result


def centres(seen: Running) -> Floats:
    """What to subtract: the mean m, shrunk towards 0 where it may well be 0.

        m max(0, 1 - 2 v / (n m^2)),   v the sample variance, n the reads

    the positive-part estimate of James and Stein with the constant 2. Where 0 is a natural centre
    (signs, differences) the early means are noise, and subtracting them costs more than it brings;
    where the offset is large against the spread the factor is 1.

    Examples
    --------
    >>> seen = running(2)
    >>> for a, b in ((1.0, 101.0), (-1.0, 99.0), (1.0, 101.0)):
    ...     add(seen, 0, a)
    ...     add(seen, 1, b)
    >>> centres(seen).round(3)
    array([  0.   , 100.324])
    """
    out = np.empty(len(seen.reads))
    _centres(seen, out)
    return out


@c_function("kh_centres", "out[n]", writes="out")
def _centres(seen: Running, out: Floats) -> None:
    raise NotImplementedError


@c_function("kh_add_value")
def add(seen: Running, j: int, value: float) -> None:
    """Take in a value of quantity j; NaN is absent and changes nothing."""
    raise NotImplementedError


@c_function("kh_spread")
def spread(seen: Running, j: int) -> float:
    """The sample variance of quantity j."""
    raise NotImplementedError


@c_function("kh_centre")
def centre(seen: Running, j: int) -> float:
    """The mean of quantity j, shrunk to 0 where it may well be 0."""
    raise NotImplementedError
