"""Exponential and logarithm with the same bits on every platform, which no C library promises.

For whatever a transcript depends on; NumPy's, which are faster on arrays, for everything else.
"""

from __future__ import annotations

from keyhole.core.functions import c_function


@c_function("kh_exp")
def exp(x: float) -> float:
    """e^x, within 0.9 ulp.

    >>> exp(0.0), exp(-1000.0), exp(1000.0)
    (1.0, 0.0, inf)
    """
    raise NotImplementedError


@c_function("kh_log")
def log(x: float) -> float:
    """The natural logarithm, within 0.8 ulp; -inf of 0, NaN below.

    >>> log(1.0), log(0.0)
    (0.0, -inf)
    """
    raise NotImplementedError
