"""The threshold of the paper's linear program."""

from __future__ import annotations

import math


def printed_threshold(
    t: int,
    d: int,
    k0: int,
    *,
    noise_sd: float,
    failure_probability: float,
    scale: float = 1.0,
) -> float:
    """The right-hand side of `equation:conv.prog` after t rounds, as printed.

        C sqrt(d log(t d / delta) / (t k0)) (sigma + d / k0)

    Parameters
    ----------
    t, d, k0
        Rounds learnt from, features, exploration budget.
    noise_sd, failure_probability, scale
        The paper's sigma, delta and C.

    Examples
    --------
    >>> round(printed_threshold(1000, 20, 5, noise_sd=0.1, failure_probability=0.05), 3)
    0.931
    """
    logarithm = math.log(t * d / failure_probability)
    return scale * math.sqrt(d * logarithm / (t * k0)) * (noise_sd + d / k0)
